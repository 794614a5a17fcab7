/* apr-diff: what differs between two models */
#include <stdlib.h>
#include <string.h>

#include "adapt/adapt.h"
#include "arch/form.h"
#include "arch/guess.h"
#include "cli/diff/asked.h"
#include "cli/diff/outputs_asked.h"
#include "cli/filter.h"
#include "cli/input.h"
#include "cli/tool.h"
#include "core/dir_name.h"
#include "core/sandbox.h"
#include "diff/mapping.h"
#include "kernels/dot.h"
#include "kernels/level.h"
#include "load/load.h"

struct options {
	struct diff_asked asked;
	struct outputs_asked outputs;
	const char *mapping, *arch, *trusted;
	bool quiet, json, all, progress;
};

/* Two models, A and B. */
struct run {
	const struct options *o;
	const char *path[2];
	struct input in[2];
	bool open[2];
	struct source *source[2];  /* of in, or adapted */
	struct source *adapted;    /* the adapted one, or NULL */
	struct diff_mapping names;
	struct diff diff;
};

/* ---- opening ---- */

/* Start the readers, which is not possible later. The third and fourth one are for an adaptation
 * that fails when the model has been read in part. */
static void
prepare(struct run *r)
{
	size_t i;

	for (i = 0; i < 2; i++)
		input_trust(r->path[i], r->o->trusted);
	for (i = 0; i < 2; i++) {
		input_prepare(r->path[i]);
		if (!r->o->mapping && input_reopens(r->path[i]))
			input_prepare(r->path[i]);
	}
	sandbox_read(r->o->mapping);
	sandbox_spool();
	sandbox_prepare();
}

static int
open_both(struct run *r, struct err *e)
{
	size_t i;

	for (i = 0; i < 2; i++) {
		r->open[i] = true;
		if (input_open(&r->in[i], r->path[i], e) < 0)
			return -1;
		r->source[i] = r->in[i].source;
		r->source[i]->note = tool_note;
	}
	return 0;
}

static int
read_again(struct run *r, size_t i, struct err *e)
{
	struct input again;
	int status = input_reopen(&again, &r->in[i], e);

	input_abandon(&r->in[i], e);
	r->in[i] = again;
	r->source[i] = r->in[i].source;
	return status;
}

/* Give one of the models the form of the other. If that is not possible, both are compared as
 * they are. */
static int
adapt(struct run *r, struct err *e)
{
	struct adapt_options how = { .arch = r->o->arch, .relaxed = true,
		.jobs = r->o->asked.diff.jobs };
	struct err why = ERR_INIT;
	struct form_change to;
	char *name;
	size_t i;

	if (r->o->mapping || !form_between(r->source[0]->plan, r->source[1]->plan, r->o->arch, &to))
		return 0;
	i = to.side;
	how.form = to.form;
	how.places = r->in[i].lent_count > 0;
	how.no_record = !model_find(r->source[1 - i]->plan, "apr.origin");
	how.file = name = dir_last(r->path[i]);
	r->adapted = adapt_source(r->source[i], &how, &why);
	free(name);
	if (r->adapted) {
		r->source[i] = r->adapted;
		return 0;
	}
	if ((why.code != ERR_INVALID && why.code != ERR_FORMAT && why.code != ERR_NO) ||
	    !input_reopens(r->path[i])) {
		*e = why;
		return -1;
	}
	tool_notef("%s: names are compared unchanged, because the form of the other model is not "
	           "possible: %s: %s", r->path[i], why.object, why.fact);
	return read_again(r, i, e);
}

/* ---- comparing ---- */

/* The model that is not held: the adapted one, or one that would have to be spooled. */
static size_t
flowing(const struct run *r)
{
	if (r->adapted)
		return r->source[0] == r->adapted ? 0 : 1;
	return r->in[0].lent_count == 0 && r->in[1].lent_count > 0 ? 0 : 1;
}

static int
flow(struct run *r, size_t i, struct err *e)
{
	struct flow f = { 0 };

	if (diff_hooks(&r->diff, i, &f, e) < 0)
		return -1;
	return filter_flow(r->source[i], NULL, r->o->progress, &f, e);
}

static int
compare(struct run *r, struct err *e)
{
	size_t last = flowing(r);
	struct diff_options o = r->o->asked.diff;

	if (r->o->mapping && diff_mapping_open(&r->names, r->o->mapping, r->source[0]->plan,
	                                       r->source[1]->plan, e) < 0)
		return -1;
	o.names[0] = r->names.names[0];
	o.names[1] = r->names.names[1];
	return diff_open(&r->diff, &o, r->source[0], r->source[1], last, e) < 0 ||
	       flow(r, 1 - last, e) < 0 || flow(r, last, e) < 0 ? -1 : diff_finish(&r->diff, e);
}

