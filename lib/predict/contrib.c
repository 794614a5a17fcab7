#include "predict/contrib.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/walk.h"

#define NO_FEATURE UINT32_MAX

struct contrib {
	double *expected; /* of each tree, width values */
	size_t depth;     /* of the deepest tree */
};

/* A feature on the way from the root: the share of the sets without it, and of those with it, that
 * arrive; weight: of the sets with as many features as its place has before it. */
struct place {
	uint32_t feature;
	double zero, one, weight;
};

/* ---- the list of features on a way ---- */

static void
extend(struct place *way, size_t n, double zero, double one, uint32_t feature)
{
	size_t i;

	way[n] = (struct place){ feature, zero, one, n == 0 };
	for (i = n; i-- > 0; ) {
		way[i + 1].weight += one * way[i].weight * (double)(i + 1) / (double)(n + 1);
		way[i].weight *= zero * (double)(n - i) / (double)(n + 1);
	}
}

/* Takes back what extend did for place k. */
static void
unwind(struct place *way, size_t n, size_t k)
{
	double zero = way[k].zero, one = way[k].one, next = way[n].weight, old;
	size_t i;

	for (i = n; i-- > 0; )
		if (one != 0) {
			old = way[i].weight;
			way[i].weight = next * (double)(n + 1) / ((double)(i + 1) * one);
			next = old - way[i].weight * zero * (double)(n - i) / (double)(n + 1);
		} else {
			way[i].weight *= (double)(n + 1) / (zero * (double)(n - i));
		}
	for (i = k; i < n; i++) {
		way[i].feature = way[i + 1].feature;
		way[i].zero = way[i + 1].zero;
		way[i].one = way[i + 1].one;
	}
}

/* The sum of the weights that unwind would leave. */
static double
unwound(const struct place *way, size_t n, size_t k)
{
	double zero = way[k].zero, one = way[k].one, next = way[n].weight, sum = 0, some;
	size_t i;

	for (i = n; i-- > 0; )
		if (one != 0) {
			some = next * (double)(n + 1) / ((double)(i + 1) * one);
			sum += some;
			next = way[i].weight - some * zero * (double)(n - i) / (double)(n + 1);
		} else {
			sum += way[i].weight / zero * (double)(n + 1) / (double)(n - i);
		}
	return sum;
}

/* ---- one tree ---- */

static bool
is_leaf(const struct forest *f, uint32_t node)
{
	return f->nodes[node].left == node;
}

/* The share of the rows of a node that its child has. Of a node without rows each child has half. */
static double
share(const struct forest *f, uint32_t node, uint32_t child)
{
	return f->covers[node] > 0 ? f->covers[child] / f->covers[node] : 0.5;
}

static const double *
leaf_values(const struct forest *f, uint32_t node)
{
	return f->values + (size_t)f->leaf[node] * f->width;
}

struct visit {
	const struct forest *f;
	const struct forest_tree *tree;
	const double *row;
	double *to;     /* groups x columns */
	size_t columns; /* features and one */
};

static void
take_leaf(const struct visit *v, uint32_t node, const struct place *way, size_t n)
{
	const double *value = leaf_values(v->f, node);
	size_t i, k;

	for (i = 1; i <= n; i++) {
		double w = unwound(way, n, i) * (way[i].one - way[i].zero);

		for (k = 0; k < v->f->width; k++)
			v->to[(k + (v->f->width == 1 ? v->tree->group : 0)) * v->columns + way[i].feature] +=
				w * value[k];
	}
}

