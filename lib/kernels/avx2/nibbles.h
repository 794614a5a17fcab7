/* nibbles: what nibbles_avx2.c decodes for a kernel that stands elsewhere. Internal. */
#ifndef KERNELS_NIBBLES_H
#define KERNELS_NIBBLES_H

#include <stddef.h>
#include <stdint.h>

void nibbles_avx2_q4_0(const uint8_t *x, float *y, size_t n);

#endif
