#include "predict/boost/xgboost.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/decimal.h"
#include "predict/doc.h"
#include "predict/forest_order.h"

/* ---- objectives ---- */

static const struct {
	const char *name;
	enum predict_task task;
	enum predict_link link;
} objectives[] = {
	{ "binary:logistic", PREDICT_BINARY, LINK_SIGMOID },
	{ "binary:logitraw", PREDICT_BINARY, LINK_SIGMOID },
	{ "binary:hinge", PREDICT_BINARY, LINK_HINGE },
	{ "multi:softmax", PREDICT_CLASSES, LINK_SOFTMAX },
	{ "multi:softprob", PREDICT_CLASSES, LINK_SOFTMAX },
	{ "reg:logistic", PREDICT_VALUE, LINK_SIGMOID },
	{ "reg:gamma", PREDICT_VALUE, LINK_EXP },
	{ "reg:tweedie", PREDICT_VALUE, LINK_EXP },
	{ "count:poisson", PREDICT_VALUE, LINK_EXP },
	{ "survival:cox", PREDICT_VALUE, LINK_EXP },
	{ "survival:aft", PREDICT_VALUE, LINK_EXP },
	{ "reg:squarederror", PREDICT_VALUE, LINK_NONE },
	{ "reg:linear", PREDICT_VALUE, LINK_NONE },
	{ "reg:squaredlogerror", PREDICT_VALUE, LINK_NONE },
	{ "reg:pseudohubererror", PREDICT_VALUE, LINK_NONE },
	{ "reg:absoluteerror", PREDICT_VALUE, LINK_NONE },
	{ "reg:quantileerror", PREDICT_VALUE, LINK_NONE },
	{ "rank:pairwise", PREDICT_VALUE, LINK_NONE },
	{ "rank:ndcg", PREDICT_VALUE, LINK_NONE },
	{ "rank:map", PREDICT_VALUE, LINK_NONE },
};

/* The score that stands for a prediction: the inverse of the link, in single precision. */
static double
margin(enum predict_link link, bool raw, float base)
{
	if (link == LINK_SIGMOID && !raw)
		return (double)-logf(1.0f / base - 1.0f);
	if (link == LINK_EXP)
		return (double)logf(base);
	return (double)base;
}

int
xgboost_objective(struct predictor *m, const char *objective, const float *base,
                  const char *where, struct err *e)
{
	bool raw = strcmp(objective, "binary:logitraw") == 0;
	size_t i, k;

	for (i = 0; i < sizeof objectives / sizeof *objectives; i++)
		if (strcmp(objectives[i].name, objective) == 0)
			break;
	if (i == sizeof objectives / sizeof *objectives)
		return err_set(e, ERR_FORMAT, where, "the objective %s is not known here", objective);
	/* Several targets of two classes each are values: the probability of each. */
	m->task = objectives[i].task == PREDICT_BINARY && m->outputs > 1 ? PREDICT_VALUE : objectives[i].task;
	m->link = raw && m->outputs > 1 ? LINK_NONE : objectives[i].link;
	m->sharpness = 1;
	if (m->link == LINK_SIGMOID && !raw && !(base[0] > 0 && base[0] < 1))
		return err_set(e, ERR_CORRUPT, where, "the base score %g is not between 0 and 1",
		               (double)base[0]);
	for (k = 0; k < m->outputs; k++)
		m->forest.base[k] = margin(m->link, raw, base[k]);
	return 0;
}

/* ---- trees and weights, in both forms ---- */

int
xgboost_begin(struct predictor *m, struct err *e)
{
	m->kind = "gradient boosting of XGBoost";
	m->rounds = m->single = true;
	m->absent = ABSENT_MISSING;
	if (forest_begin(&m->forest, FOREST_FEATURES, 1, 1, e) < 0)
		return -1;
	m->forest.single = true;
	return 0;
}

int
xgboost_linear(struct predictor *m, float (*at)(const void *weights, size_t i),
               const void *weights, struct err *e)
{
	size_t i, k, n = m->features, groups = m->outputs;

	m->form = PREDICT_LINEAR;
	m->kind = "linear boosting of XGBoost";
	m->linear.skips = true;
	m->linear.weights = mem_array(n * groups, sizeof(double));
	m->linear.bias = mem_array(groups, sizeof(double));
	if (!m->linear.weights || !m->linear.bias)
		return err_memory(e);
	for (k = 0; k < groups; k++) {
		for (i = 0; i < n; i++)
			m->linear.weights[k * n + i] = (double)at(weights, i * groups + k);
		m->linear.bias[k] = (double)(at(weights, n * groups + k) + (float)m->forest.base[k]);
	}
	return 0;
}

