#include "predict/sklearn/sklearn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "predict/step_features.h"
#include "predict/step_models.h"

#define SHORT_NODE 56
#define LONG_NODE 64

/* ---- one tree ---- */

/* Appends the values of a leaf, width of them: shares of classes for classes, else scale times the
 * value. */
static void
put_leaf(struct tree *t, struct tree_node *x, const double *v, size_t width, bool classes,
         bool counts, double scale)
{
	double sum = 0, one;
	size_t k;

	x->left = x->right = 0;
	x->values = t->values.n / sizeof one;
	for (k = 0; k < width; k++)
		sum += v[k];
	sum = sum == 0 || !counts ? 1 : sum;
	for (k = 0; k < width; k++) {
		one = classes ? v[k] / sum : scale * v[k];
		buf_put(&t->values, &one, sizeof one);
	}
}

struct nodes {
	struct sklearn_array nodes, values;
	size_t bytes; /* of a node */
};

static int
put_node(struct sklearn *s, struct tree *t, const struct nodes *a, size_t i, bool classes,
         double scale)
{
	size_t width = a->values.n / a->nodes.n;
	const uint8_t *p = a->nodes.raw.p + i * a->bytes;
	int64_t left = (int64_t)le64(p), right = (int64_t)le64(p + 8), feature = (int64_t)le64(p + 16);
	struct tree_node *x = tree_add(t);

	if (!x)
		return err_memory(s->e);
	x->id = (uint32_t)i;
	x->cover = sklearn_double(p + 48);
	if (left == -1) {
		put_leaf(t, x, a->values.v + i * width, width, classes, a->bytes == SHORT_NODE, scale);
		return 0;
	}
	if (left <= 0 || right <= 0 || left > UINT32_MAX || right > UINT32_MAX || feature < 0 ||
	    feature > UINT32_MAX)
		return err_set(s->e, ERR_CORRUPT, s->where, "node %zu of a tree has wrong links", i);
	x->left = (uint32_t)left;
	x->right = (uint32_t)right;
	x->feature = (uint32_t)feature;
	x->threshold = sklearn_double(p + 24);
	x->missing = a->bytes == LONG_NODE ? FOREST_NAN : FOREST_REFUSE;
	x->default_left = a->bytes == LONG_NODE && p[56];
	return 0;
}

static int
read_nodes(struct sklearn *s, pickle_ref tree, struct nodes *a)
{
	if (sklearn_array(s, sklearn_field(s, tree, "nodes"), &a->nodes) < 0 ||
	    sklearn_array(s, sklearn_field(s, tree, "values"), &a->values) < 0)
		return -1;
	a->bytes = strcmp(a->nodes.code, "V56") == 0 ? SHORT_NODE
	           : strcmp(a->nodes.code, "V64") == 0 ? LONG_NODE : 0;
	if (!a->bytes)
		return err_set(s->e, ERR_FORMAT, s->where, "the nodes of a tree are of the type %s",
		               a->nodes.code);
	if (!a->values.v || a->nodes.ndim != 1 || a->nodes.n == 0 || a->values.ndim != 3 ||
	    a->values.dims[0] != a->nodes.n)
		return sklearn_wrong(s, "the nodes and values of a tree do not fit each other");
	if (a->values.dims[1] != 1)
		return err_set(s->e, ERR_FORMAT, s->where, "trees with several outputs are not read");
	return 0;
}

/* Adds the tree of an estimator. */
static int
add_tree(struct sklearn *s, pickle_ref estimator, uint32_t group, bool classes, double scale)
{
	struct nodes a = { .bytes = 0 };
	struct tree t = { .group = group, .covered = s->m->covers };
	size_t i;
	int r = read_nodes(s, sklearn_field(s, estimator, "tree_"), &a);

	if (r == 0 && a.values.n / a.nodes.n != s->m->forest.width)
		r = sklearn_wrong(s, "the trees have different numbers of classes");
	for (i = 0; r == 0 && i < a.nodes.n; i++)
		r = put_node(s, &t, &a, i, classes, scale);
	if (r == 0)
		r = forest_add(&s->m->forest, &t, s->where, s->e);
	sklearn_array_free(&a.nodes);
	sklearn_array_free(&a.values);
	tree_free(&t);
	return r;
}

