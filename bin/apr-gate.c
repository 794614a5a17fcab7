/* apr-gate: passes a model on only if it is as good as a reference */
#include <stdlib.h>
#include <string.h>

#include "adapt/adapt.h"
#include "arch/form.h"
#include "cli/filter.h"
#include "cli/gate/gate_computes.h"
#include "cli/prompt.h"
#include "core/dir_name.h"
#include "core/sandbox.h"
#include "formats/format.h"
#include "kernels/dot.h"
#include "kernels/level.h"
#include "load/gather.h"
#include "load/load.h"
#include "report/gate_text.h"

/* The reference and the model that flows by. */
struct gate {
	const struct gate_options *o;
	struct buf canary, text;    /* bytes of --canary and --text */
	struct input in[2];         /* of the reference, of the model */
	bool open[2];
	struct source *reference;   /* of in[0], or adapted */
	struct source *adapted;     /* the adapted one, or NULL */
	struct diff diff;
	struct flow compares;       /* the hooks of diff for the model */
	bool computes;              /* --canary or --text: the model is gathered */
	struct gather gather;
	struct buf report, json;
	size_t breaches;
	const char *first;          /* the first tensor that exceeds a limit, or "" */
};

/* ---- computing ---- */

static int
check_canary(struct gate *g, struct err *e)
{
	struct canary_total total = { .prompts = 0 };

	if (gate_canary(g->o, &g->canary, &g->gather.weights, &g->report, &g->json, &total, e) < 0)
		return -1;
	g->breaches += total.failed;
	return 0;
}

static int
measure(struct gate *g, struct err *e)
{
	struct divergence_figures f;
	struct load base;
	int done = load_open(&base, g->o->against, NULL, e);

	if (done == 0)
		done = gate_measure(g->o, &g->text, &base.weights, &g->gather.weights, &f, e);
	if (done == 0)
		done = load_check(&base, e);
	load_close(&base);
	if (done == 0)
		g->breaches += gate_put_text(&g->report, &g->json, &f, &g->o->canaries,
		                             g->o->max_ppl);
	return done;
}

/* ---- the hooks ---- */

static int
item(void *ctx, const struct item *in, struct item *out, struct err *e)
{
	struct gate *g = ctx;

	if (g->computes && gather_item(&g->gather, in, e) < 0)
		return -1;
	return g->o->against ? g->compares.item(g->compares.ctx, in, out, e) : 0;
}

static int
data(void *ctx, const struct item *in, const uint8_t *p, size_t n, struct sink *sink,
     struct err *e)
{
	struct gate *g = ctx;

	if (g->computes && gather_data(&g->gather, in, p, n, e) < 0)
		return -1;
	return g->o->against ? g->compares.data(g->compares.ctx, in, p, n, sink, e) : 0;
}

static int
item_end(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct gate *g = ctx;

	return g->o->against ? g->compares.item_end(g->compares.ctx, in, sink, e) : 0;
}

static int
write_report(const struct gate *g, struct err *e)
{
	struct out_options where = { .path = g->o->report, .force = g->o->output.force,
		.input = -1, .terminal_ok = true };
	struct out out;

	if (!buf_ok(&g->json))
		return err_memory(e);
	if (out_open(&out, &where, e) < 0)
		return -1;
	if (out_put(&out, g->json.p, g->json.n) == 0 && out_finish(&out) == 0)
		return 0;
	out_abandon(&out);
	return -1;
}

/* The model has come whole. Its end is withheld if a gate fails. */
static int
finish(void *ctx, struct sink *sink, struct err *e)
{
	struct gate *g = ctx;

	(void)sink;
	if (g->o->against) {
		if (diff_finish(&g->diff, e) < 0)
			return -1;
		g->breaches += gate_put_diff(&g->report, &g->json, &g->diff);
		if (g->breaches > 0)
			g->first = diff_first_over(&g->diff);
	}
	if ((g->computes && gather_finish(&g->gather, e) < 0) ||
	    (g->o->canary && check_canary(g, e) < 0) || (g->o->text && measure(g, e) < 0) ||
	    (g->o->report && write_report(g, e) < 0))
		return -1;
	tool_notes(&g->report);
	if (g->breaches == 0 || g->o->no_gate)
		return 0;
	err_set(e, ERR_INVALID, g->in[1].source->name, "%zu breach%s of the limits%s%s: it is not "
	        "passed on", g->breaches, g->breaches == 1 ? "" : "es", *g->first ? ", the first in " : "",
	        g->first);
	return err_hint(e, "--no-gate passes it, and only reports");
}

/* ---- opening ---- */

/* Gives the reference the form of the model, which passes unchanged. */
static int
adapt(struct gate *g, struct err *e)
{
	struct adapt_options how = { .relaxed = true, .jobs = (unsigned)g->o->jobs };
	const struct arch *row;
	struct form_change to;
	char *name;

	g->reference = g->in[0].source;
	if (!form_between(g->reference->plan, g->in[1].source->plan, NULL, &to))
		return 0;
	how.form = to.form;
	if (to.side != 0)
		form_of(g->in[1].source->plan, NULL, &row, &how.form);
	how.no_record = !model_find(g->in[1].source->plan, "apr.origin");
	how.places = g->in[0].lent_count > 0;
	how.file = name = dir_last(g->o->against);
	g->adapted = adapt_source(g->reference, &how, e);
	free(name);
	g->reference = g->adapted;
	return g->adapted ? 0 : -1;
}

