/* order: which part of a row of tokens is learnt when.
 *
 * In each epoch the row is cut into parts of `length` tokens, from a random place on, and each part is
 * learnt once, in a random order. Places and order follow from the seed and the number of the epoch
 * (core/philox.h), so part number i can be given without those before it.
 */
#ifndef DISTILL_ORDER_H
#define DISTILL_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct order {
	const uint32_t *tokens;   /* n of them, not owned */
	size_t n, length;
	uint32_t bos;             /* replaces the first token of a part, as where a model is measured
	                           * (generate/parts.h); TOKEN_NONE: nothing does */
	uint64_t seed;
	uint64_t parts;           /* of an epoch */

	/* Private: the epoch that *at is for. */
	uint64_t epoch;
	size_t shift;
	uint32_t *at;
};

/* ERR_INVALID if there are not length + 1 tokens; name: of their file. order_end in any case. */
int order_begin(struct order *o, const uint32_t *tokens, size_t n, size_t length, uint32_t bos,
                uint64_t seed, const char *name, struct err *e);
void order_end(struct order *o);

/* Put parts number `first` on, of all epochs, into a batch of `rows` rows, with the token after each
 * as its target. BOS is never a target (TRAIN_IGNORE). */
void order_batch(struct order *o, uint64_t first, size_t rows, uint32_t *tokens, uint32_t *targets);

/* The same without chance: parts as they stand, for a measurement. There are (n - 1) / length. */
void order_plain(const struct order *o, uint64_t first, size_t rows, uint32_t *tokens,
                 uint32_t *targets);

#endif
