/* program: the other programs of the suite.
 */
#ifndef CORE_PROGRAM_H
#define CORE_PROGRAM_H

#include <stddef.h>

#include "core/err.h"

/* Sets path to the program of this name in the folder of the running one; PATH is not searched.
 * why: what it is needed for, as in "to read model files". 0, or -1 if it cannot be run. */
int program_beside(char *path, size_t size, const char *name, const char *why, struct err *e);

/* The status of a child that could not become the program; and what its parent reports then, in
 * place of the error that followed from it. Returns -1. */
#define PROGRAM_UNSTARTED 127
int program_unstarted(const char *name, struct err *e);

#endif
