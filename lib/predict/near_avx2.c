#ifdef __AVX2__
#include "predict/near_loops.h"

const struct near_level near_avx2 = { "avx2", near_squares };
#else
typedef int near_avx2_unused;
#endif
