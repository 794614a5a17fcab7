/* sandbox: the rights that a process gives up before it reads untrusted input.
 *
 * A bug in a parser must not lead to more than a wrong output. Before the process reads the
 * first byte of a model, a list or an importance matrix, it permanently loses the right to
 * open files, sockets and programs, to start processes, to signal, trace or limit other
 * processes, to type into its terminal, and to make any other system call that
 * core/calls.h does not list (seccomp). Landlock forbids file access once more. Inherited
 * descriptors other than standard input, output and error are closed.
 *
 * Inputs are opened before (core/opened.h). Files that must be opened or named later come
 * from a helper outside the sandbox (core/broker.h): files beside the input for a model in
 * several files, outputs, and spools. The helper serves only what the tool's row allows and
 * what was declared.
 *
 * If the kernel supports only one of seccomp and Landlock, that one is used; if it supports
 * neither, there is no sandbox. sandbox_text says which. A build with the address sanitizer
 * has only the helper, since the sanitizer reads /proc and traces its threads at exit; so
 * does a build with APR_NO_SANDBOX, which MODE=cov needs to write its counters at exit.
 */
#ifndef CORE_SANDBOX_H
#define CORE_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

/* What a tool needs inside the sandbox. */
enum {
	SANDBOX_BESIDE = 1,  /* files beside its input, for models in several files */
	SANDBOX_OUTPUT = 2,  /* -o: creating and naming files */
	SANDBOX_SPOOL = 4,   /* unnamed files in TMPDIR */
	SANDBOX_THREADS = 8, /* threads */
	SANDBOX_CODE = 16    /* executable memory for compiled patterns */
};

struct sandbox_row {
	const char *tool;
	unsigned needs;
};

/* The rows by number; NULL after the last. */
const struct sandbox_row *sandbox_row(size_t i);

/* Selects the row of a tool; the first call. A tool without a row needs nothing. */
void sandbox_tool(const char *name);

/* Before sandbox_enter: declare what will be used inside, as far as the row allows it. NULL
 * and "-" are ignored.
 *
 * sandbox_read opens path now. A folder stands for all plain files in it; so does a file
 * that its name or its first byte shows to be one of several or a list of them.
 * sandbox_write declares an output, which may replace a file with force. sandbox_spool
 * declares unnamed files (core/spool.h). */
void sandbox_read(const char *path);
void sandbox_write(const char *path, bool force);
void sandbox_spool(void);

/* After the declarations: starts the helper if one is needed. Call it before there are
 * secrets in memory or threads; otherwise sandbox_enter does it. */
void sandbox_prepare(void);

/* Enters the sandbox. A second call does nothing. */
void sandbox_enter(void);

#define SANDBOX_TEXT 80

/* Writes what the sandbox would consist of, such as "landlock 3, seccomp". Returns text. */
const char *sandbox_text(char text[SANDBOX_TEXT]);

#endif
