/* attention: causal attention of a text by one group of heads with the same keys. Scores are computed
 * for blocks of rows and never stored: the way back computes them again.
 */
#include <stdatomic.h>
#include <string.h>

#include "train/train_parts.h"

enum { BLOCK = 64 }; /* rows of queries */

static size_t
panels(size_t n)
{
	return (n + TRAINING_PANEL - 1) / TRAINING_PANEL * TRAINING_PANEL;
}

/* The memory of a thread: packed matrices, and blocks of scores. */
struct room {
	float *keys_turned, *values_turned; /* head × length */
	float *keys, *values;               /* length × head */
	float *q, *dout;                    /* BLOCK × head */
	float *p, *dp;                      /* BLOCK × length */
};

static float *
take(float **next, size_t n)
{
	float *p = *next;

	if (p)
		*next += n;
	return p;
}

static size_t
lay_out(const struct train_model *m, size_t length, float *from, struct room *r)
{
	size_t k = m->hyper.head_k, v = m->hyper.head_v, wide = panels(length);
	size_t heads = panels(k) + panels(v);

	r->keys_turned = take(&from, wide * k);
	r->values_turned = take(&from, wide * v);
	r->keys = take(&from, length * panels(k));
	r->values = take(&from, length * panels(v));
	r->q = take(&from, BLOCK * panels(k));
	r->dout = take(&from, BLOCK * panels(v));
	r->p = take(&from, BLOCK * wide);
	r->dp = take(&from, BLOCK * wide);
	return wide * (k + v) + (length + BLOCK) * heads + 2 * BLOCK * wide;
}

size_t
train_attend_size(const struct train_model *m, size_t length)
{
	struct room r;

	return lay_out(m, length, NULL, &r);
}

/* ---- a group ---- */

/* A group of heads in a text, and the strides of its values. */
struct group {
	const struct train_work *w;
	const struct train_kept *kept;
	struct room room;
	size_t text, kv;          /* its numbers */
	size_t length, wide;      /* wide: of a row of scores */
	size_t k, v;              /* of a head */
	size_t nq, nk, nv, no;    /* strides of queries, keys, values and results */
};

static const float *
keys_of(const struct group *g)
{
	return g->kept->k + g->text * g->length * g->nk + g->kv * g->k;
}

static const float *
values_of(const struct group *g)
{
	return g->kept->v + g->text * g->length * g->nv + g->kv * g->v;
}

/* Scores of rows first to first + count - 1 of a head, and their keys up to `end`. */
static void
score(const struct group *g, size_t head, size_t first, size_t count)
{
	const float *q = g->kept->q + (g->text * g->length + first) * g->nq + head * g->k;

	g->w->t->multiply(&(struct training_product){ q, g->nq, 1, g->room.keys_turned, g->k,
		g->room.p, g->wide, count, first + count, g->k, false });
}

/* Makes scores probabilities; later keys get none. again: with what the softmax had before. */
static void
weigh(const struct group *g, size_t head, size_t first, size_t count, bool again)
{
	const struct hyper *h = &g->w->m->hyper;
	size_t i, n, end = first + count;

	for (i = 0; i < count; i++) {
		size_t at = (g->text * g->length + first + i) * h->heads + head;
		float *p = g->room.p + i * g->wide;

		n = first + i + 1;
		if (again)
			g->w->t->softmax_again(p, n, h->score_scale, g->kept->most[at],
			                       g->kept->share[at]);
		else
			g->w->t->softmax(p, n, h->score_scale, &g->kept->most[at], &g->kept->share[at]);
		memset(p + n, 0, (end - n) * sizeof *p);
	}
}

static void
forward_head(const struct group *g, size_t head)
{
	size_t first, count;

	for (first = 0; first < g->length; first += count) {
		float *out = g->kept->att + (g->text * g->length + first) * g->no + head * g->v;

		count = g->length - first < BLOCK ? g->length - first : BLOCK;
		score(g, head, first, count);
		weigh(g, head, first, count, false);
		g->w->t->multiply(&(struct training_product){ g->room.p, g->wide, 1, g->room.values,
			g->length, out, g->no, count, g->v, first + count, false });
	}
}

static void
forward_group(const struct group *g)
{
	const struct training *t = g->w->t;
	size_t shared = g->w->m->hyper.heads / g->w->m->hyper.kv_heads, i;

	t->pack(keys_of(g), 1, g->nk, g->k, g->length, 0, g->wide / TRAINING_PANEL,
	        g->room.keys_turned);
	t->pack(values_of(g), g->nv, 1, g->length, g->v, 0, panels(g->v) / TRAINING_PANEL,
	        g->room.values);
	for (i = 0; i < shared; i++)
		forward_head(g, g->kv * shared + i);
}

/* ---- the way back ---- */

