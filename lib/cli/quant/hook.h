/* hook: a command that chooses the type of a tensor.
 *
 * The shell runs it once per tensor that may change, with four arguments: name, shape
 * ("1024x256", outermost first), present type, type that the rules chose. It prints one
 * word: a type, "keep" to keep the present type, or nothing to accept the type of the
 * rules. Its standard input is empty. If it fails, so does the run.
 *
 * A process that reads a model must not start another (core/sandbox.h). A helper process
 * is therefore started before; it runs the command, and knows only the four arguments.
 */
#ifndef CLI_QUANT_HOOK_H
#define CLI_QUANT_HOOK_H

#include <sys/types.h>

#include "core/err.h"
#include "model/tensor.h"

struct hook {
	pid_t child; /* 0: none */
	int ask, answer;
};

/* Starts the helper. Call it before the sandbox and before threads. 0, or -1 with
 * ERR_IO. */
int hook_begin(struct hook *h, const char *command, struct err *e);

/* Asks the command. ctx: the hook. *type: the rules' choice, replaced by the answer. 0,
 * or -1 with ERR_USAGE if the answer is not a type, ERR_IO if the command failed. */
int hook_ask(void *ctx, const struct tensor *t, const struct dtype **type, struct err *e);

void hook_end(struct hook *h);

#endif
