/* Many activations with weights in bytes, with AVX-512 VNNI.
 *
 * Sixteen rows of weights make a panel: four neighbouring codes of all rows lie side by
 * side, a row in each lane, for 256 columns. Two panels are unpacked once and stay in the
 * nearest cache while all activations pass by; four codes of an activation are broadcast
 * to all lanes. So nothing is added across lanes, and a scale serves 16 rows.
 *
 * Two panels times six activations have twelve sums that do not wait for each other. A CPU
 * that begins two products a cycle, and ends them after five, needs ten. Each broadcast
 * serves two products, so that loads are not the limit (tests/bench/ROOFLINE.md).
 */
#include "kernels/avx512/avx512.h"
#include "kernels/avx512/codes.h"
#include "kernels/avx512/panel.h"

/* sum[j][h] += codes of panel h × codes of activation j, for steps of four columns. */
INLINE void
multiply(__m512i (*sum)[WIDE], const struct panel *p, int first, const int8_t *const *a,
         int steps, int group)
{
	__m512i v;
	int h, j, k;

#pragma GCC unroll 8
	for (k = 0; k < steps; k++)
#pragma GCC unroll 8
		for (j = 0; j < group; j++) {
			v = _mm512_set1_epi32(word_at(a[j] + 4 * k));
#pragma GCC unroll 2
			for (h = 0; h < WIDE; h++)
				sum[j][h] = _mm512_dpbusd_epi32(sum[j][h], p[h].code[first + k], v);
		}
}

/* ---- blocks of 256 ---- */

/* Subtract mins times the scale of the activation; y goes on from there. */
INLINE void
large_end(const struct panel *p, const struct job *o, size_t b, size_t j, const __m512 *acc)
{
	struct quantized q = quantized_at(o->a + j * o->bytes, o->n, LARGE);
	const int16_t *of = (const int16_t *)q.sums + LARGE / SUB * b;
	float *to = o->y + j * o->leading;
	__m512i sum[WIDE], v;
	__m512 y;
	int h, k;

#pragma GCC unroll 2
	for (h = 0; h < WIDE; h++)
		sum[h] = _mm512_setzero_si512();
#pragma GCC unroll 8
	for (k = 0; k < LARGE / SUB / 2; k++) {
		v = _mm512_set1_epi32(word_at(of + 2 * k));
#pragma GCC unroll 2
		for (h = 0; h < WIDE; h++)
			sum[h] = _mm512_dpwssd_epi32(sum[h], p[h].least[k], v);
	}
#pragma GCC unroll 2
	for (h = 0; h < WIDE; h++) {
		y = b ? _mm512_maskz_loadu_ps(o->rows[h], to + ROWS * h) : _mm512_setzero_ps();
		y = _mm512_fmadd_ps(_mm512_fnmadd_ps(_mm512_cvtepi32_ps(sum[h]), p[h].m, acc[h]),
		                    _mm512_set1_ps(q.scale[b]), y);
		_mm512_mask_storeu_ps(to + ROWS * h, o->rows[h], y);
	}
}

/* Block b of a group of activations from j on. */
INLINE void
large_group(const struct panel *p, int sub, const struct job *o, size_t b, size_t j, int group)
{
	__m512 acc[GROUP][WIDE];
	__m512i sum[GROUP][WIDE];
	const int8_t *a[GROUP];
	int g, h, i;

#pragma GCC unroll 8
	for (g = 0; g < group; g++) {
		a[g] = (const int8_t *)o->a + (j + (size_t)g) * o->bytes + LARGE * b;
		acc[g][0] = acc[g][1] = _mm512_setzero_ps();
	}
	for (i = 0; i < LARGE / sub; i++) {
#pragma GCC unroll 8
		for (g = 0; g < group; g++)
			sum[g][0] = sum[g][1] = _mm512_setzero_si512();
		multiply(sum, p, sub / 4 * i, a, sub / 4, group);
#pragma GCC unroll 8
		for (g = 0; g < group; g++) {
#pragma GCC unroll 2
			for (h = 0; h < WIDE; h++)
				acc[g][h] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[g][h]),
				                            p[h].scale[i], acc[g][h]);
			a[g] += sub;
		}
	}
