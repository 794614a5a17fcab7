#include "kernels/compare.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/kernel.h"
#include "kernels/mixing.h"
#include "kernels/numbers.h"
#include "kernels/ref/types.h"

enum { ITEMS = 256, ROWS = 3, BYTES = 4 * ITEMS, BINS = 128 };

/* The types that a level may compute in its own way. */
#define KERNEL_ROW(type) &ref_##type,
static const struct kernel *const tested[] = {
	KERNELS(KERNEL_ROW)
};

/* Of these, compare_grids.c compares the searches of the encoders. */
static const struct kernel *const searched[] = {
	GRID_KERNELS(KERNEL_ROW)
};
#undef KERNEL_ROW

struct made {
	uint8_t code[ROWS][BYTES], weighted[ROWS][BYTES];
	float value[ROWS][ITEMS];
};

/* Three rows: like weights; any bits; mostly zeros. */
static void
fill(float x[ROWS][ITEMS], float importance[ITEMS])
{
	uint32_t last = 2463534242u, u;
	int i;

	for (i = 0; i < ITEMS; i++) {
		x[0][i] = ((float)(next_random(&last) >> 8) - 0x1p23f) * 0x1p-26f +
			((float)(next_random(&last) >> 8) - 0x1p23f) * 0x1p-26f;
		u = next_random(&last);
		memcpy(&x[1][i], &u, sizeof u);
		x[2][i] = i % 37 ? 0 : x[0][i];
		importance[i] = (float)(next_random(&last) >> 16);
	}
}

static bool
makes_tables(const char *dtype)
{
	size_t i;

	for (i = 0; i < sizeof searched / sizeof searched[0]; i++)
		if (!strcmp(searched[i]->dtype, dtype))
			return true;
	return false;
}

/* Everything that the level's kernel of a type makes of the rows. */
static void
compute(const struct level *l, const char *dtype, float x[ROWS][ITEMS],
        const float *importance, struct made *y)
{
	bool encode = !makes_tables(dtype);
	const struct kernel *k;
	int i, j;

	kernels_use(l);
	k = kernel_for(dtype_by_name(dtype));
	memset(y, 0, sizeof *y);
	for (i = 0; i < ROWS; i++) {
		if (encode && k->encode)
			k->encode(x[i], y->code[i], ITEMS);
		/* Weighted rows have finite products. */
		if (encode && k->encode_weighted && i != 1)
			k->encode_weighted(x[i], importance, y->weighted[i], ITEMS);
		/* Any bits are codes. All NaNs count as equal. */
		k->decode((const uint8_t *)x[i], y->value[i], ITEMS);
		for (j = 0; j < ITEMS; j++)
			if (y->value[i][j] != y->value[i][j])
				y->value[i][j] = NAN;
	}
}

/* True if the level's sums of the rows are those of plain C. */
static bool
magnitudes_agree(const struct level *l, const float *x, size_t n)
{
	float want[ITEMS] = { 1, 2, 3 }, got[ITEMS] = { 1, 2, 3 };

	return level_ref.numbers->magnitudes(x, want, n) == l->numbers->magnitudes(x, got, n) &&
	       memcmp(want, got, sizeof want) == 0;
}

static bool
same_pair(const struct numbers_pair *a, const struct numbers_pair *b)
{
	return a->finite == b->finite &&
	       (!a->finite || (a->aa == b->aa && a->bb == b->bb && a->ab == b->ab &&
	        a->dd == b->dd && a->d == b->d && a->most == b->most && a->equal == b->equal &&
	        a->within == b->within));
}

/* The same for the sums of two rows, as doubles and as floats. */
static bool
pairs_agree(const struct level *l, const float *x, const float *y, size_t n)
{
	struct numbers_pair want, got, floats;
	double a[ITEMS], b[ITEMS];

	level_ref.numbers->widen(x, a, n);
	level_ref.numbers->widen(y, b, n);
	level_ref.numbers->pair(a, b, n, 0.01, &want);
	l->numbers->pair(a, b, n, 0.01, &got);
	l->numbers->pair_floats(x, y, n, 0.01, &floats);
	return same_pair(&want, &got) && same_pair(&want, &floats);
}

static bool
squares_agree(const struct level *l, const float *x, size_t n)
{
	double want[ITEMS] = { 0.1, 1, 2 }, got[ITEMS] = { 0.1, 1, 2 };

	level_ref.numbers->squares(x, want, n);
	l->numbers->squares(x, got, n);
	return memcmp(want, got, sizeof want) == 0;
}

/* The same for bins of values below 1. */
static bool
bins_agree(const struct level *l, const float *x, size_t n)
{
	uint64_t want[BINS] = { 0 }, got[BINS] = { 0 };
	float low, high, a, b;

	level_ref.numbers->range(x, n, &low, &high);
	l->numbers->range(x, n, &a, &b);
	level_ref.numbers->count(x, n, 64, -64, BINS, want);
	l->numbers->count(x, n, 64, -64, BINS, got);
	return low == a && high == b && memcmp(want, got, sizeof want) == 0;
}

