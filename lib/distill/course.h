/* course: a student learns from texts, and from a teacher if it has one, step by step.
 *
 * Step t (1, 2, ...) learns the parts number (t - 1) × rows × batches on (distill/order.h), in `batches`
 * batches of `rows` parts. What a step does follows from the student's values and averages and from t
 * alone, so a course can go on at any step, on any number of threads.
 */
#ifndef DISTILL_COURSE_H
#define DISTILL_COURSE_H

#include <stdint.h>

#include "core/err.h"
#include "distill/order.h"
#include "distill/texts.h"
#include "train/train.h"

struct course_how {
	double alpha, temperature;  /* struct train_goal */
	double rate, decay, clip;   /* struct train_adam */
	uint64_t steps, warm;       /* warm: steps until the rate is reached */
	size_t rows, batches, length;
	uint64_t seed;
	unsigned jobs;
};
#define COURSE_LEAST 0.1        /* the share of the rate at the last step */
#define COURSE_MEASURED 16384   /* tokens of the validation text that are measured, at most */

struct course {
	struct course_how how;
	struct train_model *student, *teacher; /* teacher: NULL if alpha is 0 */
	struct order order, measured;          /* measured.parts is 0 without a validation text */
	uint64_t step;              /* done */
	struct train_loss loss;     /* of the last step: sums */
	double rate, norm;          /* of it: the rate, and the length of the gradient */

	/* Private. */
	struct train_work *work, *teaching;
	uint32_t *tokens, *targets; /* of a batch */
};

struct course_text {
	const uint32_t *tokens;
	size_t n;
	const char *name;         /* of its file */
};

/* Make ready. The models and tokens outlive the course. validation: NULL if there is none. bos: as in
 * struct order. ERR_MEMORY before any work if there is not enough. course_end in any case. 0 or -1. */
int course_begin(struct course *c, const struct course_how *how, struct train_model *student,
                 struct train_model *teacher, const struct course_text *text,
                 const struct course_text *validation, uint32_t bos, struct err *e);
void course_end(struct course *c);

/* Do step number c->step + 1. ERR_INVALID with a hint if the gradient is not finite. 0 or -1. */
int course_step(struct course *c, struct err *e);

/* The mean of -ln(probability) of the tokens of the validation text, of the student or, if teacher, of
 * the teacher. 0 or -1. */
int course_measure(struct course *c, bool teacher, double *loss, struct err *e);

#endif
