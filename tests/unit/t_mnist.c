/* t_mnist: networks for handwritten digits, opened by libaprml and computed here in plain C, reach
 * the accuracy that is published for them. So names, shapes, order and values are right.
 *
 * With the argument "all" each network computes all images. Without it, the one of Core ML, which
 * takes 14 seconds for them, computes every 100th, and sanitized tests compute every 50th. The
 * counts are exact because floats are added in one order.
 *
 * Published: ONNX's model zoo, top-1 error 1.1%.
 */
#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "api/aprml.h"

#define IMAGES 10000
#define SIDE 28
#define PIXELS (SIDE * SIDE)
#define ROW 32                    /* values between two rows of a channel */
#define CHANNEL (ROW * ROW)
#define ROOM (32 * CHANNEL + ROW) /* values of all channels, and what is read behind the last */

static uint8_t images[IMAGES][PIXELS], labels[IMAGES];

/* ---- files ---- */

/* Unpack a file of IMAGES items behind a header. 0, or -1. */
static int
unpack(const char *name, void *to, size_t header, size_t n)
{
	char path[4096], skip[16];
	gzFile f;
	int ok;

	snprintf(path, sizeof path, "%s/import/mnist/%s", test_data(), name);
	f = gzopen(path, "rb");
	ok = f && gzread(f, skip, (unsigned)header) == (int)header &&
	     gzread(f, to, (unsigned)n) == (int)n;
	if (f)
		gzclose(f);
	return ok ? 0 : -1;
}

/* The values of a tensor, which has n of them; the caller frees them. NULL: it has not. */
static float *
values(struct aprml *m, const char *name, size_t n)
{
	struct aprml_error e;
	struct aprml_tensor t;
	float *y = calloc(n, sizeof *y);
	size_t i;

	if (y && m && aprml_find(m, name, &i) == 0 && aprml_tensor(m, i, &t) == 0 &&
	    t.values == n && aprml_floats(m, i, 0, n, y, &e) == 0)
		return y;
	free(y);
	return NULL;
}

static struct aprml *
opened(const char *name)
{
	struct aprml_error e;
	char path[4096];

	snprintf(path, sizeof path, "%s/import/%s", test_data(), name);
	return aprml_open(path, &e);
}

/* ---- layers ---- */

/* y[j] += x[i] * w[i][j] */
static void
dense(const float *x, size_t n, const float *w, size_t m, float *y)
{
	size_t i, j;

	for (i = 0; i < n; i++)
		for (j = 0; x[i] != 0 && j < m; j++)
			y[j] += x[i] * w[i * m + j];
}

static void
relu(float *x, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		x[i] = x[i] > 0 ? x[i] : 0;
}

/* Add v times ROW values of x to y. */
static void
add_row(const float *restrict x, float v, float *restrict y)
{
	unsigned i;

	for (i = 0; i < ROW; i++)
		y[i] += v * x[i];
}

/* Convolution without padding: `to` channels of side × side outputs, from weights [to][from][k][k].
 * The values right of an output's last column have no meaning. */
static void
conv(const float *x, unsigned from, unsigned to, unsigned k, unsigned side, const float *w,
     const float *bias, float *y)
{
	unsigned o, c, a, b, r, i;

	for (o = 0; o < to; o++) {
		for (i = 0; i < side * ROW; i++)
			y[o * CHANNEL + i] = bias[o];
		for (c = 0; c < from; c++)
			for (a = 0; a < k; a++)
				for (b = 0; b < k; b++, w++)
					for (r = 0; r < side; r++)
						add_row(x + c * CHANNEL + (r + a) * ROW + b, *w,
						        y + o * CHANNEL + r * ROW);
	}
}

/* The maximum of each square of k × k values: side × side of them, `margin` values from the edges. */
static void
pool(const float *x, unsigned channels, unsigned k, unsigned side, unsigned margin, float *y)
{
	unsigned c, i, j, a;
	float most;

	memset(y, 0, ROOM * sizeof *y);
	for (c = 0; c < channels; c++)
		for (i = 0; i < side; i++)
			for (j = 0; j < side; j++) {
				most = -INFINITY;
				for (a = 0; a < k * k; a++)
					most = fmaxf(most, x[c * CHANNEL + (i * k + a / k) * ROW + j * k + a % k]);
				y[c * CHANNEL + (i + margin) * ROW + j + margin] = most;
			}
}

