/* apr-lint: practices and signs of danger in a model, from what stands before its tensors */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/each.h"
#include "cli/lint/asked.h"
#include "cli/tool.h"
#include "core/mem.h"
#include "core/sandbox.h"
#include "crypto/authentic.h"
#include "formats/format.h"

struct run {
	const struct asked *o;
	struct choice choice;
	struct policy policy;
	struct trusted keys;    /* of --trusted-key, else the folder of trusted keys */
	struct err folder;      /* why that folder cannot be read */
	const struct format *format;
	struct source *source;
	int held;
	struct survey survey;
	struct lint lint;
	struct findings findings;
	json_t *facts, *card;
	struct lint_place *places;
};

/* ---- the model ---- */

static int
open_source(struct run *r, const char *path, struct err *e)
{
	struct format_options options = { .closed = true };

	r->source = format_open_path(path, &options, tool_note, &r->format, &r->held, e);
	return r->source ? 0 : -1;
}

static void
close_source(struct run *r)
{
	source_close(r->source);
	r->source = NULL;
	if (r->held >= 0)
		close(r->held);
	r->held = -1;
}

/* Reads the whole model and verifies it. What is judged later is read again from the same open
 * file. */
static int
verify(struct run *r, const char *path, const struct trusted *keys, struct err *e)
{
	struct err io = ERR_INIT;

	if (strcmp(path, "-") == 0)
		return err_set(e, ERR_USAGE, "<stdin>", "a signature is verified only in a FILE; "
		               "apr-verify verifies a stream");
	if (open_source(r, path, &io) == 0 && source_check_open(r->source, &io) == 0)
		authentic_content(r->source, keys, &io);
	close_source(r);
	if (io.code != ERR_NONE)
		*e = io;
	return io.code == ERR_NONE ? 0 : -1;
}

static int
find_places(struct run *r, struct err *e)
{
	const struct format_reads *f = r->format->reads;
	size_t n = r->source->plan->tensor_count, i;
	uint64_t stored;

	r->places = mem_array(n, sizeof *r->places);
	if (!r->places)
		return err_memory(e);
	for (i = 0; i < n; i++) {
		uint64_t at = f->tensor_offset ? f->tensor_offset(r->source, i) : FORMAT_SCATTERED;

		r->places[i].offset = at == FORMAT_SCATTERED ? LINT_NOWHERE : at;
		r->places[i].packed = f->tensor_stored && f->tensor_stored(r->source, i, &stored);
	}
	return 0;
}

/* Reads what stands before the tensors. */
static int
look(struct run *r, const char *path, struct err *e)
{
	struct survey *s = &r->survey;
	struct stat st;

	if (open_source(r, path, e) < 0)
		return -1;
	*s = (struct survey){ .path = path, .format = r->format->name, .file_bytes = UINT64_MAX };
	if (fstat(r->held, &st) == 0 && S_ISREG(st.st_mode))
		s->file_bytes = (uint64_t)st.st_size;
	else
		st.st_mode = 0;
	r->facts = r->format->reads->describe(r->source, e);
	s->facts = r->facts;
	if (!r->facts || find_places(r, e) < 0 || survey_head(s, r->source, e) < 0)
		return -1;
	if (survey_card(s, &r->card, e) < 0)
		return -1;
	r->lint = (struct lint){ .s = s, .to = &r->findings, .card = r->card,
		.places = r->places, .fd = st.st_mode ? r->held : -1,
		.edits = r->format->amend && st.st_mode && strcmp(path, "-") != 0 };
	return 0;
}

/* Reads and judges a model. An error is of the reading, or ERR_NO. */
static int
judge(struct run *r, const char *path, struct err *e)
{
	const struct trusted *keys;
	struct err verdict = ERR_INIT;
	size_t i;

	if (asked_read(r->o, &r->choice, &r->policy, e) < 0)
		return -1;
	if (r->o->trusted && verify(r, path, &r->keys, e) < 0)
		return -1;
	keys = policy_keys(&r->policy, &r->keys);
	if (keys == &r->keys && r->folder.code != ERR_NONE && !r->o->trusted)
		verdict = r->folder;
	else if (keys)
		verify(r, path, keys, &verdict);
	if (verdict.code != ERR_NONE && verdict.code != ERR_SIGNATURE) {
		*e = verdict;
		return -1;
	}
	if (look(r, path, e) < 0)
		return -1;
	if (r->o->trusted || (keys && verdict.code == ERR_NONE))
		r->survey.signature = SURVEY_VERIFIED;
	for (i = 0; i < r->choice.count; i++) {
		struct choice_row *row = &r->choice.rows[i];

		if (row->shown.skipped)
			continue;
		row->shown.skipped = row->lint ? row->lint->judge(&r->lint, row->shown.rule)
		                               : policy_lacks(&r->policy, row->shown.rule);
		if (!row->lint && !row->shown.skipped)
			policy_judge(&r->policy, &r->lint, row->shown.rule, &verdict);
	}
	findings_sort(&r->findings);
	return findings_ok(&r->findings) ? 0 : err_memory(e);
}

