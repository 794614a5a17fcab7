/* t_onnxnet: networks in ONNX: small ones by hand, what is refused, and two real ones with the outputs that
 * were recorded where they come from. What PyTorch computes is compared in tests/tools/apr-predict.bats. */
#include <math.h>
#include <string.h>

#include "onnx_models.h"

#define DIMS(N) "1:{1:" N "} "
#define INPUT(SHAPE) "11:{1:\"x\" 2:{1:{1:1 2:{1:{2:\"N\"} " SHAPE "}}}} "
#define NET(SHAPE, NODES) "1:8 8:{2:17} 7:{" NODES INPUT(SHAPE) "12:{1:\"y\"}}"
#define NODE(IN, OUT, OP, MORE) "1:{1:\"" IN "\" " MORE "2:\"" OUT "\" 4:\"" OP "\"} "
#define C "1:\"c\" " /* the constant as an input */
#define INIT(TENSOR) "5:{8:\"c\" " TENSOR "} "
#define FLOATS(SHAPE, VALUES) INIT("1:[" SHAPE "] 2:1 4:f[" VALUES "]")
#define LONGS(SHAPE, VALUES) INIT("1:[" SHAPE "] 2:7 7:[" VALUES "]")
#define NUMBERS(NAME, VALUES) "5:{1:\"" NAME "\" 8:[" VALUES "]} "
#define NUMBER(NAME, VALUE) "5:{1:\"" NAME "\" 3:" VALUE "} "

/* Computes one row. Returns the number of scores, at most 16, or 0. */
static size_t
compute(const struct predictor *m, const double *row, double *scores)
{
	struct step_rows x = { .n = 0 }, spare = { .n = 0 };
	struct err e = ERR_INIT;
	int r = m->outputs <= 16 ? step_rows_begin(&x, 1, m->features, &e) : -1;

	if (r == 0) {
		memcpy(step_row(&x, 0), row, m->features * sizeof *row);
		r = predict_block(m, &x, &spare, false, scores, NULL, &e);
	}
	step_rows_free(&x);
	step_rows_free(&spare);
	return r == 0 ? m->outputs : 0;
}

/* What the row 1, -2, 3, -4 becomes. */
static void
test_small(void)
{
	static const struct { const char *what, *text; size_t n; double v[4]; } cases[] = {
		{ "the channels of a row that is 2 x 2", NET(DIMS("2") DIMS("2"), FLOATS("2 1", "10 20")
		  NODE("x", "y", "Add", C)), 4, { 11, 8, 23, 16 } },
		{ "the last dimension", NET(DIMS("2") DIMS("2"), FLOATS("2", "10 20") NODE("x", "y", "Add", C)), 4,
		  { 11, 18, 13, 16 } },
		{ "all values", NET(DIMS("2") DIMS("2"), FLOATS("2 2", "1 2 3 4") NODE("x", "y", "Mul", C)), 4,
		  { 1, -4, 9, -16 } },
		{ "one value", NET(DIMS("4"), FLOATS("1", "2") NODE("x", "y", "Div", C)), 4, { 0.5, -1, 1.5, -2 } },
		{ "values of doubles in the message", NET(DIMS("4"), INIT("2:11 10:d[0.5]") NODE("x", "y", "Sub", C)), 4,
		  { 0.5, -2.5, 2.5, -4.5 } },
		{ "the axis of old versions", NET(DIMS("2") DIMS("2"), FLOATS("2", "10 20") NODE("x", "y", "Add", C
		  NUMBER("axis", "1") NUMBER("broadcast", "1"))), 4, { 11, 8, 23, 16 } },
		{ "the mean of each channel", NET(DIMS("2") DIMS("2") DIMS("1"), NODE("x", "y", "GlobalAveragePool", "")), 2,
		  { -0.5, -0.5 } },
		{ "its greatest value", NET(DIMS("2") DIMS("2"), NODE("x", "y", "GlobalMaxPool", "")), 2, { 1, 3 } },
		{ "channels go back behind a window", NET(DIMS("2") DIMS("2"), NODE("x", "y", "MaxPool",
		  NUMBERS("kernel_shape", "1"))), 4, { 1, -2, 3, -4 } },
		{ "a shape that a node gives a constant", NET(DIMS("4"), FLOATS("1 4", "1 1 1 1")
		  "1:{1:\"c\" 2:\"d\" 4:\"Reshape\" " NUMBERS("shape", "4 1") "} " NODE("x", "y", "MatMul", "1:\"d\" ")), 1,
		  { -2 } },
		{ "a constant of a node", NET(DIMS("4"), "1:{2:\"d\" 4:\"Constant\" 5:{1:\"value\" 5:{2:1 4:f[3]}}} "
		  NODE("x", "y", "Mul", "1:\"d\" ")), 4, { 3, -6, 9, -12 } },
		{ "dimensions that change places", NET(DIMS("2") DIMS("2"), NODE("x", "y", "Transpose",
		  NUMBERS("perm", "0 2 1"))), 4, { 1, 3, -2, -4 } },
	};
	static const double row[4] = { 1, -2, 3, -4 };
	size_t i, k;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct predictor m = { 0 };
		struct err e = ERR_INIT;
		double scores[16] = { 0 };
		bool right = load(&m, cases[i].text, &e) == 0 && m.features == 4 && compute(&m, row, scores) == cases[i].n;

		for (k = 0; k < cases[i].n; k++)
			right = right && fabs(scores[k] - cases[i].v[k]) < 1e-12;
		test_ok(right, "%s", cases[i].what);
		if (!right)
			printf("# %s: %g %g %g %g\n", e.fact, scores[0], scores[1], scores[2], scores[3]);
		predictor_free(&m);
	}
}

