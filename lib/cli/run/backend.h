/* backend: the level of the CPU that the backend hints of an APR version 1 file ask for, one
 * hint per tensor (apr1(5)). A hint is followed if this CPU has the level.
 */
#ifndef CLI_RUN_BACKEND_H
#define CLI_RUN_BACKEND_H

#include "core/err.h"
#include "model/model.h"

/* Returns the level of the CPU (kernels/level.h) that the hints of a model ask for. NULL:
 * the model has no hints, they differ, or they do not name a level of a CPU. */
const char *backend_wish(const struct model *m);

/* Selects that level if this CPU has it, with a note. Call it after level_begin and
 * dot_begin, and before any thread computes. 0 or -1. */
int backend_follow(const struct model *m, struct err *e);

#endif
