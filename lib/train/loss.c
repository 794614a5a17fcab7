/* loss: the output, and what is learnt, some rows of logits at a time. */
#include <inttypes.h>
#include <string.h>

#include "train/train_parts.h"

/* What a call does with its batch. */
struct call {
	struct train_work *w, *teacher; /* teacher: or NULL */
	const struct train_batch *b;
	const float *given;             /* the teacher's logits, or NULL */
	double alpha, temperature;
	uint64_t counted;               /* that gradients are divided by */
	bool gradient;
	size_t first, n;                /* rows of the chunk */
};

/* ---- proof ---- */

static int
prove_batch(const struct train_work *w, const struct train_batch *b, bool targets, struct err *e)
{
	uint64_t vocabulary = w->m->hyper.vocabulary;
	size_t i;

	if (b->rows == 0 || b->length == 0 || b->length > w->length ||
	    b->rows > w->tokens / b->length)
		return err_set(e, ERR_INVALID, NULL, "a batch of %zu texts of %zu tokens does not fit "
		               "into memory for %zu of %zu", b->rows, b->length, w->rows, w->length);
	for (i = 0; i < b->rows * b->length; i++) {
		uint32_t next = targets ? b->targets[i] : TRAIN_IGNORE;

		if (b->tokens[i] >= vocabulary || (next >= vocabulary && next != TRAIN_IGNORE))
			return err_set(e, ERR_INVALID, NULL, "token %" PRIu32 " is not below the "
			               "vocabulary, %" PRIu64,
			               b->tokens[i] >= vocabulary ? b->tokens[i] : next, vocabulary);
	}
	return 0;
}

static int
prove_goal(const struct call *c, const struct train_goal *g, struct err *e)
{
	if (!(g->alpha >= 0 && g->alpha <= 1) || !(g->temperature > 0 && g->temperature <= 1000))
		return err_set(e, ERR_INVALID, NULL, "alpha must be 0 to 1, and the temperature above 0 "
		               "and at most 1000");
	if (g->alpha > 0 && !g->teacher && !g->logits)
		return err_set(e, ERR_INVALID, NULL, "there is no teacher");
	if (g->teacher && g->teacher->m->hyper.vocabulary != c->w->m->hyper.vocabulary)
		return err_set(e, ERR_INVALID, NULL, "the teacher has a vocabulary of %" PRIu64
		               " tokens, and the model one of %" PRIu64,
		               g->teacher->m->hyper.vocabulary, c->w->m->hyper.vocabulary);
	return g->teacher ? prove_batch(g->teacher, c->b, false, e) : 0;
}

static void
begin(struct train_work *w, const struct train_batch *b)
{
	w->now_rows = b->rows;
	w->now_length = b->length;
	w->n = b->rows * b->length;
	train_forward(w, b);
}

static uint64_t
count(const struct train_batch *b)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < b->rows * b->length; i++)
		n += b->targets[i] != TRAIN_IGNORE;
	return n;
}

/* ---- rows ---- */

static void
loss_row(void *ctx, size_t i)
{
	const struct call *c = ctx;
	struct train_work *w = c->w;
	size_t n = w->m->hyper.vocabulary;
	float *z = w->logits + i * n;
	uint32_t target = c->b->targets[c->first + i];
	struct training_aim aim = { target,
		(float)((1 - c->alpha) / (double)c->counted),
		(float)(c->alpha * c->temperature / (double)c->counted),
		(float)(1 / c->temperature) };
	struct training_loss l = { 0, 0 };

	if (target == TRAIN_IGNORE)
		memset(z, 0, n * sizeof *z);
	else
		w->t->loss(z, c->teacher || c->given ? w->teacher + i * n : NULL, n, &aim, c->gradient,
		           &l);
	w->losses[2 * i] = l.hard;
	w->losses[2 * i + 1] = l.soft;
}

/* The logits of the teacher for the chunk. */
static void
ask_teacher(const struct call *c)
{
	const struct train_model *m = c->w->m;
	size_t n = m->hyper.vocabulary;

	if (c->teacher)
		train_linear(c->teacher, &c->teacher->m->ends->out,
		             c->teacher->last.h + c->first * c->teacher->m->hyper.width, c->n,
		             c->w->teacher, c->first == 0);
	else if (c->given)
		memcpy(c->w->teacher, c->given + c->first * n, c->n * n * sizeof(float));
}

/* Gradients of the output and of its input, for the chunk. */
static void
output_back(const struct call *c)
{
	const struct train_work *w = c->w;
	const struct train_linear *out = &w->m->ends->out;
	size_t at = c->first * out->columns;
	struct training_product p = { w->logits, out->rows, 1, w->back_weights, out->rows, w->dh + at,
		out->columns, c->n, out->columns, out->rows, false };

	if (c->first == 0)
		train_pack(w, train_value(w->m, out->weight), out->columns, 1, out->rows,
		           out->columns, w->back_weights);
	train_product(w, &p);
	train_linear_gain(w, out, w->logits, w->last.h + at, c->n);
}

static void
chunk(struct call *c, struct train_loss *loss)
{
	struct train_work *w = c->w;
	const struct train_linear *out = &w->m->ends->out;
	size_t i;

	train_linear(w, out, w->last.h + c->first * out->columns, c->n, w->logits, c->first == 0);
	ask_teacher(c);
	thread_for(w->jobs, c->n, loss_row, c);
	for (i = 0; i < c->n; i++) {
		loss->hard += w->losses[2 * i];
		loss->soft += w->losses[2 * i + 1] * c->temperature * c->temperature;
	}
	if (c->gradient)
		output_back(c);
}

static int
run(struct call *c, const struct train_goal *g, struct train_loss *loss, struct err *e)
{
	struct train_work *w = c->w;

	*loss = (struct train_loss){ 0 };
	if (prove_batch(w, c->b, true, e) < 0 || prove_goal(c, g, e) < 0)
		return -1;
	c->alpha = g->alpha;
	c->temperature = g->temperature;
	c->teacher = g->teacher;
	c->given = g->logits;
	loss->counted = count(c->b);
	c->counted = g->counted ? g->counted : loss->counted;
	if (loss->counted == 0)
		return 0;
	begin(w, c->b);
	if (c->teacher)
		begin(c->teacher, c->b);
	for (c->first = 0; c->first < w->n; c->first += c->n) {
		c->n = w->n - c->first < w->chunk ? w->n - c->first : w->chunk;
		chunk(c, loss);
	}
	loss->total = (1 - c->alpha) * loss->hard + c->alpha * loss->soft;
	if (c->gradient)
		train_backpass(w, c->b);
	return 0;
}

/* ---- calls ---- */

int
train_backward(struct train_work *w, const struct train_batch *b, const struct train_goal *g,
               struct train_loss *loss, struct err *e)
{
	struct call c = { .w = w, .b = b, .gradient = true };

	if (w->flags & TRAIN_FORWARD)
		return err_set(e, ERR_INVALID, NULL, "memory for the way forward cannot hold gradients");
	return run(&c, g, loss, e);
}

int
train_loss(struct train_work *w, const struct train_batch *b, const struct train_goal *g,
           struct train_loss *loss, struct err *e)
{
	struct train_goal hard = { .temperature = 1 };
	struct call c = { .w = w, .b = b };

	return run(&c, g ? g : &hard, loss, e);
}

int
train_logits(struct train_work *w, const struct train_batch *b, float *logits, struct err *e)
{
	if (prove_batch(w, b, false, e) < 0)
		return -1;
	begin(w, b);
	train_linear(w, &w->m->ends->out, w->last.h, w->n, logits, true);
	return 0;
}
