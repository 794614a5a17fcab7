/* cache_work: checks and removes what is chosen of the caches. */
#ifndef CLI_CACHE_CACHE_WORK_H
#define CLI_CACHE_CACHE_WORK_H

#include <stdbool.h>

#include "core/err.h"
#include "hub/stock.h"

/* Compares the chosen content with its digests and prints what is wrong (json: every content).
 * ERR_INVALID if something is. */
int cache_verify(const struct stock *s, bool json, struct err *e);

/* Removes what is chosen (dry: does not) and prints its names and sizes. */
int cache_clear(struct stock *s, bool dry, bool json, struct err *e);

/* Parses "30d": a number with s, m, h, d or w. 0, or -1. */
int cache_age(const char *text, int64_t *seconds);

#endif
