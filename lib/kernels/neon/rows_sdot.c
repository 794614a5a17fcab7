/* Products with sums of four products of bytes, which ARM has from version 8.2 on. */
#define VARIANT(name) name##_sdot
#include "kernels/neon/rows.h"
