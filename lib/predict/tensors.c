#include "predict/tensors.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "predict/experts.h"
#include "predict/form.h"
#include "predict/markov.h"
#include "predict/nets/keras.h"

struct parts {
	struct predictor *m;
	const struct weights *w;
	struct err *e;
	uint32_t *table; /* numbers of tensors and one, at the hashes of their names, or behind */
	size_t mask;     /* places of the table - 1 */
	const char *of;  /* in front of all names: the expert of a mixture; or "" */
	uint64_t values; /* of leaves of the experts in front */
};

/* ---- tensors by name ---- */

struct part {
	const struct tensor *t; /* NULL: not there */
	const uint8_t *p;
	uint64_t n;
};

static int
lacks(const struct parts *x, const char *name, const char *type)
{
	return err_set(x->e, ERR_CORRUPT, x->w->name, "the tensor %s of type %s is missing", name, type);
}

static size_t
hash(const char *text)
{
	uint64_t h = 14695981039346656037u;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 1099511628211u;
	return (size_t)(h ^ h >> 32);
}

/* Puts all names into the table: a forest has five tensors a tree. */
static int
list_tensors(struct parts *x)
{
	size_t i, at, n = x->w->plan->tensor_count, places = 16;

	while (places < 2 * n)
		places *= 2;
	x->mask = places - 1;
	x->table = mem_array(places, sizeof *x->table);
	if (!x->table || n >= UINT32_MAX)
		return err_memory(x->e);
	for (i = 0; i < n; i++) {
		at = hash(tensor_name(x->w->plan->tensors[i])) & x->mask;
		while (x->table[at])
			at = (at + 1) & x->mask;
		x->table[at] = (uint32_t)i + 1;
	}
	return 0;
}

/* Finds the expert, PREFIX and NAME together. 0, or -1 with an error if it is not there or has another type. */
static int
find(struct parts *x, const char *prefix, const char *name, const char *type,
     struct part *to)
{
	char text[128];
	uint32_t at;
	size_t i;

	snprintf(text, sizeof text, "%s%s%s", x->of, prefix, name); /* all are words of this file */
	*to = (struct part){ 0 };
	for (i = hash(text) & x->mask; (at = x->table[i]) != 0 && !to->t; i = (i + 1) & x->mask)
		if (strcmp(tensor_name(x->w->plan->tensors[at - 1]), text) == 0)
			*to = (struct part){ x->w->plan->tensors[at - 1], x->w->tensors[at - 1],
				tensor_items(x->w->plan->tensors[at - 1]) };
	if (!to->t || !to->p || strcmp(tensor_type(to->t)->name, type) != 0)
		return lacks(x, text, type);
	return 0;
}

static float
single_at(const struct part *x, uint64_t i)
{
	union { uint32_t u; float f; } v = { .u = le32(x->p + i * 4) };

	return v.f;
}

static int64_t
whole_at(const struct part *x, uint64_t i)
{
	return (int64_t)le64(x->p + i * 8);
}

/* ---- linear models and centers ---- */

static int
set_weights(struct parts *x, const struct part *values, size_t outputs, size_t features)
{
	struct predictor *m = x->m;
	uint64_t i;

	if (outputs == 0 || features == 0 || features > FOREST_FEATURES || outputs > PREDICT_OUTPUTS)
		return err_set(x->e, ERR_CORRUPT, x->w->name, "%zu features and %zu outputs", features,
		               outputs);
	m->features = features;
	m->outputs = outputs;
	m->rounds = m->single = true;
	m->sharpness = 1;
	m->linear.weights = mem_array((size_t)values->n, sizeof(double));
	m->linear.bias = mem_array(outputs, sizeof(double));
	if (!m->linear.weights || !m->linear.bias)
		return err_memory(x->e);
	for (i = 0; i < values->n; i++) {
		m->linear.weights[i] = (double)single_at(values, i);
		if (!isfinite(m->linear.weights[i]))
			return err_set(x->e, ERR_CORRUPT, x->w->name, "weight %" PRIu64 " is not finite", i);
	}
	return 0;
}

