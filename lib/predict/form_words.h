/* form_words: what the two directions of form.h share. */
#ifndef PREDICT_FORM_WORDS_H
#define PREDICT_FORM_WORDS_H

#include <stddef.h>

#include "core/json.h"
#include "predict/form.h"
#include "predict/predict.h"

/* By the numbers of their enums, NULL at the end. */
extern const char *const form_forms[], *const form_tasks[], *const form_links[];

/* The yes and no of a model, by the name of their member. */
#define FORM_FLAGS 10
#define FORM_OF_FOREST 7 /* the first one of struct forest, which forest_begin clears */
extern const char *const form_flags[FORM_FLAGS];
bool *form_flag(struct predictor *m, size_t i);

/* ---- writing ---- */

/* Adds a tensor of a values, or of a x b; the caller fills what is returned. */
struct buf *form_part(struct form *to, const char *name, const char *type, uint64_t a, uint64_t b);
void form_put(struct buf *to, const double *v, size_t n);

/* The steps of a model: the member "steps" of the key, and tensors. 0 or -1. */
int form_put_steps(const struct predictor *m, const char *where, json_t *o, struct form *to, struct err *e);

/* ---- reading ---- */

struct form_source {
	struct predictor *m;
	const struct weights *w;
	struct err *e;
	json_t *o; /* the key */
};

/* The values of a tensor, which are finite, exactly n of them; NULL with an error. */
double *form_doubles(const struct form_source *x, const char *name, uint64_t n);
/* Whole numbers. */
uint32_t *form_words(const struct form_source *x, const char *name, uint64_t n);
/* True if the model has the tensor. */
bool form_has(const struct form_source *x, const char *name);

/* Reads the steps, and what pairs of classes need. 0 or -1. */
int form_read_steps(struct form_source *x);

#endif
