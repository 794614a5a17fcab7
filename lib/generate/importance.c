#include "generate/importance.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/thread.h"
#include "generate/extremes.h"
#include "infer/round8.h"
#include "infer/watch.h"
#include "kernels/numbers.h"

#define COLUMNS 64   /* that one thread adds at a time */
#define ROUNDED 2048 /* tokens that see the same rounded weights */

/* The sums of one role of one block. */
struct sums {
	struct linear_id id;   /* of its first matrix */
	double *values;        /* matrices × columns; NULL: not used so far */
	uint64_t *counts;      /* matrices */
	float *extremes;       /* for ranges: matrices × columns × depth; else NULL */
	size_t columns, matrices;
};

struct gathering {
	struct infer *model;
	const struct importance_options *o;
	struct sums *all;      /* blocks × ROLES; roles without blocks are in block 0 */
	size_t n;
	double *squares;       /* of one input */
	size_t room;
	size_t depth;          /* magnitudes that are kept of a column; 0: sums */
	const struct watched *w;
	struct sums *into[WATCHED];
	struct err *e;
};

/* ---- sums ---- */

static bool
is_of_experts(enum role role)
{
	return role == ROLE_GATE_EXPS || role == ROLE_UP_EXPS || role == ROLE_DOWN_EXPS;
}

static bool
is_wanted(const struct gathering *g, enum role role)
{
	return role == ROLE_OUT ? g->o->output : role != ROLE_EMBED;
}

static struct sums *
sums_of(struct gathering *g, const struct linear_id *id, size_t columns)
{
	struct sums *s = &g->all[id->block * ROLES + id->role];

	if (s->values)
		return s;
	s->id = *id;
	s->columns = columns;
	s->matrices = is_of_experts(id->role) ? infer_experts(g->model) : 1;
	s->values = mem_array(s->matrices, columns * sizeof *s->values);
	s->counts = mem_array(s->matrices, sizeof *s->counts);
	if (g->depth)
		s->extremes = mem_array(s->matrices * columns, g->depth * sizeof *s->extremes);
	if (s->values && s->counts && (s->extremes || !g->depth))
		return s;
	err_memory(g->e);
	return NULL;
}

/* The sums of squares of some columns. */
static void
square(void *ctx, size_t i)
{
	const struct gathering *g = ctx;
	const struct watched *w = g->w;
	const size_t first = i * COLUMNS, n = num_min(COLUMNS, w->columns - first);
	double *to = g->squares + first;
	size_t r;

	memset(to, 0, n * sizeof *to);
	for (r = 0; r < w->n; r++)
		numbers->squares(w->x + r * w->columns + first, to, n);
}

static size_t
matrix_of(const struct sums *s, const struct linear_id *id)
{
	return s->matrices > 1 ? id->expert : 0;
}

/* The magnitudes of some columns. */
static void
keep(void *ctx, size_t i)
{
	const struct gathering *g = ctx;
	const struct watched *w = g->w;
	const size_t first = i * COLUMNS, end = num_min(first + COLUMNS, w->columns);
	size_t k, r, c;

	for (k = 0; k < w->count; k++) {
		float *to = g->into[k]->extremes +
		            matrix_of(g->into[k], &w->layer[k]) * w->columns * g->depth;

		for (r = 0; r < w->n; r++)
			for (c = first; c < end; c++)
				extremes_add(to + c * g->depth, g->depth, w->x[r * w->columns + c]);
	}
}

static void
add_sums(const struct gathering *g, const struct watched *w)
{
	size_t i, c;

	for (i = 0; i < w->count; i++) {
		double *to = g->into[i]->values + matrix_of(g->into[i], &w->layer[i]) * w->columns;

		for (c = 0; c < w->columns; c++)
			to[c] += g->squares[c];
	}
}

static void
add_input(void *ctx, const struct watched *w)
{
	struct gathering *g = ctx;
	size_t i;

	if (g->e->code != ERR_NONE || !is_wanted(g, w->layer[0].role))
		return;
	if (mem_grow(&g->squares, &g->room, w->columns, sizeof *g->squares) < 0) {
		err_memory(g->e);
		return;
	}
	for (i = 0; i < w->count; i++) {
		g->into[i] = sums_of(g, &w->layer[i], w->columns);
		if (!g->into[i])
			return;
		g->into[i]->counts[matrix_of(g->into[i], &w->layer[i])] += w->n;
	}
	g->w = w;
	thread_for(g->o->threads, (w->columns + COLUMNS - 1) / COLUMNS, g->depth ? keep : square, g);
	if (!g->depth)
		add_sums(g, w);
}

/* ---- the result ---- */

/* The sum of column k of s, or what stands for it. */
static double
sum_of(const struct gathering *g, const struct sums *s, size_t k)
{
	const uint64_t n = s->counts[k / s->columns];
	double range;

	if (!g->depth)
		return s->values[k];
	range = extremes_range(s->extremes + k * g->depth, g->depth, n, g->o->percentile);
	return range * range * (double)n;
}