#pragma GCC unroll 8
	for (g = 0; g < group; g++)
		large_end(p, o, b, j + (size_t)g, acc[g]);
}

INLINE void
large_groups(const struct panel *p, int sub, const struct job *o, size_t b)
{
	size_t j, group;

	for (j = 0; j < o->many; j += group) {
		group = group_of(o->many - j);
		if (group == GROUP)
			large_group(p, sub, o, b, j, GROUP);
		else if (group == SMALLER)
			large_group(p, sub, o, b, j, SMALLER);
		else
			large_group(p, sub, o, b, j, 1);
	}
}

void
panel_large(const struct panel *p, int sub, const struct job *o, size_t b)
{
	if (sub == SUB)
		large_groups(p, SUB, o, b);
	else
		large_groups(p, SMALL, o, b);
}

/* ---- blocks of 32 ---- */

/* Unpack up to eight blocks of the rows from first on. */
INLINE void
small_fill(struct panel *p, small_codes *codes, size_t bytes, bool least, const uint8_t *w,
           size_t stride, size_t count, int first, int blocks)
{
	float scale[LARGE / SMALL][ROWS], lift[LARGE / SMALL][ROWS];
	const uint8_t *x;
	__m512i part[ROWS];
	int b, i;

	for (i = 0; i < ROWS; i++) {
		x = row_at(w, stride, count, first + i);
		for (b = 0; b < blocks; b++, x += bytes) {
			scale[b][i] = bytes == 17 ? power_at(x) : half_at(x);
			lift[b][i] = least ? half_at(x + 2) : 0;
		}
	}
	for (b = 0; b < blocks; b++) {
		p->scale[b] = _mm512_loadu_ps(scale[b]);
		p->lift[b] = _mm512_loadu_ps(lift[b]);
	}
	for (b = 0; b < blocks; b += 2) {
		for (i = 0; i < ROWS; i++) {
			x = row_at(w, stride, count, first + i) + bytes * (size_t)b;
			part[i] = _mm512_castsi256_si512(codes(x));
			if (b + 1 < blocks)
				part[i] = _mm512_inserti64x4(part[i], codes(x + bytes), 1);
		}
		turn(part);
		for (i = 0; i < ROWS; i++)
			p->code[SMALL / 4 * b + i] = part[i];
	}
}

/* Blocks from b on of a group of activations from j on. */
INLINE void
small_group(const struct panel *p, int zero, bool least, const struct job *o, size_t b, int blocks,
            size_t j, int group)
{
	__m512 acc[GROUP][WIDE], s;
	__m512i sum[GROUP][WIDE];
	const float *scale[GROUP];
	const int8_t *a[GROUP];
	const int *of[GROUP];
	struct quantized q;
	float *y = o->y + j * o->leading;
	int g, h, i;

#pragma GCC unroll 8
	for (g = 0; g < group; g++) {
		q = quantized_at(o->a + (j + (size_t)g) * o->bytes, o->n, SMALL);
		a[g] = q.code + SMALL * b;
		scale[g] = q.scale + b;
		of[g] = (const int *)q.sums + b;
#pragma GCC unroll 2
		for (h = 0; h < WIDE; h++)
			acc[g][h] = !b ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(
				o->rows[h], y + (size_t)g * o->leading + ROWS * h);
	}
	for (i = 0; i < blocks; i++) {
#pragma GCC unroll 8
		for (g = 0; g < group; g++)
			sum[g][0] = sum[g][1] = zero ? _mm512_set1_epi32(-zero * of[g][i])
			                             : _mm512_setzero_si512();
		multiply(sum, p, SMALL / 4 * i, a, SMALL / 4, group);
#pragma GCC unroll 8
		for (g = 0; g < group; g++) {
#pragma GCC unroll 2
			for (h = 0; h < WIDE; h++) {
				s = _mm512_mul_ps(p[h].scale[i], _mm512_set1_ps(scale[g][i]));
				acc[g][h] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[g][h]), s,
				                            acc[g][h]);
				if (least)
					acc[g][h] = _mm512_fmadd_ps(p[h].lift[i], _mm512_set1_ps(
						((const float *)(const void *)of[g])[i]), acc[g][h]);
			}
			a[g] += SMALL;
		}
	}
