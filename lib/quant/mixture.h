/* mixture: which tensor gets which type.
 *
 * A mixture is the meaning of a name such as "q4_k_m" in llama-quantize: one type for
 * most matrices, others for the few that matter more, and some tensors unchanged.
 * It is policy over names, types and shapes; it reads no tensor data.
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

/* A quantized model's own metadata, both u32: general.file_type is the mixture's number,
 * general.quantization_version is this. */
#define MIXTURE_QUANTIZATION_VERSION 2

struct mixture {
	const char *name;   /* lower case, as on a command line */
	const char *alias;  /* another name for it, or NULL */
	const char *type;   /* of most matrices: a name of model/dtype.h */
	const char *output; /* of the output matrix, tied embedding included */
	uint32_t file_type; /* general.file_type */
	bool plain;         /* one type throughout, without rules or file_type */
};

/* A mixture by its name or alias, in any case, or NULL. */
const struct mixture *mixture_by_name(const char *name);

/* True if its rules use the names of tensors; others are one type, or go by shape. */
bool mixture_goes_by_names(const struct mixture *m);

/* A mixture of one type throughout, for types that llama-quantize has no mixture for. */
struct mixture mixture_plain(const struct dtype *type);

/* By index, for lists: NULL past the last. */
const struct mixture *mixture_row(unsigned index);

/* A tensor of a model with other names than GGUF's. */
struct mixture_name {
	char *gguf;         /* what GGUF calls it, or its own name */
	bool stacked;       /* GGUF has it in three dimensions */
	bool of_expert;     /* since it stacks the matrices of all experts */
	uint64_t expert;    /* its number */
};

/* The facts of a model that rules use. */
struct mixture_model {
	const char *architecture; /* general.architecture, "" if unknown */
	uint64_t blocks;          /* ARCHITECTURE.block_count, 0 if unknown */
	uint64_t heads, heads_kv; /* ARCHITECTURE.attention.head_count(_kv) */
	uint64_t experts;         /* ARCHITECTURE.expert_count, 0 if none */
	bool importance;          /* an importance matrix is at hand */
	const struct mixture_name *names; /* one for each tensor; NULL: all are GGUF's */
};

struct mixture_choice {
	const struct dtype *type;   /* to be written */
	const struct dtype *wanted; /* the choice of the rules; differs from type where rows
	                             * do not fill its blocks: a fallback */
	const char *rule;           /* the reason: a few constant words */
	bool kept;                  /* mixtures do not change this tensor */
	bool named;                 /* its name is one that rules know: GGUF's */
	bool needs_importance;      /* the type needs an importance matrix */
};

struct mixture_options {
	bool pure;                   /* one type throughout, not the rules */
	struct overrides *overrides; /* overrides, or NULL; counts those that decide */
};

/* Why every mixture keeps a tensor of that name in GGUF unchanged, in constant words, or NULL.
 * Kept are tensors that are not weights, have one dimension, or are small and sensitive
 * (mixture_kept.c). */
const char *mixture_kept(const struct tensor *t, const char *name);

/* The type nearest to the wanted one whose blocks fill rows of that many values. */
const struct dtype *mixture_fallback(const struct dtype *wanted, uint64_t row);

/* Choose for the n tensors of a model. The choice depends on a tensor's place
 * among those of its role, by block and name, not on the order given. Kept tensors are
 * kept whatever the options are, and rows that do not fill blocks fall back. A
 * type that cannot be computed may be chosen. 0, or -1 with E008, or
 * ERR_USAGE for a pattern that takes too long. rule may point into overrides. */
int mixture_choose(const struct mixture *m, const struct mixture_options *options,
                   const struct mixture_model *model,
                   struct tensor *const *tensors, size_t n, struct mixture_choice *out,
                   struct err *e);

#endif
