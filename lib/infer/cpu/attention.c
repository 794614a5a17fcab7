/* Attention over the cache, a run of positions after another, so that scores need no
 * room of their own: the largest score so far, the sum of the exponentials, and the sum
 * of the values are carried along (Milakov and Gimelshein, 2018; Dao and others,
 * "FlashAttention", 2022). Runs begin at multiples of their length, so that what is
 * added to what does not depend on how a text is cut.
 *
 * Tasks are some tokens and heads that share keys. Of fewer than DOT_MANY tokens that
 * would be few, so positions are shared out as well, in parts that depend on nothing but
 * the token's position; what they come to is summed up like values.
 */
#include "infer/forward.h"

#include <math.h>
#include <stdatomic.h>

#include "core/thread.h"
#include "kernels/attend.h"

enum {
	LANES = ATTEND_LANES,
	RUN = ATTEND_RUN,
	ROOM = RUN * 64,     /* numbers that are read at once */
	WIDE = ROOM / LANES, /* of each position, at most */
	QUERIES = 64,        /* of a task: */
	TOKENS = 16,         /* of so many tokens at most */
	PART = 128,          /* positions, at least */
	MANY = 16,           /* queries, and more, are many */
};
_Static_assert(PASS_PARTS <= RUN, "parts are summed up like a run");

/* Positions of a run: fewer where heads are wide. */
static size_t
run_length(const struct hyper *h)
{
	size_t widest = h->head_k > h->head_v ? h->head_k : h->head_v, n = RUN;

	while (n > LANES && n * widest > ROOM)
		n /= 2;
	return n;
}

/* Heads that share a key are taken by so many. */
static size_t
heads_at_once(const struct hyper *h)
{
	size_t group = h->heads / h->kv_heads;

	return group < QUERIES ? group : QUERIES;
}

/* The first position that a token sees in a block. */
static size_t
first_seen(const struct pass *p, size_t block, size_t token)
{
	const struct hyper *h = &p->net->hyper;
	size_t end = p->position + token + 1;

	return h->windowed[block] && end > h->window ? end - h->window : 0;
}

/* Queries of tokens from to to, and heads from head on that share a key, with the
 * positions begin to end; begin is a multiple of the run's length. */
struct work {
	struct pass *p;
	size_t block, kv, head, heads;
	size_t from, to;
	size_t begin, end;
	float *a, *max, *sum;          /* what they come to: token t, head i have */
	size_t token_step;             /* t × token_step + i of each array */
};

struct run {
	const struct attend *unit;
	size_t first, n;
	size_t from, to;               /* tokens that see some of it */
	float score[QUERIES][RUN];     /* of these tokens, all heads of each */
	float max[QUERIES], sum[QUERIES]; /* of all tokens: here, so that threads do not
	                                * write to the same lines of memory */
	bool many;                     /* queries: numbers pay that are read once */
	float room[ROOM + ROOM / 16];  /* with scales */
};

/* The queries' values from value on. */
static void
score(const struct work *w, struct run *r)
{
	const struct hyper *h = &w->p->net->hyper;
	struct cache_piece piece = { w->block, w->kv, r->first, r->n, 0, 0 };
	const float *q[QUERIES];
	struct attend_rows keys;
	size_t t, i, count;

	for (; piece.from < h->head_k; piece.from += piece.width) {
		piece.width = h->head_k - piece.from < WIDE ? h->head_k - piece.from : WIDE;
		count = 0;
		for (t = r->from; t < r->to; t++)
			for (i = 0; i < w->heads; i++)
				q[count++] = w->p->q + (t * h->heads + w->head + i) * h->head_k +
					piece.from;
		cache_keys(w->p->cache, &piece, r->many, r->room, &keys);
		r->unit->scores(q, count, &keys, piece.width, (r->n + LANES - 1) / LANES,
		                piece.from > 0, r->score);
	}
}

/* Positions low to high of the run are those that a token sees. */
static void
seen(const struct work *w, const struct run *r, size_t token, size_t *low, size_t *high)
{
	size_t first = first_seen(w->p, w->block, token), end = w->p->position + token + 1;

	*low = first > r->first ? first - r->first : 0;
	*high = end - r->first < r->n ? end - r->first : r->n;
}

