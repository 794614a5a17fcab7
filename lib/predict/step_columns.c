/* Categories as numbers, and columns that go through steps of their own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/step_columns.h"

/* ---- categories ---- */

void
step_encoder_free(void *more)
{
	struct step_encoder *x = more;
	size_t j;

	for (j = 0; x && j < x->n; j++)
		free(x->columns[j].values);
	if (x)
		free(x->columns);
	free(x);
}

/* The place of v among the categories of a column: ascending, NaN last; or their number. */
static size_t
find(const struct step_categories *c, double v)
{
	size_t low = 0, high = c->count, at;

	if (c->count && isnan(c->values[c->count - 1])) {
		if (isnan(v))
			return c->count - 1;
		high--;
	}
	while (low < high) {
		at = low + (high - low) / 2;
		if (c->values[at] < v)
			low = at + 1;
		else
			high = at;
	}
	return low < c->count && c->values[low] == v ? low : c->count;
}

static int
unknown(double v, size_t j, struct err *e)
{
	return err_set(e, ERR_CORRUPT, NULL, "a row has in feature %zu of its encoder a category that training did "
	               "not see%s", j, isnan(v) ? ": it is missing" : "");
}

static int
encode_row(const struct step *s, const double *v, double *to, struct err *e)
{
	const struct step_encoder *x = s->more;
	size_t j, at;

	for (j = 0; j < x->n; j++) {
		const struct step_categories *c = &x->columns[j];

		at = find(c, v[j]);
		if (at == c->count && x->refuses)
			return unknown(v[j], j, e);
		if (s->kind == &step_ordinal)
			to[j] = at == c->count ? x->unknown : isnan(c->values[at]) ? x->missing : (double)at;
		else if (at < c->count && at != c->drop)
			to[c->first + at - (at > c->drop)] = 1;
	}
	return 0;
}

static int
encode(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	size_t i;

	if (step_rows_begin(spare, x->n, s->out, e) < 0)
		return -1;
	for (i = 0; i < x->n; i++)
		if (encode_row(s, step_row(x, i), step_row(spare, i), e) < 0)
			return -1;
	step_rows_swap(x, spare);
	return 0;
}

/* ---- columns ---- */

void
step_columns_free(void *more)
{
	struct step_columns *x = more;
	size_t i, k;

	for (i = 0; x && i < x->n; i++) {
		for (k = 0; k < x->parts[i].step_count; k++)
			step_free(&x->parts[i].steps[k]);
		free(x->parts[i].steps);
		free(x->parts[i].from);
	}
	if (x)
		free(x->parts);
	free(x);
}

/* Computes a part, and puts its values into the columns from `at` on. */
static int
run_part(const struct step_part *part, const struct step_rows *x, struct step_rows *rows,
         struct step_rows *spare, struct step_rows *to, size_t at, struct err *e)
{
	size_t i, j;

	if (step_rows_begin(rows, x->n, part->width, e) < 0)
		return -1;
	for (i = 0; i < x->n; i++)
		for (j = 0; j < part->width; j++)
			step_row(rows, i)[j] = step_row(x, i)[part->from[j]];
	if (step_chain(part->steps, part->step_count, rows, spare, e) < 0 || step_rows_dense(rows, spare, e) < 0)
		return -1;
	for (i = 0; i < x->n; i++)
		memcpy(step_row(to, i) + at, step_row(rows, i), part->out * sizeof(double));
	return 0;
}

static int
refuse_missing(const struct step_rows *x, struct err *e)
{
	size_t i;

	for (i = 0; i < x->n * x->width; i++)
		if (isnan(step_row(x, 0)[i]))
			return err_set(e, ERR_CORRUPT, NULL, "a row has a missing value, which the model does not accept");
	return 0;
}

static int
columns(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	const struct step_columns *c = s->more;
	struct step_rows rows = { .n = 0 }, more = { .n = 0 };
	size_t k, at = 0;
	int r = step_rows_begin(spare, x->n, s->out, e);

	for (k = 0; r == 0 && k < c->n; at += c->parts[k++].out)
		r = run_part(&c->parts[k], x, &rows, &more, spare, at, e);
	step_rows_free(&rows);
	step_rows_free(&more);
	if (r < 0)
		return -1;
	step_rows_swap(x, spare);
	return c->refuses ? refuse_missing(x, e) : 0;
}

const struct step_kind step_onehot = { "encoder", false, false, encode };
const struct step_kind step_ordinal = { "encoder", false, false, encode };
const struct step_kind step_parts = { "columns", false, false, columns };
