#include "cli/canary/canary_options.h"

#include <string.h>

#include "cli/prompt.h"
#include "core/near.h"
#include "core/text.h"
#include "core/thread.h"

static const char *
command_word(unsigned i)
{
	static const char *const words[] = { "create", "check" };

	return i < 2 ? words[i] : NULL;
}

static int
command_of(struct canary_options *o, char **operands, struct err *e)
{
	const char *word = operands[0];

	if (!word)
		return tool_misused(e, "no command: create or check");
	o->check = strcmp(word, "check") == 0;
	if (!o->check && strcmp(word, "create") != 0) {
		tool_misused(e, "the command is create or check, not %.40s", word);
		near_words(e, word, command_word);
		return -1;
	}
	o->model = operands[1];
	return 0;
}

static int
check_create(struct canary_options *o, struct err *e)
{
	if (o->canary || o->min_top1 || o->max_kl || o->json)
		return tool_misused(e, "--canary, --min-top1, --max-kl and --json go with check");
	if (!o->file && o->prompts.n == 0)
		return tool_misused(e, "no prompts: use -f or -p");
	o->count = o->count ? o->count : 32;
	o->top = o->top ? o->top : CANARY_TOP;
	return 0;
}

static int
check_check(struct canary_options *o, struct err *e)
{
	if (o->file || o->prompts.n > 0 || o->count || o->top || o->output || o->force)
		return tool_misused(e, "-f, -p, -n, --top, -o and --force go with create");
	if (!o->canary)
		return tool_misused(e, "check needs --canary");
	o->limits = (struct canary_limits){ CANARY_MIN_TOP1, CANARY_MAX_KL };
	if (o->min_top1 && text_decimal(o->min_top1, 0, 1, &o->limits.min_top1) < 0)
		return tool_misused(e, "--min-top1 is a share from 0 to 1, not %.40s", o->min_top1);
	if (o->max_kl && text_decimal(o->max_kl, 0, 1e9, &o->limits.max_kl) < 0)
		return tool_misused(e, "--max-kl is a number from 0 on, not %.40s", o->max_kl);
	return 0;
}

int
canary_options_check(struct canary_options *o, char **operands, struct err *e)
{
	o->jobs = o->jobs ? o->jobs : thread_count();
	if (command_of(o, operands, e) < 0)
		return -1;
	return o->check ? check_check(o, e) : check_create(o, e);
}

int
canary_options_prompts(const struct canary_options *o, const char *operand, struct buf *file,
                       struct err *e)
{
	const struct prompt_from from = { .file = o->check ? o->canary : o->file };
	struct tokens none = { 0 };

	if (!from.file)
		return 0;
	if (strcmp(from.file, "-") == 0 && strcmp(operand, "-") == 0)
		return tool_misused(e, "the %s and the model cannot both be standard input",
		                    o->check ? "canary" : "prompts");
	return prompt_take(&from, operand, file, &none, e);
}

int
canary_options_parse(const struct canary_options *o, const struct buf *file, struct prompts *to,
                     struct err *e)
{
	size_t i;

	for (i = 0; i < o->prompts.n; i++)
		if (prompts_add(to, o->prompts.items[i], strlen(o->prompts.items[i]), 0, e) < 0)
			return -1;
	return o->file ? prompts_parse(to, file->p, file->n, o->file, e) : 0;
}
