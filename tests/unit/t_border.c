/* border: the values above a border are those that sorting gives, bit for bit, at each level of the CPU,
 * for any division into pieces. angle: coefficients against the formulas of the C library. */
#include "stats/border.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "kernels/level.h"
#include "merge/angle.h"

#include "test.h"

enum { VALUES = 3000 };

static float x[VALUES];
static uint32_t order[VALUES];

/* ---- border ---- */

/* The largest magnitude first, by its bits; among equals, the lower index. */
static int
by_size(const void *a, const void *b)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	uint32_t p = border_bits(x[i]), q = border_bits(x[k]);

	return p != q ? (p < q ? 1 : -1) : (i > k) - (i < k);
}

static uint32_t
random_bits(void)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 32);
}

/* Values of a kind: few different ones, neighbours in one coarse bin, any bits, special ones. */
static void
fill(unsigned kind, size_t n)
{
	static const float special[] = { 0, -0.0f, INFINITY, -INFINITY, NAN, 1e-45f, -1e-45f, 1, -1 };
	uint32_t bits;
	size_t i;

	for (i = 0; i < n; i++) {
		bits = kind == 0 ? 0x3f800000u + random_bits() % 3 * 0x8000u
			: kind == 1 ? 0x40000000u + random_bits() % 40
			: kind == 2 ? random_bits() : 0;
		bits |= random_bits() & 0x80000000u;
		memcpy(&x[i], &bits, sizeof bits);
		if (kind == 3)
			x[i] = special[random_bits() % (sizeof special / sizeof *special)];
	}
	for (i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort(order, n, sizeof *order, by_size);
}

/* Count in pieces of this size. */
static void
search(struct border *b, size_t n, size_t piece)
{
	static uint32_t part[BORDER_COARSE];
	static uint64_t bins[BORDER_COARSE];
	size_t at, i;
	int pass;

	for (pass = 0; b->open && pass < 2; pass++) {
		memset(bins, 0, sizeof bins);
		for (at = 0; at < n; at += piece) {
			memset(part, 0, sizeof part);
			if (pass == 0)
				border_count(part, x + at, n - at < piece ? n - at : piece);
			else
				border_count_fine(b, part, x + at, n - at < piece ? n - at : piece);
			for (i = 0; i < BORDER_COARSE; i++)
				bins[i] += part[i];
		}
		if (pass == 0)
			border_coarse(b, bins);
		else
			border_fine(b, bins);
	}
}

/* Whether exactly the first `rank` of the order are above, value by value and piece by piece. */
static bool
is_exact(size_t n, size_t rank, size_t piece)
{
	static bool want[VALUES];
	uint64_t equals = 0, before = 0, here;
	struct border b;
	uint32_t from;
	size_t at, i, count;

	memset(want, 0, sizeof want);
	for (i = 0; i < rank; i++)
		want[order[i]] = true;
	border_begin(&b, rank, n);
	search(&b, n, piece);
	for (i = 0; i < n; i++)
		if (border_above(&b, border_bits(x[i]), &equals) != want[i])
			return false;
	for (at = 0; at < n; at += piece, before += here) {
		count = n - at < piece ? n - at : piece;
		here = border_equals(&b, x + at, count);
		for (i = at; border_plain(&b, before, here, &from) && i < at + count; i++)
			if ((border_bits(x[i]) >= from) != want[i])
				return false;
	}
	return true;
}

static void
borders(void)
{
	static const size_t sizes[] = { 1, 2, 17, VALUES }, pieces[] = { VALUES, 999, 256 };
	unsigned kind, s, p, r;
	bool exact = true;

	for (kind = 0; kind < 4; kind++)
		for (s = 0; s < 4; s++) {
			size_t n = sizes[s];

			fill(kind, n);
			for (p = 0; p < 3; p++)
				for (r = 0; r <= 6; r++)
					exact = exact && is_exact(n, r == 6 ? n : n * r / 6 + (r == 1 && n > 6), n < 20 ? 5 : pieces[p]);
		}
	test_ok(exact, ": exactly the largest values are above a border, the lower index first");
}

/* ---- angles ---- */

static bool
near(double a, double b, double by)
{
	return fabs(a - b) <= by * (1 + fabs(b));
}

/* Of two vectors with this angle and these lengths. */
static bool
slerp_is(double angle, double t, double p, double q)
{
	const double gram[4] = { p * p, p * q * cos(angle), p * q * cos(angle), q * q };
	double to[2];

	angle_slerp(gram, t, 1, to);
	return near(to[0], sin((1 - t) * angle) / sin(angle), 1e-11) &&
	       near(to[1], sin(t * angle) / sin(angle), 1e-11);
}

static void
slerps(void)
{
	const double zero[4] = { 0, 0, 0, 4 }, same[4] = { 4, 4, 4, 4 }, against[4] = { 1, -1, -1, 1 };
	const double close[4] = { 1, 0.9996, 0.9996, 1 };
	double to[2], angle, t;
	bool good = true;

	for (angle = 0.01; angle < 3.13; angle += 0.013)
		for (t = 0; t <= 1; t += 0.125)
			good = good && slerp_is(angle, t, 1, 1) && slerp_is(angle, t, 1e-6, 3e5);
	test_ok(good, "slerp: sines of the angle, for any lengths");
	angle_slerp(zero, 0.25, 1, to);
	good = to[0] == 0.75 && to[1] == 0.25;
	angle_slerp(same, 0.25, 1, to);
	good = good && to[0] == 0.75 && to[1] == 0.25;
	angle_slerp(against, 0.25, 1, to);
	test_ok(good && to[0] == 0.75 && to[1] == 0.25,
	        "slerp: a straight line without a direction, and between vectors on one line");
	angle_slerp(close, 0.25, 0.9995, to);
	good = to[0] == 0.75;
	angle_slerp(close, 0.25, 1, to);
	test_ok(good && to[0] != 0.75, "slerp: a straight line above the cosine that is asked for");
}

static void
means(void)
{
	/* Three unit vectors with right angles, and three at 60 degrees. */
	const double right[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };
	const double sixty[9] = { 1, 0.5, 0.5, 0.5, 1, 0.5, 0.5, 0.5, 1 };
	const double weight[3] = { 1.0 / 3, 1.0 / 3, 1.0 / 3 };
	double to[3], pair[2], want;
	const double two[4] = { 1, 0.3, 0.3, 1 };
	bool good;

	angle_karcher(right, 3, 10, 1e-9, to);
	good = near(to[0], 1 / sqrt(3), 1e-12) && near(to[2], 1 / sqrt(3), 1e-12);
	angle_karcher(two, 2, 50, 1e-12, to);
	angle_slerp(two, 0.5, 1, pair);
	test_ok(good && near(to[0], pair[0], 1e-12) && near(to[1], pair[1], 1e-12),
	        "karcher: the middle of right angles; of two vectors that of slerp");
	/* Of equal angles, one step stays at the mean direction: 1 / |sum|. */
	good = angle_multislerp(right, 3, weight, 1e-12, to) && near(to[1], 1 / sqrt(3), 1e-9);
	test_ok(good && angle_multislerp(sixty, 3, weight, 1e-12, to) && near(to[0], 1 / sqrt(6), 1e-9),
	        "multislerp: the direction of the mean, of length 1");
	/* N c / (1 + (N - 1) c) for the cosine c. */
	angle_stock(sixty, 3, to);
	want = 3 * 0.5 / (1 + 2 * 0.5) / 3;
	good = near(to[0], want, 1e-12);
	angle_stock(right, 3, to);
	test_ok(good && to[0] == 0, "model stock: the share by the mean cosine; none of right angles");
}

int
main(void)
{
	const struct level *l;
	unsigned i;

	for (i = 0; (l = level_row(i)) != NULL; i++) {
		test_about = l->name;
		level_use(l, NULL);
		borders();
	}
	test_about = "";
	slerps();
	means();
	return test_done();
}
