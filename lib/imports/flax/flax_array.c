/* Arrays of Flax, whole and in chunks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "imports/flax/flax.h"

#define CHUNKS 65536u /* maximum number of an array: 64 TiB */

static const struct {
	const char *name, *dtype;
} types[] = {
	{ "float32", "F32" }, { "float16", "F16" }, { "bfloat16", "BF16" }, { "float64", "F64" },
	{ "int8", "I8" }, { "int16", "I16" }, { "int32", "I32" }, { "int64", "I64" },
	{ "uint8", "U8" }, { "uint16", "U16" }, { "uint32", "U32" }, { "uint64", "U64" },
	{ "bool", "BOOL" }, { "complex64", "C64" }, { "float8_e4m3fn", "F8_E4M3" },
	{ "float8_e5m2", "F8_E5M2" }, { "float8_e8m0fnu", "F8_E8M0" },
};
#define TYPES (sizeof types / sizeof *types)

static int
wrong(const struct flax *s, const char *name, const char *what)
{
	return err_set(s->import.err, ERR_CORRUPT, name, "%s", what);
}

/* ---- one array ---- */

static int
find_type(const struct flax *s, const char *name, const struct msgpack_token *t,
          struct flax_array *a)
{
	char shown[80];
	size_t i;

	for (i = 0; i < TYPES; i++)
		if (t->n == strlen(types[i].name) && memcmp(t->p, types[i].name, (size_t)t->n) == 0) {
			a->type = dtype_by_name(types[i].dtype);
			return 0;
		}
	text_quote(shown, sizeof shown, (const char *)t->p, (size_t)num_min(t->n, 40));
	return err_set(s->import.err, ERR_FORMAT, name, "has values of type %s, which are not read",
	               shown);
}

static int
read_shape(const struct flax *s, const char *name, struct msgpack *m, struct flax_array *a)
{
	struct msgpack_token t;
	uint64_t i, ndim;

	if (msgpack_next(m, &t) <= 0 || t.kind != MSGPACK_ARRAY)
		return wrong(s, name, "is an array without a shape");
	if (t.n > TENSOR_DIMS)
		return err_set(s->import.err, ERR_FORMAT, name, "has %" PRIu64 " dimensions, at most %d are "
		               "read", t.n, TENSOR_DIMS);
	ndim = t.n;
	a->items = 1;
	for (i = 0; i < ndim; i++) {
		if (msgpack_next(m, &t) <= 0 || t.kind != MSGPACK_INT || t.negative ||
		    num_mul(a->items, t.number, &a->items) < 0)
			return wrong(s, name, "has a shape that is not a list of sizes");
		a->dims[a->ndim++] = t.number;
	}
	return 0;
}

int
flax_array(struct flax *s, const char *name, const struct msgpack_token *t, struct flax_array *a)
{
	struct msgpack_token x;
	struct msgpack m;
	uint64_t need;

	*a = (struct flax_array){ .type = NULL };
	msgpack_open(&m, t->p, t->n, (uint64_t)(t->p - s->import.p), s->import.source.name,
	             s->import.err);
	if (msgpack_next(&m, &x) <= 0 || x.kind != MSGPACK_ARRAY || x.n != 3)
		return wrong(s, name, "is not an array of shape, type and bytes");
	if (read_shape(s, name, &m, a) < 0)
		return -1;
	if (msgpack_next(&m, &x) <= 0 || (x.kind != MSGPACK_TEXT && x.kind != MSGPACK_BYTES))
		return wrong(s, name, "is an array without a type");
	if (find_type(s, name, &x, a) < 0)
		return -1;
	if (msgpack_next(&m, &x) <= 0 || x.kind != MSGPACK_BYTES || m.at != m.n)
		return wrong(s, name, "is not an array of shape, type and bytes");
	if (num_mul(a->items, a->type->bytes, &need) < 0 || need != x.n)
		return err_set(s->import.err, ERR_CORRUPT, name, "has %" PRIu64 " bytes, but its shape is "
		               "that of %" PRIu64 " values", x.n, a->items);
	a->p = x.p;
	a->bytes = x.n;
	return 0;
}

/* ---- chunks ---- */

struct chunk {
	const uint8_t *p;
	uint64_t first, end; /* bytes of the tensor */
};

struct flax_chunks {
	struct flax_chunks *next;
	uint64_t count;
	struct chunk list[];
};

void
flax_chunks_free(struct flax *s)
{
	struct flax_chunks *next;

	for (; s->chunks; s->chunks = next) {
		next = s->chunks->next;
		free(s->chunks);
	}
}

static void
copy_chunks(const struct import_place *x, uint64_t first, uint64_t count, uint8_t *to)
{
	const struct flax_chunks *c = x->data;
	uint64_t at = first * x->out, end = at + count * x->out, n, i, low = 0, high = c->count;

	while (low < high) { /* the chunk that holds `at` */
		i = low + (high - low) / 2;
		if (c->list[i].end <= at)
			low = i + 1;
		else
			high = i;
	}
	for (i = low; at < end; i++, at += n, to += n) {
		n = num_min(c->list[i].end, end) - at;
		memcpy(to, c->list[i].p + (at - c->list[i].first), (size_t)n);
	}
}