static bool
checksums_agree(const struct level *l, const void *x, size_t n)
{
	uint64_t want[2][8], got[2][8];

	level_ref.numbers->checksum(x, n, want[0], want[1]);
	l->numbers->checksum(x, n, got[0], got[1]);
	return memcmp(want, got, sizeof want) == 0;
}

static bool
sums_agree(const struct level *l, float x[ROWS][ITEMS])
{
	const struct level *ref = &level_ref;
	double v[ITEMS], want[ITEMS];
	struct numbers_found a, b;
	bool same = true;
	int i, n;

	for (i = 0; same && i < ROWS; i++) {
		same = checksums_agree(l, x[i], sizeof x[i]) && checksums_agree(l, x[i], 64);
		for (n = ITEMS; same && n > ITEMS - 9; n--) {
			ref->numbers->widen(x[i], want, (size_t)n);
			l->numbers->widen(x[i], v, (size_t)n);
			ref->numbers->find(v, (size_t)n, &a);
			l->numbers->find(v, (size_t)n, &b);
			same = !memcmp(v, want, (size_t)n * sizeof v[0]) &&
			       a.finite == b.finite && a.zeros == b.zeros &&
			       pairs_agree(l, x[i], x[(i + 1) % ROWS], (size_t)n) &&
			       (i == 1 || (bins_agree(l, x[i], (size_t)n) &&
			        squares_agree(l, x[i], (size_t)n))) &&
			       ref->numbers->most(x[i], (size_t)n) ==
			       l->numbers->most(x[i], (size_t)n) &&
			       (!a.finite || (a.min == b.min && a.max == b.max && a.sum == b.sum &&
			       a.squares == b.squares &&
			       ref->numbers->deviations(v, (size_t)n, a.sum) ==
			       l->numbers->deviations(v, (size_t)n, a.sum) &&
			       magnitudes_agree(l, x[i], (size_t)n)));
		}
	}
	return same;
}

/* The results of sums and elections of the three rows, and what is kept and counted. */
static void
mix(const struct mixing *f, float x[ROWS][ITEMS], size_t n, struct made *to)
{
	static const double scale[ROWS] = { 1, 1.25, -0.5 }, weight[ROWS] = { 0.3, 0.6, -0.2 };
	const float *rows[ROWS] = { x[0], x[2], x[0] + 1 };
	struct mixing_of m = { rows, ROWS, scale, weight, 0.7, true, x[2], 1.5 };
	uint32_t *bins = (uint32_t *)(void *)to->code[0];
	int i;

	memset(to, 0, sizeof *to);
	f->sum(&m, 1, to->value[0], n - 2);
	f->elect(&m, 1, to->value[1], n - 2);
	memcpy(to->value[2], x[1], n * sizeof x[1][0]);
	f->keep(to->value[2], n, 0x3f800000);
	f->coarse(x[1], n, 26, bins);
	f->fine(x[0], n, 6, 0x3c000000 >> 6, bins + 64);
	bins[200] = (uint32_t)f->equals(x[2], n, 0);
	memcpy(to->weighted[0], x[0], n * sizeof x[0][0]);
	f->subtract((float *)(void *)to->weighted[0], x[2], n);
	for (i = 0; i < ROWS; i++)
		f->round8(x[i], n / 32 * 32, (uint32_t)n, 0x6a09e667, to->code[i] + BYTES / 2);
}

static bool
mixing_agrees(const struct level *l, float x[ROWS][ITEMS])
{
	static struct made want, have;
	size_t n;

	for (n = ITEMS; l->mixing && n > ITEMS - 9; n--) {
		mix(&ref_mixing, x, n, &want);
		mix(l->mixing, x, n, &have);
		if (memcmp(&want, &have, sizeof want) != 0)
			return false;
	}
	return true;
}

const char *
level_differs(const struct level *l)
{
	static struct made want, have;
	float x[ROWS][ITEMS], importance[ITEMS];
	bool same = true;
	size_t i;

	fill(x, importance);
	for (i = 0; same && i < sizeof tested / sizeof tested[0]; i++) {
		compute(&level_ref, tested[i]->dtype, x, importance, &want);
		compute(l, tested[i]->dtype, x, importance, &have);
		same = !memcmp(&want, &have, sizeof want);
	}
	kernels_use(&level_ref);
	if (!same)
		return tested[i - 1]->dtype;
	if (!grids_agree(l))
		return "points of grids";
	if (!mixing_agrees(l, x))
		return "sums of vectors";
	return sums_agree(l, x) ? NULL : "sums";
}
