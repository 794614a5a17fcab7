#include "predict/readers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/doc.h"
#include "predict/forest_order.h"

#define LEVELS 16 /* of an oblivious tree */
#define NODE_BYTES 16 /* of a file, about: so that no list is moved while it grows */

/* A feature that is a number; nodes refer to it by its place in this list. */
struct feature {
	uint32_t flat;   /* its column */
	bool nan_right;
	char *name;
};

struct catboost {
	struct predictor *m;
	struct doc *d;
	const char *where;
	struct err *e;
	struct feature *features;
	size_t feature_count, feature_cap;
	bool known;          /* the features have been read */
	const uint8_t *later; /* trees in front of them */
	bool oblivious, listed; /* the trees */
	struct tree tree;
	struct buf weights;  /* doubles, of leaves */
	size_t width;        /* values in a leaf; 0: not known yet */
	double scale;
	struct buf bias;     /* doubles */
	char loss[64];
};

/* ---- features ---- */

static void
read_feature(struct catboost *c)
{
	struct doc *d = c->d;
	struct feature *x;
	size_t n = c->feature_count;

	if (mem_grow(&c->features, &c->feature_cap, n + 1, sizeof *c->features) < 0) {
		d->failed = err_memory(c->e) < 0;
		return;
	}
	x = &c->features[c->feature_count++];
	*x = (struct feature){ .flat = (uint32_t)n };
	if (!doc_object(d))
		return;
	while (doc_member(d)) {
		if (doc_named(d, "flat_feature_index")) {
			x->flat = (uint32_t)doc_integer(d, 0, FOREST_FEATURES - 1, "flat_feature_index");
		} else if (doc_named(d, "nan_value_treatment")) {
			x->nan_right = strcmp(doc_text(d), "AsTrue") == 0;
		} else if (doc_named(d, "feature_id") && !x->name) {
			doc_text(d);
			x->name = mem_text(d->text, strlen(d->text));
			d->failed |= !x->name && err_memory(c->e) < 0;
		} else {
			doc_skip(d);
		}
	}
}

static void
read_features(struct catboost *c)
{
	struct doc *d = c->d;

	if (c->known)
		doc_fail(d, "features_info occurs twice");
	c->known = true;
	if (!doc_object(d))
		return;
	while (doc_member(d)) {
		if (!doc_named(d, "float_features")) {
			doc_skip(d);
			continue;
		}
		if (doc_array(d))
			while (doc_item(d))
				read_feature(c);
	}
}

/* Columns that are not numbers have a place in a row, and no split here. */
static int
set_features(struct catboost *c)
{
	struct predictor *m = c->m;
	const char **names;
	size_t i, named = 0;
	int r = 0;

	for (i = 0; i < c->feature_count; i++) {
		m->features = c->features[i].flat >= m->features ? c->features[i].flat + 1 : m->features;
		named += c->features[i].name && *c->features[i].name;
	}
	if (named < m->features || named == 0)
		return 0;
	names = mem_array(m->features, sizeof *names);
	if (!names)
		return err_memory(c->e);
	for (i = 0; i < c->feature_count; i++)
		names[c->features[i].flat] = c->features[i].name;
	for (i = 0; i < m->features && r == 0; i++)
		r = names[i] ? predictor_add_name(m, names[i], strlen(names[i]), c->e)
		    : err_set(c->e, ERR_CORRUPT, c->where, "two features have one column");
	free(names);
	return r;
}

/* ---- trees ---- */

/* A split: the place of its feature and its border. */
static void
read_split(struct catboost *c, struct tree_node *x)
{
	struct doc *d = c->d;
	double border = NAN, index = -1;

	if (!doc_object(d))
		return;
	while (doc_member(d)) {
		if (doc_named(d, "border"))
			border = doc_number(d);
		else if (doc_named(d, "float_feature_index"))
			index = (double)doc_integer(d, 0, FOREST_FEATURES - 1, "float_feature_index");
		else if (doc_named(d, "split_type") && strcmp(doc_text(d), "FloatFeature") != 0)
			doc_fail(d, "splits of the type %s are not read", d->text);
		else if (!doc_named(d, "split_type"))
			doc_skip(d);
	}
	if (!d->failed && (index < 0 || isnan(border)))
		doc_fail(d, "a split has no feature or no border");
	x->feature = index < 0 ? 0 : (uint32_t)index;
	x->threshold = (double)(float)border;
}

/* All leaves have as many values. */
static void
settle_width(struct catboost *c, size_t values, size_t leaves)
{
	size_t width = values / leaves;

	if (width == 0 || values % leaves || width > PREDICT_OUTPUTS || (c->width && c->width != width))
		doc_fail(c->d, "a tree has %zu values for %zu leaves", values, leaves);
	c->width = width;
}

