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
#include "kernels/dot/attend.h"

#define ROOM 4096  /* values of a run that are decoded at once */
#define TOKENS 8   /* of a task */
#define HEADS 8    /* at once, of those that share a key */

struct task {
	struct pass *p;
	size_t block;
};

/* Positions of a run: fewer where heads are wide. */
static size_t
run_length(const struct hyper *h)
{
	size_t widest = h->head_k > h->head_v ? h->head_k : h->head_v, n = ATTEND_RUN;

	while (n * widest > ROOM)
		n /= 2;
	return n;
}

/* Positions first to first + n, as a task has them. */
struct run {
	const struct attend *unit;
	size_t first, n;
	const float *keys;  /* of heads that are too wide to turn, or NULL */
	const float *values;
	float turned[ROOM], room[ROOM];
};

/* Scores become weights, of one head of one token, which sees positions low to high of
 * the run; its state and sums go on. */
static void
one_head(struct pass *p, const struct run *r, size_t token, size_t head, float *score,
         size_t low, size_t high)
{
	const struct hyper *h = &p->net->hyper;
	size_t state = token * h->heads + head, i;
	float max = p->max[state], scale;

	for (i = 0; i < ATTEND_RUN; i++) {
		if (i < low || i >= high) {
			score[i] = -INFINITY;
			continue;
		}
		score[i] *= h->score_scale;
		if (h->attn_cap > 0)
			score[i] = h->attn_cap * tanhf(score[i] / h->attn_cap);
		if (score[i] > max)
			max = score[i];
	}
	if (max == -INFINITY) /* no number */
		max = 0;
	scale = expf(p->max[state] - max);
	p->max[state] = max;
	p->sum[state] = p->sum[state] * scale + r->unit->weigh(score, max);
	r->unit->add(p->a + state * h->head_v, scale, score + low, r->values + low * h->head_v,
	             high - low, h->head_v);
}

/* All heads of one token that share a key. */
static void
one_token(struct pass *p, const struct run *r, size_t token, size_t kv, size_t low, size_t high)
{
	const struct hyper *h = &p->net->hyper;
	size_t group = h->heads / h->kv_heads, i, k, count;
	const float *q = p->q + (token * h->heads + kv * group) * h->head_k;
	float score[HEADS][ATTEND_RUN];

	for (i = 0; i < group; i += count) {
		count = group - i < HEADS ? group - i : HEADS;
		if (!r->keys)
			r->unit->scores(q + i * h->head_k, count, r->turned, h->head_k, score);
		for (k = 0; r->keys && k < count * r->n; k++)
			score[k / r->n][k % r->n] = matmul_dot(q + (i + k / r->n) * h->head_k,
				r->keys + k % r->n * h->head_k, h->head_k);
		for (k = 0; k < count; k++)
			one_head(p, r, token, kv * group + i + k, score[k], low, high);
	}
}

static void
keys_read(const struct pass *p, size_t block, size_t kv, struct run *r)
{
	size_t width = p->net->hyper.head_k;

	r->keys = NULL;
	if (width * ATTEND_RUN > ROOM)
		r->keys = cache_keys(p->cache, block, kv, r->first, r->n, r->turned);
	else
		r->unit->turn(cache_keys(p->cache, block, kv, r->first, r->n, r->room), r->n, width,
		              r->turned);
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
	struct run r;

	r.unit = attend_now();
	for (t = from; t < to; t++)
		for (i = t * h->heads + kv * group; i < t * h->heads + (kv + 1) * group; i++) {
			p->max[i] = -INFINITY;
			p->sum[i] = 0;
			for (k = 0; k < h->head_v; k++)
				p->a[i * h->head_v + k] = 0;
		}
	for (first = start - start % run; first < p->position + to; first += run) {
		size_t last = first + run < p->position + to ? first + run : p->position + to;

		r.first = first;
		r.n = last - first;
		keys_read(p, block, kv, &r);
		r.values = cache_values(p->cache, block, kv, first, r.n, r.room);
		for (t = from; t < to; t++) {
			size_t at = p->position + t, low = at + 1 > window ? at + 1 - window : 0;
			size_t n = at + 1 < last ? at + 1 - first : r.n;

			if (at >= first && low < first + n)
				one_token(p, &r, t, kv, low > first ? low - first : 0, n);
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
