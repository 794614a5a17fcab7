#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/spool.h"
#include "core/text.h"
#include "formats/gguf.h"
#include "model/layout.h"

#define ARRAY_HEAD 12   /* u32 item type, u64 count */
#define LEAST_KEY 13    /* bytes of the shortest key with its value */
#define LEAST_TENSOR 25

/* Where the bytes of a blob wait until it is its turn: in the file itself, where
 * it can seek, else in the spool. */
struct place {
	bool spooled;
	uint64_t at, bytes;
};

/* A side file carried by apr.blob.NAME, before it becomes a blob. */
struct carried {
	char *name, *type;
	struct place place;
};

/* apr.dtype.NAME or apr.shape.NAME, before the tensors are known. */
struct retype {
	char *name;
	const struct dtype *dtype;
	uint64_t dims[TENSOR_DIMS];
	unsigned ndim;
	bool has_shape, used;
};

struct gguf {
	struct source source;
	struct reader reader;
	struct model plan;
	struct format_options options;

	uint32_t version;
	uint64_t alignment, header_bytes, data_at, data_bytes;
	bool has_data_length;  /* the file's length is known */

	struct spool spool;
	struct place *places;  /* of plan.blobs */
	size_t place_count, place_cap;
	struct carried *carried;
	size_t carried_count, carried_cap;
	struct place licence;
	struct retype *retypes;
	size_t retype_count, retype_cap;
	struct buf *provs, *signs; /* in number order */
	size_t prov_count, prov_cap, sign_count, sign_cap;
	uint64_t *offsets;     /* of plan.tensors, in the data */

	/* What is being sent. */
	size_t blob, tensor, prov, sign;
	bool licence_sent, padding_read;
	struct place body;     /* blob, licence */
	struct buf memory;     /* one piece of it */
	uint64_t left;         /* of the body */
	const uint8_t *from;   /* sign: the body lies in memory */
	uint64_t position;     /* in the data, of the next byte to read */
};

/* ---- strings, counts, keys ---- */

/* A length or a count: 32 bits in version 1. */
static uint64_t
read_size(struct gguf *g)
{
	return g->version == 1 ? reader_u32(&g->reader) : reader_u64(&g->reader);
}

/* A name: short, UTF-8, without NUL. Into b, terminated. */
static int
read_name(struct gguf *g, struct buf *b, const char *what, size_t most)
{
	uint64_t n = read_size(g);

	buf_clear(b);
	if (g->reader.failed)
		return -1;
	if (n == 0 || n > most)
		return reader_fail(&g->reader, ERR_CORRUPT, "%s of %" PRIu64
		                   " bytes, 1 to %zu are possible", what, n, most);
	if (reader_append(&g->reader, b, n) < 0)
		return -1;
	if (!buf_string(b))
		return err_memory(g->reader.err);
	if (!text_utf8(b->p, b->n, false))
		return reader_fail(&g->reader, ERR_CORRUPT, "%s that is not UTF-8 text", what);
	return 0;
}

/* ---- values ---- */

/* A value on its way in. Its wire bytes gather in b; a value too long for that
 * is spilled: left where it is in the file, or moved to the spool. */
struct incoming {
	struct value_type type;
	struct value_found found;
	struct buf b;
	bool spilled;
	struct place place;
};

static bool
stays_in_file(const struct gguf *g)
{
	/* Version 1 has other wire bytes than ours. */
	return g->reader.seekable && g->version > 1;
}

static int
add(struct gguf *g, struct incoming *v, const void *p, size_t n)
{
	struct err *e = g->reader.err;

	if (!v->spilled) {
		buf_put(&v->b, p, n);
		if (!buf_ok(&v->b))
			return err_memory(e);
		if (v->b.n <= VALUE_INLINE_BYTES)
			return 0;
		v->spilled = true;
		v->place.bytes = v->b.n;
		if (stays_in_file(g))
			return 0;
		v->place.spooled = true;
		v->place.at = g->spool.bytes;
		return spool_put(&g->spool, v->b.p, v->b.n, e);
	}
	v->place.bytes += n;
	return v->place.spooled ? spool_put(&g->spool, p, n, e) : 0;
}

