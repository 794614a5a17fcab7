#include "formats/safetensors/safetensors_reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "model/layout.h"

#define PIECE (1u << 18) /* bytes read from the spool at once */

/* ---- tensors ---- */

/* Give a tensor stored as bytes its original type and shape. */
static int
restore(struct safetensors *s, struct safetensors_entry *x)
{
	const char *name = tensor_name(x->tensor);
	const struct safetensors_key *k = safetensors_find(s, SAFETENSORS_DTYPE, name);
	const struct dtype *type = k && k->text ? dtype_by_name(k->text) : NULL;
	uint64_t dims[TENSOR_DIMS];
	bool absent, good;
	struct tensor *t;
	json_t *shape;
	size_t i, n;

	if (!k)
		return 0;
	if (!type)
		return safetensors_bad(s, k->name);
	shape = safetensors_json_of(s, SAFETENSORS_SHAPE, name, &absent);
	n = json_array_size(shape);
	good = json_is_array(shape) && n <= TENSOR_DIMS;
	for (i = 0; good && i < n; i++)
		good = json_value_u64(json_array_get(shape, i), &dims[i]) == 0;
	json_decref(shape);
	if (!good || strcmp(tensor_type(x->tensor)->name, "U8") != 0 ||
	    tensor_ndim(x->tensor) != 1)
		return err_set(s->reader.err, ERR_CORRUPT, name, "contradicts its "
		               SAFETENSORS_DTYPE " and " SAFETENSORS_SHAPE " keys");
	t = tensor_new(name, strlen(name), type, (unsigned)n, dims, tensor_bytes(x->tensor),
	               s->reader.name, s->reader.err);
	if (!t)
		return -1;
	tensor_free(x->tensor);
	x->tensor = t;
	return 0;
}

/* Add the tensors to the plan in the order of their data. If the order in the header differs,
 * it is kept in source. */
static int
add_tensors(struct safetensors *s, const struct extent *extents, size_t *order)
{
	struct safetensors_header *h = &s->header;
	struct err *e = s->reader.err;
	bool moved = false;
	json_t *list;
	size_t i;

	for (i = 0; i < h->entry_count; i++) {
		struct safetensors_entry *x = &h->entries[extents[i].index];

		if (model_add_tensor(&s->plan, x->tensor, e) < 0) {
			x->tensor = NULL;
			return -1;
		}
		x->tensor = NULL;
		s->offsets[i] = extents[i].offset;
		order[extents[i].index] = i;
		moved |= extents[i].index != i;
	}
	if (!moved || !model_source_is(&s->plan, format_safetensors.name))
		return 0;
	if (!(list = json_array()))
		return err_memory(e);
	for (i = 0; i < h->entry_count; i++)
		if (json_array_append_new(list, json_integer((json_int_t)order[i])) < 0) {
			json_decref(list);
			return err_memory(e);
		}
	return model_source_set(&s->plan, "index_order", list, e);
}

static int
prove_tensors(struct safetensors *s, struct extent *extents)
{
	struct safetensors_header *h = &s->header;
	struct reader *r = &s->reader;
	uint64_t end, length = reader_left(r);
	size_t i;

	for (i = 0; i < h->entry_count; i++) {
		extents[i] = (struct extent){ .offset = h->entries[i].at, .index = i,
			.bytes = tensor_bytes(h->entries[i].tensor),
			.name = tensor_name(h->entries[i].tensor) };
		if (restore(s, &h->entries[i]) < 0)
			return -1;
		extents[i].name = tensor_name(h->entries[i].tensor);
	}
	if (layout_prove(extents, h->entry_count, 1, length, &s->data_bytes, r->err) < 0)
		return -1;
	if (num_add(s->data_at, s->data_bytes, &end) < 0)
		return err_set(r->err, ERR_CORRUPT, r->name, "its size overflows");
	if (r->end != READER_UNKNOWN && r->end != end)
		return err_set(r->err, ERR_CORRUPT, r->name, "has %" PRIu64
		               " bytes, but its content ends at %" PRIu64, r->end, end);
	return 0;
}

static int
place_tensors(struct safetensors *s)
{
	size_t n = s->header.entry_count, *order = mem_array(n, sizeof *order);
	struct extent *extents = mem_array(n, sizeof *extents);
	int r;

	s->data_at = reader_tell(&s->reader);
	s->offsets = mem_array(n, sizeof *s->offsets);
	if (!order || !extents || !s->offsets)
		r = err_memory(s->reader.err);
	else if ((r = prove_tensors(s, extents)) == 0)
		r = add_tensors(s, extents, order);
	free(order);
	free(extents);
	return r;
}

