/* Packed weights, for AVX-512: tiles of sixteen rows by 256 columns, one after another along
 * the columns. A step of a tile has the codes of four neighbouring columns of all rows side
 * by side, a row in each lane, as in the panels of panel_i8.c. Nothing needs to be
 * transposed, gathered or added across lanes, all is read in the order of memory, and a
 * tile takes as many bytes as its blocks did. First come the scales of all rows, side by
 * side:
 *
 *	Q4_0, Q8_0  for each 32 columns 16 × F16
 *	Q4_K, Q5_K  three times 16 words of their twelve bytes; 16 × F16 d; 16 × F16 dmin
 *	Q6_K        for each 16 columns 16 × i8; 16 × F16 d
 *
 * and then steps, of 64 bytes each or for two:
 *
 *	Q8_0        codes plus 128
 *	Q4_0, Q4_K  step 2 t in the lower, 2 t + 1 in the upper halves of bytes
 *	Q5_K        the fifth bits of eight steps, bit s of a byte for step s; then the rest
 *	Q6_K        the upper two bits of four steps; then the rest
 */
#include "kernels/avx512/avx512.h"
#include "kernels/avx512/panel.h"
#include "kernels/avx512/streams.h"


enum { GROUPS = 4, SCALES = 256, SIX_SCALES = 288 };

/* Where step s, which is even, begins behind the scales; above is the number of bits of a
 * code beyond four, 4 for Q8_0. */
INLINE size_t
step_at(int above, int s)
{
	return above == 4 ? 64 * (size_t)s
		: 32 * (size_t)s + (above ? 64 * ((size_t)s * (size_t)above / 8 + 1) : 0);
}

/* And where the upper bits of the step are. */
INLINE size_t
above_of(int above, int s)
{
	size_t of = (size_t)(8 / above), chunk = (size_t)s / of;

	return chunk * (32 * of + 64);
}

/* ---- packing ---- */

/* Steps of 64 columns: four vectors of codes for each of 16 rows become those of a tile. */
INLINE void
steps_pack(large_codes *codes, const uint8_t *w, size_t stride, int part, __m512i v[ROWS])
{
	int i;

	for (i = 0; i < ROWS; i++)
		v[i] = codes(w + stride * (size_t)i, part);
	turn(v);
}

/* The lower four bits of steps from first on, two to a byte. */
INLINE void
nibbles_pack(const __m512i v[ROWS], int above, int first, uint8_t *to)
{
	const __m512i mask = _mm512_set1_epi8(15);
	int i;

	for (i = 0; i < ROWS; i += 2)
		_mm512_storeu_si512(to + step_at(above, first + i), _mm512_or_si512(_mm512_and_si512(v[i], mask),
			_mm512_slli_epi16(_mm512_and_si512(v[i + 1], mask), 4)));
}

/* The bits above the lower four: bits for each step, and as many steps in a byte as fit. */
INLINE void
above_pack(const __m512i v[ROWS], int bits, int first, uint8_t *to)
{
	const __m512i mask = _mm512_set1_epi8((char)((1 << bits) - 1));
	int steps = 8 / bits, i, k;
	__m512i all;

	for (i = 0; i < ROWS; i += steps) {
		all = _mm512_setzero_si512();
		for (k = 0; k < steps; k++)
			all = _mm512_or_si512(all, _mm512_slli_epi16(_mm512_and_si512(
				_mm512_srli_epi16(v[i + k], 4), mask), (unsigned)(bits * k)));
		_mm512_storeu_si512(to + above_of(bits, first + i), all);
	}
}

/* size bytes at from of each row, side by side. */
static void
side_by_side(const uint8_t *w, size_t stride, size_t from, size_t size, uint8_t *to)
{
	int i;

	for (i = 0; i < ROWS; i++)
		memcpy(to + (size_t)i * size, w + stride * (size_t)i + from, size);
}

/* The codes of two blocks of 32 as those of 64 values of one. */
INLINE __m512i
q4_0_pair(const uint8_t *x, int part)
{
	x += 36 * part;
	return _mm512_inserti64x4(_mm512_castsi256_si512(q4_0_codes(x)), q4_0_codes(x + 18), 1);
}