/* n bytes of the file that are wire bytes as they are. */
static int
add_raw(struct gguf *g, struct incoming *v, uint64_t n)
{
	if (v->spilled && !v->place.spooled) {
		if (num_add(v->place.bytes, n, &v->place.bytes) < 0)
			return reader_fail(&g->reader, ERR_CORRUPT, "a value's size overflows");
		return reader_skip(&g->reader, n);
	}
	if (n > reader_left(&g->reader))
		return reader_fail(&g->reader, ERR_CORRUPT, "a length of %" PRIu64
		                   " exceeds the %" PRIu64 " bytes left",
		                   n, reader_left(&g->reader));
	while (n > 0) {
		size_t got;
		const uint8_t *p = reader_some(&g->reader, n, &got);

		if (!p || add(g, v, p, got) < 0)
			return -1;
		n -= got;
		if (n > 0 && v->spilled && !v->place.spooled)
			return add_raw(g, v, n);
	}
	return 0;
}

static int
read_string(struct gguf *g, struct incoming *v)
{
	uint64_t n = read_size(g);
	uint8_t head[8];

	if (g->reader.failed)
		return -1;
	le64_put(head, n);
	return add(g, v, head, sizeof head) < 0 ? -1 : add_raw(g, v, n);
}

static int
read_array(struct gguf *g, struct incoming *v, unsigned depth)
{
	uint32_t item = reader_u32(&g->reader);
	uint64_t count = read_size(g), bytes;
	uint8_t head[ARRAY_HEAD];

	if (g->reader.failed)
		return -1;
	if (item > VALUE_F64)
		return reader_fail(&g->reader, ERR_FORMAT,
		                   "an array of the unknown value type %" PRIu32, item);
	if (depth >= VALUE_DEPTH || (item == VALUE_ARRAY && depth + 1 >= VALUE_DEPTH))
		return reader_fail(&g->reader, ERR_FORMAT, "arrays inside arrays, %u deep",
		                   depth + 1);
	le32_put(head, item);
	le64_put(head + 4, count);
	if (add(g, v, head, sizeof head) < 0)
		return -1;
	if (item != VALUE_ARRAY)
		value_found_add(&v->found, depth, item);
	if (value_leaf_bytes(item)) {
		if (num_mul(count, value_leaf_bytes(item), &bytes) < 0)
			return reader_fail(&g->reader, ERR_CORRUPT,
			                   "an array of %" PRIu64 " items overflows", count);
		return add_raw(g, v, bytes);
	}
	if (count > reader_left(&g->reader) / (item == VALUE_ARRAY ? ARRAY_HEAD - 4 : 4))
		return reader_fail(&g->reader, ERR_CORRUPT, "an array of %" PRIu64
		                   " items cannot lie in the bytes left", count);
	for (; count > 0; count--)
		if ((item == VALUE_STRING ? read_string(g, v)
		                          : read_array(g, v, depth + 1)) < 0)
			return -1;
	return 0;
}

static int
read_value(struct gguf *g, struct incoming *v)
{
	uint32_t kind = reader_u32(&g->reader);

	if (g->reader.failed)
		return -1;
	if (kind > VALUE_F64)
		return reader_fail(&g->reader, ERR_FORMAT, "the unknown value type %" PRIu32,
		                   kind);
	v->type = (struct value_type){ 0, (uint8_t)kind };
	v->place.at = reader_tell(&g->reader);
	if (kind == VALUE_STRING)
		return read_string(g, v);
	if (kind != VALUE_ARRAY)
		return add_raw(g, v, value_leaf_bytes(kind));
	if (read_array(g, v, 1) < 0)
		return -1;
	v->type = value_found_type(&v->found);
	return 0;
}

/* Set aside a value that is in memory although it must become a blob. */
static int
spill(struct gguf *g, struct incoming *v)
{
	if (v->spilled)
		return 0;
	v->spilled = true;
	v->place.bytes = v->b.n;
	if (stays_in_file(g))
		return 0;
	v->place.spooled = true;
	v->place.at = g->spool.bytes;
	return spool_put(&g->spool, v->b.p, v->b.n, g->reader.err);
}

