/* backend: the level of the CPU that the backend hints of an APR version 1 file ask for, one
 * hint per tensor (apr1(5)). A hint is followed if this CPU has the level.
 */
#ifndef CLI_RUN_BACKEND_H
#define CLI_RUN_BACKEND_H

#include "core/err.h"
#include "model/model.h"

/* Selects that level if this CPU has it, with a note. Call it after level_begin and
 * dot_begin, and before any thread computes. 0 or -1. */
int backend_follow(const struct model *m, struct err *e);

#endif