static void
test_refused(void)
{
	static const struct refused_model cases[] = {
		{ NET(DIMS("4"), NODE("x", "a", "Relu", "") NODE("a", "b", "Elu", "") NODE("a", "y", "Relu", "")),
		  "does not follow the operator before it" },
		{ NET(DIMS("4"), NODE("x", "a", "Elu", "") NODE("x", "y", "Add", "1:\"a\" ")), "several inputs" },
		{ NET(DIMS("4"), NODE("x", "y", "Relu", "") "12:{1:\"z\"} "), "several outputs" },
		{ NET(DIMS("4"), INPUT(DIMS("2")) NODE("x", "y", "Relu", "")), "several inputs" },
		{ NET(DIMS("4"), NODE("x", "z", "Relu", "")), "last operator is not its output" },
		{ NET("1:{2:\"length\"} ", NODE("x", "y", "Relu", "")), "shape of the input is not fixed" },
		{ NET(DIMS("4"), NODE("x", "y", "QuantizeLinear", "")), "operators of this kind" },
		{ NET(DIMS("4"), NODE("x", "y", "Relu", "7:\"com.microsoft\" ")), "another domain" },
		{ NET(DIMS("4"), NODE("x", "y", "Cast", NUMBER("to", "7"))), "numbers of this type" },
		{ NET(DIMS("4"), FLOATS("3 2", "1 2 3 4 5 6") NODE("x", "y", "MatMul", C)), "its weights do not fit" },
		{ NET(DIMS("4"), FLOATS("4 1", "1 2 3") NODE("x", "y", "MatMul", C)), "the values of its shape" },
		{ NET(DIMS("4"), INIT("1:4 2:1 13:{1:\"location\"}") NODE("x", "y", "Add", C)), "not a constant of" },
		{ NET(DIMS("4"), FLOATS("3", "1 2 3") NODE("x", "y", "Add", C)), "does not fit the row" },
		{ NET(DIMS("4"), LONGS("2", "-1 2") NODE("x", "y", "Reshape", C)), "mixes values of several rows" },
		{ NET(DIMS("4"), LONGS("2", "1 3") NODE("x", "y", "Reshape", C)), "do not have the shape" },
		{ NET(DIMS("4"), LONGS("1", "0") NODE("x", "y", "Squeeze", C)), "is that of rows" },
		{ NET(DIMS("4"), NODE("x", "y", "Flatten", NUMBER("axis", "0"))), "does not leave rows alone" },
		{ NET(DIMS("4"), NODE("x", "y", "Softmax", NUMBER("axis", "0"))), "mixes values of several rows" },
		{ NET(DIMS("2") DIMS("2"), NODE("x", "y", "MaxPool", NUMBERS("kernel_shape", "3"))), "does not fit into the input" },
		{ NET(DIMS("2") DIMS("2"), NODE("x", "y", "MaxPool", NUMBERS("kernel_shape", "2") NUMBERS("pads", "2 0"))),
		  "lies outside of the input" },
		{ NET(DIMS("2") DIMS("2"), NODE("x", "y", "MaxPool", NUMBERS("kernel_shape", "2") NUMBER("ceil_mode", "1"))),
		  "not whole" },
		{ NET(DIMS("2") DIMS("2"), FLOATS("1 3 1", "1 2 3") NODE("x", "y", "Conv", C)), "do not fit 2 channels" },
		{ NET(DIMS("2") DIMS("2"), FLOATS("2", "1 2") NODE("x", "y", "LSTM", C C NUMBER("hidden_size", "2"))), "steps, rows and values" },
	};

	test_models_refused(cases, sizeof cases / sizeof *cases);
}

