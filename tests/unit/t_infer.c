/* infer: rotary positions, norms and activations against slow formulas of their own,
 * written as the papers and the published code of models have them. */
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/rope.h"
#include "infer/cpu/cache.h"
#include "infer/cpu/cpu.h"
#include "kernels/common/products.h"
#include "test.h"

#define ROT 16
#define PI 3.141592653589793

/* Numbers in [-1, 1), the same in each run. */
static double
draw(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) / 4503599627370496.0 - 1;
}

/* ---- rope ---- */

/* The angle of pair i at a position, by one of these. */
typedef double (*angle_fn)(int i, double position);

static double
plain(int i, double position)
{
	return position / pow(10000, i / (ROT / 2.0));
}

static double
linear(int i, double position)
{
	return plain(i, position / 4);
}

/* As meta published it: by the length of the wave. */
static double
llama3(int i, double position)
{
	double wave = 2 * PI / plain(i, 1), length = 8192, smooth;

	if (wave < length / 4)
		return plain(i, position);
	if (wave > length / 1)
		return plain(i, position) / 8;
	smooth = (length / wave - 1) / (4 - 1);
	return (1 - smooth) * plain(i, position) / 8 + smooth * plain(i, position);
}

/* As in the code of its paper: a ramp between two pairs, rounded outwards. */
static double
yarn(int i, double position)
{
	double low = floor(ROT * log(64 / (32 * 2 * PI)) / (2 * log(10000)));
	double high = ceil(ROT * log(64 / (1 * 2 * PI)) / (2 * log(10000)));
	double ramp;

	low = low < 0 ? 0 : low;
	high = high > ROT - 1 ? ROT - 1 : high;
	ramp = (i - low) / (high - low);
	ramp = ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
	return plain(i, position) / 4 * ramp + plain(i, position) * (1 - ramp);
}

static double
longrope(int i, double position)
{
	return plain(i, position) / (1 + i * 0.5);
}

/* Turn pairs as complex numbers, and compare. Pairs that are joined, and not turned, come from
 * the same places. */
static void
compare(const struct rope *r, angle_fn angle, double length, bool halves, const char *what)
{
	float head[ROT + 3], cosines[ROT / 2], sines[ROT / 2], before[ROT + 3];
	float joined[ROT + 3], moved[ROT + 3];
	double worst = 0;
	int position, i;

	for (position = 0; position < 500; position += 7) {
		for (i = 0; i < ROT + 3; i++)
			before[i] = head[i] = (float)draw();
		memcpy(joined, head, sizeof head);
		memcpy(moved, head, sizeof head);
		rope_angles(r, position, cosines, sines);
		cpu_rope(head, &(struct rotation){ ROT, halves, .join = false }, cosines, sines);
		cpu_rope(joined, &(struct rotation){ ROT, halves, .join = true }, cosines, sines);
		cpu_rope(moved, &(struct rotation){ ROT, halves, .join = true }, NULL, NULL);
		for (i = 0; i < ROT / 2; i++) {
			int a = halves ? i : 2 * i, b = halves ? i + ROT / 2 : 2 * i + 1;
			double complex z = ((double)before[a] + I * (double)before[b]) *
			                   cexp(I * angle(i, position)) * length;

			worst += joined[2 * i] != head[a] || joined[2 * i + 1] != head[b];
			worst += moved[2 * i] != before[a] || moved[2 * i + 1] != before[b];
			worst = fmax(worst, fabs(creal(z) - (double)head[a]));
			worst = fmax(worst, fabs(cimag(z) - (double)head[b]));
		}
		for (i = ROT; i < ROT + 3; i++)
			worst += before[i] != head[i] || before[i] != joined[i] ||
			         before[i] != moved[i];
	}
	test_ok(worst < 1e-4, "%s: %g", what, worst);
}

