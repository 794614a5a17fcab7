#include "predict/sklearn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "predict/readers.h"

static const struct pickle_name names[] = {
	{ "sklearn", NULL, SKLEARN_CLASS },
	{ "copyreg", "_reconstructor", SKLEARN_MAKE },
	{ "builtins", "object", PICKLE_OPAQUE },
	{ "numpy.core.multiarray", "_reconstruct", SKLEARN_ARRAY },
	{ "numpy._core.multiarray", "_reconstruct", SKLEARN_ARRAY },
	{ "numpy.core.numeric", "_frombuffer", SKLEARN_BUFFER },
	{ "numpy._core.numeric", "_frombuffer", SKLEARN_BUFFER },
	{ "numpy.core.multiarray", "scalar", SKLEARN_SCALAR },
	{ "numpy._core.multiarray", "scalar", SKLEARN_SCALAR },
	{ "numpy", "ndarray", PICKLE_OPAQUE },
	{ "numpy", "dtype", SKLEARN_TYPE },
	{ "numpy.random", NULL, PICKLE_OPAQUE },
	{ "_codecs", "encode", SKLEARN_ENCODE },
	{ "collections", "OrderedDict", PICKLE_OPAQUE },
};

/* ---- labels and names ---- */

/* A text of NumPy: code points of 32 bits, padded with zeros. */
static int
add_wide(struct sklearn *s, const uint8_t *p, size_t letters, bool label)
{
	struct buf b = { 0 };
	size_t i;
	int r;

	for (i = 0; i < letters && (p[i * 4] || p[i * 4 + 1] || p[i * 4 + 2]); i++) {
		uint32_t c = (uint32_t)p[i * 4] | (uint32_t)p[i * 4 + 1] << 8 | (uint32_t)p[i * 4 + 2] << 16;

		if (c < 0x80)
			buf_u8(&b, (uint8_t)c);
		else if (c < 0x800)
			buf_printf(&b, "%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 63)));
		else
			buf_printf(&b, "%c%c%c", (int)(0xe0 | (c >> 12 & 15)), (int)(0x80 | (c >> 6 & 63)),
			           (int)(0x80 | (c & 63)));
	}
	r = !buf_string(&b) ? err_memory(s->e)
	    : !text_utf8(b.p, b.n, false) ? sklearn_wrong(s, "a name is not a text")
	    : (label ? predictor_add_label : predictor_add_name)(s->m, (char *)b.p, b.n, s->e);
	buf_free(&b);
	return r;
}

static int
add_text(struct sklearn *s, pickle_ref r, bool label)
{
	const uint8_t *p;
	size_t n;

	if (pickle_node(&s->k, r)->kind != PICKLE_TEXT)
		return sklearn_wrong(s, "a name is not a text");
	p = pickle_bytes(&s->k, r, &n);
	return (label ? predictor_add_label : predictor_add_name)(s->m, (const char *)p, n, s->e);
}

/* The items of an array, as texts. */
static int
read_texts(struct sklearn *s, pickle_ref r, bool label)
{
	struct sklearn_array a;
	const struct pickle_cell *c;
	char text[40];
	size_t i;
	int status = sklearn_array(s, r, &a);

	c = status == 0 && a.list != PICKLE_NOTHING ? pickle_first(&s->k, a.list) : NULL;
	for (i = 0; status == 0 && i < a.n; i++) {
		if (c) {
			status = add_text(s, c->node, label);
			c = pickle_next(&s->k, c);
		} else if (a.v) {
			snprintf(text, sizeof text, "%.17g", a.v[i]);
			status = label ? predictor_add_label(s->m, text, strlen(text), s->e) : 0;
		} else if (a.code[0] == 'U') {
			status = add_wide(s, a.raw.p + i * (a.raw.n / a.n), a.raw.n / a.n / 4, label);
		}
	}
	sklearn_array_free(&a);
	return status;
}

/* ---- linear models and centers ---- */

static int
set_intercept(struct sklearn *s, pickle_ref r)
{
	struct sklearn_array a;
	size_t k;
	double v;
	int status;

	if (r == PICKLE_NOTHING || sklearn_number(s, r, &v) == 0) {
		for (k = 0; r != PICKLE_NOTHING && k < s->m->outputs; k++)
			s->m->linear.bias[k] = v;
		return 0;
	}
	status = sklearn_array(s, r, &a);
	if (status == 0 && (!a.v || a.n != s->m->outputs))
		status = sklearn_wrong(s, "the intercept does not fit the coefficients");
	for (k = 0; status == 0 && k < a.n; k++)
		s->m->linear.bias[k] = a.v[k];
	sklearn_array_free(&a);
	return status;
}

/* Weights of one row for each output. */
static int
set_weights(struct sklearn *s, pickle_ref r, const char *kind)
{
	struct predictor *m = s->m;
	struct sklearn_array a;
	size_t i;
	int status = sklearn_array(s, r, &a);

	if (status == 0 && (!a.v || a.n == 0 || a.ndim < 1 || a.ndim > 2))
		status = sklearn_wrong(s, "the coefficients are not a matrix");
	if (status == 0) {
		m->kind = kind;
		m->form = PREDICT_LINEAR;
		m->outputs = a.ndim == 2 ? a.dims[0] : 1;
		m->features = a.ndim == 2 ? a.dims[1] : a.dims[0];
		m->sharpness = 1;
		m->refuses_nan = true;
		m->linear.after = true;
		m->linear.weights = a.v;
		a.v = NULL;
		m->linear.bias = mem_array(m->outputs, sizeof(double));
		status = m->linear.bias ? 0 : err_memory(s->e);
	}
	for (i = 0; status == 0 && i < a.n; i++)
		if (!isfinite(m->linear.weights[i]))
			status = sklearn_wrong(s, "a coefficient is not finite");
	sklearn_array_free(&a);
	return status;
}

static int
linear(struct sklearn *s, pickle_ref r, bool classes)
{
	(void)classes;
	if (set_weights(s, sklearn_field(s, r, "coef_"), "linear model of scikit-learn") < 0)
		return -1;
	return set_intercept(s, sklearn_field(s, r, "intercept_"));
}

/* With several classes, the probabilities are those of one softmax, unless each class was trained
 * alone. */
static int
logistic(struct sklearn *s, pickle_ref r, bool classes)
{
	bool alone = pickle_is(&s->k, sklearn_field(s, r, "solver"), "liblinear") ||
	             pickle_is(&s->k, sklearn_field(s, r, "multi_class"), "ovr");

	if (linear(s, r, classes) < 0)
		return -1;
	s->m->kind = "logistic regression of scikit-learn";
	s->m->task = s->m->outputs == 1 ? PREDICT_BINARY : PREDICT_CLASSES;
	s->m->link = s->m->outputs == 1 ? LINK_SIGMOID : alone ? LINK_NONE : LINK_SOFTMAX;
	return 0;
}

static int
centers(struct sklearn *s, pickle_ref r, bool classes)
{
	(void)classes;
	if (set_weights(s, sklearn_field(s, r, "cluster_centers_"), "k-means of scikit-learn") < 0)
		return -1;
	s->m->form = PREDICT_CENTERS;
	s->m->task = PREDICT_CLUSTER;
	return 0;
}

/* ---- the table of estimators ---- */

static const struct {
	const char *class;
	int (*read)(struct sklearn *s, pickle_ref r, bool classes);
	bool classes;
} estimators[] = {
	{ "DecisionTreeClassifier", sklearn_tree, true },
	{ "DecisionTreeRegressor", sklearn_tree, false },
	{ "ExtraTreeClassifier", sklearn_tree, true },
	{ "ExtraTreeRegressor", sklearn_tree, false },
	{ "RandomForestClassifier", sklearn_forest, true },
	{ "RandomForestRegressor", sklearn_forest, false },
	{ "ExtraTreesClassifier", sklearn_forest, true },
	{ "ExtraTreesRegressor", sklearn_forest, false },
	{ "GradientBoostingClassifier", sklearn_boosting, true },
	{ "GradientBoostingRegressor", sklearn_boosting, false },
	{ "LinearRegression", linear, false },
	{ "Ridge", linear, false },
	{ "RidgeCV", linear, false },
	{ "Lasso", linear, false },
	{ "LassoCV", linear, false },
	{ "ElasticNet", linear, false },
	{ "ElasticNetCV", linear, false },
	{ "BayesianRidge", linear, false },
	{ "HuberRegressor", linear, false },
	{ "LinearSVR", linear, false },
	{ "LogisticRegression", logistic, true },
	{ "KMeans", centers, false },
	{ "MiniBatchKMeans", centers, false },
};

/* "1.2.1" as 1.02. */
static double
read_version(const struct sklearn *s, pickle_ref r)
{
	pickle_ref text = sklearn_field(s, r, "_sklearn_version");
	const uint8_t *p;
	char copy[16];
	size_t n;
	char *end;
	unsigned long major, minor;

	if (text == PICKLE_NOTHING || pickle_node(&s->k, text)->kind != PICKLE_TEXT)
		return 0;
	p = pickle_bytes(&s->k, text, &n);
	snprintf(copy, sizeof copy, "%.*s", n < 15 ? (int)n : 15, (const char *)p);
	major = strtoul(copy, &end, 10);
	minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
	return (double)major + (double)(minor < 100 ? minor : 99) / 100;
}

static int
read_estimator(struct sklearn *s)
{
	pickle_ref r = s->k.root, field;
	char class[64];
	size_t i;

	sklearn_class(s, r, class);
	for (i = 0; i < sizeof estimators / sizeof *estimators; i++)
		if (strcmp(estimators[i].class, class) == 0)
			break;
	if (i == sizeof estimators / sizeof *estimators)
		return err_set(s->e, ERR_FORMAT, s->where, *class ? "estimators of the class %s are not read"
		               : "the pickle is not an estimator of scikit-learn", class);
	s->version = read_version(s, r);
	if (estimators[i].read(s, r, estimators[i].classes) < 0)
		return -1;
	field = sklearn_field(s, r, "feature_names_in_");
	if (field != PICKLE_NOTHING && read_texts(s, field, false) < 0)
		return -1;
	field = sklearn_field(s, r, "classes_");
	return estimators[i].classes && field != PICKLE_NOTHING ? read_texts(s, field, true) : 0;
}

int
sklearn_read(struct predictor *m, const uint8_t *p, size_t n, const char *where, struct err *e)
{
	struct sklearn s = { .m = m, .where = where, .e = e,
		.k = { .names = names, .name_count = sizeof names / sizeof *names, .where = where } };
	int r = pickle_read(&s.k, p, n, e);

	if (r == 0)
		r = read_estimator(&s);
	pickle_free(&s.k);
	return r;
}
