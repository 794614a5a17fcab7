/* Two messages by the SHA extensions of x86-64. This file is compiled for them, and the
 * kernel runs only on a CPU that has them. */
#include "crypto/lanes.h"

#ifdef __x86_64__

#include <immintrin.h>

/* The instructions take A, B, E, F in one register and C, D, G, H in the other, from the
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

/* Sixteen big-endian words of a message. */
static inline __attribute__((always_inline)) void
load(__m128i w[4], const uint8_t *p)
{
	const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	int i;

	for (i = 0; i < 4; i++)
		w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i)),
		                        order);
}

/* Rounds 4i to 4i + 3. w is a ring of the last sixteen words of the schedule: the words of
 * sixteen rounds later replace the oldest four. */
static inline __attribute__((always_inline)) void
four_rounds(struct state *s, __m128i w[4], int i)
{
	__m128i now = w[i % 4], last = w[(i + 3) % 4], sum;

	sum = _mm_add_epi32(now, _mm_loadu_si128((const __m128i *)(const void *)(lanes_k + 4 * i)));
	s->cdgh = _mm_sha256rnds2_epu32(s->cdgh, s->abef, sum);
	s->abef = _mm_sha256rnds2_epu32(s->abef, s->cdgh, _mm_shuffle_epi32(sum, 0x0e));
	if (i >= 12)
		return;
	sum = _mm_add_epi32(_mm_sha256msg1_epu32(now, w[(i + 1) % 4]),
	                    _mm_alignr_epi8(last, w[(i + 2) % 4], 4));
	w[i % 4] = _mm_sha256msg2_epu32(sum, last);
}

void
lanes_blocks_shani(uint32_t h[2][8], const uint8_t *const p[2], size_t n)
{
	struct state s = state_of(h[0]), t = state_of(h[1]), s0, t0;
	const uint8_t *a = p[0], *b = p[1];
	__m128i v[4], w[4];
	int i;

	for (; n > 0; n--, a += LANES_BLOCK, b += LANES_BLOCK) {
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
lanes_blocks_shani(uint32_t h[2][8], const uint8_t *const p[2], size_t n)
{
	(void)h;
	(void)p;
	(void)n;
}

#endif