static int
read_linear(struct parts *x)
{
	struct part w, bias;

	if (find(x, "", "coefficients", "F32", &w) < 0 || find(x, "", "intercept", "F32", &bias) < 0 ||
	    bias.n != 1 || set_weights(x, &w, 1, (size_t)w.n) < 0)
		return err_set(x->e, ERR_CORRUPT, x->w->name, "the coefficients are not those of one output");
	if (!isfinite(single_at(&bias, 0)))
		return err_set(x->e, ERR_CORRUPT, x->w->name, "the intercept is not finite");
	x->m->form = PREDICT_LINEAR;
	x->m->kind = "linear model";
	/* The sum begins with 0 and ends with the intercept. */
	x->m->linear.bias[0] = (double)single_at(&bias, 0);
	x->m->linear.after = true;
	x->m->refuses_nan = true;
	return 0;
}

static int
read_logistic(struct parts *x)
{
	if (read_linear(x) < 0)
		return -1;
	x->m->task = PREDICT_BINARY;
	x->m->link = LINK_SIGMOID;
	x->m->ties_up = true;
	x->m->kind = "logistic regression";
	return 0;
}

static int
read_centers(struct parts *x)
{
	struct part c;
	const uint64_t *dims;

	if (find(x, "", "centroids", "F32", &c) < 0)
		return -1;
	dims = tensor_dims(c.t);
	if (tensor_ndim(c.t) != 2)
		return err_set(x->e, ERR_CORRUPT, x->w->name, "the centroids are not a matrix");
	if (set_weights(x, &c, (size_t)dims[0], (size_t)dims[1]) < 0)
		return -1;
	x->m->form = PREDICT_CENTERS;
	x->m->task = PREDICT_CLUSTER;
	x->m->kind = "k-means";
	x->m->refuses_nan = true;
	return 0;
}

/* ---- counts of n-grams ---- */

/* Texts and their lengths. */
static int
find_texts(struct parts *x, const char *text, const char *lengths, struct markov_texts *to)
{
	struct part t, n;

	if (find(x, "", text, "U8", &t) < 0 || find(x, "", lengths, "U64", &n) < 0)
		return -1;
	*to = (struct markov_texts){ t.p, n.p, (size_t)t.n, (size_t)n.n };
	return 0;
}

static int
read_counts(struct parts *x)
{
	struct markov_counts c;
	struct part order, sizes, counts;

	if (find(x, "", "n", "U64", &order) < 0 || find(x, "", "ngrams_sizes", "U64", &sizes) < 0 ||
	    find(x, "", "ngrams_counts", "U32", &counts) < 0 ||
	    find_texts(x, "ngrams_text", "ngrams_lengths", &c.contexts) < 0 ||
	    find_texts(x, "ngrams_next_text", "ngrams_next_lengths", &c.nexts) < 0)
		return -1;
	if (order.n != 1 || sizes.n != c.contexts.n || counts.n != c.nexts.n)
		return err_set(x->e, ERR_CORRUPT, x->w->name, "the columns of the n-grams differ in length");
	c.order = le64(order.p);
	c.sizes = sizes.p;
	c.counts = counts.p;
	return markov_read(x->m, &c, x->w->name, x->e);
}

/* ---- trees ---- */

struct columns {
	struct part features, thresholds, leaves, left, right;
	bool classes;
};

static int
find_tree(struct parts *x, const char *prefix, bool classes, struct columns *c)
{
	c->classes = classes;
	if (find(x, prefix, "node_features", "I64", &c->features) < 0 ||
	    find(x, prefix, "node_thresholds", "F32", &c->thresholds) < 0 ||
	    find(x, prefix, classes ? "node_classes" : "node_values", classes ? "U64" : "F32",
	         &c->leaves) < 0 ||
	    find(x, prefix, "node_left_child", "I64", &c->left) < 0 ||
	    find(x, prefix, "node_right_child", "I64", &c->right) < 0)
		return -1;
	if (c->thresholds.n != c->features.n || c->leaves.n != c->features.n ||
	    c->left.n != c->features.n || c->right.n != c->features.n)
		return err_set(x->e, ERR_CORRUPT, x->w->name, "the columns of a tree differ in length");
	return 0;
}

