#include "formats/gguf/gguf_reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "formats/head.h"

#define LEAST_KEY 13    /* minimum bytes of a key with its value */
#define PADDING 65536   /* more than the padding in front of a tensor */
#define LEAST_TENSOR 25

static int
take_alignment(struct gguf *g, const struct incoming *v, uint64_t at)
{
	uint64_t a;

	if (v->type.depth || v->type.leaf != VALUE_U32)
		return reader_fail(&g->reader, ERR_CORRUPT, GGUF_ALIGN_KEY " is not a u32");
	if (json_object_get(g->plan.source, "alignment_at"))
		return reader_fail(&g->reader, ERR_CORRUPT, "metadata key " GGUF_ALIGN_KEY
		                   " occurs twice");
	a = le32(v->b.p);
	if (!num_power_of_two(a) || a > GGUF_ALIGN_MAX)
		return reader_fail(&g->reader, ERR_CORRUPT, GGUF_ALIGN_KEY " is %" PRIu64
		                   ", not a power of two up to %d", a, GGUF_ALIGN_MAX);
	g->alignment = a;
	return model_source_set(&g->plan, "alignment_at", json_from_u64(at), g->reader.err);
}

/* Take a split key. */
static int
take_split(struct gguf *g, const char *key, const struct incoming *v)
{
	struct gguf_split *x = &g->split;
	uint64_t *to = strcmp(key, GGUF_SPLIT_NO) == 0 ? &x->number
	               : strcmp(key, GGUF_SPLIT_COUNT) == 0 ? &x->count : &x->tensors;

	if (*to != MODEL_NONE)
		return reader_fail(&g->reader, ERR_CORRUPT, "metadata key %s occurs twice", key);
	if (v->type.depth || value_u64(v->type, v->b.p, v->b.n, to) < 0 || *to == MODEL_NONE)
		return reader_fail(&g->reader, ERR_CORRUPT, "%s is not a number of shards or "
		                   "tensors", key);
	return 0;
}

static int
read_key(struct gguf *g, struct buf *name)
{
	struct incoming v = { 0 };
	const char *key;
	int r;

	if (gguf_read_name(g, name, "a metadata key", GGUF_KEY) < 0)
		return -1;
	key = (const char *)name->p;
	r = gguf_read_value(g, &v);
	if (r == 0 && strcmp(key, GGUF_ALIGN_KEY) == 0)
		r = take_alignment(g, &v, g->plan.meta_count);
	else if (r == 0 && g->is_shard && gguf_is_split_key(key))
		r = take_split(g, key, &v);
	else if (r == 0 && (r = gguf_take_carrier(g, key, &v)) == 0)
		r = gguf_keep_value(g, key, &v);
	if (r < 0)
		err_hint(g->reader.err, "the key is %.160s",
		         text_quote((char[200]){ 0 }, 200, key, strlen(key)));
	buf_free(&v.b);
	return r < 0 ? -1 : 0;
}

/* Read a key, and remember its place if it is not a key of the model. */
static int
read_placed_key(struct gguf *g, struct buf *name)
{
	uint64_t at = reader_tell(&g->reader);
	size_t before = g->plan.meta_count;
	struct gguf_span *x;

	if (read_key(g, name) < 0)
		return -1;
	if (g->plan.meta_count > before)
		return 0;
	if (mem_grow(&g->spans, &g->span_cap, g->span_count + 1, sizeof *g->spans) < 0)
		return err_memory(g->reader.err);
	x = &g->spans[g->span_count++];
	*x = (struct gguf_span){ at, reader_tell(&g->reader) - at, before, false, false };
	x->sign = strncmp((char *)name->p, GGUF_SIGN, strlen(GGUF_SIGN)) == 0;
	x->ends = strcmp((char *)name->p, GGUF_RESERVE) == 0;
	return 0;
}

static int
read_version(struct gguf *g)
{
	struct reader *r = &g->reader;
	const uint8_t *magic = reader_take(r, 4);

	if (!magic)
		return -1;
	if (memcmp(magic, "GGUF", 4) != 0)
		return reader_fail(r, ERR_FORMAT, "is not GGUF");
	g->version = reader_u32(r);
	if (r->failed)
		return -1;
	if (__builtin_bswap32(g->version) <= GGUF_VERSION && g->version)
		return reader_fail(r, ERR_FORMAT, "is a big-endian GGUF file, which is not read");
	if (g->version < 1 || g->version > GGUF_VERSION)
		return reader_fail(r, ERR_VERSION, "GGUF version %" PRIu32
		                   ", versions 1 to %d are read", g->version, GGUF_VERSION);
	return 0;
}

