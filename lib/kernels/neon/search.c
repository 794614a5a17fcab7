/* The searches with NEON, which every 64-bit ARM has. */
#ifdef __aarch64__
#include "kernels/neon/vector.h"
#include "kernels/common/search_wide.h"

const struct search search_neon = SEARCH_WIDE;
#else
typedef int nothing_here;
#endif