/* Visits a node and those below it. before: the list of its parent, of n features; this one's follows. */
static void
descend(const struct visit *v, uint32_t node, struct place *before, size_t n, double zero,
        double one, uint32_t feature)
{
	const struct forest_node *x = &v->f->nodes[node];
	struct place *way = before + n;
	uint32_t hot, cold, by = x->word & WALK_FEATURE;
	double zeros = 1, ones = 1;
	size_t k;

	if (zero == 0 && one == 0)
		return;
	memcpy(way, before, n * sizeof *way);
	extend(way, n, zero, one, feature);
	if (is_leaf(v->f, node)) {
		take_leaf(v, node, way, n);
		return;
	}
	hot = walk_step(v->f, x, v->row);
	cold = hot == x->left ? x->left + 1 : x->left;
	for (k = 1; k <= n && way[k].feature != by; k++)
		;
	if (k <= n) {
		zeros = way[k].zero;
		ones = way[k].one;
		unwind(way, n--, k);
	}
	descend(v, hot, way, n + 1, zeros * share(v->f, node, hot), ones, by);
	descend(v, cold, way, n + 1, zeros * share(v->f, node, cold), 0, by);
}

/* What a tree predicts on average, from a node on that this share of the rows reaches. */
static void
expect(const struct forest *f, uint32_t node, double part, double *to)
{
	uint32_t left = f->nodes[node].left;
	size_t k;

	if (is_leaf(f, node)) {
		for (k = 0; k < f->width; k++)
			to[k] += part * leaf_values(f, node)[k];
		return;
	}
	expect(f, left, part * share(f, node, left), to);
	expect(f, left + 1, part * share(f, node, left + 1), to);
}

/* ---- rows ---- */

size_t
contrib_columns(const struct predictor *m)
{
	return m->outputs * (m->inner + 1);
}

/* As the sums of walk.c end. */
static void
finish(const struct forest *f, size_t columns, double *to)
{
	size_t i, k, each = f->width == 1 ? f->tree_count / f->groups : f->tree_count;

	for (k = 0; k < f->groups; k++, to += columns) {
		for (i = 0; f->average && !f->sums && each && i < columns; i++)
			to[i] /= (double)each;
		for (i = 0; f->scaled && i < columns; i++)
			to[i] *= f->scale;
		to[columns - 1] += f->scaled ? f->bias[k] : 0;
	}
}

static void
tree_row(const struct predictor *m, const double *row, struct place *way, double *to)
{
	const struct forest *f = &m->forest;
	struct visit v = { .f = f, .row = row, .to = to, .columns = m->inner + 1 };
	size_t i, k;

	for (k = 0; k < f->groups; k++)
		to[k * v.columns + m->inner] = f->base[k];
	for (i = 0; i < f->tree_count; i++) {
		v.tree = &f->trees[i];
		descend(&v, v.tree->root, way, 0, 1, 1, NO_FEATURE);
		for (k = 0; k < f->width; k++)
			to[(k + (f->width == 1 ? v.tree->group : 0)) * v.columns + m->inner] +=
				m->contrib->expected[i * f->width + k];
	}
	finish(f, v.columns, to);
}

static void
linear_row(const struct predictor *m, const double *row, double *to)
{
	size_t i, k;

	for (k = 0; k < m->outputs; k++, to += m->inner + 1) {
		const double *w = m->linear.weights + k * m->inner;

		for (i = 0; i < m->inner; i++)
			to[i] = m->linear.skips && isnan(row[i]) ? 0
			        : m->single ? (double)((float)row[i] * (float)w[i]) : row[i] * w[i];
		to[m->inner] = m->linear.bias[k];
	}
}

int
contrib_block(const struct predictor *m, struct step_rows *x, struct step_rows *spare, double *to,
              struct err *e)
{
	size_t i, k, depth = m->contrib->depth + 2;
	struct place *way = mem_array(depth * (depth + 1) / 2, sizeof *way);
	int r = way ? 0 : err_memory(e);