#pragma GCC unroll 8
	for (g = 0; g < group; g++)
#pragma GCC unroll 2
		for (h = 0; h < WIDE; h++)
			_mm512_mask_storeu_ps(y + (size_t)g * o->leading + ROWS * h, o->rows[h],
			                      acc[g][h]);
}

/* Up to eight blocks from b on, of all activations. */
INLINE void
small_groups(const struct panel *p, int zero, bool least, const struct job *o, size_t b, int blocks)
{
	size_t j, group;

	for (j = 0; j < o->many; j += group) {
		group = group_of(o->many - j);
		if (group == GROUP)
			small_group(p, zero, least, o, b, blocks, j, GROUP);
		else if (group == SMALLER)
			small_group(p, zero, least, o, b, blocks, j, SMALLER);
		else
			small_group(p, zero, least, o, b, blocks, j, 1);
	}
}

void
panel_small(const struct panel *p, int zero, const struct job *o, size_t b)
{
	if (zero == 8)
		small_groups(p, 8, false, o, b, LARGE / SMALL);
	else
		small_groups(p, 128, false, o, b, LARGE / SMALL);
}

INLINE void
small_panel(small_codes *codes, size_t bytes, int zero, bool least, const uint8_t *w,
            size_t stride, size_t count, const struct job *o)
{
	struct panel p[WIDE];
	size_t b, left;
	int blocks, h;

	for (b = 0; b < o->n / SMALL; b += (size_t)blocks) {
		left = o->n / SMALL - b;
		blocks = left < LARGE / SMALL ? (int)left : LARGE / SMALL;
		for (h = 0; h < WIDE; h++)
			small_fill(&p[h], codes, bytes, least, w + bytes * b, stride, count, ROWS * h,
			           blocks);
		rows_ahead(w + bytes * (b + (size_t)blocks), stride, count, bytes * (size_t)blocks);
		small_groups(p, zero, least, o, b, blocks);
	}
}

/* ---- types ---- */

#define SMALL_PANELS(NAME, BYTES, ZERO, LEAST) \
	PANELS(NAME##_panels_avx512, WIDE * ROWS, \
	       small_panel(NAME##_codes, BYTES, ZERO, LEAST, w, stride, part, &o), false)

SMALL_PANELS(q4_0, 18, 8, false)
SMALL_PANELS(q5_0, 22, 16, false)
SMALL_PANELS(q8_0, 34, 128, false)
SMALL_PANELS(iq4_nl, 18, 128, false)
SMALL_PANELS(mxfp4, 17, 12, false)
SMALL_PANELS(q4_1, 20, 0, true)
SMALL_PANELS(q5_1, 24, 0, true)
LARGE_PANELS(q2_k, q2_k_scales, 84, 16)
LARGE_PANELS(q3_k, q3_k_scales, 110, 16)
LARGE_PANELS(q4_k, q4_k_scales, 144, 32)
LARGE_PANELS(q5_k, q4_k_scales, 176, 32)
LARGE_PANELS(q6_k, q6_k_scales, 210, 16)
LARGE_PANELS(iq4_xs, iq4_xs_scales, 136, 32)
LARGE_PANELS(tq1_0, tq1_0_scales, 54, 32)
LARGE_PANELS(tq2_0, tq2_0_scales, 66, 32)
