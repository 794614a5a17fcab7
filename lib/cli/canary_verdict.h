/* canary_verdict: all prompts of a canary, held against a model. */
#ifndef CLI_CANARY_VERDICT_H
#define CLI_CANARY_VERDICT_H

#include "report/canary_text.h"

/* The most tokens of a prompt with its continuation. */
size_t canary_longest(const struct canary *c);

/* Check each prompt, append the report on it as text and as JSON, and sum up. text, json: where,
 * or NULL. all: the text has prompts that pass too. t NULL: texts are not compared.
 * ERR_INVALID if the vocabulary of the model has another size. 0, or -1 with e filled. */
int canary_verdict(const struct canary *c, struct sequence *s, struct tokenizer *t,
                   const struct canary_limits *l, bool all, struct buf *text, struct buf *json,
                   struct canary_total *total, struct err *e);

#endif
