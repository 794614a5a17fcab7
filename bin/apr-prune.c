/* apr-prune: stream -> stream, values, heads, neurons, layers or tokens that matter least go */
#include <stdlib.h>
#include <string.h>

#include "arch/guess.h"
#include "cli/input.h"
#include "cli/prune/drop.h"
#include "cli/prune/hessians.h"
#include "cli/prune/prune_asked.h"
#include "cli/prune/used.h"
#include "cli/rewrite.h"
#include "cli/tool.h"
#include "core/dir_name.h"
#include "core/sandbox.h"
#include "core/thread.h"
#include "kernels/dot.h"
#include "kernels/level.h"
#include "prune/pruned.h"

struct options {
	struct prune_asked asked;
	const char *arch, *trusted;
	uint64_t jobs;
	struct output_options output;
};

static unsigned
jobs(const struct options *o)
{
	return o->jobs ? (unsigned)o->jobs : thread_count();
}

/* ---- notes ---- */

static void
note_plan(const struct prune_plan *p)
{
	if (p->unmeasured && p->how.rule == PRUNE_SHAPE)
		tool_notef("scores of %zu tensors are those of weights: the importance matrix has no "
		           "entry for them", p->unmeasured);
	else if (p->unmeasured)
		tool_notef("%zu of %zu tensors go by magnitude: the importance matrix has no entry for "
		           "them", p->unmeasured, p->pruned);
	if (p->quantized)
		tool_notef("%zu tensors are quantized: they are decoded, and encoded again in their type",
		           p->quantized);
}

static void
note_shape(const struct prune_plan *p)
{
	uint64_t before = model_parameters(merge_input_plan(p->in)), after = model_parameters(&p->out);

	if (p->tokens.n)
		tool_notef("%zu tokens stay", p->tokens.n);
	if (before == 0)
		return;
	tool_notef("%llu of %llu parameters stay (%.2f %%)", (unsigned long long)after,
	           (unsigned long long)before, 100 * (double)after / (double)before);
}

static void
note_result(const struct prune_plan *p)
{
	if (p->how.rule == PRUNE_SHAPE) {
		note_shape(p);
		return;
	}
	tool_notef("%zu of %zu tensors are pruned: %llu of their %llu values are zero (%.2f %%)",
	           p->pruned, p->out.tensor_count, (unsigned long long)p->zeros,
	           (unsigned long long)p->values, 100 * (double)p->zeros / (double)p->values);
	if (p->lost)
		tool_notef("%llu of these zeros become other values, as blocks of their types hold no "
		           "exact zero; q8_0, q6_k, q5_0, q4_0 and q3_k keep zeros",
		           (unsigned long long)p->lost);
}

/* ---- the flow ---- */

struct sending {
	struct prune_plan *plan;
	unsigned jobs;
};

static struct source *
result(void *ctx, struct err *e)
{
	struct sending *s = ctx;

	note_plan(s->plan);
	return pruned_source(s->plan, s->jobs, e);
}

static void
send(struct prune_plan *p, const struct options *o, const struct input *in, struct err *e)
{
	struct sending s = { p, jobs(o) };

	if (rewrite_send(&o->output, in, result, &s, e) == 0)
		note_result(p);
}

static int
prune(struct options *o, struct prune_how *how, struct input *in, struct err *e)
{
	struct merge_input model = { .operation = "apr-prune" };
	struct prune_plan plan = { .rows = NULL };
	struct hessians sums = { .count = 0 };
	char *label = in->path && strcmp(in->path, "-") != 0 ? dir_last(in->path) : NULL;

	model.label = label;
	rewrite_begin(in);
	if (merge_input_read(&model, in->source, NULL, o->arch, in->lent_count > 0, jobs(o), e) == 0 &&
	    (!o->asked.vocab_path || used_tokens(&o->asked, &model, how, e) == 0) &&
	    (o->asked.drop == 0 || drop_choose(&o->asked, &model, jobs(o), e) == 0) &&
	    prune_plan_make(&plan, how, &model, e) == 0 &&
	    (!how->update || hessians_open(&sums, &plan, &o->asked, jobs(o), e) == 0))
		send(&plan, o, in, e);
	hessians_close(&sums);
	prune_plan_free(&plan);
	merge_input_close(&model);
	free(label);
	return e->code == ERR_NONE ? 0 : -1;
}

/* Everything after the command line. */
static void
run(struct options *o, const char *path, struct err *e)
{
	const char *const files[] = { o->asked.imatrix_path, o->asked.text_path, o->asked.vocab_path };
	struct prune_how how;
	struct input in;

	if (prune_asked_how(&o->asked, path, &how, e) < 0 || !(path = tool_input(path, e)))
		return;
	if (o->arch && !arch_known(o->arch)) {
		arch_unknown("--arch", o->arch, e);
		return;
	}
	if (level_begin(getenv("APR_CPU"), tool_note, e) < 0 ||
	    input_spare_all(files, 3, &o->output, e) < 0)
		return;
	if (o->asked.drop)
		dot_begin(tool_note); /* not for sparsegpt: plain C has the same bits on every CPU */
	input_trust(path, o->trusted);
	sandbox_write(o->output.path, o->output.force);
	sandbox_spool();
	sandbox_prepare();
	if (o->asked.imatrix_path) {
		input_prepare(path);
		input_prepare(o->asked.imatrix_path);
		if (prune_asked_imatrix(&o->asked, e) < 0)
			return;
	}
	if (input_open(&in, path, e) == 0)
		prune(o, &how, &in, e);
	input_close(&in, e);
}

int
main(int argc, char **argv)
{
	static struct options o = { .asked = PRUNE_ASKED };
	static const struct opt opts[] = {
		OPT_PRUNE(&o.asked),
		TEXT(0, "arch", "NAME", &o.arch, "the architecture, if the model does not say it"),
		OPT_JOBS(&o.jobs),
		OPT_TRUSTED(&o.trusted),
		OPT_OUTPUT_STREAM(&o.output),
		OPT_END
	};
	static const struct tool tool = {
		"apr-prune",
		"[--scope row|tensor|layer|global] [--by magnitude|wanda|sparsegpt]\n"
		"[--imatrix FILE | --text FILE [--tokens N]] [--target REGEX] [--arch NAME] [-j N]\n"
		"[--trusted-key KEY] [-f] [-o FILE]\n"
		"--sparsity S | --threshold T | --nm N:M [FILE]\n"
		"apr-prune [--heads N] [--neurons N] [--layers LIST |\n"
		"--drop N [--text FILE [--tokens N]]] [--vocab FILE]\n"
		"[--imatrix FILE] [--arch NAME] [-j N] [--trusted-key KEY] [-f] [-o FILE] [FILE]",
		"Take away from a model what matters least.", opts, 1
	};
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);

	run(&o, operands[0], &e);
	prune_asked_free(&o.asked);
	return tool_end(&e);
}