/* Refuse a single shard: it is not a model. The other shards are found by its name. */
static int
refuse_shard(struct gguf *g)
{
	uint64_t number, count;
	struct err *e = g->reader.err;

	if (model_u64(&g->plan, GGUF_SPLIT_COUNT, &count) < 0 || count < 2)
		return 0;
	if (model_u64(&g->plan, GGUF_SPLIT_NO, &number) < 0 || number >= count)
		return err_set(e, ERR_CORRUPT, g->reader.name, "is one of %" PRIu64 " shards, "
		               "but says not which", count);
	err_set(e, ERR_FORMAT, g->reader.name, "is shard %" PRIu64 " of %" PRIu64
	        ", and the others cannot be found", number + 1, count);
	return err_hint(e, "give its path, with its name NAME-%05" PRIu64 "-of-%05" PRIu64
	                ".gguf beside the others", number + 1, count);
}

static int
read_header(struct gguf *g)
{
	struct reader *r = &g->reader;
	struct buf name = { 0 };
	uint64_t tensors, keys, i;
	int status = read_version(g);

	if (status < 0)
		return -1;
	if (model_source_set(&g->plan, "format", json_string("gguf"), r->err) < 0 ||
	    model_source_set(&g->plan, "version", json_integer(g->version), r->err) < 0)
		return -1;
	g->alignment = GGUF_ALIGN;
	tensors = gguf_read_size(g);
	keys = gguf_read_size(g);
	if (r->failed)
		return -1;
	if (tensors > reader_left(r) / (LEAST_TENSOR - (g->version == 1 ? 4 : 0)))
		return reader_fail(r, ERR_CORRUPT, "%" PRIu64
		                   " tensors cannot lie in the bytes left", tensors);
	if (keys > reader_left(r) / (LEAST_KEY - (g->version == 1 ? 4 : 0)))
		return reader_fail(r, ERR_CORRUPT, "%" PRIu64
		                   " metadata keys cannot lie in the bytes left", keys);
	for (i = 0; status == 0 && i < keys; i++)
		status = read_placed_key(g, &name);
	g->index_at = reader_tell(r);
	if (status == 0)
		status = model_source_set(&g->plan, "alignment",
		                          json_from_u64(g->alignment), r->err);
	if (status == 0)
		status = gguf_sort_retypes(g);
	if (status == 0)
		status = gguf_read_tensors(g, tensors, &name);
	buf_free(&name);
	if (status < 0)
		return -1;
	if (gguf_add_carried(g) < 0 ||
	    (!g->is_shard && (refuse_shard(g) < 0 || gguf_prove_signs(g, &g->plan) < 0)))
		return -1;
	return model_check(&g->plan, r->name, r->err);
}

/* ---- sending ---- */

static int
begin_place(struct gguf *g, const struct place *p)
{
	g->body = *p;
	g->left = p->bytes;
	g->from = NULL;
	return p->spooled ? 0 : reader_seek(&g->reader, p->at);
}

/* The end of what lies before tensor i. */
static uint64_t
end_before(const struct gguf *g, size_t i)
{
	return i == 0 ? g->header_bytes
	              : g->data_at + g->offsets[i - 1] + tensor_bytes(g->plan.tensors[i - 1]);
}

/* Move to a tensor's first byte, past padding, never backwards. */
static int
begin_tensor(struct gguf *g, size_t i)
{
	uint64_t at = g->data_at + g->offsets[i], end = end_before(g, i);
	const char *name = tensor_name(g->plan.tensors[i]);

	g->left = tensor_bytes(g->plan.tensors[i]);
	g->from = NULL;
	g->head = g->scaled[i] ? g->scaled[i]->head : NULL;
	g->body = (struct place){ 0 };
	if (tensor_bytes(g->plan.tensors[i]) > 0)
		oddities_place(&g->odd, name, at, 8);
	/* Padding before a tensor may be all that would be fetched there. */
	if (g->reader.remote && g->source.wanted)
		return reader_seek(&g->reader, at);
	if (g->reader.seekable && end < at && at - end < PADDING && reader_seek(&g->reader, end) < 0)
		return -1;
	if (g->reader.seekable && reader_tell(&g->reader) != end)
		return reader_seek(&g->reader, at);
	return head_skip_padding(&g->reader, at - reader_tell(&g->reader), &g->odd, name);
}

