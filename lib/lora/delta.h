/* delta: what an adapter adds to the rows of one tensor. */
#ifndef LORA_DELTA_H
#define LORA_DELTA_H

#include "lora/aim.h"

/* Row i of the tensor gets scale × the sum over k of left[i × rank + k] × right[k × columns + j],
 * and then the length magnitude[i] if there are magnitudes. In single precision, in the order of
 * k. */
struct lora_delta {
	size_t rows, columns, rank;
	float scale;
	float *left, *right, *magnitude;
};

/* Decode the matrices of a hit that has a part, for a tensor of the model. Memory: 4 bytes for each
 * of their values. 0, or -1 with e filled; lora_delta_free in any case. */
int lora_delta_make(struct lora_delta *d, const struct lora_hit *h, struct err *e);
void lora_delta_free(struct lora_delta *d);

/* Change row i, which has columns values. room: as many, for sums. */
void lora_delta_row(const struct lora_delta *d, size_t i, float *restrict row,
                    float *restrict room);

/* Transpose the rows × columns values of *m, which mem_array made. 0, or -1 with e filled. */
int lora_delta_turn(float **m, size_t rows, size_t columns, struct err *e);

/* The row of the adapter that a row of the model is. */
uint64_t lora_hit_row(const struct lora_hit *h, uint64_t row);

#endif
