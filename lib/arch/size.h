/* size: the size of a model as users write it: "1.2B", "8x7.2B".
 *
 * Source: general.size_label of GGUF, as llama.cpp's converter writes it.
 */
#ifndef ARCH_SIZE_H
#define ARCH_SIZE_H

#include <stdint.h>

#include "arch/arch.h"
#include "model/model.h"

/* Numbers of parameters: of all tensors, of those outside experts, of one expert; and the
 * number of experts, or 0. */
struct arch_sizes {
	uint64_t all, shared, expert, experts;
};

/* Count the parameters of a model in any form, as the converter counts those of its GGUF file:
 * without buffers, tensors that GGUF does not have, scales of packed weights, and blocks
 * behind the last one that config.json counts. Weights of 4 bits that are packed in words of
 * 32 bits count each. a: the architecture, or NULL. */
void arch_count(const struct arch *a, const struct model *m, struct arch_sizes *s);

/* The size as text: of all parameters, or, with experts, of the parameters that they share
 * and one expert. Returns to. */
#define ARCH_SIZE 64
char *arch_size_text(char to[ARCH_SIZE], const struct arch_sizes *s);

#endif