static int
finish(struct gguf *g)
{
	struct reader *r = &g->reader;
	uint64_t end = g->plan.tensor_count ? g->data_at + g->data_bytes : g->header_bytes;
	uint64_t padded = 0;
	size_t n;

	if (r->seekable)
		return 0; /* the end was proved before the first byte was sent */
	if (num_align(end, g->alignment, &padded) < 0)
		return err_set(r->err, ERR_CORRUPT, r->name, "its size overflows");
	reader_peek(r, (size_t)(padded - end) + 1, &n);
	if (r->failed)
		return -1;
	if (n != 0 && n != padded - end)
		return reader_fail(r, ERR_CORRUPT, n > padded - end
		                   ? "bytes after the end of the model"
		                   : "the padding at the end is cut short");
	if (n == 0 && padded != end && g->plan.tensor_count && g->source.note)
		g->source.note("the padding at the end, which the file lacks, will be written");
	return 0;
}

/* Begin a record, which consists of its head, or a signature: head bytes of b, then a body. */
static void
begin_frame(struct gguf *g, struct item *item, const struct buf *b, size_t head)
{
	item->head = (char *)b->p;
	item->head_bytes = head;
	item->bytes = b->n - head;
	g->from = b->p + head;
	g->left = item->bytes;
}

static int
next(struct source *source, struct item *item, struct err *e)
{
	struct gguf *g = (struct gguf *)source;

	(void)e;
	g->left = 0;
	g->head = NULL;
	if (!container_next(&g->sent, &g->plan, g->reader.remote ? source->wanted : NULL, item))
		return finish(g);
	switch (item->kind) {
	case ITEM_BLOB:
		return begin_place(g, &g->places[item->index]) < 0 ? -1 : 1;
	case ITEM_LICENCE:
		return begin_place(g, &g->licence) < 0 ? -1 : 1;
	case ITEM_TENSOR:
		if (begin_tensor(g, item->index) < 0)
			return -1;
		item->gaps = !g->head && reader_has_gap(&g->reader, g->left);
		return 1;
	case ITEM_PROV:
		begin_frame(g, item, &g->provs[item->index], g->provs[item->index].n);
		break;
	default:
		begin_frame(g, item, &g->signs[item->index], MODEL_SIGN_HEAD);
	}
	return 1;
}

/* Read some bytes of the body; they are also put to o, unless it is NULL. */
static int
read_some(struct source *source, struct out *o, const uint8_t **p, size_t *n,
          struct err *e)
{
	struct gguf *g = (struct gguf *)source;
	bool put = false;

	*n = 0;
	if (g->left == 0)
		return 0;
	if (g->head) {
		*p = g->head;
		*n = GGUF_SCALED_HEAD;
		g->head = NULL;
	} else if (g->from) {
		*p = g->from;
		*n = (size_t)g->left;
	} else if (g->body.spooled) {
		*n = (size_t)num_min(g->left, 1u << 18);
		buf_clear(&g->memory);
		if (!buf_room(&g->memory, *n))
			return err_memory(e);
		*p = g->memory.p;
		if (spool_get(&g->spool, g->body.at, g->memory.p, *n, e) < 0)
			return -1;
		g->body.at += *n;
	} else {
		put = o != NULL;
		*p = o ? reader_share(&g->reader, o, g->left, n)
		       : reader_some(&g->reader, g->left, n);
		if (!*p)
			return -1;
	}
	g->left -= *n;
	return o && !put ? out_put(o, *p, *n) : 0;
}

static int
opened(struct source *source)
{
	return ((struct gguf *)source)->reader.fd;
}

/* GGUF has no checksums, so the bytes of a tensor need not be read here. */
static bool
lies(struct source *source, uint64_t *offset)
{
	struct gguf *g = (struct gguf *)source;

	if (!g->reader.seekable || g->head)
		return false;
	*offset = reader_tell(&g->reader);
	g->left = 0;
	return true;
}

