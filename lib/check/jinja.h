/* jinja: the structure of a chat template: what it opens it closes. Expressions are not parsed,
 * apart from their brackets and texts, and nothing is run. Bounded: one pass, and at most
 * JINJA_DEPTH nested blocks.
 *
 * Source: the template syntax of Jinja 3.
 */
#ifndef CHECK_JINJA_H
#define CHECK_JINJA_H

#include <stdbool.h>
#include <stddef.h>

#define JINJA_DEPTH 128

/* True if the n bytes are a template. Else *fact says what is wrong, and *at where. */
bool jinja_check(const char *text, size_t n, const char **fact, size_t *at);

#endif
