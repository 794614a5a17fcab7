/* form_words: what the two directions of form.h share. */
#ifndef PREDICT_FORM_WORDS_H
#define PREDICT_FORM_WORDS_H

#include <stddef.h>

#include "core/json.h"
#include "predict/form.h"
#include "predict/predict.h"
#include "predict/step_columns.h"

/* By the numbers of their enums, NULL at the end. */
extern const char *const form_forms[], *const form_tasks[], *const form_links[];

/* The yes and no of a model, by the name of their member. */
#define FORM_FLAGS 11
#define FORM_OF_FOREST 7 /* the first one of struct forest, which forest_begin clears */
extern const char *const form_flags[FORM_FLAGS];
bool *form_flag(struct predictor *m, size_t i);

/* ---- writing ---- */

/* Adds a tensor of a values, or of a x b; the caller fills what is returned. */
struct buf *form_part(struct form *to, const char *name, const char *type, uint64_t a, uint64_t b);
void form_put(struct buf *to, const double *v, size_t n);

/* Where steps go; number: of the next one, counted through all parts. */
struct form_target {
	struct form *to;
	size_t *number;
	const char *where;
	struct err *e;
};
int form_put_list(const struct form_target *to, const struct step *steps, size_t n, json_t *list);

/* What steps have beside the arrays of struct step: o is the step's object in the key. 0 or -1. */
int form_put_encoder(const struct form_target *to, const struct step *s, size_t i, json_t *o);
int form_put_bag(const struct form_target *to, const struct step *s, size_t i, json_t *o);
int form_put_parts(const struct form_target *to, const struct step *s, size_t i, json_t *o);

/* The steps of a model: the member "steps" of the key, and tensors. 0 or -1. */
int form_put_steps(const struct predictor *m, const char *where, json_t *o, struct form *to, struct err *e);

/* ---- reading ---- */

struct form_source {
	struct predictor *m;
	const struct weights *w;
	struct err *e;
	json_t *o; /* the key */
	size_t number, depth; /* of steps so far, and of parts in parts */
};

int form_read_list(struct form_source *x, const json_t *list);
int form_read_encoder(struct form_source *x, const json_t *o, size_t i, struct step *s);
int form_read_bag(struct form_source *x, const json_t *o, size_t i, struct step *s);
int form_read_parts(struct form_source *x, const json_t *o, size_t i, struct step *s);

/* The values of a tensor, which are finite, exactly n of them; NULL with an error. */
double *form_doubles(const struct form_source *x, const char *name, uint64_t n);
/* Whole numbers. */
uint32_t *form_words(const struct form_source *x, const char *name, uint64_t n);
/* Bytes. *n: their number. NULL with an error. */
const uint8_t *form_bytes(const struct form_source *x, const char *name, size_t *n);
/* The number of values of a tensor, 0 if there is none. */
uint64_t form_items(const struct form_source *x, const char *name);
/* True if the model has the tensor. */
bool form_has(const struct form_source *x, const char *name);

/* Reads the steps, and what pairs of classes need. 0 or -1. */
int form_read_steps(struct form_source *x);

#endif
