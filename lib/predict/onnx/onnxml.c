/* Classical models in ONNX: a graph whose nodes follow one another, of the operators TreeEnsemble-
 * Classifier and -Regressor, LinearClassifier and -Regressor, SVMClassifier and -Regressor, Scaler,
 * Normalizer, Imputer, Binarizer; Relu, Tanh, Sigmoid, Softmax between LinearRegressors.
 * Cast, Identity and ZipMap pass values on.
 *
 * All numbers are floats; thresholds are compared as such, and sums are in single precision, the base
 * value last, as ONNX Runtime adds them.
 *
 * Source: onnx.proto, and the operators of the domain ai.onnx.ml in the documentation of ONNX.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/onnx/onnxml.h"
#include "predict/onnx/onnxops.h"
#include "predict/readers.h"

static const struct onnxml_part nothing = { (const uint8_t *)"", 0 };

/* ---- labels and links ---- */

static int
take_label(struct onnxml *x, struct onnxml_part text)
{
	return predictor_add_label(x->m, (const char *)text.p, text.n, x->e);
}

int
onnxml_labels(struct onnxml *x)
{
	struct buf b = { 0 };
	char text[32];
	size_t i;
	int r = onnxml_texts(x, "classlabels_strings", take_label);

	if (r == 0 && x->m->label_count == 0)
		r = onnxml_numbers(x, onnxml_has(x, "classlabels_int64s") ? "classlabels_int64s"
		                                                          : "classlabels_ints", false, &b);
	for (i = 0; r == 0 && i < b.n / sizeof(double); i++) {
		snprintf(text, sizeof text, "%.17g", ((double *)(void *)b.p)[i]);
		r = predictor_add_label(x->m, text, strlen(text), x->e);
	}
	buf_free(&b);
	return r;
}

int
onnxml_link(struct onnxml *x, bool classes)
{
	struct predictor *m = x->m;

	m->sharpness = 1;
	m->rounds = m->single = true;
	m->task = !classes ? PREDICT_VALUE : m->outputs == 1 ? PREDICT_BINARY : PREDICT_CLASSES;
	if (onnxml_is(x, "post_transform", "LOGISTIC"))
		m->link = LINK_SIGMOID;
	else if (onnxml_is(x, "post_transform", "SOFTMAX") && m->outputs > 1)
		m->link = LINK_SOFTMAX;
	else if (!onnxml_has(x, "post_transform") || onnxml_is(x, "post_transform", "NONE"))
		m->link = classes ? LINK_SHARE : LINK_NONE;
	else
		return err_set(x->e, ERR_FORMAT, x->where, "a model with this post_transform is not read");
	return 0;
}

/* ---- steps ---- */

/* (x - a) * b in single precision. */
static int
scale(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	size_t i, j;

	(void)spare;
	(void)e;
	for (i = 0; i < x->n; i++)
		for (j = 0; j < s->in; j++)
			step_row(x, i)[j] = (double)(((float)step_row(x, i)[j] - (float)s->a[j]) * (float)s->b[j]);
	return 0;
}

static const struct step_kind step_scale = { "scaler", false, false, scale };

/* What a row of singles is divided by, and then by: the greatest value and 1; or the greatest size, and
 * the norm of what is left. ONNX Runtime has these numbers in double precision. */
void
onnxml_divisors(const double *v, size_t n, unsigned norm, double by[2])
{
	double sum = 0;
	size_t i;

	by[0] = norm == STEP_MAX ? -DBL_MAX : 0;
	by[1] = 1;
	for (i = 0; i < n; i++) {
		double a = norm == STEP_MAX ? v[i] : fabs(v[i]);

		by[0] = a > by[0] ? a : by[0];
	}
	for (i = 0; i < n && norm != STEP_MAX; i++)
		sum += norm == STEP_L1 ? fabs(v[i] / by[0]) : v[i] / by[0] * (v[i] / by[0]);
	if (norm != STEP_MAX)
		by[1] = norm == STEP_L2 ? sqrt(sum) : sum;
}