static int
zeros(struct source *source, uint64_t *n, struct err *e)
{
	struct gguf *g = (struct gguf *)source;

	(void)e; /* the reader holds it */
	if (!g->head && !g->from && !g->body.spooled)
		*n = reader_gap(&g->reader, g->left);
	g->left -= *n;
	return g->reader.failed ? -1 : 0;
}

static int
read_body(struct source *source, const uint8_t **p, size_t *n, struct err *e)
{
	return read_some(source, NULL, p, n, e);
}

static int
share_body(struct source *source, struct out *o, const uint8_t **p, size_t *n,
           struct err *e)
{
	return read_some(source, o, p, n, e);
}

static void
close_source(struct source *source)
{
	struct gguf *g = (struct gguf *)source;
	size_t i;

	for (i = 0; i < g->carried_count; i++) {
		free(g->carried[i].name);
		free(g->carried[i].type);
	}
	for (i = 0; i < g->retype_count; i++)
		free(g->retypes[i].name);
	for (i = 0; i < g->prov_count; i++)
		buf_free(&g->provs[i]);
	for (i = 0; i < g->sign_count; i++)
		buf_free(&g->signs[i]);
	free(g->carried);
	free(g->retypes);
	free(g->provs);
	free(g->signs);
	free(g->places);
	free(g->spans);
	free(g->offsets);
	free(g->scaled);
	json_decref(g->order);
	buf_free(&g->memory);
	spool_free(&g->spool);
	model_free(&g->plan);
	oddities_free(&g->odd);
	reader_close(&g->reader);
	free(g);
}

static struct source *
open_file(struct reader *r, const struct format_options *options,
          void (*note)(const char *), bool is_shard, struct err *e)
{
	static const struct source_ops ops = { .next = next, .read = read_body,
		.close = close_source, .lies = lies, .opened = opened, .share = share_body,
		.zeros = zeros };
	struct gguf *g = mem_array(1, sizeof *g);

	if (!g) {
		reader_close(r);
		err_memory(e);
		return NULL;
	}
	g->source = (struct source){ .plan = &g->plan, .ops = &ops, .name = r->name,
		.note = note, .oddities = &g->odd };
	g->options = *options;
	g->reader = *r;
	g->is_shard = is_shard;
	g->split = (struct gguf_split){ MODEL_NONE, MODEL_NONE, MODEL_NONE };
	if (model_init(&g->plan, e) < 0 || read_header(g) < 0) {
		close_source(&g->source);
		return NULL;
	}
	g->plan.holes = reader_holes(&g->reader);
	return &g->source;
}

struct source *
gguf_open(struct reader *r, const struct format_options *options,
          void (*note)(const char *), struct err *e)
{
	return open_file(r, options, note, false, e);
}

struct source *
gguf_open_shard(struct reader *r, const struct format_options *options,
                void (*note)(const char *), struct err *e)
{
	return open_file(r, options, note, true, e);
}

const struct gguf_split *
gguf_split_of(const struct source *s)
{
	return &((const struct gguf *)s)->split;
}

json_t *
gguf_order_of(const struct source *s)
{
	return ((const struct gguf *)s)->order;
}

int
gguf_prove_shard(struct source *s, const struct model *whole, struct err *e)
{
	(void)e; /* the reader holds it */
	return gguf_prove_signs((struct gguf *)s, whole);
}

json_t *
gguf_describe(struct source *s, struct err *e)
{
	struct gguf *g = (struct gguf *)s;
	json_t *o = json_pack("{s:s,s:i,s:o,s:o,s:o,s:b}", "format", "gguf", "version",
	                      (int)g->version, "header_bytes",
	                      json_from_u64(g->header_bytes), "data_offset",
	                      json_from_u64(g->data_at), "alignment",
	                      json_from_u64(g->alignment), "checksum", 0);

	if (o && (!g->reserve ||
	          json_object_set_new(o, "reserve", json_from_u64(g->reserve)) == 0))
		return o;
	json_decref(o);
	err_memory(e);
	return NULL;
}

uint64_t
gguf_tensor_offset(const struct source *s, size_t i)
{
	const struct gguf *g = (const struct gguf *)s;

	return g->scaled[i] ? FORMAT_SCATTERED : g->data_at + g->offsets[i];
}
