#include "report/filters.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/subject.h"
#include "core/json.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "model/value_text.h"
#include "report/lines.h"
#include "stats/values.h"

#define KEY "mel_filterbank"
#define SHAPE "mel_filterbank_shape"
#define FILE_NAME "preprocessor_config.json"
#define PLOT 64 /* maximum columns of a plot */

/* ---- reading ---- */

static int
bad(const struct filters *f, const char *fact, struct err *e)
{
	return err_set(e, ERR_CORRUPT, f->from, "%s", fact);
}

/* Make room for rows x columns values. */
static int
make_room(struct filters *f, uint64_t rows, uint64_t columns, struct err *e)
{
	uint64_t n;

	if (rows == 0 || columns == 0)
		return bad(f, "has no values", e);
	if (num_mul(rows, columns, &n) < 0 || n > FILTERS_MOST)
		return err_set(e, ERR_MEMORY, f->from, "filters of more than %zu values are not read",
		               FILTERS_MOST);
	f->bands = (size_t)rows;
	f->bins = (size_t)columns;
	f->value = mem_array((size_t)n, sizeof *f->value);
	return f->value ? 0 : err_memory(e);
}

/* More rows than columns: the rows are bins. */
static int
turn(struct filters *f, struct err *e)
{
	size_t rows = f->bands, columns = f->bins, i, k;
	double *to;

	if (rows <= columns)
		return 0;
	to = mem_array(rows * columns, sizeof *to);
	if (!to)
		return err_memory(e);
	for (i = 0; i < rows; i++)
		for (k = 0; k < columns; k++)
			to[k * rows + i] = f->value[i * columns + k];
	free(f->value);
	f->value = to;
	f->bands = columns;
	f->bins = rows;
	return 0;
}

static void
name_source(struct filters *f, const char *kind, const char *name)
{
	int n = snprintf(f->from, sizeof f->from, "%s ", kind);

	text_quote(f->from + n, sizeof f->from - (size_t)n, name, strlen(name));
}

/* The numbers of a JSON array, from number `at` of f->value on. -1 if there is something else. */
static int
take_json(struct filters *f, const json_t *list, size_t at)
{
	const json_t *v;
	size_t i;

	json_array_foreach(list, i, v) {
		if (!json_is_number(v))
			return -1;
		f->value[at + i] = json_number_value(v);
	}
	return 0;
}

/* An array of numbers as JSON, whatever type the key has; NULL if it is something else. */
static json_t *
list_of(const struct weights *w, const char *key, struct err *e)
{
	struct value_type type;
	struct buf b = { 0 };
	const uint8_t *wire;
	json_t *list = NULL;
	size_t n;

	wire = weights_value(w, key, &type, &n);
	if (!wire)
		return NULL;
	if (n / 4 > 4 * FILTERS_MOST) {
		err_set(e, ERR_MEMORY, key, "filters of more than %zu values are not read",
		        FILTERS_MOST);
		return NULL;
	}
	if (type.depth == 0 && type.leaf == VALUE_JSON)
		return json_parse_any(wire, n, ERR_CORRUPT, key, e);
	if (type.depth == 1 && type.leaf != VALUE_STRING && type.leaf != VALUE_JSON &&
	    value_show(type, wire, n, &b, NULL, e) == 0)
		list = buf_ok(&b) ? json_parse_any(b.p, b.n, ERR_CORRUPT, key, e) : NULL;
	buf_free(&b);
	return list;
}

static int
take_key(struct filters *f, const struct weights *w, struct err *e)
{
	json_t *list, *shape = NULL;
	uint64_t rows, columns, n;
	int r = -1;

	name_source(f, "key", KEY);
	list = list_of(w, KEY, e);
	if (e->code == ERR_NONE)
		shape = list_of(w, SHAPE, e);
	if (e->code != ERR_NONE)
		;
	else if (json_array_size(shape) != 2 ||
	         json_value_u64(json_array_get(shape, 0), &rows) < 0 ||
	         json_value_u64(json_array_get(shape, 1), &columns) < 0)
		bad(f, SHAPE " is not two numbers", e);
	else if (num_mul(rows, columns, &n) < 0 || json_array_size(list) != n)
		bad(f, "does not have the values of its shape", e);
	else if (make_room(f, rows, columns, e) == 0)
		r = take_json(f, list, 0) < 0 ? bad(f, "has an item that is not a number", e) : 0;
	json_decref(list);
	json_decref(shape);
	return r;
}

