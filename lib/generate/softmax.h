/* softmax: probabilities of tokens from logits. */
#ifndef GENERATE_SOFTMAX_H
#define GENERATE_SOFTMAX_H

#include <stddef.h>
#include <stdint.h>

struct softmax {
	double base;  /* ln of a token's probability = its logit - base */
	uint32_t top; /* the most probable token; of equal ones the first */
};

/* n finite logits, at least one. */
struct softmax softmax_of(const float *logits, size_t n);

#endif
