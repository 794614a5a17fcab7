/* ahead: how far ahead of what is multiplied weights are asked for (dot_ahead in
 * kernels/dot.h). Which distance is best depends on the CPU, on what else it does, and on
 * how memory is mapped: up to a quarter of the speed, in either direction. So the products of
 * the first token or two, a token at a time, are made with each distance in turn and timed.
 *
 * What a model says does not depend on it.
 */
#ifndef CPU_AHEAD_H
#define CPU_AHEAD_H

#include <stdbool.h>
#include <stddef.h>

enum { AHEAD_CHOICES = 4, AHEAD_TIMES = 21 };

/* Zeros to begin with. */
struct ahead {
	size_t tried;                             /* products so far */
	double took[AHEAD_CHOICES][AHEAD_TIMES];  /* by a byte of weights */
	size_t best;                              /* number of the distance, when done */
};

/* Has each distance been tried often enough? */
bool ahead_done(const struct ahead *a);

/* Bytes for the next product. */
size_t ahead_bytes(const struct ahead *a);

/* It took so many seconds by a byte. Not to be called when done. */
void ahead_took(struct ahead *a, double seconds);

#endif
