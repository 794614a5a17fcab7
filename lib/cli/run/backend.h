/* backend: what should compute a model, as the backend hints of APR version 1 files tell it,
 * each of a tensor (apr1(5)). A hint is a wish: it is followed where this CPU can.
 */
#ifndef CLI_RUN_BACKEND_H
#define CLI_RUN_BACKEND_H

#include "core/err.h"
#include "model/model.h"

/* The level of the CPU (kernels/level.h) that the hints of a model ask for. NULL: it has
 * none, its tensors ask for different ones, or what they ask for is no level of a CPU. */
const char *backend_wish(const struct model *m);

/* Compute at that level from here on, if this CPU has it, and tell of it. Before threads
 * compute; after level_begin and dot_begin. 0 or -1. */
int backend_follow(const struct model *m, struct err *e);

#endif
