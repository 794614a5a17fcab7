#include "generate/perplexity.h"

#include <math.h>
#include <string.h>

#include "generate/parts.h"
#include "generate/sampler.h"

struct sums {
	const uint32_t *tokens; /* of this part */
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
	if (position + 1 >= s->context)
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

int
perplexity_of(struct sequence *sequence, const struct tokenizer *tokenizer,
              const struct tokens *text, struct perplexity *p,
              void (*part)(void *ctx, const struct perplexity *p), void *ctx, struct err *e)
{
	const struct infer *model = sequence_model(sequence);
	struct sums s = { .vocabulary = infer_vocabulary(model) };
	struct parts parts;
	uint64_t i;

	memset(p, 0, sizeof *p);
	p->tokens = text->n;
	if (parts_begin(&parts, infer_context(model), tokenizer, text, e) < 0)
		return -1;
	s.context = parts.context;
	for (i = 0; i < parts.count; i++) {
		s.tokens = parts_tokens(&parts, i);
		if (parts_head(&parts, i, sequence, e) < 0 ||
		    sequence_eval(sequence, parts.first, s.tokens + parts.first,
		                  parts.context - parts.first, SEQUENCE_ALL, count, &s, e) < 0)
			return -1;
		p->parts = i + 1;
		conclude(&s, p);
		if (part)
			part(ctx, p);
	}
	return 0;
}