static void
ropes(void)
{
	struct rope r = { .rot = ROT, .base = 10000, .factor = 1, .length = 1,
		.extrapolation = 1, .fast = 32, .slow = 1, .original = 64 };
	float factors[ROT / 2];
	int i;

	compare(&r, plain, 1, false, "rope of neighbours");
	compare(&r, plain, 1, true, "rope of halves");
	r.factor = 4;
	compare(&r, linear, 1, true, "linear scaling");
	r.yarn = true;
	r.length = rope_yarn_length(4);
	compare(&r, yarn, 1 + 0.1 * log(4), true, "yarn");
	r.extrapolation = 0;
	compare(&r, linear, 1 + 0.1 * log(4), true, "yarn that extrapolates nothing is linear");
	r.yarn = false;
	r.factor = r.length = 1;
	rope_llama3(&r, 8, 1, 4, 8192, factors);
	r.factors = factors;
	compare(&r, llama3, 1, true, "factors of LLaMA 3");
	for (i = 0; i < ROT / 2; i++)
		factors[i] = 1 + (float)i * 0.5f;
	r.length = 1.19;
	compare(&r, longrope, 1.19, false, "factors and length of longrope");
	test_ok(rope_yarn_length(0.5) == 1 && rope_yarn_length(1) == 1, "yarn makes nothing shorter");
}

/* ---- norms, activations ---- */

#define WIDTH 37

static void
norms(void)
{
	float x[WIDTH], w[WIDTH], b[WIDTH], y[WIDTH];
	struct norm n = { w, b, 0.25f, false };
	double mean = 0, square = 0, variance = 0, worst = 0;
	int i;

	for (i = 0; i < WIDTH; i++) {
		x[i] = (float)(draw() * 3 + 1);
		w[i] = (float)draw();
		b[i] = (float)draw();
		mean += (double)x[i] / WIDTH;
		square += (double)x[i] * (double)x[i] / WIDTH;
	}
	variance = square - mean * mean;
	cpu_norm_rms(x, &n, WIDTH, y);
	for (i = 0; i < WIDTH; i++)
		worst = fmax(worst, fabs((double)y[i] - (double)b[i] - (double)x[i] * (double)w[i] /
		                         sqrt(square + 0.25)));
	test_ok(worst < 1e-6, "RMS-norm: %g", worst);
	cpu_norm_layer(x, &n, WIDTH, y);
	worst = 0;
	for (i = 0; i < WIDTH; i++)
		worst = fmax(worst, fabs((double)y[i] - (double)b[i] - ((double)x[i] - mean) *
		                         (double)w[i] / sqrt(variance + 0.25)));
	test_ok(worst < 1e-6, "layer norm: %g", worst);
}

/* The normal distribution's own integral, by Simpson's rule. */
static double
normal(double x)
{
	double sum = 0, step = x / 2000;
	int i;

	for (i = 0; i < 1000; i++) {
		double a = step * 2 * i, m = a + step, b = m + step;

		sum += exp(-a * a / 2) + 4 * exp(-m * m / 2) + exp(-b * b / 2);
	}
	return 0.5 + sum * step / 3 / sqrt(2 * PI);
}

static void
activations(void)
{
	double silu = 0, erf_form = 0, tanh_form = 0, half_form = 0, squared = 0, x;

	for (x = -12; x <= 12; x += 0.37) {
		float f = (float)x;
		double d = (double)f, t = tanh(sqrt(2 / PI) * (d + 0.044715 * d * d * d));

		silu = fmax(silu, fabs((double)cpu_act(ACT_SILU, f) - d / (1 + exp(-d))));
		erf_form = fmax(erf_form, fabs((double)cpu_act(ACT_GELU_ERF, f) - d * normal(d)));
		tanh_form = fmax(tanh_form, fabs((double)cpu_act(ACT_GELU_TANH, f) -
		                                 d * (1 + t) / 2));
		half_form = fmax(half_form, fabs((double)cpu_act(ACT_GELU_HALF, f) -
		                                 d * (1 + t) / 2) / fmax(1, fabs(d)));
		squared = fmax(squared, fabs((double)cpu_act(ACT_RELU_SQUARED, f) -
		                             (d > 0 ? d * d : 0)));
	}
	test_ok(silu < 2e-6, "SiLU: %g", silu);
	test_ok(erf_form < 2e-6, "GELU: %g", erf_form);
	test_ok(tanh_form < 2e-6, "GELU, tanh form: %g", tanh_form);
	test_ok(squared < 1e-5, "the square of ReLU: %g", squared);
	test_ok(half_form < 2e-3 && half_form > 1e-6, "GELU from halves: %g", half_form);
}

