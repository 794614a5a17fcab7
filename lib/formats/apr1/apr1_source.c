#include "formats/apr1/apr1_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/crc32.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "formats/head.h"

#define PIECE (1u << 20)        /* bytes returned at once */
#define TEXT_PIECE (1u << 16)   /* of base64 */

/* ---- payloads of other programs ---- */

static int
add_part(struct apr1_source *s, const struct apr1_part *x, const uint8_t *derived)
{
	struct apr1_tensor where = { .direct = x->p != NULL };
	struct tensor *t = tensor_new(x->name, strlen(x->name), x->type, x->ndim, x->dims,
	                              TENSOR_OWN_SIZE, s->reader.name, s->reader.err);

	where.run[0] = (struct apr1_run){ x->p ? x->p : derived + x->at, x->bytes };
	return apr1_add_tensor(s, t, where);
}

static int
add_parts(struct apr1_source *s)
{
	const uint8_t *derived;
	size_t i;

	if (spool_view(&s->parts.derived, &derived, s->reader.err) < 0)
		return -1;
	for (i = 0; i < s->parts.count; i++)
		if (add_part(s, &s->parts.list[i], derived) < 0)
			return -1;
	return 0;
}

static int
add_opaque(struct apr1_source *s)
{
	uint64_t n = s->payload_bytes;
	struct apr1_tensor where = { .run[0] = { s->payload, n }, .direct = true };

	return apr1_add_tensor(s, tensor_new(APR1_OPAQUE_NAME, strlen(APR1_OPAQUE_NAME),
	                                     dtype_by_name("U8"), 1, &n, TENSOR_OWN_SIZE,
	                                     s->reader.name, s->reader.err), where);
}

/* 1 if the payload matches this layout. */
static int
try_layout(struct apr1_source *s, const struct apr1_layout *l)
{
	int r = apr1_unwrap(l, s->payload, s->payload_bytes, &s->parts, s->reader.err);

	if (r > 0 && add_parts(s) < 0)
		return -1;
	return r;
}

static int
named_layout(struct apr1_source *s, const char *name, enum err_code code)
{
	const struct apr1_layout *l = apr1_layout_by_name(name);
	int r;

	if (strcmp(name, APR1_OPAQUE) == 0)
		return add_opaque(s);
	if (!l)
		return apr1_fail(s, code, "ModelTypeMismatch: no payload is called %.60s", name);
	r = try_layout(s, l);
	if (r == 0)
		return apr1_fail(s, code, "ModelTypeMismatch: its payload does not have the layout %.60s", name);
	return r < 0 ? -1 : 0;
}

/* Try the layouts of the model type, in the order of the table. */
static int
find_layout(struct apr1_source *s, const char **name)
{
	const struct apr1_layout *l;
	size_t i;
	int r;

	*name = APR1_OPAQUE;
	for (i = 0; (l = apr1_layout_row(i)) != NULL; i++) {
		if (l->type != s->header.type)
			continue;
		*name = l->name;
		r = try_layout(s, l);
		if (r != 0)
			return r < 0 ? -1 : 0;
	}
	*name = APR1_OPAQUE;
	return add_opaque(s);
}

static int
read_foreign(struct apr1_source *s)
{
	static const struct value_type string = { 0, VALUE_STRING };
	const char *name = format_chosen(&s->options, &apr1_options[APR1_LAYOUT]);
	struct buf b = { 0 };
	int r = name ? named_layout(s, name, ERR_INVALID) : find_layout(s, &name);

	if (r < 0)
		return -1;
	buf_u64(&b, strlen(name));
	buf_text(&b, name);
	r = buf_ok(&b) ? model_add_meta(&s->plan, APR1_PAYLOAD_KEY, strlen(APR1_PAYLOAD_KEY),
	                                string, b.p, b.n, s->reader.err)
	               : err_memory(s->reader.err);
	buf_free(&b);
	return r;
}

/* ---- all payloads ---- */

/* Read the payload of a file of the apr tools, which names its layout. */
static int
own_payload(struct apr1_source *s, char name[64])
{
	const struct apr1_entry *x = apr1_map_find(&s->custom, APR1_PAYLOAD);
	const char *text;
	size_t n;

	*name = 0;
	if (!x)
		return 0;
	text = apr1_text(x, &n);
	if (!text || n >= 64 || memchr(text, 0, n))
		return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: " APR1_PAYLOAD " has a value that "
		                 "is not");
	snprintf(name, 64, "%.*s", (int)n, text);
	return 0;
}