/* The forest begins when the first tree has told how many values a leaf has. */
static int
begin_forest(struct catboost *c)
{
	struct predictor *m = c->m;
	size_t nodes = (size_t)(c->d->end - c->d->begin) / NODE_BYTES;
	struct err unused = ERR_INIT;

	if (m->forest.width)
		return 0;
	if (forest_begin(&m->forest, m->features, c->width, c->width, c->e) < 0)
		return -1;
	if (c->width == 1) /* only sooner than by growing, so that a failure does not matter */
		forest_reserve(&m->forest, nodes, nodes / 2, 0, &unused);
	return 0;
}

/* Adds the tree; its splits refer to the list of features. */
static int
put_tree(struct catboost *c)
{
	struct tree *t = &c->tree;
	size_t i;

	if (begin_forest(c) < 0)
		return -1;
	for (i = 0; i < t->count; i++) {
		struct tree_node *x = &t->nodes[i];

		if (!x->left && !x->right)
			continue;
		if (x->feature >= c->feature_count)
			return err_set(c->e, ERR_CORRUPT, c->where, "a split of tree %zu asks for feature %u, of %zu",
			               c->m->forest.tree_count, x->feature, c->feature_count);
		x->missing = FOREST_NAN;
		x->default_left = !c->features[x->feature].nan_right;
		x->feature = c->features[x->feature].flat;
	}
	return forest_add(&c->m->forest, t, c->where, c->e);
}

/* Appends the nodes of an oblivious tree, which are in breadth-first order. False if forest_add has to
 * look at it. */
static bool
append_oblivious(struct catboost *c, const struct tree_node *splits, size_t depth)
{
	const double *v = (const double *)(const void *)c->tree.values.p;
	size_t i, level, at = 0, leaves = (size_t)1 << depth;
	struct forest_order o;
	struct err e = ERR_INIT;
	bool good = true;

	if (c->width != 1 || c->m->covers || begin_forest(c) < 0 ||
	    forest_order_begin(&o, &c->m->forest, 2 * leaves - 1, &e) < 0)
		return false;
	for (level = 0; level < depth && good; level++) {
		const struct tree_node *x = &splits[depth - 1 - level];
		const struct feature *f = x->feature < c->feature_count ? &c->features[x->feature] : NULL;

		for (i = 0; i < (size_t)1 << level && good; i++, at++)
			good = f && forest_order_split(&o, f->flat, x->threshold, f->nan_right, (uint32_t)(2 * at + 1),
			                               (uint32_t)(2 * at + 2));
	}
	for (i = 0; i < leaves && good; i++)
		good = forest_order_leaf(&o, v[i], (uint32_t)i);
	good = good && forest_order_end(&o);
	if (!good)
		forest_order_drop(&o);
	return good;
}

/* Level by level; the i-th split is bit i of a leaf's number, so the last split is the root. */
static void
put_oblivious(struct catboost *c, const struct tree_node *splits, size_t depth)
{
	size_t i, level, inner = ((size_t)1 << depth) - 1, leaf;
	struct tree *t = &c->tree;
	struct tree_node *x;

	settle_width(c, t->values.n / sizeof(double), inner + 1);
	if (c->d->failed || append_oblivious(c, splits, depth))
		return;
	for (i = 0; i < inner + inner + 1 && !c->d->failed; i++) {
		x = tree_add(t);
		if (!x) {
			c->d->failed = err_memory(c->e) < 0;
			return;
		}
		if (i < inner) {
			for (level = 0; ((size_t)2 << level) - 1 <= i; level++)
				;
			*x = splits[depth - 1 - level];
			x->left = (uint32_t)(2 * i + 1);
			x->right = (uint32_t)(2 * i + 2);
		} else {
			leaf = i - inner;
			x->id = (uint32_t)leaf;
			x->values = leaf * c->width;
		}
	}
	t->covered = c->m->covers && c->weights.n / sizeof(double) == inner + 1;
	for (i = inner + inner + 1; t->covered && i-- > 0; )
		t->nodes[i].cover = i < inner ? t->nodes[2 * i + 1].cover + t->nodes[2 * i + 2].cover
		                              : ((const double *)(const void *)c->weights.p)[i - inner];
	c->d->failed = put_tree(c) < 0;
}

