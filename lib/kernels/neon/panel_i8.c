/* Many activations at once, with what every 64-bit ARM has. */
#ifdef __aarch64__
#define PANELS_LIST panels_neon
#include "kernels/neon/panel_i8.h"
#else
typedef int nothing_here;
#endif