/* An image as a channel, `margin` values from the edges. */
static void
place(const uint8_t *image, float scale, unsigned margin, float *y)
{
	unsigned i;

	memset(y, 0, ROOM * sizeof *y);
	for (i = 0; i < PIXELS; i++)
		y[(i / SIDE + margin) * ROW + i % SIDE + margin] = image[i] * scale;
}

/* ---- networks ---- */

static float here[ROOM], there[ROOM];

/* Flatten, Dense 128 and 32 with ReLU, Dense 10. */
static void
keras(float **w, const uint8_t *image, float scale, float *y)
{
	float a[128], b[32];

	memcpy(a, w[1], sizeof a);
	memcpy(b, w[3], sizeof b);
	memcpy(y, w[5], 10 * sizeof *y);
	for (unsigned i = 0; i < PIXELS; i++)
		here[i] = image[i] * scale;
	dense(here, PIXELS, w[0], 128, a);
	relu(a, 128);
	dense(a, 128, w[2], 32, b);
	relu(b, 32);
	dense(b, 32, w[4], 10, y);
}

/* Two convolutions of 5 × 5, each with ReLU and a maximum, and a product. */
static void
onnx(float **w, const uint8_t *image, float scale, float *y)
{
	unsigned i;

	place(image, scale, 2, here);
	conv(here, 1, 8, 5, 28, w[0], w[1], there);
	relu(there, 8 * CHANNEL);
	pool(there, 8, 2, 14, 2, here);
	conv(here, 8, 16, 5, 14, w[2], w[3], there);
	relu(there, 16 * CHANNEL);
	pool(there, 16, 3, 4, 0, here);
	for (i = 0; i < 256; i++)
		there[i] = here[i / 16 * CHANNEL + i / 4 % 4 * ROW + i % 4];
	memcpy(y, w[5], 10 * sizeof *y);
	dense(there, 256, w[4], 10, y);
}

/* Two convolutions of 3 × 3 with ReLU, a maximum, and two dense layers, whose weights are
 * [out][in]; the channel of the first one's input varies fastest. */
static void
coreml(float **w, const uint8_t *image, float scale, float *y)
{
	float a[128];
	unsigned i, k;

	place(image, scale, 0, here);
	conv(here, 1, 32, 3, 26, w[0], w[1], there);
	relu(there, 32 * CHANNEL);
	conv(there, 32, 32, 3, 24, w[2], w[3], here);
	relu(here, 32 * CHANNEL);
	pool(here, 32, 2, 12, 0, there);
	for (i = 0; i < 4608; i++)
		here[i] = there[i % 32 * CHANNEL + i / 384 * ROW + i / 32 % 12];
	memcpy(a, w[5], sizeof a);
	for (k = 0; k < 128; k++)
		for (i = 0; i < 4608; i++)
			a[k] += here[i] * w[4][k * 4608 + i];
	relu(a, 128);
	memcpy(y, w[7], 10 * sizeof *y);
	for (k = 0; k < 10; k++)
		for (i = 0; i < 128; i++)
			y[k] += a[i] * w[6][k * 128 + i];
}

#if defined __SANITIZE_ADDRESS__
#define SPARSELY 50
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define SPARSELY 50
#endif
#endif
#ifndef SPARSELY
#define SPARSELY 1
#endif

static const struct network {
	const char *path;
	void (*run)(float **w, const uint8_t *image, float scale, float *y);
	float scale;
	unsigned every, right, all; /* right: of the images of this run */
	struct { const char *name; size_t n; } w[8];
} networks[] = {
	{ "keras/mnist_ann_baseline.keras", keras, 1 / 255.0F, 1, 9758, 9758,
	  { { "layers/dense/vars/0", PIXELS * 128 }, { "layers/dense/vars/1", 128 },
	    { "layers/dense_1/vars/0", 128 * 32 }, { "layers/dense_1/vars/1", 32 },
	    { "layers/dense_2/vars/0", 320 }, { "layers/dense_2/vars/1", 10 } } },
	{ "onnx/mnist-opset8/model.onnx", onnx, 1 / 255.0F, 1, 9890, 9890,
	  { { "Parameter5", 200 }, { "Parameter6", 8 }, { "Parameter87", 3200 }, { "Parameter88", 16 },
	    { "Parameter193", 2560 }, { "Parameter194", 10 } } },
	{ "coreml/MNIST_swiftbrain.mlmodel", coreml, 1, 100, 100, 9890,
	  { { "convolution2d_1.weights", 288 }, { "convolution2d_1.bias", 32 },
	    { "convolution2d_2.weights", 9216 }, { "convolution2d_2.bias", 32 },
	    { "dense_1.weights", 4608 * 128 }, { "dense_1.bias", 128 },
	    { "dense_2.weights", 1280 }, { "dense_2.bias", 10 } } },
};

