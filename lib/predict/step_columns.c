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

	for (j = 0; x && j < x->n; j++) {
		free(x->columns[j].values);
		free(x->columns[j].place);
	}
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
		uint32_t place;

		at = find(c, v[j]);
		if (at == c->count && x->refuses)
			return unknown(v[j], j, e);
		place = at == c->count ? c->other : c->place[at];
		if (s->kind == &step_ordinal)
			to[j] = at == c->count ? x->unknown : isnan(c->values[at]) ? x->missing : (double)place;
		else if (place != STEP_NO_VALUE)
			to[c->first + place] = 1;
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

/* The texts of a feature. */
static int
take_texts(const struct step_part *part, const struct step_rows *x, struct step_rows *rows,
           struct step_text **texts, struct err *e)
{
	size_t i;

	if (step_rows_begin(rows, x->n, 0, e) < 0)
		return -1;
	if (!x->texts && !x->pool)
		return err_set(e, ERR_USAGE, NULL, "the model reads texts among numbers: rows are csv, tsv or jsonl");
	rows->texts = x->texts;
	if (x->texts)
		return 0;
	*texts = mem_array(x->n + 1, sizeof **texts);
	for (i = 0; *texts && i < x->n; i++) {
		double at = step_row(x, i)[part->from ? part->from[0] : 0];

		if (!step_pool_text(x->pool, at, &(*texts)[i]))
			return err_set(e, ERR_CORRUPT, NULL, "a row has no text where the model reads one");
	}
	rows->texts = *texts;
	return *texts ? 0 : err_memory(e);
}

/* The features of a part. */
static int
take_features(const struct step_part *part, const struct step_rows *x, struct step_rows *rows, struct err *e)
{
	size_t i, j;

	if (step_rows_begin(rows, x->n, part->width, e) < 0)
		return -1;
	rows->pool = x->pool;
	for (i = 0; i < x->n; i++)
		for (j = 0; j < part->width; j++)
			step_row(rows, i)[j] = step_row(x, i)[part->from ? part->from[j] : j];
	return 0;
}

/* Computes a part. */
static int
run_part(const struct step_part *part, const struct step_rows *x, struct step_rows *rows,
         struct step_rows *spare, struct err *e)
{
	struct step_text *texts = NULL;
	bool reads = part->step_count && part->steps[0].kind->texts;
	int r = reads ? take_texts(part, x, rows, &texts, e) : take_features(part, x, rows, e);

	if (r == 0)
		r = step_chain(part->steps, part->step_count, rows, spare, e);
	free(texts);
	return r;
}

static int
refuse_missing(const struct step_rows *x, struct err *e)
{
	size_t i;

	for (i = 0; i < (x->sparse ? step_from(x, x->n) : x->n * x->width); i++)
		if (isnan(x->sparse ? *step_value(x, i) : step_row(x, 0)[i]))
			return err_set(e, ERR_CORRUPT, NULL, "a row has a missing value, which the model does not accept");
	return 0;
}

/* Puts the values of all parts side by side: a dense row. */
static void
join_dense(const struct step_columns *c, const struct step_rows *made, size_t i, double *to)
{
	size_t k;

	for (k = 0; k < c->n; to += c->parts[k++].out)
		memcpy(to, step_row(&made[k], i), c->parts[k].out * sizeof *to);
}

/* The same, as those values that are not zero. */
static void
join_sparse(const struct step_columns *c, const struct step_rows *made, size_t i, struct step_rows *to)
{
	size_t k, j;
	uint32_t at = 0;

	for (k = 0; k < c->n; at += (uint32_t)c->parts[k++].out)
		if (made[k].sparse) {
			for (j = step_from(&made[k], i); j < step_from(&made[k], i + 1); j++)
				step_put(to, at + step_column(&made[k], j), *step_value(&made[k], j));
		} else {
			for (j = 0; j < c->parts[k].out; j++)
				if (step_row(&made[k], i)[j] != 0)
					step_put(to, at + (uint32_t)j, step_row(&made[k], i)[j]);
		}
	step_row_end(to);
}

static int
join_parts(const struct step *s, const struct step_rows *made, size_t n, struct step_rows *to, struct err *e)
{
	const struct step_columns *c = s->more;
	bool sparse = false;
	size_t i;

	for (i = 0; i < c->n; i++)
		sparse |= made[i].sparse;
	if (sparse)
		step_rows_sparse(to, s->out);
	else if (step_rows_begin(to, n, s->out, e) < 0)
		return -1;
	for (i = 0; i < n; i++)
		if (sparse)
			join_sparse(c, made, i, to);
		else
			join_dense(c, made, i, step_row(to, i));
	return buf_ok(&to->start) && buf_ok(&to->at) && buf_ok(&to->of) ? 0 : err_memory(e);
}

static int
columns(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	const struct step_columns *c = s->more;
	struct step_rows *made = mem_array(c->n + 1, sizeof *made), more = { .n = 0 };
	size_t k;
	int r = made ? 0 : err_memory(e);

	for (k = 0; r == 0 && k < c->n; k++)
		r = run_part(&c->parts[k], x, &made[k], &more, e);
	if (r == 0)
		r = join_parts(s, made, x->n, spare, e);
	for (k = 0; made && k < c->n; k++)
		step_rows_free(&made[k]);
	free(made);
	step_rows_free(&more);
	if (r < 0)
		return -1;
	step_rows_swap(x, spare);
	return c->refuses ? refuse_missing(x, e) : 0;
}

const struct step_kind step_onehot = { "encoder", false, false, encode };
const struct step_kind step_ordinal = { "encoder", false, false, encode };
const struct step_kind step_parts = { "columns", false, false, columns };
const struct step_kind step_parts_texts = { "columns", true, false, columns };