static void
read_oblivious(struct catboost *c)
{
	struct doc *d = c->d;
	struct tree_node splits[LEVELS] = { { 0 } };
	struct tree *t = &c->tree;
	size_t depth = 0;

	tree_clear(t);
	buf_clear(&c->weights);
	if (!doc_object(d))
		return;
	while (doc_member(d)) {
		if (doc_named(d, "leaf_values")) {
			buf_clear(&t->values);
			doc_numbers(d, &t->values);
		} else if (doc_named(d, "leaf_weights") && c->m->covers && doc_kind(d) == '[') {
			buf_clear(&c->weights);
			doc_numbers(d, &c->weights);
		} else if (doc_named(d, "splits") && doc_kind(d) == '[' && doc_array(d)) {
			while (doc_item(d))
				if (depth == LEVELS)
					doc_fail(d, "a tree has more than %d levels", LEVELS);
				else
					read_split(c, &splits[depth++]);
		} else {
			doc_skip(d);
		}
	}
	if (!d->failed)
		put_oblivious(c, splits, depth);
}

/* The values of a leaf: one number, or a list. */
static void
read_value(struct catboost *c, struct tree *t, size_t node)
{
	double v;
	size_t from = t->values.n;

	t->nodes[node].values = from / sizeof v;
	t->nodes[node].id = (uint32_t)(c->width ? from / sizeof v / c->width : 0);
	if (doc_kind(c->d) == '[') {
		doc_numbers(c->d, &t->values);
	} else {
		v = doc_number(c->d);
		buf_put(&t->values, &v, sizeof v);
	}
	if (!c->d->failed)
		settle_width(c, (t->values.n - from) / sizeof v, 1);
}

/* A node of a tree that is not oblivious, and all nodes below it. */
static uint32_t
read_node(struct catboost *c, struct tree *t)
{
	struct doc *d = c->d;
	struct tree_node *x = tree_add(t);
	size_t node = t->count - 1;
	uint32_t left = 0, right = 0;
	bool split = false, value = false;

	if (!x)
		d->failed = err_memory(c->e) < 0;
	if (d->failed || !doc_object(d))
		return 0;
	while (doc_member(d)) {
		if (doc_named(d, "split")) {
			read_split(c, &t->nodes[node]);
			split = true;
		} else if (doc_named(d, "left")) {
			left = read_node(c, t);
		} else if (doc_named(d, "right")) {
			right = read_node(c, t);
		} else if (doc_named(d, "value")) {
			read_value(c, t, node);
			value = true;
		} else if (doc_named(d, "weight")) {
			t->nodes[node].cover = doc_number(d);
		} else {
			doc_skip(d);
		}
	}
	if (!d->failed && (split == value || !left != !split || !right != !split))
		doc_fail(d, "a node is neither a split with two children nor a leaf");
	t->nodes[node].left = left;
	t->nodes[node].right = right;
	if (!d->failed && split)
		t->nodes[node].cover = t->nodes[left].cover + t->nodes[right].cover;
	t->covered = c->m->covers && t->nodes[node].cover > 0;
	return (uint32_t)node;
}

static void
read_trees(struct catboost *c)
{
	while (doc_item(c->d)) {
		if (c->oblivious) {
			read_oblivious(c);
			continue;
		}
		tree_clear(&c->tree);
		read_node(c, &c->tree);
		c->d->failed = c->d->failed || put_tree(c) < 0;
	}
}

/* ---- what is around the trees ---- */

static void
read_scale(struct catboost *c)
{
	struct doc *d = c->d;
	double v;

	if (!doc_array(d) || !doc_item(d))
		return;
	c->scale = doc_number(d);
	while (doc_item(d)) {
		if (doc_kind(d) == '[') {
			doc_numbers(d, &c->bias);
		} else {
			v = doc_number(d);
			buf_put(&c->bias, &v, sizeof v);
		}
	}
}

static void
read_labels(struct catboost *c)
{
	struct doc *d = c->d;
	char text[40];
	const char *label;

	if (!doc_array(d))
		return;
	while (doc_item(d)) {
		if (doc_kind(d) == '"') {
			label = doc_text(d);
		} else {
			snprintf(text, sizeof text, "%.17g", doc_number(d));
			label = text;
		}
		if (!d->failed)
			d->failed = predictor_add_label(c->m, label, strlen(label), c->e) < 0;
	}
}

/* class_params has class_names; params has loss_function, which has a type. */
static void
read_params(struct catboost *c)
{
	struct doc *d = c->d;

	if (doc_kind(d) != '{' || !doc_object(d)) {
		doc_skip(d);
		return;
	}
	while (doc_member(d)) {
		if (doc_named(d, "class_names") && !c->m->label_count)
			read_labels(c);
		else if (doc_named(d, "type") && doc_kind(d) == '"')
			snprintf(c->loss, sizeof c->loss, "%.63s", doc_text(d));
		else if (doc_named(d, "loss_function") && doc_kind(d) == '{')
			read_params(c);
		else
			doc_skip(d);
	}
}

