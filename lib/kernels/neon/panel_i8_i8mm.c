/* Many activations, with products of matrices of bytes, two by eight. */
#define VARIANT(name) name##_i8mm
#include "kernels/neon/panel_i8.h"
