#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predict/doc.h"
#include "predict/rows/rows_numbers.h"
#include "predict/rows/rows_parts.h"

/* A value of JSON. */
static double
json_value(const struct rows *r, struct doc *d, size_t feature, struct buf *pool)
{
	char kind = doc_kind(d);
	struct field x;
	double v;

	if (kind == 'n') {
		doc_skip(d);
		return (double)NAN;
	}
	if (rows_is_text(r, feature) && r->m->words[feature].unused) {
		doc_skip(d);
		return 0;
	}
	if (kind != '"' && rows_is_text(r, feature))
		doc_fail(d, "a value is not a text");
	if (kind != '"')
		return doc_number(d);
	x.quoted = false;
	x.p = doc_text(d);
	x.n = strlen(x.p);
	if (x.n == DOC_TEXT - 1 && r->m->words && r->m->words[feature].text)
		doc_fail(d, "a text has more than %d bytes: write csv", DOC_TEXT - 2);
	if (!rows_value(r, feature, x, pool, &v))
		doc_fail(d, rows_is_text(r, feature) ? r->m->words[feature].text ? "\"%.80s\" is not UTF-8"
		                                  : "\"%.80s\" is not a value that the model knows" : "\"%.80s\" is not a number", x.p);
	return v;
}

static void
read_array(const struct rows *r, struct doc *d, double *row, struct buf *pool)
{
	size_t i, n = 0, all = r->m->features;
	double v;

	if (!doc_array(d))
		return;
	for (i = 0; doc_item(d); i++) {
		if (i < r->skip) {
			doc_skip(d);
			continue;
		}
		v = json_value(r, d, n < all ? n : all - 1, pool);
		if (n < all)
			row[n] = v;
		n++;
	}
	if (!d->failed && n != all)
		doc_fail(d, "%zu values, and the model takes %zu", n, all);
}

/* Features without a member are missing; members without a feature are left out. */
static void
read_object(const struct rows *r, struct doc *d, double *row, struct buf *pool)
{
	size_t i, found = 0;
	uint32_t to;

	for (i = 0; i < r->m->features; i++)
		row[i] = (double)NAN;
	if (!r->names)
		doc_fail(d, "the features of the model have no names: write an array");
	if (!doc_object(d))
		return;
	while (doc_member(d)) {
		to = rows_find_name(r, d->name, strlen(d->name));
		if (to == ROWS_UNUSED) {
			doc_skip(d);
		} else {
			row[to] = json_value(r, d, to, pool);
			found++;
		}
	}
	if (!d->failed && !found)
		doc_fail(d, "no member has the name of a feature");
}

/* Reads an array of nothing but numbers; false if it is something else, which may be wrong or not. */
static bool
read_plain_array(const struct rows *r, const char *line, size_t n, double *row)
{
	const char *p = line + 1, *end = line + n;
	size_t all = r->m->features;

	while (end > line && (end[-1] == ' ' || end[-1] == '\r'))
		end--;
	return r->numbers && r->skip == 0 && end - line > 2 && *line == '[' && end[-1] == ']' &&
	       r->numbers->read(&p, end - 1, ',', true, row, all) == all && !p;
}

static int
read_document(const struct rows *r, const char *line, size_t n, uint64_t number, double *row, struct buf *pool,
              struct err *e)
{
	char where[400];
	struct doc d;

	snprintf(where, sizeof where, "%.300s, row %" PRIu64, r->where, number);
	doc_begin(&d, false, line, n, where, e);
	if (doc_kind(&d) == '{')
		read_object(r, &d, row, pool);
	else
		read_array(r, &d, row, pool);
	return doc_end(&d);
}

int
rows_json_read(const struct rows *r, const char *line, size_t n, uint64_t number, double *row,
               bool *missing, struct buf *pool, struct err *e)
{
	size_t i;

	if (!read_plain_array(r, line, n, row) && read_document(r, line, n, number, row, pool, e) < 0)
		return -1;
	for (i = 0; i < r->m->features; i++)
		*missing |= isnan(row[i]);
	return 0;
}