INLINE __m512i
q8_0_pair(const uint8_t *x, int part)
{
	x += 68 * part;
	return _mm512_inserti64x4(_mm512_castsi256_si512(q8_0_codes(x)), q8_0_codes(x + 34), 1);
}

INLINE void
small_pack(large_codes *codes, bool nibbles, size_t bytes, const uint8_t *w, size_t stride,
           size_t n, uint8_t *to)
{
	__m512i v[ROWS];
	size_t b;
	int i, k;

	for (b = 0; b < n / LARGE; b++, w += 8 * bytes, to += ROWS * 8 * bytes) {
		for (k = 0; k < 4; k++) {
			steps_pack(codes, w, stride, k, v);
			if (nibbles)
				nibbles_pack(v, 0, ROWS * k, to + SCALES);
			for (i = 0; !nibbles && i < ROWS; i++)
				_mm512_storeu_si512(to + SCALES + 64 * (ROWS * k + i), v[i]);
		}
		for (k = 0; k < LARGE / SMALL; k++)
			side_by_side(w + bytes * (size_t)k, stride, 0, 2,
			             to + 2 * ROWS * k);
	}
}

INLINE void
large_pack(large_codes *codes, int above, size_t bytes, const uint8_t *w, size_t stride, size_t n,
           uint8_t *to)
{
	__m512i v[ROWS];
	uint8_t *steps;
	size_t b;
	int k;

	for (b = 0; b < n / LARGE; b++, w += bytes, to += ROWS * bytes) {
		steps = to + (above == 2 ? SIX_SCALES : SCALES);
		for (k = 0; k < 4; k++) {
			steps_pack(codes, w, stride, k, v);
			nibbles_pack(v, above, ROWS * k, steps);
			if (above)
				above_pack(v, above, ROWS * k, steps);
		}
		for (k = 0; above < 2 && k < 3; k++)
			side_by_side(w, stride, 4 + 4 * (size_t)k, 4, to + 4 * ROWS * k);
		for (k = 0; above < 2 && k < 2; k++)
			side_by_side(w, stride, 2 * (size_t)k, 2, to + 12 * ROWS + 2 * ROWS * k);
		for (k = 0; above == 2 && k < LARGE / SUB; k++)
			side_by_side(w, stride, 192 + (size_t)k, 1, to + ROWS * k);
		if (above == 2)
			side_by_side(w, stride, 208, 2, to + LARGE / SUB * ROWS);
	}
}

/* ---- what lies in a tile ---- */

INLINE __m512
halves_load(const uint8_t *p)
{
	return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}

/* The bits of step s above its lower four, in their place; above is their number. */
INLINE __m512i
above_at(const uint8_t *steps, int above, int s)
{
	__m512i v = load(steps + above_of(above, s));

	return _mm512_rolv_epi64(v, _mm512_set1_epi64((4 - above * (s % (8 / above))) & 63));
}

/* Steps s and s + 1, for an even s, from the start of the steps. */
INLINE void
steps_at(const uint8_t *steps, int above, int s, __m512i v[2])
{
	const __m512i mask = _mm512_set1_epi8(15);
	const __m512i keep = _mm512_set1_epi8((char)(15 | ((1 << above) - 1) << 4));
	__m512i all = load(steps + step_at(above, s)), up = _mm512_srli_epi16(all, 4);

	if (above == 4) {
		v[0] = all;
		v[1] = load(steps + step_at(above, s + 1));
		return;
	}
	if (!above) {
		v[0] = _mm512_and_si512(all, mask);
		v[1] = _mm512_and_si512(up, mask);
		return;
	}
	/* a where the bits of mask are set, else b. */
	v[0] = _mm512_ternarylogic_epi64(all, above_at(steps, above, s), mask, 0xe4);
	v[1] = _mm512_ternarylogic_epi64(up, above_at(steps, above, s + 1), mask, 0xe4);
	v[0] = _mm512_and_si512(v[0], keep);
	v[1] = _mm512_and_si512(v[1], keep);
}

/* Q4_K and Q5_K: the first and the last four of the eight scales, and of the mins; a byte
 * each, a row in each lane. */
