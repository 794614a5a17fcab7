/* parts: what the files of lowrank.h share. */
#ifndef LOWRANK_PARTS_H
#define LOWRANK_PARTS_H

#include "lowrank/lowrank.h"

/* Make the plan that of the input, without tensors. */
int lowrank_begin(struct lowrank *l, struct err *e);

/* Append an unchanged tensor of the input; one of the given shape whose values come next into the
 * spool, with the name of t and a suffix; the product of two tensors of the input, with the name
 * of the first without its suffix. 0 or -1. */
int lowrank_add_copy(struct lowrank *l, size_t tensor, struct err *e);
int lowrank_add_stored(struct lowrank *l, const struct tensor *t, const char *suffix,
                       const struct dtype *type, const uint64_t dims[2], struct err *e);
int lowrank_add_product(struct lowrank *l, size_t left, size_t right, struct err *e);

/* Set LOWRANK_KEY. */
int lowrank_record(struct lowrank *l, const struct lowrank_how *how, struct err *e);

#endif
