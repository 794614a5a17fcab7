/* The searches with NEON, which every 64-bit ARM has. */
#include "kernels/neon/vector.h"
#include "kernels/common/search_wide.h"

const struct search search_neon = SEARCH_WIDE;
