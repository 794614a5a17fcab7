/* explain: what a model, one of its tensors, a code or a known failure is, in words.
 *
 * An explanation is an ordered JSON object whose members are texts, lists of texts, and
 * objects of numbers. The member "title" is the heading. It is printed as JSON, or as text,
 * which leaves out the numbers.
 */
#ifndef REPORT_EXPLAIN_H
#define REPORT_EXPLAIN_H

#include <stdbool.h>

#include "arch/subject.h"
#include "core/buf.h"
#include "core/json.h"
#include "stats/stats.h"

/* Explains a model: family and size, purpose, architecture, vocabulary, types. s: an opened
 * subject. Returns a new reference, or NULL with E008. */
json_t *explain_model(struct subject *s, struct err *e);

/* Explains the tensor with this index: role, shape, type. st: statistics of its values, or
 * NULL if its type has no decoder. Returns a new reference, or NULL with E008. */
json_t *explain_tensor(struct subject *s, size_t index, const struct stats *st,
                       struct err *e);

/* Explains a word: an error code (E004), an exit status (exit-4), the identifier of a message
 * or a rule, a known failure, an architecture or a tensor type. Upper and lower case are the
 * same. Returns a new reference; NULL with e empty if the word is not known, or with E008. */
json_t *explain_word(const char *word, struct err *e);

/* Whether a word has the form of a code or an identifier of a rule, known or not: E999,
 * APR-999. */
bool explain_is_code(const char *word);

/* All words by index, with the kind of each ("error code") and a heading; NULL past the
 * last. */
struct explain_entry {
	const char *word, *kind, *title;
};
bool explain_entry(size_t index, struct explain_entry *to);

/* Appends an explanation as text: the heading, then a paragraph for each member with its name
 * in the first columns. Names from files are escaped. */
void explain_put(struct buf *b, const json_t *o);

/* Sets a member to the text in b, and empties b. Returns 0 or -1. */
int explain_set(json_t *o, const char *name, struct buf *b);

#endif