static int
normalize(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	size_t i, j;
	double by[2];

	(void)spare;
	(void)e;
	for (i = 0; i < x->n; i++) {
		double *v = step_row(x, i);

		for (j = 0; j < s->in; j++)
			v[j] = (double)(float)v[j];
		onnxml_divisors(v, s->in, s->mode, by);
		for (j = 0; j < s->in && by[0] != 0; j++)
			v[j] = (double)(float)(v[j] / by[0] / by[1]);
	}
	return 0;
}

static const struct step_kind step_normalize = { "normalizer", false, false, normalize };

/* 1 if greater than x, else 0, in single precision. */
static int
binarize(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	size_t i, j;

	(void)spare;
	(void)e;
	for (i = 0; i < x->n; i++)
		for (j = 0; j < s->in; j++)
			step_row(x, i)[j] = (float)step_row(x, i)[j] > (float)s->x;
	return 0;
}

static const struct step_kind step_binarizer = { "binarizer", false, false, binarize };

static struct step *
add_step(struct onnxml *x, const struct step_kind *kind)
{
	struct step *s = predictor_add_step(x->m);

	if (!s) {
		err_memory(x->e);
		return NULL;
	}
	*s = (struct step){ .kind = kind, .in = x->width, .out = x->width };
	return s;
}

/* As many floats as the rows are wide; one is repeated. NULL with an error. */
static double *
wide(struct onnxml *x, const char *name)
{
	struct buf b = { 0 };
	double *v = NULL;
	size_t i, n;

	if (onnxml_numbers(x, name, true, &b) < 0)
		return NULL;
	n = b.n / sizeof *v;
	if (n > 1 && x->width == 0)
		x->width = n;
	if (n == 0 || (n != 1 && n != x->width) || x->width == 0)
		onnxml_wrong(x, "the numbers of a scaler do not fit the rows");
	else if (!(v = mem_array(x->width, sizeof *v)))
		err_memory(x->e);
	for (i = 0; v && i < x->width; i++)
		v[i] = ((double *)(void *)b.p)[n == 1 ? 0 : i];
	buf_free(&b);
	return v;
}

static int
read_scaler(struct onnxml *x)
{
	double *a = wide(x, "offset"), *b = a ? wide(x, "scale") : NULL;
	struct step *s = b ? add_step(x, &step_scale) : NULL;

	if (!s) {
		free(a);
		free(b);
		return -1;
	}
	s->a = a;
	s->b = b;
	return 0;
}

static int
read_imputer(struct onnxml *x)
{
	double *a = isnan(onnxml_float(x, "replaced_value_float", 0))
	            ? wide(x, "imputed_value_floats") : NULL;
	struct step *s = a ? add_step(x, &step_impute) : NULL;

	if (s)
		s->a = a;
	else
		free(a);
	return s ? 0 : err_set(x->e, ERR_FORMAT, x->where, "this imputer is not read");
}

static int
read_normalizer(struct onnxml *x)
{
	struct step *s = x->width ? add_step(x, &step_normalize) : NULL;

	if (!s)
		return onnxml_wrong(x, "the width of the rows is not known");
	s->mode = onnxml_is(x, "norm", "L1") ? STEP_L1 : onnxml_is(x, "norm", "L2") ? STEP_L2 : STEP_MAX;
	return 0;
}

static int
read_binarizer(struct onnxml *x)
{
	struct step *s = x->width ? add_step(x, &step_binarizer) : NULL;

	if (!s)
		return onnxml_wrong(x, "the width of the rows is not known");
	s->x = onnxml_float(x, "threshold", 0);
	return 0;
}

/* ---- linear models ---- */

