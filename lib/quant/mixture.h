/* mixture: which tensor gets which type.
 *
 * A mixture is what llama-quantize makes of a name such as "q4_k_m": one type for
 * most matrices, others for the few that matter more, and some tensors as they
 * are. Pure policy, over names, types and shapes; no tensor data.
 *
 * Source: the rules of llama-quantize, August 2026.
 */
#ifndef QUANT_MIXTURE_H
#define QUANT_MIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "model/dtype.h"
#include "model/tensor.h"
#include "quant/override.h"

/* What a model that was quantized says of itself, both as u32:
 * general.file_type is the mixture's, general.quantization_version is this. */
#define MIXTURE_QUANTIZATION_VERSION 2

struct mixture {
	const char *name;   /* lower case, as on a command line */
	const char *alias;  /* another name for it, or NULL */
	const char *type;   /* of most matrices: a name of model/dtype.h */
	const char *output; /* of the output matrix, tied embedding included */
	uint32_t file_type; /* general.file_type */
	bool plain;         /* one type throughout, by no rules, and no file_type */
};

/* A mixture by its name or alias in any case, or NULL. */
const struct mixture *mixture_by_name(const char *name);

/* Do its rules go by the names of tensors? Else one type, or the shape, is all of it. */
bool mixture_goes_by_names(const struct mixture *m);

/* Of a type that llama-quantize makes no mixture of: that type throughout. */
struct mixture mixture_plain(const struct dtype *type);

/* All of them, for lists: NULL past the last. */
const struct mixture *mixture_row(unsigned index);

/* What the rules ask of a model. */
struct mixture_model {
	const char *architecture; /* general.architecture, "" if unknown */
	uint64_t blocks;          /* ARCHITECTURE.block_count, 0 if unknown */
	uint64_t heads, heads_kv; /* ARCHITECTURE.attention.head_count(_kv) */
	uint64_t experts;         /* ARCHITECTURE.expert_count, 0 if none */
	bool importance;          /* an importance matrix is at hand */
};

struct mixture_choice {
	const struct dtype *type;   /* to be written */
	const struct dtype *wanted; /* by the rules; differs from type where rows
	                             * do not fill its blocks: a fallback */
	const char *rule;           /* why: a few constant words */
	bool kept;                  /* the tensor is not one that mixtures change */
	bool named;                 /* it has a name that rules know, which are GGUF's */
	bool needs_importance;      /* the type is no use without a matrix */
};

struct mixture_options {
	bool pure;                   /* one type throughout, not the rules */
	struct overrides *overrides; /* a person's own, or NULL; counts what decides */
};

/* Why every mixture keeps a tensor as it is, in constant words, or NULL: what is no weight,
 * has one dimension, or is small and sensitive (mixture_kept.c). */
const char *mixture_kept(const struct tensor *t);

/* The nearest type to the one wanted whose blocks rows of that many values fill. */
const struct dtype *mixture_fallback(const struct dtype *wanted, uint64_t row);

/* Choose for the n tensors of a model. What a tensor gets depends on its place
 * among its like, by block and name, not on the order given. What is kept is
 * kept whatever the options say, and rows that do not fill blocks fall back. A
 * type that cannot be computed is chosen all the same. 0, or -1 with E008, or
 * ERR_USAGE for a pattern that takes too long. rule may point into overrides. */
int mixture_choose(const struct mixture *m, const struct mixture_options *options,
                   const struct mixture_model *model,
                   struct tensor *const *tensors, size_t n, struct mixture_choice *out,
                   struct err *e);

#endif
