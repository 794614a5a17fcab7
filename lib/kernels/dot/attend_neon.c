/* attend.h with NEON. Vectors of sixteen are four registers here, and a compiler that
 * makes them of attend_loops.h keeps them in memory; so this holds them in registers,
 * and does the same operations in the same order.
 */
#ifdef __aarch64__
#include <arm_neon.h>
#include <string.h>

#include "kernels/dot/kinds.h"

#define INLINE static inline __attribute__((always_inline))

enum { LANES = ATTEND_RUN, WIDE = 4, PARTS = LANES / WIDE, QUERIES = 4 };

struct lanes {
	float32x4_t part[PARTS];
};

INLINE struct lanes
at(const float *p)
{
	struct lanes v;
	int i;

#pragma GCC unroll 4
	for (i = 0; i < PARTS; i++)
		v.part[i] = vld1q_f32(p + WIDE * i);
	return v;
}

INLINE void
put(float *p, const struct lanes *v)
{
	int i;

#pragma GCC unroll 4
	for (i = 0; i < PARTS; i++)
		vst1q_f32(p + WIDE * i, v->part[i]);
}

INLINE struct lanes
times(struct lanes v, float by)
{
	int i;

#pragma GCC unroll 4
	for (i = 0; i < PARTS; i++)
		v.part[i] = vmulq_n_f32(v.part[i], by);
	return v;
}

/* sum + v × by, rounded twice. */
INLINE void
add_times(struct lanes *sum, struct lanes v, float by)
{
	int i;

	v = times(v, by);
#pragma GCC unroll 4
	for (i = 0; i < PARTS; i++)
		sum->part[i] = vaddq_f32(sum->part[i], v.part[i]);
}

/* Four values of each of four positions, to columns. */
INLINE void
turn_four(const float *keys, size_t width, float *turned)
{
	float32x4_t a = vld1q_f32(keys), b = vld1q_f32(keys + width);
	float32x4_t c = vld1q_f32(keys + 2 * width), d = vld1q_f32(keys + 3 * width);
	float32x4_t ac = vzip1q_f32(a, c), bd = vzip1q_f32(b, d);

	vst1q_f32(turned, vzip1q_f32(ac, bd));
	vst1q_f32(turned + LANES, vzip2q_f32(ac, bd));
	ac = vzip2q_f32(a, c);
	bd = vzip2q_f32(b, d);
	vst1q_f32(turned + 2 * LANES, vzip1q_f32(ac, bd));
	vst1q_f32(turned + 3 * LANES, vzip2q_f32(ac, bd));
}

static void
turn(const float *keys, size_t n, size_t width, float *turned)
{
	size_t whole = n == LANES ? width / WIDE * WIDE : 0, d, i;

	for (d = 0; d < whole; d += WIDE)
		for (i = 0; i < LANES; i += WIDE)
			turn_four(keys + i * width + d, width, turned + d * LANES + i);
	for (; d < width; d++) {
		for (i = 0; i < n; i++)
			turned[d * LANES + i] = keys[i * width + d];
		for (; i < LANES; i++)
			turned[d * LANES + i] = 0;
	}
}

INLINE void
some_scores(const float *q, int count, const float *turned, size_t width,
            float (*score)[ATTEND_RUN])
{
	struct lanes sum[QUERIES], keys;
	size_t d;
	int j;

#pragma GCC unroll 4
	for (j = 0; j < count; j++)
		memset(&sum[j], 0, sizeof sum[j]);
	for (d = 0; d < width; d++) {
		keys = at(turned + d * LANES);
#pragma GCC unroll 4
		for (j = 0; j < count; j++)
			add_times(&sum[j], keys, q[(size_t)j * width + d]);
	}
#pragma GCC unroll 4
	for (j = 0; j < count; j++)
		put(score[j], &sum[j]);
}

static void
scores(const float *q, size_t count, const float *turned, size_t width,
       float (*score)[ATTEND_RUN])
{
	size_t j;

	for (j = 0; j + QUERIES <= count; j += QUERIES)
		some_scores(q + j * width, QUERIES, turned, width, score + j);
	for (; j < count; j++)
		some_scores(q + j * width, 1, turned, width, score + j);
}

INLINE float32x4_t
step(float32x4_t y, float32x4_t r, float next)
{
	return vaddq_f32(vmulq_f32(y, r), vdupq_n_f32(next));
}

