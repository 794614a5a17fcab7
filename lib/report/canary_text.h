/* canary_text: how a model does against a canary, as text and JSON (quality/canary_run.h). */
#ifndef REPORT_CANARY_TEXT_H
#define REPORT_CANARY_TEXT_H

#include "core/buf.h"
#include "quality/canary_run.h"

/* The conditions of the model that is checked; NULL: unknown. */
struct canary_conditions {
	const char *architecture, *root, *level, *made_by;
};

/* Append a line for each condition that differs from the canary's, as text. */
void canary_put_conditions(struct buf *b, const struct canary *c,
                           const struct canary_conditions *now);

/* Append a prompt, its number from 1, and what breaks the limits: text, or a line of JSON. */
void canary_put_result(struct buf *b, const struct canary *c, size_t number,
                       const struct canary_result *r, const struct canary_limits *l,
                       const struct tokenizer *t, bool json);

/* Sums over all prompts. */
struct canary_total {
	size_t prompts, failed;
	struct canary_result sums;
};
void canary_add_result(struct canary_total *to, const struct canary_result *r,
                       const struct canary_limits *l);

/* Append the verdict, the last line. With JSON it has the conditions too. */
void canary_put_total(struct buf *b, const struct canary *c, const struct canary_total *t,
                      const struct canary_conditions *now, bool json);

#endif
