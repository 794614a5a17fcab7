/* Many activations, with sums of four products of bytes. */
#define VARIANT(name) name##_sdot
#include "kernels/neon/panel_i8.h"
