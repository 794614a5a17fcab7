/* sandbox: what a process may no longer do once it reads what others have written.
 *
 * A fault in a parser must not become more than a wrong file. So before the first
 * byte of a model, a list or an importance matrix is looked at, the process gives up
 * for good: to open any file but those it will need (Landlock), and to open sockets,
 * to start programs or processes, to trace or to signal others, to type into its
 * terminal (seccomp). What is open already stays open. Threads can be started.
 *
 * Where the kernel has only one of both, that one holds; where it has neither, or
 * forbids them, nothing happens: sandbox_text tells. A build with the address
 * sanitizer, which looks into /proc and stops its threads as a tracer at the end,
 * has none; so has one with APR_NO_SANDBOX defined (of the coverage, whose counters
 * are written at the end).
 */
#ifndef CORE_SANDBOX_H
#define CORE_SANDBOX_H

#include <stddef.h>

/* Before sandbox_enter: what may be opened after it. NULL and "-" are no files.
 *
 * read: a file; or a folder, or a file that by its name is one of several or by its
 * first byte a list of them, with all that lies in its folder. write: an output, with
 * the folder in which it gets its name. spool: files without a name (core/spool.h). */
void sandbox_read(const char *path);
void sandbox_write(const char *path);
void sandbox_spool(void);

/* From here on. The second time nothing happens. */
void sandbox_enter(void);

#define SANDBOX_TEXT 80

/* What would hold: "landlock 3, seccomp". Returns text. */
const char *sandbox_text(char text[SANDBOX_TEXT]);

#endif
