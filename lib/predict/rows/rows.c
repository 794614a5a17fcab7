#include "predict/rows/rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/mem.h"
#include "core/text.h"
#include "predict/decimal.h"
#include "predict/rows/rows_numbers.h"
#include "predict/rows/rows_parts.h"

static const struct {
	const char *name;
	enum rows_form form;
	char between;
} forms[] = {
	{ "csv", ROWS_CSV, ',' },
	{ "tsv", ROWS_TSV, '\t' },
	{ "space", ROWS_SPACE, ' ' },
	{ "jsonl", ROWS_JSON, 0 },
	{ "libsvm", ROWS_LIBSVM, ' ' },
	{ "text", ROWS_TEXT, 0 },
	{ "npy", ROWS_NPY, 0 },
};
#define FORMS (sizeof forms / sizeof *forms)

enum rows_form
rows_form_by_name(const char *name)
{
	size_t i;

	for (i = 0; i < FORMS; i++)
		if (strcmp(forms[i].name, name) == 0)
			return forms[i].form;
	return ROWS_UNKNOWN;
}

const char *
rows_form_name(enum rows_form form)
{
	return form == ROWS_UNKNOWN ? NULL : forms[form - ROWS_CSV].name;
}

/* ---- fields ---- */

struct fields
rows_fields(const struct rows *r, const char *line, size_t n)
{
	if (n > 0 && line[n - 1] == '\r')
		n--;
	if (r->form == ROWS_SPACE)
		for (; n > 0 && line[n - 1] == ' '; n--)
			;
	return (struct fields){ line, line + n, forms[r->form - ROWS_CSV].between };
}

static struct field
trim(const char *p, const char *end)
{
	while (p < end && *p == ' ')
		p++;
	while (p < end && end[-1] == ' ')
		end--;
	return (struct field){ p, (size_t)(end - p), false };
}

/* A field in quotes; a doubled quote in it stays doubled. False if the quotes do not end. */
static bool
quoted(struct fields *f, const char *p, struct field *x)
{
	const char *from = ++p;

	for (; p < f->end; p++)
		if (*p == '"') {
			if (p + 1 == f->end || p[1] != '"')
				break;
			p++;
		}
	if (p == f->end)
		return false;
	*x = (struct field){ from, (size_t)(p - from), true };
	for (p++; p < f->end && *p == ' '; p++)
		;
	f->p = p == f->end ? NULL : p + 1;
	return p == f->end || *p == f->between;
}

int
rows_field(struct fields *f, struct field *x)
{
	const char *p = f->p, *end;

	if (!p)
		return 0;
	while (p < f->end && *p == ' ')
		p++;
	if (p < f->end && *p == '"')
		return quoted(f, p, x) ? 1 : -1;
	if (f->between == ' ')
		f->p = p; /* several spaces are one */
	end = memchr(f->p, f->between, (size_t)(f->end - f->p));
	*x = trim(f->p, end ? end : f->end);
	f->p = end ? end + 1 : NULL;
	return 1;
}

/* Whether a value is missing. */
static bool
is_missing(struct field x)
{
	static const char *const words[] = { "", "NA", "N/A", "NaN", "null", "None", "?", "-nan" };
	size_t i;

	for (i = 0; i < sizeof words / sizeof *words; i++)
		if (strlen(words[i]) == x.n && strncasecmp(words[i], x.p, x.n) == 0)
			return true;
	return false;
}

/* The value of a field: false if it is neither a number nor missing. */
static bool
value_of(struct field x, double *v)
{
	const char *p = x.p;

	*v = decimal_read(&p, x.p + x.n);
	if (p == x.p + x.n && x.n > 0)
		return true;
	*v = (double)NAN;
	return is_missing(x);
}

bool
rows_value(const struct rows *r, size_t feature, struct field x, struct buf *pool, double *v)
{
	switch (predict_reads(r->m, feature)) {
	case PREDICT_WORD:
		return predict_word_value(r->m, feature, x.p, x.n, is_missing(x), v);
	case PREDICT_TEXT:
		*v = rows_put_text(pool, x);
		return *v >= 0;
	default:
		*v = 0;
		return value_of(x, v);
	}
}

bool
rows_is_text(const struct rows *r, size_t feature)
{
	return feature < r->m->word_count && (r->m->words[feature].count > 0 || r->m->words[feature].unused ||
	                                        r->m->words[feature].text);
}

/* ---- the first line ---- */

