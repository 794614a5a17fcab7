/* run_options: the options of apr-run. */
#ifndef CLI_RUN_OPTIONS_H
#define CLI_RUN_OPTIONS_H

#include "cli/prompt.h"
#include "cli/run/request.h"
#include "cli/run/running.h"
#include "cli/run/sampling.h"
#include "cli/tool.h"

struct run_options {
	const char *trusted;
	const char *perplexity;
	struct prompt_from prompt;
	struct opt_list stops, loras;
	struct sampler_options sampler;
	struct running running;
	struct infer_options infer; /* set by run_options_check */
	bool any, json, logits, bench, serve, progress;
	uint64_t count, bench_prompt; /* 0: the default */
};
#define RUN_OPTIONS_DEFAULT { .sampler = SAMPLER_DEFAULT }

#define OPT_RUN(o) \
	OPT_PROMPT(&(o)->prompt), \
	NUMBER('n', "count", "N", &(o)->count, 1, UINT32_MAX, \
	       "generate at most N tokens (default: 128)"), \
	LIST(0, "stop", "TEXT", &(o)->stops, "end before TEXT; may be repeated"), \
	OPT_SAMPLING(&(o)->sampler), \
	LIST(0, "lora", "FILE[=SCALE]", &(o)->loras, "compute with this adapter; may be repeated"), \
	FLAG(0, "logits", &(o)->logits, "generate nothing: write the logits after each token " \
	     "of the prompt, in single precision"), \
	TEXT(0, "perplexity", "FILE", &(o)->perplexity, \
	     "print the perplexity of the text of FILE"), \
	OPT_PROGRESS(&(o)->progress), \
	FLAG(0, "bench", &(o)->bench, "measure the speed of the model"), \
	NUMBER(0, "bench-prompt", "N", &(o)->bench_prompt, 1, UINT32_MAX, \
	       "with --bench: measure a prompt of N tokens (default: 128)"), \
	FLAG(0, "serve-stdin", &(o)->serve, "answer requests of standard input, one JSON object " \
	     "a line"), \
	FLAG(0, "json", &(o)->json, "print one object per line"), \
	OPT_RUNNING(&(o)->running), \
	FLAG(0, "any-tokenizer", &(o)->any, \
	     "use the default pattern if the model's is unknown")

/* Refuses options that exclude each other or do not go with the operand model, and sets o->infer. 0,
 * or -1 with e filled (ERR_USAGE). */
int run_options_check(struct run_options *o, const char *model, struct err *e);

/* What a request asks for if it does not say otherwise. The texts stay those of o. */
struct request run_options_request(const struct run_options *o);

#endif
