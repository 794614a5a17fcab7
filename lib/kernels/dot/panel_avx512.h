/* panel_avx512: what panels of codes and of floats have in common: sixteen rows become
 * columns. Internal to the files of this folder for AVX-512.
 */
#ifndef DOT_PANEL_AVX512_H
#define DOT_PANEL_AVX512_H

#include "kernels/dot/codes_avx512.h"

enum { ROWS = 16 };

/* What it is multiplied by, and where results go. */
struct job {
	const uint8_t *a;   /* activations, each bytes after the other */
	size_t bytes, n, many;
	float *y;           /* [many][leading] */
	size_t leading;
	__mmask16 rows;     /* that are there */
	bool add;           /* floats alone: to what y has */
};

/* Rows of 16 numbers of 32 bits become columns. */
INLINE void
turn(__m512i *v)
{
	__m512i t[16];
	int i;

#pragma GCC unroll 8
	for (i = 0; i < 16; i += 2) {
		t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
		t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
	}
#pragma GCC unroll 4
	for (i = 0; i < 16; i += 4) {
		v[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
		v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
		v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
		v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
	}
	/* Now v[4 g + k] has, of rows 4 g to 4 g + 3, columns k, k + 4, k + 8, k + 12. */
#pragma GCC unroll 4
	for (i = 0; i < 4; i++) {
		t[i] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0x88);
		t[i + 4] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0xdd);
		t[i + 8] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0x88);
		t[i + 12] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0xdd);
	}
#pragma GCC unroll 4
	for (i = 0; i < 4; i++) {
		v[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
		v[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
		v[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
		v[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
	}
}

/* The row of a panel that stands for row i of count: where there is none, the last. */
INLINE const uint8_t *
row_at(const uint8_t *w, size_t stride, size_t count, int i)
{
	return w + stride * ((size_t)i < count ? (size_t)i : count - 1);
}

/* So many bytes of each row from w on will be wanted: their lines are asked for. */
INLINE void
rows_ahead(const uint8_t *w, size_t stride, size_t count, size_t bytes)
{
	size_t i, k;

	for (i = 0; i < count; i++)
		for (k = 0; k < bytes; k += 64)
			_mm_prefetch((const char *)w + i * stride + k, _MM_HINT_T1);
}

#endif
