#include <inttypes.h>
#include <stdio.h>

#include "core/json.h"
#include "core/le.h"
#include "core/text.h"
#include "predict/rows/rows_parts.h"

int
rows_begin_texts(struct rows *r, int header, struct err *e)
{
	bool table = r->form == ROWS_CSV || r->form == ROWS_TSV;

	r->form = r->form == ROWS_UNKNOWN ? ROWS_TEXT : r->form;
	if (r->form == ROWS_SPACE || r->form == ROWS_LIBSVM || r->one_based)
		return err_set(e, ERR_USAGE, NULL, "the model reads texts: rows are text, csv, tsv or jsonl");
	if (header == 1 && !table)
		return err_set(e, ERR_USAGE, NULL, "rows of the form %s have no header",
		               rows_form_name(r->form));
	r->header = header == 1;
	return 0;
}

static int
read_json_text(const struct rows *r, const char *line, size_t n, uint64_t number, struct buf *text,
               struct err *e)
{
	char where[400];
	json_t *v, *x;

	snprintf(where, sizeof where, "%.300s, row %" PRIu64, r->where, number);
	v = json_parse_any(line, n, ERR_CORRUPT, where, e);
	if (!v)
		return -1;
	x = json_is_object(v) ? json_object_get(v, "text") : v;
	if (json_is_string(x))
		buf_put(text, json_string_value(x), json_string_length(x));
	else
		err_set(e, ERR_CORRUPT, where, "is neither a text nor an object with the member text");
	n = json_is_string(x);
	json_decref(v);
	return n ? 0 : -1;
}

/* Doubled quotes inside of quotes become one. */
static void
put_field(struct buf *text, struct field x)
{
	size_t i;

	for (i = 0; i < x.n; i++) {
		buf_u8(text, (uint8_t)x.p[i]);
		if (x.quoted && x.p[i] == '"' && i + 1 < x.n && x.p[i + 1] == '"')
			i++;
	}
}

double
rows_put_text(struct buf *pool, struct field x)
{
	size_t at = pool->n;

	if (!text_utf8((const uint8_t *)x.p, x.n, true))
		return -1;
	step_pool_put(pool, NULL, 0);
	put_field(pool, x);
	if (buf_ok(pool))
		le32_put(pool->p + at, (uint32_t)(pool->n - at - 4));
	return (double)at;
}

static int
read_column(const struct rows *r, const char *line, size_t n, uint64_t number, struct buf *text,
            struct err *e)
{
	struct fields f = rows_fields(r, line, n);
	struct field x;
	size_t count;
	int got;

	for (count = 0; (got = rows_field(&f, &x)) == 1; count++)
		if (count == r->skip)
			put_field(text, x);
	if (got < 0)
		return err_set(e, ERR_CORRUPT, r->where, "row %" PRIu64 ": a quote does not end", number);
	if (count != r->skip + 1)
		return err_set(e, ERR_CORRUPT, r->where, "row %" PRIu64 " has %zu columns, and a text is one, "
		               "behind %zu that are skipped", number, count, r->skip);
	return 0;
}

int
rows_read_text(const struct rows *r, const char *line, size_t n, uint64_t number, struct buf *text,
               struct err *e)
{
	size_t from = text->n;
	int status = 0;

	if (r->form == ROWS_JSON)
		status = read_json_text(r, line, n, number, text, e);
	else if (r->form != ROWS_TEXT)
		status = read_column(r, line, n, number, text, e);
	else
		buf_put(text, line, n > 0 && line[n - 1] == '\r' ? n - 1 : n);
	if (!buf_ok(text))
		return err_memory(e);
	if (status == 0 && !text_utf8(text->p + from, text->n - from, true))
		return err_set(e, ERR_CORRUPT, r->where, "row %" PRIu64 " is not UTF-8", number);
	return status;
}
