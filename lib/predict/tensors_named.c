/* Models that are tensors by name, in any container: the types of APR version 1 for which existing
 * software has fields but no payload. The names are those of its fields; a type is known by them.
 *
 *     naive Bayes    means, variances (classes x features), class_priors
 *     neighbours     x_train (rows x features), y_train (classes 0, 1, ...), k
 *     SVM, linear    weights (features, or classes x features), bias
 *     PCA            components (n x features), mean
 *     network        NAME.weight (out x in), NAME.bias for each layer, in the order of the model;
 *                    the key apr.activation says what is between layers (relu, tanh, logistic,
 *                    identity; relu if it is missing), apr.output is softmax for a classifier
 *     recommender    items (n x features): the cosine of a row and each item
 *
 * Values are F32 or F64; numbers of classes also I64 or U64. Sums are in double precision.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "predict/tensors.h"

struct named {
	struct predictor *m;
	const struct weights *w;
	struct err *e;
};

static int
wrong(const struct named *x, const char *what)
{
	return err_set(x->e, ERR_CORRUPT, x->w->name, "%s", what);
}

/* The number of a tensor, or -1. */
static int64_t
place(const struct named *x, const char *name)
{
	size_t i;

	for (i = 0; i < x->w->plan->tensor_count; i++)
		if (strcmp(tensor_name(x->w->plan->tensors[i]), name) == 0)
			return (int64_t)i;
	return -1;
}

static double
value(const char *type, const uint8_t *p, uint64_t i)
{
	union { uint32_t u; float f; } f;
	union { uint64_t u; double d; } d;

	if (type[1] == '3') {
		f.u = le32(p + 4 * i);
		return (double)f.f;
	}
	d.u = le64(p + 8 * i);
	return type[0] == 'F' ? d.d : type[0] == 'U' ? (double)d.u : (double)(int64_t)d.u;
}

/* A matrix; a tensor of one axis is a row. Finite numbers. NULL with an error. */
static double *
matrix(const struct named *x, const char *name, size_t *rows, size_t *columns)
{
	int64_t i = place(x, name);
	const struct tensor *t = i < 0 ? NULL : x->w->plan->tensors[i];
	const char *type = t ? tensor_type(t)->name : "";
	uint64_t n = t ? tensor_items(t) : 0, k;
	double *v;

	if (!t || !x->w->tensors[i] || n == 0 || tensor_ndim(t) > 2 ||
	    !(strcmp(type, "F32") == 0 || strcmp(type, "F64") == 0 || strcmp(type, "I64") == 0 ||
	      strcmp(type, "U64") == 0)) {
		err_set(x->e, ERR_CORRUPT, x->w->name, "the tensor %s is not a matrix of F32, F64, I64 or U64",
		        name);
		return NULL;
	}
	*columns = (size_t)(tensor_ndim(t) == 0 ? 1 : tensor_dims(t)[tensor_ndim(t) - 1]);
	*rows = (size_t)(n / *columns);
	v = mem_array((size_t)n, sizeof *v);
	if (!v) {
		err_memory(x->e);
		return NULL;
	}
	for (k = 0; k < n; k++) {
		v[k] = value(type, x->w->tensors[i], k);
		if (!isfinite(v[k])) {
			err_set(x->e, ERR_CORRUPT, x->w->name, "the tensor %s has a value that is not finite", name);
			free(v);
			return NULL;
		}
	}
	return v;
}

/* n numbers. */
static double *
vector(const struct named *x, const char *name, size_t n)
{
	size_t rows, columns;
	double *v = matrix(x, name, &rows, &columns);

	if (v && rows * columns != n) {
		err_set(x->e, ERR_CORRUPT, x->w->name, "the tensor %s has %zu values in place of %zu", name,
		        rows * columns, n);
		free(v);
		return NULL;
	}
	return v;
}

static struct step *
add(const struct named *x, const struct step_kind *kind)
{
	struct step *s = predictor_add_step(x->m);

	if (!s) {
		err_memory(x->e);
		return NULL;
	}
	s->kind = kind;
	return s;
}

static void
begin(const struct named *x, const char *kind, enum predict_form form, enum predict_task task,
      enum predict_link link)
{
	x->m->kind = kind;
	x->m->form = form;
	x->m->task = task;
	x->m->link = link;
	x->m->sharpness = 1;
	x->m->refuses_nan = true;
}

