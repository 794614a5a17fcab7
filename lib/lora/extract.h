/* extract: an adapter from the difference of two models. Each weight that differs gets the matrices
 * of the largest singular values of its difference (linear/svd.h): B = U √S and A = √S Vᵀ.
 *
 * Matrices are read by rows and never held; A and B wait in a spool until all ranks are known.
 */
#ifndef LORA_EXTRACT_H
#define LORA_EXTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "model/flow.h"

/* A tensor of both models. */
struct lora_pair {
	const struct tensor *t;   /* of the base */
	enum {
		LORA_MATRIX,      /* gets A and B */
		LORA_TABLE,       /* the same, a table of tokens */
		LORA_WHOLE,       /* the adapter takes the tensor of the tuned model */
		LORA_LEFT         /* is only compared */
	} kind;
	bool turned;              /* stored as inputs × outputs */
};

/* How well a tensor is met. Squares are sums over the tensor. */
struct lora_met {
	const struct lora_pair *pair;
	size_t rank;              /* 0: the tensors are equal, or LORA_LEFT, or LORA_WHOLE */
	double total, left;       /* squares of the difference, and of what the adapter lacks of it */
};

struct lora_extract {
	const struct lora_pair *pairs;
	size_t n;
	enum arch_form form;      /* of the names; the adapter gets the same */
	const char *arch;         /* as of struct lora_written */
	bool turned;
	const char *name;         /* file of the tuned model, for messages */
	size_t rank;              /* as of struct svd_asked */
	double energy;
	unsigned jobs;

	/* Read n values of a tensor, starting at value `from`: its difference, or with `tuned` the
	 * value in the tuned model. A matrix is read in whole rows. 0 or -1. */
	int (*read)(void *ctx, size_t pair, bool tuned, uint64_t from, size_t n, float *to,
	            struct err *e);
	void (*met)(void *ctx, const struct lora_met *m); /* after each tensor that differs */
	void *ctx;
};

/* Extract, and give the adapter to a sink. ERR_NO if no weight differs. 0 or -1. */
int lora_extract(const struct lora_extract *x, struct sink *sink, struct err *e);

#endif
