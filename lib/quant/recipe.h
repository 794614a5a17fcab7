/* recipe: what becomes of every tensor of a model, decided before any data
 * arrives. The dry run prints the very recipe that the real run follows.
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

/* What to do where rows do not fill the blocks of the type that is wanted. */
enum recipe_fallback {
	RECIPE_DEFAULT, /* fall back, but fail where much would not be quantized at all */
	RECIPE_ERROR,   /* fail */
	RECIPE_WARN,    /* fall back as llama-quantize does */
	RECIPE_TYPE     /* use the given type */
};

struct recipe_options {
	const struct mixture *mixture;
	struct mixture_options how; /* pure, overrides */
	bool allow_requantize;   /* else what is quantized may only become F32, F16 or BF16 */
	enum recipe_fallback fallback;
	const struct dtype *fallback_type; /* RECIPE_TYPE */
	struct imatrix *imatrix; /* or NULL; its entries are marked as used */
	const char *imatrix_path; /* what it is called in the metadata */
	const struct key_values *keys; /* a person's own metadata, or NULL */
	/* Asked about each tensor that may change, after the rules; or NULL. *type: their
	 * choice, and the answer. 0, or -1 with e filled. */
	int (*ask)(void *ctx, const struct tensor *t, const struct dtype **type,
	           struct err *e);
	void *ask_ctx;
	const struct prune *prune; /* blocks to be left out, or NULL */
	bool no_record;           /* nothing in the metadata that llama-quantize has not */
};

struct recipe_row {
	const struct dtype *from, *to;
	const struct dtype *wanted; /* differs from to: a fallback */
	const char *rule;           /* constant words */
	uint64_t bytes;             /* as written */
	bool encoder;               /* can it be written? */
	const float *importance;    /* of the imatrix, or NULL */
};

struct recipe {
	struct recipe_row *rows; /* one a tensor, in stream order */
	size_t count;
	uint64_t bytes_in, bytes_out;
	uint64_t fallback_bytes;    /* of bytes_in, in tensors that fall back to a float */
	size_t fallbacks, changed;
	size_t open, named;         /* not kept whatever the type; of these: with a name that
	                             * the rules of mixtures know */
	size_t again;               /* of those that change: quantized already */
	size_t weighable, weighed;  /* quantized: could be, and are, by importance */

	/* Why it may not be followed, if so: the first reason each. objection: the
	 * options forbid what the model asks for (ERR_INVALID), or a type cannot be
	 * decoded (ERR_FORMAT). missing: a type cannot be encoded (ERR_USAGE), which
	 * a plan alone does not mind. */
	struct err objection, missing;
};

/* Decide for every tensor of m. 0, or -1 with E008, or ERR_USAGE for an override
 * that decides nothing, or an importance matrix of other tensors; recipe_free either way. */
int recipe_make(struct recipe *r, const struct model *m, const struct recipe_options *o,
                struct err *e);

/* May it be followed? plan_only: nothing will be encoded. 0 or -1. */
int recipe_allowed(const struct recipe *r, bool plan_only, struct err *e);

/* Change m, as it came from its source: blocks are left out, its tensors get the types
 * of the recipe (which was made without those blocks). And set the keys that tell of it
 * (quant/record.h). */
int recipe_apply(const struct recipe *r, const struct recipe_options *o,
                 struct model *m, struct err *e);

void recipe_free(struct recipe *r);

#endif