/* The largest numbers of features and classes that a tree uses. */
static int
measure(struct parts *x, const struct columns *c)
{
	struct predictor *m = x->m;
	uint64_t i, v;

	for (i = 0; i < c->features.n; i++) {
		bool leaf = whole_at(&c->features, i) < 0;

		v = leaf ? c->classes ? le64(c->leaves.p + i * 8) : 0 : (uint64_t)whole_at(&c->features, i);
		if (v >= (leaf ? PREDICT_OUTPUTS : FOREST_FEATURES))
			return err_set(x->e, ERR_CORRUPT, x->w->name, "node %" PRIu64 " has the %s %" PRIu64, i,
			               leaf ? "class" : "feature", v);
		if (leaf)
			m->outputs = v >= m->outputs ? v + 1 : m->outputs;
		else
			m->features = v >= m->features ? v + 1 : m->features;
	}
	return 0;
}

static int
put_leaf(struct parts *x, struct tree *t, struct tree_node *node, const struct columns *c,
         uint64_t i)
{
	double v = c->classes ? 0 : (double)single_at(&c->leaves, i);

	if (!c->classes)
		return tree_leaf(t, node, v, (uint32_t)i) < 0 ? err_memory(x->e) : 0;
	node->id = (uint32_t)i;
	node->values = t->values.n / sizeof v;
	buf_zeros(&t->values, x->m->outputs * sizeof v);
	if (!buf_ok(&t->values))
		return err_memory(x->e);
	((double *)(void *)t->values.p)[node->values + le64(c->leaves.p + i * 8)] = 1;
	return 0;
}

/* Refuses classes and leaves whose product would not fit into memory: a leaf of a few bytes becomes
 * a value for each class. */
static int
bound(struct parts *x, const struct columns *all, uint64_t n)
{
	uint64_t i, k, leaves = 0;

	for (i = 0; i < n; i++)
		for (k = 0; k < all[i].features.n; k++)
			leaves += whole_at(&all[i].features, k) < 0;
	if (leaves <= FOREST_VALUES / x->m->outputs && leaves * x->m->outputs <= FOREST_VALUES - x->values) {
		x->values += leaves * x->m->outputs;
		return 0;
	}
	return err_set(x->e, ERR_MEMORY, x->w->name, "%" PRIu64 " leaves with %zu classes are more than "
	               "%u values", leaves, x->m->outputs, FOREST_VALUES);
}

static int
put_tree(struct parts *x, const struct columns *c, struct tree *t)
{
	const char *where = x->w->name;
	uint64_t i;
	int r = 0;

	tree_clear(t);
	for (i = 0; i < c->features.n && r == 0; i++) {
		struct tree_node *node = tree_add(t);
		int64_t left = whole_at(&c->left, i), right = whole_at(&c->right, i);

		if (!node)
			r = err_memory(x->e);
		else if (whole_at(&c->features, i) < 0)
			r = put_leaf(x, t, node, c, i);
		else if (left <= 0 || right <= 0 || left > UINT32_MAX || right > UINT32_MAX)
			r = err_set(x->e, ERR_CORRUPT, where, "node %" PRIu64 " lacks a child", i);
		else
			*node = (struct tree_node){ .feature = (uint32_t)whole_at(&c->features, i),
				.left = (uint32_t)left, .right = (uint32_t)right, .missing = FOREST_REFUSE,
				.threshold = (double)single_at(&c->thresholds, i) };
	}
	return r < 0 ? -1 : forest_add(&x->m->forest, t, where, x->e);
}

/* The number of trees, 0 with an error. A single tree has no prefix. */
static uint64_t
count_trees(struct parts *x, bool forest)
{
	struct part n;

	if (!forest)
		return 1;
	if (find(x, "", "tree_count", "U64", &n) < 0)
		return 0;
	if (n.n == 1 && le64(n.p) > 0 && le64(n.p) <= x->w->plan->tensor_count)
		return le64(n.p);
	err_set(x->e, ERR_CORRUPT, x->w->name, "the number of trees is wrong");
	return 0;
}

