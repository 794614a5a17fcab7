/* The same with AVX2. */
#ifdef __x86_64__
#define ATTEND attend_avx2
#define BYTES 32
#include "kernels/dot/attend_loops.h"
#else
typedef int nothing_here;
#endif
