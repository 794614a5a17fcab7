#include "kernels/mixing.h"

#include <math.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"
#include "kernels/ref/types.h"

enum { LANES = 8, HALF = 4 };
typedef int32_t i32x8 __attribute__((vector_size(4 * LANES)));
typedef double four __attribute__((vector_size(8 * HALF)));
typedef int64_t whole __attribute__((vector_size(8 * HALF)));
typedef float four_floats __attribute__((vector_size(4 * HALF)));

static void
subtract(float *restrict x, const float *restrict base, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		x[i] -= base[i];
}

/* ---- magnitudes ---- */

static inline uint32_t
bits_of(const float *x)
{
	uint32_t u;

	memcpy(&u, x, sizeof u);
	return u & INT32_MAX;
}

/* Bits are below 2^31, so that their order is that of signed integers. */
static inline void
bits_at(const float *x, i32x8 *to)
{
	memcpy(to, x, sizeof *to);
	*to &= INT32_MAX;
}

static void
keep(float *x, size_t n, uint32_t from)
{
	int32_t least = (int32_t)from;
	i32x8 v;
	size_t i;

	if (from > INT32_MAX) {
		memset(x, 0, n * sizeof *x);
		return;
	}
	for (i = 0; i + LANES <= n; i += LANES) {
		memcpy(&v, x + i, sizeof v);
		v &= (v & INT32_MAX) >= least;
		memcpy(x + i, &v, sizeof v);
	}
	for (; i < n; i++)
		x[i] = bits_of(x + i) >= from ? x[i] : 0;
}

static uint64_t
equals(const float *x, size_t n, uint32_t bits)
{
	i32x8 count = { 0 }, v;
	uint64_t all = 0;
	size_t i, j;

	for (i = 0; i + LANES <= n; i += LANES) {
		bits_at(x + i, &v);
		count -= v == (int32_t)bits;
	}
	for (; i < n; i++)
		all += bits_of(x + i) == bits;
	for (j = 0; j < LANES; j++)
		all += (uint64_t)count[j];
	return all;
}

static void
coarse(const float *x, size_t n, unsigned shift, uint32_t *to)
{
	size_t i;

	for (i = 0; i < n; i++)
		to[bits_of(x + i) >> shift]++;
}

/* Few values are in the bin. */
static void
fine(const float *x, size_t n, unsigned shift, uint32_t bin, uint32_t *to)
{
	uint32_t mask = ((uint32_t)1 << shift) - 1;
	i32x8 hit;
	whole any;
	size_t i, j, k;

	for (i = 0; i < n; i += LANES) {
		k = n - i < LANES ? n - i : LANES;
		if (k == LANES) {
			bits_at(x + i, &hit);
			hit = hit >> (int)shift == (int32_t)bin;
			any = (whole)hit;
			if (!(any[0] | any[1] | any[2] | any[3]))
				continue;
		}
		for (j = i; j < i + k; j++)
			if (bits_of(x + j) >> shift == bin)
				to[bits_of(x + j) & mask]++;
	}
}

/* ---- rounding ---- */

enum { BLOCK = 32, CODES = 2, BYTES = CODES + BLOCK, MOST = 127 };
#define UP 256.0f /* makes a code positive, so that cutting its fraction off is rounding down */
#define HALF_NAN 0x7e00

typedef float f32x8 __attribute__((vector_size(4 * LANES)));
typedef uint32_t u32x8 __attribute__((vector_size(4 * LANES)));

/* The largest magnitude of a block; infinity and NaN are larger than all others. */
static inline float
largest(const float *x)
{
	i32x8 most = { 0 }, v, more;
	int32_t all = 0;
	float f;
	int i;

	for (i = 0; i < BLOCK; i += LANES) {
		bits_at(x + i, &v);
		more = v > most;
		most = (v & more) | (most & ~more);
	}
	for (i = 0; i < LANES; i++)
		all = most[i] > all ? most[i] : all;
	memcpy(&f, &all, sizeof f);
	return f;
}