/* ---- the document ---- */

/* Arrays of a tree, as doubles. */
enum field {
	LEFT, RIGHT, INDICES, CONDITIONS, DEFAULT, SPLIT_TYPE, COVERS,
	CATEGORIES, CATEGORY_NODES, CATEGORY_SEGMENTS, CATEGORY_SIZES, FIELDS
};
static const char *const fields[FIELDS] = {
	"left_children", "right_children", "split_indices", "split_conditions", "default_left",
	"split_type", "sum_hessian", "categories", "categories_nodes", "categories_segments",
	"categories_sizes"
};

struct xgboost {
	struct predictor *m;
	struct doc *d;
	const char *where;
	struct err *e;
	char objective[64], booster[32];
	double features, classes, targets, leaf_size;
	struct buf base;      /* doubles */
	struct buf field[FIELDS];
	struct buf info;      /* doubles: group of each tree */
	struct buf drop;      /* doubles: weights of DART */
	struct buf weights;   /* doubles, of gblinear */
	struct tree tree;
	size_t sets;          /* words of the sets of all trees */
};

static inline double
at(const struct buf *b, size_t i)
{
	double v;

	memcpy(&v, b->p + i * sizeof v, sizeof v);
	return v;
}

static size_t
length(const struct buf *b)
{
	return b->n / sizeof(double);
}

static inline bool
whole(double v, double limit)
{
	return v >= 0 && v < limit && v == (double)(int64_t)v;
}

/* The categories of the k-th entry become a set; the node goes right if it has one of them. */
static int
set_of(struct xgboost *x, struct tree *t, size_t k, struct tree_node *node)
{
	const struct buf *f = x->field;
	double from = at(&f[CATEGORY_SEGMENTS], k), n = at(&f[CATEGORY_SIZES], k), c, most = 0;
	size_t i, all = length(&f[CATEGORIES]);
	uint32_t *set;

	if (!whole(from, (double)all + 1) || !whole(n, (double)all - from + 1))
		return err_set(x->e, ERR_CORRUPT, x->where, "categories lie outside their list");
	for (i = (size_t)from; i < (size_t)(from + n); i++) {
		c = at(&f[CATEGORIES], i);
		if (!whole(c, 1 << 24))
			return err_set(x->e, ERR_CORRUPT, x->where, "a category is %g", c);
		most = c > most ? c : most;
	}
	node->set = t->sets.n / 4;
	node->set_words = (size_t)most / 32 + 1;
	if (forest_sets(x->sets, node->set_words, x->where, x->e) < 0)
		return -1;
	x->sets += node->set_words;
	buf_zeros(&t->sets, node->set_words * 4);
	if (!buf_ok(&t->sets))
		return err_memory(x->e);
	set = (uint32_t *)(void *)t->sets.p + node->set;
	for (i = (size_t)from; i < (size_t)(from + n); i++)
		set[(size_t)at(&f[CATEGORIES], i) / 32] |= 1u << ((size_t)at(&f[CATEGORIES], i) & 31);
	return 0;
}

static int
categories(struct xgboost *x, struct tree *t)
{
	const struct buf *f = x->field;
	size_t k, n = length(&f[CATEGORY_NODES]);
	struct tree_node *node;
	uint32_t swap;

	if (length(&f[CATEGORY_SEGMENTS]) != n || length(&f[CATEGORY_SIZES]) != n)
		return err_set(x->e, ERR_CORRUPT, x->where, "the lists of categories differ in length");
	for (k = 0; k < n; k++) {
		if (!whole(at(&f[CATEGORY_NODES], k), (double)t->count))
			return err_set(x->e, ERR_CORRUPT, x->where, "categories of a node that is not there");
		node = &t->nodes[(size_t)at(&f[CATEGORY_NODES], k)];
		if (!node->category || node->set_words)
			return err_set(x->e, ERR_CORRUPT, x->where,
			               "categories of a node that does not split by them, or twice");
		if (set_of(x, t, k, node) < 0)
			return -1;
		/* The categories of the list go right here, and left in struct tree_node. */
		swap = node->left;
		node->left = node->right;
		node->right = swap;
		node->default_left = !node->default_left;
	}
	return 0;
}

