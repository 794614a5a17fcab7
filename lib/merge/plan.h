/* plan: from a recipe and its models to the tensors of the result, and the metadata. Everything
 * that can disagree is proved here, before a byte is written.
 *
 * The first model, or the base if there is one, is the reference: the result has its metadata, side
 * files, licence and order of tensors, and the types of its tensors; quantized ones and F64 become
 * F16. Tensors of integers are those of the reference.
 *
 * The result has the key apr.merge.recipe (string): a recipe with the keys of mergekit as JSON,
 * which is YAML too. Keys about a quantization that has ended are left out.
 */
#ifndef MERGE_PLAN_H
#define MERGE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/blend.h"
#include "merge/input.h"
#include "merge/recipe.h"
#include "merge/vocabulary.h"

struct merge_options {
	const struct dtype *type; /* of the result: F32, F16 or BF16; NULL: as above. GGUF: tensors
	                           * of one dimension keep their type */
	bool compat;              /* as mergekit computes */
	bool any_tokens;          /* tokens may differ: rows of tables go by their numbers */
	uint64_t seed;
};

struct merge_row {
	struct tensor *t;         /* of the result */
	bool table;               /* rows of models are found by tokens */
	bool copied;              /* the bytes of the first vector pass unchanged */
	const struct merge_slice *slice;
	double position;          /* in the layers, 0 to 1 */
	struct merge_vector {
		size_t input, tensor;
	} *vectors;               /* one for each model; then the base */
};

struct merge_plan {
	const struct merge_recipe *recipe;
	struct merge_options o;
	struct merge_input *inputs; /* by the number of the model in the recipe */
	size_t reference;
	struct vocabulary words;
	struct merge_row *rows;
	size_t count, cap;
	struct model out;
	struct subject_files files; /* side files that replace those of the reference */
	uint64_t *layers;         /* of the reference, that became those of the result */
	size_t layer_count, layer_cap;
};

/* The number of the model that is the reference. It can be read first, so that others get its
 * form. */
size_t merge_plan_reference(const struct merge_recipe *r);

/* Plan. inputs: one for each model of the recipe. merge_plan_free in any case. 0 or -1. */
int merge_plan_make(struct merge_plan *p, const struct merge_recipe *r,
                    const struct merge_options *o, struct merge_input *inputs, struct err *e);
void merge_plan_free(struct merge_plan *p);

/* The parameters of a row. values: room for 5 × MERGE_MODELS numbers, which the task borrows. 0,
 * or -1 if one is missing or wrong. */
int merge_row_task(const struct merge_plan *p, const struct merge_row *row, double *values,
                   struct blend_task *t, struct err *e);

/* Append the recipe as JSON (merge/record.c). 0 or -1. */
int merge_record(const struct merge_plan *p, struct buf *to, struct err *e);

#endif