/* Reads the reference, whose tensors stay at their places. */
static int
read_reference(struct gate *g, struct err *e)
{
	struct diff_options o = { .jobs = (unsigned)g->o->jobs, .tolerance = DIFF_TOLERANCE,
		.limits = g->o->drift, .tensors = true };
	struct flow f = { 0 };

	if (adapt(g, e) < 0 ||
	    diff_open(&g->diff, &o, g->reference, g->in[1].source, 1, e) < 0 ||
	    diff_hooks(&g->diff, 0, &f, e) < 0 ||
	    filter_flow(g->reference, NULL, false, &f, e) < 0)
		return -1;
	return diff_hooks(&g->diff, 1, &g->compares, e);
}

/* Neither the output nor the report replaces a file that is read, or the other. */
static int
spare(const struct gate_options *o, const char *path, struct err *e)
{
	const struct output_options report = { .path = o->report, .force = o->output.force };
	const char *const files[] = { o->against, o->canary, o->text, path };

	if (input_spare_all(files, 3, &o->output, e) < 0 ||
	    (o->report && input_spare_all(files, 4, &report, e) < 0))
		return -1;
	if (o->report && o->output.path && strcmp(o->report, o->output.path) == 0)
		return tool_misused(e, "the report and the output are the same file");
	return 0;
}

static int
prepare(struct gate *g, const char *path, struct err *e)
{
	const struct prompt_from canary = { .file = g->o->canary }, text = { .file = g->o->text };
	struct tokens none = { 0 };

	/* Files cannot be opened inside the sandbox. */
	if (spare(g->o, path, e) < 0 ||
	    (g->o->canary && prompt_take(&canary, path, &g->canary, &none, e) < 0) ||
	    (g->o->text && prompt_take(&text, path, &g->text, &none, e) < 0))
		return -1;
	if (g->o->trusted)
		input_trust(path, g->o->trusted);
	if (g->o->against) {
		input_prepare(g->o->against);
		input_prepare(path);
		if (g->o->text)
			sandbox_read(g->o->against);
	}
	sandbox_write(g->o->output.path, g->o->output.force);
	sandbox_write(g->o->report, g->o->output.force);
	sandbox_spool();
	sandbox_prepare();
	return 0;
}

static void
run(struct gate *g, const char *path, struct err *e)
{
	struct out_options where = { .path = g->o->output.path, .force = g->o->output.force };
	struct flow f = { .item = item, .data = data, .looks = true, .item_end = item_end,
		.finish = finish, .ctx = g };
	struct sink *sink = NULL;
	size_t i;

	if (prepare(g, path, e) < 0)
		return;
	for (i = !g->o->against; e->code == ERR_NONE && i < 2; i++) {
		g->open[i] = true;
		input_open(&g->in[i], i ? path : g->o->against, e);
	}
	if (e->code == ERR_NONE && (!g->o->against || read_reference(g, e) == 0) &&
	    (!g->computes || gather_begin(&g->gather, g->in[1].source, e) == 0)) {
		where.input = g->in[1].held;
		where.from = g->in[1].path;
		sink = filter_sink(&where, e);
		if (sink)
			filter_flow(g->in[1].source, sink, g->o->output.progress, &f, e);
	}
	sink_close(sink);
	diff_close(&g->diff);
	gather_free(&g->gather);
	source_close(g->adapted);
	for (i = 0; i < 2; i++)
		if (g->open[i])
			input_close(&g->in[i], e);
}

int
main(int argc, char **argv)
{
	static struct gate_options o = GATE_OPTIONS;
	static const struct opt opts[] = { OPT_GATE(&o), OPT_END };
	static const struct tool tool = {
		"apr-gate",
		"[--against MODEL] [--max-drift X] [--max-delta X] [--max-l2 X]\n"
		"[--min-cosine X] [--canary CANARY] [--min-top1 X] [--max-kl X]\n"
		"[--text FILE] [--context N] [--max-ppl X] [--no-gate] [--report FILE]\n"
		"[--trusted-key KEY] [-j N] [-f] [-o FILE] [FILE]",
		"Pass a model on only if it is as good as a reference.", opts, 1
	};
	struct gate g = { .o = &o, .first = "" };
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);

	g.computes = o.canary || o.text;
	if (gate_options_check(&o, operands[0], &e) == 0 && tool_input(operands[0], &e) &&
	    level_begin(getenv("APR_CPU"), tool_note, &e) == 0) {
		dot_begin(tool_note);
		run(&g, tool_input(operands[0], &e), &e);
	}
	buf_free(&g.canary);
	buf_free(&g.text);
	buf_free(&g.report);
	buf_free(&g.json);
	return tool_end(&e);
}
