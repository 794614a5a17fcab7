/* origin_read: the record of apr.origin (adapt/tensors/origin.h), as JSON. */
#ifndef ADAPT_ORIGIN_READ_H
#define ADAPT_ORIGIN_READ_H

#include "arch/match.h"
#include "arch/subject.h"

/* The record of a model, as a new reference. NULL with e empty if it has none, NULL with e
 * filled (ERR_CORRUPT) if it is damaged. */
json_t *origin_read(const struct subject *s, struct err *e);

/* The value that a member (an object with names) has for a name, or else for its template;
 * NULL if there is none. */
const char *origin_lookup(const json_t *origin, const char *member, const char *name,
                          const char *template);

/* Decode base64 into a new array of *n bytes. NULL with e filled. */
uint8_t *origin_bytes(const char *text, size_t *n, struct err *e);

#endif
