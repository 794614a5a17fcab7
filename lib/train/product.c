/* product: products of matrices, and linear layers, divided among threads by blocks of results. */
#include "train/train_parts.h"

enum {
	BLOCK_ROWS = 84,     /* of results; a multiple of the tiles of all levels */
	BLOCK_COLUMNS = 256, /* a multiple of TRAINING_PANEL */
	SUM_COLUMNS = 64,    /* of a task that adds rows */
	PACK_VALUES = 16384, /* of a task that packs */
};

static size_t
pieces(size_t n, size_t of)
{
	return (n + of - 1) / of;
}

/* ---- products ---- */

struct product_job {
	const struct train_work *w;
	const struct training_product *p;
	size_t across;  /* blocks side by side */
};

static void
product_block(void *ctx, size_t i)
{
	const struct product_job *job = ctx;
	struct training_product p = *job->p;
	size_t row = i / job->across * BLOCK_ROWS, column = i % job->across * BLOCK_COLUMNS;

	p.a += row * p.a_row;
	p.b += column * p.b_depth;
	p.c += row * p.c_row + column;
	p.m = p.m - row < BLOCK_ROWS ? p.m - row : BLOCK_ROWS;
	p.n = p.n - column < BLOCK_COLUMNS ? p.n - column : BLOCK_COLUMNS;
	job->w->t->multiply(&p);
}

void
train_product(const struct train_work *w, const struct training_product *p)
{
	struct product_job job = { w, p, pieces(p->n, BLOCK_COLUMNS) };

	thread_for(w->jobs, pieces(p->m, BLOCK_ROWS) * job.across, product_block, &job);
}

struct pack_job {
	const struct train_work *w;
	const float *b;
	size_t row, column, k, n, panels, at_once;
	float *to;
};

static void
pack_some(void *ctx, size_t i)
{
	const struct pack_job *job = ctx;
	size_t first = i * job->at_once, left = job->panels - first;

	job->w->t->pack(job->b, job->row, job->column, job->k, job->n, first,
	                left < job->at_once ? left : job->at_once, job->to);
}

void
train_pack(const struct train_work *w, const float *b, size_t row, size_t column, size_t k, size_t n,
           float *to)
{
	struct pack_job job = { w, b, row, column, k, n, pieces(n, TRAINING_PANEL),
		1 + PACK_VALUES / (k * TRAINING_PANEL), to };

	thread_for(w->jobs, pieces(job.panels, job.at_once), pack_some, &job);
}

/* ---- linear layers ---- */

struct bias_job {
	const struct train_work *w;
	float *y;
	const float *x, *bias;
	size_t rows, n;
	float *sum;
};

static void
add_bias(void *ctx, size_t i)
{
	const struct bias_job *job = ctx;
	size_t first = i * BLOCK_ROWS, left = job->rows - first;

	job->w->t->bias(job->y + first * job->n, job->n, left < BLOCK_ROWS ? left : BLOCK_ROWS,
	                job->bias, job->n);
}

static void
add_columns(void *ctx, size_t i)
{
	const struct bias_job *job = ctx;
	size_t first = i * SUM_COLUMNS, left = job->n - first;

	job->w->t->columns(job->x + first, job->n, job->rows, left < SUM_COLUMNS ? left : SUM_COLUMNS,
	                   job->sum + first);
}

void
train_linear(const struct train_work *w, const struct train_linear *l, const float *x, size_t n,
             float *y, bool pack)
{
	const float *weight = train_value(w->m, l->weight) + l->first * l->columns;
	struct training_product p = { x, l->columns, 1, w->weights, l->columns, y, l->rows, n, l->rows,
		l->columns, false };
	struct bias_job bias = { .w = w, .y = y, .rows = n, .n = l->rows };

	if (pack)
		train_pack(w, weight, 1, l->columns, l->columns, l->rows, w->weights);
	train_product(w, &p);
	if (l->bias == TRAIN_NONE)
		return;
	bias.bias = train_value(w->m, l->bias) + l->first;
	thread_for(w->jobs, pieces(n, BLOCK_ROWS), add_bias, &bias);
}

void
train_linear_back(const struct train_work *w, const struct train_linear *l, const float *dy, size_t n,
                  float *dx, bool add)
{
	const float *weight = train_value(w->m, l->weight) + l->first * l->columns;
	struct training_product p = { dy, l->rows, 1, w->weights, l->rows, dx, l->columns, n,
		l->columns, l->rows, add };

	train_pack(w, weight, l->columns, 1, l->rows, l->columns, w->weights);
	train_product(w, &p);
}

void
train_linear_gain(const struct train_work *w, const struct train_linear *l, const float *dy,
                  const float *x, size_t n)
{
	struct training_product p = { dy, 1, l->rows, w->inputs, n,
		train_slope(w->m, l->weight) + l->first * l->columns, l->columns, l->rows, l->columns, n,
		true };
	struct bias_job bias = { .w = w, .x = dy, .rows = n, .n = l->rows };

	if (x)
		train_pack(w, x, l->columns, 1, n, l->columns, w->inputs);
	train_product(w, &p);
	if (l->bias == TRAIN_NONE)
		return;
	bias.sum = train_slope(w->m, l->bias) + l->first;
	thread_for(w->jobs, pieces(l->rows, SUM_COLUMNS), add_columns, &bias);
}