/* ---- the answer ---- */

static int
lint(struct run *r, const char *path, struct err *e)
{
	const struct asked *o = r->o;
	struct err ignored = ERR_INIT;

	if (o->trusted && trusted_files(&r->keys, &o->trusted, 1, e) < 0)
		return -1;
	if (o->policy && !o->trusted)
		trusted_load(&r->keys, &r->folder);
	sandbox_read(o->config);
	sandbox_read(o->policy);
	sandbox_read(path);
	if (format_may_spool(path))
		sandbox_spool();
	sandbox_enter();
	if (judge(r, path, e) == 0) {
		if (asked_report(o, &r->choice, &r->findings, path, r->source->plan, NULL, e) == 0)
			asked_verdict(&r->choice, &r->findings, path, e);
		if (strcmp(path, "-") == 0)
			tool_drain();
	} else if (o->form == FINDINGS_SARIF || o->form == FINDINGS_JUNIT) {
		findings_free(&r->findings);
		asked_report(o, &r->choice, &r->findings, path, NULL, e, &ignored);
	}
	return e->code == ERR_NONE ? 0 : -1;
}

static void
run_free(struct run *r)
{
	survey_free(&r->survey);
	close_source(r);
	findings_free(&r->findings);
	choice_free(&r->choice);
	policy_free(&r->policy);
	trusted_free(&r->keys);
	json_decref(r->facts);
	json_decref(r->card);
	free(r->places);
}

int
main(int argc, char **argv)
{
	static struct asked o;
	static const struct opt opts[] = {
		FLAG(0, "rules", &o.list, "list the rules, and judge nothing"),
		TEXT(0, "only", "LIST", &o.only, "judge only these rules: ID,ID with * and ?"),
		TEXT(0, "off", "LIST", &o.off, "switch these rules off"),
		TEXT(0, "config", "FILE", &o.config, "read off, only and fail_on from a JSON file"),
		TEXT(0, "policy", "FILE", &o.policy, "judge by the rules of a team in a JSON file"),
		TEXT(0, "fail-on", "LEVEL", &o.fails,
		     "exit with status 1 from this level on: info, warning\n(default), error or never"),
		FLAG(0, "all", &o.all, "show each finding at the level info, not one for each rule"),
		FLAG(0, "json", &o.json, "print one object per line"),
		FLAG(0, "sarif", &o.sarif, "print SARIF 2.1.0"),
		FLAG(0, "junit", &o.junit, "print JUnit XML"),
		TEXT(0, "trusted-key", "KEY", &o.trusted,
		     "require a signature by the public key in the file KEY"),
		OPT_END
	};
	static const struct tool tool = {
		"apr-lint", "[--only LIST | --off LIST] [--config FILE] [--policy FILE]\n"
		"[--fail-on info|warning|error|never] [--all] [--json | --sarif | --junit]\n"
		"[--trusted-key KEY] [--rules] [FILE ...]",
		"Report practices and signs of danger in a model, without reading its tensors.", opts,
		TOOL_FILES
	};
	static struct run r = { .o = &o, .held = -1 };
	struct err e = ERR_INIT;
	char **files = tool_begin(&tool, argc, argv);
	const char *path;

	if (choice_open(&r.choice, &e) < 0 || asked_check(&o, &r.choice, &e) < 0) {
		run_free(&r);
		return tool_end(&e);
	}
	if (o.list) {
		asked_rules(&o, &r.choice, &e);
	} else {
		each_around(findings_begin(o.form), findings_between(o.form), findings_end(o.form));
		path = tool_input(each_file(files, o.form == FINDINGS_TEXT), &e);
		if (path)
			lint(&r, path, &e);
	}
	run_free(&r);
	return tool_end(&e);
}