static int
read_tensors(struct apr1_source *s, const char *payload)
{
	bool records = s->own && strcmp(payload, APR1_RECORDS) == 0;
	const char *layout = format_chosen(&s->options, &apr1_options[APR1_LAYOUT]);

	if (!s->payload)
		return 0;
	if (layout && (s->own || s->header.flags & APR1_TRUENO))
		return apr1_fail(s, ERR_INVALID, "ModelTypeMismatch: its payload is known, and not "
		                 "%.60s", layout);
	if (s->header.flags & APR1_TRUENO)
		return apr1_read_aligned(s);
	if (records)
		return s->chunked ? apr1_read_chunks(s) : apr1_read_records(s);
	return s->own ? named_layout(s, payload, ERR_CORRUPT) : read_foreign(s);
}

/* Refuse a payload whose tag is right but whose content is not valid: an attacker can make an
 * AES-GCM ciphertext that opens under several keys. The message is that for a wrong key, so
 * that it does not reveal whether the key is one of them. */
static int
not_opened(struct apr1_source *s)
{
	if (s->reader.err->code == ERR_MEMORY || s->reader.err->code == ERR_IO)
		return -1;
	*s->reader.err = (struct err)ERR_INIT;
	return apr1_fail(s, ERR_DECRYPT, VAULT_WRONG_KEY);
}

/* 0, -1, or 1: it must be read again, as a whole. */
static int
read_all(struct apr1_source *s)
{
	char payload[64];

	if (apr1_read_header(s) < 0 || apr1_read_file(s) < 0 || apr1_read_metadata(s) < 0 ||
	    own_payload(s, payload) < 0)
		return -1;
	s->chunked = s->own && s->header.flags & APR1_STREAMING &&
	             strcmp(payload, APR1_RECORDS) == 0;
	/* An index that nobody describes: the whole payload decides what it is. */
	if (s->part && !s->chunked && !(s->header.flags & APR1_TRUENO))
		return 1;
	if (s->header.flags & APR1_STREAMING && !s->own && !(s->header.flags & APR1_TRUENO) &&
	    apr1_warn(s, "is marked STREAMING, but nobody says what its index of chunks is: "
	              "read as a whole") < 0)
		return -1;
	if (apr1_open_payload(s) < 0 || read_tensors(s, payload) < 0 ||
	    apr1_find_carriers(s) < 0 ||
	    model_check(&s->plan, s->reader.name, s->reader.err) < 0)
		return s->decrypted ? not_opened(s) : -1;
	return 0;
}

/* ---- sending ---- */

/* Decode some base64 into s->piece, which is empty at its end. */
static int
read_text(struct apr1_source *s)
{
	size_t n = s->text.n < TEXT_PIECE ? s->text.n : TEXT_PIECE;

	buf_clear(&s->piece);
	if (base64_add(&s->decoder, s->text.p, n, &s->piece) < 0 ||
	    (n == s->text.n && base64_end(&s->decoder) < 0))
		return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: a member of its metadata, which is "
		                 "one of ours, is not base64");
	s->text.p += n;
	s->text.n -= n;
	return buf_ok(&s->piece) ? 0 : err_memory(s->reader.err);
}

static void
begin_text(struct apr1_source *s, struct apr1_text text)
{
	s->text = text;
	s->decoder = (struct base64_reader){ 0 };
}

static int
begin_frame(struct apr1_source *s, struct item *item, struct apr1_text text, size_t head)
{
	struct err *e = s->reader.err;
	json_t *v;

	begin_text(s, text);
	buf_clear(&s->frame);
	while (s->text.n > 0) {
		if (read_text(s) < 0)
			return -1;
		buf_put(&s->frame, s->piece.p, s->piece.n);
	}
	if (!buf_ok(&s->frame))
		return err_memory(e);
	v = json_parse(s->frame.p, head, ERR_CORRUPT, s->reader.name, e);
	json_decref(v);
	if (!v)
		return -1;
	item->head = (char *)s->frame.p;
	item->head_bytes = head;
	item->bytes = s->frame.n - head;
	s->now[0] = (struct apr1_run){ s->frame.p + head, item->bytes };
	return 1;
}

