/* Attention over a cache, one run of positions after another, so that scores need no memory
 * of their own: the largest score so far, the sum of the exponentials and the sum of the
 * values are carried along (online softmax: Milakov and Gimelshein, 2018; Dao and others,
 * "FlashAttention", 2022). Runs begin at multiples of their length, so the order of additions
 * does not depend on how a text is cut into calls.
 *
 * A task is some tokens and some heads that share keys. Fewer than DOT_MANY tokens would make
 * too few tasks, so their positions are divided too, into parts that depend only on the
 * number of positions; the results of the parts are then added up like values.
 */
#include <math.h>
#include <stdatomic.h>

#include "core/thread.h"
#include "infer/cpu/cache.h"
#include "infer/cpu/cpu.h"
#include "kernels/attend.h"
#include "kernels/dot.h"

enum {
	LANES = ATTEND_LANES,
	RUN = ATTEND_RUN,
	ROOM = RUN * 64,     /* numbers of a run that are read at once */
	WIDE = ROOM / LANES, /* values of a position, at most */
	QUERIES = 64,        /* queries of a task, at most */
	TOKENS = 16,         /* tokens of a task, at most */
	PART = 128,          /* positions of a part, at least */
	MANY = 16,           /* more queries than this: widen keys and values to floats once */
};
_Static_assert(CPU_PARTS <= RUN, "the parts are summed up like a run");

/* An attention, and what is the same for all of its tasks. */
struct scope {
	const struct attention *a;
	const struct cache_shape *shape; /* of the cache */
	struct device *d;
	const float *q;
	float *out;
	size_t run;                      /* positions of a run */
	size_t shares, at_once;          /* tasks for the same tokens; heads of each */
};

/* Positions of a run: fewer if heads are wide. */
static size_t
run_length(const struct cache_shape *s)
{
	size_t widest = s->head_k > s->head_v ? s->head_k : s->head_v, n = RUN;

	while (n > LANES && n * widest > ROOM)
		n /= 2;
	return n;
}

/* A token sees the positions from first_seen to end_seen - 1. */
static size_t
end_seen(const struct attention *a, size_t token)
{
	return a->causal ? a->length - a->n + token + 1 : a->length;
}

static size_t
first_seen(const struct attention *a, size_t token)
{
	size_t end = end_seen(a, token);

	return a->causal && a->window && end > a->window ? end - a->window : 0;
}

/* The queries of tokens from `from` to `to` and of `heads` heads from `head` on, which share
 * the keys of head kv, over positions from begin to end; begin is a multiple of the run's
 * length. */
struct work {
	const struct scope *s;
	size_t kv, head, heads;
	size_t from, to;
	size_t begin, end;
	float *out, *max, *sum;        /* results: row t × token_step + i of each array belongs */
	size_t token_step;             /* to token t and head i */
};

struct run {
	const struct attend *unit;
	size_t first, n;               /* positions */
	size_t from, to;               /* tokens that see some of them */
	float score[QUERIES][RUN];     /* of these tokens, all heads of each */
	float max[QUERIES], sum[QUERIES]; /* of all tokens: kept here, so that threads do not
	                                * write to the same cache lines */
	bool many;                     /* there are more than MANY queries */
	float room[ROOM + ROOM / 16];  /* keys or values, and scales */
};

/* Scores of the run: queries times keys. */
static void
score(const struct work *w, struct run *r)
{
	const struct attention *a = w->s->a;
	size_t head_k = w->s->shape->head_k, t, i, count;
	struct cache_piece piece = { a->layer, w->kv, r->first, r->n, 0, 0 };
	const float *q[QUERIES];
	struct attend_rows keys;

	for (; piece.from < head_k; piece.from += piece.width) {
		piece.width = head_k - piece.from < WIDE ? head_k - piece.from : WIDE;
		count = 0;
		for (t = r->from; t < r->to; t++)
			for (i = 0; i < w->heads; i++)
				q[count++] = w->s->q + (t * a->heads + w->head + i) * head_k + piece.from;
		cache_keys(a->cache, &piece, r->many, r->room, &keys);
		r->unit->scores(q, count, &keys, piece.width, (r->n + LANES - 1) / LANES,
		                piece.from > 0, r->score);
	}
}

/* A token sees the positions low to high of the run. */
static void
seen(const struct work *w, const struct run *r, size_t token, size_t *low, size_t *high)
{
	size_t first = first_seen(w->s->a, token), end = end_seen(w->s->a, token);

	*low = first > r->first ? first - r->first : 0;
	*high = end - r->first < r->n ? end - r->first : r->n;
}

/* Online softmax: scores become weights; if the maximum has risen, what was summed up so far is
 * scaled down. */
