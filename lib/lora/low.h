/* low: adapters for a model that computes, unmerged. */
#ifndef LORA_LOW_H
#define LORA_LOW_H

#include "lora/aim.h"
#include "model/low_rank.h"

/* What all hits add, one entry for each tensor. Adapters of the same tensor become one, whose rank is
 * the sum. ERR_INVALID for what only apr-lora apply can do: magnitudes, tables of tokens, and
 * tensors that are replaced. 0, or -1 with e filled; low_free in any case. */
int low_make(struct low_rank **to, size_t *n, const struct lora_aim *aim, size_t tensors,
             struct err *e);
void low_free(struct low_rank *low, size_t n);

#endif