static enum rows_form
guess(const char *p, size_t n)
{
	const char *colon = memchr(p, ':', n);
	struct field x = trim(p, p + n);

	if (x.n > 0 && (*x.p == '{' || *x.p == '['))
		return ROWS_JSON;
	if (memchr(p, '\t', n))
		return ROWS_TSV;
	if (colon > p && colon[-1] >= '0' && colon[-1] <= '9' && !memchr(p, ',', n))
		return ROWS_LIBSVM;
	return memchr(x.p, ' ', x.n) && !memchr(x.p, ',', x.n) && !memchr(x.p, '"', x.n) ? ROWS_SPACE
	                                                                                 : ROWS_CSV;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(((const struct rows_name *)a)->text, ((const struct rows_name *)b)->text);
}

static int
sort_names(struct rows *r, struct err *e)
{
	size_t i, n = r->m->name_count;

	if (n == 0)
		return 0;
	r->names = mem_array(n, sizeof *r->names);
	if (!r->names)
		return err_memory(e);
	for (i = 0; i < n; i++)
		r->names[i] = (struct rows_name){ r->m->names[i], (uint32_t)i };
	qsort(r->names, n, sizeof *r->names, by_text);
	return 0;
}

uint32_t
rows_find_name(const struct rows *r, const char *text, size_t n)
{
	size_t low = 0, high = r->names ? r->m->name_count : 0, at;
	int c;

	while (low < high) {
		at = low + (high - low) / 2;
		c = strncmp(r->names[at].text, text, n);
		c = c == 0 && strlen(r->names[at].text) != n ? 1 : c; /* a field may hold a NUL */
		if (c == 0)
			return r->names[at].feature;
		if (c < 0)
			low = at + 1;
		else
			high = at;
	}
	return ROWS_UNUSED;
}

/* Whether a field of the line, after those that are skipped, is neither a number nor missing; of
 * texts, whether it is the name of a feature. */
static bool
has_words(const struct rows *r, const char *line, size_t n)
{
	struct fields f = rows_fields(r, line, n);
	struct field x;
	size_t i;
	double v;

	for (i = 0; rows_field(&f, &x) == 1; i++)
		if (i >= r->skip && (rows_is_text(r, i - r->skip) ? rows_find_name(r, x.p, x.n) != ROWS_UNUSED : !value_of(x, &v)))
			return true;
	return false;
}

/* Every feature needs exactly one column; one that nothing uses needs none. */
static int
prove_columns(const struct rows *r, struct err *e)
{
	bool *seen = mem_array(r->m->features, sizeof *seen);
	size_t i;
	int status = 0;

	if (!seen)
		return err_memory(e);
	for (i = 0; i < r->columns && status == 0; i++) {
		if (r->column[i] == ROWS_UNUSED)
			continue;
		if (seen[r->column[i]])
			status = err_set(e, ERR_CORRUPT, r->where, "the header has the column %s twice",
			                 r->m->names[r->column[i]]);
		seen[r->column[i]] = true;
	}
	for (i = 0; i < r->m->features && status == 0; i++)
		if (!seen[i] && !(r->m->words && r->m->words[i].unused))
			status = err_set(e, ERR_CORRUPT, r->where, "the header has no column %s",
			                 r->m->names[i]);
	free(seen);
	return status;
}

static int
read_header(struct rows *r, const char *line, size_t n, struct err *e)
{
	struct fields f = rows_fields(r, line, n);
	size_t i, cap = 0, found = 0;
	struct field x;
	int got;

	for (i = 0; (got = rows_field(&f, &x)) == 1; i++) {
		if (i < r->skip)
			continue;
		if (r->columns == ROWS_COLUMNS ||
		    mem_grow(&r->column, &cap, r->columns + 1, sizeof *r->column) < 0)
			return err_memory(e);
		r->column[r->columns] = rows_find_name(r, x.p, x.n);
		found += r->column[r->columns++] != ROWS_UNUSED;
	}
	if (got < 0)
		return err_set(e, ERR_CORRUPT, r->where, "row 1: a quote does not end");
	if (found)
		return prove_columns(r, e);
	if (r->columns != r->m->features)
		return err_set(e, ERR_CORRUPT, r->where, "the header has %zu columns, and the model takes "
		               "%zu features", r->columns, r->m->features);
	free(r->column);
	r->column = NULL;
	r->columns = 0;
	return 0;
}

