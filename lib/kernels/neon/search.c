/* The searches with NEON. */
#include "kernels/neon/vector.h"
#include "kernels/common/search_wide.h"

const struct search search_neon = SEARCH_WIDE;
