/* apr-merge: models -> stream, one model from several */
#include <stdlib.h>
#include <string.h>

#include "arch/guess.h"
#include "cli/filter.h"
#include "cli/input.h"
#include "cli/merge/merge_asked.h"
#include "cli/merge/token_files.h"
#include "cli/tool.h"
#include "core/dir_name.h"
#include "core/mem.h"
#include "core/sandbox.h"
#include "core/thread.h"
#include "kernels/level.h"
#include "merge/merged.h"

struct options {
	struct merge_asked asked;
	const char *arch;
	uint64_t jobs;
	bool list;
	struct output_options output;
};

struct run {
	const struct options *o;
	struct merge_recipe recipe;
	struct merge_options how;
	unsigned jobs;
	struct merged_model {
		struct input in;
		bool open;
		struct source *files; /* in place of in: only a tokenizer */
		char *label;
	} *models;                   /* by their numbers in the recipe */
	struct merge_input *inputs;
};

/* ---- opening ---- */

/* The output must not replace any of the inputs. */
static int
check_output(const struct run *r, struct err *e)
{
	const struct options *o = r->o;
	size_t i;

	for (i = 0; i < o->asked.path_count; i++)
		if (input_spare(o->asked.paths[i], &o->output, e) < 0)
			return -1;
	return input_spare(o->asked.recipe, &o->output, e) < 0 ||
	       input_spare(o->asked.metric, &o->output, e) < 0 ? -1 : 0;
}

static int
open_all(struct run *r, struct err *e)
{
	size_t i, n = r->recipe.model_count;
	char **paths = r->o->asked.paths;

	r->models = mem_array(n, sizeof *r->models);
	r->inputs = mem_array(n, sizeof *r->inputs);
	if (!r->models || !r->inputs)
		return err_memory(e);
	for (i = 0; i < n; i++) {
		if (merge_recipe_uses(&r->recipe, i) || !token_files_is(paths[i]))
			input_prepare(paths[i]);
		else if (!(r->models[i].files = token_files_open(paths[i], e)))
			return -1;
	}
	for (i = 0; i < n; i++) {
		if (r->models[i].files)
			continue;
		r->models[i].open = true;
		if (input_open(&r->models[i].in, paths[i], e) < 0)
			return -1;
		r->models[i].in.source->note = tool_note;
	}
	return 0;
}

static int
read_one(struct run *r, size_t i, size_t like, struct err *e)
{
	struct merged_model *m = &r->models[i];
	const char *path = r->o->asked.paths[i];
	struct source *source = m->files ? m->files : m->in.source;

	m->label = strcmp(path, "-") == 0 ? NULL : dir_last(path);
	r->inputs[i].label = m->label;
	r->inputs[i].operation = "apr-merge";
	if (source->plan->signatures)
		tool_notef("%s: the content changes: its signature, which was not verified, is dropped, "
		           "and a record of it kept", source->name);
	return merge_input_read(&r->inputs[i], source,
	                        i == like || !merge_recipe_uses(&r->recipe, i) ? NULL : &r->inputs[like],
	                        r->o->arch, m->in.lent_count > 0, r->jobs, e);
}

/* Read all models up to the end; the one whose form the others get comes first. */
static int
read_all(struct run *r, struct err *e)
{
	size_t like = merge_plan_reference(&r->recipe), i;

	if (read_one(r, like, like, e) < 0)
		return -1;
	for (i = 0; i < r->recipe.model_count; i++)
		if (i != like && read_one(r, i, like, e) < 0)
			return -1;
	return 0;
}

/* ---- merging ---- */

static int
send(struct run *r, struct merge_plan *plan, struct err *e)
{
	const struct input *in = &r->models[plan->reference].in;
	const struct output_options *output = &r->o->output;
	const struct out_options where = { .path = output->path, .force = output->force,
		.input = in->held, .from = in->path };
	const struct flow f = { 0 };
	struct sink *sink = filter_sink(&where, e);
	struct source *source = sink ? merged_source(plan, r->jobs, e) : NULL;

	if (source)
		filter_flow(source, sink, output->progress, &f, e);
	source_close(source);
	sink_close(sink);
	return e->code == ERR_NONE ? 0 : -1;
}