static int
bayes(const struct named *x)
{
	const double pi = 3.14159265358979323846;
	struct step *s = add(x, &step_gauss);
	size_t rows, width, i, k;

	if (!s)
		return -1;
	s->a = matrix(x, "means", &s->out, &s->in);
	s->b = s->a ? matrix(x, "variances", &rows, &width) : NULL;
	if (s->b && (rows != s->out || width != s->in))
		return wrong(x, "the variances do not fit the means");
	s->c = s->b ? vector(x, "class_priors", s->out) : NULL;
	for (k = 0; s->c && k < s->out; k++) {
		s->c[k] = log(s->c[k]);
		for (i = 0; i < s->in; i++)
			s->c[k] -= 0.5 * log(2 * pi * s->b[k * s->in + i]);
	}
	begin(x, "naive Bayes", PREDICT_STEPS, PREDICT_CLASSES, LINK_SOFTMAX);
	return s->c ? 0 : -1;
}

/* Numbers of classes, as they are; the largest decides how many there are. */
static int
targets(const struct named *x, struct step *s)
{
	double *y = vector(x, "y_train", s->n);
	size_t i;
	int r = y ? 0 : -1;

	s->list = y ? mem_array(s->n, sizeof *s->list) : NULL;
	if (y && !s->list)
		r = err_memory(x->e);
	for (i = 0; r == 0 && i < s->n; i++) {
		if (!(y[i] >= 0 && y[i] < PREDICT_OUTPUTS) || y[i] != floor(y[i])) {
			r = wrong(x, "a class of y_train is not a number from 0 on");
			break;
		}
		s->list[i] = (uint32_t)y[i];
		s->out = s->list[i] >= s->out ? s->list[i] + 1 : s->out;
	}
	free(y);
	return r;
}

static int
neighbours(const struct named *x)
{
	struct step *s = add(x, &step_vote);
	double *k;

	if (!s)
		return -1;
	s->a = matrix(x, "x_train", &s->n, &s->in);
	k = s->a ? vector(x, "k", 1) : NULL;
	if (k)
		s->k = *k >= 1 && *k <= (double)s->n ? (size_t)*k : 0;
	free(k);
	if (!k)
		return -1;
	if (s->k == 0)
		return wrong(x, "k is not from 1 to the rows of x_train");
	begin(x, "neighbours", PREDICT_STEPS, PREDICT_CLASSES, LINK_SHARE);
	return targets(x, s);
}

static int
lines(const struct named *x)
{
	struct predictor *m = x->m;

	m->linear.weights = matrix(x, "weights", &m->outputs, &m->features);
	m->linear.bias = m->linear.weights ? vector(x, "bias", m->outputs) : NULL;
	m->linear.after = true;
	begin(x, "linear support vector machine", PREDICT_LINEAR,
	      m->outputs == 1 ? PREDICT_BINARY : PREDICT_CLASSES, LINK_NONE);
	m->by_score = true;
	return m->linear.bias ? 0 : -1;
}

/* The transposed matrix of n x k; takes v. */
static double *
turn(const struct named *x, double *v, size_t n, size_t k)
{
	double *to = v ? mem_array(n * k, sizeof *to) : NULL;
	size_t i, j;

	for (i = 0; to && i < n; i++)
		for (j = 0; j < k; j++)
			to[j * n + i] = v[i * k + j];
	if (v && !to)
		err_memory(x->e);
	free(v);
	return to;
}

static int
components(const struct named *x)
{
	struct step *s = add(x, &step_project);

	if (!s)
		return -1;
	s->b = matrix(x, "components", &s->out, &s->in);
	s->b = turn(x, s->b, s->out, s->in);
	s->a = s->b ? vector(x, "mean", s->in) : NULL;
	begin(x, "PCA", PREDICT_STEPS, PREDICT_VALUE, LINK_NONE);
	return s->a ? 0 : -1;
}