static int
node_of(struct xgboost *x, struct tree *t, size_t i)
{
	const struct buf *f = x->field;
	double left = at(&f[LEFT], i), right = at(&f[RIGHT], i), index = at(&f[INDICES], i);
	double condition = at(&f[CONDITIONS], i);
	bool category = length(&f[SPLIT_TYPE]) && at(&f[SPLIT_TYPE], i) == 1;
	struct tree_node *node = tree_add(t);

	if (!node)
		return err_memory(x->e);
	if (left == -1)
		return tree_leaf(t, node, condition, (uint32_t)i) < 0 ? err_memory(x->e) : 0;
	if (!whole(left, UINT32_MAX) || !whole(right, UINT32_MAX) || (left == 0 && right == 0))
		return err_set(x->e, ERR_CORRUPT, x->where, "node %zu has the children %g and %g", i,
		               left, right);
	if (!whole(index, FOREST_FEATURES))
		return err_set(x->e, ERR_CORRUPT, x->where, "node %zu asks for feature %g", i, index);
	if (isnan(condition) && !category)
		return err_set(x->e, ERR_CORRUPT, x->where, "the threshold of node %zu is NaN", i);
	*node = (struct tree_node){ .feature = (uint32_t)index, .left = (uint32_t)left,
		.right = (uint32_t)right, .missing = FOREST_NAN,
		.default_left = at(&f[DEFAULT], i) != 0, .threshold = forest_below((float)condition),
		.category = category };
	return 0;
}

/* Appends the tree unchanged. False if forest_add has to look at it. */
static bool
append_tree(struct xgboost *x, size_t n)
{
	const struct buf *f = x->field;
	bool types = length(&f[SPLIT_TYPE]) > 0, good = true;
	struct forest_order o;
	struct err e = ERR_INIT;
	size_t i;

	if (x->m->covers || n == 0 || length(&f[CATEGORY_NODES]) || forest_order_begin(&o, &x->m->forest, n, &e) < 0)
		return false;
	for (i = 0; good && i < n; i++) {
		double left = at(&f[LEFT], i), right = at(&f[RIGHT], i), index = at(&f[INDICES], i);
		float condition = (float)at(&f[CONDITIONS], i);

		if (left == -1)
			good = forest_order_leaf(&o, at(&f[CONDITIONS], i), (uint32_t)i);
		else
			good = whole(left, UINT32_MAX) && whole(right, UINT32_MAX) && whole(index, FOREST_FEATURES) &&
			       !(types && at(&f[SPLIT_TYPE], i) == 1) &&
			       forest_order_split(&o, (uint32_t)index, forest_below(condition), at(&f[DEFAULT], i) == 0,
			                          (uint32_t)left, (uint32_t)right);
	}
	good = good && forest_order_end(&o);
	if (!good)
		forest_order_drop(&o);
	return good;
}

/* Builds the tree whose fields have been read. */
static int
build(struct xgboost *x)
{
	size_t i, n = length(&x->field[LEFT]);

	for (i = RIGHT; i <= DEFAULT; i++)
		if (length(&x->field[i]) != n)
			return err_set(x->e, ERR_CORRUPT, x->where, "%s has %zu items, and %s %zu", fields[i],
			               length(&x->field[i]), fields[LEFT], n);
	if (length(&x->field[SPLIT_TYPE]) && length(&x->field[SPLIT_TYPE]) != n)
		return err_set(x->e, ERR_CORRUPT, x->where, "split_type differs in length");
	if (append_tree(x, n))
		return 0;
	tree_clear(&x->tree);
	x->tree.covered = length(&x->field[COVERS]) == n;
	for (i = 0; i < n; i++) {
		if (node_of(x, &x->tree, i) < 0)
			return -1;
		x->tree.nodes[i].cover = x->tree.covered ? at(&x->field[COVERS], i) : 0;
	}
	return categories(x, &x->tree) < 0 ? -1 : forest_add(&x->m->forest, &x->tree, x->where, x->e);
}

