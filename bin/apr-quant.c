/* apr-quant: stream -> stream, tensors in another type */
#include <math.h>
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
#include "quant/loss.h"
#include "quant/recipe.h"
#include "quant/recode.h"
#include "quant/record.h"
#include "report/recipe_text.h"

struct options {
	const char *trusted;
	struct quant_options quant;
	const char *explain;
	uint64_t jobs;
	bool list, dry_run, check, json, allow_nonfinite;
	struct output_options output;
};

/* What the hooks share. */
struct quant {
	const struct options *o;
	struct recipe recipe;
	struct recode recode;
	struct convert_stats all;
	struct table table; /* widths of what is printed */
	struct model plan;  /* the source's, with keys and blocks changed */
	size_t *row;        /* of each of the source's tensors; QUANT_GONE: left out */
	const char *name;   /* of what is read */
	struct buf text;    /* of what is printed */
	char operation[160];
	bool twice;         /* the model is read twice: errors are measured first */
	bool again;         /* this is the second reading */
	struct loss loss;
	char warning[LOSS_TEXT];
};

/* Print the text on standard error. */
static void
print_error(struct quant *q)
{
	if (buf_ok(&q->text))
		fwrite(q->text.p, 1, q->text.n, stderr);
	buf_clear(&q->text);
}

/* ---- hooks ---- */

static int
plan(void *ctx, struct model *out, struct err *e)
{
	struct quant *q = ctx;

	if (recipe_apply(&q->recipe, &q->o->quant.recipe, out, e) < 0)
		return -1;
	return q->again && q->warning[0] ? record_warning(out, q->warning, e) : 0;
}

/* What becomes of an item's tensor; NULL if it is left out, or no tensor. */
static const struct recipe_row *
row_of(const struct quant *q, const struct item *in)
{
	if (in->kind != ITEM_TENSOR || q->row[in->index] == QUANT_GONE)
		return NULL;
	return &q->recipe.rows[q->row[in->index]];
}

/* Does this pass measure errors? */
static bool
checks(const struct quant *q)
{
	return q->o->check && !q->again;
}

static int
item(void *ctx, const struct item *in, struct item *out, struct err *e)
{
	struct quant *q = ctx;
	struct recode_options how;
	const struct recipe_row *row = row_of(q, in);

	out->same = !row || row->from == row->to;
	if (!row)
		return in->kind == ITEM_TENSOR;
	out->bytes = row->bytes;
	how = (struct recode_options){ (unsigned)q->o->jobs,
		checks(q) || isfinite(q->o->quant.max_rmse), row->importance };
	return recode_begin(&q->recode, q->plan.tensors[row - q->recipe.rows], row->to, &how,
	                    e);
}

static int
data(void *ctx, const struct item *in, const uint8_t *p, size_t n, struct sink *sink,
     struct err *e)
{
	struct quant *q = ctx;

	return row_of(q, in) ? recode_add(&q->recode, p, n, sink, e) : 0;
}

static int
placed(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct quant *q = ctx;

	if (!row_of(q, in))
		return 1; /* it is left out */
	return recode_range(&q->recode, in->place, q->name, sink, e) < 0 ? -1 : 1;
}

static int
item_end(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct quant *q = ctx;
	const struct convert_stats *s = &q->recode.stats;
	const struct tensor *t;
	const struct recipe_row *row = row_of(q, in);

	if (!row)
		return 0;
	if (recode_end(&q->recode, sink, e) < 0)
		return -1;
	t = q->plan.tensors[row - q->recipe.rows];
	if (!(q->again && q->o->allow_nonfinite) &&
	    recipe_judge(tensor_name(t), row->to, s, q->o->allow_nonfinite,
	                 q->o->quant.max_rmse, &q->text, e) < 0)
		return -1;
	tool_notes(&q->text);
	if (checks(q) && row->from != row->to) {
		recipe_put_error(&q->text, tensor_name(t), row->from->name, row->to->name, s,
		                 q->o->json ? NULL : &q->table);
		print_error(q);
		convert_stats_add(&q->all, s);
		loss_add(&q->loss, t, row->to, s);
	}
	return 0;
}

static int
finish(void *ctx, struct sink *sink, struct err *e)
{
	struct quant *q = ctx;

	(void)sink;
	(void)e;
	if (checks(q) && q->all.values) {
		recipe_put_error(&q->text, "all", "", "", &q->all,
		                 q->o->json ? NULL : &q->table);
		print_error(q);
	}
	return 0;
}

/* ---- the command ---- */

/* Is it the plan alone that is asked for? */
static bool
plan_only(const struct options *o)
{
	return o->dry_run || o->explain;
}

/* --dry-run, --explain: print the plan, or a line of it. */
static int
print_plan(struct quant *q, struct err *e)
{
	const struct options *o = q->o;
	int r = 0;

	recipe_note_names(&q->text, &q->recipe, &o->quant.recipe);
	tool_notes(&q->text);
	if (o->explain)
		r = recipe_put_tensor(&q->text, &q->recipe, &q->plan, o->explain, e);
	else
		recipe_put(&q->text, &q->recipe, &q->plan, o->json);
	return r < 0 ? -1 : tool_print(&q->text, e);
}

