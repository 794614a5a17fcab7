/* apr-quant: stream -> stream, tensors in another type */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/filter.h"
#include "cli/input.h"
#include "cli/quant/quant_options.h"
#include "cli/tool.h"
#include "core/sandbox.h"
#include "core/thread.h"
#include "kernels/level.h"
#include "report/recipe_text.h"
#include "stage/conversion.h"

struct options {
	const char *trusted;
	struct quant_options quant;
	const char *explain;
	uint64_t jobs;
	bool list, dry_run, check, json, allow_nonfinite;
	struct output_options output;
};

static unsigned
jobs(const struct options *o)
{
	return o->jobs ? (unsigned)o->jobs : thread_count();
}

/* Whether only the plan is printed. */
static bool
plan_only(const struct options *o)
{
	return o->dry_run || o->explain;
}

/* --dry-run, --explain: print the plan, or one line of it. */
static int
print_plan(struct conversion *c, const struct options *o, struct err *e)
{
	int r = 0;

	recipe_note_names(&c->text, &c->recipe, &o->quant.recipe);
	tool_notes(&c->text);
	if (o->explain)
		r = recipe_put_tensor(&c->text, &c->recipe, &c->plan, o->explain, e);
	else
		recipe_put(&c->text, &c->recipe, &c->plan, o->json);
	return r < 0 ? -1 : tool_print(&c->text, e);
}

/* Whether the errors can be measured before the plan is written, so that the plan can hold
 * a warning. The model is then read twice: it must be a file or folder, and the output must
 * not be /dev/null. */
static bool
reads_twice(const struct options *o, const char *path)
{
	struct stat to, null;

	if (!o->check || o->quant.recipe.no_record || plan_only(o) || !input_reopens(path))
		return false;
	return o->output.path || fstat(STDOUT_FILENO, &to) < 0 || !S_ISCHR(to.st_mode) ||
	       stat("/dev/null", &null) < 0 || to.st_rdev != null.st_rdev;
}

/* Measure the errors of the conversion, then convert the model to sink. */
static int
run_twice(struct conversion *c, const struct input *first, struct sink *sink, bool progress,
          struct err *e)
{
	struct input again;
	struct flow f;

	conversion_measures(c, &f);
	if (filter_flow(first->source, NULL, progress, &f, e) < 0)
		return -1;
	conversion_measured(c);
	conversion_hooks(c, &f);
	if (input_reopen(&again, first, e) == 0)
		filter_flow(again.source, sink, progress, &f, e);
	return input_close(&again, e);
}

/* --check: print which tensors lose too much, and why the metadata cannot contain it. */
static void
note_loss(const struct conversion *c, bool piped)
{
	char text[LOSS_TEXT];

	if (c->loss.over == 0)
		return;
	tool_note(loss_text(&c->loss, text));
	if (piped && !c->how->no_record)
		tool_note("the metadata has no warning: it precedes the data; a FILE operand is "
		          "read twice, and gets one");
}

/* --check: the errors of a tensor, on standard error. */
static void
print_errors(struct buf *b)
{
	if (buf_ok(b))
		fwrite(b->p, 1, b->n, stderr);
	buf_clear(b);
}

/* Convert the open input to the output. */
static int
convert(struct conversion *c, const struct options *o, const struct input *in, bool twice,
        struct err *e)
{
	const struct out_options where = { .path = o->output.path, .force = o->output.force,
		.input = in->held, .from = in->path };
	struct sink *sink = filter_sink(&where, e);
	struct flow f;

	if (!sink)
		return -1;
	recipe_notes(&c->text, &c->recipe, &c->plan, &o->quant.recipe);
	tool_notes(&c->text);
	conversion_hooks(c, &f);
	if (twice)
		run_twice(c, in, sink, o->output.progress, e);
	else
		filter_flow(in->source, sink, o->output.progress, &f, e);
	note_loss(c, !in->path || strcmp(in->path, "-") == 0);
	sink_close(sink);
	return e->code == ERR_NONE ? 0 : -1;
}

/* Open the input, decide, and print the plan or convert. */
static int
run(struct conversion *c, const struct options *o, const char *path, bool twice,
    struct err *e)
{
	struct input in;

