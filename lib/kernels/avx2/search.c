/* The searches with AVX2. */
#include "kernels/avx2/vector.h"
#include "kernels/common/search_wide.h"

const struct search search_avx2 = SEARCH_WIDE;
