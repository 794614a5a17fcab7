#include "wire/flatbuffers.h"

#include <string.h>

#include "core/le.h"
#include "core/num.h"

#define LIMIT INT32_MAX     /* offsets in a buffer are smaller */
#define WORK_FIXED (1u << 16)
#define WORK_EACH 16        /* writers share vectors and tables that are equal */
#define TABLE_WORK 16

static void
fail(struct flat *f, const char *fault, uint64_t at)
{
	if (f->fault)
		return;
	f->fault = fault;
	f->at = at;
}

/* True if n bytes lie at an offset. */
static bool
has(struct flat *f, uint64_t at, uint64_t n, const char *what)
{
	uint64_t end;

	if (f->fault)
		return false;
	if (num_add(at, n, &end) == 0 && end <= f->n)
		return true;
	fail(f, what, at);
	return false;
}

static void
spend(struct flat *f, uint64_t bytes)
{
	if (bytes > f->work)
		fail(f, "refers to the same bytes too often", 0);
	f->work -= num_min(bytes, f->work);
}

/* The place to which the offset at `at` leads; it is relative to itself. 0 after a fault. */
static uint64_t
follow(struct flat *f, uint64_t at)
{
	uint64_t to;

	if (!has(f, at, 4, "an offset lies beyond the end"))
		return 0;
	to = at + le32(f->p + at);
	if (to > at && to < f->n)
		return to;
	fail(f, "an offset leads beyond the end", at);
	return 0;
}

static struct flat_table
table_at(struct flat *f, uint64_t at)
{
	struct flat_table t = { .at = at };
	int64_t vtable;

	spend(f, TABLE_WORK);
	if (!has(f, at, 4, "a table lies beyond the end"))
		return (struct flat_table){ 0 };
	vtable = (int64_t)at - (int32_t)le32(f->p + at);
	if (vtable < 0 || !has(f, (uint64_t)vtable, 4, "a vtable lies beyond the end")) {
		fail(f, "a vtable lies before the beginning", at);
		return (struct flat_table){ 0 };
	}
	t.vtable = (uint64_t)vtable;
	t.vtable_bytes = le16(f->p + t.vtable);
	t.bytes = le16(f->p + t.vtable + 2);
	if (t.vtable_bytes < 4 || t.vtable_bytes % 2 || t.bytes < 4)
		fail(f, "a vtable has sizes that are too small", t.vtable);
	if (has(f, t.vtable, t.vtable_bytes, "a vtable ends beyond the end") &&
	    has(f, t.at, t.bytes, "a table ends beyond the end"))
		return t;
	return (struct flat_table){ 0 };
}

struct flat_table
flat_root(struct flat *f, const uint8_t *p, uint64_t n, const char id[4])
{
	*f = (struct flat){ .p = p, .n = num_min(n, LIMIT) };
	f->work = WORK_FIXED + WORK_EACH * f->n;
	if (has(f, 0, 8, "is too short") && memcmp(p + 4, id, 4) != 0)
		fail(f, "does not have the identifier of its format", 4);
	return table_at(f, follow(f, 0));
}

/* The place of a field of that many bytes, or 0 if the table lacks it. */
static uint64_t
field_at(struct flat *f, const struct flat_table *t, unsigned field, unsigned bytes)
{
	const uint64_t slot = 4 + 2 * (uint64_t)field;
	unsigned at;

	if (f->fault || slot + 2 > t->vtable_bytes)
		return 0;
	at = le16(f->p + t->vtable + slot);
	if (at == 0)
		return 0;
	if (at >= 4 && at + bytes <= t->bytes)
		return t->at + at;
	fail(f, "a field lies outside its table", t->vtable + slot);
	return 0;
}

bool
flat_has(struct flat *f, const struct flat_table *t, unsigned field)
{
	return field_at(f, t, field, 1) > 0;
}

uint64_t
flat_number(struct flat *f, const struct flat_table *t, unsigned field, unsigned bytes,
            uint64_t absent)
{
	const uint64_t at = field_at(f, t, field, bytes);

	if (at == 0)
		return absent;
	switch (bytes) {
	case 1:
		return f->p[at];
	case 2:
		return le16(f->p + at);
	case 4:
		return le32(f->p + at);
	default:
		return le64(f->p + at);
	}
}

struct flat_table
flat_inner(struct flat *f, const struct flat_table *t, unsigned field)
{
	const uint64_t at = field_at(f, t, field, 4);

	return at ? table_at(f, follow(f, at)) : (struct flat_table){ 0 };
}

struct flat_vector
flat_list(struct flat *f, const struct flat_table *t, unsigned field, unsigned bytes)
{
	struct flat_vector v = { 0 };
	uint64_t at = field_at(f, t, field, 4), size;

	if (at == 0)
		return v;
	at = follow(f, at);
	if (!has(f, at, 4, "a vector lies beyond the end"))
		return v;
	v.count = le32(f->p + at);
	v.at = at + 4;
	v.p = f->p + v.at;
	if (num_mul(v.count, bytes, &size) < 0 ||
	    !has(f, v.at, size, "a vector ends beyond the end"))
		return (struct flat_vector){ 0 };
	spend(f, size);
	return f->fault ? (struct flat_vector){ 0 } : v;
}

const char *
flat_text(struct flat *f, const struct flat_table *t, unsigned field, size_t *n)
{
	const struct flat_vector v = flat_list(f, t, field, 1);

	*n = (size_t)v.count;
	if (v.p && has(f, v.at + v.count, 1, "a text ends beyond the end") && v.p[v.count] == 0)
		return (const char *)v.p;
	if (v.p)
		fail(f, "a text does not end with a zero", v.at);
	*n = 0;
	return "";
}

struct flat_table
flat_member(struct flat *f, const struct flat_vector *v, uint64_t i)
{
	return f->fault ? (struct flat_table){ 0 } : table_at(f, follow(f, v->at + 4 * i));
}