static int
add_place(struct gguf *g, struct place place)
{
	if (mem_grow(&g->places, &g->place_cap, g->place_count + 1, sizeof *g->places) < 0)
		return err_memory(g->reader.err);
	g->places[g->place_count++] = place;
	return 0;
}

static int
keep_value(struct gguf *g, const char *key, struct incoming *v)
{
	struct err *e = g->reader.err;

	if (!v->spilled && value_is_inline(v->type, v->b.p, v->b.n))
		return model_add_meta(&g->plan, key, strlen(key), v->type, v->b.p, v->b.n, e);
	if (spill(g, v) < 0 || add_place(g, v->place) < 0)
		return -1;
	return model_add_meta_blob(&g->plan, key, strlen(key), v->type, v->place.bytes, e);
}

/* ---- our own keys ---- */

static int
bad_carrier(struct gguf *g)
{
	return reader_fail(&g->reader, ERR_CORRUPT, "a key of ours with a value that is not");
}

static bool
is_bytes(const struct incoming *v)
{
	return v->type.depth == 1 && v->type.leaf == VALUE_U8;
}

/* The payload of a byte array or a string, without its head, as a place. */
static int
payload(struct gguf *g, struct incoming *v, size_t head, struct place *place)
{
	if (spill(g, v) < 0)
		return -1;
	*place = v->place;
	place->at += head;
	place->bytes -= head;
	return 0;
}

static int
carried_blob(struct gguf *g, const char *name, struct incoming *v)
{
	struct carried *c;

	if (mem_grow(&g->carried, &g->carried_cap, g->carried_count + 1,
	             sizeof *g->carried) < 0)
		return err_memory(g->reader.err);
	c = &g->carried[g->carried_count++];
	if (!(c->name = mem_text(name, strlen(name))))
		return err_memory(g->reader.err);
	return payload(g, v, ARRAY_HEAD, &c->place);
}

/* apr.type.NAME follows the blob it is about. */
static int
carried_type(struct gguf *g, const char *name, struct incoming *v)
{
	struct carried *c = g->carried_count ? &g->carried[g->carried_count - 1] : NULL;
	size_t n;
	const char *type = value_string(v->type, v->b.p, v->b.n, &n);

	if (!c || c->type || strcmp(c->name, name) != 0 || v->spilled || !type ||
	    !text_utf8(type, n, false))
		return bad_carrier(g);
	c->type = mem_text(type, n);
	return c->type ? 0 : err_memory(g->reader.err);
}

/* The value without its head, in memory. */
static int
recall(struct gguf *g, const struct incoming *v, size_t head, struct buf *b)
{
	uint64_t here = reader_tell(&g->reader), bytes;
	struct err *e = g->reader.err;

	if (!v->spilled) {
		buf_put(b, v->b.p + head, v->b.n - head);
		return buf_ok(b) ? 0 : err_memory(e);
	}
	bytes = v->place.bytes - head;
	if (v->place.spooled) {
		if (!buf_room(b, bytes))
			return err_memory(e);
		b->n = bytes;
		return spool_get(&g->spool, v->place.at + head, b->p, bytes, e);
	}
	if (reader_seek(&g->reader, v->place.at + head) < 0 ||
	    reader_append(&g->reader, b, bytes) < 0)
		return -1;
	return reader_seek(&g->reader, here);
}

/* prov and sign frames: numbered from 0, held in memory (they are small and
 * their size follows from the plan). A prov frame is all head, a sign frame
 * begins with one; both are JSON. */
static int
carried_frame(struct gguf *g, const char *number, struct incoming *v,
              struct buf **list, size_t *count, size_t *cap, size_t head)
{
	bool is_prov = list == &g->provs;
	size_t text = is_prov ? MODEL_PROV_HEAD : MODEL_SIGN_HEAD;
	struct err *e = g->reader.err;
	struct buf *b;
	json_t *json;
	uint64_t n;

