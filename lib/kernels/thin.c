#include "kernels/thin.h"

#include <string.h>

#include "kernels/common/products.h"
#include "kernels/common/thin_line.h"
#include "kernels/cpu.h"

/* Rows with bitmaps are faster than dense ones if at most one value in FEW is not zero
 * (tests/bench/ROOFLINE.md). */
#define FEW 8

/* ---- what a level has ---- */

static const struct thin_products *
find(const struct dtype *t, enum thin_kind kind)
{
	const struct products *now = dot_now();
	const struct thin_products *p = now ? now->thin : NULL;

	for (; p && p->dtype; p++)
		if (p->kind == kind && cpu_has(p->needs) && strcmp(p->dtype, t->name) == 0)
			return p;
	return NULL;
}

enum thin_kind
thin_choose(const struct dtype *t, const struct thin_count *c)
{
	if (c->kept <= c->all / FEW && find(t, THIN_BITMAP))
		return THIN_BITMAP;
	return c->pairs && find(t, THIN_PAIRS) ? THIN_PAIRS : THIN_NONE;
}

void
thin_product(const struct thin *t, size_t first, size_t count, const float *x, float *y)
{
	const struct thin_products *p = find(t->type, t->kind);

	if (p)
		p->rows(t->data, t->starts + first, count, x, t->columns, y);
	else
		thin_product_ref(t, first, count, x, y);
}

/* ---- rows ---- */

/* The values of a line whose first column is `at`; *bits: a 1 for each that is not zero. values has
 * room for a line, for one that is not whole. */
static const uint8_t *
line_of(const uint8_t *row, size_t columns, size_t at, uint8_t *values, uint64_t *bits)
{
	const uint64_t low = UINT64_C(0x7fff7fff7fff7fff);
	const uint8_t *p = row + at * THIN_VALUE;
	size_t i;

	if (columns - at < THIN_LINE) {
		memset(values, 0, THIN_LINE * THIN_VALUE);
		memcpy(values, p, (columns - at) * THIN_VALUE);
		p = values;
	}
	for (*bits = 0, i = 0; i < THIN_LINE; i += 4) {
		uint64_t four = le64(p + i * THIN_VALUE);

		/* The high bit of each value that is not zero; then the four bits side by side. */
		four = (((four & low) + low) | four) & ~low;
		*bits |= ((four >> 15) * UINT64_C(0x0001000200040008) >> 48 & 15) << i;
	}
	return p;
}

/* Whether each four bits have at most two that are 1. */
static bool
are_pairs(uint64_t bits)
{
	const uint64_t even = UINT64_C(0x5555555555555555), fourth = UINT64_C(0x1111111111111111);
	const uint64_t both = bits & bits >> 1 & even, any = (bits | bits >> 1) & even;

	return (((both & any >> 2) | (both >> 2 & any)) & fourth) == 0;
}

static unsigned
ones(uint64_t bits)
{
	return (unsigned)__builtin_popcountll(bits);
}

void
thin_count(const uint8_t *row, size_t columns, struct thin_count *c)
{
	uint8_t values[THIN_LINE * THIN_VALUE];
	uint64_t bits;
	size_t at;

	c->all += columns;
	for (at = 0; at < columns; at += THIN_LINE) {
		line_of(row, columns, at, values, &bits);
		c->kept += ones(bits);
		c->pairs = c->pairs && are_pairs(bits);
	}
}

size_t
thin_row_bytes(enum thin_kind kind, size_t columns, uint64_t kept)
{
	const size_t lines = thin_lines(columns);

	if (kind == THIN_PAIRS)
		kept = (uint64_t)lines * THIN_PAIRED;
	return lines * THIN_HEAD + (size_t)kept * THIN_VALUE;
}

/* The places of four columns, by their bits: a 0 fills up what is missing. */
static uint64_t
places_of(uint64_t bits)
{
	uint64_t places = 0;
	unsigned i;

	for (i = 0; i < THIN_LINE; i += 4) {
		unsigned four = bits >> i & 15;
		unsigned first = four ? (unsigned)__builtin_ctz(four) : 0, second;

		four &= four - 1;
		second = four ? (unsigned)__builtin_ctz(four) : first < 3 ? first + 1 : 3;
		if (first == second)
			first = 2;
		places |= (uint64_t)(first | second << 2) << i;
	}
	return places;
}

void
thin_put(enum thin_kind kind, const uint8_t *row, size_t columns, uint8_t *to)
{
	uint8_t values[THIN_LINE * THIN_VALUE];
	uint8_t *head = to, *value = to + thin_lines(columns) * THIN_HEAD;
	struct thin_line l;
	const uint8_t *from;
	uint64_t bits;
	size_t at, k;

	thin_line_begin(&l, to, columns);
	for (at = 0; at < columns; at += THIN_LINE, head += THIN_HEAD) {
		from = line_of(row, columns, at, values, &bits);
		le64_put(head, kind == THIN_PAIRS ? places_of(bits) : bits);
		thin_line_next(&l, kind);
		for (k = 0; k < l.count; k++, value += THIN_VALUE)
			memcpy(value, from + l.place[k] * THIN_VALUE, THIN_VALUE);
	}
}

void
thin_get(const struct thin *t, size_t first, size_t count, uint8_t *to)
{
	uint8_t values[THIN_LINE * THIN_VALUE];
	struct thin_line l;
	size_t i, at, k, n;

	for (i = 0; i < count; i++) {
		thin_line_begin(&l, t->data + t->starts[first + i], t->columns);
		for (at = 0; at < t->columns; at += n) {
			const uint8_t *p = thin_line_next(&l, t->kind);

			n = t->columns - at < THIN_LINE ? t->columns - at : THIN_LINE;
			memset(values, 0, sizeof values);
			for (k = 0; k < l.count; k++)
				memcpy(values + l.place[k] * THIN_VALUE, p + k * THIN_VALUE, THIN_VALUE);
			memcpy(to, values, n * THIN_VALUE);
			to += n * THIN_VALUE;
		}
	}
}