/* Refuses what goes with another form of rows. */
static int
prove_form(const struct rows *r, struct err *e)
{
	bool sparse = r->form == ROWS_LIBSVM;

	if (r->m->words && sparse)
		return err_set(e, ERR_USAGE, NULL, "the model has features that are texts: rows are csv, tsv or jsonl");
	if (r->one_based && !sparse)
		return err_set(e, ERR_USAGE, NULL, "--one-based: the rows are %s, not libsvm",
		               rows_form_name(r->form));
	if (r->skip && sparse)
		return err_set(e, ERR_USAGE, NULL, "--skip: rows of the form libsvm have no columns");
	return 0;
}

int
rows_begin(struct rows *r, const char *line, size_t n, int header, struct err *e)
{
	bool table;

	if (r->m->texts)
		return rows_begin_texts(r, header, e);
	if (r->form == ROWS_TEXT)
		return err_set(e, ERR_USAGE, NULL, "--rows text: the model does not read texts");
	if (memchr(line, 0, n))
		return err_set(e, ERR_CORRUPT, r->where, "row 1 has a byte of value 0: rows are text in UTF-8");
	if (sort_names(r, e) < 0)
		return -1;
	if (r->form == ROWS_UNKNOWN)
		r->form = guess(line, n);
	if (prove_form(r, e) < 0)
		return -1;
	if (!r->m->words)
		r->numbers = r->slack ? rows_numbers_best() : &rows_numbers_plain;
	table = r->form == ROWS_CSV || r->form == ROWS_TSV || r->form == ROWS_SPACE;
	if (header == 1 && !table)
		return err_set(e, ERR_USAGE, NULL, "rows of the form %s have no header",
		               rows_form_name(r->form));
	r->header = table && (header == 1 || (header < 0 && has_words(r, line, n)));
	return r->header ? read_header(r, line, n, e) : 0;
}

void
rows_free(struct rows *r)
{
	free(r->column);
	free(r->names);
	*r = (struct rows){ 0 };
}

/* ---- a row ---- */

static int
not_number(const struct rows *r, uint64_t number, size_t column, struct field x, bool text, struct err *e)
{
	if (memchr(x.p, 0, x.n))
		return err_set(e, ERR_CORRUPT, r->where, "row %" PRIu64 ", column %zu has a byte of value 0", number, column);
	return err_set(e, ERR_CORRUPT, r->where, "row %" PRIu64 ", column %zu: \"%.*s\" is not %s", number, column,
	               x.n < 80 ? (int)x.n : 80, x.p, text ? "a value that the model knows" : "a number");
}

/* The feature of a column of a line whose features are in `all` columns. */
static inline uint32_t
feature_of(const struct rows *r, size_t column, size_t all)
{
	if (column < r->skip || column - r->skip >= all)
		return ROWS_UNUSED;
	return r->columns ? r->column[column - r->skip] : (uint32_t)(column - r->skip);
}

#define SOME 64

/* Reads fields from a column on as long as they are numbers; the next column. */
static size_t
read_numbers(const struct rows *r, struct fields *f, size_t column, size_t all, double *row, bool *missing)
{
	bool direct = !r->columns && !r->skip && column < all;
	size_t k, n, most = direct ? all - column : SOME;
	double some[SOME], *v = direct ? row + column : some;
	uint32_t to;

	do {
		n = f->p ? r->numbers->read(&f->p, f->end, f->between, false, v, most) : 0;
		for (k = 0; k < n; k++, column++)
			if (direct) {
				*missing |= isnan(v[k]);
			} else if ((to = feature_of(r, column, all)) != ROWS_UNUSED) {
				row[to] = v[k];
				*missing |= isnan(v[k]);
			}
	} while (n == most && !direct);
	return column;
}

static int
read_table(const struct rows *r, const char *line, size_t n, uint64_t number, double *row,
           bool *missing, struct buf *pool, struct err *e)
{
	struct fields f = rows_fields(r, line, n);
	size_t all = r->columns ? r->columns : r->m->features, count = 0;
	struct field x;
	uint32_t to;
	double v;
	int got;

	for (;; count++) {
		if (r->numbers)
			count = read_numbers(r, &f, count, all, row, missing);
		got = rows_field(&f, &x);
		if (got != 1)
			break;
		to = feature_of(r, count, all);
		if (to == ROWS_UNUSED)
			continue;
		if (!rows_value(r, to, x, pool, &v))
			return not_number(r, number, count + 1, x, rows_is_text(r, to), e);
		row[to] = v;
		*missing |= isnan(v);
	}
	if (got < 0)
		return err_set(e, ERR_CORRUPT, r->where, "row %" PRIu64 ": a quote does not end", number);
	if (count != all + r->skip)
		return err_set(e, ERR_CORRUPT, r->where, "row %" PRIu64 " has %zu columns, and %s %zu",
		               number, count, r->columns ? "the header has" : "the model takes",
		               all + r->skip);
	return 0;
}