/* Can the errors be measured before the plan goes out, so that it can hold a warning? The
 * model is read twice then: it must be a file or folder, and somebody must want the
 * result. */
static bool
reads_twice(const struct options *o, const char *path)
{
	struct stat to, null;

	if (!o->check || o->quant.recipe.no_record || plan_only(o) || !input_reopens(path))
		return false;
	return o->output.path || fstat(STDOUT_FILENO, &to) < 0 || !S_ISCHR(to.st_mode) ||
	       stat("/dev/null", &null) < 0 || to.st_rdev != null.st_rdev;
}

/* Measure, then convert. */
static int
twice(struct quant *q, const struct input *first, struct sink *sink, const struct flow *f,
      struct err *e)
{
	struct flow measure = *f;
	struct input again;

	measure.plan = NULL;
	measure.operation = NULL;
	if (filter_flow(first->source, NULL, q->o->output.progress, &measure, e) < 0)
		return -1;
	q->again = true;
	loss_text(&q->loss, q->warning);
	if (input_reopen(&again, first, e) == 0)
		filter_flow(again.source, sink, q->o->output.progress, f, e);
	return input_close(&again, e);
}

/* --check: tell what loses too much, and why the metadata cannot. */
static void
note_loss(const struct quant *q, bool piped)
{
	char text[LOSS_TEXT];

	if (q->loss.over == 0)
		return;
	tool_note(loss_text(&q->loss, text));
	if (piped && !q->o->quant.recipe.no_record)
		tool_note("the metadata has no warning: it precedes the data; a FILE operand is "
		          "read twice, and gets one");
}

static int
run(struct quant *q, const char *path, struct err *e)
{
	const struct options *o = q->o;
	struct flow f = { .plan = plan, .item = item, .data = data, .placed = placed,
		.item_end = item_end, .finish = finish, .ctx = q, .operation = q->operation };
	struct out_options where = { .path = o->output.path, .force = o->output.force };
	struct sink *sink = NULL;
	struct input in;

	snprintf(q->operation, sizeof q->operation, "apr-quant %s%s",
	         o->quant.recipe.mixture->name, o->quant.recipe.how.pure ? " --pure" : "");
	if (input_open(&in, path, e) < 0)
		return input_close(&in, e);
	where.input = in.held;
	where.from = in.path;
	q->name = in.source->name;
	if (quant_options_shape(&o->quant, in.source->plan, &q->plan, &q->row, e) == 0 &&
	    recipe_make(&q->recipe, &q->plan, &o->quant.recipe, e) == 0) {
		q->table = recipe_table(&q->recipe, &q->plan);
		if (plan_only(o))
			print_plan(q, e);
		if (e->code == ERR_NONE && recipe_allowed(&q->recipe, plan_only(o), e) == 0 &&
		    !plan_only(o) && (sink = filter_sink(&where, e))) {
			recipe_notes(&q->text, &q->recipe, &q->plan, &o->quant.recipe);
			tool_notes(&q->text);
			if (q->twice)
				twice(q, &in, sink, &f, e);
			else
				filter_flow(in.source, sink, o->output.progress, &f, e);
			note_loss(q, !path || strcmp(path, "-") == 0);
		}
	}
	sink_close(sink);
	return plan_only(o) ? input_abandon(&in, e) : input_close(&in, e);
}

/* Everything behind the command line. */
static int
quant(struct quant *q, struct options *o, char **operands, struct err *e)
{
	const char *path = operands[0] ? operands[1] : NULL;

	input_trust(path, o->trusted);
	sandbox_write(o->output.path, o->output.force);
	sandbox_spool();
	sandbox_prepare();
	if (quant_options_load(&o->quant, e) < 0)
		return -1;
	q->twice = operands[0] && reads_twice(o, path);
	if ((o->quant.imatrix_path || q->twice) && operands[0])
		input_prepare(path);
	if (q->twice)
		input_prepare(path);
	if (o->quant.imatrix_path && operands[0])
		input_prepare(o->quant.imatrix_path);
	if (o->list) {
		recipe_put_types(&q->text);
		return tool_print(&q->text, e);
	}
	if (quant_options_parse(&o->quant, operands[0], e) < 0 ||
	    level_begin(getenv("APR_CPU"), tool_note, e) < 0)
		return -1;
	return run(q, path, e);
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
		"[--include-weights TEXT] [--exclude-weights TEXT]\n"
		"[--prune-layers LIST] [--override-kv KEY=TYPE:VALUE] [--no-record]\n"
		"[--plugin FILE.so] [--hook CMD]\n"
		"[--allow-requantize] [--fallback error|warn|TYPE] [--allow-nonfinite]\n"
		"[-n | --explain NAME | --list] [--check] [--max-rmse X] [--json] [-j N]\n"
		"[--trusted-key KEY] [-f] [-o FILE] TYPE [FILE]",
		"Convert the tensors of a stream to another type.", opts, 2
	};
	struct quant q = { .o = &o };
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);

	if (!o.jobs)
		o.jobs = thread_count();
	quant(&q, &o, operands, &e);
	recipe_free(&q.recipe);
	quant_options_free(&o.quant);
	recode_free(&q.recode);
	buf_free(&q.text);
	model_free(&q.plan);
	free(q.row);
	return tool_end(&e);
}
