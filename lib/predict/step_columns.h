/* step_columns: categories as numbers, and columns that go through steps of their own. */
#ifndef PREDICT_STEP_COLUMNS_H
#define PREDICT_STEP_COLUMNS_H

#include "predict/step.h"

/* A category of a text is its place in the list of the column (struct predict_words). */
#define STEP_NO_VALUE UINT32_MAX

struct step_categories {
	double *values;  /* owned; ascending, NaN last */
	uint32_t *place; /* owned: the value of each category, counted in its column; STEP_NO_VALUE: it has none */
	size_t count;
	size_t width;    /* values; rare categories can share the last one */
	size_t first;    /* one-hot: its first value behind the step */
	uint32_t other;  /* the value of unknown categories, or STEP_NO_VALUE */
};

struct step_encoder {
	size_t n;
	struct step_categories *columns;
	bool refuses;            /* an unknown category is an error */
	double unknown, missing; /* ordinal: numbers of unknown categories and of NaN */
};

/* The features of a row, or its text: in step_parts a part can begin with a step of texts, and its one
 * feature is then a text (struct step_rows, pool). */
struct step_columns {
	size_t n;
	struct step_part {
		uint32_t *from;      /* owned: features, `width` of them; NULL: all, or the text */
		size_t width, out;
		struct step *steps;  /* owned */
		size_t step_count;
	} *parts;
	bool refuses;            /* missing values behind the parts */
};

/* A value 1 for the category of each column; the number of the category; values of parts, one part
 * behind the other, of numbers or of a text. more is one of the structures above. */
extern const struct step_kind step_onehot, step_ordinal, step_parts, step_parts_texts;

void step_encoder_free(void *more);
void step_columns_free(void *more);

#endif
