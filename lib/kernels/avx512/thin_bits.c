/* Products of rows with bitmaps (kernels/thin.h). The places of the values of a line are the numbers 0
 * to 63 whose bits are 1, moved side by side; 16 at a time permute the activations.
 */
#include "kernels/avx512/streams.h"
#include "kernels/avx512/thin_values.h"

struct bits_sums {
	__m512 of[2];
};

/* Values 16 k to 16 k + 15 of a line; `left` of them are there, and at are their places. All 16 are
 * read: with masked loads a token took twice as long. */
INLINE void
part(thin_load *get, const uint8_t *w, __m128i at, size_t left, const __m512 x[4], __m512 *sum)
{
	const __mmask16 m = some(left);
	const __m512i place = _mm512_cvtepu8_epi32(at);
	const __m512 low = _mm512_permutex2var_ps(x[0], place, x[1]);
	const __m512 high = _mm512_permutex2var_ps(x[2], place, x[3]);
	const __m512 by = _mm512_mask_blend_ps(_mm512_test_epi32_mask(place, _mm512_set1_epi32(32)), low, high);

	*sum = _mm512_mask3_fmadd_ps(get(w), by, *sum, m);
}

/* The values at w of a line with these bits. */
INLINE void
line(thin_load *get, uint64_t bits, const uint8_t *w, const __m512 x[4], struct bits_sums *s)
{
	const __m512i numbers = _mm512_set_epi8(
		63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48,
		47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32,
		31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
		15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
	const size_t count = (size_t)__builtin_popcountll(bits);
	const __m512i at = _mm512_maskz_compress_epi8(bits, numbers);

	part(get, w, _mm512_castsi512_si128(at), count, x, &s->of[0]);
	if (count > 16)
		part(get, w + 32, _mm512_extracti32x4_epi32(at, 1), count - 16, x, &s->of[1]);
	if (count > 32)
		part(get, w + 64, _mm512_extracti32x4_epi32(at, 2), count - 32, x, &s->of[0]);
	if (count > 48)
		part(get, w + 96, _mm512_extracti32x4_epi32(at, 3), count - 48, x, &s->of[1]);
}

INLINE float
row(thin_load *get, const uint8_t *head, const float *x, size_t n)
{
	const uint8_t *p = head + thin_lines(n) * THIN_HEAD;
	struct bits_sums s = { { _mm512_setzero_ps(), _mm512_setzero_ps() } };
	__m512 f[4];
	uint64_t bits;
	size_t i;

	for (i = 0; i < n; i += THIN_LINE) {
		thin_floats(f, x + i, n - i);
		bits = le64(head);
		line(get, bits, p, f, &s);
		head += THIN_HEAD;
		p += (size_t)__builtin_popcountll(bits) * THIN_VALUE;
	}
	return thin_total(s.of[0], s.of[1]);
}

#define BITS_ROWS(NAME, GET) \
void \
NAME(const uint8_t *data, const uint64_t *starts, size_t count, const float *x, size_t n, float *y) \
{ \
	size_t i; \
\
	for (i = 0; i < count; i++) \
		y[i] = row(GET, data + starts[i], x, n); \
}

BITS_ROWS(thin_bits_f16, thin_f16)
BITS_ROWS(thin_bits_bf16, thin_bf16)
