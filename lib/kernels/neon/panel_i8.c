/* Many activations, with what every 64-bit ARM has. */
#define VARIANT(name) name##_neon
#include "kernels/neon/panel_i8.h"