struct six_tile {
	__m512i scale[2], least[2];
};

INLINE struct six_tile
six_load(const uint8_t *words)
{
	const __m512i six = _mm512_set1_epi32(0x3f3f3f3f), high = _mm512_set1_epi32(0x30303030);
	const __m512i low = _mm512_set1_epi32(0x0f0f0f0f);
	__m512i a = load(words), b = load(words + 64), c = load(words + 128);
	struct six_tile t;

	t.scale[0] = _mm512_and_si512(a, six);
	t.least[0] = _mm512_and_si512(b, six);
	t.scale[1] = _mm512_or_si512(_mm512_and_si512(c, low),
	                             _mm512_and_si512(_mm512_srli_epi32(a, 2), high));
	t.least[1] = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(c, 4), low),
	                             _mm512_and_si512(_mm512_srli_epi32(b, 2), high));
	return t;
}

/* The lowest byte of each lane. */
INLINE __m512i
low_byte(__m512i v)
{
	return _mm512_and_si512(v, _mm512_set1_epi32(255));
}

/* ---- one activation ----
 *
 * Groups of sixteen rows are read in four streams, as rows are (streams_avx512.h).
 */

/* sum[g] += steps s and s + 1 of each tile × the activations from a on; far is the distance
 * of prefetching in bytes. */
INLINE void
two_steps(__m512i *sum, const uint8_t *const *tile, int above, int s, const int8_t *a, int groups,
          size_t far)
{
	__m512i first = _mm512_set1_epi32(word_at(a)), second = _mm512_set1_epi32(word_at(a + 4));
	__m512i v[2];
	int g;

#pragma GCC unroll 4
	for (g = 0; g < groups; g++) {
		steps_at(tile[g] + (above == 2 ? SIX_SCALES : SCALES), above, s, v);
		if (far)
			ask(tile[g] + far + step_at(above, s), above == 4 ? 128 : above ? 96 : 64);
		sum[g] = _mm512_dpbusd_epi32(sum[g], v[0], first);
		sum[g] = _mm512_dpbusd_epi32(sum[g], v[1], second);
	}
}

INLINE void
tiles_begin(const uint8_t **tile, __m512 *acc, const uint8_t *const *w, int groups)
{
	int g;

#pragma GCC unroll 4
	for (g = 0; g < groups; g++) {
		tile[g] = w[g];
		acc[g] = _mm512_setzero_ps();
	}
}

INLINE void
tiles_end(float *const *y, const __m512 *acc, int groups)
{
	int g;

#pragma GCC unroll 4
	for (g = 0; g < groups; g++)
		_mm512_storeu_ps(y[g], acc[g]);
}

INLINE void
small_tiles(int above, int zero, size_t bytes, const uint8_t *const *w, const uint8_t *activation,
            size_t n, float *const *y, int groups)
{
	struct quantized q = quantized_at(activation, n, SMALL);
	const size_t far = dot_ahead_now();
	const uint8_t *tile[GROUPS];
	const int *of = q.sums;
	__m512 acc[GROUPS], scale;
	__m512i sum[GROUPS];
	size_t b;
	int g, i, k;

	tiles_begin(tile, acc, w, groups);
	for (b = 0; b < n / LARGE; b++, of += 8, q.scale += 8, q.code += LARGE) {
		for (i = 0; i < LARGE / SMALL; i++) {
#pragma GCC unroll 4
			for (g = 0; g < groups; g++)
				sum[g] = _mm512_set1_epi32(-zero * of[i]);
#pragma GCC unroll 4
			for (k = 0; k < 8; k += 2)
				two_steps(sum, tile, above, 8 * i + k, q.code + SMALL * i + 4 * k, groups,
				          far);
#pragma GCC unroll 4
			for (g = 0; g < groups; g++) {
				scale = _mm512_mul_ps(halves_load(tile[g] + 2 * ROWS * i),
				                      _mm512_set1_ps(q.scale[i]));
				acc[g] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[g]), scale, acc[g]);
			}
		}
#pragma GCC unroll 4
		for (g = 0; g < groups; g++)
			tile[g] += ROWS * 8 * bytes;
	}
	tiles_end(y, acc, groups);
}

