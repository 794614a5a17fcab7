/* Linear layers: rows of weights of any type times rows of activations. An evaluation spends
 * most of its time here.
 *
 * Each value of a result is computed in one order, so it depends neither on the rows beside it
 * nor on threads; with fewer than DOT_MANY rows of activations the order is another one.
 */

#include <stdatomic.h>
#include <time.h>

#include "core/thread.h"
#include "infer/cpu/ahead.h"
#include "infer/cpu/cpu.h"
#include "kernels/dot.h"

#define ROWS 16   /* a task has a multiple of this many rows; */
#define PANEL 64  /* this many if there is more than one token */
#define SHARES 4  /* tasks of each thread for one token: few, so that each reads far on */
#define LARGE_BYTES (1u << 20) /* smaller products are not worth timing */
#define LESS 4    /* tasks of the last quarter are this many times smaller, so that all
                   * threads end at about the same time */

#define LANES 16

static float
dot(const float *a, const float *b, size_t n)
{
	float lane[LANES] = { 0 };
	size_t i, k, half;

	for (i = 0; i + LANES <= n; i += LANES)
		for (k = 0; k < LANES; k++)
			lane[k] += a[i + k] * b[i + k];
	for (k = 0; i < n; i++, k++)
		lane[k] += a[i] * b[i];
	for (half = LANES / 2; half; half /= 2)
		for (k = 0; k < half; k++)
			lane[k] += lane[k + half];
	return lane[0];
}

void
cpu_dots(struct device *d, struct values x, const float *w, size_t n, size_t width,
         struct values y)
{
	size_t i;

	(void)d;
	for (i = 0; i < n; i++)
		cpu_floats(y)[i] = dot(w, cpu_floats(x) + i * width, width);
}

/* The tasks of one product: `large` tasks of `rows` rows, then tasks of `less` rows. */
struct cut {
	const struct matrix *w;
	float *y;
	size_t leading; /* values of a row of y */
	size_t rows, less, large, tasks;
};

enum { CUTS = 3 }; /* products at a time */

struct task {
	struct cut cut[CUTS];
	size_t tasks;
	const struct input *in;
	const struct activation *form; /* of the activations in room, */
	size_t bytes;                  /* and the size of a row there */
	uint8_t *room;
};

size_t
cpu_input_bytes(const struct matrix *w)
{
	return dot_activation(w->type, w->columns)->bytes(w->columns);
}

static void
one_input(void *ctx, size_t i)
{
	const struct task *t = ctx;
	const struct input *in = t->in;
	const float *x = cpu_floats(in->x) + i * in->columns;
	uint8_t *to = t->room + i * t->bytes;

	if (in->norm)
		dot_rms_quantize(t->form, x, in->norm->weight, in->norm->eps, to, in->columns);
	else
		dot_quantize(t->form, x, to, in->columns);
}

/* A row of activations for these types begins with its floats (kernels/common/rows.h). */
static void
thin_rows(const struct task *t, const struct cut *c, size_t first, size_t count)
{
	size_t i;

	for (i = 0; i < t->in->n; i++)
		thin_product(c->w->thin, first, count, (const float *)(const void *)(t->room + i * t->bytes),
		             c->y + i * c->leading + first);
}

static void
some_rows(void *ctx, size_t i)
{
	const struct task *t = ctx;
	const struct cut *c = t->cut;
	const struct matrix *m;
	size_t first, count;

	for (; i >= c->tasks; c++)
		i -= c->tasks;
	m = c->w;
	first = i < c->large ? i * c->rows : c->large * c->rows + (i - c->large) * c->less;
	count = i < c->large ? c->rows : c->less;
	count = m->rows - first < count ? m->rows - first : count;
	if (m->thin)
		thin_rows(t, c, first, count);
	else
		dot_product(&(struct dot_weights){ m->type, m->head, m->data, m->rows, m->columns,
		                                   m->packed },
		            first, count, t->room, t->in->n, c->y + first, c->leading);
}

static size_t
whole(size_t rows, size_t parts)
{
	return (rows + parts * ROWS - 1) / (parts * ROWS) * ROWS;
}

