/* form: a model of trees or of sums of products as tensors and one key, in any container, and back.
 * Nothing of it is lost, so predictions are the same, bit for bit.
 *
 *     apr.predict          a text, JSON: what struct predictor and struct forest say beside lists: version 1,
 *                          kind, form, task, link, features, outputs, names, labels, flags, …
 *     forest.counts        I32 [trees]       nodes of each tree
 *     forest.groups        I32 [trees]       the output to which each adds
 *     forest.features      I32 [nodes]       -1: a leaf
 *     forest.thresholds    F64 [nodes]       left if x <= threshold
 *     forest.left          I32 [nodes]       in its tree; the right child follows it
 *     forest.flags         I8 [nodes]        FORM_RIGHT, …
 *     forest.sets          I32 [nodes]       where its set begins in forest.words; only with categories
 *     forest.words         I32 [words]       the number of words of a set, and these: bit c is category c
 *     forest.covers        F64 [nodes]       if they are known
 *     forest.ids           I32 [leaves]      as the library counts leaves
 *     forest.values        F64 [leaves, width]
 *     forest.base, forest.bias   F64 [outputs]
 *     linear.weights       F64 [outputs, features]
 *     linear.bias          F64 [outputs]     not for centers
 *     step.N.a, .b, .c     F64               arrays of step N (struct step); their sizes follow from its kind
 *     step.N.list          I32
 *     step.N.terms         I8                bytes of texts (form_more.c, form_grams.c)
 *     pairs.platt          F64 [pairs, 2]
 *
 * Models inside of a model (struct step_models) have a key of their own, in that of their step, and the same
 * tensors with part.N. in front: form_models.c.
 */
#ifndef PREDICT_FORM_H
#define PREDICT_FORM_H

#include "model/weights.h"
#include "predict/predict.h"

#define FORM_KEY "apr.predict"
#define FORM_STEPS 64     /* of a model, with those of its columns */
#define FORM_MODELS 16384 /* inside of a model, and of those */
#define FORM_DEPTH 12     /* of models in models, and columns in columns */
#define FORM_CELLS ((uint64_t)1 << 28) /* values that all steps take and give for a row */
#define FORM_PREFIX 24

/* Bits of forest.flags. */
#define FORM_RIGHT 1u    /* a missing value goes right */
#define FORM_ZEROS 2u    /* a zero is missing */
#define FORM_CATEGORY 4u
#define FORM_NEGATIVE 8u /* what is below zero is missing */

struct form_part {
	char name[64];
	const char *type;
	unsigned ndim;
	uint64_t dims[2];
	struct buf data;
};

struct form {
	struct buf json;
	struct form_part **parts;
	size_t count, cap;
	char prefix[FORM_PREFIX]; /* of the model that is written: "part.2." */
	struct buf lost;          /* takes what has no place, once memory has run out: */
	bool failed;
};

/* Makes the form. 0, or -1 with e filled: ERR_FORMAT for a model with a step of a network that is not dense,
 * or with a pipeline of ONNX. form_free in any case. */
int form_make(const struct predictor *m, const char *where, struct form *to, struct err *e);
void form_free(struct form *f);

/* Reads a model from it. 0, or -1 with e filled. */
int form_read(struct predictor *m, const struct weights *w, struct err *e);

/* The model type of APR version 1 that fits: "GRADIENT_BOOSTING". */
const char *form_type(const struct predictor *m);

#endif
