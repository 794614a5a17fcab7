/* find: programs beside this one, or in PATH. */
#ifndef FRONT_FIND_H
#define FRONT_FIND_H

#include <limits.h>
#include <stdbool.h>

/* Finds the program `name`, which has no slash: in the folder of the running program, else in
 * PATH. Returns whether it is there and may be executed; path is its name. */
bool front_find(const char *name, char path[PATH_MAX]);

/* The folder of the running program, without a slash at the end; "" if it is not known. */
const char *front_folder(void);

#endif