static int
read_linear(struct onnxml *x, bool classes)
{
	struct predictor *m = x->m;
	struct buf w = { 0 }, b = { 0 };
	size_t n, k, i;
	int r = -1;

	if (onnxml_numbers(x, "coefficients", true, &w) < 0 || onnxml_numbers(x, "intercepts", true, &b) < 0)
		goto end;
	n = b.n / sizeof(double);
	n = n ? n : 1;
	if (w.n == 0 || w.n / sizeof(double) % n) {
		onnxml_wrong(x, "the coefficients do not fit the intercepts");
		goto end;
	}
	m->form = PREDICT_LINEAR;
	m->kind = "linear model of ONNX";
	m->outputs = n;
	m->features = w.n / sizeof(double) / n;
	m->refuses_nan = true;
	m->linear.after = true;
	m->linear.weights = mem_array(w.n / sizeof(double), sizeof(double));
	m->linear.bias = mem_array(n, sizeof(double));
	if (!m->linear.weights || !m->linear.bias) {
		err_memory(x->e);
		goto end;
	}
	memcpy(m->linear.weights, w.p, w.n);
	for (k = 0; k < b.n / sizeof(double); k++)
		m->linear.bias[k] = ((double *)(void *)b.p)[k];
	for (i = 0; i < w.n / sizeof(double) && isfinite(m->linear.weights[i]); i++)
		;
	r = i < w.n / sizeof(double) ? onnxml_wrong(x, "a coefficient is not finite")
	    : onnxml_link(x, classes) < 0 ? -1 : classes ? onnxml_labels(x) : 0;
	if (m->link == LINK_SHARE) {
		m->link = LINK_NONE;
		m->by_score = true;
	}
end:
	buf_free(&w);
	buf_free(&b);
	return r;
}

static int
linear_classes(struct onnxml *x)
{
	return read_linear(x, true);
}

static int
linear_values(struct onnxml *x)
{
	return read_linear(x, false);
}

/* ---- the graph ---- */

static const struct {
	const char *op;
	int (*read)(struct onnxml *x); /* NULL: values pass */
	bool last;
} ops[] = {
	{ "Cast", NULL, false }, { "Identity", NULL, false }, { "ZipMap", NULL, false },
	{ "Scaler", read_scaler, false }, { "Normalizer", read_normalizer, false },
	{ "Imputer", read_imputer, false }, { "Binarizer", read_binarizer, false },
	{ "Relu", onnxml_relu, false }, { "Tanh", onnxml_tanh, false }, { "Sigmoid", onnxml_sigmoid, false },
	{ "Softmax", onnxml_softmax, false },
	{ "LinearRegressor", linear_values, true }, { "LinearClassifier", linear_classes, true },
	{ "SVMRegressor", onnxml_svm_values, true }, { "SVMClassifier", onnxml_svm_classes, true },
	{ "TreeEnsembleRegressor", onnxml_tree_values, true },
	{ "TreeEnsembleClassifier", onnxml_tree_classes, true }, { "TreeEnsemble", onnxml_tree_ensemble, true },
};

static int
take_node(struct onnxml *x, struct onnxml_part node)
{
	struct onnxml_part op = nothing;
	size_t i, n = sizeof ops / sizeof *ops;

	if (onnxml_node(x, node, &op) < 0)
		return -1;
	for (i = 0; i < n && !onnxml_same(op, ops[i].op); i++)
		;
	if (i == n)
		return err_set(x->e, ERR_FORMAT, x->where, "the operator %.*s is not read here",
		               op.n < 60 ? (int)op.n : 60, (const char *)op.p);
	if (x->done && ops[i].read && x->m->form == PREDICT_LINEAR && x->m->task == PREDICT_VALUE &&
	    x->m->link == LINK_NONE) {
		struct step *s = predictor_add_step(x->m);

		if (!s)
			return err_memory(x->e);
		onnxml_go_on(x, s);
	}
	if (!x->done && x->last.p && !onnxml_equal(x->input, x->last))
		return err_set(x->e, ERR_FORMAT, x->where, "the nodes of the graph do not follow one another");
	x->last = x->output;
	if (!ops[i].read)
		return 0;
	if (x->done || x->m->step_count > ONNXML_ATTRIBUTES)
		return err_set(x->e, ERR_FORMAT, x->where, "the operator %s follows a model", ops[i].op);
	x->done = ops[i].last;
	if (!ops[i].last)
		x->m->form = PREDICT_STEPS;
	else
		x->m->form = PREDICT_TREES;
	x->m->kind = "scaler of ONNX";
	return ops[i].read(x);
}

