/* apr-check: judges a model by 100 points */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check/container.h"
#include "cli/check/check.h"
#include "cli/input.h"
#include "cli/tool.h"
#include "core/sandbox.h"
#include "core/thread.h"
#include "crypto/authentic.h"
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
	/* Most sources keep the struct err with which they were opened. */
	if (!s->complete && e->code == ERR_NONE)
		*e = s->fault;
	return s->complete ? 0 : -1;
}

/* Reads FILE to its end, and proves that one of the keys signed it. It is read again from the same
 * name to be judged. An error of the reading is found again then. */
static void
verify(struct check_run *r, const struct trusted *keys)
{
	const struct format *format;
	struct source *s;
	uint64_t bytes;

	s = open_source(r->path, &format, &bytes, &r->verdict);
	if (s && source_check_open(s, &r->verdict) == 0)
		authentic_content(s, keys, &r->verdict);
	source_close(s);
}

static void
report(struct check_run *r, struct err *e)
{
	struct err why = *e;

	if (e->code == ERR_NONE) {
		check_finish(r, r->survey.complete ? NULL : &r->survey.fault, e);
		return;
	}
	/* The file itself, or one of its shards. */
	why.missing = e->code == ERR_IO && strcmp(e->object, r->path) == 0;
	if (container_refused(&why, &r->findings))
		check_finish(r, &why, e);
}

static void
check_file(struct check_run *r, const struct trusted *keys, struct err *e)
{
	const struct format *format = NULL;
	struct source *s = NULL;
	json_t *facts = NULL;

	if (keys)
		verify(r, keys);
	s = open_source(r->path, &format, &r->survey.file_bytes, e);
	facts = s ? format->reads->describe(s, e) : NULL;
	if (facts) {
		s->verified = keys && r->verdict.code == ERR_NONE;
		check_subject(r, format->name, facts);
	}
	if (!s || !facts || survey_run(&r->survey, s, e) == 0)
		report(r, e);
	survey_free(&r->survey);
	json_decref(facts);
	source_close(s);
	if (strcmp(r->path, "-") == 0 && e->code == ERR_NONE)
		tool_drain();
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

/* What another process reads is started before the sandbox. */
static void
prepare(struct check_run *r)
{
	declare(r->o->reference);
	if (r->o->policy)
		sandbox_read(r->o->policy);
	if (r->o->trusted)
		input_trust(r->path, r->o->trusted);
	if (r->o->pass || r->o->trusted)
		input_prepare(r->path);
	if (!r->o->pass && (!r->o->trusted || r->o->policy))
		declare(r->path);
	sandbox_enter();
}

static void
check(struct check_run *r, const char *operand, struct err *e)
{
	const struct trusted *keys;

	if (level_begin(getenv("APR_CPU"), tool_note, e) < 0 ||
	    !(r->path = tool_input(operand, e)) || check_keys(r, e) < 0)
		return;
	prepare(r);
	if (check_policy(r, &keys, e) < 0 || read_reference(r, e) < 0)
		return;
	if (keys && r->o->trusted)
		verify(r, keys);
	if (r->o->pass)
		check_pass(r, e);
	else if (r->o->trusted)
		check_trusted(r, e);
	else
		check_file(r, keys, e);
}

static void
run_free(struct check_run *r)
{
	struct source *s = r->reference.source;

	survey_free(&r->reference);
	source_close(s);
	findings_free(&r->findings);
	policy_free(&r->policy);
	trusted_free(&r->keys);
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
		TEXT(0, "policy", "FILE", &o.policy, "judge by the rules of a team in a JSON file as well"),
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
		"[--min-score N] [--policy FILE] [--arch NAME] [--stats-from MODEL]\n"
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
	run_free(&r);
	return tool_end(&e);
}
