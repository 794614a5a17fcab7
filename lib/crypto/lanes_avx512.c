/* Eight messages by AVX-512: element i of each vector belongs to message i. Vectors have 256
 * bits. Rotations, and functions of three operands, are single instructions, which AVX2
 * does not have. */
#include "crypto/lanes.h"

#ifdef __x86_64__

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

INLINE __m256i
load(const void *p)
{
	return _mm256_loadu_si256(p);
}

/* Functions of three operands: XOR, Ch and Maj of FIPS 180-4, section 4.1.2. */
#define XOR 0x96
#define CH 0xca
#define MAJ 0xe8

/* The XOR of two rotations and a third operand. */
#define ROTATIONS(x, a, b, last) \
	_mm256_ternarylogic_epi32(_mm256_ror_epi32(x, a), _mm256_ror_epi32(x, b), last, XOR)

INLINE __m256i
sum0(__m256i x)
{
	return ROTATIONS(x, 2, 13, _mm256_ror_epi32(x, 22));
}

INLINE __m256i
sum1(__m256i x)
{
	return ROTATIONS(x, 6, 11, _mm256_ror_epi32(x, 25));
}

INLINE __m256i
mix0(__m256i x)
{
	return ROTATIONS(x, 7, 18, _mm256_srli_epi32(x, 3));
}

INLINE __m256i
mix1(__m256i x)
{
	return ROTATIONS(x, 17, 19, _mm256_srli_epi32(x, 10));
}

INLINE __m256i
add(__m256i a, __m256i b)
{
	return _mm256_add_epi32(a, b);
}

/* Rows become columns: w[i] gets element i of each of the rows. */
INLINE void
turn(__m256i w[8], const __m256i r[8])
{
	__m256i s[8], t[8];
	int i;

#pragma GCC unroll 4
	for (i = 0; i < 8; i += 2) {
		s[i] = _mm256_unpacklo_epi32(r[i], r[i + 1]);
		s[i + 1] = _mm256_unpackhi_epi32(r[i], r[i + 1]);
	}
#pragma GCC unroll 2
	for (i = 0; i < 8; i += 4) {
		t[i] = _mm256_unpacklo_epi64(s[i], s[i + 2]);
		t[i + 1] = _mm256_unpackhi_epi64(s[i], s[i + 2]);
		t[i + 2] = _mm256_unpacklo_epi64(s[i + 1], s[i + 3]);
		t[i + 3] = _mm256_unpackhi_epi64(s[i + 1], s[i + 3]);
	}
#pragma GCC unroll 4
	for (i = 0; i < 4; i++) {
		w[i] = _mm256_permute2x128_si256(t[i], t[i + 4], 0x20);
		w[i + 4] = _mm256_permute2x128_si256(t[i], t[i + 4], 0x31);
	}
}

/* Eight big-endian words of each message, from byte at on. */
INLINE void
words(__m256i w[8], const uint8_t *const p[8], size_t at)
{
	const __m256i order = _mm256_broadcastsi128_si256(
	        _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203));
	__m256i r[8];
	int i;

#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		r[i] = _mm256_shuffle_epi8(load(p[i] + at), order);
	turn(w, r);
}

/* One round. A to H are at s[-i & 7] and the elements after it, so that no word moves. */
#define S(k) s[((k) - i) & 7]
INLINE void
one_round(__m256i s[8], int i, __m256i w, uint32_t k)
{
	__m256i t = add(add(S(7), add(w, _mm256_set1_epi32((int)k))),
	                add(sum1(S(4)), _mm256_ternarylogic_epi32(S(4), S(5), S(6), CH)));

	S(3) = add(S(3), t);
	S(7) = add(t, add(sum0(S(0)), _mm256_ternarylogic_epi32(S(0), S(1), S(2), MAJ)));
}
#undef S

/* Rounds from to from + 15; w is a ring of sixteen words of the schedule. */
INLINE void
sixteen_rounds(__m256i s[8], __m256i w[16], int from)
{
	int i;

#pragma GCC unroll 16
	for (i = 0; i < 16; i++) {
		if (from > 0)
			w[i] = add(add(w[i], mix0(w[(i + 1) & 15])),
			           add(w[(i + 9) & 15], mix1(w[(i + 14) & 15])));
		one_round(s, i, w[i], lanes_k[from + i]);
	}
}

void
lanes_blocks_avx512(uint32_t h[8][8], const uint8_t *const p[8], size_t n)
{
	__m256i r[8], s[8], s0[8], w[16];
	size_t at;
	int i;

	for (i = 0; i < 8; i++)
		r[i] = load(h[i]);
	turn(s, r);
	for (at = 0; n > 0; n--, at += LANES_BLOCK) {
		for (i = 0; i < 8; i++)
			s0[i] = s[i];
		words(w, p, at);
		words(w + 8, p, at + LANES_BLOCK / 2);
		sixteen_rounds(s, w, 0);
		for (i = 16; i < 64; i += 16)
			sixteen_rounds(s, w, i);
		for (i = 0; i < 8; i++)
			s[i] = add(s[i], s0[i]);
	}
	turn(r, s);
	for (i = 0; i < 8; i++)
		_mm256_storeu_si256((void *)h[i], r[i]);
}

#else

void
lanes_blocks_avx512(uint32_t h[8][8], const uint8_t *const p[8], size_t n)
{
	(void)h;
	(void)p;
	(void)n;
}

#endif
