/* gate_options: what apr-gate requires of a model. */
#ifndef CLI_GATE_GATE_OPTIONS_H
#define CLI_GATE_GATE_OPTIONS_H

#include "cli/input.h"
#include "cli/tool.h"
#include "diff/diff.h"
#include "quality/canary_run.h"

struct gate_options {
	const char *against, *canary, *text, *report, *trusted;
	struct diff_limits drift;     /* negative: not given */
	struct canary_limits canaries; /* the same */
	double max_ppl;
	uint64_t context;             /* 0: the default */
	bool no_gate;
	uint64_t jobs;
	struct output_options output;
};
#define GATE_DRIFT 0.1  /* --max-drift, if no limit of tensors is given */
#define GATE_PPL 1.05   /* --max-ppl */
#define GATE_OPTIONS { .drift = { -1, -1, -1, -1 }, .canaries = { -1, -1 }, .max_ppl = -1 }

#define OPT_GATE(o) \
	TEXT(0, "against", "MODEL", &(o)->against, "compare each tensor with that of MODEL"), \
	DECIMAL(0, "max-drift", "X", &(o)->drift.drift, 0, 1000000000, \
	        "the greatest relative RMSE of a tensor (default: 0.1)"), \
	DECIMAL(0, "max-delta", "X", &(o)->drift.delta, 0, 1000000000, \
	        "the greatest difference of a value"), \
	DECIMAL(0, "max-l2", "X", &(o)->drift.l2, 0, 1000000000, \
	        "the greatest L2 distance of a tensor"), \
	DECIMAL(0, "min-cosine", "X", &(o)->drift.cosine, 0, 1, \
	        "the least cosine of a tensor"), \
	TEXT(0, "canary", "CANARY", &(o)->canary, "require that this canary passes"), \
	DECIMAL(0, "min-top1", "X", &(o)->canaries.min_top1, 0, 1, \
	        "the share of equal most probable tokens (default: 0.75)"), \
	DECIMAL(0, "max-kl", "X", &(o)->canaries.max_kl, 0, 1000000000, \
	        "the greatest mean divergence (default: 0.1)"), \
	TEXT(0, "text", "FILE", &(o)->text, \
	     "measure the text of FILE with both models"), \
	DECIMAL(0, "max-ppl", "X", &(o)->max_ppl, 0, 1000000000, \
	        "with --text: the greatest ratio of perplexities (default: 1.05)"), \
	NUMBER(0, "context", "N", &(o)->context, 4, UINT32_MAX, \
	       "with --text: tokens of a part (default: the model's, at most 512)"), \
	FLAG(0, "no-gate", &(o)->no_gate, "only report, and pass every model"), \
	TEXT(0, "report", "FILE", &(o)->report, "write the report to FILE, as JSON lines"), \
	OPT_OUTPUT_STREAM(&(o)->output), \
	OPT_JOBS(&(o)->jobs), \
	OPT_TRUSTED(&(o)->trusted)

/* Refuse what does not go together, and set defaults. 0, or -1 with e filled (ERR_USAGE). */
int gate_options_check(struct gate_options *o, const char *operand, struct err *e);

#endif
