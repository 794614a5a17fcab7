/* Two messages by the SHA extensions of x86-64; compiled for them, and called only where
 * the CPU has them. */
#include "crypto/pair.h"

#ifdef __x86_64__

#include <immintrin.h>

/* FIPS 180-4, section 4.2.2. */
static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

/* The instructions want A, B, E, F in one register and C, D, G, H in the other, from the
 * highest word down. */
struct state {
	__m128i abef, cdgh;
};

static inline __attribute__((always_inline)) struct state
state_of(const uint32_t h[8])
{
	__m128i abcd, efgh;

	abcd = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)h), 0xb1);
	efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)(h + 4)), 0x1b);
	return (struct state){ _mm_alignr_epi8(abcd, efgh, 8),
		_mm_blend_epi16(efgh, abcd, 0xf0) };
}

static inline __attribute__((always_inline)) void
state_put(const struct state *s, uint32_t h[8])
{
	__m128i feba = _mm_shuffle_epi32(s->abef, 0x1b), dchg = _mm_shuffle_epi32(s->cdgh, 0xb1);

	_mm_storeu_si128((__m128i *)(void *)h, _mm_blend_epi16(feba, dchg, 0xf0));
	_mm_storeu_si128((__m128i *)(void *)(h + 4), _mm_alignr_epi8(dchg, feba, 8));
}

/* Sixteen words of a message, big-endian there. */
static inline __attribute__((always_inline)) void
load(__m128i w[4], const uint8_t *p)
{
	const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	int i;

	for (i = 0; i < 4; i++)
		w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i)),
		                        order);
}

/* Rounds 4i to 4i + 3; w is a ring of the last sixteen words of the schedule, of which
 * the oldest four make room for those of sixteen rounds later. */
static inline __attribute__((always_inline)) void
four_rounds(struct state *s, __m128i w[4], int i)
{
	__m128i now = w[i % 4], last = w[(i + 3) % 4], sum;

	sum = _mm_add_epi32(now, _mm_loadu_si128((const __m128i *)(const void *)(k + 4 * i)));
	s->cdgh = _mm_sha256rnds2_epu32(s->cdgh, s->abef, sum);
	s->abef = _mm_sha256rnds2_epu32(s->abef, s->cdgh, _mm_shuffle_epi32(sum, 0x0e));
	if (i >= 12)
		return;
	sum = _mm_add_epi32(_mm_sha256msg1_epu32(now, w[(i + 1) % 4]),
	                    _mm_alignr_epi8(last, w[(i + 2) % 4], 4));
	w[i % 4] = _mm_sha256msg2_epu32(sum, last);
}

void
pair_blocks_shani(uint32_t h[2][8], const uint8_t *a, const uint8_t *b, size_t n)
{
	struct state s = state_of(h[0]), t = state_of(h[1]), s0, t0;
	__m128i v[4], w[4];
	int i;

	for (; n > 0; n--, a += PAIR_BLOCK, b += PAIR_BLOCK) {
		s0 = s;
		t0 = t;
		load(v, a);
		load(w, b);
#pragma GCC unroll 16
		for (i = 0; i < 16; i++) {
			four_rounds(&s, v, i);
			four_rounds(&t, w, i);
		}
		s.abef = _mm_add_epi32(s.abef, s0.abef);
		s.cdgh = _mm_add_epi32(s.cdgh, s0.cdgh);
		t.abef = _mm_add_epi32(t.abef, t0.abef);
		t.cdgh = _mm_add_epi32(t.cdgh, t0.cdgh);
	}
	state_put(&s, h[0]);
	state_put(&t, h[1]);
}

#else

void
pair_blocks_shani(uint32_t h[2][8], const uint8_t *a, const uint8_t *b, size_t n)
{
	(void)h;
	(void)a;
	(void)b;
	(void)n;
}

#endif