	if (text_u64(number, *count, *count, &n) < 0 ||
	    *count >= (is_prov ? MODEL_PROVS : MODEL_SIGNS) ||
	    (is_prov && (v->spilled ? v->place.bytes : v->b.n) - head > text))
		return bad_carrier(g);
	if (mem_grow(list, cap, *count + 1, sizeof **list) < 0)
		return err_memory(e);
	b = &(*list)[(*count)++];
	if (recall(g, v, head, b) < 0)
		return -1;
	json = json_parse(b->p, b->n < text ? b->n : text, ERR_CORRUPT, g->reader.name, e);
	json_decref(json);
	return json ? 0 : -1;
}

static int
carried_dtype(struct gguf *g, const char *name, struct incoming *v)
{
	struct retype *t;
	size_t n;

	if (v->spilled || !value_string(v->type, v->b.p, v->b.n, &n))
		return bad_carrier(g);
	if (mem_grow(&g->retypes, &g->retype_cap, g->retype_count + 1,
	             sizeof *g->retypes) < 0)
		return err_memory(g->reader.err);
	t = &g->retypes[g->retype_count++];
	if (!(t->name = mem_text(name, strlen(name))))
		return err_memory(g->reader.err);
	/* The wire bytes have no terminator of their own. */
	if (!buf_string(&v->b))
		return err_memory(g->reader.err);
	t->dtype = dtype_by_name((char *)v->b.p + 8);
	return t->dtype && dtype_sized(t->dtype) ? 0 : bad_carrier(g);
}

/* apr.shape.NAME follows apr.dtype.NAME. */
static int
carried_shape(struct gguf *g, const char *name, struct incoming *v)
{
	struct retype *t = g->retype_count ? &g->retypes[g->retype_count - 1] : NULL;
	uint64_t count;
	size_t i;

	if (!t || t->has_shape || strcmp(t->name, name) != 0 || v->spilled ||
	    v->type.depth != 1 || v->type.leaf != VALUE_U64)
		return bad_carrier(g);
	count = le64(v->b.p + 4);
	if (count > TENSOR_DIMS)
		return bad_carrier(g);
	for (i = 0; i < count; i++)
		t->dims[i] = le64(v->b.p + ARRAY_HEAD + 8 * i);
	t->ndim = (unsigned)count;
	t->has_shape = true;
	return 0;
}

static int
carried_json(struct gguf *g, const char *name, struct incoming *v)
{
	struct place place;
	struct value_type json = { 0, VALUE_JSON };
	struct err *e = g->reader.err;

	if (v->type.depth || v->type.leaf != VALUE_STRING || !*name)
		return bad_carrier(g);
	if (!v->spilled && value_is_inline(json, v->b.p + 8, v->b.n - 8))
		return model_add_meta(&g->plan, name, strlen(name), json, v->b.p + 8,
		                      v->b.n - 8, e);
	if (payload(g, v, 8, &place) < 0 || add_place(g, place) < 0)
		return -1;
	return model_add_meta_blob(&g->plan, name, strlen(name), json, place.bytes, e);
}

static const char *
after(const char *key, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(key, prefix, n) == 0 ? key + n : NULL;
}

/* 1 if the key is one of ours and was taken in, 0 if not, -1 on a fault. */
static int
take_carrier(struct gguf *g, const char *key, struct incoming *v)
{
	const char *name;
	int r;

	if ((name = after(key, GGUF_BLOB)) && *name)
		r = is_bytes(v) ? carried_blob(g, name, v) : bad_carrier(g);
	else if ((name = after(key, GGUF_TYPE)) && *name)
		r = carried_type(g, name, v);
	else if (strcmp(key, GGUF_LICENCE) == 0)
		r = is_bytes(v) && g->plan.licence == MODEL_NONE
		        ? payload(g, v, ARRAY_HEAD, &g->licence) : bad_carrier(g);
	else if ((name = after(key, GGUF_PROV)))
		r = v->type.depth == 0 && v->type.leaf == VALUE_STRING
		        ? carried_frame(g, name, v, &g->provs, &g->prov_count,
		                        &g->prov_cap, 8)
		        : bad_carrier(g);
	else if ((name = after(key, GGUF_SIGN)))
		r = is_bytes(v) ? carried_frame(g, name, v, &g->signs, &g->sign_count,
		                                &g->sign_cap, ARRAY_HEAD)
		                : bad_carrier(g);
	else if ((name = after(key, GGUF_DTYPE)) && *name)
		r = carried_dtype(g, name, v);
	else if ((name = after(key, GGUF_SHAPE)) && *name)
		r = carried_shape(g, name, v);
	else if ((name = after(key, GGUF_JSON)))
		r = carried_json(g, name, v);
	else
		return 0;
	if (r == 0 && strcmp(key, GGUF_LICENCE) == 0)
		g->plan.licence = g->licence.bytes;
	return r < 0 ? -1 : 1;
}

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

