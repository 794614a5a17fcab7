/* iq4: the uneven levels that codes of IQ4_NL and IQ4_XS stand for. Internal to kernels.
 * Source: GGML.
 */
#ifndef KERNELS_IQ4_H
#define KERNELS_IQ4_H

#include <stdint.h>

static const int8_t iq4_levels[16] = {
	-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113,
};

/* Sums of neighbours: twice the points at which one level gives way to the next. */
static const float iq4_borders[15] = {
	-231, -187, -148, -114, -84, -57, -32, -9, 14, 38, 63, 91, 122, 158, 202,
};

/* The code of the level nearest to v, the upper one if two are as near; 0 for NaN. */
static inline int
iq4_code(float v)
{
	float twice = v + v;
	int code;

	code = 8 * (twice >= iq4_borders[7]);
	code += 4 * (twice >= iq4_borders[code + 3]);
	code += 2 * (twice >= iq4_borders[code + 1]);
	return code + (twice >= iq4_borders[code]);
}

#endif
