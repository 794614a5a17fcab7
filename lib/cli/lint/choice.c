#include "cli/lint/choice.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/near.h"
#include "core/text.h"
#include "report/lines.h"

static int
add(struct choice *c, size_t *cap, const struct rule *r, const struct lint_rule *lint, struct err *e)
{
	if (mem_grow(&c->rows, cap, c->count + 1, sizeof *c->rows) < 0)
		return err_memory(e);
	c->rows[c->count++] = (struct choice_row){ { r, NULL }, lint };
	return 0;
}

int
choice_open(struct choice *c, struct err *e)
{
	const struct lint_rule *row;
	const struct rule *rule;
	size_t i, cap = 0;
	int r = 0;

	*c = (struct choice){ .fails = FINDING_WARN };
	for (i = 0; r == 0 && (row = lint_rule(i)); i++)
		r = add(c, &cap, &row->rule, row, e);
	for (i = 0; r == 0 && (row = security_rule(i)); i++)
		r = add(c, &cap, &row->rule, row, e);
	for (i = 0; r == 0 && (rule = policy_rule(i)); i++)
		r = add(c, &cap, rule, NULL, e);
	return r;
}

void
choice_free(struct choice *c)
{
	free(c->rows);
	*c = (struct choice){ 0 };
}

/* ---- switching ---- */

/* Marks the rules that fit an ID. */
static int
mark(const struct choice *c, bool *marked, const char *id, enum err_code code, const char *where,
     struct err *e)
{
	struct near near = { 0 };
	bool any = false;
	size_t i;

	for (i = 0; i < c->count; i++) {
		const char *name = c->rows[i].shown.rule->id;

		if (fnmatch(id, name, FNM_CASEFOLD) == 0)
			any = marked[i] = true;
		near_consider(&near, name, text_distance(id, name));
	}
	if (any)
		return 0;
	err_set(e, code, where, "%.80s is not a rule", id);
	near_hint(&near, e);
	return -1;
}

static int
switch_rules(struct choice *c, const char *list, bool only, enum err_code code, const char *where,
             struct err *e)
{
	bool *marked = calloc(c->count, sizeof *marked);
	char *copy = mem_text(list, strlen(list)), *id, *next;
	size_t i;
	int r = marked && copy ? 0 : err_memory(e);

	for (id = next = copy; r == 0 && id; ) {
		id = strsep(&next, ",");
		if (id)
			r = mark(c, marked, id, code, where, e);
	}
	for (i = 0; r == 0 && i < c->count; i++)
		if (marked[i] != only)
			c->rows[i].shown.skipped = CHOICE_OFF;
	free(marked);
	free(copy);
	return r;
}

int
choice_off(struct choice *c, const char *list, enum err_code code, const char *where, struct err *e)
{
	return list ? switch_rules(c, list, false, code, where, e) : 0;
}

int
choice_only(struct choice *c, const char *list, enum err_code code, const char *where,
            struct err *e)
{
	return list ? switch_rules(c, list, true, code, where, e) : 0;
}

int
choice_fails(struct choice *c, const char *word, enum err_code code, const char *where,
             struct err *e)
{
	int level;

	if (!word)
		return 0;
	for (level = 0; level <= FINDING_LEVELS; level++) {
		const char *name = level < FINDING_LEVELS
		                       ? finding_level_name((enum finding_level)level) : "never";

		if (strcmp(word, name) == 0) {
			c->fails = (enum finding_level)level;
			return 0;
		}
	}
	return err_set(e, code, where, "%.80s is not info, warning, error or never", word);
}

/* ---- the configuration ---- */

/* A list of IDs as one text; "" if it is empty. */
static int
join(struct buf *b, const json_t *list, const char *name, const char *where, struct err *e)
{
	json_t *id;
	size_t i;

	if (!json_is_array(list))
		return err_set(e, ERR_CORRUPT, where, "%s is not a list", name);
	json_array_foreach((json_t *)(uintptr_t)list, i, id) {
		if (!json_is_string(id) || strchr(json_string_value(id), ','))
			return err_set(e, ERR_CORRUPT, where, "%s has an item that is not a rule", name);
		buf_printf(b, "%s%s", i ? "," : "", json_string_value(id));
	}
	return buf_string(b) ? 0 : err_memory(e);
}

static int
take_member(struct choice *c, const char *name, const json_t *v, const char *where, struct err *e)
{
	struct buf list = { 0 };
	bool only = strcmp(name, "only") == 0;
	int r;

	if (strcmp(name, "fail_on") == 0 && json_is_string(v))
		return c->chosen ? 0 : choice_fails(c, json_string_value(v), ERR_CORRUPT, where, e);
	if (!only && strcmp(name, "off") != 0)
		return err_set(e, ERR_CORRUPT, where, "%.80s is not a member of a configuration, or not "
		               "of this type", name);
	r = join(&list, v, name, where, e);
	if (r == 0 && (list.n > 0 || only))
		r = switch_rules(c, (const char *)list.p, only, ERR_CORRUPT, where, e);
	buf_free(&list);
	return r;
}

int
choice_config(struct choice *c, const void *text, size_t n, const char *where, struct err *e)
{
	json_t *o = json_parse(text, n, ERR_CORRUPT, where, e), *v;
	const char *name;
	int r = o ? 0 : -1;

	json_object_foreach(o, name, v)
		if (r == 0)
			r = take_member(c, name, v, where, e);
	json_decref(o);
	return r;
}

/* ---- the list ---- */

void
choice_put(struct buf *b, const struct choice *c, bool json)
{
	size_t i;

	for (i = 0; i < c->count; i++) {
		const struct rule *r = c->rows[i].shown.rule;

		if (json)
			lines_json(b, json_pack("{s:s,s:s,s:s,s:s,s:b}", "id", r->id, "level",
			                        finding_level_name(r->level), "claim", r->claim, "why",
			                        r->why, "on", !c->rows[i].shown.skipped));
		else
			buf_printf(b, "%-26s %-8s %s%s\n", r->id, finding_level_name(r->level), r->claim,
			           c->rows[i].shown.skipped ? " (off)" : "");
	}
}
