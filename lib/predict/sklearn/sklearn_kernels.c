/* Neighbours, support vector machines and networks. */
#include <math.h>
#include <stdlib.h>

#include "core/mem.h"
#include "predict/sklearn/sklearn.h"

/* ---- neighbours ---- */

static int
read_metric(struct sklearn *s, pickle_ref r, struct step *x)
{
	static const struct { const char *name; enum step_metric metric; } metrics[] = {
		{ "euclidean", STEP_EUCLID }, { "l2", STEP_EUCLID }, { "manhattan", STEP_MANHATTAN },
		{ "cityblock", STEP_MANHATTAN }, { "l1", STEP_MANHATTAN }, { "chebyshev", STEP_CHEBYSHEV },
		{ "minkowski", STEP_MINKOWSKI }, { "cosine", STEP_COSINE },
	};
	pickle_ref metric = sklearn_field(s, r, "effective_metric_");
	pickle_ref weights = sklearn_field(s, r, "weights");
	const struct pickle_cell *c;
	size_t i, n = sizeof metrics / sizeof *metrics;

	for (i = 0; i < n && (metric == PICKLE_NOTHING || !pickle_is(&s->k, metric, metrics[i].name)); i++)
		;
	if (i == n)
		return err_set(s->e, ERR_FORMAT, s->where, "neighbours by this metric are not read");
	x->mode = metrics[i].metric;
	x->x = 2;
	metric = sklearn_field(s, r, "effective_metric_params_");
	c = metric != PICKLE_NOTHING && pickle_node(&s->k, metric)->kind == PICKLE_DICT
	    ? pickle_first(&s->k, metric) : NULL;
	for (; c && x->mode == STEP_MINKOWSKI; c = pickle_next(&s->k, c)) {
		bool p = pickle_is(&s->k, c->node, "p");

		c = pickle_next(&s->k, c);
		if (!p && sklearn_none(s, c->node))
			continue;
		if (!p || sklearn_number(s, c->node, &x->x) < 0)
			return err_set(s->e, ERR_FORMAT, s->where, "a metric with weights is not read");
	}
	if (!(x->x >= 1 && isfinite(x->x)))
		return sklearn_wrong(s, "the exponent of the metric is not at least 1");
	x->weigh = weights != PICKLE_NOTHING && pickle_is(&s->k, weights, "distance");
	if (!x->weigh && !sklearn_none(s, weights) && !pickle_is(&s->k, weights, "uniform"))
		return err_set(s->e, ERR_FORMAT, s->where, "neighbours with weights by a function are not read");
	return 0;
}

/* Numbers of classes of the rows of training. */
static int
read_targets(struct sklearn *s, pickle_ref r, struct step *x)
{
	struct sklearn_array names;
	size_t i, n;
	double *v = sklearn_vector(s, sklearn_field(s, r, "_y"), x->n, NULL, "classes of training");
	int status;

	if (!v)
		return -1;
	status = sklearn_array(s, sklearn_field(s, r, "classes_"), &names);
	n = status == 0 ? names.n : 0;
	sklearn_array_free(&names);
	x->out = n;
	x->list = mem_array(x->n, sizeof *x->list);
	if (!x->list)
		status = err_memory(s->e);
	for (i = 0; i < x->n && status == 0; i++)
		if (!(v[i] >= 0 && v[i] < (double)n) || n > PREDICT_OUTPUTS)
			status = sklearn_wrong(s, "a row of training has a class that does not exist");
		else
			x->list[i] = (uint32_t)v[i];
	free(v);
	return status;
}

int
sklearn_neighbors(struct sklearn *s, pickle_ref r, bool classes)
{
	struct step *x = sklearn_step(s, classes ? &step_vote : &step_nearest, 0, 0);
	double k = sklearn_or(s, r, "n_neighbors", 0);
	size_t rows;

	if (!x || read_metric(s, r, x) < 0)
		return -1;
	x->a = sklearn_matrix(s, sklearn_field(s, r, "_fit_X"), 0, &x->n, &x->in, "rows of training");
	if (!x->a)
		return -1;
	if (!(k >= 1 && k <= (double)x->n))
		return sklearn_wrong(s, "the number of neighbours is not from 1 to the rows of training");
	x->k = (size_t)k;
	sklearn_scores(s, "neighbours of scikit-learn", classes ? PREDICT_CLASSES : PREDICT_VALUE,
	               classes ? LINK_SHARE : LINK_NONE);
	if (classes)
		return read_targets(s, r, x);
	x->b = sklearn_matrix(s, sklearn_field(s, r, "_y"), 0, &rows, &x->out, "targets of training");
	if (x->b && rows == 1 && x->out == x->n) {
		rows = x->n;
		x->out = 1;
	}
	return !x->b ? -1 : rows == x->n ? 0 : sklearn_wrong(s, "targets and rows of training differ");
}

