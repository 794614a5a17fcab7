/* Support vector machines of ONNX. The decision of a pair of classes is the sum of coefficients times
 * kernels, and rho; it is positive for the first class. Coefficients: (classes - 1) x vectors, as in
 * LIBSVM. kernel_params: gamma, coef0, degree.
 *
 * Source: SVMClassifier and SVMRegressor in the documentation of ONNX. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/onnx/onnxml.h"

/* Numbers of an attribute, exactly n of them (0: any number). NULL with an error. */
static double *
numbers(struct onnxml *x, const char *name, bool floats, size_t n, size_t *count)
{
	struct buf b = { 0 };
	double *v = NULL;
	size_t i;

	if (onnxml_numbers(x, name, floats, &b) < 0)
		return NULL;
	*count = b.n / sizeof *v;
	if (*count == 0 || (n && *count != n))
		err_set(x->e, ERR_CORRUPT, x->where, "%s has %zu values%s", name, *count, n ? ", not as many as the "
		        "others ask for" : "");
	else if (!(v = mem_array(*count, sizeof *v)))
		err_memory(x->e);
	for (i = 0; v && i < *count; i++) {
		v[i] = ((double *)(void *)b.p)[i];
		if (!isfinite(v[i])) {
			err_set(x->e, ERR_CORRUPT, x->where, "%s has a value that is not finite", name);
			free(v);
			v = NULL;
		}
	}
	buf_free(&b);
	return v;
}

static int
read_kernel(struct onnxml *x, struct step *s)
{
	static const char *const kernels[] = { "LINEAR", "POLY", "RBF", "SIGMOID" };
	size_t n;
	double *v;

	for (s->mode = 0; s->mode < 4 && !onnxml_is(x, "kernel_type", kernels[s->mode]); s->mode++)
		;
	if (s->mode == 4 && onnxml_has(x, "kernel_type"))
		return onnxml_wrong(x, "the kernel is not known");
	s->mode = s->mode == 4 ? STEP_LINEAR : s->mode;
	if (s->mode == STEP_LINEAR && !onnxml_has(x, "kernel_params"))
		return 0;
	v = numbers(x, "kernel_params", true, 3, &n);
	if (!v)
		return -1;
	s->x = v[0];
	s->y = v[1];
	s->weigh = v[2] >= 0 && v[2] <= 1024 ? (unsigned)v[2] : 0;
	n = v[2] == (double)s->weigh || s->mode != STEP_POLY;
	free(v);
	return n ? 0 : onnxml_wrong(x, "the degree of the kernel is not a number up to 1024");
}

/* The support vectors, n of them. */
static int
read_vectors(struct onnxml *x, struct step *s, size_t n)
{
	size_t count;

	s->n = n;
	s->a = numbers(x, "support_vectors", true, 0, &count);
	if (!s->a)
		return -1;
	if (n == 0 || count % n || count / n > FOREST_FEATURES || (x->width && count / n != x->width))
		return onnxml_wrong(x, "the support vectors do not fit their number or the rows");
	s->in = count / n;
	return read_kernel(x, s);
}

static struct step *
begin(struct onnxml *x, const char *kind)
{
	struct step *s = predictor_add_step(x->m);

	if (!s) {
		err_memory(x->e);
		return NULL;
	}
	s->kind = &step_support;
	x->m->kind = kind;
	x->m->form = PREDICT_STEPS;
	x->m->sharpness = 1;
	x->m->rounds = false;
	x->m->refuses_nan = true;
	return s;
}

/* Without support vectors, the coefficients are weights of the features for each class or for the value, and rho is
 * added to all. */
