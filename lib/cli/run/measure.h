/* measure: the perplexity of a text, with progress on a terminal. */
#ifndef CLI_RUN_MEASURE_H
#define CLI_RUN_MEASURE_H

#include <stdbool.h>

#include "generate/perplexity.h"

/* As perplexity_of, and shows progress with the value so far; asked: also if standard
 * error is not a terminal. 0 or -1. */
int measure_perplexity(struct sequence *sequence, const struct tokenizer *tokenizer,
                       const struct tokens *tokens, bool asked, struct perplexity *p,
                       struct err *e);

#endif