/* tree_param: leaves with several values are a form of their own. */
static void
read_tree_param(struct xgboost *x)
{
	struct doc *d = x->d;

	if (!doc_object(d))
		return;
	while (doc_member(d))
		if (!doc_named(d, "size_leaf_vector"))
			doc_skip(d);
		else if (doc_integer(d, 0, PREDICT_OUTPUTS, "size_leaf_vector") > 1)
			doc_fail(d, "trees whose leaves have several values are not read");
}

static void
read_tree(struct xgboost *x)
{
	struct doc *d = x->d;
	size_t i;

	for (i = 0; i < FIELDS; i++)
		buf_clear(&x->field[i]);
	if (!doc_object(d))
		return;
	while (doc_member(d)) {
		for (i = 0; i < FIELDS && (fields[i][0] != d->name[0] || !doc_named(d, fields[i])); i++)
			;
		if (doc_named(d, "tree_param")) {
			read_tree_param(x);
		} else if (i < FIELDS && (i != COVERS || x->m->covers)) {
			buf_clear(&x->field[i]);
			doc_numbers(d, &x->field[i]);
		} else {
			doc_skip(d);
		}
	}
	if (!d->failed && build(x) < 0)
		d->failed = true;
}

/* ---- the objects around the trees ---- */

static void
read_trees(struct xgboost *x)
{
	if (doc_array(x->d))
		while (doc_item(x->d))
			read_tree(x);
}

static void
read_model(struct xgboost *x)
{
	struct doc *d = x->d;

	if (!doc_object(d))
		return;
	while (doc_member(d)) {
		if (doc_named(d, "trees"))
			read_trees(x);
		else if (doc_named(d, "tree_info"))
			doc_numbers(d, &x->info);
		else if (doc_named(d, "weights"))
			doc_numbers(d, &x->weights);
		else
			doc_skip(d);
	}
}

/* gradient_booster: gbtree has a model, dart a gbtree and weights, gblinear a model. */
static void
read_booster(struct xgboost *x)
{
	struct doc *d = x->d;

	if (!doc_object(d))
		return;
	while (doc_member(d)) {
		if (doc_named(d, "model"))
			read_model(x);
		else if (doc_named(d, "gbtree"))
			read_booster(x);
		else if (doc_named(d, "weight_drop"))
			doc_numbers(d, &x->drop);
		else if (doc_named(d, "name"))
			snprintf(x->booster, sizeof x->booster, "%.31s", doc_text(d));
		else
			doc_skip(d);
	}
}

/* base_score is a number, a text, or since 3.1 the text of a list. */
static void
read_base(struct xgboost *x)
{
	const char *p, *end, *from;
	double v;

	buf_clear(&x->base);
	if (doc_kind(x->d) != '"') {
		v = doc_number(x->d);
		buf_put(&x->base, &v, sizeof v);
		return;
	}
	p = doc_text(x->d);
	end = p + strlen(p);
	for (p += *p == '['; p < end && *p != ']'; p += p < end && *p == ',') {
		from = p;
		v = decimal_read(&p, end);
		if (p == from || !isfinite(v) || (p < end && *p != ',' && *p != ']')) {
			doc_fail(x->d, "the base score is not a number");
			return;
		}
		buf_put(&x->base, &v, sizeof v);
	}
}

static void
read_params(struct xgboost *x)
{
	struct doc *d = x->d;

	if (!doc_object(d))
		return;
	while (doc_member(d)) {
		if (doc_named(d, "base_score"))
			read_base(x);
		else if (doc_named(d, "num_class"))
			x->classes = (double)doc_integer(d, 0, PREDICT_OUTPUTS, "num_class");
		else if (doc_named(d, "num_feature"))
			x->features = (double)doc_integer(d, 0, FOREST_FEATURES, "num_feature");
		else if (doc_named(d, "num_target"))
			x->targets = (double)doc_integer(d, 0, PREDICT_OUTPUTS, "num_target");
		else
			doc_skip(d);
	}
}

static void
read_objective(struct xgboost *x)
{
	struct doc *d = x->d;

	if (!doc_object(d))
		return;
	while (doc_member(d))
		if (doc_named(d, "name"))
			snprintf(x->objective, sizeof x->objective, "%.63s", doc_text(d));
		else
			doc_skip(d);
}

static void
read_names(struct xgboost *x)
{
	struct doc *d = x->d;

	if (!doc_array(d))
		return;
	while (doc_item(d)) {
		const char *text = doc_text(d);

		if (!d->failed)
			d->failed = predictor_add_name(x->m, text, strlen(text), x->e) < 0;
	}
}