/* As in attend_loops.h. */
INLINE float32x4_t
exponential(float32x4_t x)
{
	const float32x4_t big = vdupq_n_f32(0x1.8p23f);
	float32x4_t n = step(x, vdupq_n_f32(0x1.715476p0f), 0x1.8p23f), r, y;
	uint32x4_t two = vreinterpretq_u32_f32(n), none = vcltq_f32(x, vdupq_n_f32(-87.0f));

	two = vshlq_n_u32(vaddq_u32(two, vdupq_n_u32(127u - 0x4b400000u)), 23);
	n = vsubq_f32(n, big);
	r = vsubq_f32(x, vmulq_n_f32(n, 0x1.62e4p-1f));
	r = vsubq_f32(r, vmulq_n_f32(n, 0x1.7f7d1cp-20f));
	y = step(vdupq_n_f32(1.0f / 5040), r, 1.0f / 720);
	y = step(y, r, 1.0f / 120);
	y = step(y, r, 1.0f / 24);
	y = step(y, r, 1.0f / 6);
	y = step(y, r, 0.5f);
	y = step(y, r, 1.0f);
	y = step(y, r, 1.0f);
	y = vmulq_f32(y, vreinterpretq_f32_u32(two));
	return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(y), none));
}

/* Of sixteen, lane i is added to lane i + 8, then to i + 4, and so on. */
static float
weigh(float x[ATTEND_RUN], float most)
{
	float32x4_t v[PARTS];
	float32x2_t two;
	int i;

#pragma GCC unroll 4
	for (i = 0; i < PARTS; i++) {
		v[i] = exponential(vsubq_f32(vld1q_f32(x + WIDE * i), vdupq_n_f32(most)));
		vst1q_f32(x + WIDE * i, v[i]);
	}
	v[0] = vaddq_f32(vaddq_f32(v[0], v[2]), vaddq_f32(v[1], v[3]));
	two = vadd_f32(vget_low_f32(v[0]), vget_high_f32(v[0]));
	return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

INLINE void
add_lanes(float *a, float scale, const float *weight, const float *values, size_t n,
          size_t width, int wide)
{
	struct lanes sum[4];
	size_t i;
	int k;

#pragma GCC unroll 4
	for (k = 0; k < wide; k++)
		sum[k] = times(at(a + LANES * k), scale);
	for (i = 0; i < n; i++)
#pragma GCC unroll 4
		for (k = 0; k < wide; k++)
			add_times(&sum[k], at(values + i * width + (size_t)(LANES * k)), weight[i]);
#pragma GCC unroll 4
	for (k = 0; k < wide; k++)
		put(a + LANES * k, &sum[k]);
}

static void
add(float *a, float scale, const float *weight, const float *values, size_t n, size_t width)
{
	size_t d, i;

	for (d = 0; d + 4 * LANES <= width; d += 4 * LANES)
		add_lanes(a + d, scale, weight, values + d, n, width, 4);
	for (; d + LANES <= width; d += LANES)
		add_lanes(a + d, scale, weight, values + d, n, width, 1);
	for (; d < width; d++) {
		a[d] *= scale;
		for (i = 0; i < n; i++)
			a[d] += values[i * width + d] * weight[i];
	}
}

/* From e^87 on the gate is as good as shut. */
INLINE float32x4_t
gated(float32x4_t x)
{
	float32x4_t most = vdupq_n_f32(87), e = vnegq_f32(x);

	e = vbslq_f32(vcgtq_f32(e, most), most, e);
	return vdivq_f32(x, vaddq_f32(exponential(e), vdupq_n_f32(1)));
}

/* The last few lie in some. */
static void
gate(const float *x, float *y, size_t n)
{
	float some[WIDE] = { 0 };
	size_t i;

	for (; n >= WIDE; n -= WIDE, x += WIDE, y += WIDE)
		vst1q_f32(y, vmulq_f32(vld1q_f32(y), gated(vld1q_f32(x))));
	memcpy(some, x, n * sizeof *x);
	vst1q_f32(some, gated(vld1q_f32(some)));
	for (i = 0; i < n; i++)
		y[i] *= some[i];
}

const struct attend attend_neon = { turn, scores, weigh, add, gate };
#else
typedef int nothing_here;
#endif
