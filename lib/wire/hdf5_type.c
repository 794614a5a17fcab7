/* Types, spaces, and attributes with their texts. */
#include "wire/hdf5.h"

#include <inttypes.h>
#include <string.h>

#include "core/le.h"
#include "core/num.h"

/* ---- types ---- */

#define VARIABLE_TEXT 1 /* of a type of variable length */

static const struct { enum hdf5_class class; const char *title; } classes[] = {
	{ HDF5_INTEGER, "integers" }, { HDF5_FLOAT, "floating point numbers" },
	{ HDF5_OTHER, "times" }, { HDF5_TEXT, "texts" }, { HDF5_OTHER, "bit fields" },
	{ HDF5_OPAQUE, "opaque values" }, { HDF5_OTHER, "compounds" }, { HDF5_OTHER, "references" },
	{ HDF5_OTHER, "enumerations" }, { HDF5_OTHER, "sequences of variable length" },
	{ HDF5_OTHER, "arrays" }, { HDF5_OTHER, "complex numbers" },
};

/* A type that does not fill its bytes in the usual order has class HDF5_OTHER. */
static void
read_integer(struct hdf5_part *part, uint32_t bits, struct hdf5_type *t, bool *ok)
{
	const uint64_t offset = hdf5_number(part, 2, ok), precision = hdf5_number(part, 2, ok);

	t->big = bits & 1;
	t->sign = bits & 8;
	if (offset != 0 || precision != 8 * (uint64_t)t->bytes) {
		t->class = HDF5_OTHER;
		t->title = "integers with unused bits";
	}
}

/* Sign, exponent and mantissa, from the highest bit, as IEEE 754 has them. */
static void
read_float(struct hdf5_part *part, uint32_t bits, struct hdf5_type *t, bool *ok)
{
	const uint64_t offset = hdf5_number(part, 2, ok), precision = hdf5_number(part, 2, ok);
	const uint64_t exponent_at = hdf5_number(part, 1, ok);
	uint64_t mantissa_at;

	t->exponent = (uint8_t)hdf5_number(part, 1, ok);
	mantissa_at = hdf5_number(part, 1, ok);
	t->mantissa = (uint8_t)hdf5_number(part, 1, ok);
	t->bias = (uint32_t)hdf5_number(part, 4, ok);
	t->big = bits & 1;
	if (offset != 0 || precision != 8 * (uint64_t)t->bytes || mantissa_at != 0 ||
	    exponent_at != t->mantissa || (bits >> 8 & 0xff) != precision - 1 || bits & 0x40 ||
	    (bits >> 4 & 3) != 2 || t->exponent + t->mantissa + 1u != precision) {
		t->class = HDF5_OTHER;
		t->title = "floating point numbers of an unusual form";
	}
}

/* h5py's truth values: an enumeration of integers of one byte, FALSE and TRUE. In version 3 names
 * are not filled up. */
static void
read_enumeration(struct hdf5_part part, uint32_t bits, unsigned version, struct hdf5_type *t)
{
	static const char padded[] = "FALSE\0\0\0TRUE\0\0\0\0\0\1", plain[] = "FALSE\0TRUE\0\0\1";
	const char *names = version < 3 ? padded : plain;
	const size_t n = version < 3 ? sizeof padded - 1 : sizeof plain - 1;

	if ((bits & 0xffff) == 2 && t->bytes == 1 && part.n >= 12 + n &&
	    memcmp(part.p + 12, names, n) == 0)
		t->class = HDF5_BOOL;
}

/* The value of a message for a type. */
static int
read_type(struct hdf5 *h, struct hdf5_part part, struct hdf5_type *t)
{
	bool ok = true;
	const unsigned head = (unsigned)hdf5_number(&part, 1, &ok), number = head & 15;
	uint32_t bits = (uint32_t)hdf5_number(&part, 2, &ok);

	bits |= (uint32_t)hdf5_number(&part, 1, &ok) << 16;
	*t = (struct hdf5_type){ .class = HDF5_OTHER, .title = "an unknown kind" };
	t->bytes = (uint32_t)hdf5_number(&part, 4, &ok);
	if (number < sizeof classes / sizeof *classes) {
		t->class = classes[number].class;
		t->title = classes[number].title;
	}
	if (t->class == HDF5_INTEGER)
		read_integer(&part, bits, t, &ok);
	else if (t->class == HDF5_FLOAT)
		read_float(&part, bits, t, &ok);
	else if (number == 8)
		read_enumeration(part, bits, head >> 4, t);
	else if (number == 9 && (bits & 15) == VARIABLE_TEXT)
		t->class = HDF5_TEXTS;
	if (!ok)
		return hdf5_fail(h, ERR_CORRUPT, "has a message that is too short");
	if (head >> 4 < 1 || head >> 4 > 5)
		return hdf5_fail(h, ERR_VERSION, "has a type of version %u; 1 to 5 are read", head >> 4);
	if (t->bytes == 0 && t->class != HDF5_TEXT)
		return hdf5_fail(h, ERR_CORRUPT, "has a type of 0 bytes");
	return 0;
}

