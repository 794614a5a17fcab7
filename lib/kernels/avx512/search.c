/* The searches with AVX-512. */
#include "kernels/avx512/vector.h"
#include "kernels/common/search_wide.h"

const struct search search_avx512 = SEARCH_WIDE;