/* An item "INDEX:VALUE". */
static int
read_pair(const struct rows *r, struct field x, uint64_t number, size_t column, double *row,
          bool *missing, struct err *e)
{
	const char *colon = memchr(x.p, ':', x.n), *p = x.p, *end = x.p + x.n;
	uint64_t index = 0;
	double v;

	if (!colon || colon == x.p)
		return not_number(r, number, column, x, false, e);
	for (; p < colon && index < UINT32_MAX; p++) {
		if (*p < '0' || *p > '9')
			return not_number(r, number, column, x, false, e);
		index = index * 10 + (uint64_t)(*p - '0');
	}
	if (!value_of((struct field){ colon + 1, (size_t)(end - colon - 1), false }, &v))
		return not_number(r, number, column, x, false, e);
	if (index < r->one_based || index - r->one_based >= r->m->features)
		return err_set(e, ERR_CORRUPT, r->where, "row %" PRIu64 " has feature %" PRIu64
		               ", and the model takes %zu, from %d", number, index, r->m->features,
		               r->one_based);
	row[index - r->one_based] = v;
	*missing |= isnan(v);
	return 0;
}

static int
read_sparse(const struct rows *r, const char *line, size_t n, uint64_t number, double *row,
            bool *missing, struct err *e)
{
	struct fields f = rows_fields(r, line, n);
	bool absent = r->m->absent == ABSENT_MISSING;
	struct field x;
	size_t i, column = 0;
	int got;

	for (i = 0; i < r->m->features; i++)
		row[i] = absent ? (double)NAN : 0;
	*missing |= absent;
	while ((got = rows_field(&f, &x)) == 1 && (x.n == 0 || *x.p != '#')) {
		if (x.n == 0 || (++column == 1 && !memchr(x.p, ':', x.n)) ||
		    (x.n > 4 && memcmp(x.p, "qid:", 4) == 0))
			continue; /* the label, or the number of a query */
		if (read_pair(r, x, number, column, row, missing, e) < 0)
			return -1;
	}
	if (got < 0)
		return err_set(e, ERR_CORRUPT, r->where, "row %" PRIu64 ": a quote does not end", number);
	return 0;
}

/* Refuses value i of a row, which is so. */
static int
refuse_value(const struct rows *r, uint64_t number, size_t i, const char *so, struct err *e)
{
	if (r->m->names)
		return err_set(e, ERR_CORRUPT, r->where, "row %" PRIu64 ": the value of %s is %s, "
		               "which the model does not accept", number, r->m->names[i], so);
	return err_set(e, ERR_CORRUPT, r->where, "row %" PRIu64 ": the value of feature %zu is %s, "
	               "which the model does not accept", number, i, so);
}

/* Refuses a row with a missing value for a model that does not accept one. */
static int
refuse_missing(const struct rows *r, uint64_t number, const double *row, struct err *e)
{
	size_t i = 0;

	while (i < r->m->features && !isnan(row[i]))
		i++;
	return i == r->m->features ? 0 : refuse_value(r, number, i, "missing", e);
}

/* The same for infinite values, and for those that single precision cannot hold. */
static int
refuse_infinite(const struct rows *r, uint64_t number, const double *row, struct err *e)
{
	size_t i = predict_infinite(r->m, row, 1);

	return i == r->m->features ? 0
	       : refuse_value(r, number, i, isinf(row[i]) ? "infinite" : "too large for single precision", e);
}

int
rows_read(const struct rows *r, const char *line, size_t n, uint64_t number, double *row,
          bool *missing, struct buf *pool, struct err *e)
{
	bool gone = false;
	int status = 0;

	if (r->form == ROWS_JSON)
		status = rows_json_read(r, line, n, number, row, &gone, pool, e);
	else if (r->form == ROWS_NPY)
		rows_npy_read(r, (const uint8_t *)line, row, &gone);
	else if (r->form == ROWS_LIBSVM)
		status = read_sparse(r, line, n, number, row, &gone, e);
	else
		status = read_table(r, line, n, number, row, &gone, pool, e);
	*missing |= gone;
	if (status < 0 || (gone && r->m->refuses_nan && refuse_missing(r, number, row, e) < 0))
		return -1;
	return r->m->refuses_inf ? refuse_infinite(r, number, row, e) : 0;
}
