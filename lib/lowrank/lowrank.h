/* lowrank: matrices as products of two smaller ones, and back. A matrix W of rows × columns becomes
 * L of rows × rank and R of rank × columns, two tensors in its place:
 *
 *     NAME.svd_u     L = U √S
 *     NAME.svd_v     R = √S Vᵀ
 *
 * from the largest singular values of W (linear/svd.h). With an importance matrix, those of W D: D is
 * diagonal, the root of the mean square of the activation of each column, so that what W does to
 * activations is met, not W itself; R is then √S Vᵀ D⁻¹. The key LOWRANK_KEY says how, and the number
 * of matrices.
 *
 * Factors have the type of the matrix if that is F32, F16 or BF16, F32 for F64, else F16. The result
 * has the same bytes for any CPU and number of threads.
 */
#ifndef LOWRANK_LOWRANK_H
#define LOWRANK_LOWRANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/pattern.h"
#include "core/spool.h"
#include "merge/input.h"
#include "model/low_rank.h"
#include "model/model.h"
#include "quant/imatrix.h"

/* What became of a matrix. */
struct lowrank_met {
	const struct tensor *t;
	size_t rank;              /* 0: it stays whole */
	bool weighted;
	double error;             /* √(squares that are lost / squares of all), weighted or not */
	uint64_t bytes;           /* of the factors */
};

struct lowrank_how {
	uint64_t rank;            /* 0: as the energy asks */
	double energy;            /* the share of the squares to keep, 0 to 1; 0: not given */
	struct pattern *targets;  /* names of matrices; none: all of two dimensions in layers */
	size_t target_count;
	struct imatrix *imatrix;  /* means; or NULL */
	const char *imatrix_name; /* for the record and messages */
	unsigned jobs;
	void (*met)(void *ctx, const struct lowrank_met *m);
	void *ctx;
};

struct lowrank_row {
	enum { LOWRANK_COPY, LOWRANK_STORED, LOWRANK_PRODUCT } from;
	size_t tensor;            /* of the input: copied, or L */
	size_t right;             /* LOWRANK_PRODUCT: R */
	uint64_t at;              /* LOWRANK_STORED: in the spool */
};

struct lowrank {
	struct merge_input *in;   /* the caller's; must outlive it */
	struct model out;
	struct lowrank_row *rows; /* of each tensor of out */
	size_t row_cap;
	struct spool factors;
	size_t factored;          /* matrices that have factors, */
	size_t whole;             /* and those that were asked for but stay */
};

/* Find the factors. ERR_USAGE if no matrix has a name that is asked for; ERR_INVALID if no matrix
 * would get smaller, and for an importance matrix of another model. 0 or -1; lowrank_free in any
 * case. */
int lowrank_split(struct lowrank *l, const struct lowrank_how *how, struct err *e);

/* Find the factors of a model that are to be multiplied. ERR_INVALID if there are none,
 * ERR_CORRUPT if one is missing or does not fit. 0 or -1; lowrank_free in any case. */
int lowrank_join(struct lowrank *l, struct err *e);

/* The result, computed while a caller reads it. l stays the caller's and must outlive it. NULL with e filled. */
struct source *lowrank_source(struct lowrank *l, unsigned jobs, struct err *e);
void lowrank_free(struct lowrank *l);

#endif
