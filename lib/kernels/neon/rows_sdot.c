/* One row of activations, with sums of four products of bytes (ARM 8.2). */
#define VARIANT(name) name##_sdot
#include "kernels/neon/rows.h"
