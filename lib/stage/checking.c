#include "stage/checking.h"

#include <stdlib.h>

#include "check/judge.h"
#include "core/only.h"
#include "report/check_text.h"
#include "report/findings.h"

/* Rules beyond the points count unless points were chosen; those of a policy do always. */
static bool
is_chosen(const struct rule *rule, void *ctx)
{
	const struct check_run *r = ctx;
	const unsigned n = point_number(rule);

	if (!ONLY_LIBRARY && policy_is_rule(rule))
		return true;
	return n ? r->chosen[n] : !r->o->only && !r->o->category;
}

void
check_subject(struct check_run *r, const char *format, const json_t *facts)
{
	r->survey.path = r->path;
	r->survey.format = format;
	r->survey.facts = facts;
	r->survey.arch = r->o->arch;
	r->survey.jobs = (unsigned)r->o->jobs;
}

static enum findings_form
form_of(const struct check_options *o)
{
	return ONLY_LIBRARY || o->json ? FINDINGS_JSON : o->sarif ? FINDINGS_SARIF
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
	for (i = 0; !ONLY_LIBRARY && policy_rule(i); i++)
		extra++;
	if (!(to = calloc(POINTS + extra, sizeof *to)))
		return NULL;
	for (n = 1, *count = 0; n <= POINTS; n++)
		if (r->chosen[n] && point_row(n)->held == POINT_RULE)
			to[(*count)++] = (struct findings_rule){ point_rule(n), r->score.why[n] };
	for (i = 0; (x = judge_extra(i)); i++)
		if (is_chosen(x, (void *)(uintptr_t)r))
			to[(*count)++] = (struct findings_rule){ x, NULL };
	for (i = 0; !ONLY_LIBRARY && r->policy.o && (x = policy_rule(i)); i++)
		to[(*count)++] = (struct findings_rule){ x, policy_lacks(&r->policy, x) };
	return to;
}

static int
put_report(struct buf *b, const struct check_run *r, struct err *e)
{
	const enum findings_form form = form_of(r->o);
	struct findings_report report = { .tool = "apr-check",
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
	if (!ONLY_LIBRARY && r->survey.source && r->reference.source &&
	    judge_reference(&r->survey, &r->reference, &r->findings, e) < 0)
		return -1;
	if (!ONLY_LIBRARY && r->survey.complete && r->policy.o &&
	    policy_judge_all(&r->policy, &r->survey, &r->findings, &r->verdict, e) < 0)
		return -1;
	findings_only(&r->findings, is_chosen, r);
	findings_sort(&r->findings);
	score_of(&r->score, &r->survey, &r->findings, r->chosen);
	if (ONLY_READS)
		return 0;
	if (ONLY_LIBRARY || !r->o->tensors)
		return put_report(b, r, e);
	check_put_tensors(b, &r->survey, &r->findings);
	return 0;
}