/* Begin a long value of another program's file: it is converted from its entry again. */
static int
begin_value(struct apr1_source *s, size_t blob)
{
	const struct model *m = &s->plan;
	const struct apr1_entry *x;
	struct value_type type;
	size_t k = 0;

	while (m->meta[k].blob != blob)
		k++;
	x = apr1_map_find(&s->meta, m->meta[k].key);
	buf_clear(&s->frame);
	if (apr1_value(x, &type, &s->frame, s->reader.name, s->reader.err) < 0)
		return -1;
	s->now[0] = (struct apr1_run){ s->frame.p, s->frame.n };
	return 1;
}

static int
begin_tensor(struct apr1_source *s, const struct item *item)
{
	size_t i = item->index;
	const struct apr1_tensor *t = &s->tensors[i];

	memcpy(s->now, t->run, sizeof s->now);
	if (s->part && t->direct &&
	    apr1_read_at(s, t->offset, t->run[0].n, &s->chunk, &s->now[0].p) < 0)
		return -1;
	if (t->checked && crc32_add(0, s->now[0].p, (size_t)t->run[0].n) != t->crc)
		return apr1_fail(s, ERR_CHECKSUM, "ChecksumMismatch: the chunk of %.100s is damaged",
		                 tensor_name(s->plan.tensors[i]));
	if (!t->packed)
		return 1;
	spool_free(&s->unpacked);
	if (apr1_expand(s, s->now[0].p, t->run[0].n, item->bytes, &s->unpacked,
	                &s->now[0].p) < 0)
		return -1;
	s->now[0].n = item->bytes;
	return 1;
}

static int
begin_licence(struct apr1_source *s)
{
	if (s->licence_text.p)
		begin_text(s, s->licence_text);
	else
		s->now[0] = (struct apr1_run){ s->licence, s->licence_bytes };
	return 1;
}

static int
next(struct source *source, struct item *item, struct err *e)
{
	struct apr1_source *s = (struct apr1_source *)source;
	size_t i;

	(void)e; /* the reader holds it */
	memset(s->now, 0, sizeof s->now);
	s->run = 0;
	if (!container_next(&s->sent, &s->plan, source->wanted, item))
		return 0;
	i = item->index;
	switch (item->kind) {
	case ITEM_BLOB:
		if (!s->own)
			return begin_value(s, i);
		begin_text(s, s->blobs[i]);
		return 1;
	case ITEM_LICENCE:
		return begin_licence(s);
	case ITEM_TENSOR:
		return begin_tensor(s, item);
	case ITEM_PROV:
		return begin_frame(s, item, s->provs[i], (size_t)s->plan.provs[i]);
	default:
		return begin_frame(s, item, s->signs[i], MODEL_SIGN_HEAD);
	}
}

static int
read_body(struct source *source, const uint8_t **p, size_t *n, struct err *e)
{
	struct apr1_source *s = (struct apr1_source *)source;
	struct apr1_run *now;

	(void)e;
	*n = 0;
	while (s->text.n > 0 && *n == 0) {
		if (read_text(s) < 0)
			return -1;
		*p = s->piece.p;
		*n = s->piece.n;
	}
	while (*n == 0 && s->run < APR1_RUNS && s->now[s->run].n == 0)
		s->run++;
	if (*n > 0 || s->run == APR1_RUNS)
		return 0;
	now = &s->now[s->run];
	*p = now->p;
	*n = (size_t)num_min(now->n, PIECE);
	now->p += *n;
	now->n -= *n;
	return 0;
}

static void
close_source(struct source *source)
{
	struct apr1_source *s = (struct apr1_source *)source;

	free(s->tensors);
	free(s->blobs);
	free(s->provs);
	free(s->signs);
	json_decref(s->types);
	apr1_map_free(&s->meta);
	apr1_map_free(&s->custom);
	apr1_parts_free(&s->parts);
	spool_free(&s->gathered);
	spool_free(&s->unpacked);
	spool_free(&s->chunk);
	spool_free(&s->plain);
	spool_free(&s->opened);
	spool_free(&s->file);
	buf_free(&s->piece);
	buf_free(&s->frame);
	model_free(&s->plan);
	oddities_free(&s->odd);
	reader_close(&s->reader);
	free(s);
}

static const struct source_ops ops = { .next = next, .read = read_body, .close = close_source };

