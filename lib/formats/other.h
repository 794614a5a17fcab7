/* other: kinds of files that no format here reads, by their first bytes. They are named when they
 * are refused, with what would help.
 */
#ifndef FORMATS_OTHER_H
#define FORMATS_OTHER_H

#include <stddef.h>
#include <stdint.h>

#include "core/json.h"

struct format_other {
	size_t at, n;      /* the magic: offset and length */
	const char *magic;
	const char *title; /* "a NumPy array" */
	const char *hint;  /* NULL: none */
};

/* The kind that begins with these n bytes, or NULL. */
const struct format_other *format_other(const uint8_t *head, size_t n);

/* The kind of a JSON object with these members, or NULL. */
const struct format_other *format_other_json(json_t *o);

#endif
