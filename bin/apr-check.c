/* apr-check: judges a model by 100 points */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check/container.h"
#include "cli/check/check.h"
#include "cli/filter.h"
#include "cli/input.h"
#include "cli/tool.h"
#include "core/sandbox.h"
#include "core/thread.h"
#include "formats/format.h"
#include "kernels/level.h"
#include "report/check_text.h"

/* ---- files ---- */

/* Declares a file for the sandbox. */
static void
declare(const char *path)
{
	sandbox_read(path);
	if (path && format_may_spool(path))
		sandbox_spool();
}

static struct source *
open_source(const char *path, const struct format **format, uint64_t *bytes, struct err *e)
{
	struct format_options how = { .closed = false };
	struct source *s;
	struct stat st;
	int held = -1;

	s = format_open_path(path, &how, NULL, format, &held, e);
	*bytes = s && held >= 0 && fstat(held, &st) == 0 && S_ISREG(st.st_mode)
	             ? (uint64_t)st.st_size : UINT64_MAX;
	if (held >= 0)
		close(held);
	return s;
}

/* --stats-from: the statistics of a model that is known to be good. Inside the sandbox. */
static int
read_reference(struct check_run *r, struct err *e)
{
	struct survey *s = &r->reference;
	const struct format *format;
	struct source *source;

	if (!r->o->reference)
		return 0;
	source = open_source(r->o->reference, &format, &s->file_bytes, e);
	if (!source)
		return -1;
	s->path = r->o->reference;
	s->format = format->name;
	s->jobs = (unsigned)r->o->jobs;
	if (survey_run(s, source, e) < 0)
		return -1;
	if (!s->complete)
		*e = s->fault;
	return s->complete ? 0 : -1;
}

static void
close_reference(struct check_run *r)
{
	struct source *s = r->reference.source;

	survey_free(&r->reference);
	source_close(s);
}

static int
survey_source(struct check_run *r, struct source *s, json_t *facts, const char *format,
              struct err *e)
{
	r->survey.path = r->path;
	r->survey.format = format;
	r->survey.facts = facts;
	r->survey.arch = r->o->arch;
	r->survey.jobs = (unsigned)r->o->jobs;
	if (survey_run(&r->survey, s, e) < 0)
		return -1;
	if (!r->survey.complete)
		r->refused = &r->survey.fault;
	return 0;
}

/* Prints the report. A refusal is a point that fails, and the error stays the answer. */
static int
finish(struct check_run *r, struct err *e)
{
	struct err why = ERR_INIT, trouble = ERR_INIT;
	struct buf b = { 0 };

	if (e->code != ERR_NONE) {
		why = *e;
		/* The file itself, or one of its shards. */
		why.missing = e->code == ERR_IO && strcmp(e->object, r->path) == 0;
		if (!container_refused(&why, &r->findings))
			return -1;
		r->refused = &why;
	} else if (r->refused) {
		*e = *r->refused;
	}
	if (check_judge(r, &b, &trouble) < 0 || tool_print(&b, &trouble) < 0)
		*e = trouble;
	buf_free(&b);
	return e->code == ERR_NONE ? check_answer(r, e) : -1;
}

static void
check_file(struct check_run *r, struct err *e)
{
	const struct format *format = NULL;
	struct source *s = NULL;
	json_t *facts = NULL;

	declare(r->path);
	sandbox_enter();
	if (read_reference(r, e) < 0)
		return;
	s = open_source(r->path, &format, &r->survey.file_bytes, e);
	facts = s ? format->reads->describe(s, e) : NULL;

	if (!s || !facts || survey_source(r, s, facts, format->name, e) == 0)
		finish(r, e);
	survey_free(&r->survey);
	json_decref(facts);
	source_close(s);
	if (strcmp(r->path, "-") == 0 && e->code == ERR_NONE)
		tool_drain();
}

/* --trusted-key: apr-verify reads the file and passes on only what is signed. It prints why it
 * refuses a model. */
static void
check_trusted(struct check_run *r, struct err *e)
{
	struct err why = { .code = ERR_SIGNATURE, .fact = "the signature does not hold" };
	struct buf b = { 0 };
	struct input in;

	input_trust(r->path, r->o->trusted);
	if (input_open(&in, r->path, e) == 0 && read_reference(r, e) < 0)
		goto end;
	if (e->code == ERR_NONE)
		survey_source(r, in.source, NULL, format_stream.name, e);
	if (e->code != ERR_NONE || r->refused) {
		r->survey.complete = false;
		container_refused(&why, &r->findings);
		r->refused = &why;
		if (check_judge(r, &b, e) == 0)
			tool_print(&b, e);
		buf_free(&b);
	} else {
		finish(r, e);
	}
end:
	survey_free(&r->survey);
	input_close(&in, e);
}

/* ---- a pipe ---- */

