/* cpu: which instructions this CPU has, as far as a level (kernels/level.h) asks. */
#ifndef KERNELS_CPU_H
#define KERNELS_CPU_H

#include <stdbool.h>

enum {
	CPU_AVX2 = 1,   /* with FMA and F16C */
	CPU_AVX512 = 2, /* F, BW, DQ and VL, and all of CPU_AVX2 */
	CPU_VNNI = 4,   /* AVX-512's sums of four products of bytes */
	CPU_SDOT = 8,   /* ARM's sums of four products of bytes */
	CPU_I8MM = 16,  /* ARM's products of matrices of bytes */
	CPU_VBMI2 = 32, /* AVX-512's moves of the bytes of a mask side by side */
};

/* True if the CPU, and the system for its registers, has all of these; 0 is always there.
 * The CPU is asked once. Call it first before threads begin. */
bool cpu_has(unsigned features);

#endif
