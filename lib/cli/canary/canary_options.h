/* canary_options: the options of apr-canary, and which command takes which. */
#ifndef CLI_CANARY_CANARY_OPTIONS_H
#define CLI_CANARY_CANARY_OPTIONS_H

#include "cli/input.h"
#include "cli/tool.h"
#include "quality/canary_run.h"
#include "quality/prompts.h"

struct canary_options {
	bool check, json, any, force;
	const char *model;        /* the operand, or NULL */
	const char *file;         /* of prompts */
	struct opt_list prompts;
	const char *output, *canary, *trusted;
	const char *min_top1, *max_kl; /* as given, or NULL; the values are in limits */
	struct canary_limits limits;
	uint64_t count, top, jobs;
};

/* The rows of the options, without -j. */
#define OPT_CANARY(o) \
	TEXT('f', "file", "PROMPTS", &(o)->file, "create: the prompts of this file"), \
	LIST('p', "prompt", "TEXT", &(o)->prompts, "create: this prompt; may be repeated"), \
	NUMBER('n', "count", "N", &(o)->count, 1, 4096, \
	       "create: continue each prompt by at most N tokens (default: 32)"), \
	NUMBER(0, "top", "N", &(o)->top, 1, CANARY_TOP_MOST, \
	       "create: record the N most probable tokens (default: 5)"), \
	TEXT('o', "output", "FILE", &(o)->output, "create: write to FILE"), \
	FLAG(0, "force", &(o)->force, "create: replace an existing FILE"), \
	TEXT(0, "canary", "CANARY", &(o)->canary, "check: what create has written"), \
	TEXT(0, "min-top1", "X", &(o)->min_top1, "check: the share of positions that must have " \
	     "the recorded most probable token (default: 0.75)"), \
	TEXT(0, "max-kl", "X", &(o)->max_kl, \
	     "check: the greatest mean divergence (default: 0.1)"), \
	FLAG(0, "json", &(o)->json, "check: print one object per line"), \
	FLAG(0, "any-tokenizer", &(o)->any, \
	     "use the default pattern if the model's is unknown"), \
	OPT_TRUSTED(&(o)->trusted)

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
