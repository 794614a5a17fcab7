/* One row of activations with weights of F32, F16 and BF16. */
#include "kernels/avx512/avx512.h"
#include "kernels/avx512/streams.h"

INLINE void
float_streams(load_floats *get, size_t bytes, const uint8_t *const w[STREAMS], const uint8_t *a,
              size_t n, float *y)
{
	__m512 acc[STREAMS][4], x;
	__mmask16 m;
	const size_t far = dot_ahead_now();
	size_t i;
	int r, k;

#pragma GCC unroll 4
	for (r = 0; r < STREAMS; r++)
#pragma GCC unroll 4
		for (k = 0; k < 4; k++)
			acc[r][k] = _mm512_setzero_ps();
	for (i = 0; i + 64 <= n; i += 64)
#pragma GCC unroll 4
		for (k = 0; k < 4; k++) {
			x = f32_load(a + sizeof(float) * (i + 16 * (size_t)k), 0xffff);
			if (far && bytes * (size_t)k % 4 == 0) /* one prefetch a cache line */
#pragma GCC unroll 4
				for (r = 0; r < STREAMS; r++)
					ask(w[r] + far + bytes * (i + 16 * (size_t)k), 64);
#pragma GCC unroll 4
			for (r = 0; r < STREAMS; r++)
				acc[r][k] = _mm512_fmadd_ps(get(w[r] + bytes * (i + 16 * (size_t)k),
				                                0xffff), x, acc[r][k]);
		}
	for (; i < n; i += 16) {
		m = some(n - i);
		x = f32_load(a + sizeof(float) * i, m);
#pragma GCC unroll 4
		for (r = 0; r < STREAMS; r++)
			acc[r][0] = _mm512_fmadd_ps(get(w[r] + bytes * i, m), x, acc[r][0]);
	}
#pragma GCC unroll 4
	for (r = 0; r < STREAMS; r++)
		y[r] = _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(acc[r][0], acc[r][1]),
		                                          _mm512_add_ps(acc[r][2], acc[r][3])));
}

#define FLOAT_STREAMS(NAME, BYTES) \
static void \
NAME##_streams(const uint8_t *const w[STREAMS], const uint8_t *a, size_t n, float *y) \
{ \
	float_streams(NAME##_load, BYTES, w, a, n, y); \
} \
STREAM_ROWS(NAME)

FLOAT_STREAMS(f32, 4)
FLOAT_STREAMS(f16, 2)
FLOAT_STREAMS(bf16, 2)