/* Scores become weights, what there is goes down if the largest has grown. */
static void
weigh(const struct work *w, struct run *r)
{
	const struct hyper *h = &w->p->net->hyper;
	size_t t, i, k = 0, low, high;

	for (t = r->from; t < r->to; t++) {
		seen(w, r, t, &low, &high);
		for (i = 0; i < w->heads; i++, k++) {
			size_t query = (t - w->from) * w->heads + i;
			float max = r->max[query], by;
			float most = r->unit->soften(r->score[k], low, high, h->score_scale,
			                             h->attn_cap, max);

			if (most == -INFINITY) /* no number */
				most = 0;
			if (most != max) {
				by = expf(max - most);
				r->unit->scale(w->a + (t * w->token_step + i) * h->head_v, by, h->head_v);
				r->sum[query] *= by;
				r->max[query] = most;
			}
			r->sum[query] += r->unit->weigh(r->score[k], (high + LANES - 1) / LANES, most);
		}
	}
}

static void
add_values(const struct work *w, struct run *r)
{
	const struct hyper *h = &w->p->net->hyper;
	struct cache_piece piece = { w->block, w->kv, r->first, r->n, 0, 0 };
	float *a[QUERIES];
	const float *weight[QUERIES];
	struct attend_rows values;
	size_t t, i, low, high;

	for (; piece.from < h->head_v; piece.from += piece.width) {
		piece.width = h->head_v - piece.from < WIDE ? h->head_v - piece.from : WIDE;
		cache_values(w->p->cache, &piece, r->many, r->room, &values);
		for (t = r->from; t < r->to; t++) {
			seen(w, r, t, &low, &high);
			for (i = 0; i < w->heads; i++) {
				a[i] = w->a + (t * w->token_step + i) * h->head_v + piece.from;
				weight[i] = r->score[(t - r->from) * w->heads + i];
			}
			r->unit->add(a, weight, w->heads, &values, low, high, piece.width);
		}
	}
}

static void
attend(const struct work *w)
{
	const struct hyper *h = &w->p->net->hyper;
	size_t length = run_length(h), position = w->p->position, t, i, k;
	struct cache_piece next = { w->block, w->kv, w->begin,
		w->end - w->begin < length ? w->end - w->begin : length, 0, 0 };
	struct run r;

	r.unit = attend_now();
	r.many = (w->to - w->from) * w->heads > MANY;
	for (t = w->from; t < w->to; t++)
		for (i = 0; i < w->heads; i++) {
			r.max[(t - w->from) * w->heads + i] = -INFINITY;
			r.sum[(t - w->from) * w->heads + i] = 0;
			for (k = 0; k < h->head_v; k++)
				w->a[(t * w->token_step + i) * h->head_v + k] = 0;
		}
	cache_values_ahead(w->p->cache, &next);
	r.from = r.to = w->from;
	for (r.first = w->begin; r.first < w->end; r.first += length) {
		r.n = w->end - r.first < length ? w->end - r.first : length;
		while (r.to < w->to && first_seen(w->p, w->block, r.to) < r.first + r.n)
			r.to++;
		while (position + r.from < r.first)
			r.from++;
		next.first = r.first + r.n;
		next.positions = w->end - next.first < length ? w->end - next.first : length;
		cache_keys_ahead(w->p->cache, &next);
		score(w, &r);
		weigh(w, &r);
		cache_values_ahead(w->p->cache, &next);
		add_values(w, &r);
	}
	for (t = w->from; t < w->to; t++)
		for (i = 0; i < w->heads; i++) {
			w->max[t * w->token_step + i] = r.max[(t - w->from) * w->heads + i];
			w->sum[t * w->token_step + i] = r.sum[(t - w->from) * w->heads + i];
		}
}

/* ---- many tokens ---- */

struct task {
	struct pass *p;
	size_t block;
	size_t shares, at_once;        /* of heads: tasks for the same tokens, heads of each */
	size_t tokens;                 /* of a task */
	size_t token, parts, part;     /* or one, and how its positions are shared out */
	size_t begin;                  /* where the first part does */
};

/* Heads of one of the shares. */
static void
share(const struct task *t, size_t i, struct work *w)
{
	const struct hyper *h = &t->p->net->hyper;
	size_t group = h->heads / h->kv_heads, each = t->shares / h->kv_heads;

	w->kv = i / each;
	w->head = i % each * t->at_once;
	w->heads = group - w->head < t->at_once ? group - w->head : t->at_once;
	w->head += w->kv * group;
}

/* A token's heads are done: a = a / sum. */
static void
finish(struct pass *p, size_t token, size_t head, size_t heads)
{
	const struct hyper *h = &p->net->hyper;
	size_t i = token * h->heads + head;

	for (; heads--; i++)
		attend_now()->scale(p->a + i * h->head_v, 1 / p->sum[i], h->head_v);
}