static void
note_tokens(const struct vocabulary *v)
{
	if (v->replaced)
		tool_notef("the result has %u tokens", v->tokens);
	if (v->nowhere)
		tool_notef("%u tokens are in none of the models: their rows are zero unless the recipe has a "
		           "rule for them", v->nowhere);
}

static int
merge(struct run *r, struct err *e)
{
	struct merge_plan plan = { 0 };
	size_t i;

	if (merge_plan_make(&plan, &r->recipe, &r->how, r->inputs, e) == 0) {
		note_tokens(&plan.words);
		for (i = 0; i < r->recipe.model_count; i++)
			if (i != plan.reference)
				merge_input_drop_files(&r->inputs[i]);
		send(r, &plan, e);
	}
	merge_plan_free(&plan);
	return e->code == ERR_NONE ? 0 : -1;
}

static void
finish(struct run *r, struct err *e)
{
	size_t i;

	for (i = 0; r->models && r->inputs && i < r->recipe.model_count; i++) {
		merge_input_close(&r->inputs[i]);
		source_close(r->models[i].files);
		if (r->models[i].open)
			input_close(&r->models[i].in, e);
		free(r->models[i].label);
	}
	free(r->models);
	free(r->inputs);
	merge_recipe_free(&r->recipe);
}

static void
run(struct options *o, char **operands, struct err *e)
{
	struct run r = { .o = o, .jobs = o->jobs ? (unsigned)o->jobs : thread_count() };
	struct buf text = { 0 };

	if (o->list) {
		merge_asked_list(&text);
		tool_print(&text, e);
		buf_free(&text);
		return;
	}
	if (o->arch && !arch_known(o->arch)) {
		arch_unknown("--arch", o->arch, e);
		return;
	}
	sandbox_write(o->output.path, o->output.force);
	sandbox_spool();
	if (merge_asked_recipe(&o->asked, operands, &r.recipe, &r.how, e) == 0 &&
	    check_output(&r, e) == 0 && level_begin(getenv("APR_CPU"), tool_note, e) == 0) {
		sandbox_prepare();
		if (open_all(&r, e) == 0 && read_all(&r, e) == 0)
			merge(&r, e);
	}
	finish(&r, e);
}

int
main(int argc, char **argv)
{
	static struct options o;
	static struct opt opts[MERGE_OPTIONS + 16];
	const struct opt own[] = {
		TEXT(0, "arch", "NAME", &o.arch, "the architecture, if the models do not say it"),
		FLAG(0, "list", &o.list, "print the methods and the defaults of their parameters"),
		OPT_JOBS(&o.jobs),
		OPT_OUTPUT_STREAM(&o.output),
		OPT_END
	};
	static const struct tool tool = {
		"apr-merge",
		"[--method NAME] [--base FILE] [--metric FILE [--lower]]\n"
		"[--density X] [--gamma X] [--epsilon X] [--scale X] [--lambda X] [--t X]\n"
		"[--normalize X] [--rescale X] [--select-topk X]\n"
		"[--nuslerp-flatten X] [--nuslerp-row-wise X] [--filter-wise X]\n"
		"[--normalize-weights X] [--max-iter X] [--tol X] [--type TYPE]\n"
		"[--seed N] [--compat] [--tokens base|union|FILE] [--any-tokens] [--arch NAME]\n"
		"[-j N] [-f] [-o FILE] [-w X] [MODEL ...]\n"
		"apr-merge [--model NAME=FILE] [--type TYPE] [--seed N] [--compat]\n"
		"[--tokens base|union|FILE] [--any-tokens] [--arch NAME] [-j N] [-f] [-o FILE] --recipe FILE\n"
		"apr-merge --list",
		"Make one model from several.", opts, TOOL_FILES
	};
	struct err e = ERR_INIT;
	char **operands;

	opt_add(merge_asked_options(&o.asked, opts), own)->name = NULL;
	operands = tool_begin(&tool, argc, argv);
	run(&o, operands, &e);
	merge_asked_free(&o.asked);
	return tool_end(&e);
}
