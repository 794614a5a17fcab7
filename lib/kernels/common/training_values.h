/* training_values: sums, norms and activations of training.h for any vector unit: vectors of 16 lanes,
 * which the compiler divides as its CPU needs. Vectors go by address, since the way to pass them by
 * value depends on the level.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/training.h"

enum { WIDTH = TRAINING_LANES };

typedef float wide __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));
typedef int32_t whole __attribute__((vector_size(4 * WIDTH)));
typedef uint32_t bits __attribute__((vector_size(4 * WIDTH)));
typedef double fine __attribute__((vector_size(8 * WIDTH)));
typedef float eight __attribute__((vector_size(2 * WIDTH), aligned(4), may_alias));

#define FLOATS wide
#define WHOLES whole
#define BITS bits
#include "kernels/common/exponential.h"

#define INLINE static inline __attribute__((always_inline))

/* Steps of a loop over n values; `some` of a step are values, the others fill. */
#define EACH(i, some, n) (i = 0; i < (n) && (some = (n) - i < WIDTH ? (n) - i : WIDTH); i += WIDTH)

INLINE void
load(wide *v, const float *p, size_t some, float fill)
{
	if (some == WIDTH) {
		*v = *(const wide *)(const void *)p;
		return;
	}
	*v = (wide){ 0 } + fill;
	memcpy(v, p, some * sizeof *p);
}

INLINE void
store(float *p, const wide *v, size_t some)
{
	if (some == WIDTH)
		*(wide *)(void *)p = *v;
	else
		memcpy(p, v, some * sizeof *p);
}

INLINE float
sum_of(const wide *v)
{
	float x[WIDTH];
	size_t half, i;

	memcpy(x, v, sizeof x);
	for (half = WIDTH / 2; half; half /= 2)
		for (i = 0; i < half; i++)
			x[i] += x[i + half];
	return x[0];
}

INLINE double
fine_sum(const fine *v)
{
	double x[WIDTH];
	size_t half, i;

	memcpy(x, v, sizeof x);
	for (half = WIDTH / 2; half; half /= 2)
		for (i = 0; i < half; i++)
			x[i] += x[i + half];
	return x[0];
}

INLINE float
largest(const wide *v)
{
	float x[WIDTH], most;
	size_t i;

	memcpy(x, v, sizeof x);
	for (most = x[0], i = 1; i < WIDTH; i++)
		most = x[i] > most ? x[i] : most;
	return most;
}

/* ---- sums of vectors ---- */

static void
add(float *y, const float *x, size_t n)
{
	size_t i, some;
	wide a, b;

	for EACH(i, some, n) {
		load(&a, y + i, some, 0);
		load(&b, x + i, some, 0);
		a += b;
		store(y + i, &a, some);
	}
}

static void
bias(float *y, size_t stride, size_t rows, const float *b, size_t n)
{
	size_t r;

	for (r = 0; r < rows; r++)
		add(y + r * stride, b, n);
}

static void
columns(const float *x, size_t stride, size_t rows, size_t n, float *sum)
{
	size_t r;

	for (r = 0; r < rows; r++)
		add(sum, x + r * stride, n);
}

static double
squares(const float *x, size_t n)
{
	fine sum = { 0 }, f;
	size_t i, some;
	wide v;

	for EACH(i, some, n) {
		load(&v, x + i, some, 0);
		f = __builtin_convertvector(v, fine);
		sum += f * f;
	}
	return fine_sum(&sum);
}

/* ---- norms ---- */

static void
moments(const float *x, size_t n, bool centered, float eps, float *mean, float *factor)
{
	wide sum = { 0 }, v;
	size_t i, some;
	float middle = 0;

	for EACH(i, some, centered ? n : 0) {
		load(&v, x + i, some, 0);
		sum += v;
	}
	if (centered)
		middle = sum_of(&sum) / (float)n;
	sum = (wide){ 0 };
	for EACH(i, some, n) {
		load(&v, x + i, some, middle);
		v -= middle;
		sum += v * v;
	}
	*mean = middle;
	*factor = 1 / sqrtf(sum_of(&sum) / (float)n + eps);
}

