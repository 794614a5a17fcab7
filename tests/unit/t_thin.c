/* thin: rows without zeros (kernels/thin.h): the dense way back, and products that have the bits of
 * plain C at each level, and the values of the stated sum. */
#include <math.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"
#include "kernels/common/products.h"
#include "kernels/cpu.h"
#include "kernels/dot.h"

#include "test.h"

enum { ROWS = 11, WIDE = 64 * 5 + 37 };

static const size_t widths[] = { 1, 3, 4, 31, 32, 33, 63, 64, 65, 127, 128, 256, WIDE };
enum { WIDTHS = sizeof widths / sizeof widths[0] };

static uint8_t dense[ROWS * WIDE * 2], back[ROWS * WIDE * 2], data[ROWS * (WIDE + 64) * 3];
static uint64_t starts[ROWS + 1];
static _Alignas(64) float x[WIDE + 64];
static uint32_t last = 88172645u;

static uint32_t
chance(void)
{
	last ^= last << 13;
	last ^= last >> 17;
	return last ^= last << 5;
}

/* Weights: this share of 256 is not zero; pairs: and at most two of each four of a row. */
static void
fill(const char *type, size_t n, unsigned share, bool pairs)
{
	size_t i, k, kept = 0;

	memset(dense, 0, sizeof dense);
	for (i = 0; i < ROWS; i++)
		for (k = 0; k < n; k++) {
			float v = ((float)(chance() >> 8) - 0x1p23f) * 0x1p-25f;

			kept = k % 4 ? kept : 0;
			if ((chance() >> 9) % 256 >= share || (pairs && kept == 2))
				continue;
			kept++;
			le16_put(dense + (i * n + k) * 2, chance() % 64 == 0 ? 0x8000 :
			         strcmp(type, "F16") ? half_f32_bf16(v) : half_f32_f16(v));
		}
	for (k = 0; k < WIDE + 64; k++)
		x[k] = k < n ? ((float)(chance() >> 8) - 0x1p23f) * 0x1p-22f : NAN;
}

static struct thin
make(enum thin_kind kind, const char *type, size_t n)
{
	struct thin t = { kind, dtype_by_name(type), ROWS, n, data, starts };
	size_t i;

	memset(data, 0xff, sizeof data);
	for (i = 0; i < ROWS; i++) {
		struct thin_count c = { 0, true, 0 };

		thin_count(dense + i * n * 2, n, &c);
		starts[i + 1] = starts[i] + thin_row_bytes(kind, n, c.kept);
		thin_put(kind, dense + i * n * 2, n, data + starts[i]);
	}
	return t;
}

static bool
same(const float *a, const float *b, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (isnan(a[i]) ? !isnan(b[i]) : memcmp(&a[i], &b[i], sizeof *a) != 0)
			return false;
	return true;
}

/* Written from the text of thin.h, over the dense row: which values are stored, and in which
 * sum each one is. */
static float
stated(enum thin_kind kind, bool f16, const uint8_t *row, size_t n)
{
	float sum[32] = { 0 };
	size_t at, i, k, half;

	for (at = 0; at < n; at += 64) {
		size_t number = 0;

		for (i = at; i < at + 64; i++) {
			bool here = i < n && le16(row + 2 * i) != 0;
			float w = !here ? 0 : f16 ? half_f16_f32(le16(row + 2 * i))
			                          : half_bf16_f32(le16(row + 2 * i));

			if (kind == THIN_PAIRS && i % 4 == 0)
				number = (i - at) / 2;
			if (!here)
				continue;
			/* A value that stands alone at column 3 is the second of its pair. */
			for (k = i & ~(size_t)3; kind == THIN_PAIRS && i % 4 == 3 && k < i &&
			     le16(row + 2 * k) == 0; k++)
				number += k + 1 == i;
			sum[number % 32] = fmaf(w, x[i], sum[number % 32]);
			number++;
		}
	}
	for (half = 16; half; half /= 2)
		for (k = 0; k < half; k++)
			sum[k] += sum[k + half];
	return sum[0];
}

/* Every width: the dense rows come back; plain C has the stated bits; the products in use too, for
 * any rows. */
