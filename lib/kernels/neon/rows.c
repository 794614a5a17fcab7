/* Products with what every 64-bit ARM has: products of bytes in 16 bits. */
#ifdef __aarch64__
#define DOTS dots_neon
#include "kernels/neon/rows.h"
#else
typedef int nothing_here;
#endif