static int
take_rows(struct filters *f, const json_t *rows, struct err *e)
{
	size_t columns = json_array_size(json_array_get(rows, 0)), i;

	name_source(f, "file", FILE_NAME);
	if (make_room(f, json_array_size(rows), columns, e) < 0)
		return -1;
	for (i = 0; i < f->bands; i++)
		if (json_array_size(json_array_get(rows, i)) != columns ||
		    take_json(f, json_array_get(rows, i), i * columns) < 0)
			return bad(f, "mel_filters is not a list of rows of the same length", e);
	return 0;
}

/* 1 if keys or side files have filters, which then are read; 0 if not; -1. */
static int
take_blobs(struct filters *f, const struct subject *s, struct err *e)
{
	json_t *config;
	int r = 0;

	if (model_find(s->w.plan, KEY))
		return take_key(f, &s->w, e) < 0 ? -1 : 1;
	config = subject_json(s, FILE_NAME, e);
	if (e->code != ERR_NONE)
		return -1;
	if (json_is_array(json_object_get(config, "mel_filters")))
		r = take_rows(f, json_object_get(config, "mel_filters"), e) < 0 ? -1 : 1;
	json_decref(config);
	return r;
}

static bool
is_bank(const struct tensor *t)
{
	return tensor_ndim(t) == 2 && strstr(tensor_name(t), "mel_filter") &&
	       values_known(tensor_type(t));
}

/* The number of the first tensor that is a filter bank, or tensor_count. */
static size_t
find_bank(const struct model *m)
{
	size_t i;

	for (i = 0; i < m->tensor_count && !is_bank(m->tensors[i]); i++)
		;
	return i;
}

/* Read the body of the item, which is tensor t. */
static int
take_tensor(struct filters *f, struct source *s, const struct tensor *t, struct err *e)
{
	const struct dtype *type = tensor_type(t);
	struct buf body = { 0 };
	const uint8_t *p;
	size_t n = 1;
	int r;

	name_source(f, "tensor", tensor_name(t));
	r = make_room(f, tensor_dims(t)[0], tensor_dims(t)[1], e);
	while (r == 0 && n > 0) {
		r = source_read(s, &p, &n, e);
		if (r == 0 && n > 0)
			buf_put(&body, p, n);
	}
	if (r == 0 && !buf_ok(&body))
		r = err_memory(e);
	if (r == 0 && body.n != tensor_bytes(t))
		r = bad(f, "does not have the bytes of its shape", e);
	if (r == 0)
		values_double(type, body.p, body.p + type->head, f->value, f->bands * f->bins);
	buf_free(&body);
	return r;
}

static int
skip(struct source *s, struct err *e)
{
	const uint8_t *p;
	size_t n;
	int r;

	do
		r = source_read(s, &p, &n, e);
	while (r == 0 && n > 0);
	return r;
}

/* From the item after the blobs on: 1 if the tensor has been read, 0 at the end, -1. */
static int
find_tensor(struct filters *f, struct source *s, struct item *item, bool more, size_t wanted,
            struct err *e)
{
	int r = more;

	for (; r == 1; r = source_next(s, item, e)) {
		if (item->kind == ITEM_TENSOR && item->index == wanted)
			return take_tensor(f, s, s->plan->tensors[wanted], e) < 0 ? -1 : 1;
		if (skip(s, e) < 0)
			return -1;
	}
	return r;
}

