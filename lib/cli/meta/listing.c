#include "cli/meta/listing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/meta/edited.h"
#include "cli/meta/apply.h"
#include "cli/tool.h"
#include "core/text.h"
#include "model/value_text.h"
#include "report/facts.h"

/* Prints {"key":K,"type":T,"value":V}. */
static int
print_object(const char *key, struct value_type type, const uint8_t *wire, uint64_t n,
             struct err *e)
{
	char text[VALUE_TYPE_TEXT];
	struct buf b = { 0 };
	int r;

	buf_text(&b, "{\"key\":");
	json_show_text(&b, key, strlen(key));
	buf_printf(&b, ",\"type\":\"%s\",\"value\":", value_type_text(type, text));
	r = value_show(type, wire, (size_t)n, &b, tool_print, e);
	buf_text(&b, "}\n");
	if (r == 0)
		r = tool_print(&b, e);
	buf_free(&b);
	return r;
}

/* Prints the bytes of a string; on a terminal, without what could control it. */
static int
print_text(const uint8_t *p, size_t n, struct err *e)
{
	struct buf b = { 0 };
	int r;

	if (isatty(STDOUT_FILENO)) {
		text_show(&b, p, n);
		buf_text(&b, "\n");
	} else {
		buf_put(&b, p, n);
	}
	r = tool_print(&b, e);
	buf_free(&b);
	return r;
}

static int
print_value(struct value_type type, const uint8_t *wire, uint64_t n, struct err *e)
{
	struct buf b = { 0 };
	int r;

	if (type.depth == 0 && type.leaf == VALUE_STRING)
		return print_text(wire + 8, (size_t)n - 8, e);
	if (type.depth == 0 && type.leaf == VALUE_JSON)
		return print_text(wire, (size_t)n, e);
	r = value_show(type, wire, (size_t)n, &b, tool_print, e);
	buf_text(&b, "\n");
	if (r == 0)
		r = tool_print(&b, e);
	buf_free(&b);
	return r;
}

/* Opens a model that is not changed. */
static int
open_model(struct edited *d, struct source *s, bool whole, struct err *e)
{
	static const struct edits none;

	return edited_open(d, s, &none, e) < 0 || (whole && edited_finish(d, e) < 0) ? -1 : 0;
}

static int
print_table(const struct model *m, struct err *e)
{
	struct buf b = { 0 };
	int r;

	facts_put_metadata(&b, m, NULL);
	r = tool_print(&b, e);
	buf_free(&b);
	return r;
}

int
listing_all(struct source *s, bool json, bool whole, struct err *e)
{
	struct edited d;
	int r = open_model(&d, s, whole, e);
	size_t i;

	if (r == 0 && !json)
		r = print_table(s->plan, e);
	for (i = 0; r == 0 && json && i < d.n; i++) {
		const struct row *row = &d.rows[i];
		struct spool space = { 0 };
		const uint8_t *p;

		r = edited_wire(&d, row, &space, &p, e);
		if (r == 0)
			r = print_object(row->key, row->type, p, row->n, e);
		spool_free(&space);
	}
	edited_close(&d);
	return r;
}

static int
print_item(const struct spelled *x, const char *key, const uint8_t *p, bool json,
           struct err *e)
{
	size_t n = (size_t)x->row->n, at, span;
	struct value_type item;

	if (!x->row->type.depth)
		return err_set(e, ERR_USAGE, x->key, "is not an array: it has no item %" PRIu64,
		               x->index);
	if (value_item(x->row->type, p, n, x->index, &at, &span, &item) < 0)
		return err_set(e, ERR_NO, x->key, "has %" PRIu64 " items, and no item %" PRIu64,
		               value_count(x->row->type, p, n), x->index);
	return json ? print_object(key, item, p + at, span, e)
	            : print_value(item, p + at, span, e);
}

int
listing_one(struct source *s, const char *key, bool json, bool whole, struct err *e)
{
	struct spool space = { 0 };
	struct spelled x = { 0 };
	struct edited d;
	const uint8_t *p;
	int r = open_model(&d, s, whole, e);

	if (r == 0)
		r = apply_find(&x, &d, key, e);
	if (r == 0)
		r = edited_wire(&d, x.row, &space, &p, e);
	if (r == 0 && x.indexed)
		r = print_item(&x, key, p, json, e);
	else if (r == 0)
		r = json ? print_object(x.key, x.row->type, p, x.row->n, e)
		         : print_value(x.row->type, p, x.row->n, e);
	spool_free(&space);
	free(x.key);
	edited_close(&d);
	return r;
}
