#ifdef __AVX2__
#include <immintrin.h>

#define VECTOR 32
#define CHOOSE(V, m, a, b) \
	((V)_mm256_blendv_epi8((__m256i)(a), (__m256i)(b), m))
#define BYTES(x, t, a, b) CHOOSE(bytes_of, _mm256_cmpgt_epi8((__m256i)(x), (__m256i)(t)), a, b)
#define WORDS(x, t, a, b) CHOOSE(words_of, _mm256_cmpgt_epi16((__m256i)(x), (__m256i)(t)), a, b)

#include "predict/cuts_loops.h"

const struct cuts_level cuts_avx2 = { "avx2", NULL, NULL, NULL, cuts_bytes, cuts_words };
#else
typedef int cuts_avx2_unused;
#endif
