/* types: kernels of this folder, for level.c. */
#ifndef KERNELS_NEON_TYPES_H
#define KERNELS_NEON_TYPES_H

#include "kernels/ref/types.h"

/* Plain C takes the place of members that are NULL. */
extern const struct kernel neon_f16, neon_bf16, neon_q8_0, neon_q4_0;

#endif
