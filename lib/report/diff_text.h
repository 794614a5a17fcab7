/* diff_text: what differs between two models (diff/diff.h), as text and as JSON. Bytes in a
 * buffer, with names escaped. */
#ifndef REPORT_DIFF_TEXT_H
#define REPORT_DIFF_TEXT_H

#include <stdbool.h>

#include "core/buf.h"
#include "diff/diff.h"

/* The first line for the user: similarity with its word, and the number of tensors that differ.
 * Then a line each for changes of weights, metadata, the vocabulary and files, if there are
 * any. */
void diff_put_summary(struct buf *b, const struct diff *d);

/* A line for tensor i of d->tensors, and one with its figures if it has some; nothing for a
 * tensor that is the same, unless all is set. */
void diff_put_tensor(struct buf *b, const struct diff *d, size_t i, bool all);

/* A line for fact i: key, old and new value; for lists what was removed and added. */
void diff_put_fact(struct buf *b, const struct diff *d, size_t i);

/* The same as objects, one per line: {"kind":"summary",…}, "tensor", "key", "file", "licence". */
void diff_json_summary(struct buf *b, const struct diff *d);
void diff_json_tensor(struct buf *b, const struct diff *d, size_t i, bool all);
void diff_json_fact(struct buf *b, const struct diff *d, size_t i);

/* The word for a similarity: IDENTICAL only if nothing differs, else as for scores
 * (check/score.h). */
const char *diff_word(const struct diff *d);

/* A tensor with figures is marked if a limit does not hold; without limits, if its relative
 * RMSE is above this, or a value is not finite on one side only. */
#define DIFF_MARK 0.1

/* The key that holds the tokens of GGUF, and its fact, or NULL. */
const struct diff_fact *diff_vocabulary(const struct diff *d);

/* The name of a fact: its key or file; "licence". */
const char *diff_fact_name(const struct diff *d, const struct diff_fact *f);

#endif
