/* The model card as text and as Markdown. */
#include "report/card.h"

#include <stdio.h>
#include <string.h>

#include "check/card_fields.h"
#include "core/text.h"
#include "crypto/statement.h"
#include "report/lines.h"

#define COLUMN 20 /* columns of a name, at least; long ones move only their own line */
#define SHOWN 2000 /* maximum bytes of JSON shown of a value without a form of its own */

static const struct card_field *
field(const struct card_field *rows, const char *name)
{
	for (; rows->name; rows++)
		if (strcmp(rows->name, name) == 0)
			return rows;
	return NULL;
}

/* ---- values ---- */

/* Existing software writes times as seconds since 1970 in decimal. */
static void
put_time(struct buf *to, const char *seconds)
{
	char text[STATEMENT_DATE + 1];
	uint64_t v;

	if (text_u64(seconds, 1, UINT64_MAX, &v) == 0 && statement_date(seconds, text) == 0)
		buf_printf(to, " (%s)", text);
}

static void
put_json(struct buf *to, const json_t *v)
{
	struct buf b = { 0 };
	size_t n;

	json_write(v, &b);
	for (n = b.n < SHOWN ? b.n : SHOWN; n < b.n && n > 0 && (b.p[n] & 0xc0) == 0x80; n--)
		; /* back to the first byte of a character */
	buf_put(to, b.p, n);
	if (n < b.n)
		buf_text(to, " ...");
	to->failed |= b.failed;
	buf_free(&b);
}

/* Appends the raw text of a value. */
static void
put_raw(struct buf *to, const json_t *v)
{
	size_t i;

	if (json_is_string(v))
		buf_put(to, json_string_value(v), json_string_length(v));
	else if (json_is_real(v))
		buf_printf(to, "%.7g", json_real_value(v));
	else if (json_is_boolean(v))
		buf_text(to, json_is_true(v) ? "yes" : "no");
	else if (json_is_array(v) && json_is_string(json_array_get(v, 0)))
		for (i = 0; i < json_array_size(v); i++) {
			buf_text(to, i ? ", " : "");
			put_raw(to, json_array_get(v, i));
		}
	else
		put_json(to, v);
}

/* "Llama 3.2 1B, Meta Llama, https://..." */
static void
put_entry(struct buf *to, const json_t *entry)
{
	static const char *const fields[] = { "name", "version", "organization", "author", "repo_url",
		"url", "doi" };
	size_t i, begin = to->n;

	for (i = 0; i < sizeof fields / sizeof *fields; i++) {
		const json_t *v = json_object_get(entry, fields[i]);

		if (!json_is_string(v))
			continue;
		buf_text(to, to->n > begin ? ", " : "");
		put_raw(to, v);
	}
}

static void
put_value(struct buf *to, const char *name, const json_t *v)
{
	put_raw(to, v);
	if (json_is_string(v) && strlen(name) > 3 && strcmp(name + strlen(name) - 3, "_at") == 0)
		put_time(to, json_string_value(v));
}

/* ---- text ---- */

/* Appends a line: a name and a value, whose further lines are indented. */
static void
put_line(struct buf *to, const char *name, struct buf *value)
{
	struct buf shown = { 0 };
	size_t i, columns;

	text_show(&shown, name, strlen(name));
	columns = buf_string(&shown) ? text_columns((char *)shown.p) : 0;
	for (i = 0; i < shown.n; i++) /* a name is one line */
		buf_u8(to, shown.p[i] == '\n' || shown.p[i] == '\t' ? ' ' : shown.p[i]);
	do
		buf_u8(to, ' ');
	while (++columns < COLUMN);
	buf_clear(&shown);
	text_show(&shown, value->p, value->n);
	while (shown.n > 0 && shown.p[shown.n - 1] == '\n')
		shown.n--;
	for (i = 0; i < shown.n; i++) {
		buf_u8(to, shown.p[i] == '\t' ? ' ' : shown.p[i]);
		if (shown.p[i] == '\n')
			buf_printf(to, "%*s", COLUMN, "");
	}
	buf_text(to, "\n");
	to->failed |= shown.failed | value->failed;
	buf_free(&shown);
	buf_clear(value);
}

/* One line for each member: "metrics.accuracy". */
static void
put_map(struct buf *to, const char *name, const json_t *map)
{
	struct buf b = { 0 }, full = { 0 };
	const char *member;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)map, member, v) {
		buf_clear(&full);
		if (name)
			buf_printf(&full, "%s.", name);
		buf_text(&full, member);
		put_value(&b, member, v);
		if (buf_string(&full))
			put_line(to, (char *)full.p, &b);
	}
	buf_free(&b);
	buf_free(&full);
}