static void
read_learner(struct xgboost *x)
{
	struct doc *d = x->d;

	if (!doc_object(d))
		return;
	while (doc_member(d)) {
		if (doc_named(d, "learner_model_param"))
			read_params(x);
		else if (doc_named(d, "objective"))
			read_objective(x);
		else if (doc_named(d, "gradient_booster"))
			read_booster(x);
		else if (doc_named(d, "feature_names") && !x->m->names)
			read_names(x);
		else
			doc_skip(d);
	}
}

#define NODE_BYTES 36 /* of a file, at least, if its trees have no lists of categories */

/* ---- from the parts to a model ---- */

/* Gives each tree its output, and multiplies leaves of DART. */
static int
settle(struct xgboost *x, size_t groups)
{
	struct forest *f = &x->m->forest;
	size_t i, n = length(&x->info), drop = length(&x->drop);

	x->m->features = (size_t)x->features;
	x->m->outputs = groups;
	if (n != f->tree_count)
		return err_set(x->e, ERR_CORRUPT, x->where, "tree_info has %zu items for %zu trees", n,
		               f->tree_count);
	if (drop && drop != n)
		return err_set(x->e, ERR_CORRUPT, x->where, "weight_drop has %zu items for %zu trees", drop, n);
	if (forest_settle(f, x->m->features, groups, x->where, x->e) < 0)
		return -1;
	for (i = 0; i < n; i++) {
		if (forest_assign(f, i, at(&x->info, i), x->where, x->e) < 0)
			return -1;
		if (drop)
			forest_weigh(f, i, (float)at(&x->drop, i));
	}
	return 0;
}

static float
weight(const void *weights, size_t i)
{
	return (float)at(weights, i);
}

static int
put_linear(struct xgboost *x)
{
	size_t all = (x->m->features + 1) * x->m->outputs;

	if (length(&x->weights) != all)
		return err_set(x->e, ERR_CORRUPT, x->where, "gblinear has %zu weights, not %zu",
		               length(&x->weights), all);
	return xgboost_linear(x->m, weight, &x->weights, x->e);
}

static int
put_base(struct xgboost *x)
{
	size_t i, n = length(&x->base), groups = x->m->outputs;
	float *base = mem_array(groups, sizeof *base);
	int r;

	if (!base)
		return err_memory(x->e);
	for (i = 0; i < groups; i++)
		base[i] = n == 0 ? 0.5f : (float)at(&x->base, n == groups ? i : 0);
	r = xgboost_objective(x->m, x->objective, base, x->where, x->e);
	free(base);
	return r;
}

static int
assemble(struct xgboost *x)
{
	double groups = x->classes > 1 ? x->classes : x->targets > 1 ? x->targets : 1;

	if (settle(x, (size_t)groups) < 0 || put_base(x) < 0)
		return -1;
	return strcmp(x->booster, "gblinear") == 0 ? put_linear(x) : 0;
}

int
xgboost_read(struct predictor *m, const uint8_t *p, size_t n, const char *where, struct err *e)
{
	struct doc *d = malloc(sizeof *d);
	struct xgboost x = { .m = m, .d = d, .where = where, .e = e };
	size_t i;
	int r = -1;

	/* About as many nodes as the file has, so that no list is moved while it grows. */
	if (!d || xgboost_begin(m, e) < 0 || forest_reserve(&m->forest, n / NODE_BYTES, n / NODE_BYTES / 2, 0, e) < 0) {
		free(d);
		return d ? -1 : err_memory(e);
	}
	/* JSON has a quote, or white space before one, behind the brace; UBJSON a length. */
	doc_begin(d, n > 1 && p[1] != '"' && p[1] != ' ' && p[1] != '\n' && p[1] != '\r' &&
	          p[1] != '\t', p, n, where, e);
	doc_object(d);
	while (!d->failed && doc_member(d))
		if (doc_named(d, "learner"))
			read_learner(&x);
		else
			doc_skip(d);
	if (doc_end(d) == 0)
		r = assemble(&x);
	for (i = 0; i < FIELDS; i++)
		buf_free(&x.field[i]);
	tree_free(&x.tree);
	buf_free(&x.base);
	buf_free(&x.info);
	buf_free(&x.drop);
	buf_free(&x.weights);
	free(d);
	return r;
}
