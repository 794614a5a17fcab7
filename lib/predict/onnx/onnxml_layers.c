/* Layers of ONNX: a LinearRegressor that other nodes follow, and activations. All in single precision. */
#include <math.h>

#include "predict/onnx/onnxml.h"

static int
products(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	size_t i, j, k;

	if (step_rows_begin(spare, x->n, s->out, e) < 0)
		return -1;
	for (i = 0; i < x->n; i++)
		for (k = 0; k < s->out; k++) {
			float sum = 0;

			for (j = 0; j < s->in; j++)
				sum += (float)step_row(x, i)[j] * (float)s->b[k * s->in + j];
			step_row(spare, i)[k] = (double)(sum + (float)s->a[k]);
		}
	step_rows_swap(x, spare);
	return 0;
}

static const struct step_kind step_products = { "products", false, false, products };

void
onnxml_go_on(struct onnxml *x, struct step *s)
{
	struct predictor *m = x->m;

	*s = (struct step){ .kind = &step_products, .in = m->features, .out = m->outputs, .a = m->linear.bias,
		.b = m->linear.weights };
	m->linear = (struct predict_linear){ .weights = NULL };
	m->form = PREDICT_STEPS;
	m->rounds = m->single = false;
	x->width = s->out;
	x->done = false;
}

static float
activate(unsigned f, float v)
{
	switch (f) {
	case STEP_LOGISTIC:
		return 1 / (1 + expf(-v));
	case STEP_TANH:
		return tanhf(v);
	default:
		return v > 0 || isnan(v) ? v : 0;
	}
}

static void
softmax(double *v, size_t n)
{
	float most = (float)v[0], sum = 0;
	size_t i;

	for (i = 1; i < n; i++)
		most = (float)v[i] > most ? (float)v[i] : most;
	for (i = 0; i < n; i++) {
		v[i] = (double)expf((float)v[i] - most);
		sum += (float)v[i];
	}
	for (i = 0; i < n; i++)
		v[i] = (double)((float)v[i] / sum);
}

static int
apply(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	size_t i, j;

	(void)spare;
	(void)e;
	for (i = 0; i < x->n; i++) {
		double *v = step_row(x, i);

		for (j = 0; j < s->in && s->mode != STEP_SOFTMAX; j++)
			v[j] = (double)activate(s->mode, (float)v[j]);
		if (s->mode == STEP_SOFTMAX)
			softmax(v, s->in);
	}
	return 0;
}

static const struct step_kind step_activation = { "activation", false, false, apply };

static int
add(struct onnxml *x, unsigned mode)
{
	struct step *s = x->width ? predictor_add_step(x->m) : NULL;

	if (!s)
		return x->width ? err_memory(x->e) : onnxml_wrong(x, "the width of the rows is not known");
	*s = (struct step){ .kind = &step_activation, .in = x->width, .out = x->width, .mode = mode };
	return 0;
}

int
onnxml_relu(struct onnxml *x)
{
	return add(x, STEP_RELU);
}

int
onnxml_tanh(struct onnxml *x)
{
	return add(x, STEP_TANH);
}

int
onnxml_sigmoid(struct onnxml *x)
{
	return add(x, STEP_LOGISTIC);
}

int
onnxml_softmax(struct onnxml *x)
{
	return add(x, STEP_SOFTMAX);
}
