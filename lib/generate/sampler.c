#include "generate/sampler.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "generate/softmax.h"

struct candidate {
	uint32_t id;
	float logit;
	double p;
};

int
sampler_open(struct sampler *s, const struct sampler_options *options, size_t n, struct err *e)
{
	memset(s, 0, sizeof *s);
	s->options = *options;
	s->n = n;
	chance_begin(&s->chance, options->seed);
	s->logits = mem_array(n, sizeof *s->logits);
	s->candidates = mem_array(n, sizeof *s->candidates);
	return s->logits && s->candidates ? 0 : err_memory(e);
}

void
sampler_free(struct sampler *s)
{
	free(s->logits);
	free(s->candidates);
	memset(s, 0, sizeof *s);
}

/* Penalize each token once, even if it occurs several times. */
static void
penalize(struct sampler *s, const float *logits, const uint32_t *tokens, size_t count)
{
	float by = (float)s->options.repeat_penalty;
	size_t i;

	i = count > SAMPLER_LAST ? count - SAMPLER_LAST : 0;
	for (; i < count; i++)
		if (tokens[i] < s->n)
			s->logits[tokens[i]] = logits[tokens[i]] > 0 ? logits[tokens[i]] / by
			                                             : logits[tokens[i]] * by;
}

static uint32_t
best(const float *logits, size_t n)
{
	size_t i, most = 0;

	for (i = 1; i < n; i++)
		if (logits[i] > logits[most])
			most = i;
	return (uint32_t)most;
}

/* ---- candidates ---- */

static bool
before(const struct candidate *a, const struct candidate *b)
{
	return a->logit != b->logit ? a->logit > b->logit : a->id < b->id;
}

static int
compare(const void *a, const void *b)
{
	return before(a, b) ? -1 : before(b, a);
}

/* Restore a heap of k candidates, whose root is the last in order, after the one at place i
 * has been replaced. */
static void
sink(struct candidate *heap, size_t k, size_t i)
{
	struct candidate c = heap[i];
	size_t child;

	for (; (child = 2 * i + 1) < k; i = child) {
		if (child + 1 < k && before(&heap[child], &heap[child + 1]))
			child++;
		if (!before(&c, &heap[child]))
			break;
		heap[i] = heap[child];
	}
	heap[i] = c;
}

/* Sort the first k in order to the front. Returns how many there are. */
static size_t
take(struct sampler *s)
{
	size_t i, k = s->options.top_k;
	struct candidate next, *c = s->candidates;

	k = k == 0 || k > s->n ? s->n : k;
	for (i = 0; i < k; i++)
		c[i] = (struct candidate){ (uint32_t)i, s->logits[i], 0 };
	if (k < s->n) {
		for (i = k / 2; i-- > 0; )
			sink(c, k, i);
		for (i = k; i < s->n; i++) {
			next = (struct candidate){ (uint32_t)i, s->logits[i], 0 };
			if (before(&next, c)) {
				*c = next;
				sink(c, k, 0);
			}
		}
	}
	qsort(c, k, sizeof *c, compare);
	return k;
}

/* Unnormalized probabilities of n candidates at a temperature. Returns their sum. */
static double
weigh(struct candidate *c, size_t n, double temperature)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += c[i].p = exp(((double)c[i].logit - (double)c[0].logit) / temperature);
	return sum;
}

static size_t
cut(const struct sampler *s, struct candidate *c, size_t n)
{
	double sum = weigh(c, n, 1), part = 0;
	size_t i;

	for (i = 0; i < n && part < s->options.top_p * sum; i++)
		part += c[i].p;
	n = i > 0 ? i : 1;
	for (i = 1; i < n && c[i].p >= s->options.min_p; i++)
		; /* the first has p = 1, so the loop ends */
	return i;
}

uint32_t
sampler_next(struct sampler *s, const float *logits, const uint32_t *tokens, size_t count)
{
	struct candidate *c = s->candidates;
	double drawn, sum, part = 0;
	size_t i, n;

	memcpy(s->logits, logits, s->n * sizeof *logits);
	if (s->options.repeat_penalty != 1)
		penalize(s, logits, tokens, count);
	if (s->options.temperature <= 0)
		return best(s->logits, s->n);
	n = cut(s, c, take(s));
	sum = weigh(c, n, s->options.temperature);
	drawn = chance_unit(&s->chance) * sum;
	for (i = 0; i + 1 < n; i++) {
		part += c[i].p;
		if (part > drawn)
			break;
	}
	return c[i].id;
}

double
sampler_logprob(const float *logits, size_t n, uint32_t token)
{
	return (double)logits[token] - softmax_of(logits, n).base;
}
