/* batch: one command for many models, some at a time. Runs do not share their output: each writes
 * to unlinked files, which are printed in the order of the models.
 */
#ifndef CLI_BATCH_H
#define CLI_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/buf.h"
#include "core/err.h"

#define BATCH_JOBS 256
#define BATCH_MESSAGE 320

struct batch_run {
	char *model;         /* its path */
	pid_t pid;           /* 0: not running */
	bool started, ended;
	int out, err;        /* what it writes, or -1 */
	double began, seconds;
	int status, signal;  /* how it ended; signal 0: it exited */
	char message[BATCH_MESSAGE]; /* its last line on standard error, escaped */
};

struct batch {
	struct batch_run *runs;
	size_t n, cap;
	const char *program; /* path of what is run */
	const char *const *words; /* its arguments from argv[0] on, with placeholders; NULL */
	size_t jobs;
	bool json;
	size_t printed;      /* runs whose output is printed; they come first */
};

/* Adds the models that a pattern of the shell matches, or the one with this very name, unless
 * they are there already. 0; -1 if it matches nothing (exit status 3). */
int batch_add(struct batch *b, const char *pattern, struct err *e);

/* The command for one model: {} is its path, {.} without the suffix, {/} without the folder, {/.}
 * without both, {//} the folder. Without any of these, the path becomes the last argument. A path
 * that would be taken for an option gets "./". Returns a list that ends in NULL, for
 * batch_free_words; NULL without memory. */
char **batch_words(const struct batch *b, const char *model);
void batch_free_words(char **words);

/* Runs the command for all models, and goes on after failures. A signal that ends this process
 * ends the runs first; *signal is its number, or 0. 0, or -1 if something other than a run
 * fails. */
int batch_start(struct batch *b, int *signal, struct err *e);

/* Prints what a run has written, as text or as an object, and closes its files. 0, or -1 if
 * standard output cannot be written. */
int batch_print(const struct batch *b, struct batch_run *x, struct err *e);

/* Appends the table of all runs. Returns the highest exit status, 1 for a signal or for a run
 * that was not started. */
int batch_table(const struct batch *b, struct buf *to);

void batch_free(struct batch *b);

#endif
