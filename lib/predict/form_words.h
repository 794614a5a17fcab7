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
#define FORM_FLAGS 12
#define FORM_OF_FOREST 8 /* the first one of struct forest, which forest_begin clears */
extern const char *const form_flags[FORM_FLAGS];
bool *form_flag(struct predictor *m, size_t i);

/* ---- writing ---- */

/* Adds a tensor of a values, or of a x b, with the prefix of the form; the caller fills what is returned. */
struct buf *form_part(struct form *to, const char *name, const char *type, uint64_t a, uint64_t b);
void form_put(struct buf *to, const double *v, size_t n);

/* Counts that writing and reading keep through all models of a form: both refuse more than form.h has. */
struct form_budget {
	size_t models, depth;
	uint64_t cells;
};

/* Where steps go; number: of the next one, counted through all parts of a model. */
struct form_target {
	struct form *to;
	size_t *number;
	struct form_budget *budget;
	const char *where;
	struct err *e;
};

/* Writes the tensors of a model, and returns its key; inside: it is part of another one, without names. NULL with
 * an error. */
json_t *form_put_model(const struct form_target *to, const struct predictor *m, bool inside);
int form_put_list(const struct form_target *to, const struct step *steps, size_t n, json_t *list);

/* What steps have beside the arrays of struct step: o is the step's object in the key. 0 or -1. */
int form_put_encoder(const struct form_target *to, const struct step *s, size_t i, json_t *o);
int form_put_bag(const struct form_target *to, const struct step *s, size_t i, json_t *o);
int form_put_parts(const struct form_target *to, const struct step *s, size_t i, json_t *o);
int form_put_grams(const struct form_target *to, const struct step *s, size_t i, json_t *o);
int form_put_models(const struct form_target *to, const struct step *s, size_t i, json_t *o);

/* The name of an array of step i. Returns name. */
const char *form_name_of(char name[32], size_t i, const char *what);

/* The steps of a model: the member "steps" of the key, and tensors. 0 or -1. */
int form_put_steps(const struct form_target *to, const struct predictor *m, json_t *o);

/* ---- reading ---- */

/* All tensors, by name. */
struct form_names {
	struct form_name {
		const char *name;
		size_t i;
	} *sorted;
	size_t n;
};

struct form_source {
	struct predictor *m;
	const struct weights *w;
	struct err *e;
	const json_t *o; /* the key */
	const struct form_names *names;
	struct form_budget *budget;
	char prefix[FORM_PREFIX];
	size_t number; /* of steps so far */
};

/* Finds the tensors of a model. 0 or -1. */
int form_names_begin(struct form_names *to, const struct weights *w, struct err *e);

/* Reads the model of x->o into x->m, and finishes it. 0 or -1. */
int form_read_model(struct form_source *x);

/* A tensor: n values at p. */
struct form_list {
	const uint8_t *p;
	uint64_t n;
};

/* Refuses step i, which is so. Always -1. */
int form_wrong(const struct form_source *x, size_t i, const char *what);

/* Finds a tensor behind the prefix. n: the number of its values, 0 for any. must: it has to be there. 0 or -1. */
int form_find(const struct form_source *x, const char *name, const char *type, uint64_t n, bool must,
              struct form_list *to);

int form_read_list(struct form_source *x, const json_t *list);
int form_read_encoder(struct form_source *x, const json_t *o, size_t i, struct step *s);
int form_read_bag(struct form_source *x, const json_t *o, size_t i, struct step *s);
int form_read_parts(struct form_source *x, const json_t *o, size_t i, struct step *s);
int form_read_grams(struct form_source *x, const json_t *o, size_t i, struct step *s);
int form_read_models(struct form_source *x, const json_t *o, size_t i, struct step *s);

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