/* ---- what all have ---- */

static int
begin(struct sklearn *s, pickle_ref r, size_t outputs, size_t width, const char *kind)
{
	struct predictor *m = s->m;
	static const char *const counts[] = { "n_features_in_", "n_features_" };
	double n = 0;
	size_t i;

	for (i = 0; i < 2 && n == 0; i++)
		sklearn_number(s, sklearn_field(s, r, counts[i]), &n);
	if (!(n >= 1 && n <= FOREST_FEATURES))
		return sklearn_wrong(s, "the number of features is missing");
	m->kind = kind;
	m->features = (size_t)n;
	m->outputs = outputs;
	m->rounds = true;
	m->sharpness = 1;
	return forest_begin(&m->forest, m->features, outputs, width, s->e);
}

/* The number of classes; 1 for a regressor, 0 with an error. */
static size_t
count_classes(struct sklearn *s, pickle_ref r, bool classes)
{
	double n = 1;

	if (classes && (sklearn_number(s, sklearn_field(s, r, "n_classes_"), &n) < 0 || !(n >= 1) ||
	                n > PREDICT_OUTPUTS)) {
		sklearn_wrong(s, "the number of classes is missing, or there are several outputs");
		return 0;
	}
	return (size_t)n;
}

int
sklearn_tree(struct sklearn *s, pickle_ref r, bool classes)
{
	size_t n = count_classes(s, r, classes);

	if (n == 0 || begin(s, r, n, n, "decision tree of scikit-learn") < 0)
		return -1;
	s->m->task = classes ? PREDICT_CLASSES : PREDICT_VALUE;
	s->m->link = classes ? LINK_SHARE : LINK_NONE;
	return add_tree(s, r, 0, classes, 1);
}

int
sklearn_forest(struct sklearn *s, pickle_ref r, bool classes)
{
	pickle_ref list = sklearn_field(s, r, "estimators_");
	const struct pickle_cell *c;
	size_t n = count_classes(s, r, classes);

	if (n == 0 || begin(s, r, n, n, "random forest of scikit-learn") < 0)
		return -1;
	if (list == PICKLE_NOTHING || pickle_node(&s->k, list)->kind != PICKLE_LIST)
		return sklearn_wrong(s, "the forest has no list of trees");
	s->m->task = classes ? PREDICT_CLASSES : PREDICT_VALUE;
	s->m->link = classes ? LINK_SHARE : LINK_NONE;
	s->m->forest.average = true;
	for (c = pickle_first(&s->k, list); c; c = pickle_next(&s->k, c))
		if (add_tree(s, c->node, 0, classes, 1) < 0)
			return -1;
	return 0;
}

/* ---- gradient boosting ---- */

/* Scores that stand for the shares of classes, as scikit-learn clips them. */
static void
shares_to_base(struct sklearn *s, const double *p, double half)
{
	const double eps = 1.1920928955078125e-07;
	double *base = s->m->forest.base, mean = 0, v;
	size_t k, n = s->m->outputs;

	for (k = 0; k < n; k++) {
		v = n == 1 ? p[1] : p[k];
		v = v < eps ? eps : v > 1 - eps ? 1 - eps : v;
		base[k] = n == 1 ? half * log(v / (1 - v)) : log(v);
		mean += base[k] / (double)n;
	}
	/* From 1.4 on, the scores of several classes sum to 0. */
	for (k = 0; n > 1 && s->version >= 1.04 && k < n; k++)
		base[k] -= mean;
}

/* An array of values: priors of classes, or the constant of a regressor. */
static int
base_from_array(struct sklearn *s, pickle_ref r, bool shares, double half)
{
	struct sklearn_array a;
	size_t k, need = shares && s->m->outputs == 1 ? 2 : s->m->outputs;
	int status = sklearn_array(s, r, &a);

	if (status == 0 && (!a.v || a.n < need))
		status = sklearn_wrong(s, "the first estimator has too few values");
	if (status == 0 && shares)
		shares_to_base(s, a.v, half);
	for (k = 0; status == 0 && !shares && k < need; k++)
		s->m->forest.base[k] = a.v[k];
	sklearn_array_free(&a);
	return status;
}

