/* recipe: what decides the result of a course, as a JSON object: the options, and the SHA-256 of what it
 * begins with. Threads, and what is only measured or reported, are not in it.
 *
 * The result has it as the key apr.distill.recipe (string), and so has a checkpoint.
 */
#ifndef DISTILL_RECIPE_H
#define DISTILL_RECIPE_H

#include "distill/course.h"
#include "distill/student.h"

/* The text of a course that has begun. student: as at the beginning. A new string; NULL with
 * e filled. */
char *recipe_text(const struct course *c, const struct student_how *how, struct err *e);

/* Set the key of the result. 0 or -1. */
int recipe_record(struct train_model *student, const char *recipe, struct err *e);

#endif
