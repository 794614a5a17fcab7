#include <inttypes.h>
#include <string.h>

#include "core/text.h"
#include "report/findings_parts.h"

/* Appends text as XML: escaped, with the characters that act on a terminal, or that XML 1.0
 * does not allow, as \xNN. Line breaks stay if they are ours. */
static void
put_xml(struct buf *b, const char *text)
{
	struct buf clean = { 0 };
	const char *s = findings_clean(&clean, text);
	size_t n = strlen(s), len, i;
	uint32_t c;

	for (; n > 0; s += len, n -= len) {
		len = text_character(s, n, &c);
		if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\'')
			buf_printf(b, "&#%" PRIu32 ";", c);
		else if (!text_dangerous(c) && c != 0xfffe && c != 0xffff)
			buf_put(b, s, len);
		else
			for (i = 0; i < len; i++)
				buf_printf(b, "\\x%02x", (unsigned char)s[i]);
	}
	b->failed |= !buf_ok(&clean);
	buf_free(&clean);
}

/* Appends an attribute with a space before it. */
static void
put_attribute(struct buf *b, const char *name, const char *value)
{
	buf_printf(b, " %s=\"", name);
	put_xml(b, value);
	buf_text(b, "\"");
}

static const char *
file_of(const struct findings_report *r)
{
	return r->file ? r->file : "stdin";
}

/* The findings of a rule: those that fail, or the others. */
static size_t
count(const struct findings *f, const struct findings_report *r, const struct rule *rule,
      bool failing)
{
	size_t i, n = 0;

	for (i = 0; i < f->count; i++)
		n += f->of[i].rule == rule && (f->of[i].level >= r->fails) == failing;
	return n;
}

/* Appends the findings of a rule, one per line, and the number of those that are not kept. */
static void
put_lines(struct buf *b, const struct findings *f, const struct findings_report *r,
          const struct rule *rule, bool failing)
{
	size_t kept = count(f, r, rule, true) + count(f, r, rule, false), i;
	struct buf line = { 0 };

	for (i = 0; i < f->count; i++) {
		if (f->of[i].rule != rule || (f->of[i].level >= r->fails) != failing)
			continue;
		buf_printf(b, "%s: ", finding_level_name(f->of[i].level));
		put_xml(b, findings_line(&line, &f->of[i]));
		buf_text(b, "\n");
		if (f->of[i].fix) {
			buf_text(b, "  fix: ");
			put_xml(b, f->of[i].fix);
			buf_text(b, "\n");
		}
	}
	if (findings_of(f, rule) > kept)
		buf_printf(b, "and %zu more\n", findings_of(f, rule) - kept);
	b->failed |= !buf_ok(&line);
	buf_free(&line);
}

/* The first finding that fails. */
static void
put_failure(struct buf *b, const struct findings *f, const struct findings_report *r,
            const struct rule *rule)
{
	struct buf line = { 0 };
	size_t i = 0;

	while (f->of[i].rule != rule || f->of[i].level < r->fails)
		i++;
	buf_text(b, "      <failure");
	put_attribute(b, "message", findings_line(&line, &f->of[i]));
	put_attribute(b, "type", finding_level_name(f->of[i].level));
	buf_text(b, ">");
	put_lines(b, f, r, rule, true);
	buf_text(b, "</failure>\n");
	b->failed |= !buf_ok(&line);
	buf_free(&line);
}

static void
put_case_begin(struct buf *b, const struct findings_report *r, const char *id, const char *claim)
{
	struct buf name = { 0 };

	buf_printf(&name, "%s: %s", id, claim);
	buf_text(b, "    <testcase");
	put_attribute(b, "name", buf_string(&name) ? (const char *)name.p : "");
	put_attribute(b, "classname", r->tool);
	put_attribute(b, "file", file_of(r));
	put_attribute(b, "time", "0");
	buf_text(b, ">\n");
	b->failed |= !buf_ok(&name);
	buf_free(&name);
}

static void
put_case(struct buf *b, const struct findings *f, const struct findings_report *r,
         const struct findings_rule *row)
{
	bool fails = count(f, r, row->rule, true) > 0;

	put_case_begin(b, r, row->rule->id, row->rule->claim);
	if (row->skipped && !fails) {
		buf_text(b, "      <skipped");
		put_attribute(b, "message", row->skipped);
		buf_text(b, "/>\n");
	}
	if (fails)
		put_failure(b, f, r, row->rule);
	if (count(f, r, row->rule, false)) {
		buf_text(b, "      <system-out>");
		put_lines(b, f, r, row->rule, false);
		buf_text(b, "</system-out>\n");
	}
	buf_text(b, "    </testcase>\n");
}

static void
put_error(struct buf *b, const struct findings_report *r)
{
	put_case_begin(b, r, "READ", "the model can be read");
	buf_text(b, "      <error");
	put_attribute(b, "message", r->error->fact);
	put_attribute(b, "type", "error");
	buf_text(b, ">");
	put_xml(b, r->error->object);
	buf_text(b, "</error>\n    </testcase>\n");
}

static void
put_properties(struct buf *b, json_t *properties)
{
	const char *name;
	json_t *value;

	buf_text(b, "    <properties>\n");
	json_object_foreach(properties, name, value) {
		struct buf text = { 0 };

		if (json_is_string(value))
			buf_text(&text, json_string_value(value));
		else if (json_write(value, &text) < 0)
			b->failed = true;
		buf_text(b, "      <property");
		put_attribute(b, "name", name);
		put_attribute(b, "value", buf_string(&text) ? (const char *)text.p : "");
		buf_text(b, "/>\n");
		b->failed |= !buf_ok(&text);
		buf_free(&text);
	}
	buf_text(b, "    </properties>\n");
}

/* The attributes that count test cases. */
static void
put_counts(struct buf *b, const struct findings *f, const struct findings_report *r)
{
	size_t i, failures = 0, skipped = 0;

	for (i = 0; !r->error && i < r->rule_count; i++) {
		const struct findings_rule *row = findings_rule_at(r, i);
		bool fails = count(f, r, row->rule, true) > 0;

		failures += fails;
		skipped += row->skipped && !fails;
	}
	buf_printf(b, " tests=\"%zu\" failures=\"%zu\" errors=\"%d\" skipped=\"%zu\" time=\"0\"",
	           r->error ? 1 : r->rule_count, failures, r->error != NULL, skipped);
}

void
findings_put_junit(struct buf *b, const struct findings *f, const struct findings_report *r)
{
	size_t i;

	if (!r->several) {
		buf_text(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
		put_attribute(b, "name", r->tool);
		put_counts(b, f, r);
		buf_text(b, ">\n");
	}
	buf_text(b, "  <testsuite");
	put_attribute(b, "name", file_of(r));
	put_counts(b, f, r);
	buf_text(b, ">\n");
	if (r->properties && json_object_size(r->properties))
		put_properties(b, r->properties);
	for (i = 0; !r->error && i < r->rule_count; i++)
		put_case(b, f, r, findings_rule_at(r, i));
	if (r->error)
		put_error(b, r);
	buf_text(b, "  </testsuite>\n");
	if (!r->several)
		buf_text(b, findings_end(FINDINGS_JUNIT));
}