/* ---- support vectors ---- */

static int
read_kernel(struct sklearn *s, pickle_ref r, struct step *x)
{
	static const char *const kernels[] = { "linear", "poly", "rbf", "sigmoid" };
	pickle_ref kernel = sklearn_field(s, r, "kernel");
	double degree = sklearn_or(s, r, "degree", 3);

	for (x->mode = 0; x->mode < 4; x->mode++)
		if (kernel != PICKLE_NOTHING && pickle_is(&s->k, kernel, kernels[x->mode]))
			break;
	if (x->mode == 4)
		return err_set(s->e, ERR_FORMAT, s->where, "a kernel that is not linear, poly, rbf or sigmoid is "
		               "not read");
	x->x = sklearn_or(s, r, "_gamma", 0);
	x->y = sklearn_or(s, r, "coef0", 0);
	if (!(degree >= 0 && degree <= 1024) || degree != floor(degree))
		return sklearn_wrong(s, "the degree of the kernel is not a number up to 1024");
	x->weigh = (unsigned)degree;
	return 0;
}

/* Platt's coefficients of each pair, if the model was trained to give probabilities. */
static int
read_platt(struct sklearn *s, pickle_ref r, size_t pairs)
{
	struct sklearn_array a = { .n = 0 }, b = { .n = 0 };
	pickle_ref fields[2] = { sklearn_field(s, r, "_probA"), sklearn_field(s, r, "_probB") };
	size_t i;
	int status = 0;

	if (fields[0] == PICKLE_NOTHING) {
		fields[0] = sklearn_field(s, r, "probA_");
		fields[1] = sklearn_field(s, r, "probB_");
	}
	if (sklearn_none(s, fields[0]) || sklearn_none(s, fields[1]))
		return 0;
	if (sklearn_array(s, fields[0], &a) < 0 || sklearn_array(s, fields[1], &b) < 0) {
		status = -1;
	} else if (a.v && b.v && a.n == pairs && b.n == pairs) {
		s->m->platt = mem_array(2 * pairs, sizeof *s->m->platt);
		status = s->m->platt ? 0 : err_memory(s->e);
		for (i = 0; i < pairs && status == 0; i++) {
			s->m->platt[2 * i] = a.v[i];
			s->m->platt[2 * i + 1] = b.v[i];
		}
		s->m->link = LINK_PAIRS;
	} else if (a.n != 0) {
		status = sklearn_wrong(s, "the coefficients of probabilities do not fit the classes");
	}
	sklearn_array_free(&a);
	sklearn_array_free(&b);
	return status;
}

/* The classes of the support vectors, and the task. */
static int
read_pairs(struct sklearn *s, pickle_ref r, struct step *x)
{
	pickle_ref field = sklearn_field(s, r, "_n_support");
	size_t i, n, sum = 0;
	double *v = sklearn_vector(s, field != PICKLE_NOTHING ? field : sklearn_field(s, r, "n_support_"), 0,
	                           &n, "numbers of support vectors");

	if (!v)
		return -1;
	x->list = mem_array(n, sizeof *x->list);
	for (i = 0; x->list && i < n && v[i] >= 0 && v[i] <= (double)(x->n - sum); sum += x->list[i++])
		x->list[i] = (uint32_t)v[i];
	free(v);
	if (!x->list)
		return err_memory(s->e);
	if (i < n || sum != x->n || n < 2 || n > PREDICT_PAIRED)
		return sklearn_wrong(s, "the support vectors of the classes are not all of them");
	x->k = n;
	x->out = n * (n - 1) / 2;
	s->m->classes = n;
	sklearn_scores(s, "support vector machine of scikit-learn", PREDICT_PAIRS, LINK_NONE);
	return read_platt(s, r, x->out);
}

/* For two classes, scikit-learn turns the sign around. */
static void
turn(struct step *x)
{
	size_t i;

	for (i = 0; i < x->n; i++)
		x->b[i] = -x->b[i];
	x->c[0] = -x->c[0];
}

