/* sandbox: what a process may no longer do once it reads what others have written.
 *
 * A fault in a parser must not become more than a wrong output. So before the first byte
 * of a model, a list or an importance matrix is looked at, the process gives up for good
 * to open any file, socket or program, to start processes, to signal, trace or limit
 * others, to type into its terminal, and what else is not in the list of core/calls.h
 * (seccomp); Landlock forbids the same once more. What the caller left open beside
 * standard input, output and error is closed.
 *
 * The input was opened before (core/opened.h). What can only be opened or named later is
 * asked of a helper that stays outside (core/broker.h): a file beside the input, where a
 * model is several files; an output; a spool. It serves those that the row of the tool
 * allows and that were declared, and no others.
 *
 * Where the kernel has only one of both, that one holds; where it has neither, or forbids
 * them, nothing happens: sandbox_text tells. A build with the address sanitizer, which
 * looks into /proc and stops its threads as a tracer at the end, has only the helper; so
 * has one with APR_NO_SANDBOX defined (of the coverage, whose counters are written at the
 * end).
 */
#ifndef CORE_SANDBOX_H
#define CORE_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

/* What a tool still needs, once inside. */
enum {
	SANDBOX_BESIDE = 1,  /* files beside its input, where that is several */
	SANDBOX_OUTPUT = 2,  /* -o: unnamed files, and their names */
	SANDBOX_SPOOL = 4,   /* unnamed files in TMPDIR */
	SANDBOX_THREADS = 8, /* threads */
	SANDBOX_CODE = 16    /* memory that is executable: compiled patterns */
};

struct sandbox_row {
	const char *tool;
	unsigned needs;
};

/* The rows, by number; NULL behind the last. */
const struct sandbox_row *sandbox_row(size_t i);

/* The first call: which row holds. A name without one needs nothing. */
void sandbox_tool(const char *name);

/* Before sandbox_enter: what will be used after it, as far as the row allows it. NULL
 * and "-" are no files.
 *
 * read: opened now. A folder, or a file that by its name is one of several or by its
 * first byte a list of them, stands for all plain files of its folder. write: an output;
 * force: it may replace what is there. spool: files without a name (core/spool.h). */
void sandbox_read(const char *path);
void sandbox_write(const char *path, bool force);
void sandbox_spool(void);

/* All is declared: start the helper, if one is needed. To be called while there are no
 * secrets in memory and no threads; else sandbox_enter does it. */
void sandbox_prepare(void);

/* From here on. The second time nothing happens. */
void sandbox_enter(void);

#define SANDBOX_TEXT 80

/* What would hold: "landlock 3, seccomp". Returns text. */
const char *sandbox_text(char text[SANDBOX_TEXT]);

#endif
