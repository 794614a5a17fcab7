/* canary_options: the options of apr-canary, and which command takes which. */
#ifndef CLI_CANARY_CANARY_OPTIONS_H
#define CLI_CANARY_CANARY_OPTIONS_H

#include "cli/tool.h"
#include "quality/canary_run.h"
#include "quality/prompts.h"

struct canary_options {
	bool check, json, any, force;
	const char *model;        /* the operand, or NULL */
	const char *file;         /* of prompts */
	struct opt_list prompts;
	const char *output, *canary;
	const char *min_top1, *max_kl; /* as given, or NULL; the values are in limits */
	struct canary_limits limits;
	uint64_t count, top, jobs;
};

/* Defaults: a model in four bits passes, one with a damaged tensor does not; apr-canary(1) has
 * measurements. */
#define CANARY_MIN_TOP1 0.75
#define CANARY_MAX_KL 0.1

/* Take the operands apart, refuse options of the other command, and set defaults. 0, or -1 with
 * e filled (ERR_USAGE). */
int canary_options_check(struct canary_options *o, char **operands, struct err *e);

/* Read the prompts that the options name, before the sandbox is entered. 0, or -1 with e
 * filled. */
int canary_options_prompts(const struct canary_options *o, const char *operand,
                           struct buf *file, struct err *e);

/* Inside the sandbox: the prompts of -p, and those of the file's bytes. */
int canary_options_parse(const struct canary_options *o, const struct buf *file,
                         struct prompts *to, struct err *e);

#endif