int
onnxml_model(struct onnxml *x, const char *op)
{
	size_t i, n = sizeof ops / sizeof *ops;

	for (i = 0; i < n && !(ops[i].last && strcmp(ops[i].op, op) == 0); i++)
		;
	x->m->form = PREDICT_TREES;
	return i < n ? ops[i].read(x) : onnxml_wrong(x, "is not a model");
}

/* The last dimension of the first input, 0 if it is not a number. */
static void
read_width(struct onnxml *x, struct onnxml_part input)
{
	struct onnxml_part a, last = { NULL, 0 };
	struct protobuf m;
	struct protobuf_field f;

	if (!onnxml_inside(x, input, INPUT_TYPE, &a) || !onnxml_inside(x, a, TYPE_TENSOR, &a) ||
	    !onnxml_inside(x, a, TENSOR_SHAPE, &a) || !onnxml_inside(x, a, SHAPE_DIMENSION, &last))
		return;
	protobuf_open(&m, last.p, last.n, x->where, x->e);
	while (protobuf_next(&m, &f) == 1)
		if (f.number == DIMENSION_VALUE && f.form == PROTOBUF_VARINT && f.value <= FOREST_FEATURES)
			x->width = (size_t)f.value;
}

static int
each_part(struct onnxml *x, struct onnxml_part graph, uint32_t number,
          int (*take)(struct onnxml *x, struct onnxml_part part))
{
	struct protobuf m;
	struct protobuf_field f;

	protobuf_open(&m, graph.p, graph.n, x->where, x->e);
	while (protobuf_next(&m, &f) == 1)
		if (f.number == number && f.form == PROTOBUF_BYTES &&
		    take(x, (struct onnxml_part){ f.p, (size_t)f.value }) < 0)
			return -1;
	return x->e->code == ERR_NONE ? 0 : -1;
}

static int
take_input(struct onnxml *x, struct onnxml_part input)
{
	if (!x->seen)
		read_width(x, input);
	x->seen = true;
	return 0;
}

bool
onnxml_probe(const uint8_t *p, size_t n)
{
	static const char *const words[] = { "ai.onnx.ml", "TreeEnsemble", "LinearClassifier",
		"LinearRegressor", "SVMClassifier", "SVMRegressor" };
	/* The length that a file of safetensors begins with is not a field of a message. */
	const bool header = n > 8 && p[8] == '{' && !p[5] && !p[6] && !p[7];
	size_t i;

	for (i = 0; n > 2 && p[0] == 8 && !header && i < sizeof words / sizeof *words; i++)
		if (memmem(p, n, words[i], strlen(words[i])))
			return true;
	return false;
}

static int
read_chain(struct predictor *m, const uint8_t *p, size_t n, const char *where, struct err *e)
{
	struct onnxml *x = mem_array(1, sizeof *x);
	struct onnxml_part graph;
	int r = -1;

	if (!x)
		return err_memory(e);
	*x = (struct onnxml){ .m = m, .where = where, .e = e };
	if (!onnxml_inside(x, (struct onnxml_part){ p, n }, MODEL_GRAPH, &graph))
		onnxml_wrong(x, "the model has no graph");
	else if (each_part(x, graph, GRAPH_INPUT, take_input) == 0)
		r = each_part(x, graph, GRAPH_NODE, take_node);
	free(x);
	return r;
}

/* Nodes that just follow one another become trees, weights and steps, which many rows pass fast; any other graph
 * is computed operator by operator. If neither reads it, the error is that of the one that came further. */
int
onnxml_read(struct predictor *m, const uint8_t *p, size_t n, const char *where, struct err *e)
{
	struct err chain = ERR_INIT, graph = ERR_INIT;

	if (read_chain(m, p, n, where, &chain) == 0)
		return 0;
	if (chain.code != ERR_MEMORY) {
		onnxml_again(m);
		if (onnxops_read(m, p, n, where, &graph) == 0)
			return 0;
	}
	*e = chain.code == ERR_FORMAT && graph.code != ERR_NO ? graph : chain;
	return -1;
}

void
onnxml_again(struct predictor *m)
{
	bool covers = m->covers;
	size_t most = m->forest.most;

	predictor_free(m);
	m->covers = covers;
	m->forest.most = most;
}
