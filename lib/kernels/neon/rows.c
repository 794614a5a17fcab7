/* One row of activations, with what every 64-bit ARM has: products of bytes in 16 bits. */
#define VARIANT(name) name##_neon
#include "kernels/neon/rows.h"
