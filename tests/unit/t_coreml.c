/* t_coreml: models of Core ML: weights in each form, layers and their shapes, faults. */
#include "imports.h"

#include "../gen/coreml.h"

static const struct format_options usual;
static const float scales[] = { 0.5f, 2 }, biases[] = { -1, 10 }, table[] = { 3, -1, 7, 0.25f };

static void
want_floats(struct gen *want, const float *f, size_t n)
{
	gen_free(want);
	put(want, f, 4 * n);
}

/* Floats, halves, bits with a scale for all or for each row, bits with a table, signed bytes. */
static void
weights_in_each_form(void)
{
	static const float plain[] = { 1, 2, 3, 4, 5, 6 };
	static const float linear[] = { -1, -0.5f, 0, 16, 18, 20 };
	static const float lookup[] = { 3, -1, 7, 0.25f, 3, -1 };
	static const float small[] = { 0, 0.5f, 1, 1.5f, 2, 2.5f };
	static const float bit[] = { -1, -0.5f, -1, 12, 10, 12 };
	struct gen network = { 0 }, g = { 0 }, w = { 0 }, want = { 0 };
	struct brought b;

	put_plain(&w, 6);
	put_dense(&network, "plain", &w);
	put_bytes(&w, 2, "\0\x3c\0\x40\0\x42\0\x44\0\x45\0\x46", 12);
	put_dense(&network, "halves", &w);
	put_bits(&w, 30, 3, 6);
	put_linear(&w, 3, scales, biases, 2);
	put_dense(&network, "linear", &w);
	put_bits(&w, 30, 2, 6);
	put_table(&w, 2, table, 4);
	put_dense(&network, "table", &w);
	put_bits(&w, 31, 8, 6);
	put_linear(&w, 8, scales, NULL, 1);
	put_dense(&network, "signed", &w);
	put_bits(&w, 30, 1, 6);
	put_linear(&w, 1, scales, biases, 2);
	put_dense(&network, "one_bit", &w);
	put_model(&g, 500, &network);
	test_ok(bring(&b, &format_coreml, g.p, g.n, &usual, false) == 0, "a network: %s", b.err.fact);
	if (!b.source)
		return;
	want_floats(&want, plain, 6);
	test_ok(holds(&b, "plain.weights", "F32", "2x3", &want), "floats");
	gen_free(&want);
	put(&want, "\0\x3c\0\x40\0\x42\0\x44\0\x45\0\x46", 12);
	test_ok(holds(&b, "halves.weights", "F16", "2x3", &want), "halves");
	want_floats(&want, linear, 6);
	test_ok(holds(&b, "linear.weights", "F32", "2x3", &want), "3 bits with scales");
	want_floats(&want, lookup, 6);
	test_ok(holds(&b, "table.weights", "F32", "2x3", &want), "2 bits with a table");
	want_floats(&want, small, 6);
	test_ok(holds(&b, "signed.weights", "F32", "2x3", &want), "signed bytes");
	want_floats(&want, bit, 6);
	test_ok(holds(&b, "one_bit.weights", "F32", "2x3", &want), "1 bit with scales");
	test_ok(strstr(noted, "decoded to F32: 4") != NULL, "a note");
	test_ok(model_find(b.source->plan, "general.author") && model_find(b.source->plan,
	        "coreml.user.k"), "keys");
	let_go(&b);
	gen_free(&g);
	gen_free(&want);
}

static bool
has_shape(const struct brought *b, const char *name, const char *shape)
{
	size_t i = b->source ? number_of(b, name) : SIZE_MAX;
	char text[TENSOR_SHAPE_TEXT];

	return i != SIZE_MAX &&
	       strcmp(tensor_shape_text(b->source->plan->tensors[i], text), shape) == 0;
}

static void
put_weights(struct gen *body, uint32_t field, size_t n)
{
	struct gen w = { 0 };

	put_plain(&w, n);
	put_message(body, field, &w);
}