/* Gradients of the scores, from those of the probabilities. */
static void
unweigh(const struct group *g, size_t first, size_t count)
{
	size_t i, n, end = first + count;

	for (i = 0; i < count; i++) {
		float *dp = g->room.dp + i * g->wide;

		n = first + i + 1;
		g->w->t->softmax_back(g->room.p + i * g->wide, dp, n, g->w->m->hyper.score_scale);
		memset(dp + n, 0, (end - n) * sizeof *dp);
	}
}

/* Rows first to first + count - 1 of a head. */
static void
back_block(const struct group *g, size_t head, size_t first, size_t count)
{
	const struct training *t = g->w->t;
	const struct room *r = &g->room;
	size_t row = g->text * g->length + first, end = first + count;
	size_t from = g->text * g->length;
	const float *q = g->kept->q + row * g->nq + head * g->k;
	const float *dout = g->w->datt + row * g->no + head * g->v;

	score(g, head, first, count);
	weigh(g, head, first, count, true);
	t->multiply(&(struct training_product){ dout, g->no, 1, r->values_turned, g->v, r->dp, g->wide,
		count, end, g->v, false });
	unweigh(g, first, count);
	t->multiply(&(struct training_product){ r->dp, g->wide, 1, r->keys, g->length,
		g->w->dq + row * g->nq + head * g->k, g->nq, count, g->k, end, false });
	t->pack(q, g->nq, 1, count, g->k, 0, panels(g->k) / TRAINING_PANEL, r->q);
	t->pack(dout, g->no, 1, count, g->v, 0, panels(g->v) / TRAINING_PANEL, r->dout);
	t->multiply(&(struct training_product){ r->dp, 1, g->wide, r->q, count,
		g->w->dk + from * g->nk + g->kv * g->k, g->nk, end, g->k, count, true });
	t->multiply(&(struct training_product){ r->p, 1, g->wide, r->dout, count,
		g->w->dv + from * g->nv + g->kv * g->v, g->nv, end, g->v, count, true });
}

static void
clear(float *x, size_t rows, size_t stride, size_t n)
{
	size_t i;

	for (i = 0; i < rows; i++)
		memset(x + i * stride, 0, n * sizeof *x);
}

static void
back_group(const struct group *g)
{
	const struct training *t = g->w->t;
	size_t shared = g->w->m->hyper.heads / g->w->m->hyper.kv_heads, i, first;
	size_t from = g->text * g->length;

	clear(g->w->dk + from * g->nk + g->kv * g->k, g->length, g->nk, g->k);
	clear(g->w->dv + from * g->nv + g->kv * g->v, g->length, g->nv, g->v);
	t->pack(keys_of(g), 1, g->nk, g->k, g->length, 0, g->wide / TRAINING_PANEL,
	        g->room.keys_turned);
	t->pack(values_of(g), 1, g->nv, g->v, g->length, 0, g->wide / TRAINING_PANEL,
	        g->room.values_turned);
	t->pack(keys_of(g), g->nk, 1, g->length, g->k, 0, panels(g->k) / TRAINING_PANEL,
	        g->room.keys);
	for (i = 0; i < shared; i++)
		for (first = 0; first < g->length; first += BLOCK)
			back_block(g, g->kv * shared + i, first,
			           g->length - first < BLOCK ? g->length - first : BLOCK);
}

/* ---- threads ---- */

struct attend_job {
	const struct train_work *w;
	const struct train_kept *kept;
	void (*run)(const struct group *g);
	atomic_size_t next; /* group */
};

/* A thread with its memory takes groups until none is left. Groups share no results. */
static void
run_groups(void *ctx, size_t worker)
{
	struct attend_job *job = ctx;
	const struct train_work *w = job->w;
	const struct hyper *h = &w->m->hyper;
	struct group g = { .w = w, .kept = job->kept, .length = w->now_length,
		.wide = panels(w->now_length), .k = h->head_k, .v = h->head_v,
		.nq = h->heads * h->head_k, .nk = h->kv_heads * h->head_k,
		.nv = h->kv_heads * h->head_v, .no = h->heads * h->head_v };
	size_t i;

	lay_out(w->m, g.length, w->attention + worker * w->attention_size, &g.room);
	while ((i = atomic_fetch_add(&job->next, 1)) < w->now_rows * h->kv_heads) {
		g.text = i / h->kv_heads;
		g.kv = i % h->kv_heads;
		job->run(&g);
	}
}

static void
run_all(const struct train_work *w, const struct train_kept *k, void (*run)(const struct group *g))
{
	struct attend_job job = { .w = w, .kept = k, .run = run };

	atomic_init(&job.next, 0);
	thread_for(w->jobs, w->jobs, run_groups, &job);
}

void
train_attend(const struct train_work *w, const struct train_kept *k)
{
	run_all(w, k, forward_group);
}

void
train_attend_back(const struct train_work *w, const struct train_kept *k)
{
	run_all(w, k, back_group);
}