/* ---- attention ---- */

/* Heads of both widths, which make one or several runs, parts and pieces. */
enum { HEADS = 6, KEYS = 2, HEAD_K = 300, HEAD_V = 330, POSITIONS = 300 };
enum { FEW = POSITIONS * KEYS * HEAD_V, ALL = POSITIONS * HEADS * HEAD_V };

struct trial {
	const char *what;
	int batch, head_k, head_v;
	bool windowed;
	float cap;
	unsigned threads;
	enum cache_type type;
	bool apart; /* the keys are another text's, all of which each query sees */
};
enum { WINDOW = 40 };

/* One query of one head, in double precision, all scores at once. */
static void
slow_attention(const struct trial *t, const float *q, const float *k, const float *v, int at,
               int kv, double *a)
{
	double score[POSITIONS], sum = 0, scale = (double)(2 / (float)t->head_k);
	int last = t->apart ? POSITIONS - 1 : at, i, d;
	int first = t->windowed && last + 1 > WINDOW ? last + 1 - WINDOW : 0;

	for (i = first; i <= last; i++) {
		score[i] = 0;
		for (d = 0; d < t->head_k; d++)
			score[i] += (double)q[d] * (double)k[(i * KEYS + kv) * t->head_k + d];
		score[i] *= scale;
		if (t->cap > 0)
			score[i] = (double)t->cap * tanh(score[i] / (double)t->cap);
		score[i] = exp(score[i]);
		sum += score[i];
	}
	for (d = 0; d < t->head_v; d++) {
		a[d] = 0;
		for (i = first; i <= last; i++)
			a[d] += score[i] / sum * (double)v[(i * KEYS + kv) * t->head_v + d];
	}
}

/* Numbers that the type keeps as they are: of Q8_0, codes times one scale, of which each
 * block has one of 127, in heads that are whole blocks and in others. */
static void
fill(float *x, int n, int head, enum cache_type type)
{
	int i;

	for (i = 0; i < n; i++)
		if (type == CACHE_F32)
			x[i] = (float)draw();
		else if (type == CACHE_F16 || i % head % 32)
			x[i] = (float)floor(draw() * 127) / 128;
		else
			x[i] = draw() < 0 ? -127.0f / 128 : 127.0f / 128;
}

/* The worst error of all queries. */
static double
worst_of(const struct trial *t, const float *q, const float *k, const float *v, const float *a)
{
	double worst = 0, want[HEAD_V];
	int i, h, d;

	for (i = 0; i < POSITIONS; i++)
		for (h = 0; h < HEADS; h++) {
			slow_attention(t, q + (i * HEADS + h) * t->head_k, k, v, i,
			               h / (HEADS / KEYS), want);
			for (d = 0; d < t->head_v; d++)
				worst = fmax(worst, fabs(want[d] -
				             (double)a[(i * HEADS + h) * t->head_v + d]));
		}
	return worst;
}