static int
read_key(struct gguf *g, struct buf *name, uint64_t at)
{
	struct incoming v = { 0 };
	const char *key;
	int r;

	if (read_name(g, name, "a metadata key", GGUF_KEY) < 0)
		return -1;
	key = (const char *)name->p;
	r = read_value(g, &v);
	if (r == 0 && strcmp(key, GGUF_ALIGN_KEY) == 0)
		r = take_alignment(g, &v, at);
	else if (r == 0 && (r = take_carrier(g, key, &v)) == 0)
		r = keep_value(g, key, &v);
	if (r < 0)
		err_hint(g->reader.err, "the key is %.160s",
		         text_quote((char[200]){ 0 }, 200, key, strlen(key)));
	buf_free(&v.b);
	return r < 0 ? -1 : 0;
}

/* ---- tensors ---- */

static int
read_dims(struct gguf *g, const char *name, unsigned *ndim, uint64_t *dims)
{
	uint32_t n = reader_u32(&g->reader);
	unsigned i;

	if (g->reader.failed)
		return -1;
	if (n > GGUF_AXES)
		return err_set(g->reader.err, ERR_FORMAT, name,
		               "%" PRIu32 " dimensions, GGUF has at most %d", n, GGUF_AXES);
	for (i = 0; i < n; i++)
		dims[n - 1 - i] = read_size(g);
	*ndim = n;
	return g->reader.failed ? -1 : 0;
}

