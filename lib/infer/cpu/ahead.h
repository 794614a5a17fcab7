/* ahead: how far ahead of the products weights are prefetched (dot_ahead in kernels/dot.h). The
 * best distance depends on the CPU, its load and the mapping of memory, and is worth up to a
 * quarter of the speed. So the products of the first one or two single tokens try each distance
 * in turn and are timed.
 *
 * The output of a model does not depend on it.
 */
#ifndef CPU_AHEAD_H
#define CPU_AHEAD_H

#include <stdbool.h>
#include <stddef.h>

enum { AHEAD_CHOICES = 4, AHEAD_TIMES = 21 };

/* All zero at first. */
struct ahead {
	size_t tried;                             /* products so far */
	double took[AHEAD_CHOICES][AHEAD_TIMES];  /* seconds per byte of weights */
	size_t best;                              /* index of the distance, when done */
};

/* Whether each distance has been tried often enough. */
bool ahead_done(const struct ahead *a);

/* The distance for the next product, in bytes. */
size_t ahead_bytes(const struct ahead *a);

/* That product took this many seconds per byte. Not to be called when done. */
void ahead_took(struct ahead *a, double seconds);

#endif
