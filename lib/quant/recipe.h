/* recipe: the new type of every tensor of a model, decided before any data
 * arrives. The dry run prints the recipe that the real run follows.
 */
#ifndef QUANT_RECIPE_H
#define QUANT_RECIPE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "model/model.h"
#include "quant/imatrix.h"
#include "quant/key_value.h"
#include "quant/mixture.h"
#include "quant/prune.h"

/* What to do where rows do not fill the blocks of the wanted type. */
enum recipe_fallback {
	RECIPE_DEFAULT, /* fall back, but fail if much would stay unquantized */
	RECIPE_ERROR,   /* fail */
	RECIPE_WARN,    /* fall back as llama-quantize does */
	RECIPE_TYPE     /* use the given type */
};

/* How the importance was measured, for the record. */
struct calibration {
	const char *method;       /* mse, minmax or percentile, */
	double percentile;        /* and then which */
	uint64_t samples, tokens; /* parts of the text, and their tokens */
	char sha256[65];          /* of the text, hexadecimal */
};

struct recipe_options {
	const struct mixture *mixture;
	struct mixture_options how; /* pure, overrides */
	const struct mixture_model *model; /* of a model with other names than GGUF's: its names,
	                                    * and facts for those that have no key; or NULL */
	bool allow_requantize;   /* else quantized tensors may only become F32, F16 or BF16 */
	enum recipe_fallback fallback;
	const struct dtype *fallback_type; /* RECIPE_TYPE */
	struct imatrix *imatrix; /* or NULL; its entries are marked as used */
	const char *imatrix_path; /* its name in the metadata */
	const struct calibration *calibration; /* the matrix was measured for this run; types without
	                          * a search of their own then get one (quant/clip.h); or NULL */
	const struct key_values *keys; /* metadata that a user sets, or NULL */
	/* Called for each tensor that may change, after the rules; or NULL. *type is the choice
	 * of the rules, then the answer. 0, or -1 with e filled. */
	int (*ask)(void *ctx, const struct tensor *t, const struct dtype **type,
	           struct err *e);
	void *ask_ctx;
	const struct prune *prune; /* blocks to be removed, or NULL */
	bool no_record;           /* no metadata beyond llama-quantize's */
};

struct recipe_row {
	const struct dtype *from, *to;
	const struct dtype *wanted; /* differs from to: a fallback */
	const char *rule;           /* constant words */
	uint64_t bytes;             /* as written */
	bool encoder;               /* whether it can be encoded */
	const float *importance;    /* of the imatrix, or NULL */
};

struct recipe {
	struct recipe_row *rows; /* one a tensor, in stream order */
	size_t count;
	uint64_t bytes_in, bytes_out;
	uint64_t fallback_bytes;    /* share of bytes_in, in tensors that fall back to a float */
	size_t fallbacks, changed;
	size_t open, named;         /* tensors that mixtures may change; of these: with a name
	                             * that their rules know */
	size_t again;               /* of those that change: quantized already */
	size_t weighable, weighed;  /* quantized: possible by importance, and done so */

	/* Why the recipe must not be followed, the first reason of each kind. objection: the
	 * options forbid what the model needs (ERR_INVALID), or a type cannot be
	 * decoded (ERR_FORMAT). missing: a type cannot be encoded (ERR_USAGE), which
	 * does not matter to a plan. */
	struct err objection, missing;
};

/* Decide for every tensor of m. 0, or -1 with E008, or ERR_USAGE for an override
 * that decides nothing, or an importance matrix of other tensors; recipe_free either way. */
int recipe_make(struct recipe *r, const struct model *m, const struct recipe_options *o,
                struct err *e);

/* 0 if the recipe may be followed, else -1. plan_only: nothing will be encoded. */
int recipe_allowed(const struct recipe *r, bool plan_only, struct err *e);

/* Change m as it came from its source: blocks are removed, its tensors get the types
 * of the recipe (which was made without those blocks), and the keys about it are set
 * (quant/record.h). */
int recipe_apply(const struct recipe *r, const struct recipe_options *o,
                 struct model *m, struct err *e);

void recipe_free(struct recipe *r);

#endif