/* The number that a key states, below n. */
static int
read_number(struct flax *s, const char *name, uint64_t n, uint64_t *number)
{
	struct msgpack_token t;
	char digits[8];

	if (flax_key(s, &t) < 0)
		return -1;
	if (t.n == 0 || t.n >= sizeof digits)
		return wrong(s, name, "has chunks or a shape whose keys are not numbers");
	memcpy(digits, t.p, (size_t)t.n);
	digits[t.n] = '\0';
	if (text_u64(digits, 0, n - 1, number) < 0)
		return wrong(s, name, "has chunks or a shape whose keys are not numbers");
	return 0;
}

static int
next(struct flax *s, const char *name, struct msgpack_token *t)
{
	int r = msgpack_next(&s->in, t);

	return r == 0 ? wrong(s, name, "ends inside a chunked array") : r;
}

static int
read_chunk_shape(struct flax *s, const char *name, struct flax_array *a)
{
	uint64_t i, count, number, seen = 0;
	struct msgpack_token t;

	if (next(s, name, &t) < 0)
		return -1;
	if (t.kind != MSGPACK_MAP || t.n > TENSOR_DIMS || a->ndim)
		return wrong(s, name, "has a shape that is not a map of sizes");
	count = t.n;
	for (i = 0; i < count; i++) {
		if (read_number(s, name, count, &number) < 0 || next(s, name, &t) < 0)
			return -1;
		if (t.kind != MSGPACK_INT || t.negative || seen >> number & 1)
			return wrong(s, name, "has a shape that is not a map of sizes");
		seen |= (uint64_t)1 << number;
		a->dims[number] = t.number;
	}
	a->ndim = (unsigned)count;
	return 0;
}

static int
read_chunk(struct flax *s, const char *name, struct flax_chunks *c, struct flax_array *a)
{
	struct msgpack_token t;
	struct flax_array one;
	uint64_t number;

	if (read_number(s, name, c->count, &number) < 0 || next(s, name, &t) < 0)
		return -1;
	if (t.kind != MSGPACK_EXT || t.type != 1 || c->list[number].p)
		return wrong(s, name, "has a chunk that is missing, twice there or not an array");
	if (flax_array(s, name, &t, &one) < 0)
		return -1;
	if (one.ndim != 1 || (a->type && a->type != one.type))
		return wrong(s, name, "has chunks of several types or dimensions");
	a->type = one.type;
	c->list[number].p = one.p;
	c->list[number].end = one.bytes;
	return 0;
}

static struct flax_chunks *
read_chunks(struct flax *s, const char *name, struct flax_array *a)
{
	struct flax_chunks *c;
	struct msgpack_token t;
	uint64_t i, at = 0;

	if (next(s, name, &t) < 0)
		return NULL;
	if (t.kind != MSGPACK_MAP || t.n == 0 || t.n > CHUNKS || t.n > s->in.n - s->in.at || a->type) {
		wrong(s, name, "has chunks that are not a map of arrays");
		return NULL;
	}
	c = calloc(1, sizeof *c + (size_t)t.n * sizeof *c->list);
	if (!c) {
		err_memory(s->import.err);
		return NULL;
	}
	c->next = s->chunks;
	s->chunks = c;
	c->count = t.n;
	for (i = 0; i < c->count; i++)
		if (read_chunk(s, name, c, a) < 0)
			return NULL;
	for (i = 0; i < c->count; i++) { /* each lies in the file, so the sum does not overflow */
		c->list[i].first = at;
		at = c->list[i].end += at;
	}
	a->bytes = at;
	a->p = c->list[0].p;
	return c;
}

/* Add the tensor of chunks, which must have as many values as its shape. */
static int
add_chunked(struct flax *s, const char *name, struct flax_array *a, const struct flax_chunks *c)
{
	struct import_place x = { .p = a->p, .make = copy_chunks, .data = c };
	uint64_t need = a->type->bytes;
	unsigned i;

	for (i = 0; i < a->ndim; i++)
		if (num_mul(need, a->dims[i], &need) < 0)
			return wrong(s, name, "has a shape of too many values");
	if (need != a->bytes)
		return err_set(s->import.err, ERR_CORRUPT, name, "has %" PRIu64 " bytes in chunks, but its "
		               "shape needs %" PRIu64, a->bytes, need);
	x.out = a->type->bytes;
	return import_tensor(&s->import, name, strlen(name), a->type, a->ndim, a->dims, &x);
}

int
flax_chunked(struct flax *s, const char *name, uint64_t keys)
{
	const struct flax_chunks *c = NULL;
	struct flax_array a = { .type = NULL };
	struct msgpack_token t;
	int r;

	if (next(s, name, &t) < 0)
		return -1;
	if (t.kind != MSGPACK_BOOL || !t.number || keys != 3)
		return wrong(s, name, "is not a map of shape and chunks");
	while (--keys > 0) {
		if (flax_key(s, &t) < 0)
			return -1;
		if (t.n == 5 && memcmp(t.p, "shape", 5) == 0)
			r = read_chunk_shape(s, name, &a);
		else if (t.n == 6 && memcmp(t.p, "chunks", 6) == 0)
			r = (c = read_chunks(s, name, &a)) ? 0 : -1;
		else
			r = wrong(s, name, "is not a map of shape and chunks");
		if (r < 0)
			return -1;
	}
	return c ? add_chunked(s, name, &a, c) : wrong(s, name, "is not a map of shape and chunks");
}