/* Scales of 32 columns each, and mins. */
INLINE void
six_tiles(int above, size_t bytes, const uint8_t *const *w, const uint8_t *activation, size_t n,
          float *const *y, int groups)
{
	const __m512i even = _mm512_set1_epi32(0x00ff00ff);
	struct quantized q = quantized_at(activation, n, LARGE);
	const int16_t *of = q.sums;
	const size_t far = dot_ahead_now();
	const uint8_t *tile[GROUPS];
	__m512i sum[GROUPS], all[GROUPS], less, pair[4];
	struct six_tile six[GROUPS];
	__m512 acc[GROUPS], d, m;
	size_t b;
	int g, i, k;

	tiles_begin(tile, acc, w, groups);
	for (b = 0; b < n / LARGE; b++, of += LARGE / SUB, q.code += LARGE) {
		/* Sums of columns 32 i and 32 (i + 2), for bytes i and i + 2 of the mins. */
#pragma GCC unroll 4
		for (k = 0; k < 4; k++) {
			i = 8 * (k / 2) + 2 * (k % 2);
			pair[k] = _mm512_set1_epi32((uint16_t)(of[i] + of[i + 1]) |
				(int)((uint32_t)(of[i + 4] + of[i + 5]) << 16));
		}
#pragma GCC unroll 4
		for (g = 0; g < groups; g++) {
			six[g] = six_load(tile[g]);
			all[g] = _mm512_setzero_si512();
		}
#pragma GCC unroll 2
		for (i = 0; i < 8; i++) {
#pragma GCC unroll 4
			for (g = 0; g < groups; g++)
				sum[g] = _mm512_setzero_si512();
#pragma GCC unroll 4
			for (k = 0; k < 8; k += 2)
				two_steps(sum, tile, above, 8 * i + k, q.code + SMALL * i + 4 * k, groups,
				          far);
#pragma GCC unroll 4
			for (g = 0; g < groups; g++) {
				all[g] = _mm512_add_epi32(all[g], _mm512_mullo_epi32(sum[g],
					low_byte(six[g].scale[i / 4])));
				six[g].scale[i / 4] = _mm512_srli_epi32(six[g].scale[i / 4], 8);
			}
		}
#pragma GCC unroll 4
		for (g = 0; g < groups; g++) {
			less = _mm512_setzero_si512();
			for (k = 0; k < 2; k++) {
				less = _mm512_dpwssd_epi32(less, _mm512_and_si512(six[g].least[k], even),
				                           pair[2 * k]);
				less = _mm512_dpwssd_epi32(less, _mm512_and_si512(
					_mm512_srli_epi32(six[g].least[k], 8), even), pair[2 * k + 1]);
			}
			d = _mm512_mul_ps(halves_load(tile[g] + 12 * ROWS),
			                  _mm512_set1_ps(q.scale[b]));
			m = _mm512_mul_ps(halves_load(tile[g] + 14 * ROWS),
			                  _mm512_set1_ps(q.scale[b]));
			acc[g] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(all[g]), d, acc[g]);
			acc[g] = _mm512_fnmadd_ps(_mm512_cvtepi32_ps(less), m, acc[g]);
			tile[g] += ROWS * bytes;
		}
	}
	tiles_end(y, acc, groups);
}