static void
read_info(struct catboost *c)
{
	struct doc *d = c->d;

	if (!doc_object(d))
		return;
	while (doc_member(d))
		if (doc_named(d, "class_params") || doc_named(d, "params"))
			read_params(c);
		else
			doc_skip(d);
}

/* Reads the trees, or if the features have not come yet, notes where they are. */
static void
find_trees(struct catboost *c, bool oblivious)
{
	struct doc *d = c->d;

	if (c->listed)
		doc_fail(d, "the model has two lists of trees");
	c->listed = true;
	c->oblivious = oblivious;
	if (!c->known) {
		c->later = d->p;
		doc_skip(d);
	} else if (doc_array(d)) {
		d->failed = set_features(c) < 0;
		read_trees(c);
	}
}

static void
read_members(struct catboost *c)
{
	struct doc *d = c->d;

	while (doc_member(d)) {
		if (doc_named(d, "features_info"))
			read_features(c);
		else if (doc_named(d, "model_info"))
			read_info(c);
		else if (doc_named(d, "oblivious_trees"))
			find_trees(c, true);
		else if (doc_named(d, "trees"))
			find_trees(c, false);
		else if (doc_named(d, "scale_and_bias"))
			read_scale(c);
		else
			doc_skip(d);
	}
}

/* ---- the model ---- */

static void
set_task(struct catboost *c)
{
	static const struct {
		const char *loss;
		enum predict_task task;
		enum predict_link link;
	} rows[] = {
		{ "Logloss", PREDICT_BINARY, LINK_SIGMOID },
		{ "CrossEntropy", PREDICT_BINARY, LINK_SIGMOID },
		{ "MultiClass", PREDICT_CLASSES, LINK_SOFTMAX },
		{ "MultiClassOneVsAll", PREDICT_CLASSES, LINK_SIGMOID },
		{ "Poisson", PREDICT_VALUE, LINK_EXP },
		{ "Tweedie", PREDICT_VALUE, LINK_EXP },
	};
	struct predictor *m = c->m;
	size_t i;

	m->task = !m->labels ? PREDICT_VALUE : c->width > 1 ? PREDICT_CLASSES : PREDICT_BINARY;
	m->link = !m->labels ? LINK_NONE : c->width > 1 ? LINK_SOFTMAX : LINK_SIGMOID;
	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].loss, c->loss) == 0) {
			m->task = rows[i].task;
			m->link = rows[i].link;
		}
}

static int
assemble(struct catboost *c)
{
	struct predictor *m = c->m;
	size_t i, n = c->bias.n / sizeof(double);
	const double *bias = (const double *)(const void *)c->bias.p;

	if (!m->forest.tree_count)
		return err_set(c->e, ERR_CORRUPT, c->where, "the model has no trees");
	if (!isfinite(c->scale) || n > c->width)
		return err_set(c->e, ERR_CORRUPT, c->where, "scale_and_bias does not fit the trees");
	m->kind = "gradient boosting of CatBoost";
	m->outputs = c->width;
	m->rounds = true;
	m->sharpness = 1;
	m->absent = ABSENT_ZERO;
	set_task(c);
	m->forest.scale = c->scale;
	m->forest.scaled = true;
	for (i = 0; i < n; i++)
		m->forest.bias[i] = bias[i];
	return 0;
}

/* Reads the trees that stand in front of the features. */
static int
read_later(struct catboost *c)
{
	c->d->p = c->later;
	c->known = true;
	c->listed = false;
	find_trees(c, c->oblivious);
	return c->d->failed ? -1 : 0;
}

int
catboost_read(struct predictor *m, const uint8_t *p, size_t n, const char *where, struct err *e)
{
	struct doc *d = malloc(sizeof *d);
	struct catboost c = { .m = m, .d = d, .where = where, .e = e, .scale = 1 };
	size_t i;
	int r = -1;

	if (!d)
		return err_memory(e);
	doc_begin(d, false, p, n, where, e);
	if (doc_object(d))
		read_members(&c);
	if (doc_end(d) == 0 && (!c.later || read_later(&c) == 0))
		r = assemble(&c);
	for (i = 0; i < c.feature_count; i++)
		free(c.features[i].name);
	free(c.features);
	tree_free(&c.tree);
	buf_free(&c.weights);
	buf_free(&c.bias);
	free(d);
	return r;
}