static int
by_name(const void *a, const void *b)
{
	const struct retype *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int
sort_retypes(struct gguf *g)
{
	size_t i;

	if (g->retype_count == 0)
		return 0;
	qsort(g->retypes, g->retype_count, sizeof *g->retypes, by_name);
	for (i = 1; i < g->retype_count; i++)
		if (strcmp(g->retypes[i - 1].name, g->retypes[i].name) == 0)
			return err_set(g->reader.err, ERR_CORRUPT, g->reader.name,
			               "metadata key " GGUF_DTYPE "%.100s occurs twice",
			               g->retypes[i].name);
	return 0;
}

/* The index entry of a tensor stored as bytes, as what it was before. */
static int
restore(struct gguf *g, char *name, const struct dtype **type, unsigned *ndim,
        uint64_t *dims)
{
	struct retype key = { .name = name }, *t = NULL;

	if (g->retype_count)
		t = bsearch(&key, g->retypes, g->retype_count, sizeof key, by_name);
	if (!t)
		return 0;
	if (strcmp((*type)->name, "I8") != 0 || !t->has_shape || t->used)
		return err_set(g->reader.err, ERR_CORRUPT, name,
		               "contradicts its " GGUF_DTYPE " and " GGUF_SHAPE " keys");
	t->used = true;
	*type = t->dtype;
	*ndim = t->ndim;
	memcpy(dims, t->dims, sizeof t->dims);
	return 0;
}

/* One index entry. A tensor of unknown type gets its size from the layout, so
 * descriptors are only built when all entries are known. */
struct entry {
	char *name;
	const struct dtype *type;
	unsigned ndim;
	uint64_t dims[TENSOR_DIMS];
	uint64_t offset;
};

static bool
is_empty(const struct entry *x)
{
	unsigned i;

	for (i = 0; i < x->ndim; i++)
		if (x->dims[i] == 0)
			return true;
	return false;
}

static int
read_entry(struct gguf *g, struct buf *name, struct entry *x, uint64_t *bytes)
{
	struct tensor *t;
	uint32_t type;

	if (read_name(g, name, "a tensor name", TENSOR_NAME) < 0 ||
	    read_dims(g, (char *)name->p, &x->ndim, x->dims) < 0)
		return -1;
	type = reader_u32(&g->reader);
	x->offset = reader_u64(&g->reader);
	if (g->reader.failed)
		return -1;
	x->type = dtype_by_ggml(type);
	if (!x->type)
		return err_set(g->reader.err, ERR_FORMAT, (char *)name->p,
		               "has the type number %" PRIu32 ", which GGML does not use", type);
	if (!(x->name = mem_text((char *)name->p, name->n)))
		return err_memory(g->reader.err);
	/* Proved as stored, whatever it will be called. */
	if (!dtype_sized(x->type)) {
		*bytes = is_empty(x) ? 0 : LAYOUT_OPEN;
		return 0;
	}
	t = tensor_new(x->name, name->n, x->type, x->ndim, x->dims, TENSOR_OWN_SIZE,
	               g->reader.name, g->reader.err);
	if (!t)
		return -1;
	*bytes = tensor_bytes(t);
	tensor_free(t);
	return restore(g, x->name, &x->type, &x->ndim, x->dims);
}

/* Tensors travel in the order of their data; the index order is kept where it
 * is another one. */
static int
build_tensors(struct gguf *g, const struct entry *entries, const struct extent *extents,
              size_t n)
{
	struct err *e = g->reader.err;
	bool moved = false;
	size_t i, *order = mem_array(n, sizeof *order);
	json_t *list;

	if (!order || !(g->offsets = mem_array(n, sizeof *g->offsets))) {
		free(order);
		return err_memory(e);
	}
	for (i = 0; i < n; i++) {
		const struct entry *x = &entries[extents[i].index];
		struct tensor *t = tensor_new(x->name, strlen(x->name), x->type, x->ndim,
		                              x->dims, extents[i].bytes, g->reader.name, e);

		if (!t || model_add_tensor(&g->plan, t, e) < 0) {
			free(order);
			return -1;
		}
		g->offsets[i] = extents[i].offset;
		order[extents[i].index] = i;
		moved |= extents[i].index != i;
	}
	list = moved ? json_array() : NULL;
	for (i = 0; list && i < n; i++)
		if (json_array_append_new(list, json_integer((json_int_t)order[i])) < 0) {
			json_decref(list);
			list = NULL;
		}
	free(order);
	return moved ? model_source_set(&g->plan, "index_order", list, e) : 0;
}

/* Where the data begins, and whether the file ends where it must. */
static int
prove_end(struct gguf *g, uint64_t data_end, size_t tensors)
{
	struct reader *r = &g->reader;
	uint64_t end, padded;
	bool is_padded = tensors > 0;

	if (num_add(tensors ? g->data_at : g->header_bytes, data_end, &end) < 0 ||
	    num_align(end, g->alignment, &padded) < 0)
		return err_set(r->err, ERR_CORRUPT, r->name, "its size overflows");
	if (r->end != READER_UNKNOWN) {
		if (r->end != end && r->end != padded)
			return err_set(r->err, ERR_CORRUPT, r->name,
			               r->end < end ? "is cut short: %" PRIu64
			               " bytes, its header promises %" PRIu64
			               : "has %" PRIu64 " bytes, but its content ends at %" PRIu64,
			               r->end, end);
		is_padded = r->end == padded;
	} else if (!tensors) {
		/* Few enough bytes to look ahead in a pipe. */
		size_t n;

		reader_peek(r, (size_t)(padded - end) + 1, &n);
		is_padded = n > 0 || padded == end;
	}
	g->data_bytes = data_end;
	return model_source_set(&g->plan, "end_padded", json_boolean(is_padded), r->err);
}

static int
place_tensors(struct gguf *g, struct entry *entries, struct extent *extents, size_t n)
{
	struct reader *r = &g->reader;
	uint64_t length = UINT64_MAX, end;

	g->header_bytes = reader_tell(r);
	if (num_align(g->header_bytes, g->alignment, &g->data_at) < 0)
		return err_set(r->err, ERR_CORRUPT, r->name, "its header's size overflows");
	if (r->end != READER_UNKNOWN)
		length = r->end < g->data_at ? 0 : r->end - g->data_at;
	if (layout_prove(extents, n, g->alignment, length, &end, r->err) < 0)
		return -1;
	if (prove_end(g, end, n) < 0)
		return -1;
	return build_tensors(g, entries, extents, n);
}

static int
read_tensors(struct gguf *g, uint64_t count, struct buf *name)
{
	struct entry *entries = NULL;
	struct extent *extents = NULL;
	size_t n = 0, cap = 0, extent_cap = 0;
	int r = 0;

	for (; r == 0 && n < count; n++) {
		if (mem_grow(&entries, &cap, n + 1, sizeof *entries) < 0 ||
		    mem_grow(&extents, &extent_cap, n + 1, sizeof *extents) < 0) {
			r = err_memory(g->reader.err);
			break;
		}
		r = read_entry(g, name, &entries[n], &extents[n].bytes);
		extents[n].index = n;
		extents[n].name = entries[n].name;
		extents[n].offset = entries[n].offset;
	}
	if (r == 0)
		r = place_tensors(g, entries, extents, n);
	while (n > 0)
		free(entries[--n].name);
	free(entries);
	free(extents);
	return r;
}

/* ---- the header as a whole ---- */

static int
add_carried(struct gguf *g)
{
	struct err *e = g->reader.err;
	size_t i;

	for (i = 0; i < g->carried_count; i++) {
		struct carried *c = &g->carried[i];

		if (!c->type)
			return err_set(e, ERR_CORRUPT, g->reader.name,
			               GGUF_BLOB " without its " GGUF_TYPE " key");
		if (add_place(g, c->place) < 0 ||
		    model_add_blob(&g->plan, c->name, c->type, c->place.bytes, e) < 0)
			return -1;
	}
	for (i = 0; i < g->prov_count; i++)
		if (model_add_prov(&g->plan, g->provs[i].n, e) < 0)
			return -1;
	g->plan.signatures = g->sign_count;
	for (i = 0; i < g->retype_count; i++)
		if (!g->retypes[i].used)
			return err_set(e, ERR_CORRUPT, g->reader.name,
			               "metadata key " GGUF_DTYPE "%.100s names no tensor",
			               g->retypes[i].name);
	return 0;
}

/* Only now do the sizes that follow from the plan follow. */
static int
prove_signs(struct gguf *g)
{
	uint64_t bytes = MODEL_SIGN_HEAD + model_sign_body(&g->plan);
	size_t i;

	for (i = 0; i < g->sign_count; i++)
		if (g->signs[i].n != bytes)
			return err_set(g->reader.err, ERR_CORRUPT, g->reader.name,
			               GGUF_SIGN "%zu has %zu bytes, but this model's signatures "
			               "have %" PRIu64, i, g->signs[i].n, bytes);
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
	tensors = read_size(g);
	keys = read_size(g);
	if (r->failed)
		return -1;
	if (tensors > reader_left(r) / (LEAST_TENSOR - (g->version == 1 ? 4 : 0)))
		return reader_fail(r, ERR_CORRUPT, "%" PRIu64
		                   " tensors cannot lie in the bytes left", tensors);
	if (keys > reader_left(r) / (LEAST_KEY - (g->version == 1 ? 4 : 0)))
		return reader_fail(r, ERR_CORRUPT, "%" PRIu64
		                   " metadata keys cannot lie in the bytes left", keys);
	for (i = 0; status == 0 && i < keys; i++)
		status = read_key(g, &name, i);
	if (status == 0)
		status = model_source_set(&g->plan, "alignment",
		                          json_from_u64(g->alignment), r->err);
	if (status == 0)
		status = sort_retypes(g);
	if (status == 0)
		status = read_tensors(g, tensors, &name);
	buf_free(&name);
	if (status < 0)
		return -1;
	if (add_carried(g) < 0 || prove_signs(g) < 0)
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

/* Go to a tensor's first byte: passing over padding, never back. */
static int
begin_tensor(struct gguf *g, size_t i)
{
	uint64_t at = g->data_at + g->offsets[i];

	g->left = tensor_bytes(g->plan.tensors[i]);
	g->from = NULL;
	g->body = (struct place){ 0 };
	if (g->reader.seekable)
		return reader_seek(&g->reader, at);
	return reader_skip(&g->reader, at - reader_tell(&g->reader));
}

static int
finish(struct gguf *g)
{
	struct reader *r = &g->reader;
	uint64_t end = g->plan.tensor_count ? g->data_at + g->data_bytes : g->header_bytes;
	uint64_t padded = 0;
	size_t n;

	if (r->seekable)
		return 0; /* proved before the first byte was sent */
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

static int
next(struct source *source, struct item *item, struct err *e)
{
	struct gguf *g = (struct gguf *)source;
	const struct model *m = &g->plan;

	(void)e;
	if (g->blob < m->blob_count) {
		*item = (struct item){ .kind = ITEM_BLOB, .index = g->blob,
			.bytes = m->blobs[g->blob].bytes };
		return begin_place(g, &g->places[g->blob++]) < 0 ? -1 : 1;
	}
	if (m->licence != MODEL_NONE && !g->licence_sent) {
		g->licence_sent = true;
		*item = (struct item){ .kind = ITEM_LICENCE, .bytes = m->licence };
		return begin_place(g, &g->licence) < 0 ? -1 : 1;
	}
	if (g->tensor < m->tensor_count) {
		*item = (struct item){ .kind = ITEM_TENSOR, .index = g->tensor,
			.bytes = tensor_bytes(m->tensors[g->tensor]) };
		return begin_tensor(g, g->tensor++) < 0 ? -1 : 1;
	}
	g->left = 0;
	if (g->prov < g->prov_count) {
		*item = (struct item){ .kind = ITEM_PROV, .index = g->prov,
			.head = (char *)g->provs[g->prov].p,
			.head_bytes = g->provs[g->prov].n };
		g->prov++;
		return 1;
	}
	if (g->sign < g->sign_count) {
		const struct buf *b = &g->signs[g->sign];

		*item = (struct item){ .kind = ITEM_SIGN, .index = g->sign++,
			.head = (char *)b->p, .head_bytes = MODEL_SIGN_HEAD,
			.bytes = b->n - MODEL_SIGN_HEAD };
		g->from = b->p + MODEL_SIGN_HEAD;
		g->left = item->bytes;
		return 1;
	}
	return finish(g);
}

static int
read_body(struct source *source, const uint8_t **p, size_t *n, struct err *e)
{
	struct gguf *g = (struct gguf *)source;

	*n = 0;
	if (g->left == 0)
		return 0;
	if (g->from) {
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
		*p = reader_some(&g->reader, g->left, n);
		if (!*p)
			return -1;
	}
	g->left -= *n;
	return 0;
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
	free(g->offsets);
	buf_free(&g->memory);
	spool_free(&g->spool);
	model_free(&g->plan);
	reader_close(&g->reader);
	free(g);
}

struct source *
gguf_open(struct reader *r, const struct format_options *options,
          void (*note)(const char *), struct err *e)
{
	static const struct source_ops ops = { next, read_body, close_source };
	struct gguf *g = mem_array(1, sizeof *g);

	if (!g) {
		reader_close(r);
		err_memory(e);
		return NULL;
	}
	g->source = (struct source){ .plan = &g->plan, .ops = &ops, .name = r->name,
		.note = note };
	g->options = *options;
	g->reader = *r;
	if (model_init(&g->plan, e) < 0 || read_header(g) < 0) {
		close_source(&g->source);
		return NULL;
	}
	return &g->source;
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

	if (!o)
		err_memory(e);
	return o;
}

uint64_t
gguf_tensor_offset(const struct source *s, size_t i)
{
	const struct gguf *g = (const struct gguf *)s;

	return g->data_at + g->offsets[i];
}