static void
norm(const float *x, size_t n, float mean, float factor, const float *weight, const float *b,
     float *y)
{
	size_t i, some;
	wide v, w;

	for EACH(i, some, n) {
		load(&v, x + i, some, 0);
		load(&w, weight + i, some, 0);
		v = (v - mean) * factor * w;
		if (b) {
			load(&w, b + i, some, 0);
			v += w;
		}
		store(y + i, &v, some);
	}
}

static void
norm_back(const float *x, size_t n, float mean, float factor, bool centered, const float *weight,
          const float *dy, float *dx, bool more)
{
	wide all = { 0 }, along = { 0 }, v, g, w;
	float a = 0, b;
	size_t i, some;

	for EACH(i, some, n) {
		load(&v, x + i, some, 0);
		load(&g, dy + i, some, 0);
		load(&w, weight + i, some, 0);
		g *= w;
		all += g;
		along += g * ((v - mean) * factor);
	}
	if (centered)
		a = sum_of(&all) / (float)n;
	b = sum_of(&along) / (float)n;
	for EACH(i, some, n) {
		load(&v, x + i, some, 0);
		load(&g, dy + i, some, 0);
		load(&w, weight + i, some, 0);
		v = (g * w - a - (v - mean) * factor * b) * factor;
		if (more) {
			load(&w, dx + i, some, 0);
			v += w;
		}
		store(dx + i, &v, some);
	}
}

static void
norm_gain(const float *x, const float *dy, size_t stride, size_t rows, size_t n, const float *mean,
          const float *factor, float *dweight)
{
	size_t r, i, some;
	wide v, g, w;

	for (r = 0; r < rows; r++, x += stride, dy += stride)
		for EACH(i, some, n) {
			load(&v, x + i, some, 0);
			load(&g, dy + i, some, 0);
			load(&w, dweight + i, some, 0);
			w += (v - mean[r]) * factor[r] * g;
			store(dweight + i, &w, some);
		}
}

/* ---- rotary positions ---- */

/* Pairs i and i + half. */
static void
rotate_halves(float *x, size_t half, float sign, const float *cosines, const float *sines)
{
	size_t i, some;
	wide a, b, c, s, t;

	for EACH(i, some, half) {
		load(&a, x + i, some, 0);
		load(&b, x + half + i, some, 0);
		load(&c, cosines + i, some, 0);
		load(&s, sines + i, some, 0);
		s *= sign;
		t = a * c - b * s;
		b = b * c + a * s;
		store(x + i, &t, some);
		store(x + half + i, &b, some);
	}
}