/* Scales of 16 columns each, with a sign; codes less 32. */
INLINE void
q6_k_tiles(const uint8_t *const *w, const uint8_t *activation, size_t n, float *const *y,
           int groups)
{
	struct quantized q = quantized_at(activation, n, LARGE);
	const int16_t *of = q.sums;
	const size_t far = dot_ahead_now();
	const uint8_t *tile[GROUPS];
	__m512i sum[GROUPS], all[GROUPS], scale;
	__m512 acc[GROUPS], d;
	size_t b;
	int g, i;

	tiles_begin(tile, acc, w, groups);
	for (b = 0; b < n / LARGE; b++, of += LARGE / SUB, q.code += LARGE) {
#pragma GCC unroll 4
		for (g = 0; g < groups; g++)
			all[g] = _mm512_setzero_si512();
		for (i = 0; i < LARGE / SUB; i++) {
#pragma GCC unroll 4
			for (g = 0; g < groups; g++)
				sum[g] = _mm512_set1_epi32(-32 * of[i]);
			two_steps(sum, tile, 2, 4 * i, q.code + SUB * i, groups, far);
			two_steps(sum, tile, 2, 4 * i + 2, q.code + SUB * i + 8, groups, far);
#pragma GCC unroll 4
			for (g = 0; g < groups; g++) {
				scale = _mm512_cvtepi8_epi32(_mm_loadu_si128(
					(const __m128i *)(tile[g] + ROWS * i)));
				all[g] = _mm512_add_epi32(all[g], _mm512_mullo_epi32(sum[g], scale));
			}
		}
#pragma GCC unroll 4
		for (g = 0; g < groups; g++) {
			d = _mm512_mul_ps(halves_load(tile[g] + LARGE / SUB * ROWS),
			                  _mm512_set1_ps(q.scale[b]));
			acc[g] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(all[g]), d, acc[g]);
			tile[g] += ROWS * (size_t)210;
		}
	}
	tiles_end(y, acc, groups);
}

/* Do CALL with w, y and groups set, until all rows are done. */
#define PACKED_ROWS(NAME, CALL) \
static void \
NAME##_packed_rows(const uint8_t *data, size_t stride, size_t count, const uint8_t *a, size_t n, \
                   float *to) \
{ \
	size_t part = count / ROWS / GROUPS, i, k; \
	const uint8_t *w[GROUPS]; \
	float *y[GROUPS]; \
	int groups = GROUPS; \
\
	for (i = 0; i < part; i++) { \
		for (k = 0; k < GROUPS; k++) { \
			w[k] = data + (i + k * part) * ROWS * stride; \
			y[k] = to + (i + k * part) * ROWS; \
		} \
		CALL; \
	} \
	groups = 1; \
	for (i = GROUPS * part; i < count / ROWS; i++) { \
		w[0] = data + i * ROWS * stride; \
		y[0] = to + i * ROWS; \
		CALL; \
	} \
}

PACKED_ROWS(q4_0, small_tiles(0, 8, 18, w, a, n, y, groups))
PACKED_ROWS(q8_0, small_tiles(4, 128, 34, w, a, n, y, groups))
PACKED_ROWS(q4_k, six_tiles(0, 144, w, a, n, y, groups))
PACKED_ROWS(q5_k, six_tiles(1, 176, w, a, n, y, groups))
PACKED_ROWS(q6_k, q6_k_tiles(w, a, n, y, groups))

/* ---- many activations ---- */

/* The codes of a tile, as those of a panel. */
INLINE void
codes_fill(struct panel *p, const uint8_t *tile, int above)
{
	int s;

#pragma GCC unroll 8
	for (s = 0; s < STEPS; s += 2)
		steps_at(tile + (above == 2 ? SIX_SCALES : SCALES), above, s, p->code + s);
}

INLINE void
small_tile_fill(struct panel *p, const uint8_t *tile, int above)
{
	int i;

	codes_fill(p, tile, above);
	for (i = 0; i < LARGE / SMALL; i++)
		p->scale[i] = halves_load(tile + 2 * ROWS * i);
}

INLINE void
six_tile_fill(struct panel *p, const uint8_t *tile, int above)
{
	struct six_tile six = six_load(tile);
	__m512 d = halves_load(tile + 12 * ROWS);
	__m512i least;
	int i;

	codes_fill(p, tile, above);
	for (i = 0; i < 8; i++) {
		p->scale[i] = _mm512_mul_ps(_mm512_cvtepi32_ps(low_byte(six.scale[i / 4])), d);
		six.scale[i / 4] = _mm512_srli_epi32(six.scale[i / 4], 8);
		least = low_byte(six.least[i / 4]);
		six.least[i / 4] = _mm512_srli_epi32(six.least[i / 4], 8);
		p->least[i] = _mm512_or_si512(least, _mm512_slli_epi32(least, 16));
	}
	p->m = halves_load(tile + 14 * ROWS);
}

