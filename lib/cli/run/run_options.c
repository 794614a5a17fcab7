#include "cli/run/run_options.h"

#include <string.h>

int
run_options_check(struct run_options *o, const char *model, struct err *e)
{
	int prompts = prompt_given(&o->prompt);
	size_t i;

	if (prompts > 1)
		return tool_misused(e, "-p, -f and --tokens exclude each other");
	if (o->logits + !!o->perplexity + o->bench + o->serve > 1)
		return tool_misused(e, "--logits, --perplexity, --bench and --serve-stdin exclude each "
		                    "other");
	if ((o->perplexity || o->bench || o->serve) && prompts)
		return tool_misused(e, "--%s takes no prompt", o->bench ? "bench" : o->serve
		                    ? "serve-stdin" : "perplexity");
	if ((o->logits || o->perplexity) && o->count)
		return tool_misused(e, "--%s generates nothing, so -n is not for it",
		                    o->logits ? "logits" : "perplexity");
	if (o->bench_prompt && !o->bench)
		return tool_misused(e, "--bench-prompt goes with --bench");
	if (o->progress && !o->perplexity)
		return tool_misused(e, "--progress goes with --perplexity");
	if (o->serve && strcmp(model, "-") == 0)
		return tool_misused(e, "standard input has the requests: name the model");
	if (o->serve && o->json)
		return tool_misused(e, "--serve-stdin always answers in JSON");
	for (i = 0; i < o->stops.n; i++)
		if (!*o->stops.items[i])
			return tool_misused(e, "--stop needs TEXT");
	if (running_options(&o->running, &o->infer, e) < 0)
		return -1;
	o->infer.most = o->perplexity ? 512 : 0;
	return 0;
}

struct request
run_options_request(const struct run_options *o)
{
	return (struct request){ .stops = o->stops.items, .stop_count = o->stops.n,
		.sampler = o->sampler, .count = o->count ? o->count : 128 };
}
