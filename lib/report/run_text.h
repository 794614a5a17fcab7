/* run_text: tokens as they come, logits, and measurements, as text and JSON, written to an
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
	bool terminal;          /* generated text is shown, as text_show does */
	bool text;              /* there is a vocabulary: "text" is a member */
	const uint32_t *tokens; /* of the prompt, for lines of logits */
	size_t vocabulary;
};

/* A generate_token: its text, or a line {"id","text","logprob"}, written at once. */
int run_text_token(void *ctx, const struct generated *g, struct err *e);

/* A sequence_row: logits in single precision, or {"position","token","logits"}. */
int run_text_logits(void *ctx, size_t position, const float *logits, struct err *e);

/* The perplexity of a text, computed with that context. */
int run_text_perplexity(const struct run_text *r, const struct perplexity *p, size_t context,
                        struct err *e);

/* loaded: seconds from the begin of the process to when tokens could be computed. */
int run_text_bench(const struct run_text *r, const struct bench *b, double loaded,
                   struct err *e);

/* Append a note: how many tokens, and how fast. */
void run_text_statistics(struct buf *to, const struct generate_result *r);

#endif
