/* t_twins: a model that two programs stored has equal values, opened by libaprml from both files.
 *
 * Twins are the tensors of two files with the same name behind a prefix, or in a table of names.
 * Values are equal, or as near as the type of the second file allows: half precision rounds, Q5_1
 * divides the range of 32 values into 31 steps, and TensorFlow Lite into steps of the scale in the
 * key tflite.tensors.
 */
#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "api/aprml.h"
#include "core/json.h"

struct file {
	struct aprml *m;
	json_t *steps; /* the value of tflite.tensors, or NULL */
};

static struct file
open_file(const char *name)
{
	struct aprml_error e;
	struct aprml_value v;
	struct err ignored = ERR_INIT;
	struct file f = { NULL, NULL };
	char path[4096];

	snprintf(path, sizeof path, "%s/%s", test_data(), name);
	f.m = aprml_open(path, &e);
	if (!f.m)
		printf("# %s\n", e.text);
	else if (aprml_value(f.m, "tflite.tensors", &v, &e) == 0 && v.text)
		f.steps = json_parse(v.text, v.bytes, ERR_CORRUPT, "tflite.tensors", &ignored);
	return f;
}

static void
close_file(struct file *f)
{
	aprml_close(f->m);
	json_decref(f->steps);
}

/* The values of a tensor, which the caller frees, or NULL. */
static float *
values(const struct file *f, const char *name, struct aprml_tensor *t)
{
	struct aprml_error e;
	float *y;
	size_t i;

	if (!f->m || aprml_find(f->m, name, &i) < 0 || aprml_tensor(f->m, i, t) < 0 ||
	    !(y = calloc((size_t)t->values + 1, sizeof *y)))
		return NULL;
	if (aprml_floats(f->m, i, 0, (size_t)t->values, y, &e) == 0)
		return y;
	printf("# %s: %s\n", name, e.text);
	free(y);
	return NULL;
}

/* ---- how near ---- */

enum nearness { EXACT, HALF, Q5_1, STEPS };

/* The most by which value i of b may differ from a. */
static double
margin(enum nearness how, const float *a, size_t n, size_t i)
{
	float low = INFINITY, high = -INFINITY;
	size_t k;

	if (how == EXACT)
		return 0;
	if (how == HALF)
		return fabs(a[i]) / 2048 + ldexp(1, -25);
	for (k = i / 32 * 32; k < n && k < i / 32 * 32 + 32; k++) {
		low = fminf(low, a[k]);
		high = fmaxf(high, a[k]);
	}
	/* Half a step, and the rounding of scale (31 times) and minimum to halves. */
	return (high - low) / 62.0 + (fabs(low) + fabs(high)) / 1024 + ldexp(32, -25);
}

/* Turn integers of TensorFlow Lite into values: scale × (integer - zero point), with a scale for all
 * or for each index of an axis. *step: of value i, in `steps`. False: the key does not say. */
static bool
scale_integers(const struct file *f, const struct aprml_tensor *t, float *y, float *steps)
{
	const json_t *o = json_object_get(f->steps, t->name), *s = json_object_get(o, "scale");
	const json_t *z = json_object_get(o, "zero_point");
	const uint64_t axis = (uint64_t)json_integer_value(json_object_get(o, "axis"));
	uint64_t inner = 1, i, k;
	unsigned d;

	if (!s || axis >= t->ndim)
		return false;
	for (d = (unsigned)axis + 1; d < t->ndim; d++)
		inner *= t->dims[d];
	for (i = 0; i < t->values; i++) {
		k = i / inner % t->dims[axis];
		steps[i] = (float)json_number_value(json_is_array(s) ? json_array_get(s, k) : s);
		y[i] = steps[i] * (y[i] - (float)json_number_value(json_is_array(z) ? json_array_get(z, k)
		                                                                    : z));
	}
	return true;
}

static bool
are_near(const struct file *fb, const struct aprml_tensor *ta, const float *a,
         const struct aprml_tensor *tb, float *b, enum nearness how)
{
	float *steps = how == STEPS ? calloc((size_t)tb->values + 1, sizeof *steps) : NULL;
	bool near = ta->values == tb->values &&
	            (how != STEPS || (steps && scale_integers(fb, tb, b, steps)));
	size_t i;

	for (i = 0; near && i < ta->values; i++)
		near = fabs((double)a[i] - b[i]) <=
		       (how == STEPS ? steps[i] * 0.5001 + ldexp(fabs(a[i]), -22)
		                     : margin(how, a, (size_t)ta->values, i));
	if (!near)
		printf("# %s and %s: value %zu of %zu, %g and %g\n", ta->name, tb->name, i,
		       (size_t)ta->values, i ? a[i - 1] : 0, i ? b[i - 1] : 0);
	free(steps);
	return near;
}