/* A convolution of 2 outputs and 3 inputs and kernels of 1 x 4. */
static void
put_convolution(struct gen *network, const char *name, bool turned)
{
	struct gen body = { 0 };

	put_int(&body, 1, 2);
	put_int(&body, 2, 3);
	put_int(&body, 10, 1);
	put_bytes(&body, 20, "\1\4", 2);
	if (turned)
		put_int(&body, 60, 1);
	put_weights(&body, 90, 24);
	put_weights(&body, 91, 2);
	put_layer(network, name, 100, &body);
}

static void
layers_have_their_shapes(void)
{
	struct gen network = { 0 }, g = { 0 }, body = { 0 }, lstm = { 0 };
	struct brought b;
	uint32_t i;

	put_convolution(&network, "conv", false);
	put_convolution(&network, "turned", true);
	put_int(&body, 1, 5);
	for (i = 15; i < 19; i++)
		put_weights(&body, i, 5);
	put_layer(&network, "norm", 160, &body);
	put_bytes(&body, 1, "\2\3", 2);
	put_weights(&body, 2, 6);
	put_layer(&network, "constant", 290, &body);
	put_int(&body, 1, 3);
	put_int(&body, 2, 2);
	put_weights(&lstm, 1, 6);
	put_weights(&lstm, 20, 4);
	put_message(&body, 20, &lstm);
	put_weights(&lstm, 43, 2);
	put_message(&body, 20, &lstm);
	put_layer(&network, "lstm", 430, &body);
	put_fill(&body, 0, 0);
	put_bytes(&body, 90, g.p, 0);
	put_layer(&network, "activation", 130, &body);
	put_model(&g, 403, &network);
	test_ok(bring(&b, &format_coreml, g.p, g.n, &usual, true) == 0, "layers: %s", b.err.fact);
	test_ok(has_shape(&b, "conv.weights", "2x3x1x4") && has_shape(&b, "conv.bias", "2"),
	        "a convolution");
	test_ok(has_shape(&b, "turned.weights", "3x2x1x4"), "a deconvolution");
	test_ok(has_shape(&b, "norm.gamma", "5") && has_shape(&b, "norm.variance", "5"),
	        "a normalization");
	test_ok(has_shape(&b, "constant.data", "2x3"), "a constant");
	test_ok(has_shape(&b, "lstm.forward.input_gate.weights", "2x3") &&
	        has_shape(&b, "lstm.forward.input_gate.recursion", "2x2") &&
	        has_shape(&b, "lstm.backward.output_gate.bias", "2"), "an LSTM");
	let_go(&b);
	gen_free(&g);
}

/* A pipeline of a linear model, as in the file of the Mars habitats. */
static void
pipelines_hold_models(void)
{
	const double numbers[] = { 1.5, -2 };
	struct gen g = { 0 }, model = { 0 }, linear = { 0 }, row = { 0 }, pipeline = { 0 },
		outer = { 0 }, want = { 0 };
	struct brought b;

	put_bytes(&row, 1, numbers, sizeof numbers);
	put_message(&linear, 1, &row);
	put_bytes(&linear, 2, numbers, 8);
	put_model(&model, 300, &linear);
	put_message(&pipeline, 1, &model);
	put_message(&outer, 1, &pipeline);
	put_model(&g, 201, &outer);
	test_ok(bring(&b, &format_coreml, g.p, g.n, &usual, false) == 0, "a pipeline: %s", b.err.fact);
	put(&want, numbers, sizeof numbers);
	test_ok(b.source && holds(&b, "models.0.weights.0", "F64", "2", &want) &&
	        has_shape(&b, "models.0.offset", "1"), "its linear model");
	let_go(&b);
	gen_free(&g);
	gen_free(&want);
}

/* ---- faults ---- */

/* Whether a network with one inner product around these weights is refused. */
static void
refused(const char *about, struct gen *weights, const char *says)
{
	struct gen network = { 0 }, g = { 0 };
	struct brought b;

	put_dense(&network, "d", weights);
	put_model(&g, 500, &network);
	bring(&b, &format_coreml, g.p, g.n, &usual, false);
	test_ok(err_exit(&b.err) == 4 && strstr(b.err.fact, says), "%s: %s", about, b.err.fact);
	let_go(&b);
	gen_free(&g);
}