int
filters_read(struct filters *f, struct source *s, struct err *e)
{
	size_t wanted = find_bank(s->plan);
	bool *only = mem_array(s->plan->tensor_count, sizeof *only), more;
	struct subject subject = { .plan = NULL };
	struct item item;
	int r;

	*f = (struct filters){ .bands = 0 };
	if (!only)
		return err_memory(e);
	if (source_check_open(s, e) < 0) {
		free(only);
		return -1;
	}
	if (wanted < s->plan->tensor_count)
		only[wanted] = true;
	s->wanted = only;
	r = subject_read_blobs(&subject, s, &item, &more, e);
	if (r == 0)
		r = take_blobs(f, &subject, e);
	if (r == 0 && wanted < s->plan->tensor_count)
		r = find_tensor(f, s, &item, more, wanted, e);
	if (r == 0)
		r = err_set(e, ERR_NO, s->name, "has no mel filters");
	else if (r == 1)
		r = turn(f, e);
	subject_close(&subject);
	s->wanted = NULL;
	free(only);
	return r;
}

void
filters_free(struct filters *f)
{
	free(f->value);
	*f = (struct filters){ .bands = 0 };
}

/* ---- showing ---- */

/* The first and last bin of a band that is not zero; false if all are. */
static bool
span(const struct filters *f, size_t band, size_t *first, size_t *last)
{
	const double *v = f->value + band * f->bins;

	for (*first = 0; *first < f->bins && v[*first] == 0; ++*first)
		;
	for (*last = f->bins; *last > *first && v[*last - 1] == 0; --*last)
		;
	if (*last == *first)
		return false;
	--*last;
	return true;
}

/* The largest magnitude from bin `from` up to `to`; values that are not finite count as 0. */
static double
peak(const double *v, size_t from, size_t to)
{
	double most = 0;

	for (; from < to; from++)
		if (isfinite(v[from]) && fabs(v[from]) > most)
			most = fabs(v[from]);
	return most;
}

static void
put_plot(struct buf *b, const double *v, size_t bins)
{
	static const char marks[] = " .:-=+*#%@";
	size_t columns = bins < PLOT ? bins : PLOT, i;
	double most = peak(v, 0, bins);

	buf_text(b, " |");
	for (i = 0; i < columns; i++) {
		double part = peak(v, i * bins / columns, (i + 1) * bins / columns);

		buf_u8(b, (uint8_t)marks[most > 0 ? (size_t)ceil(part / most * 9) : 0]);
	}
	buf_text(b, "|\n");
}

void
filters_put_head(struct buf *b, const struct filters *f)
{
	buf_printf(b, "# %s: %zu bands of %zu bins\n", f->from, f->bands, f->bins);
}

static void
put_json(struct buf *b, const struct filters *f, size_t band, const char *model)
{
	const double *v = f->value + band * f->bins;
	size_t first, last, i;

	buf_printf(b, "{\"band\":%zu,", band);
	if (span(f, band, &first, &last))
		buf_printf(b, "\"first\":%zu,\"last\":%zu,\"values\":[", first, last);
	else
		buf_text(b, "\"first\":null,\"last\":null,\"values\":[");
	for (i = 0; i < f->bins; i++) {
		buf_text(b, i ? "," : "");
		if (isfinite(v[i]))
			json_put_real(b, v[i]);
		else
			buf_text(b, "null");
	}
	buf_text(b, "]");
	lines_put_model(b, model);
	buf_text(b, "}\n");
}

void
filters_put(struct buf *b, const struct filters *f, size_t band, bool json, const char *model)
{
	const double *v = f->value + band * f->bins;
	size_t first, last;

	if (json) {
		put_json(b, f, band, model);
		return;
	}
	buf_printf(b, "%4zu ", band);
	if (span(f, band, &first, &last))
		buf_printf(b, "%5zu %5zu", first, last);
	else
		buf_printf(b, "%5s %5s", "-", "-");
	buf_printf(b, " %12.6g", peak(v, 0, f->bins));
	put_plot(b, v, f->bins);
}
