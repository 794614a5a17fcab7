/* The searches with AVX2. Compiled for it (Makefile), used where the CPU has it. */
#ifdef __x86_64__
#include "kernels/search/x86.h"

const struct search search_avx2 = {
	load, weigh_root, search_scale, search_line, scale_codes, line_codes, level_sums
};
#else
typedef int nothing_here;
#endif