static void
kind_tested(enum thin_kind kind, const char *type, unsigned share, const char *level)
{
	float want[ROWS], have[ROWS];
	bool whole = true, plain = true, good = true;
	size_t w, i, first;

	for (w = 0; w < WIDTHS; w++) {
		size_t n = widths[w];
		struct thin t;

		fill(type, n, share, kind == THIN_PAIRS);
		t = make(kind, type, n);
		thin_get(&t, 0, ROWS, back);
		whole = whole && memcmp(dense, back, ROWS * n * 2) == 0;
		thin_product_ref(&t, 0, ROWS, x, want);
		for (i = 0; i < ROWS; i++) {
			have[i] = stated(kind, strcmp(type, "F16") == 0, dense + i * n * 2, n);
			have[i] += 0.0f; /* -0 of fillers */
			want[i] += 0.0f;
		}
		plain = plain && same(want, have, ROWS);
		thin_product_ref(&t, 0, ROWS, x, want);
		for (first = 0; first < ROWS; first++) {
			thin_product(&t, first, ROWS - first, x, have);
			good = good && same(want + first, have, ROWS - first);
		}
		/* Activations that are not finite. */
		for (i = 0; i < n; i += 1 + chance() % 9)
			x[i] = chance() % 3 == 0 ? NAN : chance() % 2 ? INFINITY : -INFINITY;
		thin_product_ref(&t, 0, ROWS, x, want);
		thin_product(&t, 0, ROWS, x, have);
		good = good && same(want, have, ROWS);
	}
	test_ok(whole, "%s %s, %u of 256: the dense rows come back", type,
	        kind == THIN_PAIRS ? "pairs" : "bitmap", share);
	test_ok(plain, "the sum of plain C is the stated one");
	test_ok(good, "%s has the bits of plain C", level);
}

/* What is not stored adds nothing, even where its float is infinite. */
static void
infinite_tested(void)
{
	const size_t n = 64;
	struct thin t;
	float y[ROWS];

	fill("F16", n, 0, false);
	le16_put(dense + 2 * 5, half_f32_f16(2));
	x[5] = 3;
	x[7] = INFINITY;
	x[40] = NAN;
	t = make(THIN_BITMAP, "F16", n);
	thin_product(&t, 0, 1, x, y);
	test_ok(y[0] == 6, "a zero that is not stored times infinity is nothing");
	x[5] = INFINITY;
	thin_product(&t, 0, 1, x, y);
	test_ok(isinf(y[0]) && y[0] > 0, "a stored value times infinity is infinity");
}

static bool
has(const struct products *p, enum thin_kind kind)
{
	const struct thin_products *t = p->thin;

	while (t && t->dtype && !(t->kind == kind && cpu_has(t->needs)))
		t++;
	return t && t->dtype;
}

/* Which rows can be pairs; which kind is chosen. */
static void
choice_tested(void)
{
	const struct dtype *f16 = dtype_by_name("F16"), *f32 = dtype_by_name("F32");
	struct thin_count c = { 0, true, 0 };
	unsigned four, i;
	bool good = true;

	for (four = 0; four < 16; four++) {
		memset(dense, 0, 128);
		c = (struct thin_count){ 0, true, 0 };
		for (i = 0; i < 4; i++)
			le16_put(dense + 2 * (20 + i), four >> i & 1 ? 0x8000 : 0);
		thin_count(dense, 64, &c);
		i = (unsigned)__builtin_popcount(four);
		good = good && c.kept == i && c.pairs == (i <= 2);
	}
	test_ok(good, "at most two of four columns are pairs; -0 is not a zero");
	dot_use(NULL);
	c = (struct thin_count){ 100, true, 10000 };
	test_ok(thin_choose(f16, &c) == THIN_NONE, "plain C keeps matrices dense");
	for (i = 0; products_row(i); i++) {
		const struct products *p = products_row(i);
		dot_use(p);
		c = (struct thin_count){ 5000, true, 10000 };
		test_ok(thin_choose(f16, &c) == (has(p, THIN_PAIRS) ? THIN_PAIRS : THIN_NONE) &&
		        thin_choose(f32, &c) == THIN_NONE, "%s: 2:4", p->name);
		c = (struct thin_count){ 5000, false, 10000 };
		test_ok(thin_choose(f16, &c) == THIN_NONE, "%s: half of all", p->name);
		c = (struct thin_count){ 1000, false, 10000 };
		test_ok(thin_choose(f16, &c) == (has(p, THIN_BITMAP) ? THIN_BITMAP : THIN_NONE),
		        "%s: few values", p->name);
	}
	dot_use(NULL);
}

int
main(void)
{
	static const char *const types[] = { "F16", "BF16" };
	static const unsigned shares[] = { 0, 20, 77, 128, 200, 256 };
	size_t i, t, s;

	choice_tested();
	infinite_tested();
	for (i = 0; products_row(i); i++) {
		dot_use(products_row(i));
		infinite_tested();
		for (t = 0; t < 2; t++)
			for (s = 0; s < sizeof shares / sizeof shares[0]; s++) {
				kind_tested(THIN_PAIRS, types[t], shares[s], products_row(i)->name);
				kind_tested(THIN_BITMAP, types[t], shares[s], products_row(i)->name);
			}
	}
	dot_use(NULL);
	return test_done();
}
