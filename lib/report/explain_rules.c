/* Explanations of rules that judge a model, from their tables. */
#include "report/explain_rules.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "check/judge.h"
#include "check/lint.h"
#include "check/points.h"
#include "check/policy.h"
#include "report/explain.h"

#define POINTS 100

static const struct rule *
of_points(size_t i)
{
	return i < POINTS ? point_rule((unsigned)i + 1) : NULL;
}

static const struct rule *
of_lint(size_t i)
{
	return lint_rule(i) ? &lint_rule(i)->rule : NULL;
}

static const struct rule *
of_security(size_t i)
{
	return security_rule(i) ? &security_rule(i)->rule : NULL;
}

/* The tables, with the tool that applies them. */
static const struct {
	const struct rule *(*row)(size_t i);
	const char *tool;
} tables[] = {
	{ of_points, "apr-check" }, { judge_extra, "apr-check" }, { of_lint, "apr-lint" },
	{ of_security, "apr-lint" }, { policy_rule, "apr-lint --policy" },
};

const struct rule *
explain_rule(size_t index, const char **tool)
{
	const struct rule *r;
	size_t t, i;

	for (t = 0; t < sizeof tables / sizeof *tables; t++)
		for (i = 0; (r = tables[t].row(i)); i++)
			if (index-- == 0) {
				*tool = tables[t].tool;
				return r;
			}
	return NULL;
}

/* Whether a word names a rule: its id, or a point as the specification's list numbers them. */
static bool
is_id(const char *id, const char *word)
{
	return strcasecmp(id, word) == 0 ||
	       (strncmp(id, "CHECK-", 6) == 0 && strncasecmp(word, "APR-", 4) == 0 &&
	        strcmp(id + 6, word + 4) == 0);
}

json_t *
explain_rule_word(const char *word)
{
	const struct rule *r;
	const char *tool;
	json_t *o = NULL;
	struct buf b = { 0 };
	size_t i;

	for (i = 0; (r = explain_rule(i, &tool)) && !is_id(r->id, word); i++)
		;
	if (!r || !(o = json_object()))
		return o;
	buf_printf(&b, "%s: a rule of %s", r->id, tool);
	explain_set(o, "title", &b);
	json_object_set_new(o, "claim", json_string(r->claim));
	if (r->why)
		json_object_set_new(o, "why", json_string(r->why));
	json_object_set_new(o, "level", json_string(finding_level_name(r->level)));
	buf_printf(&b, "%s FILE", tool);
	explain_set(o, "test", &b);
	return o;
}
