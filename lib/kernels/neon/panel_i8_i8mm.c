/* The same with products of matrices of bytes, two by eight. */
#ifdef __aarch64__
#define PANELS_LIST panels_i8mm
#include "kernels/neon/panel_i8.h"
#else
typedef int nothing_here;
#endif