	if (r == 0 && (step_chain(m->steps, m->step_count, x, spare, e) < 0 ||
	               step_rows_dense(x, spare, e) < 0))
		r = -1;
	for (i = 0; r == 0 && i < x->n; i++, to += contrib_columns(m)) {
		double *row = step_row(x, i);

		for (k = 0; m->rounds && k < m->inner; k++)
			row[k] = (double)(float)row[k];
		memset(to, 0, contrib_columns(m) * sizeof *to);
		if (m->form == PREDICT_LINEAR)
			linear_row(m, row, to);
		else
			tree_row(m, row, way, to);
	}
	free(way);
	return r;
}

/* ---- before the first row ---- */

static int
refuse(struct err *e, const char *why)
{
	return err_set(e, ERR_USAGE, NULL, "--contrib: %s", why);
}

/* Each value behind these steps is made of the one at its place before them. */
static bool
keeps_features(const struct step *s)
{
	return s->in == s->out && (s->kind == &step_shift || s->kind == &step_stretch ||
	                           s->kind == &step_binarize || s->kind == &step_impute);
}

/* Takes the work below a node, at this depth, from what is left; false: more is needed. features: the
 * maximum length of the list. */
static bool
afford(const struct forest *f, uint32_t node, size_t depth, size_t features, uint64_t *left)
{
	uint64_t n = depth < features ? depth : features;
	uint64_t work = 1 + n + (is_leaf(f, node) ? n * (n + f->width) : 0);

	if (work > *left)
		return false;
	*left -= work;
	return is_leaf(f, node) || (afford(f, f->nodes[node].left, depth + 1, features, left) &&
	                            afford(f, f->nodes[node].left + 1, depth + 1, features, left));
}

static int
allow_work(const struct predictor *m, struct err *e)
{
	uint64_t left = CONTRIB_WORK;
	size_t i;

	for (i = 0; i < predict_trees(m); i++)
		if (!afford(&m->forest, m->forest.trees[i].root, 0, m->inner, &left))
			return err_set(e, ERR_USAGE, NULL, "--contrib: the trees are so deep that a row needs more "
			               "than %" PRIu64 " steps of work", (uint64_t)CONTRIB_WORK);
	return 0;
}

static int
allow(const struct predictor *m, struct err *e)
{
	size_t i;

	if (m->form != PREDICT_TREES && m->form != PREDICT_LINEAR)
		return refuse(e, "the model is neither of trees nor linear");
	for (i = 0; i < m->step_count; i++)
		if (!keeps_features(&m->steps[i]))
			return refuse(e, "a step in front of the model mixes features");
	if (m->form == PREDICT_TREES && m->forest.lines)
		return refuse(e, "the trees have linear leaves");
	if (m->form == PREDICT_TREES && m->forest.tree_count && m->forest.uncovered)
		return refuse(e, "the trees lack covers, the numbers of rows that reached each node in training");
	for (i = 0; i < predict_trees(m); i++)
		if (m->forest.trees[i].depth > CONTRIB_DEPTH)
			return err_set(e, ERR_USAGE, NULL, "--contrib: tree %zu has %u levels, more than %u", i,
			               m->forest.trees[i].depth, CONTRIB_DEPTH);
	if (m->inner + 1 > CONTRIB_COLUMNS / m->outputs)
		return refuse(e, "the model has too many features and outputs");
	return allow_work(m, e);
}

int
contrib_begin(struct predictor *m, struct err *e)
{
	const struct forest *f = &m->forest;
	struct contrib *c;
	size_t i;

	if (allow(m, e) < 0)
		return -1;
	contrib_free(m->contrib);
	m->contrib = c = mem_array(1, sizeof *c);
	if (c)
		c->expected = mem_array(predict_trees(m) * f->width + 1, sizeof *c->expected);
	if (!c || !c->expected)
		return err_memory(e);
	for (i = 0; i < predict_trees(m); i++) {
		c->depth = f->trees[i].depth > c->depth ? f->trees[i].depth : c->depth;
		expect(f, f->trees[i].root, 1, c->expected + i * f->width);
	}
	return 0;
}

void
contrib_free(struct contrib *c)
{
	if (c)
		free(c->expected);
	free(c);
}
