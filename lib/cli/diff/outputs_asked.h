/* outputs_asked: apr-diff --run: what two models make of the same texts. */
#ifndef CLI_DIFF_OUTPUTS_ASKED_H
#define CLI_DIFF_OUTPUTS_ASKED_H

#include "cli/diff/asked.h"
#include "cli/tool.h"
#include "model/weights.h"
#include "quality/prompts.h"

struct outputs_asked {
	const char *file;         /* --run, or NULL */
	const char *kl, *top1;    /* limits, or NULL */
	uint64_t count;           /* tokens to continue; 0: OUTPUTS_COUNT */
	uint64_t jobs;
	bool layers, json, quiet;
	struct prompts prompts;
	double max_kl, min_top1;
};
#define OUTPUTS_BUILTIN "builtin" /* the name of the texts that the tool has itself */
#define OUTPUTS_COUNT 32
#define OPT_OUTPUTS(o) \
	TEXT(0, "run", "FILE", &(o)->file, \
	     "compare what the models make of the prompts in FILE (\"builtin\": some texts)"), \
	FLAG(0, "layers", &(o)->layers, "with --run: the drift after each block"), \
	NUMBER(0, "count", "N", &(o)->count, 1, 1u << 20, \
	       "with --run: continue each prompt by N tokens (default: 32)"), \
	TEXT(0, "max-kl", "X", &(o)->kl, "with --run: fail only if the mean divergence is above X"), \
	TEXT(0, "min-top1", "X", &(o)->top1, \
	     "with --run: fail only if top tokens agree at a share below X")

/* Refuse options of the other task. 0, or -1 with ERR_USAGE. */
int outputs_asked_check(const struct outputs_asked *o, const struct diff_asked *a, struct err *e);

/* Check the options and read the prompts, before the sandbox. path: the models. 0 or -1;
 * outputs_asked_free in any case. */
int outputs_asked_read(struct outputs_asked *o, const char *const path[2], struct err *e);
void outputs_asked_free(struct outputs_asked *o);

/* Compare the models and print the report. ERR_NO if they differ, or a limit does not hold. 0 or
 * -1. */
int outputs_asked_run(const struct outputs_asked *o, const struct weights *a,
                      const struct weights *b, struct err *e);

#endif