/* Fills n doubles from the floats of an array of NumPy that an archive holds uncompressed, the array at
 * `number`; its header ends with a new line. */
static bool
floats_of(const uint8_t *p, size_t size, unsigned number, double *to, size_t n)
{
	const uint8_t *at = p, *end = p + size;
	size_t i;
	float f;

	for (; at; at++, number--) {
		at = memmem(at, (size_t)(end - at), "\x93NUMPY", 6);
		if (!at || number == 0)
			break;
	}
	at = at ? memchr(at, '\n', (size_t)(end - at)) : NULL;
	if (!at || (size_t)(end - ++at) < n * sizeof f)
		return false;
	for (i = 0; i < n; i++) {
		memcpy(&f, at + i * sizeof f, sizeof f);
		to[i] = (double)f;
	}
	return true;
}

static size_t
read_whole(const char *folder, const char *name, uint8_t *to, size_t room)
{
	char path[4096];
	FILE *f;
	size_t n;

	snprintf(path, sizeof path, "%s/import/onnx/%s", folder, name);
	f = fopen(path, "rb");
	n = f ? fread(to, 1, room, f) : 0;
	if (f)
		fclose(f);
	return n;
}

/* Digits: the scores that CNTK recorded with the model, in single precision. */
static void
test_digits(const char *data)
{
	static const char *const models[] = { "mnist-cntk-opset1/model.onnx", "mnist-opset8/model.onnx" };
	static uint8_t model[65536], bytes[8192];
	size_t i, k, j;

	for (i = 0; i < 2; i++) {
		size_t n = read_whole(data, models[i], model, sizeof model), right = 0;
		struct predictor m = { 0 };
		struct err e = ERR_INIT;
		bool read = predict_probe(model, n) && predict_read(&m, predict_probe(model, n), model, n, "m", &e) == 0;

		for (k = 0; k < 3; k++) {
			static double row[784];
			double want[10], scores[16] = { 0 };
			char name[64];
			size_t size;

			snprintf(name, sizeof name, "mnist-cntk-opset1/test_data_%zu.npz", k);
			size = read_whole(data, name, bytes, sizeof bytes);
			if (!read || m.features != 784 || !floats_of(bytes, size, 0, want, 10) ||
			    !floats_of(bytes, size, 1, row, 784) || compute(&m, row, scores) != 10)
				continue;
			for (j = 0; j < 10; j++)
				right += fabs(scores[j] - want[j]) < 1e-5 * (1 + fabs(want[j]));
		}
		test_ok(right == 30, "%s: %zu of 30 scores are those that were recorded", models[i], right);
		predictor_free(&m);
	}
}

int
main(void)
{
	test_small();
	test_refused();
	if (test_data())
		test_digits(test_data());
	else
		test_skip("digits", "there is no reference data");
	return test_done();
}