static void
wrong_weights_are_refused(void)
{
	struct gen w = { 0 };

	put_plain(&w, 5);
	refused("fewer values", &w, "its shape needs 24");
	put_bytes(&w, 2, "abc", 3);
	refused("halves of 3 bytes", &w, "its shape needs 12");
	put_int(&w, 50, 1);
	refused("no values", &w, "in none or several forms");
	put_plain(&w, 6);
	put_bytes(&w, 2, "abcdefabcdef", 12);
	refused("two forms", &w, "in none or several forms");
	put_bits(&w, 30, 3, 6);
	refused("bits alone", &w, "without exactly one way");
	put_bits(&w, 30, 3, 6);
	put_linear(&w, 9, scales, NULL, 2);
	refused("9 bits", &w, "values of 9 bits");
	put_bits(&w, 30, 3, 6);
	put_linear(&w, 0, scales, NULL, 2);
	refused("0 bits", &w, "values of 0 bits");
	put_bits(&w, 30, 3, 20);
	put_linear(&w, 3, scales, NULL, 2);
	refused("more bits", &w, "but its shape needs 6 values of 3 bits");
	put_bits(&w, 30, 2, 6);
	put_table(&w, 2, table, 3);
	refused("a table of 3", &w, "a table of another size");
	put_bits(&w, 30, 2, 6);
	put_linear(&w, 2, table, NULL, 4);
	refused("4 scales", &w, "a number of scales");
	put_bits(&w, 30, 2, 6);
	put_linear(&w, 2, table, NULL, 0);
	refused("no scales", &w, "a number of scales");
}

/* Models whose type is refused. */
static void
other_types_are_named(void)
{
	static const struct { uint32_t number; const char *says; } list[] = {
		{ 555, "of type customModel, which is not read" },
		{ 402, "of type treeEnsembleClassifier, which is not read" },
		{ 999, "of type 999, which is not known" },
	};
	struct gen g = { 0 }, body = { 0 };
	struct brought b;
	size_t i;

	for (i = 0; i < sizeof list / sizeof *list; i++) {
		put_int(&body, 1, 1);
		put_model(&g, list[i].number, &body);
		bring(&b, &format_coreml, g.p, g.n, &usual, false);
		test_ok(err_exit(&b.err) == 4 && strstr(b.err.fact, list[i].says), "type %u: %s",
		        list[i].number, b.err.fact);
		let_go(&b);
		gen_free(&g);
	}
	for (i = 0; i < 8; i++) { /* pipelines in pipelines */
		struct gen outer = { 0 };

		put_message(&outer, 1, &g);
		put_model(&g, 202, &outer);
	}
	bring(&b, &format_coreml, g.p, g.n, &usual, false);
	test_ok(err_exit(&b.err) == 4 && strstr(b.err.fact, "pipelines in more than"), "depth: %s",
	        b.err.fact);
	let_go(&b);
	put_int(&body, 1, 1);
	put_message(&g, 500, &body);
	bring(&b, &format_coreml, g.p, g.n, &usual, false);
	test_ok(err_exit(&b.err) == 4 && strstr(b.err.fact, "pipelines in") != NULL, "two types: %s",
	        b.err.fact);
	let_go(&b);
	gen_free(&g);
}

static void
mother(struct gen *g)
{
	struct gen network = { 0 }, w = { 0 };

	put_bits(&w, 30, 3, 6);
	put_linear(&w, 3, scales, biases, 2);
	put_dense(&network, "linear", &w);
	put_model(g, 500, &network);
}

int
main(void)
{
	weights_in_each_form();
	layers_have_their_shapes();
	pipelines_hold_models();
	wrong_weights_are_refused();
	other_types_are_named();
	try_cuts("network", &format_coreml, &usual, mother, false);
	return test_done();
}