int
sklearn_svm(struct sklearn *s, pickle_ref r, bool classes)
{
	struct step *x = sklearn_step(s, &step_support, 0, 1);
	pickle_ref dual = sklearn_field(s, r, "_dual_coef_"), added = sklearn_field(s, r, "_intercept_");
	size_t rows, columns;

	if (!x || read_kernel(s, r, x) < 0)
		return -1;
	if (sklearn_or(s, r, "_sparse", 0) != 0)
		return err_set(s->e, ERR_FORMAT, s->where, "a machine that was trained with sparse rows is not "
		               "read");
	x->a = sklearn_matrix(s, sklearn_field(s, r, "support_vectors_"), 0, &x->n, &x->in,
	                      "support vectors");
	if (!x->a)
		return -1;
	sklearn_scores(s, "support vector machine of scikit-learn", PREDICT_VALUE, LINK_NONE);
	if (classes && read_pairs(s, r, x) < 0)
		return -1;
	x->b = sklearn_matrix(s, dual, x->n, &rows, &columns, "coefficients");
	x->c = x->b ? sklearn_vector(s, added, x->out, NULL, "intercepts") : NULL;
	if (!x->c)
		return -1;
	if (rows != (classes ? x->k - 1 : 1))
		return sklearn_wrong(s, "the coefficients do not fit the classes");
	if (classes && x->k == 2)
		turn(x);
	return 0;
}

/* ---- networks ---- */

static int
read_activation(struct sklearn *s, pickle_ref r)
{
	static const char *const names[] = { "identity", "logistic", "tanh", "relu" };
	int i;

	for (i = 0; i < 4; i++)
		if (r != PICKLE_NOTHING && pickle_is(&s->k, r, names[i]))
			return i;
	return sklearn_wrong(s, "the activation of the network is not known");
}

static int
read_layers(struct sklearn *s, pickle_ref r, unsigned activation)
{
	pickle_ref weights = sklearn_field(s, r, "coefs_"), biases = sklearn_field(s, r, "intercepts_");
	const struct pickle_cell *w, *b;
	struct step *x;

	if (weights == PICKLE_NOTHING || pickle_node(&s->k, weights)->kind != PICKLE_LIST ||
	    biases == PICKLE_NOTHING || pickle_node(&s->k, biases)->kind != PICKLE_LIST)
		return sklearn_wrong(s, "the network has no layers");
	for (w = pickle_first(&s->k, weights), b = pickle_first(&s->k, biases); w && b;
	     w = pickle_next(&s->k, w), b = pickle_next(&s->k, b)) {
		x = s->m->step_count < PREDICT_OUTPUTS ? sklearn_step(s, &step_layer, 0, 0) : NULL;
		if (!x)
			return sklearn_wrong(s, "the network has too many layers");
		x->b = sklearn_matrix(s, w->node, 0, &x->in, &x->out, "weights of a layer");
		x->a = x->b ? sklearn_vector(s, b->node, x->out, NULL, "intercepts of a layer") : NULL;
		if (!x->a)
			return -1;
		x->mode = pickle_next(&s->k, w) ? activation : STEP_IDENTITY;
	}
	if (w || b)
		return sklearn_wrong(s, "the network has another number of weights than of intercepts");
	return pickle_first(&s->k, weights) ? 0 : sklearn_wrong(s, "the network has no layers");
}

int
sklearn_net(struct sklearn *s, pickle_ref r, bool classes)
{
	int activation = read_activation(s, sklearn_field(s, r, "activation"));
	pickle_ref out = sklearn_field(s, r, "out_activation_");
	size_t outputs;

	if (activation < 0 || read_layers(s, r, (unsigned)activation) < 0)
		return -1;
	outputs = s->m->steps[s->m->step_count - 1].out;
	if (!classes) {
		sklearn_scores(s, "network of scikit-learn", PREDICT_VALUE, LINK_NONE);
		return 0;
	}
	if (out != PICKLE_NOTHING && pickle_is(&s->k, out, "softmax") && outputs > 1)
		sklearn_scores(s, "network of scikit-learn", PREDICT_CLASSES, LINK_SOFTMAX);
	else if (out != PICKLE_NOTHING && pickle_is(&s->k, out, "logistic") && outputs == 1)
		sklearn_scores(s, "network of scikit-learn", PREDICT_BINARY, LINK_SIGMOID);
	else
		return err_set(s->e, ERR_FORMAT, s->where, "a network with several labels is not read");
	return 0;
}
