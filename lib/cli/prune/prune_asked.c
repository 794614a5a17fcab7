#include "cli/prune/prune_asked.h"

#include <stdlib.h>
#include <string.h>

#include "cli/imatrix_file.h"
#include "cli/prompt.h"
#include "core/mem.h"
#include "core/text.h"
#include "prune/choose.h"

static int
parse_groups(const char *text, struct prune_how *how, struct err *e)
{
	const char *p = text;
	uint64_t keep, of;

	if (text_digits(&p, &keep) < 0 || *p++ != ':' || text_digits(&p, &of) < 0 || *p ||
	    keep == 0 || keep >= of || of > CHOOSE_OF)
		return tool_misused(e, "--nm needs N:M with N from 1 to M - 1 and M up to %d, such as "
		                    "2:4, not %.40s", CHOOSE_OF, text);
	how->rule = PRUNE_GROUPS;
	how->keep = (unsigned)keep;
	how->of = (unsigned)of;
	return 0;
}

/* What goes as a whole. */
static int
parse_shape(struct prune_asked *a, struct prune_how *how, struct err *e)
{
	how->rule = PRUNE_SHAPE;
	how->heads = a->heads;
	how->neurons = a->neurons;
	how->layers = &a->layers;
	how->vocab_path = a->vocab_path;
	if (a->targets.n)
		return tool_misused(e, "--target is for --sparsity, --threshold and --nm");
	if (a->layer_list && a->drop)
		return tool_misused(e, "--layers and --drop exclude each other");
	return a->layer_list ? prune_parse(&a->layers, a->layer_list, e) : 0;
}

static int
parse_rule(struct prune_asked *a, struct prune_how *how, struct err *e)
{
	bool share = a->sparsity >= 0, below = a->threshold >= 0;
	bool shape = a->heads || a->neurons || a->layer_list || a->drop ||
		a->vocab_path;

	if (share + below + (a->groups != NULL) + shape != 1)
		return tool_misused(e, "one of --sparsity, --threshold and --nm is needed, or --heads, "
		                    "--neurons, --layers, --drop and --vocab");
	if (shape)
		return parse_shape(a, how, e);
	if (a->groups)
		return parse_groups(a->groups, how, e);
	how->rule = share ? PRUNE_SHARE : PRUNE_BELOW;
	how->share = share ? a->sparsity : 0;
	how->below = share ? 0 : (float)a->threshold;
	return 0;
}

static int
parse_update(const struct prune_asked *a, struct prune_how *how, struct err *e)
{
	how->activations = false;
	how->update = true;
	how->text_path = a->text_path;
	if (!a->text_path)
		return tool_misused(e, "--by sparsegpt needs --text: it computes with the model");
	if (how->rule == PRUNE_BELOW)
		return tool_misused(e, "--threshold goes by magnitude");
	return a->imatrix_path ? tool_misused(e, "--imatrix is for --by wanda") : 0;
}

static int
parse_by(const struct prune_asked *a, struct prune_how *how, struct err *e)
{
	how->activations = a->imatrix_path && !a->by && how->rule != PRUNE_BELOW &&
		how->rule != PRUNE_SHAPE;
	if (!a->by)
		return 0;
	if (how->rule == PRUNE_SHAPE)
		return tool_misused(e, "--by is for --sparsity and --nm");
	if (strcmp(a->by, "magnitude") == 0)
		return 0;
	if (strcmp(a->by, "sparsegpt") == 0)
		return parse_update(a, how, e);
	if (strcmp(a->by, "wanda") != 0)
		return tool_misused(e, "--by is magnitude, wanda or sparsegpt, not %.40s", a->by);
	if (!a->imatrix_path)
		return tool_misused(e, "--by wanda needs --imatrix: it gives the norms of activations");
	if (how->rule == PRUNE_BELOW)
		return tool_misused(e, "--threshold goes by magnitude");
	how->activations = true;
	return 0;
}

static int
parse_scope(const struct prune_asked *a, struct prune_how *how, struct err *e)
{
	static const char *const names[] = { "row", "tensor", "layer", "global" };
	size_t i;

	how->scope = how->activations ? SCOPE_ROW : SCOPE_TENSOR;
	if (!a->scope)
		return 0;
	if (how->rule != PRUNE_SHARE)
		return tool_misused(e, "--scope is for --sparsity");
	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(a->scope, names[i]) == 0) {
			how->scope = (enum prune_scope)i;
			return how->update && i > SCOPE_TENSOR
				? tool_misused(e, "--scope of --by sparsegpt is row or tensor") : 0;
		}
	return tool_misused(e, "--scope is row, tensor, layer or global, not %.40s", a->scope);
}

static int
parse_targets(struct prune_asked *a, struct prune_how *how, struct err *e)
{
	a->patterns = mem_array(a->targets.n, sizeof *a->patterns);
	if (!a->patterns)
		return err_memory(e);
	how->targets = a->patterns;
	for (; how->target_count < a->targets.n; how->target_count++)
		if (pattern_open(&a->patterns[how->target_count], a->targets.items[how->target_count],
		                 e) < 0)
			return -1;
	return 0;
}

int
prune_asked_how(struct prune_asked *a, const char *operand, struct prune_how *how,
                struct err *e)
{
	const struct prompt_from from = { .file = a->text_path ? a->text_path : a->vocab_path };
	struct tokens none = { 0 };

	*how = (struct prune_how){ .imatrix_path = a->imatrix_path };
	if (a->text_path && !a->drop && !(a->by && strcmp(a->by, "sparsegpt") == 0))
		return tool_misused(e, "--text is for --drop and --by sparsegpt");
	if (a->tokens && !a->text_path)
		return tool_misused(e, "--tokens is for --text");
	if (a->text_path && a->vocab_path)
		return tool_misused(e, "--vocab and --text exclude each other");
	if (from.file && prompt_take(&from, operand ? operand : "-", &a->text, &none, e) < 0)
		return -1;
	if (a->imatrix_path)
		how->imatrix = &a->imatrix;
	if (parse_rule(a, how, e) < 0 || parse_by(a, how, e) < 0 || parse_scope(a, how, e) < 0)
		return -1;
	return parse_targets(a, how, e);
}

int
prune_asked_imatrix(struct prune_asked *a, struct err *e)
{
	if (!a->imatrix_path)
		return 0;
	if (imatrix_file_read(&a->imatrix, a->imatrix_path, e) < 0)
		return -1;
	return imatrix_means(&a->imatrix, e);
}

void
prune_asked_free(struct prune_asked *a)
{
	size_t i;

	for (i = 0; a->patterns && i < a->targets.n; i++)
		pattern_close(&a->patterns[i]);
	free(a->patterns);
	free(a->targets.items);
	imatrix_free(&a->imatrix);
	prune_free(&a->layers);
	buf_free(&a->text);
	free(a->used);
}
