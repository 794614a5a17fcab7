#include "stats/border.h"

#include "kernels/mixing.h"

#define NONE 0xffffffffu /* beyond all magnitudes */

void
border_begin(struct border *b, uint64_t rank, uint64_t n)
{
	*b = (struct border){ .rank = rank, .open = rank > 0 && rank < n, .equal = NONE,
		.from = rank >= n && n > 0 ? 0 : NONE };
}

void
border_count(uint32_t *coarse, const float *x, size_t n)
{
	mixing->coarse(x, n, BORDER_SHIFT, coarse);
}

void
border_count_fine(const struct border *b, uint32_t *fine, const float *x, size_t n)
{
	mixing->fine(x, n, BORDER_SHIFT, b->bin, fine);
}

/* The highest bin with which the sum from above reaches the rank. */
static uint32_t
find(const uint64_t *bins, uint32_t count, uint64_t rank, uint64_t *before)
{
	uint32_t i = count;

	while (i > 0 && *before + bins[i - 1] < rank)
		*before += bins[--i];
	return i > 0 ? i - 1 : 0;
}

void
border_coarse(struct border *b, const uint64_t *bins)
{
	b->before = 0;
	b->bin = find(bins, BORDER_COARSE, b->rank, &b->before);
}

void
border_fine(struct border *b, const uint64_t *bins)
{
	uint64_t before = b->before;
	uint32_t low = find(bins, BORDER_FINE, b->rank, &before);

	b->equal = b->bin << BORDER_SHIFT | low;
	b->take = b->rank - before;
	b->from = b->equal + 1;
	if (b->take == bins[low]) {
		b->from = b->equal;
		b->take = 0;
	}
	b->open = false;
}

uint64_t
border_equals(const struct border *b, const float *x, size_t n)
{
	return b->take > 0 ? mixing->equals(x, n, b->equal) : 0;
}
