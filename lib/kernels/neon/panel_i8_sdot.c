/* The same with sums of four products of bytes. */
#ifdef __aarch64__
#define PANELS_LIST panels_sdot
#include "kernels/neon/panel_i8.h"
#else
typedef int nothing_here;
#endif
