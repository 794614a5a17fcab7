/* Steps as nodes of ONNX: Scaler, Normalizer, Binarizer, Imputer, LinearRegressor for projections and
 * layers, activations, SVMClassifier and -Regressor.
 *
 * Source: the operators in the documentation of ONNX. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predict/onnx/onnxml_put.h"

/* ---- attributes ---- */

static void
put_floats(struct buf *node, const char *name, const double *v, size_t n, double by)
{
	struct buf list = { 0 };
	size_t i;

	for (i = 0; i < n; i++)
		onnx_add_float(&list, (float)(by * v[i]));
	onnx_put_attribute(node, name, OF_FLOATS, &list);
}

static void
put_int(struct buf *node, const char *name, uint64_t v)
{
	struct buf n = { 0 };

	onnx_put_number(&n, ATTRIBUTE_I, v);
	onnx_put_attribute(node, name, OF_INT, &n);
}

void
onnx_put_products(struct buf *node, const double *w, const double *bias, size_t out, size_t in, bool turned,
                  bool targets)
{
	struct buf v = { 0 }, b = { 0 };
	size_t i, k;

	for (k = 0; k < out; k++)
		for (i = 0; i < in; i++)
			onnx_add_float(&v, (float)w[turned ? i * out + k : k * in + i]);
	for (k = 0; k < out; k++)
		onnx_add_float(&b, bias ? (float)bias[k] : 0);
	onnx_put_attribute(node, "coefficients", OF_FLOATS, &v);
	onnx_put_attribute(node, "intercepts", OF_FLOATS, &b);
	if (targets)
		put_int(node, "targets", out);
}

void
onnx_put_layer(struct buf *node, const struct step *s, bool targets)
{
	onnx_put_products(node, s->b, s->a, s->out, s->in, true, targets);
}

void
onnx_put_support(struct buf *node, const struct step *s, const double *platt, bool classes)
{
	static const char *const kernels[] = { "LINEAR", "POLY", "RBF", "SIGMOID" };
	const double params[] = { s->x, s->y, s->weigh };
	double sign = classes && s->k == 2 ? -1 : 1; /* in ONNX, two classes are a pair like others */
	struct buf list = { 0 };
	size_t i, k;

	onnx_put_word(node, "kernel_type", kernels[s->mode]);
	put_floats(node, "kernel_params", params, 3, 1);
	put_floats(node, "support_vectors", s->a, s->n * s->in, 1);
	put_floats(node, "coefficients", s->b, s->k ? (s->k - 1) * s->n : s->n, sign);
	put_floats(node, "rho", s->c, s->out, sign);
	if (!classes)
		put_int(node, "n_supports", s->n);
	for (i = 0; classes && i < s->k; i++)
		onnx_add_int(&list, s->list[i]);
	if (classes)
		onnx_put_attribute(node, "vectors_per_class", OF_INTS, &list);
	for (k = 0; platt && k < 2; k++) {
		for (i = 0; i < s->out; i++)
			onnx_add_float(&list, (float)platt[2 * i + k]);
		onnx_put_attribute(node, k ? "prob_b" : "prob_a", OF_FLOATS, &list);
	}
}

/* ---- steps ---- */

static void
put_node(struct onnx_chain *c, const char *op, bool ml, size_t columns, struct buf *attributes)
{
	struct buf node = { 0 };

	onnx_put_text(&node, NODE_INPUT, c->in);
	snprintf(c->in, sizeof c->in, "value%zu", c->count++);
	onnx_put_text(&node, NODE_OUTPUT, c->in);
	onnx_put_text(&node, NODE_NAME, c->in);
	onnx_put_text(&node, NODE_OP, op);
	buf_put(&node, attributes->p, attributes->n);
	node.failed |= attributes->failed;
	buf_free(attributes);
	if (ml)
		onnx_put_text(&node, NODE_DOMAIN, "ai.onnx.ml");
	onnx_put_message(c->graph, GRAPH_NODE, &node);
	onnx_put_value(c->graph, GRAPH_VALUE, c->in, ELEMENT_FLOAT, columns); /* checkers cannot infer it */
}

