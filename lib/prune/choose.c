#include "prune/choose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "prune/plan.h"
#include "stats/border.h"

#define DIGIT 256 /* values of 8 bits */

uint64_t
choose_count(double share, uint64_t n)
{
	double k = floor(share * (double)n + 0.5);

	return k >= (double)n ? n : (uint64_t)k;
}

void
choose_rank(const float *x, const float *norm, float *rank, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		float score = norm ? fabsf(x[i]) * norm[i] : x[i];
		uint32_t bits = 0x7fffffffu - border_bits(score);

		memcpy(&rank[i], &bits, sizeof bits);
	}
}

/* The k-th highest rank, digit by digit from the top. *equals: the number of values of that
 * rank that are among the k. */
static uint32_t
kth(const float *rank, size_t n, size_t k, size_t *equals)
{
	uint32_t prefix = 0, known = 0;
	int shift;

	for (shift = 24; shift >= 0; shift -= 8) {
		size_t bins[DIGIT] = { 0 }, i;
		unsigned digit = DIGIT - 1;

		for (i = 0; i < n; i++)
			if ((border_bits(rank[i]) & known) == prefix)
				bins[border_bits(rank[i]) >> shift & (DIGIT - 1)]++;
		while (digit > 0 && bins[digit] < k)
			k -= bins[digit--];
		prefix |= (uint32_t)digit << shift;
		known |= (uint32_t)(DIGIT - 1) << shift;
	}
	*equals = k;
	return prefix;
}

void
choose_row(const float *rank, float *x, size_t n, size_t k)
{
	size_t equals, i;
	uint32_t border;

	if (k == 0)
		return;
	border = kth(rank, n, k, &equals);
	for (i = 0; i < n; i++) {
		uint32_t bits = border_bits(rank[i]);

		if (bits > border || (bits == border && equals > 0 && equals--))
			x[i] = 0;
	}
}

/* The highest rank of the values that are still there; the first of equal ones. */
static unsigned
highest(const float *rank, const uint8_t *gone, unsigned n)
{
	unsigned best = n, i;

	for (i = 0; i < n; i++)
		if (!gone[i] && (best == n || border_bits(rank[i]) > border_bits(rank[best])))
			best = i;
	return best;
}

void
choose_groups(const float *rank, float *x, size_t n, unsigned keep, unsigned of)
{
	size_t at;
	unsigned i;

	for (at = 0; at < n; at += of) {
		uint8_t gone[CHOOSE_OF] = { 0 };

		for (i = keep; i < of; i++)
			gone[highest(rank + at, gone, of)] = 1;
		for (i = 0; i < of; i++)
			if (gone[i])
				x[at + i] = 0;
	}
}

/* ---- heads, neurons ---- */

struct scored {
	double score;
	uint64_t index;
};

static int
by_score(const void *a, const void *b)
{
	const struct scored *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static int
by_index(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int
choose_kept(const double *columns, uint64_t n, uint64_t each, uint64_t gone, struct prune_list *to,
            struct err *e)
{
	struct scored *all = mem_array((size_t)n, sizeof *all);
	uint64_t i, k;

	to->at = mem_array((size_t)(n - gone), sizeof *to->at);
	if (!all || !to->at) {
		free(all);
		return err_memory(e);
	}
	for (i = 0; i < n; i++) {
		all[i].index = i;
		for (k = 0; k < each; k++)
			all[i].score += columns[i * each + k];
		if (!(all[i].score >= 0))
			all[i].score = 0; /* NaN */
	}
	qsort(all, (size_t)n, sizeof *all, by_score);
	for (i = gone; i < n; i++)
		to->at[to->n++] = all[i].index;
	qsort(to->at, to->n, sizeof *to->at, by_index);
	free(all);
	return 0;
}