	if (input_open(&in, path, e) < 0)
		return input_close(&in, e);
	if (conversion_begin(c, in.source->plan, in.source->name, e) == 0 &&
	    (!plan_only(o) || print_plan(c, o, e) == 0) &&
	    recipe_allowed(&c->recipe, plan_only(o), e) == 0 && !plan_only(o))
		convert(c, o, &in, twice, e);
	return plan_only(o) ? input_abandon(&in, e) : input_close(&in, e);
}

/* Start the readers of inputs that are opened later (cli/input.h): the model's, unless it
 * is the first input and read once, and that of the importance matrix. */
static int
prepare(struct options *o, const char *path, bool twice, struct err *e)
{
	if (calibrate_prepare(&o->quant.calibrate, path, jobs(o), e) < 0)
		return -1;
	if (o->quant.imatrix_path || o->quant.calibrate.path || twice)
		input_prepare(path);
	if (twice)
		input_prepare(path);
	if (o->quant.imatrix_path)
		input_prepare(o->quant.imatrix_path);
	return 0;
}

/* Everything after the command line. */
static int
quant(struct conversion *c, struct options *o, char **operands, struct err *e)
{
	const char *type = operands[0], *path = type ? operands[1] : NULL;
	bool twice;

	if (o->quant.imatrix_path && o->quant.calibrate.path)
		return tool_misused(e, "give one of --imatrix and --calibration");
	if (input_spare(o->quant.imatrix_path, &o->output, e) < 0 ||
	    input_spare(o->quant.calibrate.path, &o->output, e) < 0 ||
	    calibrate_check(&o->quant.calibrate, o->trusted, e) < 0)
		return -1;
	input_trust(path, o->trusted);
	sandbox_write(o->output.path, o->output.force);
	sandbox_spool();
	sandbox_prepare();
	if (quant_options_load(&o->quant, e) < 0)
		return -1;
	twice = type && reads_twice(o, path);
	if (type && prepare(o, path, twice, e) < 0)
		return -1;
	if (o->list) {
		recipe_put_types(&c->text);
		return tool_print(&c->text, e);
	}
	if (quant_options_parse(&o->quant, type, e) < 0 ||
	    level_begin(getenv("APR_CPU"), tool_note, e) < 0)
		return -1;
	c->max_rmse = o->quant.max_rmse;
	return run(c, o, path, twice, e);
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		OPT_QUANT(&o.quant),
		FLAG(0, "allow-nonfinite", &o.allow_nonfinite,
		     "accept NaN and infinite values"),
		FLAG('n', "dry-run", &o.dry_run,
		     "print what each tensor would become, and write nothing"),
		TEXT(0, "explain", "NAME", &o.explain,
		     "print what tensor NAME would become, and why"),
		FLAG(0, "list", &o.list, "print the mixtures and types"),
		FLAG(0, "check", &o.check,
		     "print the error of each tensor on standard error"),
		FLAG(0, "json", &o.json, "with --dry-run or --check: print one object per line"),
		OPT_JOBS(&o.jobs),
		OPT_OUTPUT_STREAM(&o.output),
		OPT_TRUSTED(&o.trusted),
		OPT_END
	};
	static const struct tool tool = {
		"apr-quant",
		"[--pure] [--tensor-type REGEX=TYPE] [--tensor-type-file FILE]\n"
		"[--output-tensor-type TYPE] [--token-embedding-type TYPE]\n"
		"[--leave-output-tensor] [--imatrix FILE]\n"
		"[--calibration FILE] [--calibration-method mse|minmax|percentile]\n"
		"[--calibration-percentile P] [--calibration-samples N]\n"
		"[--include-weights TEXT] [--exclude-weights TEXT]\n"
		"[--prune-layers LIST] [--override-kv KEY=TYPE:VALUE] [--no-record]\n"
		"[--plugin FILE.so] [--hook CMD]\n"
		"[--allow-requantize] [--fallback error|warn|TYPE] [--allow-nonfinite]\n"
		"[-n | --explain NAME | --list] [--check] [--max-rmse X] [--json] [-j N]\n"
		"[--trusted-key KEY] [-f] [-o FILE] TYPE [FILE]",
		"Convert the tensors of a stream to another type.", opts, 2
	};
	struct conversion c = { .how = &o.quant.recipe, .note = tool_notes, .print = print_errors };
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);

	c.jobs = jobs(&o);
	c.check = o.check;
	c.json = o.json;
	c.allow_nonfinite = o.allow_nonfinite;
	quant(&c, &o, operands, &e);
	conversion_free(&c);
	quant_options_free(&o.quant);
	return tool_end(&e);
}
