/* step_columns: categories as numbers, and columns that go through steps of their own. */
#ifndef PREDICT_STEP_COLUMNS_H
#define PREDICT_STEP_COLUMNS_H

#include "predict/step.h"

/* A category of a text is its place in the list of the column (struct predict_words). */
struct step_categories {
	double *values;  /* owned; ascending, NaN last */
	size_t count;
	size_t first;    /* one-hot: its first value behind the step */
	size_t drop;     /* one-hot: the category without a value; SIZE_MAX: none */
};

struct step_encoder {
	size_t n;
	struct step_categories *columns;
	bool refuses;            /* an unknown category is an error */
	double unknown, missing; /* ordinal: numbers of unknown categories and of NaN */
};

struct step_columns {
	size_t n;
	struct step_part {
		uint32_t *from;      /* owned: features, `width` of them */
		size_t width, out;
		struct step *steps;  /* owned */
		size_t step_count;
	} *parts;
	bool refuses;            /* missing values behind the parts */
};

/* A value 1 for the category of each column; the number of the category; values of parts, one part
 * behind the other. more is one of the structures above. */
extern const struct step_kind step_onehot, step_ordinal, step_parts;

void step_encoder_free(void *more);
void step_columns_free(void *more);

#endif