static inline void
round8_block(const float *x, uint32_t first, uint32_t by, uint8_t *y)
{
	static const u32x8 lane = { 0, 1, 2, 3, 4, 5, 6, 7 };
	const uint16_t half = half_f32_f16(largest(x) / MOST);
	const float d = half_f16_f32(half), inverse = d > 0 ? 1 / d : 0;
	u32x8 at = first + lane * by;
	int32_t code[BLOCK];
	i32x8 cut;
	f32x8 v;
	int i;

	if (!(d < HUGE_VALF)) {
		memset(y, 0, BYTES);
		le16_put(y, HALF_NAN);
		return;
	}
	le16_put(y, half);
	for (i = 0; i < BLOCK; i += LANES, at += LANES * by) {
		memcpy(&v, x + i, sizeof v);
		v = v * inverse + __builtin_convertvector((i32x8)(at >> 8), f32x8) * 0x1p-24f + UP;
		cut = __builtin_convertvector(v, i32x8);
		memcpy(code + i, &cut, sizeof cut);
	}
	for (i = 0; i < BLOCK; i++) {
		code[i] -= (int32_t)UP;
		code[i] = code[i] > MOST ? MOST : code[i] < -MOST ? -MOST : code[i];
		y[CODES + i] = (uint8_t)code[i];
	}
}

static void
round8(const float *x, size_t n, uint32_t first, uint32_t by, uint8_t *y)
{
	size_t i;

	for (i = 0; i < n; i += BLOCK, y += BYTES)
		round8_block(x + i, first + (uint32_t)i * by, by, y);
}

/* ---- sums ---- */

static inline void
four_at(const float *x, four *to)
{
	four_floats v;

	memcpy(&v, x, sizeof v);
	*to = __builtin_convertvector(v, four);
}

static inline void
four_put(const struct mixing_of *m, size_t at, const four *sum, float *y)
{
	four all = *sum * m->factor, base;
	four_floats v;

	if (m->base) {
		four_at(m->base + at, &base);
		all += base;
	}
	v = __builtin_convertvector(all, four_floats);
	memcpy(y, &v, sizeof v);
}

static inline void
one_put(const struct mixing_of *m, size_t at, double sum, float *y)
{
	*y = (float)(m->base ? m->base[at] + m->factor * sum : m->factor * sum);
}

static void
sum(const struct mixing_of *m, size_t at, float *y, size_t n)
{
	size_t i, k;

	for (i = 0; i + HALF <= n; i += HALF) {
		four all = { 0 }, x;

		for (k = 0; k < m->vectors; k++) {
			four_at(m->x[k] + at + i, &x);
			all += m->weight[k] * x;
		}
		if (m->divisor != 1)
			all /= m->divisor;
		four_put(m, at + i, &all, y + i);
	}
	for (; i < n; i++) {
		double all = 0;

		for (k = 0; k < m->vectors; k++)
			all += m->weight[k] * (double)m->x[k][at + i];
		one_put(m, at + i, m->divisor != 1 ? all / m->divisor : all, y + i);
	}
}

static inline void
elect_four(const struct mixing_of *m, size_t at, four *to)
{
	const four none = { 0 };
	four vote = none, all = none, share = none, weight, x;
	whole counts;
	size_t k;

	for (k = 0; k < m->vectors; k++) {
		four_at(m->x[k] + at, &x);
		vote += m->scale[k] * x;
	}
	for (k = 0; k < m->vectors; k++) {
		four_at(m->x[k] + at, &x);
		weight = (four)((whole)(none + m->weight[k]) & (x * vote > 0));
		all += weight * (m->scale[k] * x);
		share += weight;
	}
	counts = share != 0;
	if (m->divide)
		all = (four)(((whole)(all / share) & counts) | ((whole)all & ~counts));
	/* The difference is 0, or NaN if a value is not finite. */
	*to = all + (vote - vote);
}

static inline double
elect_one(const struct mixing_of *m, size_t at)
{
	double vote = 0, all = 0, share = 0, weight;
	size_t k;

	for (k = 0; k < m->vectors; k++)
		vote += m->scale[k] * (double)m->x[k][at];
	for (k = 0; k < m->vectors; k++) {
		double x = m->x[k][at];

		weight = x * vote > 0 ? m->weight[k] : 0;
		all += weight * (m->scale[k] * x);
		share += weight;
	}
	return (m->divide && share != 0 ? all / share : all) + (vote - vote);
}

static void
elect(const struct mixing_of *m, size_t at, float *y, size_t n)
{
	four all;
	size_t i;

	for (i = 0; i + HALF <= n; i += HALF) {
		elect_four(m, at + i, &all);
		four_put(m, at + i, &all, y + i);
	}
	for (; i < n; i++)
		one_put(m, at + i, elect_one(m, at + i), y + i);
}

const struct mixing KERNEL(mixing) = { round8, subtract, keep, equals, coarse, fine, sum, elect };