/* Refuse a key of the apr tools that was not used. */
static int
check_keys(struct safetensors *s)
{
	size_t i;

	for (i = 0; i < s->header.key_count; i++)
		if (!s->header.keys[i].used)
			return err_set(s->reader.err, ERR_CORRUPT, s->reader.name,
			               "metadata key %.100s, which is one of ours, belongs to "
			               "nothing", s->header.keys[i].name);
	return 0;
}

static int
read_all(struct safetensors *s)
{
	if (safetensors_header_read(&s->header, &s->reader) < 0 || safetensors_sort_keys(s) < 0 ||
	    safetensors_read_plan(s) < 0 || place_tensors(s) < 0 || check_keys(s) < 0)
		return -1;
	return model_check(&s->plan, s->reader.name, s->reader.err);
}

/* ---- sending ---- */

static void
begin_key(struct safetensors *s, const struct safetensors_key *k, bool is_text)
{
	s->from = FROM_KEY;
	s->key = k;
	s->left = k->bytes;
	s->head_waits = is_text;
	le64_put(s->head, k->bytes);
}

static void
begin_frame(struct safetensors *s, struct item *item, const struct buf *b, size_t head)
{
	item->head = (char *)b->p;
	item->head_bytes = head;
	item->bytes = b->n - head;
	s->from = FROM_MEMORY;
	s->memory = b->p + head;
	s->left = item->bytes;
}

/* The end of a file that can seek was proved before the first byte was sent. */
static int
finish(struct safetensors *s)
{
	struct reader *r = &s->reader;

	if (r->end == READER_UNKNOWN && !reader_at_end(r))
		return reader_fail(r, ERR_CORRUPT, "bytes after the end of the model");
	return r->failed ? -1 : 0;
}

static int
next(struct source *source, struct item *item, struct err *e)
{
	struct safetensors *s = (struct safetensors *)source;
	const bool *wanted = s->reader.remote ? source->wanted : NULL;
	size_t i;

	(void)e; /* the reader holds it */
	if (!container_next(&s->sent, &s->plan, wanted, item))
		return finish(s);
	i = item->index;
	switch (item->kind) {
	case ITEM_BLOB:
		begin_key(s, s->blobs[i], s->is_text[i]);
		break;
	case ITEM_LICENCE:
		begin_key(s, s->licence, false);
		break;
	case ITEM_TENSOR:
		s->from = FROM_FILE;
		s->left = item->bytes;
		if (wanted && reader_seek(&s->reader, s->data_at + s->offsets[i]) < 0)
			return -1;
		item->gaps = reader_has_gap(&s->reader, s->left);
		break;
	case ITEM_PROV:
		begin_frame(s, item, &s->provs[i], s->provs[i].n);
		break;
	default:
		begin_frame(s, item, &s->signs[i], MODEL_SIGN_HEAD);
	}
	return 1;
}

/* Read a piece of a key's value. */
static int
read_key(struct safetensors *s, const uint8_t **p, size_t *n, struct err *e)
{
	const struct safetensors_key *k = s->key;
	uint64_t done = k->bytes - s->left;

	if (k->text) {
		*p = (const uint8_t *)k->text + done;
		*n = (size_t)s->left;
		return 0;
	}
	*n = (size_t)num_min(s->left, PIECE);
	buf_clear(&s->piece);
	if (!buf_room(&s->piece, *n))
		return err_memory(e);
	*p = s->piece.p;
	return spool_get(&s->header.spool, k->at + done, s->piece.p, *n, e);
}

/* Read some bytes of the body; they are also put to o, unless it is NULL. */
static int
read_some(struct source *source, struct out *o, const uint8_t **p, size_t *n,
          struct err *e)
{
	struct safetensors *s = (struct safetensors *)source;
	bool put = false;

	*n = 0;
	if (s->from == FROM_KEY && s->head_waits) {
		s->head_waits = false;
		*p = s->head;
		*n = sizeof s->head;
		return o ? out_put(o, *p, *n) : 0;
	}
	if (s->left == 0)
		return 0;
	switch (s->from) {
	case FROM_KEY:
		if (read_key(s, p, n, e) < 0)
			return -1;
		break;
	case FROM_MEMORY:
		*p = s->memory;
		*n = (size_t)s->left;
		break;
	case FROM_FILE:
		put = o != NULL;
		*p = o ? reader_share(&s->reader, o, s->left, n)
		       : reader_some(&s->reader, s->left, n);
		if (!*p)
			return -1;
		break;
	}
	s->left -= *n;
	return o && !put ? out_put(o, *p, *n) : 0;
}