static void
run(struct run *r, struct err *e)
{
	bool done;
	size_t i;

	if (level_begin(getenv("APR_CPU"), tool_note, e) < 0)
		return;
	prepare(r);
	done = open_both(r, e) == 0 && adapt(r, e) == 0 && compare(r, e) == 0 &&
	       (r->o->quiet ||
	        diff_asked_print(&r->diff, r->o->json, r->o->all, e) == 0);
	if (done && r->diff.different)
		diff_asked_answer(&r->diff, r->path, r->o->quiet, e);
	diff_close(&r->diff);
	source_close(r->adapted);
	for (i = 0; i < 2; i++)
		if (r->open[i])
			input_close(&r->in[i], e);
	diff_mapping_free(&r->names);
}

/* Loads a model; one that must be signed from its verifier, into memory: a mapped file could be
 * changed after it was verified. */
static int
load(struct run *r, size_t i, struct load *l, struct err *e)
{
	struct input in;

	if (!r->o->trusted)
		return load_open(l, r->path[i], tool_note, e);
	if (input_open(&in, r->path[i], e) == 0)
		load_source(l, in.source, e);
	return input_close(&in, e);
}

static void
prepare_outputs(struct run *r)
{
	size_t i;

	for (i = 0; i < 2; i++) {
		if (r->o->trusted)
			input_trust(r->path[i], r->o->trusted);
		sandbox_read(r->path[i]);
	}
	for (i = 0; r->o->trusted && i < 2; i++)
		input_prepare(r->path[i]);
	sandbox_spool();
	sandbox_enter();
}

/* --run. */
static void
run_outputs(struct run *r, struct err *e)
{
	struct outputs_asked o = r->o->outputs;
	struct load a = { .maps = NULL }, b = { .maps = NULL };

	o.jobs = r->o->asked.jobs;
	o.json = r->o->json;
	o.quiet = r->o->quiet;
	if (outputs_asked_read(&o, r->path, e) == 0 &&
	    level_begin(getenv("APR_CPU"), tool_note, e) == 0) {
		dot_begin(tool_note);
		prepare_outputs(r);
		if (load(r, 0, &a, e) == 0 && load(r, 1, &b, e) == 0 &&
		    outputs_asked_run(&o, &a.weights, &b.weights, e) == 0 && load_check(&a, e) == 0)
			load_check(&b, e);
	}
	load_close(&a);
	load_close(&b);
	outputs_asked_free(&o);
}

static int
take_operands(struct run *r, char **operands, struct err *e)
{
	if (!operands[0])
		return tool_misused(e, "a model is missing");
	r->path[0] = operands[0];
	if (!(r->path[1] = tool_input(operands[1], e)))
		return -1;
	if (r->o->mapping && strcmp(r->o->mapping, "-") == 0)
		return tool_misused(e, "the mapping cannot be standard input");
	if (r->o->quiet && (r->o->json || r->o->all))
		return tool_misused(e, "-q prints nothing");
	if (r->o->arch && !arch_known(r->o->arch)) {
		arch_unknown("--arch", r->o->arch, e);
		e->code = ERR_USAGE; /* 1 says that the models differ */
		return -1;
	}
	return diff_asked_pipes(r->path, e);
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		FLAG('q', "quiet", &o.quiet, "print nothing: the exit status is the answer"),
		FLAG(0, "all", &o.all, "list tensors that are the same too"),
		FLAG(0, "json", &o.json, "print one object per line"),
		OPT_DIFF(&o.asked),
		OPT_OUTPUTS(&o.outputs),
		TEXT(0, "tensor-mapping", "FILE", &o.mapping,
		     "read names of A's tensors in B from a JSON object"),
		TEXT(0, "arch", "NAME", &o.arch, "the architecture, if the models do not say it"),
		OPT_TRUSTED(&o.trusted),
		OPT_JOBS(&o.asked.jobs),
		OPT_PROGRESS(&o.progress),
		OPT_END
	};
	static const struct tool tool = {
		"apr-diff",
		"[-q | --json] [--all] [--metadata | --tensors] [--only REGEX]\n"
		"[--except REGEX] [--tensor-mapping FILE] [--arch NAME]\n"
		"[--tolerance X] [--max-drift X] [--max-delta X] [--max-l2 X]\n"
		"[--min-cosine X] [--trusted-key KEY] [-j N] A [B]\n"
		"apr-diff --run FILE [--layers] [--count N] [--max-kl X] [--min-top1 X]\n"
		"[-q | --json] [--trusted-key KEY] [-j N] A [B]",
		"Compare two models of any formats.", opts, 2
	};
	struct run r = { .o = &o };
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);

	if (take_operands(&r, operands, &e) == 0 && outputs_asked_check(&o.outputs, &o.asked, &e) == 0 &&
	    diff_asked_read(&o.asked, &e) == 0) {
		if (o.outputs.file)
			run_outputs(&r, &e);
		else
			run(&r, &e);
	}
	diff_asked_free(&o.asked);
	return tool_end(&e);
}
