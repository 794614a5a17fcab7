/* form_words: what the two directions of form.h share. */
#ifndef PREDICT_FORM_WORDS_H
#define PREDICT_FORM_WORDS_H

#include <stddef.h>

#include "predict/predict.h"

/* By the numbers of their enums, NULL at the end. */
extern const char *const form_forms[], *const form_tasks[], *const form_links[];

/* The yes and no of a model, by the name of their member. */
#define FORM_FLAGS 10
#define FORM_OF_FOREST 7 /* the first one of struct forest, which forest_begin clears */
extern const char *const form_flags[FORM_FLAGS];
bool *form_flag(struct predictor *m, size_t i);

#endif
