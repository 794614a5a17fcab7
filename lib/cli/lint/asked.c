#include "cli/lint/asked.h"

#include <string.h>

#include "cli/each.h"
#include "cli/tool.h"
#include "core/reader.h"

int
asked_check(struct asked *o, struct choice *c, struct err *e)
{
	if (o->json + o->sarif + o->junit > 1)
		return tool_misused(e, "--json, --sarif and --junit cannot be combined");
	if (o->only && o->off)
		return tool_misused(e, "--only and --off cannot be combined");
	o->form = o->json ? FINDINGS_JSON : o->sarif ? FINDINGS_SARIF : o->junit ? FINDINGS_JUNIT
	                                                                         : FINDINGS_TEXT;
	c->chosen = o->fails != NULL;
	if (choice_fails(c, o->fails, ERR_USAGE, "--fail-on", e) < 0 ||
	    choice_off(c, o->off, ERR_USAGE, "--off", e) < 0)
		return -1;
	return choice_only(c, o->only, ERR_USAGE, "--only", e);
}

int
asked_read(const struct asked *o, struct choice *c, struct policy *p, struct err *e)
{
	struct buf b = { 0 };

	if (o->config && reader_file(o->config, CHOICE_CONFIG, &b, e) == 0)
		choice_config(c, b.p, b.n, o->config, e);
	buf_free(&b);
	if (e->code == ERR_NONE && o->policy)
		policy_read(p, o->policy, e);
	return e->code == ERR_NONE ? 0 : -1;
}

int
asked_rules(const struct asked *o, const struct choice *c, struct err *e)
{
	struct buf b = { 0 };
	int status;

	choice_put(&b, c, o->json);
	status = tool_print(&b, e);
	buf_free(&b);
	return status;
}

int
asked_report(const struct asked *o, const struct choice *c, const struct findings *f,
             const char *path, const struct model *plan, const struct err *error,
             struct err *e)
{
	const struct findings_report report = {
		.tool = "apr-lint",
		.about = "Report practices and signs of danger in a model.",
		.file = strcmp(path, "-") == 0 ? NULL : path,
		.several = each_name() != NULL,
		.rules = &c->rows->shown,
		.rule_count = c->count,
		.rule_bytes = sizeof *c->rows,
		.fails = c->fails,
		.shown = o->all ? 0 : 1,
		.plan = plan,
		.error = error,
	};
	struct buf b = { 0 };
	int status;

	findings_put(&b, f, &report, o->form);
	status = tool_print(&b, e);
	buf_free(&b);
	return status;
}

int
asked_verdict(const struct choice *c, const struct findings *f, const char *path, struct err *e)
{
	size_t n = 0;
	int level;

	for (level = FINDING_LEVELS - 1; level >= (int)c->fails; level--)
		n += f->levels[level];
	return n == 0 ? 0 : err_set(e, ERR_NO, strcmp(path, "-") ? path : "<stdin>",
	                            "%zu finding%s at the level %s or above", n, n == 1 ? "" : "s",
	                            finding_level_name(c->fails));
}
