/* run_text: generated tokens, logits and measurements, as text and JSON, written to an
 * output that the caller has opened.
 */
#ifndef REPORT_RUN_TEXT_H
#define REPORT_RUN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"
#include "core/out.h"
#include "generate/bench.h"
#include "generate/generate.h"
#include "generate/perplexity.h"

struct run_text {
	struct out *out;
	bool json;
	bool terminal;          /* the output is a terminal: text goes through text_show */
	bool text;              /* there is a vocabulary: JSON has a member "text" */
	const uint32_t *tokens; /* the prompt, for lines of logits */
	size_t vocabulary;
};

/* A generate_token callback: writes the text, or a line {"id","text","logprob"},
 * immediately. */
int run_text_token(void *ctx, const struct generated *g, struct err *e);

/* A sequence_row callback: writes logits in single precision, or
 * {"position","token","logits"}. */
int run_text_logits(void *ctx, size_t position, const float *logits, struct err *e);

/* Writes the perplexity of a text, computed with this context length. */
int run_text_perplexity(const struct run_text *r, const struct perplexity *p, size_t context,
                        struct err *e);

/* Writes a benchmark. loaded: seconds from the start of the process until it could
 * compute tokens. */
int run_text_bench(const struct run_text *r, const struct bench *b, double loaded,
                   struct err *e);

/* Appends a note: the number of tokens, and the speed. */
void run_text_statistics(struct buf *to, const struct generate_result *r);

#endif
