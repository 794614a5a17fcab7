/* distill_texts: the tokens that a student learns, and those that it is measured with. */
#ifndef CLI_DISTILL_DISTILL_TEXTS_H
#define CLI_DISTILL_DISTILL_TEXTS_H

#include "cli/distill/distill_asked.h"
#include "distill/texts.h"

struct distill_texts {
	struct texts text, validation;
};

/* The tokens of the files, whose bytes are freed. 0 or -1; distill_texts_free in any case. */
int distill_texts_read(struct distill_texts *t, struct distill_asked *a, struct tokenizer *k,
                       struct err *e);
void distill_texts_free(struct distill_texts *t);

/* Begin the course that the options ask for, with a part of the text held out for measuring. teacher:
 * NULL if there is none. 0 or -1; course_end is due in any case. */
int distill_texts_course(const struct distill_texts *t, const struct distill_asked *a,
                         const struct tokenizer *k, struct train_model *student,
                         struct train_model *teacher, struct course *c, struct err *e);

#endif