/* The stream has ended. Its end is withheld if the model fails. */
static int
pass_end(void *ctx, struct err *e)
{
	struct check_run *r = ctx;
	struct buf b = { 0 };
	int status = check_judge(r, &b, e);

	if (status == 0)
		tool_notes(&b);
	buf_free(&b);
	return status < 0 ? -1 : r->o->relaxed ? 0 : check_answer(r, e);
}

static void
check_pass(struct check_run *r, const char *path, struct err *e)
{
	struct out_options where = { .path = NULL };
	struct flow f = { 0 };
	struct sink *sink = NULL;
	struct input in;

	if (r->o->trusted)
		input_trust(path, r->o->trusted);
	r->survey.path = r->path;
	r->survey.format = format_stream.name;
	r->survey.file_bytes = UINT64_MAX;
	r->survey.arch = r->o->arch;
	r->survey.jobs = (unsigned)r->o->jobs;
	r->survey.at_end = pass_end;
	r->survey.end_ctx = r;
	if (input_open(&in, path, e) == 0 && read_reference(r, e) == 0 &&
	    survey_begin(&r->survey, in.source, e) == 0) {
		where.input = in.held;
		where.from = in.path;
		survey_hooks(&r->survey, &f);
		sink = filter_sink(&where, e);
		if (sink)
			filter_flow(in.source, sink, r->o->progress, &f, e);
	}
	sink_close(sink);
	survey_free(&r->survey);
	input_close(&in, e);
}

/* ---- the command line ---- */

static int
prove_options(const struct check_options *o, struct err *e)
{
	if (o->json + o->sarif + o->junit > 1)
		return tool_misused(e, "--json, --sarif and --junit exclude each other");
	if (o->pass && (o->json || o->sarif || o->junit || o->tensors))
		return tool_misused(e, "--pass reports on standard error, as text");
	if (!o->pass && (o->relaxed || o->progress))
		return tool_misused(e, "--relaxed and --progress need --pass");
	return 0;
}

static void
list(const struct check_options *o, struct err *e)
{
	struct buf b = { 0 };

	check_put_list(&b, o->json);
	tool_print(&b, e);
	buf_free(&b);
}

static void
check(struct check_run *r, const char *operand, struct err *e)
{
	if (level_begin(getenv("APR_CPU"), tool_note, e) < 0 || !(r->path = tool_input(operand, e)))
		return;
	declare(r->o->reference);
	if (r->o->pass)
		check_pass(r, operand, e);
	else if (r->o->trusted)
		check_trusted(r, e);
	else
		check_file(r, e);
	close_reference(r);
	findings_free(&r->findings);
}

int
main(int argc, char **argv)
{
	static struct check_options o;
	static const struct opt opts[] = {
		TEXT(0, "only", "LIST", &o.only, "judge only these points: numbers or names"),
		TEXT(0, "except", "LIST", &o.except, "do not judge these points"),
		TEXT(0, "category", "A|B|C|D", &o.category, "judge only the points of a category"),
		NUMBER(0, "min-score", "N", &o.min_score, 1, 100,
		       "exit with status 5 if the score is below N"),
		TEXT(0, "arch", "NAME", &o.arch, "the architecture, instead of what the model says"),
		TEXT(0, "stats-from", "MODEL", &o.reference,
		     "take what is normal from MODEL, which is known to be good"),
		FLAG(0, "all", &o.all, "show points that do not apply too, with the reason"),
		FLAG(0, "stats-only", &o.tensors, "print PASS or FAIL for each tensor"),
		FLAG(0, "json", &o.json, "print one object per line"),
		FLAG(0, "sarif", &o.sarif, "print a document of SARIF 2.1.0"),
		FLAG(0, "junit", &o.junit, "print a JUnit report"),
		FLAG(0, "list", &o.list, "print the 100 points, and where each is held"),
		FLAG(0, "pass", &o.pass,
		     "write the model as a stream, without its end if the model fails"),
		FLAG(0, "relaxed", &o.relaxed, "with --pass: only report"),
		OPT_JOBS(&o.jobs),
		OPT_PROGRESS(&o.progress),
		OPT_TRUSTED(&o.trusted),
		OPT_END
	};
	static const struct tool tool = {
		"apr-check", "[--only LIST] [--except LIST] [--category A|B|C|D]\n"
		"[--min-score N] [--arch NAME] [--stats-from MODEL]\n"
		"[--all | --stats-only | --list | --pass [--relaxed]]\n"
		"[--json | --sarif | --junit] [--trusted-key KEY] [-j N] [FILE]",
		"Judge a model by 100 points.", opts, 1
	};
	struct check_run r = { .o = &o };
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);

	if (!o.jobs)
		o.jobs = thread_count();
	if (o.list)
		list(&o, &e);
	else if (prove_options(&o, &e) == 0 && check_choose(&r, &e) == 0)
		check(&r, operands[0], &e);
	return tool_end(&e);
}
