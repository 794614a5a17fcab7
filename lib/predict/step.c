#include "predict/step.h"

#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "predict/step_models.h"

/* ---- texts among values ---- */

/* In a pool, a text follows the number of its bytes. */
double
step_pool_put(struct buf *pool, const char *p, size_t n)
{
	size_t at = pool->n;

	buf_u32(pool, (uint32_t)n);
	buf_put(pool, p, n);
	return (double)at;
}

bool
step_pool_text(const struct buf *pool, double at, struct step_text *to)
{
	size_t from;

	if (!pool || !(at >= 0 && at < (double)pool->n) || pool->n - (from = (size_t)at) < 4)
		return false;
	*to = (struct step_text){ (const char *)pool->p + from + 4, le32(pool->p + from) };
	return to->n <= pool->n - from - 4;
}

/* ---- rows ---- */

int
step_rows_begin(struct step_rows *x, size_t n, size_t width, struct err *e)
{
	if (width && n > STEP_CELLS / width)
		return err_set(e, ERR_MEMORY, NULL, "%zu rows of %zu values are too many", n, width);
	x->n = n;
	x->width = width;
	x->texts = NULL;
	x->pool = NULL;
	x->sparse = false;
	buf_clear(&x->v);
	buf_zeros(&x->v, n * width * sizeof(double) + 1); /* never without memory */
	return buf_ok(&x->v) ? 0 : err_memory(e);
}

void
step_rows_sparse(struct step_rows *x, size_t width)
{
	size_t zero = 0;

	x->n = 0;
	x->width = width;
	x->texts = NULL;
	x->sparse = true;
	buf_clear(&x->start);
	buf_clear(&x->at);
	buf_clear(&x->of);
	buf_put(&x->start, &zero, sizeof zero);
	buf_room(&x->of, sizeof(double)); /* never without memory */
}

void
step_put(struct step_rows *x, uint32_t column, double v)
{
	buf_put(&x->at, &column, sizeof column);
	buf_put(&x->of, &v, sizeof v);
}

void
step_row_end(struct step_rows *x)
{
	size_t n = x->of.n / sizeof(double);

	buf_put(&x->start, &n, sizeof n);
	x->n++;
}

void
step_rows_swap(struct step_rows *a, struct step_rows *b)
{
	struct step_rows t = *a;

	*a = *b;
	*b = t;
}

void
step_rows_free(struct step_rows *x)
{
	buf_free(&x->v);
	buf_free(&x->start);
	buf_free(&x->at);
	buf_free(&x->of);
	*x = (struct step_rows){ 0 };
}

int
step_rows_dense(struct step_rows *x, struct step_rows *spare, struct err *e)
{
	size_t i, k;

	if (!x->sparse)
		return 0;
	if (step_rows_begin(spare, x->n, x->width, e) < 0)
		return -1;
	for (i = 0; i < x->n; i++)
		for (k = step_from(x, i); k < step_from(x, i + 1); k++)
			step_row(spare, i)[step_column(x, k)] = *step_value(x, k);
	step_rows_swap(x, spare);
	return 0;
}

/* ---- steps ---- */

void
step_free(struct step *s)
{
	free(s->a);
	free(s->b);
	free(s->c);
	free(s->list);
	if (s->free_more)
		s->free_more(s->more);
	*s = (struct step){ 0 };
}

bool
step_keeps_sparse(const struct step *s)
{
	return s->kind->sparse && !(s->kind == &step_shift && s->a) &&
	       !(s->kind == &step_stretch && (s->a || s->mode & STEP_CLIP)) &&
	       !(s->kind == &step_binarize && s->x < 0) &&
	       !(s->kind == &step_impute && s->mode & STEP_VALUE && s->x == 0);
}

int
step_chain(const struct step *steps, size_t n, struct step_rows *x, struct step_rows *spare,
           struct err *e)
{
	size_t i;

	for (i = 0; i < n; i++)
		if ((!step_keeps_sparse(&steps[i]) && !step_takes_sparse(&steps[i]) &&
		     step_rows_dense(x, spare, e) < 0) ||
		    steps[i].kind->apply(&steps[i], x, spare, e) < 0)
			return -1;
	return 0;
}

bool
step_takes_sparse(const struct step *s)
{
	return s->kind == &step_layer || (s->kind == &step_project && !s->a) || s->kind == &step_models;
}

static void
add_row(double v, const double *row, size_t n, double *to)
{
	size_t j;

	for (j = 0; j < n; j++)
		to[j] += v * row[j];
}

void
step_product(const struct step_rows *x, const double *w, size_t out, double *to)
{
	size_t r, i;

	for (r = 0; r < x->n; r++, to += out)
		if (x->sparse)
			for (i = step_from(x, r); i < step_from(x, r + 1); i++)
				add_row(*step_value(x, i), w + (size_t)step_column(x, i) * out, out, to);
		else
			for (i = 0; i < x->width; i++)
				add_row(step_row(x, r)[i], w + i * out, out, to);
}