void
card_text(struct buf *to, const json_t *card)
{
	struct buf b = { 0 };
	const char *name;
	json_t *v, *entry;
	size_t i;

	json_object_foreach((json_t *)(uintptr_t)card, name, v) {
		const struct card_field *f = field(card_fields, name);

		if (!f)
			continue;
		if (f->kind == CARD_MAP) {
			put_map(to, f->group == CARD_MORE ? NULL : name, v);
		} else if (f->kind == CARD_ENTRIES) {
			json_array_foreach(v, i, entry) {
				put_entry(&b, entry);
				put_line(to, i ? "" : name, &b);
			}
		} else {
			put_value(&b, name, v);
			put_line(to, name, &b);
		}
	}
	buf_free(&b);
}

/* ---- Markdown ---- */

/* Appends text whose characters have no meaning in Markdown or HTML. Line breaks become
 * spaces, or hard line breaks if it is a paragraph. */
static void
put_escaped(struct buf *to, const struct buf *value, bool paragraph)
{
	struct buf shown = { 0 };
	size_t i;

	text_show(&shown, value->p, value->n);
	while (shown.n > 0 && shown.p[shown.n - 1] == '\n')
		shown.n--;
	for (i = 0; i < shown.n; i++) {
		char c = (char)shown.p[i];

		if (c == '\n')
			buf_text(to, paragraph ? "\\\n" : " ");
		else if (c == '\t')
			buf_u8(to, ' ');
		else if (c == '<' || c == '>' || c == '&')
			buf_text(to, c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&amp;");
		else if (c && strchr("\\`*_[]|~#!$", c))
			buf_printf(to, "\\%c", c);
		else
			buf_u8(to, (uint8_t)c);
	}
	to->failed |= shown.failed | value->failed;
	buf_free(&shown);
}

static void
put_item(struct buf *to, const char *before, const char *label, struct buf *value)
{
	struct buf name = { 0 };

	buf_text(&name, label);
	buf_printf(to, "%s- **", before);
	put_escaped(to, &name, false);
	buf_text(to, ":** ");
	put_escaped(to, value, false);
	buf_text(to, "\n");
	buf_free(&name);
	buf_clear(value);
}

static void
put_items(struct buf *to, const json_t *map, const struct card_field *labels, const char *before)
{
	struct buf b = { 0 };
	const char *member;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)map, member, v) {
		const struct card_field *f = field(labels, member);

		put_value(&b, member, v);
		put_item(to, before, f ? f->label : member, &b);
	}
	buf_free(&b);
}

static void
put_field(struct buf *to, const struct card_field *f, const json_t *v, bool alone)
{
	struct buf b = { 0 };
	size_t i;

	if (f->kind == CARD_MAP) {
		if (!alone)
			buf_printf(to, "- **%s:**\n", f->label);
		put_items(to, v, card_compliance, alone ? "" : "  ");
	} else if (f->kind == CARD_ENTRIES) {
		buf_printf(to, "- **%s:**\n", f->label);
		for (i = 0; i < json_array_size(v); i++) {
			put_entry(&b, json_array_get(v, i));
			buf_text(to, "  - ");
			put_escaped(to, &b, false);
			buf_text(to, "\n");
			buf_clear(&b);
		}
	} else {
		put_value(&b, f->name, v);
		put_item(to, "", f->label, &b);
	}
	buf_free(&b);
}

/* The name is the heading, the description the first paragraph. */
static void
put_heading(struct buf *to, const json_t *card)
{
	struct buf b = { 0 };
	const json_t *v = json_object_get(card, "name");

	if (v)
		put_raw(&b, v);
	else
		buf_text(&b, "Model card");
	buf_text(to, "# ");
	put_escaped(to, &b, false);
	buf_text(to, "\n");
	buf_clear(&b);
	v = json_object_get(card, "description");
	if (v) {
		put_raw(&b, v);
		buf_text(to, "\n");
		put_escaped(to, &b, true);
		buf_text(to, "\n");
	}
	buf_free(&b);
}

void
card_markdown(struct buf *to, const json_t *card)
{
	static const char *const titles[CARD_GROUPS] = { "Model", "Intended use", "Training",
		"Evaluation", "Risks and limitations", "Compliance", "More" };
	const struct card_field *f;
	unsigned group = CARD_GROUPS;

	put_heading(to, card);
	for (f = card_fields; f->name; f++) {
		const json_t *v = json_object_get(card, f->name);

		if (!v || strcmp(f->name, "name") == 0 || strcmp(f->name, "description") == 0)
			continue;
		if (f->group != group)
			buf_printf(to, "\n## %s\n\n", titles[f->group]);
		group = f->group;
		put_field(to, f, v, f->group == CARD_EVALUATION || f->group >= CARD_COMPLIANCE);
	}
}

void
card_json(struct buf *to, const json_t *card, const char *model)
{
	lines_json_of(to, json_copy((json_t *)(uintptr_t)card), model);
}