static int
read_weights(struct onnxml *x, bool classes)
{
	struct predictor *m = x->m;
	size_t i, n, count;
	double *w = numbers(x, "coefficients", true, 0, &n), *rho = w ? numbers(x, "rho", true, 0, &count) : NULL;
	int r = rho ? classes ? onnxml_labels(x) : 0 : -1;

	m->linear.weights = w;
	m->linear.bias = rho && r == 0 ? mem_array(m->label_count + 1, sizeof *w) : NULL;
	m->form = PREDICT_LINEAR;
	m->kind = "linear support vector machine of ONNX";
	m->outputs = classes ? m->label_count : 1;
	m->features = m->outputs ? n / m->outputs : 0;
	m->refuses_nan = m->linear.after = m->by_score = true;
	m->single = m->rounds = true;
	m->task = classes ? PREDICT_CLASSES : PREDICT_VALUE;
	m->sharpness = 1;
	m->link = LINK_NONE;
	for (i = 0; m->linear.bias && i < m->outputs; i++)
		m->linear.bias[i] = rho[0];
	free(rho);
	if (r < 0)
		return -1;
	if (!m->linear.bias)
		return err_memory(x->e);
	if (m->features == 0 || n % m->outputs || (classes && m->outputs < 2) ||
	    (onnxml_has(x, "kernel_type") && !onnxml_is(x, "kernel_type", "LINEAR")))
		return onnxml_wrong(x, "weights without support vectors do not fit the classes or the kernel");
	return 0;
}

int
onnxml_svm_values(struct onnxml *x)
{
	struct step *s;
	size_t n, count;

	if (!onnxml_has(x, "support_vectors") && onnxml_float(x, "n_supports", 0) == 0 && onnxml_float(x, "one_class", 0) == 0)
		return read_weights(x, false);
	s = begin(x, "support vector machine of ONNX");
	if (!s)
		return -1;
	if (onnxml_float(x, "one_class", 0) != 0)
		return onnxml_wrong(x, "a machine of one class is not read");
	s->b = numbers(x, "coefficients", true, 0, &n);
	s->c = s->b ? numbers(x, "rho", true, 1, &count) : NULL;
	s->out = 1;
	x->m->task = PREDICT_VALUE;
	x->m->link = LINK_NONE;
	return s->c ? read_vectors(x, s, n) : -1;
}

/* Platt's coefficients of each pair. */
static int
read_platt(struct onnxml *x, size_t pairs)
{
	double *a, *b;
	size_t i, n;

	if (!onnxml_has(x, "prob_a"))
		return 0;
	a = numbers(x, "prob_a", true, pairs, &n);
	b = a ? numbers(x, "prob_b", true, pairs, &n) : NULL;
	x->m->platt = b ? mem_array(2 * pairs, sizeof *a) : NULL;
	for (i = 0; x->m->platt && i < pairs; i++) {
		x->m->platt[2 * i] = a[i];
		x->m->platt[2 * i + 1] = b[i];
	}
	free(a);
	free(b);
	x->m->link = LINK_PAIRS;
	return x->m->platt ? 0 : b ? err_memory(x->e) : -1;
}

/* The numbers of support vectors of the classes. */
static int
read_classes(struct onnxml *x, struct step *s, size_t *vectors)
{
	size_t i, n;
	double *v = numbers(x, "vectors_per_class", false, 0, &n);

	if (!v)
		return -1;
	*vectors = 0;
	s->list = mem_array(n, sizeof *s->list);
	for (i = 0; s->list && i < n && v[i] >= 0 && v[i] < FOREST_FEATURES; *vectors += s->list[i++])
		s->list[i] = (uint32_t)v[i];
	free(v);
	if (!s->list)
		return err_memory(x->e);
	if (i < n || n < 2 || n > PREDICT_PAIRED)
		return onnxml_wrong(x, "vectors_per_class is wrong");
	s->k = n;
	s->out = n * (n - 1) / 2;
	x->m->classes = n;
	return 0;
}

int
onnxml_svm_classes(struct onnxml *x)
{
	struct step *s;
	size_t i, n = 0, count;

	if (!onnxml_has(x, "vectors_per_class") && !onnxml_has(x, "support_vectors"))
		return read_weights(x, true);
	s = begin(x, "support vector machine of ONNX");
	if (!s || read_classes(x, s, &n) < 0 || read_vectors(x, s, n) < 0)
		return -1;
	s->b = numbers(x, "coefficients", true, (s->k - 1) * n, &count);
	s->c = s->b ? numbers(x, "rho", true, s->out, &count) : NULL;
	if (!s->c)
		return -1;
	x->m->task = PREDICT_PAIRS;
	x->m->link = LINK_NONE;
	for (i = 0; s->k == 2 && i < n; i++) /* scores of two classes are positive for the second */
		s->b[i] = -s->b[i];
	s->c[0] = s->k == 2 ? -s->c[0] : s->c[0];
	return read_platt(x, s->out) < 0 ? -1 : onnxml_labels(x);
}
