/* rope: rotary positions. Pair i of the first rot values of a head is rotated by the angle
 *
 *	pos * freq(i),   freq(i) = base^(-2i/rot)
 *
 * (Su and others, "RoFormer", 2021). Models for longer contexts than that of the first
 * training change the frequencies:
 *
 *	linear    freq / factor (Chen and others, "Extending Context Window …", 2023)
 *	factors   freq / factors[i]: LLaMA 3, and the long and short factors of longrope
 *	yarn      linear for pairs that turn less than `slow` times in the original context,
 *	          unchanged for those that turn more than `fast` times, mixed between; and
 *	          both values of a pair are multiplied (Peng and others, "YaRN", 2023)
 */
#ifndef ARCH_ROPE_H
#define ARCH_ROPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rope {
	uint64_t rot;         /* values of a head that are rotated: even */
	double base;
	double factor;        /* of linear and yarn; 1: no change */
	const float *factors; /* rot/2 divisors of the frequencies, or NULL */
	double length;        /* factor of both values of each pair */

	bool yarn;
	double extrapolation; /* 0: linear, 1: as published */
	double fast, slow;    /* turns: 32 and 1 */
	double original;      /* positions of the original context */
};

/* The length of yarn for a factor. */
double rope_yarn_length(double factor);

/* The rot/2 divisors of LLaMA 3, as its rope_scaling is published. */
void rope_llama3(const struct rope *r, double factor, double low, double high,
                 double original, float *factors);

/* The rot/2 angles at a position. Each is computed from the one before in single precision, as GGML
 * does it; step: base^(-2/rot). */
void rope_turns(const struct rope *r, double position, float step, float *angles);

/* Cosines and sines of them, by the C library, each times the length. */
void rope_angles(const struct rope *r, double position, float *cosines, float *sines);

#endif
