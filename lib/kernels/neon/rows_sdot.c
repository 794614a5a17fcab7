/* Products with sums of four products of bytes, which ARM has from version 8.2 on. */
#ifdef __aarch64__
#define DOTS dots_sdot
#include "kernels/neon/rows.h"
#else
typedef int nothing_here;
#endif
