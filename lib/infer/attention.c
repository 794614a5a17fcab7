/* Attention over the cache, a run of positions after another, so that scores need no
 * room of their own: the largest score so far, the sum of the exponentials, and the sum
 * of the values are carried along (Milakov and Gimelshein, 2018; Dao and others,
 * "FlashAttention", 2022). Runs begin at multiples of their length, so that what is
 * added to what does not depend on how a text is cut.
 */
#include "infer/forward.h"

#include <math.h>

#include "core/thread.h"
#include "infer/matmul.h"

#define RUN 32     /* positions */
#define ROOM 4096  /* values of a run that are decoded at once */
#define TOKENS 8   /* of a task */

struct task {
	struct pass *p;
	size_t block;
};

/* Positions of a run: fewer where heads are wide. */
static size_t
run_length(const struct hyper *h)
{
	size_t widest = h->head_k > h->head_v ? h->head_k : h->head_v, n = RUN;

	while (n * widest > ROOM)
		n /= 2;
	return n;
}

/* One head of one token, at position at, over n positions from first on, of which those
 * before low are not seen. */
static void
one_head(struct pass *p, size_t token, size_t head, const float *keys, const float *values,
         size_t first, size_t low, size_t n)
{
	const struct hyper *h = &p->net->hyper;
	size_t state = token * h->heads + head, i, k;
	const float *q = p->q + state * h->head_k;
	float *a = p->a + state * h->head_v;
	float score[RUN], max = p->max[state], scale;

	for (i = 0; i < n; i++) {
		score[i] = -INFINITY;
		if (first + i < low)
			continue;
		score[i] = matmul_dot(q, keys + i * h->head_k, h->head_k) * h->score_scale;
		if (h->attn_cap > 0)
			score[i] = h->attn_cap * tanhf(score[i] / h->attn_cap);
		if (score[i] > max)
			max = score[i];
	}
	if (max == -INFINITY) /* nothing but what is not seen, or no number */
		max = 0;
	scale = expf(p->max[state] - max);
	p->max[state] = max;
	p->sum[state] *= scale;
	for (k = 0; k < h->head_v; k++)
		a[k] *= scale;
	for (i = 0; i < n; i++) {
		float w;

		if (first + i < low)
			continue;
		w = expf(score[i] - max);
		p->sum[state] += w;
		for (k = 0; k < h->head_v; k++)
			a[k] += w * values[i * h->head_v + k];
	}
}

/* Some tokens, and all heads that share a key. */
static void
some_tokens(void *ctx, size_t task)
{
	struct pass *p = ((const struct task *)ctx)->p;
	size_t block = ((const struct task *)ctx)->block;
	const struct hyper *h = &p->net->hyper;
	size_t kv = task % h->kv_heads, from = task / h->kv_heads * TOKENS;
	size_t to = from + TOKENS < p->n ? from + TOKENS : p->n;
	size_t group = h->heads / h->kv_heads, run = run_length(h), first, t, i, k;
	size_t window = h->windowed[block] ? h->window : SIZE_MAX;
	size_t start = p->position + from + 1 > window ? p->position + from + 1 - window : 0;
	float key_room[ROOM], value_room[ROOM];

	for (t = from; t < to; t++)
		for (i = t * h->heads + kv * group; i < t * h->heads + (kv + 1) * group; i++) {
			p->max[i] = -INFINITY;
			p->sum[i] = 0;
			for (k = 0; k < h->head_v; k++)
				p->a[i * h->head_v + k] = 0;
		}
	for (first = start - start % run; first < p->position + to; first += run) {
		size_t last = first + run < p->position + to ? first + run : p->position + to;
		const float *keys = cache_keys(p->cache, block, kv, first, last - first, key_room);
		const float *values = cache_values(p->cache, block, kv, first, last - first,
		                                   value_room);

		for (t = from; t < to; t++) {
			size_t at = p->position + t, low = at + 1 > window ? at + 1 - window : 0;
			size_t n = at + 1 < last ? at + 1 - first : last - first;

			if (at < first || low >= first + n)
				continue;
			for (i = kv * group; i < (kv + 1) * group; i++)
				one_head(p, t, i, keys, values, first, low, n);
		}
	}
	for (t = from; t < to; t++)
		for (i = t * h->heads + kv * group; i < t * h->heads + (kv + 1) * group; i++)
			for (k = 0; k < h->head_v; k++)
				p->a[i * h->head_v + k] /= p->sum[i];
}

void
attention(struct pass *p, size_t block)
{
	struct task t = { p, block };
	size_t parts = (p->n + TOKENS - 1) / TOKENS;

	thread_for(p->threads, parts * p->net->hyper.kv_heads, some_tokens, &t);
}
