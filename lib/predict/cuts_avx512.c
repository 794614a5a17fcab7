#ifdef __AVX512BW__
#include <immintrin.h>

#define VECTOR 64
#define BYTES(x, t, a, b) ((bytes_of)_mm512_mask_blend_epi8( \
	_mm512_cmpgt_epi8_mask((__m512i)(x), (__m512i)(t)), (__m512i)(a), (__m512i)(b)))
#define WORDS(x, t, a, b) ((words_of)_mm512_mask_blend_epi16( \
	_mm512_cmpgt_epi16_mask((__m512i)(x), (__m512i)(t)), (__m512i)(a), (__m512i)(b)))

#include "predict/cuts_loops.h"

const struct cuts_level cuts_avx512 = { "avx512", cuts_bytes, cuts_words };
#else
typedef int cuts_avx512_unused;
#endif
