/* Products of rows without zeros (kernels/thin.h): not the weights are expanded, which takes longer
 * than to read their zeros, but the activations are permuted. Four streams of rows, as in streams.h;
 * the sums of a row are two vectors. */
#include "kernels/avx512/avx512.h"
#include "kernels/avx512/streams.h"
#include "kernels/avx512/thin_values.h"

/* A row at work: its next line, the values of that, and its sums. */
struct row {
	const uint8_t *head, *p;
	__m512 low, high;
};

/* The floats of a line. */
struct floats {
	__m512 x[4];
};

typedef void thin_step(thin_load *get, struct row *r, const struct floats *f);

/* 16 places of 2 bits in the columns of 32. */
INLINE __m512
at_places(uint32_t places, __m512 low, __m512 high)
{
	const __m512i shift = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
	const __m512i fours = _mm512_set_epi32(28, 28, 24, 24, 20, 20, 16, 16, 12, 12, 8, 8, 4, 4, 0, 0);
	const __m512i at = _mm512_srlv_epi32(_mm512_set1_epi32((int)places), shift);

	/* (at & 3) | fours */
	return _mm512_permutex2var_ps(low, _mm512_ternarylogic_epi32(at, _mm512_set1_epi32(3), fours,
	                                                             0xea), high);
}

INLINE void
pairs_step(thin_load *get, struct row *r, const struct floats *f)
{
	r->low = _mm512_fmadd_ps(get(r->p), at_places(le32(r->head), f->x[0], f->x[1]), r->low);
	r->high = _mm512_fmadd_ps(get(r->p + 32), at_places(le32(r->head + 4), f->x[2], f->x[3]),
	                          r->high);
	r->head += THIN_HEAD;
	r->p += THIN_PAIRED * THIN_VALUE;
}

INLINE void
four_rows(thin_step *step, thin_load *get, struct row r[STREAMS], const float *x, size_t n)
{
	const size_t far = dot_ahead_now();
	struct floats f;
	size_t i, k;

	for (i = 0; i < n; i += THIN_LINE) {
		thin_floats(f.x, x + i, n - i);
#pragma GCC unroll 4
		for (k = 0; k < STREAMS; k++) {
			if (far)
				ask(r[k].p + far, 64);
			step(get, &r[k], &f);
		}
	}
}

INLINE void
thin_rows(thin_step *step, thin_load *get, const uint8_t *data, const uint64_t *starts, size_t count,
          const float *x, size_t n, float *y)
{
	size_t part = (count + STREAMS - 1) / STREAMS, i, k;
	struct row r[STREAMS];

	for (i = 0; i < part; i++) {
#pragma GCC unroll 4
		for (k = 0; k < STREAMS; k++) {
			size_t at = i + k * part;

			const uint8_t *head = data + starts[at < count ? at : count - 1];

			r[k] = (struct row){ head, head + thin_lines(n) * THIN_HEAD,
				_mm512_setzero_ps(), _mm512_setzero_ps() };
		}
		four_rows(step, get, r, x, n);
#pragma GCC unroll 4
		for (k = 0; k < STREAMS; k++)
			if (i + k * part < count)
				y[i + k * part] = thin_total(r[k].low, r[k].high);
	}
}

#define THIN_ROWS(NAME, STEP, GET) \
static void \
NAME(const uint8_t *data, const uint64_t *starts, size_t count, const float *x, size_t n, float *y) \
{ \
	thin_rows(STEP, GET, data, starts, count, x, n, y); \
}

THIN_ROWS(f16_pairs, pairs_step, thin_f16)
THIN_ROWS(bf16_pairs, pairs_step, thin_bf16)

const struct thin_products thin_avx512[] = {
	{ "F16", THIN_PAIRS, 0, f16_pairs },
	{ "BF16", THIN_PAIRS, 0, bf16_pairs },
	{ "F16", THIN_BITMAP, CPU_VBMI2, thin_bits_f16 },
	{ "BF16", THIN_BITMAP, CPU_VBMI2, thin_bits_bf16 },
	{ NULL, THIN_NONE, 0, NULL }
};
