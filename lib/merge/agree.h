/* agree: two models that must be of the same kind. Each function is 0, or -1 with ERR_INVALID and
 * the names of both.
 */
#ifndef MERGE_AGREE_H
#define MERGE_AGREE_H

#include "merge/input.h"

/* Both state the same architecture, or one states none. */
int merge_check_architecture(const struct merge_input *a, const struct merge_input *b,
                             struct err *e);

/* Tensor x of a has the shape of tensor y of b. */
int merge_check_shape(const struct merge_input *a, const struct tensor *x,
                      const struct merge_input *b, const struct tensor *y, struct err *e);

/* The same, apart from the number of rows. */
int merge_check_rows(const struct merge_input *a, const struct tensor *x,
                     const struct merge_input *b, const struct tensor *y, struct err *e);

/* Every tensor of b is one of a. */
int merge_check_others(const struct merge_input *a, const struct merge_input *b, struct err *e);

/* -1: a model lacks a tensor of another one. */
int merge_missing(const struct merge_input *in, const char *name, const struct merge_input *other,
                  struct err *e);

#endif