/* Begin again, for all tensors. */
static struct source *
open_whole(struct apr1_source *s, struct err *e)
{
	struct format_options options = s->options;
	void (*note)(const char *) = s->source.note;
	struct reader r = s->reader;
	uint64_t base = s->base;

	s->reader = (struct reader){ .fd = -1 };
	close_source(&s->source);
	options.use = FORMAT_ALL;
	if (reader_seek(&r, base) == 0)
		return apr1_open(&r, &options, note, e);
	reader_close(&r);
	return NULL;
}

struct source *
apr1_open(struct reader *r, const struct format_options *options,
          void (*note)(const char *), struct err *e)
{
	struct apr1_source *s = mem_array(1, sizeof *s);
	int done;

	if (!s) {
		reader_close(r);
		err_memory(e);
		return NULL;
	}
	s->source = (struct source){ .plan = &s->plan, .ops = &ops, .name = r->name,
		.note = note, .oddities = &s->odd };
	s->reader = *r;
	s->options = *options;
	done = read_all(s);
	if (done == 0)
		return &s->source;
	if (done > 0)
		return open_whole(s, e);
	close_source(&s->source);
	return NULL;
}

/* ---- description ---- */

uint64_t
apr1_tensor_offset(const struct source *source, size_t i)
{
	return ((const struct apr1_source *)source)->tensors[i].offset;
}

const struct codec *
apr1_tensor_stored(const struct source *source, size_t i, uint64_t *bytes)
{
	const struct apr1_source *s = (const struct apr1_source *)source;

	*bytes = s->tensors[i].stored;
	switch (s->header.compression) {
	case APR1_RAW:
		return NULL;
	case APR1_LZ4:
		return &codec_lz4;
	default:
		return &codec_zstd;
	}
}

static json_t *
hex(const uint8_t *p, size_t n)
{
	char text[65];
	size_t i;

	for (i = 0; i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", p[i]);
	return json_stringn(text, 2 * n);
}

/* The number of tensors for each backend hint: {"avx2":20}. NULL if out of memory. */
static json_t *
count_hints(const struct apr1_source *s)
{
	json_t *from = json_object_get(s->plan.source, APR1_FROM), *o = json_object(), *v;
	const char *tensor, *name;
	int r = o ? 0 : -1;

	json_object_foreach(json_object_get(from, APR1_FROM_HINTS), tensor, v)
		if (r == 0 && (name = apr1_backend((uint8_t)json_integer_value(v))))
			r = json_object_set_new(o, name, json_integer(
				json_integer_value(json_object_get(o, name)) + 1));
	if (r == 0)
		return o;
	json_decref(o);
	return NULL;
}

json_t *
apr1_describe(struct source *source, struct err *e)
{
	static const char *const modes[] = { "password, or a recipient", "recipient",
		"recipients" };
	struct apr1_source *s = (struct apr1_source *)source;
	const struct apr1_header *h = &s->header;
	char version[16];
	json_t *o, *hints;
	int r = 0;

	snprintf(version, sizeof version, "%u.%u", h->major, h->minor);
	o = json_pack("{s:s,s:s,s:s,s:s,s:s,s:o}", "format", format_apr1.name, "title",
	              format_apr1.title, "version", version, "model_type",
	              apr1_type_name(h->type), "compression",
	              apr1_compression(h->compression), "flags",
	              head_flags(h->flags & APR1_FLAGS, APR1_FLAGS, apr1_flag));
	r |= json_object_set_new(o, "metadata_bytes", json_from_u64(h->meta_bytes));
	r |= json_object_set_new(o, "payload_bytes", json_from_u64(h->payload_bytes));
	r |= json_object_set_new(o, "plain_bytes", json_from_u64(h->plain_bytes));
	if (h->flags & APR1_ENCRYPTED)
		r |= json_object_set_new(o, "encrypted_for", json_string(modes[h->mode]));
	else
		r |= json_object_set_new(o, "score", json_integer(h->mode));
	hints = count_hints(s);
	if (!hints || json_object_size(hints) > 0)
		r |= json_object_set(o, "backend_hints", hints);
	json_decref(hints);
	if (s->signature)
		r |= json_object_set_new(o, "signing_key",
		                         hex(s->signature + VAULT_SIGNATURE, VAULT_KEY));
	if (!s->part)
		r |= json_object_set_new(o, "checksum",
		                         head_crc(le32(s->p + s->n - APR1_FOOTER)));
	r |= json_object_set_new(o, "checksum_verified", json_boolean(!s->part));
	if (r == 0)
		return o;
	json_decref(o);
	err_memory(e);
	return NULL;
}
