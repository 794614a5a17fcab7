/* template: signs in a chat template that it does more than format messages.
 *
 * A chat template is a program in Jinja. Only what stands in {{ }} and {% %} is read, by words and
 * strings; text outside is output. The signs are a list: names with two underscores on each side
 * (__class__), filters and functions that reach attributes by name, functions that open or run
 * something, statements that load other templates, and escapes in strings that hide such names. A
 * template without a sign is not proved safe.
 *
 * Source: Jinja's documentation (Template Designer, Sandbox), and published attacks on template
 * engines.
 */
#ifndef CHECK_TEMPLATE_H
#define CHECK_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

#define TEMPLATE_SIGN 96

/* A sign: what it is, and where. */
struct template_sign {
	char text[TEMPLATE_SIGN]; /* the word, escaped and cut */
	const char *what;         /* "reaches for an attribute" */
	size_t offset;            /* in the template, in bytes */
};

/* Finds the next sign at or after *at (at first 0) in n bytes, and moves *at behind it. A block has
 * at most one. The time of all calls
 * is linear in n. False at the end. */
bool template_next(const char *text, size_t n, size_t *at, struct template_sign *sign);

#endif
