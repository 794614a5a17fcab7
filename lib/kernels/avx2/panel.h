/* panel: what panels with AVX2 share. Internal to this folder.
 *
 * Up to HEIGHT rows of weights make a panel, eight in the lanes of a vector: one column, or
 * some neighbouring columns, of all rows lie side by side. A panel is unpacked once and
 * stays in the nearest cache while all activations pass by; a column of an activation is
 * broadcast to all lanes. So nothing is added across lanes, and a scale serves eight rows.
 * Two vectors of rows and a group of activations are multiplied at a time, with the sums in
 * registers.
 */
#ifndef DOT_PANEL_AVX2_H
#define DOT_PANEL_AVX2_H

#include "kernels/avx2/codes.h"

enum { ROWS = 8, PAIR = 2 * ROWS, HEIGHT = 64, PAIRS = HEIGHT / PAIR };

/* The activations that a panel is multiplied by, and where results go. */
struct job {
	const uint8_t *a;   /* rows of activations, bytes apart */
	size_t bytes, n, many;
	float *y;           /* [many][leading] */
	size_t leading;
	size_t rows;        /* of the panel; the rest is padding */
	bool add;           /* results are added to y; floats only */
};

/* Rows of eight numbers of 32 bits become columns. */
INLINE void
turn(__m256i *v)
{
	__m256i t[8];
	int i;

#pragma GCC unroll 8
	for (i = 0; i < 8; i += 2) {
		t[i] = _mm256_unpacklo_epi32(v[i], v[i + 1]);
		t[i + 1] = _mm256_unpackhi_epi32(v[i], v[i + 1]);
	}
	/* Now v[4 g + k] has columns k and k + 4 of rows 4 g to 4 g + 3. */
#pragma GCC unroll 8
	for (i = 0; i < 8; i += 4) {
		v[i] = _mm256_unpacklo_epi64(t[i], t[i + 2]);
		v[i + 1] = _mm256_unpackhi_epi64(t[i], t[i + 2]);
		v[i + 2] = _mm256_unpacklo_epi64(t[i + 1], t[i + 3]);
		v[i + 3] = _mm256_unpackhi_epi64(t[i + 1], t[i + 3]);
	}
#pragma GCC unroll 8
	for (i = 0; i < 4; i++) {
		t[i] = _mm256_permute2x128_si256(v[i], v[i + 4], 0x20);
		t[i + 4] = _mm256_permute2x128_si256(v[i], v[i + 4], 0x31);
	}
#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		v[i] = t[i];
}

/* v, forced into a register: compilers would otherwise multiply all before they add, and
 * spill products to memory. */
INLINE __m256i
kept(__m256i v)
{
	__asm__("" : "+x"(v));
	return v;
}

/* Row i of count of a panel; behind the last row, the last row again. */
INLINE const uint8_t *
row_at(const uint8_t *w, size_t stride, size_t count, size_t i)
{
	return w + stride * (i < count ? i : count - 1);
}

/* Prefetch that many bytes of each row from w on. */
INLINE void
rows_ahead(const uint8_t *w, size_t stride, size_t count, size_t bytes)
{
	size_t i, k;

	for (i = 0; i < count; i++)
		for (k = 0; k < bytes; k += 64)
			_mm_prefetch((const char *)w + i * stride + k, _MM_HINT_T1);
}

/* Vectors of eight rows in a panel of that many rows: whole pairs. */
INLINE size_t
vectors(size_t rows)
{
	return (rows + PAIR - 1) / PAIR * 2;
}

/* A mask of the first count lanes; count is less than eight. */
INLINE __m256i
lanes(size_t count)
{
	return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count),
	                          _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* Eight results, or the first count of them. */
INLINE __m256
get(const float *y, size_t count)
{
	return count >= ROWS ? _mm256_loadu_ps(y)
		: count > 0 ? _mm256_maskload_ps(y, lanes(count)) : _mm256_setzero_ps();
}

INLINE void
put(float *y, size_t count, __m256 v)
{
	if (count >= ROWS)
		_mm256_storeu_ps(y, v);
	else if (count > 0)
		_mm256_maskstore_ps(y, lanes(count), v);
}

/* Rows of vector v of a pair that exist. */
INLINE size_t
rows_of(const struct job *o, size_t pair, int v)
{
	size_t first = pair * PAIR + (size_t)v * ROWS;

	return o->rows > first ? o->rows - first : 0;
}

/* The results of vector v of a pair with activation j. */
INLINE float *
results(const struct job *o, size_t pair, int v, size_t j)
{
	return o->y + j * o->leading + pair * PAIR + (size_t)v * ROWS;
}

/* A dot_panels that does CALL with o for each HEIGHT of the count rows from w on. */
#define PANELS(FUNCTION, CALL, ADD) \
void \
FUNCTION(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t bytes, \
         size_t many, size_t n, float *y, size_t leading) \
{ \
	struct job o = { a, bytes, n, many, y, leading, 0, ADD }; \
\
	for (; count > 0; count -= o.rows, w += stride * o.rows, o.y += o.rows) { \
		o.rows = count < HEIGHT ? count : HEIGHT; \
		CALL; \
	} \
}

#endif