/* All positions, in passes of t->batch tokens, on the second of two layers. */
static void
attend(const struct trial *t)
{
	static float q[ALL], k[FEW], v[FEW], out[ALL];
	const size_t head_k = (size_t)t->head_k, head_v = (size_t)t->head_v;
	const struct device_options options = { .threads = t->threads, .heads = HEADS,
		.head_v = head_v };
	struct err e = ERR_INIT;
	struct device *device = ops_cpu.open(&options, &e);
	struct cache *cache = ops_cpu.cache_open(device, &(struct cache_shape){ 2, KEYS,
		POSITIONS, head_k, head_v, t->type }, &e);
	struct attention a = { .heads = HEADS, .cache = cache, .layer = 1, .causal = !t->apart,
		.window = t->windowed ? WINDOW : 0, .scale = 2 / (float)t->head_k, .cap = t->cap };
	double worst;
	size_t i, at;

	ops_cpu.reserve(device, (size_t)t->batch, &e);
	for (i = 0; i < POSITIONS * HEADS * head_k; i++)
		q[i] = (float)(draw() * 8);
	fill(k, (int)(POSITIONS * KEYS * head_k), t->head_k, t->type);
	fill(v, (int)(POSITIONS * KEYS * head_v), t->head_v, t->type);
	if (t->apart)
		ops_cpu.keep(device, cache, 1, 0, (struct values){ k, 0 }, (struct values){ v, 0 },
		             POSITIONS);
	for (at = 0; at < POSITIONS; at += a.n) {
		a.n = POSITIONS - at < (size_t)t->batch ? POSITIONS - at : (size_t)t->batch;
		a.q = (struct values){ q, at * HEADS * head_k };
		a.out = (struct values){ out, at * HEADS * head_v };
		a.length = t->apart ? POSITIONS : at + a.n;
		if (!t->apart)
			ops_cpu.keep(device, cache, 1, at,
			             (struct values){ k, at * KEYS * head_k },
			             (struct values){ v, at * KEYS * head_v }, a.n);
		ops_cpu.attend(device, &a);
	}
	worst = worst_of(t, q, k, v, out);
	test_ok(worst < 3e-6, "attention, %s: %g", t->what, worst);
	for (i = 0; i < cache->memory.n / 2 && !cache->memory.p[i]; i++)
		;
	test_ok(i == cache->memory.n / 2, "attention, %s: another layer is touched", t->what);
	ops_cpu.cache_close(cache);
	ops_cpu.close(device);
}

static void
attentions(void)
{
	static const struct trial trials[] = {
		{ "a token at a time", 1, 6, 10, false, 0, 1, CACHE_F32, false },
		{ "all at once", POSITIONS, 6, 10, false, 0, 2, CACHE_F32, false },
		{ "a window", 13, 6, 10, true, 0, 2, CACHE_F32, false },
		{ "a window, a token at a time", 1, 32, 64, true, 0, 2, CACHE_F32, false },
		{ "a window and a cap", 64, 6, 10, true, 5, 3, CACHE_F32, false },
		{ "three tokens and a cap", 3, 70, 64, false, 5, 3, CACHE_F32, false },
		{ "wide heads", 50, HEAD_K, HEAD_V, false, 0, 2, CACHE_F32, false },
		{ "wide heads and a window, a token at a time", 1, 256, 160, true, 0, 1,
		  CACHE_F32, false },
		{ "halves", 32, 6, 10, false, 5, 1, CACHE_F16, false },
		{ "halves, a token at a time", 1, 128, 128, false, 0, 2, CACHE_F16, false },
		{ "halves in wide heads", 7, HEAD_K, HEAD_V, false, 0, 2, CACHE_F16, false },
		{ "codes", 32, 64, 96, false, 0, 2, CACHE_Q8_0, false },
		{ "codes, a token at a time, a window", 1, 64, 32, true, 0, 2, CACHE_Q8_0, false },
		{ "codes in heads of other widths", 4, 8, 40, false, 5, 2, CACHE_Q8_0, false },
		{ "codes in wide heads", 25, HEAD_K, HEAD_V, false, 0, 2, CACHE_Q8_0, false },
		{ "all of another text", 50, 6, 10, false, 0, 2, CACHE_F32, true },
		{ "all of another text, a token at a time", 1, 64, 32, false, 5, 2, CACHE_F16, true },
		{ "all of another text, in wide heads", 30, HEAD_K, HEAD_V, false, 0, 2, CACHE_F32,
		  true },
	};
	size_t i;

	for (i = 0; i < sizeof trials / sizeof *trials; i++)
		attend(&trials[i]);
}

int
main(void)
{
	const struct products *l;
	char about[20];
	size_t i;

	ropes();
	norms();
	activations();
	for (i = 0; (l = products_row(i)) != NULL; i++) {
		dot_use(l);
		snprintf(about, sizeof about, "%s: ", l->name);
		test_about = about;
		attentions();
	}
	return test_done();
}