/* Cut count products, which have `all` rows together, into tasks. */
static void
cut(struct task *t, const struct product *p, size_t count, size_t all, unsigned threads)
{
	size_t i, left;

	t->tasks = 0;
	for (i = 0; i < count; i++) {
		struct cut *c = &t->cut[i];

		c->w = &p[i].layer->w;
		c->y = cpu_floats(p[i].y);
		c->leading = c->w->rows;
		c->rows = t->in->n > 1 ? PANEL : whole(all, threads ? SHARES * (size_t)threads : 1);
		c->less = t->in->n > 1 ? PANEL : whole(c->rows, LESS);
		c->large = c->w->rows / LESS * (LESS - 1) / c->rows;
		left = c->w->rows - c->large * c->rows;
		c->tasks = c->large + (left + c->less - 1) / c->less;
		t->tasks += c->tasks;
	}
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Products of one row with more weights than a cache holds are timed until the best distance
 * to prefetch weights is known. */
static void
run(struct task *t, size_t bytes, unsigned threads)
{
	static struct ahead ahead;
	static atomic_flag busy = ATOMIC_FLAG_INIT;
	static atomic_bool done;
	double began;

	if (t->in->n > 1 || bytes < LARGE_BYTES || done || atomic_flag_test_and_set(&busy)) {
		thread_for(threads, t->tasks, some_rows, t);
		return;
	}
	dot_ahead(ahead_bytes(&ahead));
	began = now();
	thread_for(threads, t->tasks, some_rows, t);
	if (!ahead_done(&ahead))
		ahead_took(&ahead, (now() - began) / (double)bytes);
	dot_ahead(ahead_bytes(&ahead));
	done = ahead_done(&ahead);
	atomic_flag_clear(&busy);
}

static bool
expands(const struct input *in, const struct product *p)
{
	return p->layer->w.thin && in->n >= DOT_MANY;
}

/* Many rows of activations times a thin matrix, whose rows are expanded some at a time. */
static void
expand(struct device *d, struct task *t, const struct product *p)
{
	const struct matrix *m = &p->layer->w;
	size_t first;
	struct matrix part;

	for (first = 0; first < m->rows; first += part.rows) {
		part = thin_expand(&d->thin, m, first);
		t->tasks = (part.rows + PANEL - 1) / PANEL;
		t->cut[0] = (struct cut){ &part, cpu_floats(p->y) + first, m->rows, PANEL, PANEL, t->tasks,
			t->tasks };
		thread_for(d->threads, t->tasks, some_rows, t);
	}
}

/* Multiply: the activations are brought into the form that the weights need, once for all
 * products in a row that need the same one. */
static void
multiply(struct device *d, const struct input *in, const struct product *p, size_t count)
{
	struct task t = { .in = in, .room = d->inputs };
	size_t all, bytes, some;

	for (; count > 0; count -= some, p += some) {
		const struct matrix *w = &p->layer->w;
		const struct activation *form = dot_activation(w->type, w->columns);

		for (some = all = bytes = 0; some < count && some < CUTS; some++) {
			w = &p[some].layer->w;
			if (dot_activation(w->type, w->columns) != form ||
			    expands(in, &p[some]) != expands(in, p))
				break;
			all += w->rows;
			bytes += matrix_bytes(w);
		}
		if (t.form != form) {
			t.form = form;
			t.bytes = form->bytes(in->columns);
			thread_for(d->threads, in->n, one_input, &t);
		}
		if (expands(in, p)) {
			for (all = 0; all < some; all++)
				expand(d, &t, &p[all]);
			continue;
		}
		cut(&t, p, some, all, d->threads);
		run(&t, bytes, d->threads);
	}
}

/* Scale and bias. */
static void
finish(const struct linear *l, float *y, size_t n)
{
	size_t i, k;

	for (i = 0; l->scale && i < n * l->w.rows; i++)
		y[i] *= *l->scale;
	for (i = 0; l->bias && i < n; i++)
		for (k = 0; k < l->w.rows; k++)
			y[i * l->w.rows + k] += l->bias[k];
}

void
cpu_linear(struct device *d, const struct input *in, const struct product *p, size_t count)
{
	size_t i;

	multiply(d, in, p, count);
	for (i = 0; i < count; i++)
		finish(p[i].layer, cpu_floats(p[i].y), in->n);
}