static int
items(const struct named *x)
{
	struct predictor *m = x->m;
	struct step *s = add(x, &step_norm);
	size_t i, k;

	if (!s)
		return -1;
	m->linear.weights = matrix(x, "items", &m->outputs, &m->features);
	if (!m->linear.weights)
		return -1;
	s->in = s->out = m->features;
	s->mode = STEP_L2;
	for (k = 0; k < m->outputs; k++) {
		double *v = m->linear.weights + k * m->features, sum = 0;

		for (i = 0; i < m->features; i++)
			sum += v[i] * v[i];
		for (i = 0; i < m->features && sum != 0; i++)
			v[i] /= sqrt(sum);
	}
	m->linear.bias = mem_array(m->outputs, sizeof *m->linear.bias);
	begin(x, "recommender", PREDICT_LINEAR, PREDICT_CLASSES, LINK_NONE);
	return m->linear.bias ? 0 : err_memory(x->e);
}

/* ---- networks ---- */

static int
activation(const struct named *x)
{
	static const char *const names[] = { "identity", "logistic", "tanh", "relu" };
	const char *text = model_text(x->w->plan, "apr.activation");
	int i;

	for (i = 0; text && i < 4; i++)
		if (strcmp(text, names[i]) == 0)
			return i;
	return text ? wrong(x, "apr.activation is not relu, tanh, logistic or identity") : STEP_RELU;
}

static int
layer(const struct named *x, const char *name, int f)
{
	size_t n = strlen(name) - strlen("weight");
	char bias[256];
	struct step *s = add(x, &step_layer);

	if (!s || n + sizeof "bias" > sizeof bias)
		return s ? wrong(x, "the name of a layer is too long") : -1;
	memcpy(bias, name, n);
	memcpy(bias + n, "bias", sizeof "bias");
	s->b = matrix(x, name, &s->out, &s->in);
	s->b = turn(x, s->b, s->out, s->in);
	s->a = s->b && place(x, bias) >= 0 ? vector(x, bias, s->out) : NULL;
	s->mode = (unsigned)f;
	return s->b && (s->a || place(x, bias) < 0) ? 0 : -1;
}

static bool
is_weight(const char *name)
{
	size_t n = strlen(name);

	return n > 7 && strcmp(name + n - 7, ".weight") == 0;
}

static int
network(const struct named *x)
{
	const char *out = model_text(x->w->plan, "apr.output");
	bool classes = out && strcmp(out, "softmax") == 0;
	int f = activation(x);
	size_t i;

	for (i = 0; f >= 0 && i < x->w->plan->tensor_count; i++)
		if (is_weight(tensor_name(x->w->plan->tensors[i])) &&
		    layer(x, tensor_name(x->w->plan->tensors[i]), f) < 0)
			return -1;
	if (f < 0)
		return -1;
	x->m->steps[x->m->step_count - 1].mode = STEP_IDENTITY;
	begin(x, "network", PREDICT_STEPS, classes ? PREDICT_CLASSES : PREDICT_VALUE,
	      classes ? LINK_SOFTMAX : LINK_NONE);
	return 0;
}

/* Whether all tensors are weights of two axes and their biases, at most LAYERS of them. */
#define LAYERS 256

static bool
is_network(const struct named *x)
{
	size_t i, weights = 0, n = x->w->plan->tensor_count;

	for (i = 0; i < n && n <= 2 * LAYERS; i++) {
		const struct tensor *t = x->w->plan->tensors[i];
		const char *name = tensor_name(t);
		size_t length = strlen(name);

		if (is_weight(name) && tensor_ndim(t) == 2)
			weights++;
		else if (length < 6 || strcmp(name + length - 5, ".bias") != 0)
			return false;
	}
	return n <= 2 * LAYERS && weights > 0;
}

/* ---- the table ---- */

static const struct {
	const char *names[4];
	int (*read)(const struct named *x);
} types[] = {
	{ { "means", "variances", "class_priors" }, bayes },
	{ { "x_train", "y_train", "k" }, neighbours },
	{ { "weights", "bias" }, lines },
	{ { "components", "mean" }, components },
	{ { "items" }, items },
};

int
predict_named(struct predictor *m, const struct weights *w, struct err *e)
{
	const struct named x = { m, w, e };
	size_t i, k, n = sizeof types / sizeof *types;

	for (i = 0; i < n; i++) {
		for (k = 0; k < 4 && types[i].names[k] && place(&x, types[i].names[k]) >= 0; k++)
			;
		if (k == 4 || !types[i].names[k])
			return types[i].read(&x) < 0 ? -1 : predictor_finish(m, w->name, e);
	}
	if (is_network(&x) && model_text(w->plan, "general.architecture") == NULL)
		return network(&x) < 0 ? -1 : predictor_finish(m, w->name, e);
	return 1;
}
