/* low_rank: a matrix of low rank that is added to a matrix of a model while the model computes: what
 * adapters make of it (lora/low.h), without changing its bytes.
 */
#ifndef MODEL_LOW_RANK_H
#define MODEL_LOW_RANK_H

#include <stddef.h>

/* The key of a model whose matrices are stored as products of two smaller ones (lowrank/lowrank.h):
 * JSON text that says how. */
#define LOWRANK_KEY "apr.lowrank"

/* Names of the two: that of the matrix, with these behind it. */
#define LOWRANK_LEFT ".svd_u"
#define LOWRANK_RIGHT ".svd_v"

/* W + left × right, where W has a row for each output and a column for each input of its layer,
 * also if its tensor is stored transposed. */
struct low_rank {
	size_t tensor;        /* of the model's plan */
	size_t rows, columns, rank;
	float *left, *right;  /* rows × rank, with the scale; rank × columns */
};

#endif