/* (x - offset) scale. */
static int
put_scaler(struct onnx_chain *c, const struct step *s)
{
	bool shift = s->kind == &step_shift;
	struct buf node = { 0 }, offset = { 0 }, scale = { 0 };
	size_t i;

	if (s->mode & STEP_CLIP && !shift)
		return writer_refuse(c->w, "a scaler that clips");
	for (i = 0; s->b && i < s->in; i++)
		if (s->b[i] == 0)
			return writer_refuse(c->w, "a scaler that multiplies by zero");
	for (i = 0; i < s->in; i++) {
		double a = s->a ? s->a[i] : 0, b = s->b ? s->b[i] : 1;

		onnx_add_float(&offset, (float)(shift ? a : -a / b));
		onnx_add_float(&scale, (float)(shift ? 1 / b : b));
	}
	onnx_put_attribute(&node, "offset", OF_FLOATS, &offset);
	onnx_put_attribute(&node, "scale", OF_FLOATS, &scale);
	put_node(c, "Scaler", true, s->out, &node);
	return 0;
}

static int
put_normalizer(struct onnx_chain *c, const struct step *s)
{
	struct buf node = { 0 };

	if (s->mode == STEP_MAX)
		return writer_refuse(c->w, "a norm that is the largest size of a value");
	onnx_put_word(&node, "norm", s->mode == STEP_L1 ? "L1" : "L2");
	if (s->mode != STEP_NONE)
		put_node(c, "Normalizer", true, s->out, &node);
	buf_free(&node);
	return 0;
}

static void
put_float(struct buf *node, const char *name, float v)
{
	struct buf list = { 0 };
	uint32_t bits;

	memcpy(&bits, &v, sizeof bits);
	buf_u8(&list, ATTRIBUTE_F << 3 | 5);
	buf_u32(&list, bits);
	onnx_put_attribute(node, name, OF_FLOAT, &list);
}

/* (x - a) B / c as products: B / c, and what a gives. */
static int
put_projection(struct onnx_chain *c, const struct step *s)
{
	struct buf node = { 0 }, v = { 0 }, bias = { 0 };
	size_t i, k;

	for (k = 0; k < s->out; k++) {
		double by = s->c ? s->c[k] : 1, sum = 0;

		for (i = 0; i < s->in; i++) {
			double w = s->b[i * s->out + k] / by;

			sum -= s->a ? s->a[i] * w : 0;
			onnx_add_float(&v, (float)w);
		}
		onnx_add_float(&bias, (float)sum);
	}
	onnx_put_attribute(&node, "coefficients", OF_FLOATS, &v);
	onnx_put_attribute(&node, "intercepts", OF_FLOATS, &bias);
	put_int(&node, "targets", s->out);
	put_node(c, "LinearRegressor", true, s->out, &node);
	return 0;
}

static int
put_layer(struct onnx_chain *c, const struct step *s)
{
	static const char *const ops[] = { NULL, "Sigmoid", "Tanh", "Relu", "Softmax" };
	struct buf node = { 0 };

	onnx_put_layer(&node, s, true);
	put_node(c, "LinearRegressor", true, s->out, &node);
	if (s->mode == STEP_SOFTMAX)
		put_int(&node, "axis", 1);
	if (s->mode != STEP_IDENTITY)
		put_node(c, ops[s->mode], false, s->out, &node);
	return 0;
}

static int
put_step(struct onnx_chain *c, const struct step *s)
{
	struct buf node = { 0 };

	if (s->kind == &step_shift || s->kind == &step_stretch)
		return put_scaler(c, s);
	if (s->kind == &step_norm)
		return put_normalizer(c, s);
	if (s->kind == &step_project)
		return put_projection(c, s);
	if (s->kind == &step_layer)
		return put_layer(c, s);
	if (s->kind == &step_binarize) {
		put_float(&node, "threshold", (float)s->x);
		put_node(c, "Binarizer", true, s->out, &node);
		return 0;
	}
	if (s->kind == &step_impute) {
		put_floats(&node, "imputed_value_floats", s->a, s->in, 1);
		put_float(&node, "replaced_value_float", s->mode & STEP_VALUE ? (float)s->x : NAN);
		put_node(c, "Imputer", true, s->out, &node);
		return 0;
	}
	return writer_refuse(c->w, s->kind->name);
}

size_t
onnx_steps(const struct predictor *m)
{
	const struct step *last = m->step_count ? &m->steps[m->step_count - 1] : NULL;
	bool model = last && m->form == PREDICT_STEPS &&
	             (last->kind == &step_support || (last->kind == &step_layer && last->mode == STEP_IDENTITY));

	return m->step_count - (model ? 1 : 0);
}

int
onnx_put_steps(struct onnx_chain *c, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (put_step(c, &c->w->m->steps[i]) < 0)
			return -1;
	return n > 0 && c->count == 0 ? writer_refuse(c->w, "a model that changes nothing") : 0;
}
