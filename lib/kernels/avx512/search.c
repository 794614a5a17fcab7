/* The searches with AVX-512. Compiled for it (Makefile), used where the CPU has it. */
#include "kernels/avx512/vector.h"
#include "kernels/common/search_wide.h"

const struct search search_avx512 = SEARCH_WIDE;
