/* apply: one tensor of a model on its way through adapters: rows are decoded, changed, and encoded
 * in their type again. Memory: the factors of one change, and pieces of half a million values.
 */
#ifndef LORA_APPLY_H
#define LORA_APPLY_H

#include "lora/aim.h"
#include "lora/delta.h"
#include "model/flow.h"

struct lora_apply {
	unsigned jobs;          /* threads; set by the caller, as is */
	bool requantize;        /* whether types that lose precision are encoded again */

	/* Private. */
	const struct lora_hit *whole;
	struct lora_delta *deltas;
	size_t delta_count, delta_cap;
	const struct tensor *t;
	uint8_t *rows;          /* encoded: a piece that is not complete, */
	size_t fill, piece;     /* bytes of it so far, and of a full one */
	float *room;            /* two rows for each row of a piece */
	uint64_t done;          /* rows that have been changed */
	uint64_t lost;          /* values too large for the type, of all tensors */
};

/* Begin tensor t of the model, with the first of its hits. 0, or -1 with e filled: ERR_INVALID for
 * a quantized type without requantize, ERR_FORMAT for one that cannot be encoded. */
int lora_apply_begin(struct lora_apply *a, const struct lora_aim *aim, size_t tensor,
                     const struct tensor *t, struct err *e);

/* Add bytes of it in their order; results go to sink. */
int lora_apply_add(struct lora_apply *a, const uint8_t *p, size_t n, struct sink *sink,
                   struct err *e);

/* The tensor has ended. 0 or -1. */
int lora_apply_end(struct lora_apply *a, struct sink *sink, struct err *e);
void lora_apply_free(struct lora_apply *a);

#endif
