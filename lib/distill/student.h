/* student: the model that learns, before it does: some layers of the teacher, a file, or a new model of
 * the teacher's vocabulary.
 */
#ifndef DISTILL_STUDENT_H
#define DISTILL_STUDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/json.h"
#include "load/load.h"
#include "tokenizer/tokenizer.h"
#include "train/train.h"

struct student_how {
	enum { STUDENT_LAYERS, STUDENT_FILE, STUDENT_NEW } from;
	uint64_t *kept;           /* STUDENT_LAYERS: numbers of the teacher's layers, ascending */
	size_t count;
	struct train_config config; /* STUDENT_NEW; vocabulary and words are set by the caller */
};

/* `count` of n layers: the first ones, or the first, the last and those at even distances between
 * them; one layer is the first. kept has room for count. */
void student_first(uint64_t *kept, size_t count);
void student_spread(uint64_t *kept, size_t count, uint64_t n);

/* Those with the lowest cosines between input and output (generate/cosines.h), in the first tokens of a
 * text: the others change hidden states least. Of equal ones the first go. 0 or -1. */
#define STUDENT_MEASURED 8192
int student_change(uint64_t *kept, size_t count, const struct weights *teacher,
                   const struct tokens *text, unsigned jobs, struct err *e);

/* What a new model has by "layers=2,hidden=128,...": members of c that are not named stay. ERR_USAGE
 * for an unknown name or a number that is not one. 0 or -1. */
int student_config(struct train_config *c, const char *text, struct err *e);

/* The sizes of a model. */
void student_like(struct train_config *c, const struct train_model *m);

/* Put some layers of the teacher into *load, from which train_open makes the student. name: the
 * teacher's file, for messages. ERR_INVALID if they are not there. 0, or -1; load_close is due in any case. */
int student_layers(struct train_model *teacher, const char *name, const struct student_how *how,
                   unsigned jobs, struct load *load, struct err *e);

/* Prove that both have the same tokens. ERR_INVALID with the names of both and the first token that
 * differs. 0 or -1. */
int student_same_tokens(const struct tokenizer *teacher, const char *teacher_name,
                        const struct tokenizer *student, const char *student_name, struct err *e);

/* Put what the student began as into the recipe. */
void student_record(const struct student_how *how, json_t *recipe);

#endif
