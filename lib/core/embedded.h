/* embedded: the files that apr-embed has put behind the running program (core/payload.h).
 *
 * Their paths are embedded:NAME; core/opened.h opens them. The program finds its own file by the
 * path that it was started with, else by /proc/self/exe.
 */
#ifndef CORE_EMBEDDED_H
#define CORE_EMBEDDED_H

#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"

#define EMBEDDED "embedded:"

/* Looks for files behind the running program; once, before its command line is read. 0, or -1 if
 * its table is damaged. */
int embedded_begin(struct err *e);

/* The path of the first file, the model; NULL: there are no files. */
const char *embedded_model(void);

/* The command line with the model as its first operand and the embedded arguments before those of
 * the user. Changes *argc, and sets *user to the number of the user's first word. Without files,
 * argv is returned; NULL: no memory. */
char **embedded_command(int *argc, char **argv, int *user);

/* Whether there are files, and this is a path of one. */
bool embedded_is(const char *path);

/* A handle (core/part.h) of the file at such a path, owned by the caller. -1 with errno. */
int embedded_open(const char *path);

/* Whether fd is an executable with embedded files. */
bool embedded_lies_in(int fd);

/* If fd is an executable with embedded files, a handle of the first one, and fd is closed; else fd.
 * -1 with errno. */
int embedded_in(int fd);

#endif