static int
zeros(struct source *source, uint64_t *n, struct err *e)
{
	struct safetensors *s = (struct safetensors *)source;

	(void)e; /* the reader holds it */
	if (s->from == FROM_FILE)
		*n = reader_gap(&s->reader, s->left);
	s->left -= *n;
	return s->reader.failed ? -1 : 0;
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

static int
opened(struct source *source)
{
	return ((struct safetensors *)source)->reader.fd;
}

/* safetensors has no checksums, so the bytes of a tensor need not be read here. */
static bool
lies(struct source *source, uint64_t *offset)
{
	struct safetensors *s = (struct safetensors *)source;

	if (!s->reader.seekable)
		return false;
	*offset = reader_tell(&s->reader);
	if (reader_skip(&s->reader, s->left) < 0)
		return false;
	s->left = 0;
	return true;
}

static void
close_source(struct source *source)
{
	struct safetensors *s = (struct safetensors *)source;
	size_t i;

	for (i = 0; i < s->prov_count; i++)
		buf_free(&s->provs[i]);
	for (i = 0; i < s->sign_count; i++)
		buf_free(&s->signs[i]);
	free(s->provs);
	free(s->signs);
	free(s->blobs);
	free(s->is_text);
	free(s->sorted);
	free(s->offsets);
	buf_free(&s->piece);
	safetensors_header_free(&s->header);
	model_free(&s->plan);
	oddities_free(&s->odd);
	reader_close(&s->reader);
	free(s);
}

/* Programs that map the file read a value in one piece only at a multiple of its size. */
static void
note_places(struct safetensors *s)
{
	size_t i;

	for (i = 0; i < s->plan.tensor_count; i++) {
		const struct tensor *t = s->plan.tensors[i];
		const struct dtype *type = tensor_type(t);
		bool plain = type->items == 1 && type->head == 0 && !(type->bytes & (type->bytes - 1));

		if (tensor_bytes(t) > 0)
			oddities_place(&s->odd, tensor_name(t), s->data_at + s->offsets[i],
			               plain ? type->bytes : 0);
	}
}

struct source *
safetensors_open_shard(struct reader *r, void (*note)(const char *), struct err *e)
{
	static const struct source_ops ops = { .next = next, .read = read_body,
		.close = close_source, .lies = lies, .opened = opened, .share = share_body,
		.zeros = zeros };
	struct safetensors *s = mem_array(1, sizeof *s);

	if (!s) {
		reader_close(r);
		err_memory(e);
		return NULL;
	}
	s->source = (struct source){ .plan = &s->plan, .ops = &ops, .name = r->name,
		.note = note, .oddities = &s->odd };
	s->reader = *r;
	if (read_all(s) < 0) {
		close_source(&s->source);
		return NULL;
	}
	s->plan.holes = reader_holes(&s->reader);
	note_places(s);
	return &s->source;
}

struct source *
safetensors_open(struct reader *r, const struct format_options *options,
                 void (*note)(const char *), struct err *e)
{
	struct source *s = safetensors_open_shard(r, note, e);

	(void)options; /* this format has no warnings that strict could turn into errors */
	/* The sizes of signatures follow from the complete plan. */
	if (s && safetensors_prove_signs(s, s->plan, e) < 0) {
		source_close(s);
		return NULL;
	}
	return s;
}

json_t *
safetensors_describe(struct source *source, struct err *e)
{
	struct safetensors *s = (struct safetensors *)source;
	json_t *o = json_pack("{s:s,s:o,s:o,s:o,s:b}", "format", format_safetensors.name,
	                      "header_bytes", json_from_u64(s->header.bytes), "data_offset",
	                      json_from_u64(s->data_at), "data_bytes",
	                      json_from_u64(s->data_bytes), "checksum", 0);

	if (o && (!s->header.reserve ||
	          json_object_set_new(o, "reserve", json_from_u64(s->header.reserve)) == 0))
		return o;
	json_decref(o);
	err_memory(e);
	return NULL;
}

uint64_t
safetensors_tensor_offset(const struct source *source, size_t i)
{
	const struct safetensors *s = (const struct safetensors *)source;

	return s->data_at + s->offsets[i];
}