INLINE void
q6_k_tile_fill(struct panel *p, const uint8_t *tile)
{
	__m512 d = halves_load(tile + LARGE / SUB * ROWS);
	__m512i v[2];
	int i, k;

	codes_fill(p, tile, 2);
	for (i = 0; i < LARGE / SUB; i += 2) {
		for (k = 0; k < 2; k++) {
			v[k] = _mm512_cvtepi8_epi32(_mm_loadu_si128(
				(const __m128i *)(tile + ROWS * (i + k))));
			p->scale[i + k] = _mm512_mul_ps(_mm512_cvtepi32_ps(v[k]), d);
		}
		p->least[i / 2] = _mm512_mask_blend_epi16(0xaaaaaaaa, v[0],
		                                          _mm512_slli_epi32(v[1], 16));
	}
	p->m = _mm512_mul_ps(d, _mm512_set1_ps(32));
}

#define PACKED_PANELS(NAME, BYTES_OF, FILL, MULTIPLY) \
static void \
NAME##_packed_panels(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, \
                     size_t bytes, size_t many, size_t n, float *y, size_t leading) \
{ \
	struct job o = { a, bytes, n, many, y, leading, { 0xffff }, false }; \
	struct panel p[WIDE]; \
	const uint8_t *tile; \
	size_t b, part; \
\
	for (; count > 0; count -= part, w += stride * part, o.y += part) { \
		part = count < WIDE * ROWS ? ROWS : WIDE * ROWS; \
		o.rows[1] = part > ROWS ? 0xffff : 0; \
		for (b = 0; b < n / LARGE; b++) { \
			tile = w + b * ROWS * (size_t)BYTES_OF; \
			FILL(&p[0], tile); \
			FILL(&p[1], tile + (part - ROWS) * stride); \
			MULTIPLY; \
		} \
	} \
}
#define Q4_0_FILL(P, TILE) small_tile_fill(P, TILE, 0)
#define Q8_0_FILL(P, TILE) small_tile_fill(P, TILE, 4)
#define Q4_K_FILL(P, TILE) six_tile_fill(P, TILE, 0)
#define Q5_K_FILL(P, TILE) six_tile_fill(P, TILE, 1)

PACKED_PANELS(q4_0, 144, Q4_0_FILL, panel_small(p, 8, &o, 8 * b))
PACKED_PANELS(q8_0, 272, Q8_0_FILL, panel_small(p, 128, &o, 8 * b))
PACKED_PANELS(q4_k, 144, Q4_K_FILL, panel_large(p, SMALL, &o, b))
PACKED_PANELS(q5_k, 176, Q5_K_FILL, panel_large(p, SMALL, &o, b))
PACKED_PANELS(q6_k, 210, q6_k_tile_fill, panel_large(p, SUB, &o, b))

#define SMALL_PACK(NAME, NIBBLES_ONLY, BYTES_OF) \
static void \
NAME##_pack(const uint8_t *w, size_t stride, size_t n, uint8_t *to) \
{ \
	small_pack(NAME##_pair, NIBBLES_ONLY, BYTES_OF, w, stride, n, to); \
}
#define LARGE_PACK(NAME, ABOVE, BYTES_OF) \
static void \
NAME##_pack(const uint8_t *w, size_t stride, size_t n, uint8_t *to) \
{ \
	large_pack(NAME##_codes, ABOVE, BYTES_OF, w, stride, n, to); \
}

SMALL_PACK(q4_0, true, 18)
SMALL_PACK(q8_0, false, 34)
LARGE_PACK(q4_k, 0, 144)
LARGE_PACK(q5_k, 1, 176)
LARGE_PACK(q6_k, 2, 210)

const struct packing packings_avx512[] = {
	{ "Q4_0", q4_0_pack, q4_0_packed_rows, q4_0_packed_panels },
	{ "Q8_0", q8_0_pack, q8_0_packed_rows, q8_0_packed_panels },
	{ "Q4_K", q4_k_pack, q4_k_packed_rows, q4_k_packed_panels },
	{ "Q5_K", q5_k_pack, q5_k_packed_rows, q5_k_packed_panels },
	{ "Q6_K", q6_k_pack, q6_k_packed_rows, q6_k_packed_panels },
	{ NULL, NULL, NULL, NULL }
};
