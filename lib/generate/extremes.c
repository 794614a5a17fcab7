#include "generate/extremes.h"

#include <math.h>
#include <stdlib.h>

/* The rank from above, from 1. */
static uint64_t
rank(uint64_t n, double percentile)
{
	const double below = ceil(percentile / 100 * (double)n);

	if (below < 1)
		return n;
	return below < (double)n ? n - (uint64_t)below + 1 : 1;
}

size_t
extremes_depth(uint64_t n, double percentile)
{
	/* One more, because fewer values can round to a rank that is higher by one. */
	const uint64_t depth = rank(n, percentile) + (percentile < 100);

	return depth < SIZE_MAX ? (size_t)depth : SIZE_MAX;
}

void
extremes_add(float *kept, size_t depth, float x)
{
	const float a = fabsf(x), v = a <= INFINITY ? a : INFINITY;
	size_t at = 0, child;

	if (v <= kept[0])
		return;
	for (child = 1; child < depth; child = 2 * at + 1) {
		if (child + 1 < depth && kept[child + 1] < kept[child])
			child++;
		if (v <= kept[child])
			break;
		kept[at] = kept[child];
		at = child;
	}
	kept[at] = v;
}

static int
from_above(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;

	return (x < y) - (x > y);
}

float
extremes_range(float *kept, size_t depth, uint64_t n, double percentile)
{
	const uint64_t at = n ? rank(n, percentile) : 0;

	if (at == 0 || at > depth)
		return 0;
	qsort(kept, depth, sizeof *kept, from_above);
	return kept[at - 1];
}
