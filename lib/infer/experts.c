/* A mixture of experts: a router gives each token a few experts and their weights, and the
 * result of the token is the weighted sum of theirs. The tokens of one expert are computed
 * together. Results are added in the order of the experts' numbers, so they do not depend on
 * the tokens beside a token.
 *
 * Routing is decided on the host: it is little arithmetic, and decides what to compute.
 */
#include <math.h>

#include "infer/decoder.h"

/* Logits of n experts become probabilities, in place. */
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

/* Choose the experts_used most probable ones, in ascending order of their numbers. A NaN is never
 * more probable than another value, so there is always a choice. */
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
	/* As llama.cpp does: the divisor is at least the smallest normal half. */
	if (h->sum_to_one)
		sum = fmaxf(sum, 0x1p-14f);
	for (k = 0; k < h->experts_used; k++)
		weight[k] = (h->sum_to_one ? weight[k] / sum : weight[k]) * h->expert_scale;
}

/* List the tokens that chose an expert, with their weights of it. Returns how many. */
static size_t
tokens_of(const struct pass *p, uint32_t expert)
{
	size_t used = p->net->hyper.experts_used, t, k, n = 0;

	for (t = 0; t < p->n; t++)
		for (k = 0; k < used; k++)
			if (p->chosen[t * used + k] == expert) {
				p->row[n] = (uint32_t)t;
				p->row_weight[n++] = p->weight[t * used + k];
			}
	return n;
}

/* y += the shared expert, which every token has, weighted by a router of its own. */
static void
add_shared(struct pass *p, const struct block *b)
{
	size_t width = p->net->hyper.width, t;
	const struct input in = { p->h, NULL, p->n, width };

	pass_feed_forward(p, &b->shared, &in, p->out);
	pass_watch(p, &in, &(struct linear_id){ ROLE_SHARED_ROUTER, b->shared.up.id.block, 0 }, 1);
	p->ops->dots(p->device, p->h, b->shared_router, p->n, width, p->router);
	p->ops->copy_out(p->device, p->row_weight, p->router, p->n);
	for (t = 0; t < p->n; t++) {
		p->row[t] = (uint32_t)t;
		p->row_weight[t] = 1 / (1 + expf(-p->row_weight[t]));
	}
	p->ops->scatter(p->device, p->out, p->row, p->row_weight, p->n, width, p->y);
}

void
pass_experts(struct pass *p, const struct block *b)
{
	const struct ops *ops = p->ops;
	const struct hyper *h = &p->net->hyper;
	const struct input all = { p->h, NULL, p->n, h->width };
	size_t t, n;
	uint32_t x;

	/* router: the experts of each token */
	pass_linear(p, &all, &(struct product){ &b->router, p->router }, 1);
	ops->copy_out(p->device, p->probability, p->router, p->n * h->experts);
	for (t = 0; t < p->n; t++) {
		softmax(p->probability + t * h->experts, h->experts);
		choose(h, p->probability + t * h->experts, p->chosen + t * h->experts_used,
		       p->weight + t * h->experts_used);
	}

	/* the weighted sum of their results */
	ops->clear(p->device, p->y, p->n * h->width);
	for (x = 0; x < h->experts; x++) {
		n = tokens_of(p, x);
		if (n == 0)
			continue;
		ops->gather(p->device, p->h, p->row, n, h->width, p->rows);
		pass_feed_forward(p, &b->experts[x],
		                     &(struct input){ p->rows, NULL, n, h->width }, p->out);
		ops->scatter(p->device, p->out, p->row, p->row_weight, n, h->width, p->y);
	}
	if (b->shared_router)
		add_shared(p, b);
}