/* ---- spaces ---- */

static int
read_space(struct hdf5 *h, struct hdf5_part part, struct hdf5_space *s)
{
	bool ok = true;
	const unsigned version = (unsigned)hdf5_number(&part, 1, &ok);
	unsigned i, kind;

	*s = (struct hdf5_space){ .count = 1 };
	s->ndim = (unsigned)hdf5_number(&part, 1, &ok);
	hdf5_number(&part, 1, &ok);
	kind = (unsigned)hdf5_number(&part, 1, &ok);
	if (version == 1)
		hdf5_number(&part, 4, &ok);
	if (ok && version != 1 && version != 2)
		return hdf5_fail(h, ERR_VERSION, "has a space of version %u; 1 and 2 are read", version);
	if (s->ndim > HDF5_DIMS)
		return hdf5_fail(h, ERR_CORRUPT, "has %u dimensions; at most %d are read", s->ndim,
		                 HDF5_DIMS);
	s->null = version == 2 && kind == 2;
	for (i = 0; i < s->ndim; i++) {
		s->dims[i] = hdf5_number(&part, 8, &ok);
		if (num_mul(s->count, s->dims[i], &s->count) < 0)
			return hdf5_fail(h, ERR_CORRUPT, "has a shape that is too large");
	}
	if (s->null)
		s->count = 0;
	return ok ? 0 : hdf5_fail(h, ERR_CORRUPT, "has a message that is too short");
}

int
hdf5_type(struct hdf5 *h, const struct hdf5_object *o, struct hdf5_type *t)
{
	return read_type(h, o->parts[HDF5_TYPE], t);
}

int
hdf5_space(struct hdf5 *h, const struct hdf5_object *o, struct hdf5_space *s)
{
	return read_space(h, o->parts[HDF5_SPACE], s);
}

/* ---- attributes ---- */

#define MESSAGE_ATTRIBUTE 12
#define MESSAGE_ATTRIBUTES 21 /* where more of them are */

struct search {
	struct hdf5 *h;
	const char *name;
	struct hdf5_attribute *a;
};

/* n bytes, which are followed by bytes up to a multiple of 8 in version 1. */
static struct hdf5_part
take_padded(struct hdf5 *h, struct hdf5_part *m, uint64_t n, unsigned version, bool *ok)
{
	struct hdf5_part part = { m->p, n };
	uint64_t whole = version == 1 ? (n + 7) / 8 * 8 : n;

	/* the last part of a message need not be filled up */
	if (n <= m->n && whole > m->n)
		whole = m->n;
	*ok = *ok && n <= m->n && hdf5_take(h, m, whole);
	return part;
}

static int
read_attribute(const struct search *x, struct hdf5_part m)
{
	bool ok = true;
	const unsigned version = (unsigned)hdf5_number(&m, 1, &ok);
	const unsigned flags = (unsigned)hdf5_number(&m, 1, &ok);
	const uint64_t name_bytes = hdf5_number(&m, 2, &ok), type_bytes = hdf5_number(&m, 2, &ok);
	const uint64_t space_bytes = hdf5_number(&m, 2, &ok);
	struct hdf5_part name, type, space;
	uint64_t need;

	if (ok && (version < 1 || version > 3))
		return hdf5_fail(x->h, ERR_VERSION, "has an attribute of version %u; 1 to 3 are read",
		                 version);
	hdf5_number(&m, version == 3 ? 1 : 0, &ok);
	name = take_padded(x->h, &m, name_bytes, version, &ok);
	if (ok && (name.n != strlen(x->name) + 1 || memcmp(name.p, x->name, name.n) != 0))
		return 0;
	type = take_padded(x->h, &m, type_bytes, version, &ok);
	space = take_padded(x->h, &m, space_bytes, version, &ok);
	if (!ok)
		return hdf5_fail(x->h, ERR_CORRUPT, "has an attribute that is too short");
	if (version > 1 && flags & 3)
		return hdf5_fail(x->h, ERR_FORMAT, "has an attribute of a named type, which is not read");
	if (read_type(x->h, type, &x->a->type) < 0 ||
	    read_space(x->h, space, &x->a->space) < 0)
		return -1;
	if (num_mul(x->a->space.count, x->a->type.bytes, &need) < 0 || need > m.n)
		return hdf5_fail(x->h, ERR_CORRUPT, "has an attribute %s that is too short for its shape",
		                 x->name);
	x->a->values = (struct hdf5_part){ m.p, need };
	return 1;
}

