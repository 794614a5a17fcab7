/* hook: a command that is asked which type a tensor should get.
 *
 * The shell runs it once a tensor that may change, with four arguments: name, shape
 * ("1024x256", outermost first), type as it is, type that the rules chose. It prints
 * one word: a type, "keep" where the tensor is to stay as it is, or nothing where the
 * rules are right. Its standard input is empty. If it fails, so does the run.
 *
 * A process that reads a model may start no other (core/sandbox.h): so one is started
 * before, which knows nothing of the model but what it is told, and runs the command.
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

/* Before the sandbox, and before threads. 0, or -1 with ERR_IO. */
int hook_begin(struct hook *h, const char *command, struct err *e);

/* ctx: the hook. *type: the rules' choice, and then its answer. 0, or -1 with ERR_USAGE
 * where the answer is no type, ERR_IO where the command failed. */
int hook_ask(void *ctx, const struct tensor *t, const struct dtype **type, struct err *e);

void hook_end(struct hook *h);

#endif
