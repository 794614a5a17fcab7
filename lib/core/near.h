/* near: "did you mean": the names of a list that are nearest to one that does not exist. */
#ifndef CORE_NEAR_H
#define CORE_NEAR_H

#include <stddef.h>

#include "core/err.h"

#define NEAR_NAMES 3

/* The nearest names so far, nearest first; among equals, the earliest first. All zero at the
 * beginning. */
struct near {
	const char *name[NEAR_NAMES];
	size_t cost[NEAR_NAMES];
	size_t n;
};

/* Take a name into account. */
void near_consider(struct near *near, const char *name, size_t cost);

/* Add the hint "did you mean A, B or C?" to e, unless there are no names. */
void near_hint(const struct near *near, struct err *e);

/* Replaces the hint in e by up to three words of a list that are similar to name, if
 * there are any. Case and separators are ignored: q4km is q4_k_m. word: returns the words
 * of the list by index from 0, "" for one to skip, NULL at the end; their text is
 * static. */
void near_words(struct err *e, const char *name, const char *(*word)(unsigned index));

#endif