static void
weigh(const struct work *w, struct run *r)
{
	const struct attention *a = w->s->a;
	size_t head_v = w->s->shape->head_v, t, i, k = 0, low, high;

	for (t = r->from; t < r->to; t++) {
		seen(w, r, t, &low, &high);
		for (i = 0; i < w->heads; i++, k++) {
			size_t query = (t - w->from) * w->heads + i;
			float max = r->max[query], by;
			float most = r->unit->soften(r->score[k], low, high, a->scale, a->cap, max);

			if (most == -INFINITY) /* all are NaN */
				most = 0;
			if (most != max) {
				by = expf(max - most);
				r->unit->scale(w->out + (t * w->token_step + i) * head_v, by, head_v);
				r->sum[query] *= by;
				r->max[query] = most;
			}
			r->sum[query] += r->unit->weigh(r->score[k], (high + LANES - 1) / LANES, most);
		}
	}
}

/* Add the values low to high - 1 of the run for the tokens from `from` to `to`. */
static void
add_some(const struct work *w, const struct run *r, const struct attend_rows *values,
         const struct cache_piece *piece, size_t from, size_t to, size_t low, size_t high)
{
	size_t head_v = w->s->shape->head_v, count = 0, t, i;
	const float *weight[QUERIES];
	float *out[QUERIES];

	if (low >= high)
		return;
	for (t = from; t < to; t++)
		for (i = 0; i < w->heads; i++, count++) {
			out[count] = w->out + (t * w->token_step + i) * head_v + piece->from;
			weight[count] = r->score[(t - r->from) * w->heads + i];
		}
	r->unit->add(out, weight, count, values, low, high, piece->width);
}

/* The values from *low to *high - 1 of the run are those that all its tokens see. */
static void
all_see(const struct work *w, const struct run *r, size_t *low, size_t *high)
{
	size_t t, first, end;

	*low = 0;
	*high = r->n;
	for (t = r->from; t < r->to; t++) {
		seen(w, r, t, &first, &end);
		*low = first > *low ? first : *low;
		*high = end < *high ? end : *high;
	}
	if (*low > *high)
		*low = *high = 0;
}

/* Values that all tokens see are read once for all of them. Each token adds its values in the
 * order of their positions. */
static void
add_values(const struct work *w, struct run *r)
{
	const struct attention *a = w->s->a;
	size_t head_v = w->s->shape->head_v, t, low, high, first, end;
	struct cache_piece piece = { a->layer, w->kv, r->first, r->n, 0, 0 };
	struct attend_rows values;

	all_see(w, r, &low, &high);
	for (; piece.from < head_v; piece.from += piece.width) {
		piece.width = head_v - piece.from < WIDE ? head_v - piece.from : WIDE;
		cache_values(a->cache, &piece, r->many, r->room, &values);
		for (t = r->from; t < r->to; t++) {
			seen(w, r, t, &first, &end);
			add_some(w, r, &values, &piece, t, t + 1, first, low < end ? low : end);
		}
		add_some(w, r, &values, &piece, r->from, r->to, low, high);
		for (t = r->from; t < r->to; t++) {
			seen(w, r, t, &first, &end);
			add_some(w, r, &values, &piece, t, t + 1, high > first ? high : first, end);
		}
	}
}

static void
begin(const struct work *w, struct run *r)
{
	size_t head_v = w->s->shape->head_v, t, i, k;

	r->unit = attend_now();
	r->many = (w->to - w->from) * w->heads > MANY;
	r->from = r->to = w->from;
	for (t = w->from; t < w->to; t++)
		for (i = 0; i < w->heads; i++) {
			r->max[(t - w->from) * w->heads + i] = -INFINITY;
			r->sum[(t - w->from) * w->heads + i] = 0;
			for (k = 0; k < head_v; k++)
				w->out[(t * w->token_step + i) * head_v + k] = 0;
		}
}

static void
attend(const struct work *w)
{
	const struct attention *a = w->s->a;
	size_t length = w->s->run, t, i;
	struct cache_piece next = { a->layer, w->kv, w->begin,
		w->end - w->begin < length ? w->end - w->begin : length, 0, 0 };
	struct run r;

	begin(w, &r);
	cache_values_ahead(a->cache, &next);
	for (r.first = w->begin; r.first < w->end; r.first += length) {
		r.n = w->end - r.first < length ? w->end - r.first : length;
		while (r.to < w->to && first_seen(a, r.to) < r.first + r.n)
			r.to++;
		while (end_seen(a, r.from) <= r.first)
			r.from++;
		next.first = r.first + r.n;
		next.positions = w->end - next.first < length ? w->end - next.first : length;
		cache_keys_ahead(a->cache, &next);
		score(w, &r);
		weigh(w, &r);
		cache_values_ahead(a->cache, &next);
		add_values(w, &r);
	}
	for (t = w->from; t < w->to; t++)
		for (i = 0; i < w->heads; i++) {
			w->max[t * w->token_step + i] = r.max[(t - w->from) * w->heads + i];
			w->sum[t * w->token_step + i] = r.sum[(t - w->from) * w->heads + i];
		}
}

/* ---- many tokens ---- */

/* The heads of task i of those for the same tokens. */
static void
share(const struct scope *s, size_t i, struct work *w)
{
	size_t group = s->a->heads / s->shape->heads, each = s->shares / s->shape->heads;

	w->kv = i / each;
	w->head = i % each * s->at_once;
	w->heads = group - w->head < s->at_once ? group - w->head : s->at_once;
	w->head += w->kv * group;
}