/* ---- pairs of files ---- */

#define LITE "import/tflite/mlperf_tiny/"
#define VAD "import/onnx/silero/silero_vad"

static const struct pair {
	const char *a, *prefix_a, *b, *prefix_b;
	enum nearness how;
	unsigned twins;
} pairs[] = {
	{ "import/ggml/tiny-rwkv-4v0-660K-FP32.bin", "", "import/ggml/tiny-rwkv-4v0-660K-FP16.bin", "",
	  HALF, 78 },
	{ "import/ggml/tiny-rwkv-4v0-660K-FP32.bin", "", "import/ggml/tiny-rwkv-4v0-660K-Q5_1.bin", "",
	  Q5_1, 78 },
	{ "import/pytorch/silero_vad.jit", "", "import/ggml/for-tests-silero-v6.2.0-ggml.bin", "", HALF, 15 },
	{ "import/pytorch/silero_vad.jit", "_model.", VAD ".onnx", "If_0_then_branch__Inline_0__", EXACT, 15 },
	{ "import/pytorch/silero_vad.jit", "_model_8k.", VAD ".onnx", "If_0_else_branch__Inline_0__",
	  EXACT, 15 },
	{ "import/pytorch/silero_vad.jit", "_model.", VAD "_16k_op15.onnx", "model.", EXACT, 15 },
	{ LITE "ad01_fp32.tflite", "", LITE "ad01_int8.tflite", "", STEPS, 20 },
	{ LITE "kws_ref_model_float32.tflite", "", LITE "kws_ref_model.tflite", "", STEPS, 15 },
	{ LITE "pretrainedResnet.tflite", "", LITE "pretrainedResnet_quant.tflite", "", STEPS, 20 },
	{ LITE "vww_96_float.tflite", "", LITE "vww_96_int8.tflite", "", STEPS, 56 },
};

/* 1: equal; 0: not; -1: the second file has no such tensor. */
static int
compare(const struct file *a, const char *name, const struct file *b, const char *twin,
        enum nearness how)
{
	struct aprml_tensor ta, tb;
	float *x, *y;
	size_t i;
	int r;

	if (aprml_find(b->m, twin, &i) < 0)
		return -1;
	x = values(a, name, &ta);
	y = values(b, twin, &tb);
	r = x && y && are_near(b, &ta, x, &tb, y, how);
	free(x);
	free(y);
	return r;
}

static void
try_pair(const struct pair *p)
{
	struct file a = open_file(p->a), b = open_file(p->b);
	struct aprml_tensor t;
	unsigned found = 0, wrong = 0;
	char twin[1024];
	size_t i;
	int r;

	for (i = 0; a.m && b.m && aprml_tensor(a.m, i, &t) == 0; i++) {
		if (strncmp(t.name, p->prefix_a, strlen(p->prefix_a)) != 0 || t.type[0] != 'F')
			continue;
		snprintf(twin, sizeof twin, "%s%s", p->prefix_b, t.name + strlen(p->prefix_a));
		r = compare(&a, t.name, &b, twin, p->how);
		found += r >= 0;
		wrong += r == 0;
	}
	test_ok(wrong == 0 && found == p->twins, "%s: %u tensors of %u equal those of %s", p->b,
	        found - wrong, p->twins, p->a);
	close_file(&a);
	close_file(&b);
}

/* ---- pairs of tensors ---- */

#define VOICE "models/safetensors/silero_vad_16k.safetensors"
#define MTCNN "import/numpy/mtcnn_weights.npy"
#define KERAS "import/keras/ad01.h5"

