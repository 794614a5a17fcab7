#ifdef __AVX512F__
#include "predict/near_loops.h"

const struct near_level near_avx512 = { "avx512", near_squares };
#else
typedef int near_avx512_unused;
#endif
