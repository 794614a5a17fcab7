/* The same with AVX-512. */
#ifdef __x86_64__
#define ATTEND attend_avx512
#define BYTES 64
#include "kernels/dot/attend_loops.h"
#else
typedef int nothing_here;
#endif