/* What the first estimator, init_, gives before the first tree. */
static int
read_init(struct sklearn *s, pickle_ref r, double half)
{
	static const struct {
		const char *class, *field;
		bool number;
	} rows[] = {
		{ "LogOddsEstimator", "prior", true },
		{ "ScaledLogOddsEstimator", "prior", true },
		{ "MeanEstimator", "mean", true },
		{ "QuantileEstimator", "quantile", true },
		{ "PriorProbabilityEstimator", "priors", false },
		{ "DummyRegressor", "constant_", false },
		{ "DummyClassifier", "class_prior_", false },
	};
	pickle_ref init = sklearn_field(s, r, "init_");
	char class[64];
	double scale = 1;
	size_t i;

	if (init == PICKLE_NOTHING || pickle_is(&s->k, init, "zero"))
		return 0;
	sklearn_class(s, init, class);
	if (strcmp(class, "ZeroEstimator") == 0)
		return 0;
	for (i = 0; i < sizeof rows / sizeof *rows && strcmp(rows[i].class, class) != 0; i++)
		;
	if (i == sizeof rows / sizeof *rows)
		return err_set(s->e, ERR_FORMAT, s->where, "boosting that begins with %s is not read",
		               *class ? class : "an unknown estimator");
	if (!rows[i].number)
		return base_from_array(s, sklearn_field(s, init, rows[i].field), i == 6, half);
	if (sklearn_number(s, sklearn_field(s, init, rows[i].field), &s->m->forest.base[0]) < 0)
		return sklearn_wrong(s, "the first estimator has no value");
	if (i == 1 && half != 1)
		scale = half;
	s->m->forest.base[0] *= i == 1 && s->version == 0 ? scale : 1;
	return 0;
}

static int
add_boosted(struct sklearn *s, pickle_ref r, double rate)
{
	struct sklearn_array a;
	const struct pickle_cell *c;
	size_t i = 0;
	int status = sklearn_array(s, r, &a);

	if (status == 0 && (a.list == PICKLE_NOTHING || a.ndim != 2 || a.dims[1] != s->m->outputs))
		status = sklearn_wrong(s, "the trees are not an array of rounds and outputs");
	for (c = status == 0 ? pickle_first(&s->k, a.list) : NULL; c && status == 0;
	     c = pickle_next(&s->k, c), i++)
		status = add_tree(s, c->node, (uint32_t)(i % s->m->outputs), false, rate);
	sklearn_array_free(&a);
	return status;
}

int
sklearn_boosting(struct sklearn *s, pickle_ref r, bool classes)
{
	size_t n = count_classes(s, r, classes), outputs = n > 2 ? n : 1;
	bool exponential = pickle_is(&s->k, sklearn_field(s, r, "loss"), "exponential");
	double rate;

	if (n == 0 || begin(s, r, outputs, 1, "gradient boosting of scikit-learn") < 0)
		return -1;
	if (sklearn_number(s, sklearn_field(s, r, "learning_rate"), &rate) < 0)
		return sklearn_wrong(s, "the learning rate is missing");
	s->m->task = !classes ? PREDICT_VALUE : outputs > 1 ? PREDICT_CLASSES : PREDICT_BINARY;
	s->m->link = !classes ? LINK_NONE : outputs > 1 ? LINK_SOFTMAX : LINK_SIGMOID;
	s->m->sharpness = exponential ? 2 : 1;
	if (read_init(s, r, exponential ? 0.5 : 1) < 0)
		return -1;
	return add_boosted(s, sklearn_field(s, r, "estimators_"), rate);
}

/* ---- isolation forests ---- */

/* The mean length of a path in a tree of n rows. */
static double
mean_path(double n)
{
	return n <= 1 ? 0 : n == 2 ? 1 : 2 * (log(n - 1) + 0.577215664901532860606512) - 2 * (n - 1) / n;
}