/* Pairs 2i and 2i + 1. */
static void
rotate_pairs(float *x, size_t half, float sign, const float *cosines, const float *sines)
{
	static const wide alternate = { -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1 };
	size_t i;
	float t;

	for (i = 0; i + WIDTH / 2 <= half; i += WIDTH / 2) {
		wide *at = (wide *)(void *)(x + 2 * i), v = *at, c, s, turned;
		eight cosine = *(const eight *)(const void *)(cosines + i);
		eight sine = *(const eight *)(const void *)(sines + i);

		c = __builtin_shufflevector(cosine, cosine, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
		s = __builtin_shufflevector(sine, sine, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
		turned = __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
		*at = v * c + turned * (s * sign * alternate);
	}
	for (; i < half; i++) {
		float s = sines[i] * sign;

		t = x[2 * i] * cosines[i] - x[2 * i + 1] * s;
		x[2 * i + 1] = x[2 * i + 1] * cosines[i] + x[2 * i] * s;
		x[2 * i] = t;
	}
}

static void
rotate(float *x, size_t heads, size_t head, size_t rot, bool halves, bool back,
       const float *cosines, const float *sines)
{
	float sign = back ? -1 : 1;
	size_t i;

	for (i = 0; i < heads; i++)
		if (halves)
			rotate_halves(x + i * head, rot / 2, sign, cosines, sines);
		else
			rotate_pairs(x + i * head, rot / 2, sign, cosines, sines);
}

/* ---- activations ---- */

/* s = 1 / (1 + e^-x) */
INLINE void
logistic(const wide *x, wide *s)
{
	wide e = -*x;
	whole high = e > 87.0f;

	e = (wide)(((whole)e & ~high) | (((whole){ 0 } + 0x42ae0000) & high)); /* 87 */
	exponential(&e);
	*s = 1.0f / (e + 1.0f);
}

static void
gate(const float *g, const float *u, float *y, size_t n)
{
	size_t i, some;
	wide a, b, s;

	for EACH(i, some, n) {
		load(&a, g + i, some, 0);
		load(&b, u + i, some, 0);
		logistic(&a, &s);
		a = a * s * b;
		store(y + i, &a, some);
	}
}

static void
gate_back(float *g, float *u, const float *dy, float *y, size_t n)
{
	size_t i, some;
	wide a, b, d, s, silu, r;

	for EACH(i, some, n) {
		load(&a, g + i, some, 0);
		load(&b, u + i, some, 0);
		load(&d, dy + i, some, 0);
		logistic(&a, &s);
		silu = a * s;
		r = silu * b;
		store(y + i, &r, some);
		r = d * b * (s + silu * (1.0f - s));
		store(g + i, &r, some);
		r = d * silu;
		store(u + i, &r, some);
	}
}

#define GELU_ROOT 0x1.988454p-1f  /* sqrt(2 / π) */
#define GELU_CUBE 0.044715f

/* t = tanh(sqrt(2/π) (x + 0.044715 x³)) */
INLINE void
gelu_tanh(const wide *x, wide *t)
{
	const whole sign = (whole){ 0 } + INT32_MIN;
	wide y = *x * GELU_ROOT * (*x * *x * GELU_CUBE + 1.0f), e = y * 2.0f;

	e = (wide)((whole)e | sign);
	exponential(&e);
	*t = (1.0f - e) / (1.0f + e);
	*t = (wide)((whole)*t | ((whole)y & sign));
}

static void
gelu(const float *u, float *y, size_t n)
{
	size_t i, some;
	wide x, t;

	for EACH(i, some, n) {
		load(&x, u + i, some, 0);
		gelu_tanh(&x, &t);
		x = x * 0.5f * (t + 1.0f);
		store(y + i, &x, some);
	}
}

static void
gelu_back(float *u, const float *dy, float *y, size_t n)
{
	size_t i, some;
	wide x, t, d, r;

	for EACH(i, some, n) {
		load(&x, u + i, some, 0);
		load(&d, dy + i, some, 0);
		gelu_tanh(&x, &t);
		r = x * 0.5f * (t + 1.0f);
		store(y + i, &r, some);
		r = (t + 1.0f) * 0.5f + x * 0.5f * (1.0f - t * t) * GELU_ROOT *
		    (x * x * (3 * GELU_CUBE) + 1.0f);
		r *= d;
		store(u + i, &r, some);
	}
}

/* ---- attention ---- */

static float
most_of(const float *x, size_t n)
{
	wide most = (wide){ 0 } - INFINITY, v;
	size_t i, some;

	for EACH(i, some, n) {
		load(&v, x + i, some, -INFINITY);
		keep_larger(&most, &v);
	}
	return largest(&most);
}

static void
softmax_again(float *x, size_t n, float scale, float most, float factor)
{
	size_t i, some;
	wide v;

	for EACH(i, some, n) {
		load(&v, x + i, some, 0);
		v = v * scale - most;
		exponential(&v);
		v *= factor;
		store(x + i, &v, some);
	}
}

/* scale is positive. */
static void
softmax(float *x, size_t n, float scale, float *most, float *factor)
{
	wide sum = { 0 }, v;
	size_t i, some;

	*most = most_of(x, n) * scale;
	for EACH(i, some, n) {
		load(&v, x + i, some, -INFINITY);
		v = v * scale - *most;
		exponential(&v);
		sum += v;
		store(x + i, &v, some);
	}
	*factor = 1 / sum_of(&sum);
	for EACH(i, some, n) {
		load(&v, x + i, some, 0);
		v *= *factor;
		store(x + i, &v, some);
	}
}

static void
softmax_back(const float *p, float *dp, size_t n, float scale)
{
	wide sum = { 0 }, a, b;
	size_t i, some;
	float all;

	for EACH(i, some, n) {
		load(&a, p + i, some, 0);
		load(&b, dp + i, some, 0);
		sum += a * b;
	}
	all = sum_of(&sum);
	for EACH(i, some, n) {
		load(&a, p + i, some, 0);
		load(&b, dp + i, some, 0);
		b = a * (b - all) * scale;
		store(dp + i, &b, some);
	}
}