/* The features of a model may be more than its splits use. */
static void
use_counted_features(struct parts *x, const char *prefix)
{
	struct err ignored = ERR_INIT;
	uint64_t counted;
	struct parts y = *x;
	struct part n;

	y.e = &ignored;
	if (find(&y, prefix, "n_features", "U64", &n) == 0 && n.n == 1 && le64(n.p) < FOREST_FEATURES &&
	    le64(n.p) > x->m->features)
		x->m->features = (size_t)le64(n.p);
	if (model_u64(x->w->plan, "apr.predict.features", &counted) == 0 && counted <= FOREST_FEATURES &&
	    counted > x->m->features)
		x->m->features = (size_t)counted;
}

static int
read_trees(struct parts *x, bool forest, bool classes)
{
	struct predictor *m = x->m;
	uint64_t i, n = count_trees(x, forest);
	struct columns *all = mem_array((size_t)n, sizeof *all);
	struct tree t = { 0 };
	char prefix[64] = "";
	int r = n > 0 && all ? 0 : all ? -1 : err_memory(x->e);

	for (i = 0; i < n && r == 0; i++) {
		if (forest)
			snprintf(prefix, sizeof prefix, "tree_%" PRIu64 "_", i);
		r = find_tree(x, prefix, classes, &all[i]) < 0 ? -1 : measure(x, &all[i]);
		use_counted_features(x, prefix);
	}
	m->outputs = m->outputs ? m->outputs : 1;
	m->outputs = classes && m->outputs < 2 ? 2 : m->outputs;
	m->rounds = true;
	m->single = !classes;
	m->task = classes ? PREDICT_CLASSES : PREDICT_VALUE;
	m->link = classes ? LINK_SHARE : LINK_NONE;
	m->kind = forest ? "random forest" : "decision tree";
	if (r == 0)
		r = bound(x, all, n);
	if (r == 0)
		r = forest_begin(&m->forest, m->features, m->outputs, m->outputs, x->e);
	m->forest.single = !classes;
	m->forest.average = true;
	for (i = 0; i < n && r == 0; i++)
		r = put_tree(x, &all[i], &t);
	tree_free(&t);
	free(all);
	return r;
}

static int
class_tree(struct parts *x)
{
	return read_trees(x, false, true);
}

static int
value_tree(struct parts *x)
{
	return read_trees(x, false, false);
}

static int
class_forest(struct parts *x)
{
	return read_trees(x, true, true);
}

static int
value_forest(struct parts *x)
{
	return read_trees(x, true, false);
}

/* ---- mixtures ---- */

/* The function that reads a payload, whose name has n bytes; NULL: none here does. */
typedef int part_reader(struct parts *x);
static part_reader *reader_of(const char *payload, size_t n);

static int
read_number(struct parts *x, const char *name, uint64_t least, uint64_t most, size_t *to)
{
	struct part p;

	if (find(x, "", name, "U64", &p) < 0)
		return -1;
	if (p.n != 1 || le64(p.p) < least || le64(p.p) > most)
		return err_set(x->e, ERR_CORRUPT, x->w->name, "%s is not a number from %" PRIu64 " to %" PRIu64, name,
		               least, most);
	*to = le64(p.p) < SIZE_MAX ? (size_t)le64(p.p) : SIZE_MAX;
	return 0;
}

static int
read_gate(struct parts *x, struct experts *to)
{
	const char *where = x->w->name;
	struct part w, t;
	size_t i, n;

	if (read_number(x, "expert_count", 1, x->w->plan->tensor_count, &to->n) < 0 ||
	    read_number(x, "gating_n_experts", to->n, to->n, &n) < 0 ||
	    read_number(x, "gating_n_features", 1, FOREST_FEATURES, &to->features) < 0 ||
	    read_number(x, "config_top_k", 1, UINT64_MAX, &to->top) < 0 ||
	    find(x, "", "gating_weights", "F32", &w) < 0 || find(x, "", "gating_temperature", "F32", &t) < 0)
		return -1;
	to->top = to->top < n ? to->top : n;
	to->temperature = t.n == 1 ? single_at(&t, 0) : 0;
	if (!(to->temperature > 0) || !isfinite(to->temperature))
		return err_set(x->e, ERR_CORRUPT, where, "the temperature of the gate is not greater than 0");
	if (w.n != (uint64_t)n * to->features)
		return err_set(x->e, ERR_CORRUPT, where, "%" PRIu64 " weights of the gate for %zu features and %zu experts",
		               w.n, to->features, n);
	to->weights = mem_array((size_t)w.n, sizeof *to->weights);
	to->models = mem_array(n, sizeof *to->models);
	if (!to->weights || !to->models)
		return err_memory(x->e);
	for (i = 0; i < w.n; i++) {
		to->weights[i] = single_at(&w, i);
		if (!isfinite(to->weights[i]))
			return err_set(x->e, ERR_CORRUPT, where, "weight %zu of the gate is not finite", i);
	}
	return 0;
}