/* Adds a tree whose leaves hold the lengths of paths. features: those that the tree saw. */
static int
put_paths(struct sklearn *s, const struct nodes *a, const double *features, size_t width)
{
	struct tree t = { .covered = s->m->covers };
	double *depth = mem_array(a->nodes.n, sizeof *depth), v;
	size_t i;
	int r = depth ? 0 : err_memory(s->e);

	for (i = 0; r == 0 && i < a->nodes.n; i++) {
		const uint8_t *p = a->nodes.raw.p + i * a->bytes;

		r = put_node(s, &t, a, i, false, 1);
		if (r == 0 && t.nodes[i].left) {
			struct tree_node *x = &t.nodes[i];

			if (x->feature >= width || x->left >= a->nodes.n || x->right >= a->nodes.n)
				r = sklearn_wrong(s, "a tree of the isolation forest has wrong links or features");
			else
				x->feature = (uint32_t)features[x->feature], depth[x->left] = depth[x->right] = depth[i] + 1;
		} else if (r == 0) {
			v = depth[i] + mean_path((double)(int64_t)le64(p + 40));
			memcpy(t.values.p + t.values.n - sizeof v, &v, sizeof v);
		}
	}
	if (r == 0)
		r = forest_add(&s->m->forest, &t, s->where, s->e);
	free(depth);
	tree_free(&t);
	return r;
}

static int
add_paths(struct sklearn *s, pickle_ref tree, pickle_ref features)
{
	struct nodes a = { .bytes = 0 };
	size_t i, width = 0;
	double *v = sklearn_vector(s, features, 0, &width, "features of a tree");
	int r = v ? read_nodes(s, sklearn_field(s, tree, "tree_"), &a) : -1;

	for (i = 0; r == 0 && i < width; i++)
		if (!(v[i] >= 0 && v[i] < (double)s->m->features))
			r = sklearn_wrong(s, "a feature of a tree is not there");
	if (r == 0 && a.values.n != a.nodes.n)
		r = sklearn_wrong(s, "the trees have several outputs");
	if (r == 0)
		r = put_paths(s, &a, v, width);
	sklearn_array_free(&a.nodes);
	sklearn_array_free(&a.values);
	free(v);
	return r;
}

/* The forest inside, whose score is the sum of the lengths of paths. */
static int
read_paths(struct sklearn *s, pickle_ref r)
{
	size_t n, many, i;
	const struct pickle_cell *c = sklearn_list(s, sklearn_field(s, r, "estimators_"), &n);
	const struct pickle_cell *f = sklearn_list(s, sklearn_field(s, r, "estimators_features_"), &many);

	if (begin(s, r, 1, 1, "isolation forest of scikit-learn") < 0)
		return -1;
	s->m->task = PREDICT_VALUE;
	if (n == 0 || n != many)
		return sklearn_wrong(s, "the isolation forest has no trees, or not the features of all");
	for (i = 0; i < n; i++, c = pickle_next(&s->k, c), f = pickle_next(&s->k, f))
		if (add_paths(s, c->node, f->node) < 0)
			return -1;
	return 0;
}

/* -2^-(x / by) - offset, as the library counts: a greater score is more like the others. */
int
sklearn_isolation(struct sklearn *s, pickle_ref r, bool classes)
{
	double most = sklearn_or(s, r, "max_samples_", sklearn_or(s, r, "_max_samples", 0)), by;
	struct step_models *x = sklearn_models(s, 1);
	struct step_model *m = x ? sklearn_model_of(s, x, read_paths, r) : NULL;

	(void)classes;
	if (!m || sklearn_model_gives(s, m, MODELS_LINKED, 1, 0) < 0 || sklearn_models_end(s, 1) < 0)
		return -1;
	by = (double)m->m->forest.tree_count * mean_path(most);
	if (!(by > 0) || sklearn_affine(s, &step_shift, by, 0) < 0 || sklearn_affine(s, &step_stretch, -1, 0) < 0)
		return sklearn_wrong(s, "the trees of the isolation forest saw no rows");
	if (!sklearn_step(s, &step_function, 1, 1))
		return -1;
	s->m->steps[s->m->step_count - 1].mode = FUNCTION_EXP2;
	if (sklearn_affine(s, &step_stretch, -1, -sklearn_or(s, r, "offset_", -0.5)) < 0)
		return -1;
	return sklearn_outliers(s, "isolation forest of scikit-learn");
}
