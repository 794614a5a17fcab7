#include "generate/perplexity.h"

#include <math.h>
#include <string.h>

#include "generate/sampler.h"

struct sums {
	const uint32_t *tokens; /* of this part */
	size_t first;           /* the first position whose logits count */
	size_t context, vocabulary;
	double sum, squares;
	uint64_t count;
};

static int
count(void *ctx, size_t position, const float *logits, struct err *e)
{
	struct sums *s = ctx;
	double v;

	(void)e;
	if (position < s->first || position + 1 >= s->context)
		return 0;
	v = -sampler_logprob(logits, s->vocabulary, s->tokens[position + 1]);
	s->sum += v;
	s->squares += v * v;
	s->count++;
	return 0;
}

static void
conclude(const struct sums *s, struct perplexity *p)
{
	double mean = s->sum / (double)s->count, spread;

	spread = s->squares / (double)s->count - mean * mean;
	p->counted = s->count;
	p->value = exp(mean);
	p->error = s->count > 1 && spread > 0
		? p->value * sqrt(spread / (double)(s->count - 1)) : 0;
}

static int
part_of(struct sequence *sequence, struct sums *s, uint32_t bos, const uint32_t *tokens,
        struct err *e)
{
	/* The first half is the context of the second; its logits do not count. */
	size_t at = 0;

	s->tokens = tokens;
	if (bos != TOKEN_NONE) {
		if (sequence_eval(sequence, 0, &bos, 1, SEQUENCE_NONE, count, s, e) < 0)
			return -1;
		at = 1;
	}
	if (s->first > at &&
	    sequence_eval(sequence, at, tokens + at, s->first - at, SEQUENCE_NONE, count, s, e) < 0)
		return -1;
	return sequence_eval(sequence, s->first, tokens + s->first, s->context - s->first, SEQUENCE_ALL,
	                  count, s, e);
}

int
perplexity_of(struct sequence *sequence, const struct tokenizer *tokenizer,
              const struct tokens *text, struct perplexity *p,
              void (*part)(void *ctx, const struct perplexity *p), void *ctx, struct err *e)
{
	const struct infer *model = sequence_model(sequence);
	struct sums s = { .context = infer_context(model),
		.vocabulary = infer_vocabulary(model) };
	uint32_t bos = tokenizer_adds_bos(tokenizer) ? tokenizer_role(tokenizer, TOKENIZER_BOS)
	                                             : TOKEN_NONE;
	uint64_t i, parts = text->n / s.context;

	memset(p, 0, sizeof *p);
	s.first = s.context / 2;
	p->tokens = text->n;
	if (s.context < 4)
		return err_set(e, ERR_INVALID, NULL, "a context of %zu is too small", s.context);
	if (parts < 2) {
		err_set(e, ERR_INVALID, NULL, "the text has %zu tokens, fewer than twice the "
		        "context of %zu", text->n, s.context);
		return err_hint(e, "give a longer text, or a smaller context with -c");
	}
	for (i = 0; i < parts; i++) {
		if (part_of(sequence, &s, bos, text->id + i * s.context, e) < 0)
			return -1;
		p->parts = i + 1;
		conclude(&s, p);
		if (part)
			part(ctx, p);
	}
	return 0;
}