static int
read_models(struct parts *x, part_reader *read, struct experts *to)
{
	struct parts y = *x;
	char of[40];
	size_t i;

	y.of = of;
	for (i = 0; i < to->n; i++) {
		snprintf(of, sizeof of, "expert_%zu_", i);
		y.m = &to->models[i];
		if (read(&y) < 0 || predictor_finish(y.m, x->w->name, x->e) < 0)
			return -1;
	}
	return 0;
}

static int
read_mixture(struct parts *x)
{
	const char *of = strchr(model_text(x->w->plan, "apr1.payload"), '.');
	part_reader *read = of ? reader_of(of + 1, strcspn(of + 1, ".")) : NULL;
	struct experts *to;

	if (!read || read == read_mixture || read == read_counts || read == read_centers)
		return err_set(x->e, ERR_FORMAT, x->w->name, "a mixture of %s: its experts are of another kind than linear "
		               "models and trees", of ? of + 1 : "unknown experts");
	to = mem_array(1, sizeof *to);
	if (!to)
		return err_memory(x->e);
	if (read_gate(x, to) < 0 || read_models(x, read, to) < 0) {
		experts_free(to);
		return -1;
	}
	return experts_begin(x->m, to, x->w->name, x->e);
}

/* ---- the table of types ---- */

static const struct {
	const char *payload; /* a number may follow: an older version */
	part_reader *read;
} types[] = {
	{ "LinearRegression", read_linear },
	{ "Ridge", read_linear },
	{ "Lasso", read_linear },
	{ "ElasticNet", read_linear },
	{ "LogisticRegression", read_logistic },
	{ "KMeans", read_centers },
	{ "DecisionTreeClassifier", class_tree },
	{ "DecisionTreeRegressor", value_tree },
	{ "RandomForestClassifier", class_forest },
	{ "RandomForestRegressor", value_forest },
	{ "MarkovModel", read_counts },
	{ "MixtureOfExperts", read_mixture },
};

static part_reader *
reader_of(const char *payload, size_t n)
{
	size_t i;

	for (i = 0; i < sizeof types / sizeof *types; i++)
		if (strlen(types[i].payload) == n && memcmp(types[i].payload, payload, n) == 0)
			return types[i].read;
	return NULL;
}

int
predict_tensors(struct predictor *m, const struct weights *w, struct err *e)
{
	struct parts x = { .m = m, .w = w, .e = e, .of = "" };
	const char *payload = model_text(w->plan, "apr1.payload");
	const char *type = model_text(w->plan, "apr1.model_type");
	const char *keras = model_text(w->plan, "keras.model_config");
	part_reader *read = payload ? reader_of(payload, strcspn(payload, ".")) : NULL;
	int r;

	if (model_find(w->plan, FORM_KEY))
		return form_read(m, w, e);
	if (read) {
		r = list_tensors(&x) < 0 || read(&x) < 0 ? -1 : 0;
		free(x.table);
		return r < 0 ? -1 : predictor_finish(m, w->name, e);
	}
	if (keras)
		return keras_read(m, w, keras, e);
	if (payload || type) {
		err_set(e, ERR_FORMAT, w->name, "the payload (%s) of the type %s is none of those that predict",
		        payload ? payload : "unknown", type ? type : "unknown");
		return err_hint(e, "apr-predict(1) names them; a network of tensors NAME.weight and NAME.bias predicts, too");
	}
	r = predict_named(m, w, e);
	if (r != 1)
		return r;
	err_set(e, ERR_FORMAT, w->name, "is not a classical model");
	return err_hint(e, "apr-run runs language models");
}
