/* checkpoint: all that a course needs to go on, as a model that any container holds.
 *
 *     apr.distill.recipe   text: a JSON object with the options, and the digests of what the course
 *                          began with (distill/recipe.h)
 *     apr.distill.step     u64: steps that are done
 *     value, first, second F32: the arrays of struct train_model
 *
 * A reader takes nothing from the recipe: it only compares it with its own.
 */
#ifndef DISTILL_CHECKPOINT_H
#define DISTILL_CHECKPOINT_H

#include <stdint.h>

#include "core/err.h"
#include "model/flow.h"
#include "train/train.h"

#define CHECKPOINT_RECIPE "apr.distill.recipe"
#define CHECKPOINT_STEP "apr.distill.step"

/* Send the state after `step` steps to a sink, and end it. 0 or -1. */
int checkpoint_write(const struct train_model *m, const char *recipe, uint64_t step,
                     struct sink *sink, struct err *e);

/* Read the state from a source, to its end. ERR_INVALID if its recipe is another one, with the first
 * member that differs; ERR_FORMAT if it is not a checkpoint; ERR_CORRUPT. On failure the model may
 * hold a part of it. 0 or -1. */
int checkpoint_read(struct train_model *m, const char *recipe, uint64_t *step,
                    struct source *source, struct err *e);

#endif
