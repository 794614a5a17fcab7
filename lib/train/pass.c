/* pass: a batch through the stack of layers, and its gradient back. */
#include <string.h>

#include "train/train_parts.h"

enum {
	ROWS = 32,     /* of a task */
	COLUMNS = 64,  /* of a task that adds rows */
	VALUES = 8192, /* of a task on single values */
};

static size_t
pieces(size_t n, size_t of)
{
	return (n + of - 1) / of;
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* ---- norms ---- */

struct norm_job {
	const struct train_work *w;
	const struct train_rows *r;
	const float *dy;
	float *y;
	bool add;
};

static void
normalize_rows(void *ctx, size_t i)
{
	const struct norm_job *job = ctx;
	const struct train_rows *r = job->r;
	const struct training *t = job->w->t;
	const struct train_model *m = job->w->m;
	size_t row;

	for (row = i * ROWS; row < least(r->rows, (i + 1) * ROWS); row++) {
		t->moments(r->x + row * r->n, r->n, m->hyper.layer_norm, m->hyper.eps, &r->mean[row],
		           &r->factor[row]);
		t->norm(r->x + row * r->n, r->n, r->mean[row], r->factor[row],
		        train_value(m, r->norm.weight), train_value(m, r->norm.bias),
		        job->y + row * r->n);
	}
}

void
train_normalize(const struct train_work *w, const struct train_rows *r, float *y)
{
	struct norm_job job = { .w = w, .r = r, .y = y };

	thread_for(w->jobs, pieces(r->rows, ROWS), normalize_rows, &job);
}

static void
gain_columns(void *ctx, size_t i)
{
	const struct norm_job *job = ctx;
	const struct train_rows *r = job->r;
	const struct train_model *m = job->w->m;
	size_t first = i * COLUMNS, n = least(r->n - first, COLUMNS);

	job->w->t->norm_gain(r->x + first, job->dy + first, r->n, r->rows, n, r->mean, r->factor,
	                     train_slope(m, r->norm.weight) + first);
	if (r->norm.bias != TRAIN_NONE)
		job->w->t->columns(job->dy + first, r->n, r->rows, n,
		                   train_slope(m, r->norm.bias) + first);
}

static void
back_rows(void *ctx, size_t i)
{
	const struct norm_job *job = ctx;
	const struct train_rows *r = job->r;
	const struct train_model *m = job->w->m;
	size_t row;

	for (row = i * ROWS; row < least(r->rows, (i + 1) * ROWS); row++)
		job->w->t->norm_back(r->x + row * r->n, r->n, r->mean[row], r->factor[row],
		                     m->hyper.layer_norm, train_value(m, r->norm.weight),
		                     job->dy + row * r->n, job->y + row * r->n, job->add);
}

void
train_normalize_back(const struct train_work *w, const struct train_rows *r, const float *dy,
                     float *dx, bool add)
{
	struct norm_job job = { w, r, dy, dx, add };

	thread_for(w->jobs, pieces(r->n, COLUMNS), gain_columns, &job);
	thread_for(w->jobs, pieces(r->rows, ROWS), back_rows, &job);
}

/* The norms of a layer: rows of its input, of the feed-forward's, of queries and of keys. */
static struct train_rows
attn_rows(const struct train_work *w, const struct train_layer *l, const struct train_kept *k)
{
	return (struct train_rows){ l->attn_norm, k->x, w->n, w->m->hyper.width, k->mean, k->factor };
}

static struct train_rows
ffn_rows(const struct train_work *w, const struct train_layer *l, const struct train_kept *k)
{
	return (struct train_rows){ l->ffn_norm, k->x2, w->n, w->m->hyper.width, k->mean2,
		k->factor2 };
}

static struct train_rows
q_rows(const struct train_work *w, const struct train_layer *l, const struct train_kept *k)
{
	return (struct train_rows){ l->q_norm, k->q_in, w->n * w->m->hyper.heads, w->m->hyper.head_k,
		k->q_mean, k->q_factor };
}

static struct train_rows
k_rows(const struct train_work *w, const struct train_layer *l, const struct train_kept *k)
{
	return (struct train_rows){ l->k_norm, k->k_in, w->n * w->m->hyper.kv_heads,
		w->m->hyper.head_k, k->k_mean, k->k_factor };
}

/* ---- positions, sums and activations ---- */

struct value_job {
	const struct train_work *w;
	float *a, *b, *y;
	const float *x;
	size_t n;
	bool back;
};

static void
rotate_rows(void *ctx, size_t i)
{
	const struct value_job *job = ctx;
	const struct train_work *w = job->w;
	const struct hyper *h = &w->m->hyper;
	size_t row, half = h->rope.rot / 2;

	for (row = i * ROWS; row < least(w->n, (i + 1) * ROWS); row++) {
		size_t at = row % w->now_length * half;

		w->t->rotate(job->a + row * h->heads * h->head_k, h->heads, h->head_k, h->rope.rot,
		             h->halves, job->back, w->cosines + at, w->sines + at);
		w->t->rotate(job->b + row * h->kv_heads * h->head_k, h->kv_heads, h->head_k,
		             h->rope.rot, h->halves, job->back, w->cosines + at, w->sines + at);
	}
}

static void
rotate(const struct train_work *w, float *q, float *k, bool back)
{
	struct value_job job = { .w = w, .a = q, .b = k, .back = back };

	if (w->m->hyper.rotary)
		thread_for(w->jobs, pieces(w->n, ROWS), rotate_rows, &job);
}

static void
add_values(void *ctx, size_t i)
{
	const struct value_job *job = ctx;
	size_t at = i * VALUES, n = least(job->n - at, VALUES);

	memcpy(job->y + at, job->x + at, n * sizeof *job->y);
	job->w->t->add(job->y + at, job->a + at, n);
}

/* y = x + a */
static void
add(const struct train_work *w, const float *x, float *a, float *y)
{
	struct value_job job = { .w = w, .x = x, .a = a, .y = y, .n = w->n * w->m->hyper.width };

	thread_for(w->jobs, pieces(job.n, VALUES), add_values, &job);
}

static void
activate_values(void *ctx, size_t i)
{
	const struct value_job *job = ctx;
	const struct training *t = job->w->t;
	size_t at = i * VALUES, n = least(job->n - at, VALUES);

	if (job->back && job->a)
		t->gate_back(job->a + at, job->b + at, job->x + at, job->y + at, n);
	else if (job->back)
		t->gelu_back(job->b + at, job->x + at, job->y + at, n);
	else if (job->a)
		t->gate(job->a + at, job->b + at, job->y + at, n);
	else
		t->gelu(job->b + at, job->y + at, n);
}

/* w->wide = act(gate) × up, or act(up); dy: the gradient of it, or NULL. Then gate and up become their
 * gradients. */
static void
activate(const struct train_work *w, const struct train_layer *l, const struct train_kept *k,
         const float *dy)
{
	struct value_job job = { .w = w, .b = k->up, .y = w->wide, .x = dy, .n = w->n * l->up.rows,
		.back = dy != NULL };

	job.a = l->gate.weight == TRAIN_NONE ? NULL : k->gate;
	thread_for(w->jobs, pieces(job.n, VALUES), activate_values, &job);
}

/* ---- embeddings ---- */

struct embed_job {
	struct train_work *w;
	const struct train_batch *b;
};

static void
embed_rows(void *ctx, size_t i)
{
	const struct embed_job *job = ctx;
	const struct train_work *w = job->w;
	const struct train_model *m = w->m;
	const float *embed = train_value(m, m->ends->embed);
	const float *positions = train_value(m, m->ends->positions);
	size_t width = m->hyper.width, row;

	for (row = i * ROWS; row < least(w->n, (i + 1) * ROWS); row++) {
		float *x = w->kept[0].x + row * width;

		memcpy(x, embed + job->b->tokens[row] * width, width * sizeof *x);
		if (positions)
			w->t->add(x, positions + row % w->now_length * width, width);
	}
}

/* All rows of some columns: a token may occur twice. */
static void
embed_back(void *ctx, size_t i)
{
	const struct embed_job *job = ctx;
	const struct train_work *w = job->w;
	const struct train_model *m = w->m;
	float *embed = train_slope(m, m->ends->embed);
	float *positions = train_slope(m, m->ends->positions);
	size_t width = m->hyper.width, first = i * COLUMNS, n = least(width - first, COLUMNS), row;

	for (row = 0; row < w->n; row++) {
		const float *dx = w->dx + row * width + first;

		w->t->add(embed + job->b->tokens[row] * width + first, dx, n);
		if (positions)
			w->t->add(positions + row % w->now_length * width + first, dx, n);
	}
}

/* ---- layers ---- */

static void
forward_attention(const struct train_work *w, const struct train_layer *l, const struct train_kept *k)
{
	struct train_rows in = attn_rows(w, l, k), q = q_rows(w, l, k), key = k_rows(w, l, k);
	bool normed = l->q_norm.weight != TRAIN_NONE;

	train_normalize(w, &in, k->h);
	train_linear(w, &l->q, k->h, w->n, normed ? k->q_in : k->q, true);
	train_linear(w, &l->k, k->h, w->n, normed ? k->k_in : k->k, true);
	train_linear(w, &l->v, k->h, w->n, k->v, true);
	if (normed) {
		train_normalize(w, &q, k->q);
		train_normalize(w, &key, k->k);
	}
	rotate(w, k->q, k->k, false);
	train_attend(w, k);
	train_linear(w, &l->o, k->att, w->n, w->y, true);
	add(w, k->x, w->y, k->x2);
}

/* to: the input of the next layer. */
static void
forward_layer(const struct train_work *w, const struct train_layer *l, const struct train_kept *k,
              float *to)
{
	struct train_rows in;

	forward_attention(w, l, k);
	in = ffn_rows(w, l, k);
	train_normalize(w, &in, k->h2);
	train_linear(w, &l->up, k->h2, w->n, k->up, true);
	if (l->gate.weight != TRAIN_NONE)
		train_linear(w, &l->gate, k->h2, w->n, k->gate, true);
	activate(w, l, k, NULL);
	train_linear(w, &l->down, w->wide, w->n, w->y, true);
	add(w, k->x2, w->y, to);
}

void
train_forward(struct train_work *w, const struct train_batch *b)
{
	struct embed_job job = { w, b };
	struct train_rows last = { w->m->ends->norm, w->last.x, w->n, w->m->hyper.width, w->last.mean,
		w->last.factor };
	size_t i, layers = w->m->hyper.layers;

	thread_for(w->jobs, pieces(w->n, ROWS), embed_rows, &job);
	for (i = 0; i < layers; i++)
		forward_layer(w, &w->m->layers[i], &w->kept[i],
		              i + 1 < layers ? w->kept[i + 1].x : w->last.x);
	train_normalize(w, &last, w->last.h);
}

/* From the gradient of a layer's result to that of what attention adds to. */
static void
back_feed_forward(const struct train_work *w, const struct train_layer *l,
                  const struct train_kept *k)
{
	struct train_rows in = ffn_rows(w, l, k);
	bool gated = l->gate.weight != TRAIN_NONE;

	train_linear_back(w, &l->down, w->dx, w->n, w->dwide, false);
	activate(w, l, k, w->dwide);
	train_linear_gain(w, &l->down, w->dx, w->wide, w->n);
	train_linear_gain(w, &l->up, k->up, k->h2, w->n);
	train_linear_back(w, &l->up, k->up, w->n, w->dh, false);
	if (gated) {
		train_linear_gain(w, &l->gate, k->gate, NULL, w->n);
		train_linear_back(w, &l->gate, k->gate, w->n, w->dh, true);
	}
	train_normalize_back(w, &in, w->dh, w->dx, true);
}

static void
back_attention(const struct train_work *w, const struct train_layer *l, const struct train_kept *k)
{
	struct train_rows in = attn_rows(w, l, k), q = q_rows(w, l, k), key = k_rows(w, l, k);

	train_linear_back(w, &l->o, w->dx, w->n, w->datt, false);
	train_linear_gain(w, &l->o, w->dx, k->att, w->n);
	train_attend_back(w, k);
	rotate(w, w->dq, w->dk, true);
	if (l->q_norm.weight != TRAIN_NONE) {
		train_normalize_back(w, &q, w->dq, w->dq, false);
		train_normalize_back(w, &key, w->dk, w->dk, false);
	}
	train_linear_gain(w, &l->q, w->dq, k->h, w->n);
	train_linear_gain(w, &l->k, w->dk, NULL, w->n);
	train_linear_gain(w, &l->v, w->dv, NULL, w->n);
	train_linear_back(w, &l->q, w->dq, w->n, w->dh, false);
	train_linear_back(w, &l->k, w->dk, w->n, w->dh, true);
	train_linear_back(w, &l->v, w->dv, w->n, w->dh, true);
	train_normalize_back(w, &in, w->dh, w->dx, true);
}

void
train_backpass(struct train_work *w, const struct train_batch *b)
{
	struct embed_job job = { w, b };
	struct train_rows last = { w->m->ends->norm, w->last.x, w->n, w->m->hyper.width, w->last.mean,
		w->last.factor };
	size_t i;

	train_normalize_back(w, &last, w->dh, w->dx, false);
	for (i = w->m->hyper.layers; i-- > 0; ) {
		back_feed_forward(w, &w->m->layers[i], &w->kept[i]);
		back_attention(w, &w->m->layers[i], &w->kept[i]);
	}
	thread_for(w->jobs, pieces(w->m->hyper.width, COLUMNS), embed_back, &job);
}
