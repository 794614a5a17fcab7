/* fit: a type for each matrix of a model, so that the model has at most a given size, or at most
 * a given harm, and differs as little as possible from what it was.
 *
 * The harm of a type for one tensor is measured: the mean divergence (generate/divergence.h) of
 * the model in which only that tensor has that type from the unchanged model, on a text. Harms of
 * several tensors nearly add up, so the best choice for a size is a knapsack, whose items are, for
 * each tensor, the types on the lower convex hull of harm over bytes: from the smallest types on,
 * the step with the greatest gain for its bytes comes first.
 *
 * With fewer probes than types, the harm of the others follows from the squares of their errors:
 * to first order a divergence is a quadratic form of the error of the weights.
 */
#ifndef QUALITY_FIT_H
#define QUALITY_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "generate/divergence.h"
#include "model/weights.h"
#include "quant/imatrix.h"
#include "tokenizer/tokenizer.h"

#define FIT_TYPES 16

struct fit_options {
	const struct dtype *types[FIT_TYPES]; /* to choose from */
	size_t type_count;
	bool thorough;                 /* measure each type, not only one for each tensor */
	const struct imatrix *importance; /* means, or NULL */
	uint64_t context;              /* tokens of a part of the text */
	unsigned jobs;
};

/* A tensor that may change. */
struct fit_tensor {
	size_t index;            /* in the plan */
	const float *importance; /* or NULL */
	struct fit_choice {
		const struct dtype *type;
		uint64_t bytes;
		double error;        /* relative error of the values, weighted by importance */
		double harm;         /* measured, or estimated */
	} choices[FIT_TYPES];    /* from the smallest on; each has less harm than those before */
	size_t count, chosen;
};

struct fit {
	const struct weights *weights;
	const struct fit_options *o;
	const struct tokenizer *tokenizer;
	const struct tokens *text;
	struct divergence_kept base; /* the unchanged model */
	struct fit_tensor *tensors;
	size_t count;
	uint64_t kept;           /* bytes of all other tensors */
	uint64_t steps, done;    /* evaluations */
	void (*step)(void *ctx, const struct fit *f);
	void *step_ctx;
};

/* Measure. weights, o, tokenizer and text outlive the fit. kept: whether a tensor stays unchanged.
 * step: is called after each evaluation, or NULL. 0 or -1; fit_close in any case. */
int fit_open(struct fit *f, const struct weights *w, const struct tokenizer *tokenizer,
             const struct tokens *text, const struct fit_options *o, const bool *kept,
             void (*step)(void *ctx, const struct fit *f), void *ctx, struct err *e);
void fit_close(struct fit *f);

/* Choose for at most `bytes` of all tensors together. ERR_INVALID if even the smallest types need
 * more. 0 or -1. */
int fit_size(struct fit *f, uint64_t bytes, struct err *e);

/* Choose the smallest model whose harm, as the sum of those of its tensors, is at most harm. */
void fit_harm(struct fit *f, double harm);

/* Bytes of all tensors, and the sum of the harms, of the choice. */
uint64_t fit_bytes(const struct fit *f);
double fit_sum(const struct fit *f);

/* Evaluate the model with all chosen types. 0 or -1. */
int fit_check(struct fit *f, struct divergence_figures *to, struct err *e);

#endif