static int
put_sums(const struct gathering *g, const struct sums *s, struct imatrix *m)
{
	char name[WATCH_NAME];
	struct imatrix_entry *x = imatrix_add(m, infer_weight_name(g->model, &s->id, name),
	                                      s->columns, s->matrices, g->e);
	size_t k;

	if (!x)
		return -1;
	for (k = 0; k < x->n; k++) {
		x->values[k] = (float)sum_of(g, s, k);
		if (!isfinite(x->values[k]))
			return err_set(g->e, ERR_INVALID, name, "its input %zu is not finite, or too large",
			               k % s->columns);
	}
	for (k = 0; k < x->count_n; k++)
		x->counts[k] = (float)s->counts[k];
	return 0;
}

static int
put_all(const struct gathering *g, struct imatrix *m)
{
	size_t i;

	for (i = 0; i < g->n; i++)
		if (g->all[i].values && put_sums(g, &g->all[i], m) < 0)
			return -1;
	imatrix_sort(m);
	return 0;
}

/* ---- the text ---- */

static int
ignore(void *ctx, size_t position, const float *logits, struct err *e)
{
	(void)ctx;
	(void)position;
	(void)logits;
	(void)e;
	return 0;
}

uint64_t
importance_parts(const struct infer *model, uint64_t tokens, const struct importance_options *o)
{
	const uint64_t all = tokens / infer_context(model);
	const uint64_t left = all > o->first ? all - o->first : 0;

	return o->count ? num_min(o->count, left) : left;
}

/* Round the weights for part i, if not already done for one before it. */
static int
round_for(const struct gathering *g, uint64_t i, uint64_t *turn)
{
	const uint64_t now = (g->o->first + i) * infer_context(g->model) / ROUNDED;

	if (!g->o->fast || (i > 0 && now == *turn))
		return 0;
	*turn = now;
	return infer_round8(g->model, (uint32_t)now, g->e);
}

static int
read_parts(const struct gathering *g, struct sequence *sequence, uint32_t bos,
           const struct tokens *text, uint64_t parts, void (*part)(void *ctx, uint64_t done),
           void *ctx)
{
	const size_t context = infer_context(g->model);
	uint32_t *tokens = mem_array(context, sizeof *tokens);
	uint64_t i, turn = 0;
	int r = tokens ? 0 : err_memory(g->e);

	for (i = 0; r == 0 && i < parts; i++) {
		memcpy(tokens, text->id + (g->o->first + i) * context, context * sizeof *tokens);
		if (bos != TOKEN_NONE)
			tokens[0] = bos;
		r = round_for(g, i, &turn);
		if (r == 0)
			r = sequence_eval(sequence, 0, tokens, context,
			                  g->o->output ? SEQUENCE_ALL : SEQUENCE_NONE, ignore, NULL, g->e);
		if (g->e->code != ERR_NONE)
			r = -1;
		if (r == 0 && part)
			part(ctx, i + 1);
	}
	free(tokens);
	return r;
}

int
importance_of(struct infer *model, struct sequence *sequence, const struct tokenizer *tokenizer,
              const struct tokens *text, const struct importance_options *o, struct imatrix *m,
              void (*part)(void *ctx, uint64_t done), void *ctx, struct err *e)
{
	const uint32_t bos = tokenizer_adds_bos(tokenizer) ? tokenizer_role(tokenizer, TOKENIZER_BOS)
	                                                   : TOKEN_NONE;
	struct gathering g = { .model = model, .o = o, .n = infer_blocks(model) * ROLES, .e = e };
	const uint64_t parts = importance_parts(model, text->n, o);
	size_t i;
	int r = -1;

	if (parts == 0) {
		err_set(e, ERR_INVALID, NULL, "the text has %zu tokens, fewer than %s context of %zu",
		        text->n, o->first ? "the parts left out and one" : "one", infer_context(model));
		return err_hint(e, "give a longer text, or a smaller context with --context");
	}
	g.depth = o->percentile > 0 ? extremes_depth(parts * infer_context(model), o->percentile) : 0;
	g.all = mem_array(g.n, sizeof *g.all);
	if (!g.all)
		err_memory(e);
	else if (infer_watch(model, add_input, &g, e) == 0)
		r = read_parts(&g, sequence, bos, text, parts, part, ctx);
	infer_watch(model, NULL, NULL, e);
	if (r == 0)
		r = put_all(&g, m);
	for (i = 0; g.all && i < g.n; i++) {
		free(g.all[i].values);
		free(g.all[i].counts);
		free(g.all[i].extremes);
	}
	free(g.all);
	free(g.squares);
	m->chunks = parts;
	m->chunk_tokens = infer_context(model);
	return r;
}
