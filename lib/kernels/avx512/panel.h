/* panel: what panels of codes and of floats with AVX-512 share. Internal to this folder.
 */
#ifndef DOT_PANEL_AVX512_H
#define DOT_PANEL_AVX512_H

#include "kernels/avx512/codes.h"

/* Rows of a panel, its steps of four columns, panels side by side, and activations that are
 * multiplied at a time. */
enum { ROWS = 16, STEPS = LARGE / 4, WIDE = 2, GROUP = 6, SMALLER = 4 };

/* The activations that panels are multiplied by, and where results go. */
struct job {
	const uint8_t *a;   /* rows of activations, bytes apart */
	size_t bytes, n, many;
	float *y;           /* [many][leading] */
	size_t leading;
	__mmask16 rows[WIDE]; /* masks of the rows that exist, sixteen each */
	bool add;           /* results are added to y; floats only */
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
	/* Now v[4 g + k] has columns k, k + 4, k + 8 and k + 12 of rows 4 g to 4 g + 3. */
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

/* Row i of count of a panel; behind the last row, the last row again. */
INLINE const uint8_t *
row_at(const uint8_t *w, size_t stride, size_t count, int i)
{
	return w + stride * ((size_t)i < count ? (size_t)i : count - 1);
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

/* Store the sums of these columns: y begins with them, or they are added to it. */
INLINE void
put(float *y, __mmask16 rows, bool add, __m512 sum)
{
	if (add)
		sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(rows, y));
	_mm512_mask_storeu_ps(y, rows, sum);
}

/* How many of the activations that are left are multiplied next, so that the last group is
 * not small. */
INLINE size_t
group_of(size_t left)
{
	return left >= GROUP + SMALLER || left == GROUP || left == GROUP + 1 ? GROUP
		: left >= SMALLER ? SMALLER : 1;
}

/* ---- panels of codes ---- */

/* 256 columns of sixteen rows: four neighbouring codes of all rows side by side. */
struct panel {
	__m512i code[STEPS];
	__m512 scale[LARGE / SUB]; /* for each 16 or 32 columns */
	__m512i least[LARGE / SUB / 2]; /* blocks of 256: for 32 columns, two of 16 bits */
	__m512 m;                  /* their units */
	__m512 lift[LARGE / SMALL]; /* blocks of 32: added to results */
};

/* Multiply block b of all activations by WIDE panels of blocks of 256, with a scale for
 * each 16 or 32 values. */
void panel_large(const struct panel *p, int sub, const struct job *o, size_t b);

/* The same for eight blocks of 32 from b on; zero (8 or 128) was added to their codes. */
void panel_small(const struct panel *p, int zero, const struct job *o, size_t b);

/* Unpack the rows from first on to a panel. */
INLINE void
large_fill(struct panel *p, large_codes *codes, large_scales *scales, int sub, const uint8_t *w,
           size_t stride, size_t count, int first)
{
	__m512i v[ROWS], least[ROWS], part[ROWS];
	float m[ROWS];
	struct scales s;
	int i, k;

	for (i = 0; i < ROWS; i++) {
		s = scales(row_at(w, stride, count, first + i));
		v[i] = _mm512_castps_si512(_mm512_mul_ps(_mm512_cvtepi32_ps(s.scale),
		                                         _mm512_set1_ps(s.d)));
		least[i] = _mm512_castsi256_si512(s.least16);
		m[i] = s.m;
	}
	turn(v);
	turn(least);
	for (i = 0; i < LARGE / sub; i++)
		p->scale[i] = _mm512_castsi512_ps(v[i]);
	for (i = 0; i < LARGE / SUB / 2; i++)
		p->least[i] = least[i];
	p->m = _mm512_loadu_ps(m);
	for (k = 0; k < 4; k++) {
		for (i = 0; i < ROWS; i++)
			part[i] = codes(row_at(w, stride, count, first + i), k);
		turn(part);
		for (i = 0; i < ROWS; i++)
			p->code[ROWS * k + i] = part[i];
	}
}

INLINE void
large_panel(large_codes *codes, large_scales *scales, size_t bytes, int sub, const uint8_t *w,
            size_t stride, size_t count, const struct job *o)
{
	struct panel p[WIDE];
	size_t b;
	int h;

	for (b = 0; b < o->n / LARGE; b++, w += bytes) {
		for (h = 0; h < WIDE; h++)
			large_fill(&p[h], codes, scales, sub, w, stride, count, ROWS * h);
		rows_ahead(w + bytes, stride, count, bytes);
		panel_large(p, sub, o, b);
	}
}

/* A dot_panels that does CALL with o for HEIGHT rows at a time, part rows from w on. */
#define PANELS(FUNCTION, HEIGHT, CALL, ADD) \
void \
FUNCTION(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t bytes, \
         size_t many, size_t n, float *y, size_t leading) \
{ \
	struct job o = { a, bytes, n, many, y, leading, { 0xffff }, ADD }; \
	size_t part; \
\
	for (; count > 0; count -= part, w += stride * part, o.y += part) { \
		part = count < (size_t)(HEIGHT) ? count : (size_t)(HEIGHT); \
		o.rows[0] = some(part); \
		o.rows[1] = part > ROWS ? some(part - ROWS) : 0; \
		CALL; \
	} \
}
#define LARGE_PANELS(NAME, SCALES, BYTES, SUBS) \
	PANELS(NAME##_panels_avx512, WIDE * ROWS, \
	       large_panel(NAME##_codes, SCALES, BYTES, SUBS, w, stride, part, &o), false)

#endif