/* The last tokens see most positions, so they come first. */
static void
some_tokens(void *ctx, size_t i)
{
	const struct task *t = ctx;
	struct pass *p = t->p;
	const struct hyper *h = &p->net->hyper;
	size_t all = (p->n + t->tokens - 1) / t->tokens, k, run = run_length(h);
	struct work w = { .p = p, .block = t->block, .token_step = h->heads };

	share(t, i % t->shares, &w);
	w.from = (all - 1 - i / t->shares) * t->tokens;
	w.to = w.from + t->tokens < p->n ? w.from + t->tokens : p->n;
	w.begin = first_seen(p, t->block, w.from) / run * run;
	w.end = p->position + w.to;
	w.a = p->a + w.head * h->head_v;
	w.max = p->max + w.head;
	w.sum = p->sum + w.head;
	attend(&w);
	for (k = w.from; k < w.to; k++)
		finish(p, k, w.head, w.heads);
}

/* ---- one token ---- */

/* A head's parts become one, in their order. */
static void
sum_up(const struct task *t, size_t head)
{
	struct pass *p = t->p;
	const struct hyper *h = &p->net->hyper;
	const struct attend *unit = attend_now();
	size_t state = t->token * h->heads + head, i;
	float weight[RUN], most, sum = 0, *a = p->a + state * h->head_v;
	const float *weights = weight;
	const struct attend_rows parts = { .kind = ATTEND_F32, .stride = h->heads * h->head_v,
		.p = (const uint8_t *)(p->part_a + head * h->head_v) };

	for (i = 0; i < t->parts; i++)
		weight[i] = p->part_max[i * h->heads + head];
	for (; i < RUN; i++)
		weight[i] = -INFINITY;
	most = unit->soften(weight, 0, t->parts, 1, 0, -INFINITY);
	unit->weigh(weight, RUN / LANES, most);
	for (i = 0; i < h->head_v; i++)
		a[i] = 0;
	unit->add(&a, &weights, 1, &parts, 0, t->parts, h->head_v);
	for (i = 0; i < t->parts; i++)
		sum += p->part_sum[i * h->heads + head] * weight[i];
	p->sum[state] = sum;
	finish(p, t->token, head, 1);
}

static void
some_positions(void *ctx, size_t i)
{
	const struct task *t = ctx;
	struct pass *p = t->p;
	const struct hyper *h = &p->net->hyper;
	size_t part = i % t->parts, mine = i / t->parts, end = p->position + t->token + 1, k;
	struct work w = { .p = p, .block = t->block, .from = t->token, .to = t->token + 1 };

	share(t, mine, &w);
	w.begin = t->begin + part * t->part;
	w.end = end - w.begin < t->part ? end : w.begin + t->part;
	w.a = p->part_a + (part * h->heads + w.head) * h->head_v;
	w.max = p->part_max + part * h->heads + w.head;
	w.sum = p->part_sum + part * h->heads + w.head;
	attend(&w);
	/* Whoever is the last sums up. */
	if (atomic_fetch_add(&p->done[mine], 1) + 1 < t->parts)
		return;
	p->done[mine] = 0;
	for (k = 0; k < w.heads; k++)
		sum_up(t, w.head + k);
}

static void
one_token(struct task *t)
{
	const struct pass *p = t->p;
	size_t run = run_length(&p->net->hyper), all;

	t->begin = first_seen(p, t->block, t->token) / run * run;
	all = p->position + t->token + 1 - t->begin;
	for (t->part = PART; all > t->part * PASS_PARTS; t->part *= 2)
		;
	t->parts = (all + t->part - 1) / t->part;
	thread_for(p->threads, t->shares * t->parts, some_positions, t);
}

void
attention(struct pass *p, size_t block)
{
	const struct hyper *h = &p->net->hyper;
	struct task t = { .p = p, .block = block, .at_once = heads_at_once(h) };

	t.shares = (h->heads / h->kv_heads + t.at_once - 1) / t.at_once * h->kv_heads;
	t.tokens = QUERIES / t.at_once < TOKENS ? QUERIES / t.at_once : TOKENS;
	if (p->n >= DOT_MANY)
		thread_for(p->threads, (p->n + t.tokens - 1) / t.tokens * t.shares, some_tokens, &t);
	else
		for (; t.token < p->n; t.token++)
			one_token(&t);
}
