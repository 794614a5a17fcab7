/* half: IEEE binary16 and bfloat16 to and from binary32.
 *
 * Narrowing rounds to nearest, ties to even; overflow becomes infinity. NaN stays NaN
 * and keeps its sign: F16 has the single pattern 0x7e00, BF16 keeps the upper payload and
 * sets the quiet bit. Widening is exact; a signalling NaN becomes quiet from F16 and stays
 * unchanged from BF16, as in GGML's portable code. These functions define the conversions.
 * Kernels for a level of the CPU may use its instructions where they give the same bits;
 * tests/unit/t_kernels.c compares them.
 * Source: IEEE 754-2019 §4.3.1; bfloat16 is the upper half of binary32.
 */
#ifndef CORE_HALF_H
#define CORE_HALF_H

#include <stdint.h>

float half_f16_f32(uint16_t h);
uint16_t half_f32_f16(float f);
float half_bf16_f32(uint16_t h);
uint16_t half_f32_bf16(float f);

#endif
