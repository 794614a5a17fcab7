#include "cli/check/check.h"

#include <stdlib.h>
#include <string.h>

#include "check/judge.h"
#include "cli/tool.h"
#include "report/check_text.h"
#include "report/findings.h"

/* ---- which points ---- */

static int
choose_category(const char *text, bool set[POINTS + 1], struct err *e)
{
	bool found = false;
	unsigned n;

	for (n = 1; n <= POINTS; n++) {
		const char c = point_category(n);

		if ((text[0] == c && !text[1]) || strcmp(text, point_category_name(c)) == 0)
			found = set[n] = true;
	}
	return found ? 0 : tool_misused(e, "--category: A, B, C or D, not %.40s", text);
}

int
check_choose(struct check_run *r, struct err *e)
{
	bool only[POINTS + 1] = { false }, in[POINTS + 1] = { false }, out[POINTS + 1] = { false };
	unsigned n;

	if ((r->o->only && points_pick(r->o->only, only, e) < 0) ||
	    (r->o->category && choose_category(r->o->category, in, e) < 0) ||
	    (r->o->except && points_pick(r->o->except, out, e) < 0))
		return -1;
	for (n = 1; n <= POINTS; n++)
		r->chosen[n] = (!r->o->only || only[n]) && (!r->o->category || in[n]) && !out[n];
	return 0;
}

/* Rules beyond the points count unless points were chosen. */
static bool
is_chosen(const struct rule *rule, void *ctx)
{
	const struct check_run *r = ctx;
	const unsigned n = point_number(rule);

	return n ? r->chosen[n] : !r->o->only && !r->o->category;
}

/* ---- reports ---- */

static enum findings_form
form_of(const struct check_options *o)
{
	return o->json ? FINDINGS_JSON : o->sarif ? FINDINGS_SARIF
	       : o->junit ? FINDINGS_JUNIT : FINDINGS_TEXT;
}

/* All rules of this run, with the reason if one was not judged. NULL without memory. */
static struct findings_rule *
rules_of(const struct check_run *r, size_t *count)
{
	struct findings_rule *to;
	const struct rule *x;
	size_t i, extra = 0;
	unsigned n;

	while (judge_extra(extra))
		extra++;
	if (!(to = calloc(POINTS + extra, sizeof *to)))
		return NULL;
	for (n = 1, *count = 0; n <= POINTS; n++)
		if (r->chosen[n] && point_row(n)->held == POINT_RULE)
			to[(*count)++] = (struct findings_rule){ point_rule(n), r->score.why[n] };
	for (i = 0; (x = judge_extra(i)); i++)
		if (is_chosen(x, (void *)(uintptr_t)r))
			to[(*count)++] = (struct findings_rule){ x, NULL };
	return to;
}

static int
put_report(struct buf *b, const struct check_run *r, struct err *e)
{
	const enum findings_form form = form_of(r->o);
	struct findings_report report = { .tool = tool_name(),
		.about = "Judges a model by 100 points.", .file = r->path,
		.fails = FINDING_ERROR, .shown = 8, .error = r->refused,
		.plan = r->survey.source ? r->survey.source->plan : NULL };
	struct findings_rule *rules = rules_of(r, &report.rule_count);

	if (!rules)
		return err_memory(e);
	report.rules = rules;
	report.properties = check_properties(&r->score);
	if (form == FINDINGS_TEXT && !r->o->pass)
		check_put_points(b, &r->score, r->o->all);
	if (form == FINDINGS_JSON)
		check_json_points(b, &r->score, NULL);
	findings_put(b, &r->findings, &report, form);
	if (form == FINDINGS_TEXT && !r->o->pass)
		check_put_score(b, &r->score);
	json_decref(report.properties);
	free(rules);
	return 0;
}

/* Judges what the survey holds, and builds the report. */
int
check_judge(struct check_run *r, struct buf *b, struct err *e)
{
	/* A tensor whose finding is only counted would pass. */
	r->findings.most = r->o->tensors ? r->survey.count + FINDINGS_KEPT : 0;
	if (r->survey.source && judge_all(&r->survey, &r->findings, e) < 0)
		return -1;
	if (r->survey.source && r->reference.source &&
	    judge_reference(&r->survey, &r->reference, &r->findings, e) < 0)
		return -1;
	findings_only(&r->findings, is_chosen, r);
	findings_sort(&r->findings);
	score_of(&r->score, &r->survey, &r->findings, r->chosen);
	if (!r->o->tensors)
		return put_report(b, r, e);
	check_put_tensors(b, &r->survey, &r->findings);
	return 0;
}

/* The answer, unless an error is the answer: 5 if a point fails, or the score is too low. */
int
check_answer(const struct check_run *r, struct err *e)
{
	const size_t n = r->findings.levels[FINDING_ERROR];

	if (n > 0)
		return err_set(e, ERR_INVALID, r->path, "%zu finding%s of level error", n,
		               n == 1 ? "" : "s");
	if (r->o->min_score && r->score.percent < r->o->min_score)
		return err_set(e, ERR_INVALID, r->path, "its score is %u, below %u",
		               r->score.percent, (unsigned)r->o->min_score);
	return 0;
}