/* order: dimension i of b is dimension order[i] of a; "": the same dimensions. */
static const struct single {
	const char *a, *name, *b, *twin, *order;
} singles[] = {
	{ "import/numpy/mel_filters.npz", "mel_80", "import/ggml/for-tests-ggml-tiny.bin",
	  "audio.mel_filterbank", "" },
	{ "import/pytorch/silero_vad.jit", "_model.stft.forward_basis_buffer", VOICE,
	  "stft_conv.weight", "" },
	{ MTCNN, "pnet.0", "import/pytorch/mtcnn/pnet.pt", "conv1.weight", "3210" },
	{ MTCNN, "pnet.1", "import/pytorch/mtcnn/pnet.pt", "conv1.bias", "" },
	{ MTCNN, "pnet.2", "import/pytorch/mtcnn/pnet.pt", "prelu1.weight", "" },
	{ MTCNN, "pnet.6", "import/pytorch/mtcnn/pnet.pt", "conv3.weight", "3210" },
	{ MTCNN, "pnet.11", "import/pytorch/mtcnn/pnet.pt", "conv4_2.weight", "3210" },
	{ MTCNN, "rnet.6", "import/pytorch/mtcnn/rnet.pt", "conv3.weight", "3210" },
	{ MTCNN, "rnet.12", "import/pytorch/mtcnn/rnet.pt", "dense5_1.weight", "10" },
	{ MTCNN, "onet.9", "import/pytorch/mtcnn/onet.pt", "conv4.weight", "3210" },
	{ MTCNN, "onet.13", "import/pytorch/mtcnn/onet.pt", "dense5.bias", "" },
	{ KERAS, "dense_9/kernel:0", LITE "ad01_fp32.tflite", "functional_1/dense_9/MatMul", "10" },
};

/* The place in a of value i of b. */
static uint64_t
place_of(const struct aprml_tensor *a, const struct aprml_tensor *b, const char *order, uint64_t i)
{
	uint64_t at[APRML_DIMS] = { 0 }, place = 0;
	unsigned d;

	for (d = b->ndim; d > 0; d--) {
		at[order[d - 1] - '0'] = i % b->dims[d - 1];
		i /= b->dims[d - 1];
	}
	for (d = 0; d < a->ndim; d++)
		place = place * a->dims[d] + at[d];
	return place;
}

static void
try_single(const struct single *x)
{
	struct file a = open_file(x->a), b = open_file(x->b);
	struct aprml_tensor ta, tb;
	float *v = values(&a, x->name, &ta), *w = values(&b, x->twin, &tb);
	bool equal = v && w && ta.values == tb.values && (!*x->order || ta.ndim == tb.ndim);
	uint64_t i;

	for (i = 0; equal && i < tb.values; i++)
		equal = v[*x->order ? place_of(&ta, &tb, x->order, i) : i] == w[i];
	test_ok(equal, "%s of %s equals %s of %s", x->name, x->a, x->twin, x->b);
	free(v);
	free(w);
	close_file(&a);
	close_file(&b);
}

/* ---- layers with a normalization folded into them ---- */

/* The converter multiplies column j of a dense layer, whose normalization follows, by
 * gamma[j] / sqrt(variance[j] + 0.001). The twin is turned. */
static void
folded_layers(void)
{
	struct file a = open_file(KERAS), b = open_file(LITE "ad01_fp32.tflite");
	struct aprml_tensor tk, tg, tv, tw;
	char name[64], suffix[8];
	unsigned layer, near = 0;

	for (layer = 0; layer < 9; layer++) {
		float *k, *g, *v, *w;
		uint64_t i;

		suffix[0] = 0;
		if (layer)
			snprintf(suffix, sizeof suffix, "_%u", layer);
		snprintf(name, sizeof name, "dense%s/kernel:0", suffix);
		k = values(&a, name, &tk);
		snprintf(name, sizeof name, "batch_normalization%s/gamma:0", suffix);
		g = values(&a, name, &tg);
		snprintf(name, sizeof name, "batch_normalization%s/moving_variance:0", suffix);
		v = values(&a, name, &tv);
		snprintf(name, sizeof name, "functional_1/dense%s/MatMul", suffix);
		w = values(&b, name, &tw);
		for (i = 0; k && g && v && w && tk.values == tw.values && i < tk.values; i++) {
			const uint64_t row = i / tk.dims[1], column = i % tk.dims[1];
			const double want = k[i] * (double)g[column] / sqrt(v[column] + 0.001);

			if (fabs(want - w[column * tk.dims[0] + row]) > fabs(want) * 1e-6 + 1e-9)
				break;
		}
		near += k && w && i == tk.values;
		free(k);
		free(g);
		free(v);
		free(w);
	}
	test_ok(near == 9, "%u of 9 layers of %s, normalized, equal those of ad01_fp32.tflite", near, KERAS);
	close_file(&a);
	close_file(&b);
}

int
main(void)
{
	size_t i;

	if (!test_data()) {
		test_skip("twins", "without the reference data");
		return test_done();
	}
	for (i = 0; i < sizeof pairs / sizeof *pairs; i++)
		try_pair(&pairs[i]);
	for (i = 0; i < sizeof singles / sizeof *singles; i++)
		try_single(&singles[i]);
	folded_layers();
	return test_done();
}
