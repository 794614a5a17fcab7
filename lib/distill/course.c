#include "distill/course.h"

#include <math.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/num.h"

static int
open_work(struct course *c, struct err *e)
{
	const struct course_how *h = &c->how;

	c->work = train_work_open(c->student, h->rows, h->length, 0, h->jobs, 0, e);
	if (!c->work)
		return -1;
	if (!c->teacher)
		return 0;
	c->teaching = train_work_open(c->teacher, h->rows, h->length, TRAIN_FORWARD, h->jobs, 0, e);
	return c->teaching ? 0 : -1;
}

int
course_begin(struct course *c, const struct course_how *how, struct train_model *student,
             struct train_model *teacher, const struct course_text *text,
             const struct course_text *validation, uint32_t bos, struct err *e)
{
	uint64_t tokens;

	*c = (struct course){ .how = *how, .student = student, .teacher = teacher };
	if (order_begin(&c->order, text->tokens, text->n, how->length, bos, how->seed, text->name, e) < 0)
		return -1;
	if (validation && order_begin(&c->measured, validation->tokens, validation->n, how->length, bos,
	                              how->seed, validation->name, e) < 0)
		return -1;
	if (num_mul(how->rows, how->length, &tokens))
		return err_memory(e);
	c->tokens = mem_array((size_t)tokens, sizeof *c->tokens);
	c->targets = mem_array((size_t)tokens, sizeof *c->targets);
	return c->tokens && c->targets ? open_work(c, e) : err_memory(e);
}

void
course_end(struct course *c)
{
	train_work_close(c->work);
	train_work_close(c->teaching);
	order_end(&c->order);
	order_end(&c->measured);
	free(c->tokens);
	free(c->targets);
	*c = (struct course){ .step = 0 };
}

static void
add(struct train_loss *to, const struct train_loss *l)
{
	to->hard += l->hard;
	to->soft += l->soft;
	to->total += l->total;
	to->counted += l->counted;
}

/* ---- a step ---- */

/* The positions that count in all batches of a step. */
static uint64_t
count(struct course *c, uint64_t first)
{
	const size_t tokens = c->how.rows * c->how.length;
	uint64_t n = 0;
	size_t b, i;

	for (b = 0; b < c->how.batches; b++) {
		order_batch(&c->order, first + b * c->how.rows, c->how.rows, c->tokens, c->targets);
		for (i = 0; i < tokens; i++)
			n += c->targets[i] != TRAIN_IGNORE;
	}
	return n;
}

static int
learn(struct course *c, uint64_t first, struct err *e)
{
	const struct course_how *h = &c->how;
	const struct train_batch batch = { c->tokens, c->targets, h->rows, h->length };
	struct train_goal goal = { .alpha = h->alpha, .temperature = h->temperature,
		.teacher = c->teaching, .counted = count(c, first) };
	struct train_loss loss;
	size_t b;

	c->loss = (struct train_loss){ .counted = 0 };
	for (b = 0; b < h->batches; b++) {
		order_batch(&c->order, first + b * h->rows, h->rows, c->tokens, c->targets);
		if (train_backward(c->work, &batch, &goal, &loss, e) < 0)
			return -1;
		add(&c->loss, &loss);
	}
	return 0;
}

int
course_step(struct course *c, struct err *e)
{
	const struct course_how *h = &c->how;
	struct train_adam adam = TRAIN_ADAM;
	uint64_t t = c->step + 1;

	adam.decay = h->decay;
	adam.clip = h->clip;
	adam.rate = c->rate = train_rate(h->rate, COURSE_LEAST * h->rate, h->warm, h->steps, t);
	if (learn(c, c->step * h->rows * h->batches, e) < 0)
		return -1;
	if (train_update(c->student, &adam, t, h->jobs, &c->norm, e) < 0)
		return err_hint(e, "a lower --lr may help");
	c->step = t;
	return 0;
}

/* ---- validation ---- */

int
course_measure(struct course *c, bool teacher, double *loss, struct err *e)
{
	const struct course_how *h = &c->how;
	const uint64_t all = (c->measured.n - 1) / h->length;
	const uint64_t parts = num_min(all, COURSE_MEASURED / h->length ? COURSE_MEASURED / h->length : 1);
	struct train_loss sum = { .counted = 0 }, one;
	uint64_t i;

	for (i = 0; i < parts; i += h->rows) {
		size_t rows = (size_t)num_min(parts - i, h->rows);
		const struct train_batch batch = { c->tokens, c->targets, rows, h->length };

		order_plain(&c->measured, i, rows, c->tokens, c->targets);
		if (train_loss(teacher ? c->teaching : c->work, &batch, NULL, &one, e) < 0)
			return -1;
		add(&sum, &one);
	}
	*loss = sum.counted ? sum.hard / (double)sum.counted : NAN;
	return 0;
}