/* Attributes that are too many or too large for the header lie in a heap. */
static int
check_more(const struct search *x, struct hdf5_part m)
{
	bool ok = true;
	unsigned bits;

	hdf5_number(&m, 1, &ok);
	bits = (unsigned)hdf5_number(&m, 1, &ok);
	hdf5_number(&m, bits & 1 ? 2 : 0, &ok);
	if (hdf5_number(&m, 8, &ok) == HDF5_NONE && ok)
		return 0;
	return hdf5_fail(x->h, ERR_FORMAT, "keeps attributes in a fractal heap, which is not read");
}

static int
search_message(void *ctx, unsigned type, unsigned flags, struct hdf5_part m)
{
	const struct search *x = ctx;

	if (type == MESSAGE_ATTRIBUTES)
		return check_more(x, m);
	if (type != MESSAGE_ATTRIBUTE)
		return 0;
	if (flags & 2)
		return hdf5_fail(x->h, ERR_FORMAT, "has an attribute that is shared between objects, "
		                 "which is not read");
	return read_attribute(x, m);
}

int
hdf5_attribute(struct hdf5 *h, const struct hdf5_object *o, const char *name,
               struct hdf5_attribute *a)
{
	struct search x = { h, name, a };

	return hdf5_messages(h, o->at, search_message, &x);
}

/* ---- texts ---- */

/* An object of a global heap: index, count of references, 4 bytes, size, and the bytes, filled up
 * to a multiple of 8. */
static int
heap_text(struct hdf5 *h, uint64_t at, uint32_t index, const char **p, size_t *n)
{
	const uint8_t *head = hdf5_bytes(h, at, 16, "a heap of values");
	uint64_t end, k, bytes, size;

	if (!head)
		return -1;
	size = le64(head + 8);
	if (memcmp(head, "GCOL\1", 5) != 0 || size > h->n - at)
		return hdf5_fail(h, ERR_CORRUPT, "has no heap of values at offset %" PRIu64, at);
	for (k = at + 16, end = at + size; end - k >= 16 && k < end; k += 16 + (bytes + 7) / 8 * 8) {
		head = hdf5_bytes(h, k, 16, "a heap of values");
		if (!head)
			return -1;
		bytes = le64(head + 8);
		if (le16(head) == 0 || bytes > end - k - 16 || (bytes + 7) / 8 * 8 > end - k - 16)
			break;
		if (le16(head) == index) {
			*p = (const char *)head + 16;
			*n = (size_t)bytes;
			return hdf5_bytes(h, k + 16, bytes, "a text") ? 0 : -1;
		}
	}
	return hdf5_fail(h, ERR_CORRUPT, "has no value %" PRIu32 " in its heap at offset %" PRIu64,
	                 index, at);
}

int
hdf5_text(struct hdf5 *h, const struct hdf5_attribute *a, uint64_t i, const char **p, size_t *n)
{
	const uint8_t *v = a->values.p + i * a->type.bytes;
	uint64_t bytes;

	*p = (const char *)v;
	*n = a->type.bytes;
	if (a->type.class == HDF5_TEXTS && a->type.bytes == 16) {
		bytes = le32(v);
		if (bytes == 0)
			*n = 0;
		else if (heap_text(h, le64(v + 4), le32(v + 12), p, n) < 0)
			return -1;
		else if (bytes > *n)
			return hdf5_fail(h, ERR_CORRUPT, "has a text that is longer than its value");
		else
			*n = (size_t)bytes;
	} else if (a->type.class != HDF5_TEXT) {
		return hdf5_fail(h, ERR_CORRUPT, "has an attribute of %s in place of texts",
		                 a->type.title);
	}
	while (*n > 0 && (*p)[*n - 1] == 0)
		--*n;
	return 0;
}
