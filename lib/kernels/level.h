/* level: which of the ways to do the same arithmetic is in use. The plain C is the
 * definition; the others are for CPUs with certain instructions and are compared
 * with it before their first use.
 */
#ifndef KERNELS_LEVEL_H
#define KERNELS_LEVEL_H

#include "core/err.h"

struct level {
	const char *name; /* as APR_CPU says it: ref, avx2, avx512, neon */
};

/* Take the level of that name; NULL or none: the best that this CPU has. One that gives
 * other bytes than the plain C is left for it, and note is told. ERR_USAGE if
 * there is no such level, or this CPU does not have it. Call it before threads
 * compute; without it all is plain C. */
int level_begin(const char *name, void (*note)(const char *), struct err *e);

/* The level in use. */
const struct level *level_now(void);

/* By index, from plain C up, those of this CPU; NULL at the end. */
const struct level *level_row(unsigned index);

#endif
