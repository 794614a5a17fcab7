#include "infer/cpu/ahead.h"

#include <stdlib.h>

/* Short distances come first: of two that are equally good, the first is chosen. */
static const size_t distances[AHEAD_CHOICES] = { 0, 256, 512, 1024 };

/* Only a distance that takes less than this share of the first one's time replaces it. */
#define WORTH 0.97

bool
ahead_done(const struct ahead *a)
{
	return a->tried >= AHEAD_CHOICES * AHEAD_TIMES;
}

/* The matrices of a block come in the same order again and again. Each round of turns starts one
 * distance later, so that every distance meets every matrix. */
static size_t
turn(const struct ahead *a)
{
	return (a->tried + a->tried / AHEAD_CHOICES) % AHEAD_CHOICES;
}

size_t
ahead_bytes(const struct ahead *a)
{
	return distances[ahead_done(a) ? a->best : turn(a)];
}

static int
by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void
ahead_took(struct ahead *a, double seconds)
{
	double middle, best = 0;
	size_t i;

	a->took[turn(a)][a->tried / AHEAD_CHOICES] = seconds;
	a->tried++;
	if (!ahead_done(a))
		return;
	for (i = 0; i < AHEAD_CHOICES; i++) {
		qsort(a->took[i], AHEAD_TIMES, sizeof a->took[i][0], by_size);
		middle = a->took[i][AHEAD_TIMES / 2];
		if (i == 0 || middle < best * (a->best == 0 ? WORTH : 1)) {
			best = middle;
			a->best = i;
		}
	}
}
