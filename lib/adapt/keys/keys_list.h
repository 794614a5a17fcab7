/* keys_list: what keys.c and keys_config.c share: lists of members in the rows of arch/keys.h,
 * and the values that both directions name.
 */
#ifndef ADAPT_KEYS_LIST_H
#define ADAPT_KEYS_LIST_H

#include "arch/expr.h"
#include "arch/subject.h"

#define KEYS_VALUE 256 /* bytes of an expression with its NUL */

/* The items of "name = expression; name = expression if condition". Only text is set at the
 * beginning; it may be NULL. */
struct keys_list {
	const char *text;
	char name[EXPR_NAME], value[KEYS_VALUE];
	char when[KEYS_VALUE]; /* the condition, or "", which holds */
};

/* The next item, or false. */
bool keys_list_next(struct keys_list *l);

/* Whether a list of words, separated by spaces, contains a word, which may be NULL. */
bool keys_listed(const char *words, const char *word);

/* The shortest decimal number that single precision rounds to f. */
double keys_shortest(float f);

/* The number of a gating function (arch/keys.h, KEY_GATING), or 0; its name, or NULL. */
unsigned keys_gating(const char *name);
const char *keys_gating_name(uint64_t number);

/* How a model folder makes one vector of those of all tokens: the number in GGUF (1 mean, 2
 * cls, 3 last token), 0 if no file says it, or -1 with e filled. */
int keys_pooling(const struct subject *s, struct err *e);

#endif