static unsigned
largest(const float *y)
{
	unsigned i, at = 0;

	for (i = 1; i < 10; i++)
		if (y[i] > y[at])
			at = i;
	return at;
}

static void
accuracy(const struct network *x, bool all)
{
	struct aprml *m = opened(x->path);
	const unsigned every = all ? 1 : x->every * SPARSELY, want = all ? x->all : x->right;
	float *w[8] = { NULL }, y[10];
	unsigned i, right = 0, whole = 1;

	for (i = 0; i < 8 && x->w[i].name; i++) {
		w[i] = values(m, x->w[i].name, x->w[i].n);
		whole = whole && w[i];
	}
	for (i = 0; whole && i < IMAGES; i += every) {
		x->run(w, images[i], x->scale, y);
		right += largest(y) == labels[i];
	}
	test_ok(whole && (SPARSELY == 1 ? right == want : right * every * 10 >= 9 * IMAGES),
	        "%s: %u of %u digits are right", x->path, right, IMAGES / every);
	for (i = 0; i < 8; i++)
		free(w[i]);
	aprml_close(m);
}

/* The answers that came with the model: two of three inputs are images, one is a row of pixels. */
static void
stored_answers(void)
{
	static const struct network *const x = &networks[1];
	struct aprml *m = opened("onnx/mnist-cntk-opset1/model.onnx"), *twin = opened(x->path), *io;
	float *w[8] = { NULL }, *v, *in, *want, y[10];
	uint8_t image[PIXELS];
	char name[64];
	unsigned i, k, bad = 0;

	for (i = 0; x->w[i].name; i++) {
		w[i] = values(m, x->w[i].name, x->w[i].n);
		v = values(twin, x->w[i].name, x->w[i].n);
		bad += !w[i] || !v || memcmp(w[i], v, x->w[i].n * sizeof *v) != 0;
		free(v);
	}
	test_ok(bad == 0, "the network of opset 1, whose tensors are constants of its graph, equals that "
	        "of opset 8");
	for (k = 0; k < 3; k++) {
		snprintf(name, sizeof name, "onnx/mnist-cntk-opset1/test_data_%u.npz", k);
		io = opened(name);
		in = values(io, "inputs", PIXELS);
		want = values(io, "outputs", 10);
		for (i = 0; in && i < PIXELS; i++)
			image[i] = (uint8_t)lrintf(in[i] * 255);
		if (in && want && bad == 0)
			onnx(w, image, x->scale, y);
		for (i = 0; in && want && bad == 0 && i < 10 && fabsf(y[i] - want[i]) < 1e-3F; i++)
			;
		test_ok(i == 10, "%s: the stored outputs follow from the stored inputs", name);
		free(in);
		free(want);
		aprml_close(io);
	}
	for (i = 0; i < 8; i++)
		free(w[i]);
	aprml_close(m);
	aprml_close(twin);
}

int
main(int argc, char **argv)
{
	size_t i;

	if (!test_data()) {
		test_skip("accuracy on MNIST", "without the reference data");
		return test_done();
	}
	test_ok(unpack("t10k-images-idx3-ubyte.gz", images, 16, sizeof images) == 0 &&
	        unpack("t10k-labels-idx1-ubyte.gz", labels, 8, sizeof labels) == 0,
	        "the images can be read");
	for (i = 0; i < sizeof networks / sizeof *networks; i++)
		accuracy(&networks[i], argc > 1 && strcmp(argv[1], "all") == 0);
	stored_answers();
	return test_done();
}
