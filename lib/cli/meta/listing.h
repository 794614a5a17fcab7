/* listing: prints keys and values: all of them, or one. */
#ifndef CLI_META_LISTING_H
#define CLI_META_LISTING_H

#include <stdbool.h>

#include "model/flow.h"

/* In both, whole: the model is read to its end before anything is printed, so that a verifier
 * has checked it.
 *
 * Prints all keys: as a table in which long values are shortened, or with json as one object
 * per line, with whole values. Reads the items up to the last long value. Like the other
 * functions, returns 0, or -1 with e filled. */
int listing_all(struct source *s, bool json, bool whole, struct err *e);

/* Prints the value of KEY or KEY[INDEX]: a string as its bytes, and nothing else unless
 * standard output is a terminal; another value as JSON, on a line. json: prints an object,
 * as listing_all does. ERR_NO if such a key does not exist. */
int listing_one(struct source *s, const char *key, bool json, bool whole,
                struct err *e);

#endif
