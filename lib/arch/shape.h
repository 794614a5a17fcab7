/* shape: shapes of tensors as expressions of hyper-parameters.
 *
 * An expression has a sum of products for each dimension, outermost first: "H*K+G*K W". A
 * letter is a hyper-parameter (the table in shape.c), a digit itself; 0 is any size. A list in front of "|"
 * counts tensors that GGUF stacks: "E|X W".
 */
#ifndef ARCH_SHAPE_H
#define ARCH_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/json.h"
#include "model/tensor.h"
#include "model/weights.h"

/* Hyper-parameters by letter; 0: not known, and then no dimension is wrong. */
struct sizes {
	uint64_t of[26];
};

static inline uint64_t
sizes_get(const struct sizes *s, char letter)
{
	return s->of[letter - 'A'];
}

/* Read them from config.json, or from the keys of GGUF. A member that is not a number below
 * 2^32, where one is expected, is ERR_CORRUPT; a list counts as unknown. 0 or -1. */
int sizes_config(struct sizes *s, const json_t *config, struct err *e);
int sizes_keys(struct sizes *s, const struct weights *w, const char *arch, struct err *e);

/* The dimensions of an expression; *stack is the number before "|", or 1. A dimension that is
 * not known is 0. Returns their number. */
unsigned shape_dims(const char *shape, const struct sizes *s, uint64_t dims[TENSOR_DIMS],
                    uint64_t *stack);

/* True if the shape stacks tensors. */
bool shape_stacks(const char *shape);

#endif
