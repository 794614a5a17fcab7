/* rope: rotary positions. Pair i of a head's first rot values is turned by
 *
 *	pos * freq(i),   freq(i) = base^(-2i/rot)
 *
 * (Su and others, "RoFormer", 2021). A model that was made for longer texts than it was
 * first trained on changes the frequencies:
 *
 *	linear    freq / factor (Chen and others, "Extending Context Window …", 2023)
 *	factors   freq / factors[i]: LLaMA 3, and the long and short factors of longrope
 *	yarn      linear where a pair turns less than slow times in the first length, as
 *	          it was where more than fast times, mixed between; and both parts of the
 *	          pair are made longer (Peng and others, "YaRN", 2023)
 */
#ifndef ARCH_ROPE_H
#define ARCH_ROPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rope {
	uint64_t rot;         /* values of a head that are turned: even */
	double base;
	double factor;        /* of linear and yarn: 1 leaves all as it is */
	const float *factors; /* rot/2 divisors of the frequencies, or NULL */
	double length;        /* both parts of each pair are multiplied by it */

	bool yarn;
	double extrapolation; /* 0: linear, 1: as published */
	double fast, slow;    /* turns: 32 and 1 */
	double original;      /* positions of the first training */
};

/* By how much the pairs of yarn are made longer. */
double rope_yarn_length(double factor);

/* The divisors of LLaMA 3 (its published rope_scaling), rot/2 of them. */
void rope_llama3(const struct rope *r, double factor, double low, double high,
                 double original, float *factors);

/* Cosines and sines at a position, rot/2 each. Angles are made one from another in single
 * precision, as GGML does, whose models are compared with it. */
void rope_angles(const struct rope *r, double position, float *cosines, float *sines);

/* Turn a head in place. halves: pairs are (i, i + rot/2), else (2i, 2i + 1). */
void rope_turn(float *head, size_t rot, bool halves, const float *cosines,
               const float *sines);

#endif
