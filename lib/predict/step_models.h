/* step_models: whole models as one step: each predicts for the rows, and what it says becomes values.
 * Votes, averages and stacks of models are made of this and of the steps behind it. */
#ifndef PREDICT_STEP_MODELS_H
#define PREDICT_STEP_MODELS_H

#include "predict/predict.h"
#include "predict/step.h"

enum models_give {
	MODELS_SCORES, /* in front of the link */
	MODELS_LINKED, /* values, or a probability for each class */
	MODELS_LABEL,  /* 1 for the class that is predicted, 0 for others */
	MODELS_SAMME   /* probabilities p of K classes as (K - 1) (log p - the mean of log p) */
};

struct step_model {
	struct predictor *m; /* owned */
	uint32_t *from;      /* owned: its features, `width` of them; NULL: all */
	size_t width;
	enum models_give give;
	double weight;
	uint32_t *to;        /* owned: where each value that it gives is added; UINT32_MAX: nowhere */
	size_t gives;
};

struct step_models {
	size_t n;
	struct step_model *models;
	bool median;         /* the median of the models' only values by their weights, in place of the sum */
	bool passes;         /* the rows themselves follow, s->in values */
};

/* The second takes texts. more: struct step_models. */
extern const struct step_kind step_models, step_models_texts;

void step_models_free(void *more);

/* The number of values that a model gives. */
size_t step_model_gives(const struct predictor *m, enum models_give give);

#endif
