#include "cli/run/run_options.h"

int
run_options_check(struct run_options *o, struct err *e)
{
	int prompts = prompt_given(&o->prompt);
	size_t i;

	if (prompts > 1)
		return tool_misused(e, "-p, -f and --tokens exclude each other");
	if (o->logits + !!o->perplexity + o->bench > 1)
		return tool_misused(e, "--logits, --perplexity and --bench exclude each other");
	if ((o->perplexity || o->bench) && prompts)
		return tool_misused(e, "--%s takes no prompt", o->bench ? "bench" : "perplexity");
	if ((o->logits || o->perplexity) && o->count)
		return tool_misused(e, "--%s generates nothing, so -n is not for it",
		                    o->logits ? "logits" : "perplexity");
	if (o->bench_prompt && !o->bench)
		return tool_misused(e, "--bench-prompt goes with --bench");
	if (o->progress && !o->perplexity)
		return tool_misused(e, "--progress goes with --perplexity");
	for (i = 0; i < o->stops.n; i++)
		if (!*o->stops.items[i])
			return tool_misused(e, "--stop needs TEXT");
	if (running_options(&o->running, &o->infer, e) < 0)
		return -1;
	o->infer.most = o->perplexity ? 512 : 0;
	return 0;
}
