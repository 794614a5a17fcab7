#include "cli/run/measure.h"

#include <stdio.h>

#include "cli/progress.h"

/* Shows a finished part in the struct progress at ctx. */
static void
part_done(void *ctx, const struct perplexity *p)
{
	struct progress *progress = ctx;

	snprintf(progress->said, sizeof progress->said, "perplexity %.4f", p->value);
	progress_at(progress, p->parts);
}

int
measure_perplexity(struct sequence *sequence, const struct tokenizer *tokenizer,
                   const struct tokens *tokens, bool asked, struct perplexity *p,
                   struct err *e)
{
	struct progress progress;
	int r;

	progress_begin(&progress, asked, tokens->n / infer_context(sequence_model(sequence)));
	progress.unit = "parts";
	r = perplexity_of(sequence, tokenizer, tokens, p, part_done, &progress, e);
	progress_end(&progress);
	return r;
}
