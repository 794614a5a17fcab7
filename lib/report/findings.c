#include "report/findings.h"

#include <stdlib.h>
#include <string.h>

#include "core/only.h"
#include "core/text.h"
#include "report/findings_parts.h"
#include "report/lines.h"

/* ---- parts ---- */

const struct findings_rule *
findings_rule_at(const struct findings_report *r, size_t n)
{
	size_t step = r->rule_bytes ? r->rule_bytes : sizeof *r->rules;

	return (const struct findings_rule *)((const char *)r->rules + n * step);
}

const char *
findings_clean(struct buf *b, const char *text)
{
	size_t n = strlen(text), len;
	const char *s;
	uint32_t c;

	buf_clear(b);
	for (; n > 0 && b->n < FINDINGS_TEXT_MOST; text += len, n -= len) {
		len = text_character(text, n, &c);
		if (len > 0)
			buf_put(b, text, len);
		else
			buf_text(b, "\xef\xbf\xbd"), len = 1;
	}
	if (n > 0)
		buf_text(b, "...");
	s = buf_string(b);
	return s ? s : "";
}

json_t *
findings_json_text(const char *text)
{
	struct buf b = { 0 };
	json_t *v = text ? json_string(findings_clean(&b, text)) : json_null();

	if (!buf_ok(&b)) {
		json_decref(v);
		v = NULL;
	}
	buf_free(&b);
	return v;
}

/* Appends text that was cleaned, without the characters that act on a terminal. */
static void
put_shown(struct buf *to, const char *text, bool is_name)
{
	struct buf clean = { 0 };
	const char *s = findings_clean(&clean, text);
	size_t room = 4 * strlen(s) + 8;
	uint8_t *p = buf_room(to, room);

	if (p && is_name)
		to->n += strlen(text_quote((char *)p, room, s, strlen(s)));
	else if (p)
		to->n += strlen(text_sentence((char *)p, room, s));
	to->failed |= !buf_ok(&clean);
	buf_free(&clean);
}

const char *
findings_line(struct buf *b, const struct finding *x)
{
	const char *s;

	buf_clear(b);
	if (x->object) {
		put_shown(b, x->object, true);
		buf_text(b, ": ");
	}
	put_shown(b, x->fact, false);
	s = buf_string(b);
	return s ? s : "";
}

/* ---- text ---- */

/* The number of findings of each rule that a report has yet to count or show. */
struct left {
	const struct rule *rule;
	enum finding_level level;
	size_t shown, kept;
};

struct lefts {
	struct left *of;
	size_t n;
};

static struct left *
left_of(struct lefts *l, const struct finding *x)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (l->of[i].rule == x->rule && l->of[i].level == x->level)
			return &l->of[i];
	l->of[l->n] = (struct left){ x->rule, x->level, 0, 0 };
	return &l->of[l->n++];
}

/* Counts the findings that are kept, by rule and level. */
static int
lefts_of(struct lefts *l, const struct findings *f)
{
	size_t i;

	*l = (struct lefts){ calloc(f->rules * FINDING_LEVELS + 1, sizeof *l->of), 0 };
	for (i = 0; l->of && i < f->count; i++)
		left_of(l, &f->of[i])->kept++;
	return l->of ? 0 : -1;
}

static void
put_finding(struct buf *b, const struct finding *x, size_t more)
{
	struct buf line = { 0 };

	buf_printf(b, "%s: %s", finding_level_name(x->level), findings_line(&line, x));
	if (more)
		buf_printf(b, ", and %zu more", more);
	buf_printf(b, " [%s]\n", x->rule->id);
	if (x->fix) {
		buf_text(b, "  fix: ");
		put_shown(b, x->fix, false);
		buf_text(b, "\n");
	}
	b->failed |= !buf_ok(&line);
	buf_free(&line);
}

static void
put_count(struct buf *b, size_t n, const char *what, const char *after)
{
	buf_printf(b, "%zu %s%s%s", n, what, n == 1 ? "" : "s", after);
}

