/* half: IEEE binary16 and bfloat16 to and from binary32.
 *
 * Narrowing rounds to nearest, ties to even; overflow becomes infinity. NaN
 * stays NaN with its sign: to F16 as the one pattern 0x7e00, to BF16 with the
 * upper payload, quieted. Widening is exact; a signalling NaN is quieted from
 * F16 and kept from BF16, as GGML's portable code does. These are the only
 * conversions in the project.
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
