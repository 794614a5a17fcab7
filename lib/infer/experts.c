/* A mixture of experts: a router gives each token's few experts and their weights, and
 * the token's result is the weighted sum of theirs. Tokens of one expert are computed
 * together. Results are added in the order of the experts' numbers, whatever tokens are
 * beside a token.
 */
#include <math.h>
#include <string.h>

#include "infer/forward.h"

/* Probabilities of n experts, from their logits, in place. */
static void
softmax(float *x, size_t n)
{
	float max = x[0], sum = 0;
	size_t i;

	for (i = 1; i < n; i++)
		if (x[i] > max)
			max = x[i];
	for (i = 0; i < n; i++) {
		x[i] = expf(x[i] - max);
		sum += x[i];
	}
	for (i = 0; i < n; i++)
		x[i] /= sum;
}

/* The used most probable ones, in ascending order of their numbers. What is no number
 * is never more probable than another, so that there is always a choice. */
static void
choose(const struct hyper *h, const float *probability, uint32_t *chosen, float *weight)
{
	size_t i, k, at;
	float sum = 0;

	for (k = 0; k < h->experts_used; k++) {
		size_t best = SIZE_MAX;

		for (i = 0; i < h->experts; i++) {
			for (at = 0; at < k && chosen[at] != i; at++)
				;
			if (at == k && (best == SIZE_MAX || probability[i] > probability[best]))
				best = i;
		}
		for (at = k; at > 0 && chosen[at - 1] > best; at--)
			chosen[at] = chosen[at - 1];
		chosen[at] = (uint32_t)best;
	}
	for (k = 0; k < h->experts_used; k++)
		sum += weight[k] = probability[chosen[k]];
	/* Nothing is divided by what a half cannot hold. */
	if (h->sum_to_one)
		sum = fmaxf(sum, 0x1p-14f);
	for (k = 0; k < h->experts_used; k++)
		weight[k] = (h->sum_to_one ? weight[k] / sum : weight[k]) * h->expert_scale;
}

/* The tokens that chose an expert: how many; p->row has them, then the choices. */
static size_t
tokens_of(const struct pass *p, uint32_t expert)
{
	size_t used = p->net->hyper.experts_used, t, k, n = 0;

	for (t = 0; t < p->n; t++)
		for (k = 0; k < used; k++)
			if (p->chosen[t * used + k] == expert) {
				p->row[n * 2] = (uint32_t)t;
				p->row[n * 2 + 1] = (uint32_t)(t * used + k);
				n++;
			}
	return n;
}

/* y += weight * x, a row of width. */
static void
add_weighted(float *y, const float *x, float weight, size_t width)
{
	size_t i;

	for (i = 0; i < width; i++)
		y[i] += weight * x[i];
}

/* The expert of all tokens: how much of it, its own router says. */
static void
add_shared(struct pass *p, const struct block *b)
{
	size_t width = p->net->hyper.width, t;

	pass_see(p, p->h, p->n, width);
	feed_forward(p, &b->shared, p->out);
	for (t = 0; t < p->n; t++) {
		float gate = matmul_dot(b->shared_router, p->h + t * width, width);

		add_weighted(p->y + t * width, p->out + t * width, 1 / (1 + expf(-gate)), width);
	}
}

void
experts(struct pass *p, const struct block *b)
{
	const struct hyper *h = &p->net->hyper;
	size_t width = h->width, used = h->experts_used, t, i, n;
	uint32_t x;

	linear_apply(p, &b->router, p->probability);
	for (t = 0; t < p->n; t++) {
		softmax(p->probability + t * h->experts, h->experts);
		choose(h, p->probability + t * h->experts, p->chosen + t * used,
		       p->weight + t * used);
	}
	memset(p->y, 0, p->n * width * sizeof *p->y);
	for (x = 0; x < h->experts; x++) {
		n = tokens_of(p, x);
		for (i = 0; i < n; i++)
			memcpy(p->rows + i * width, p->h + p->row[i * 2] * width,
			       width * sizeof *p->rows);
		if (n == 0)
			continue;
		pass_see(p, p->rows, n, width);
		feed_forward(p, &b->experts[x], p->out);
		for (i = 0; i < n; i++)
			add_weighted(p->y + p->row[i * 2] * width, p->out + i * width,
			             p->weight[p->row[i * 2 + 1]], width);
	}
	if (b->shared_router)
		add_shared(p, b);
}