static void
put_text(struct buf *b, const struct findings *f, const struct findings_report *r)
{
	struct lefts left;
	size_t i;

	if (lefts_of(&left, f) < 0) {
		b->failed = true;
		return;
	}
	for (i = 0; i < f->count; i++) {
		const struct finding *x = &f->of[i];
		struct left *l = left_of(&left, x);
		size_t most = x->level == FINDING_INFO && r->shown ? r->shown : l->kept;

		most = most < l->kept ? most : l->kept;
		if (++l->shown < most)
			put_finding(b, x, 0);
		else if (l->shown == most)
			put_finding(b, x, findings_at(f, x->rule, x->level) - most);
	}
	put_count(b, f->levels[FINDING_ERROR], "error", ", ");
	put_count(b, f->levels[FINDING_WARN], "warning", ", ");
	buf_printf(b, "%zu info\n", f->levels[FINDING_INFO]);
	free(left.of);
}

/* ---- JSON ---- */

static void
put_json_finding(struct buf *b, const struct finding *x, size_t more, const char *model)
{
	json_t *o = json_pack("{s:s,s:s,s:o,s:o,s:o,s:o}", "id", x->rule->id, "level",
	                      finding_level_name(x->level), "object",
	                      findings_json_text(x->object), "fact", findings_json_text(x->fact),
	                      "fix", findings_json_text(x->fix), "offset",
	                      x->has_offset ? json_from_u64(x->offset) : json_null());

	if (o && more && json_object_set_new(o, "more", json_from_u64(more)) < 0)
		b->failed = true;
	lines_json_of(b, o, model);
}

static void
put_json(struct buf *b, const struct findings *f, const struct findings_report *r)
{
	const char *model = r->several ? r->file : NULL;
	struct lefts left;
	json_t *o;
	size_t i;

	if (lefts_of(&left, f) < 0) {
		b->failed = true;
		return;
	}
	for (i = 0; i < f->count; i++) {
		struct left *l = left_of(&left, &f->of[i]);
		size_t more = findings_at(f, f->of[i].rule, f->of[i].level) - l->kept;

		put_json_finding(b, &f->of[i], ++l->shown == l->kept ? more : 0, model);
	}
	free(left.of);
	o = json_pack("{s:o,s:o,s:o,s:o}", "errors", json_from_u64(f->levels[FINDING_ERROR]),
	              "warnings", json_from_u64(f->levels[FINDING_WARN]), "infos",
	              json_from_u64(f->levels[FINDING_INFO]), "rules",
	              json_from_u64(r->rule_count));
	if (o && r->properties && json_object_update_missing(o, r->properties) < 0)
		b->failed = true;
	lines_json_of(b, o, model);
}

/* ---- all forms ---- */

void
findings_put(struct buf *b, const struct findings *f, const struct findings_report *r,
             enum findings_form form)
{
	static void (*const put[])(struct buf *, const struct findings *,
	                           const struct findings_report *) = {
		[FINDINGS_TEXT] = ONLY_TOOLS(put_text), [FINDINGS_JSON] = put_json,
		[FINDINGS_SARIF] = ONLY_TOOLS(findings_put_sarif),
		[FINDINGS_JUNIT] = ONLY_TOOLS(findings_put_junit),
	};

	b->failed |= !findings_ok(f);
	put[form](b, f, r);
}

static const struct {
	const char *begin, *between, *end;
} around[] = {
	[FINDINGS_TEXT] = { "", "", "" },
	[FINDINGS_JSON] = { "", "", "" },
	[FINDINGS_SARIF] = {
		"{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\","
		"\"version\":\"2.1.0\",\"runs\":[", ",", "]}\n" },
	[FINDINGS_JUNIT] = {
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", "",
		"</testsuites>\n" },
};

const char *
findings_begin(enum findings_form form)
{
	return around[form].begin;
}

const char *
findings_between(enum findings_form form)
{
	return around[form].between;
}

const char *
findings_end(enum findings_form form)
{
	return around[form].end;
}
