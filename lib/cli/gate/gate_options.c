#include "cli/gate/gate_options.h"

#include <string.h>

#include "core/thread.h"

static bool
is_standard(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

int
gate_options_check(struct gate_options *o, const char *operand, struct err *e)
{
	const int standard = is_standard(o->against) + is_standard(o->canary) + is_standard(o->text);

	if (!o->against && !o->canary)
		return tool_misused(e, "no gate: use --against or --canary");
	if (!o->against && (diff_is_limited(&o->drift) || o->text))
		return tool_misused(e, "limits of tensors, and --text, need --against");
	if (!o->canary && o->canaries.min_top1 >= 0 && !o->text)
		return tool_misused(e, "--min-top1 needs --canary or --text");
	if (!o->canary && !o->text && o->canaries.max_kl >= 0)
		return tool_misused(e, "--max-kl needs --canary or --text");
	if ((o->max_ppl >= 0 || o->context) && !o->text)
		return tool_misused(e, "--max-ppl and --context need --text");
	if (is_standard(o->against))
		return tool_misused(e, "--against needs a file or a folder");
	if (standard + (!operand || is_standard(operand)) > 1)
		return tool_misused(e, "only one of the inputs can be standard input");
	if (!diff_is_limited(&o->drift))
		o->drift.drift = GATE_DRIFT;
	if (o->canaries.min_top1 < 0)
		o->canaries.min_top1 = CANARY_MIN_TOP1;
	if (o->canaries.max_kl < 0)
		o->canaries.max_kl = CANARY_MAX_KL;
	if (o->max_ppl < 0)
		o->max_ppl = GATE_PPL;
	o->jobs = o->jobs ? o->jobs : thread_count();
	return 0;
}