/* The heads of a token are done: out = out / sum. */
static void
finish(const struct scope *s, size_t token, size_t head, size_t heads)
{
	size_t i = token * s->a->heads + head, head_v = s->shape->head_v;

	for (; heads--; i++)
		attend_now()->scale(s->out + i * head_v, 1 / s->d->sum[i], head_v);
}

struct many {
	struct scope s;
	size_t tokens; /* of a task */
};

/* The last tokens see most positions, so they come first. */
static void
some_tokens(void *ctx, size_t i)
{
	const struct many *m = ctx;
	const struct scope *s = &m->s;
	const struct attention *a = s->a;
	size_t all = (a->n + m->tokens - 1) / m->tokens, k;
	struct work w = { .s = s, .token_step = a->heads };

	share(s, i % s->shares, &w);
	w.from = (all - 1 - i / s->shares) * m->tokens;
	w.to = w.from + m->tokens < a->n ? w.from + m->tokens : a->n;
	w.begin = first_seen(a, w.from) / s->run * s->run;
	w.end = end_seen(a, w.to - 1);
	w.out = s->out + w.head * s->shape->head_v;
	w.max = s->d->max + w.head;
	w.sum = s->d->sum + w.head;
	attend(&w);
	for (k = w.from; k < w.to; k++)
		finish(s, k, w.head, w.heads);
}

/* ---- one token ---- */

struct one {
	struct scope s;
	size_t token;
	size_t begin, part, parts; /* the first position; positions of a part; parts */
};

/* Add up the parts of a head, in their order. */
static void
sum_up(const struct one *o, size_t head)
{
	const struct scope *s = &o->s;
	const struct device *d = s->d;
	const struct attend *unit = attend_now();
	size_t heads = s->a->heads, head_v = s->shape->head_v, state = o->token * heads + head, i;
	float weight[RUN], most, sum = 0, *out = s->out + state * head_v;
	const float *weights = weight;
	const struct attend_rows parts = { .kind = ATTEND_F32, .stride = heads * head_v,
		.p = (const uint8_t *)(d->part_out + head * head_v) };

	for (i = 0; i < o->parts; i++)
		weight[i] = d->part_max[i * heads + head];
	for (; i < RUN; i++)
		weight[i] = -INFINITY;
	most = unit->soften(weight, 0, o->parts, 1, 0, -INFINITY);
	unit->weigh(weight, RUN / LANES, most);
	for (i = 0; i < head_v; i++)
		out[i] = 0;
	unit->add(&out, &weights, 1, &parts, 0, o->parts, head_v);
	for (i = 0; i < o->parts; i++)
		sum += d->part_sum[i * heads + head] * weight[i];
	d->sum[state] = sum;
	finish(s, o->token, head, 1);
}

static void
some_positions(void *ctx, size_t i)
{
	const struct one *o = ctx;
	const struct scope *s = &o->s;
	struct device *d = s->d;
	size_t part = i % o->parts, mine = i / o->parts, end = end_seen(s->a, o->token), k;
	size_t heads = s->a->heads;
	struct work w = { .s = s, .from = o->token, .to = o->token + 1 };

	share(s, mine, &w);
	w.begin = o->begin + part * o->part;
	w.end = end - w.begin < o->part ? end : w.begin + o->part;
	w.out = d->part_out + (part * heads + w.head) * s->shape->head_v;
	w.max = d->part_max + part * heads + w.head;
	w.sum = d->part_sum + part * heads + w.head;
	attend(&w);
	/* The task that ends last adds up. */
	if (atomic_fetch_add(&d->done[mine], 1) + 1 < o->parts)
		return;
	d->done[mine] = 0;
	for (k = 0; k < w.heads; k++)
		sum_up(o, w.head + k);
}

static void
one_token(struct one *o)
{
	const struct scope *s = &o->s;
	size_t all;

	o->begin = first_seen(s->a, o->token) / s->run * s->run;
	all = end_seen(s->a, o->token) - o->begin;
	for (o->part = PART; all > o->part * CPU_PARTS; o->part *= 2)
		;
	o->parts = (all + o->part - 1) / o->part;
	thread_for(s->d->threads, s->shares * o->parts, some_positions, o);
}

void
cpu_attend(struct device *d, const struct attention *a)
{
	const struct cache_shape *shape = &a->cache->shape;
	size_t group = a->heads / shape->heads, at_once = group < QUERIES ? group : QUERIES;
	struct scope s = { a, shape, d, cpu_floats(a->q), cpu_floats(a->out), run_length(shape),
		(group + at_once - 1) / at_once * shape->heads, at_once };
	size_t tokens = QUERIES / at_once < TOKENS ? QUERIES / at_once : TOKENS;

	if (a->n >= DOT_MANY) {
		struct many m = { s, tokens };

		thread_for(d->threads, (a->n + tokens - 1) / tokens * s.shares, some_tokens, &m);
	} else {
		struct one o = { .s = s };

		for (; o.token < a->n; o.token++)
			one_token(&o);
	}
}
