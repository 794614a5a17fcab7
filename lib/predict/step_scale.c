/* Steps that scale, project and fill in. Source of the formulas: scikit-learn's documentation of
 * StandardScaler, MinMaxScaler, Normalizer, SimpleImputer, PCA, TfidfTransformer. */
#include <math.h>
#include <stdlib.h>

#include "core/mem.h"
#include "predict/step.h"

/* Calls f for each value of the rows; sparse rows have only those that are not zero. */
#define EACH_VALUE(X, COLUMN, V, STATEMENT) do { \
	size_t i_, all_ = (X)->sparse ? step_from(X, (X)->n) : (X)->n * (X)->width; \
	for (i_ = 0; i_ < all_; i_++) { \
		double *V = (X)->sparse ? step_value(X, i_) : (double *)(void *)(X)->v.p + i_; \
		size_t COLUMN = (X)->sparse ? step_column(X, i_) : i_ % (X)->width; \
		(void)COLUMN; \
		STATEMENT; \
	} \
} while (0)

static int
shift(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	(void)spare;
	(void)e;
	EACH_VALUE(x, j, v, {
		if (s->a)
			*v -= s->a[j];
		if (s->b)
			*v /= s->b[j];
	});
	return 0;
}

static int
stretch(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	(void)spare;
	(void)e;
	EACH_VALUE(x, j, v, {
		if (s->b)
			*v *= s->b[j];
		if (s->a)
			*v += s->a[j];
		if (s->mode & STEP_CLIP)
			*v = *v < s->x ? s->x : *v > s->y ? s->y : *v;
	});
	return 0;
}

static int
binarize(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	(void)spare;
	(void)e;
	EACH_VALUE(x, j, v, *v = *v > s->x);
	return 0;
}

static int
impute(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	(void)spare;
	(void)e;
	EACH_VALUE(x, j, v, *v = (s->mode & STEP_VALUE ? *v == s->x : isnan(*v)) ? s->a[j] : *v);
	return 0;
}

/* ---- norms ---- */

static void
divide_by_norm(double *v, size_t n, unsigned norm)
{
	double sum = 0, a;
	size_t i;

	for (i = 0; i < n; i++) {
		a = fabs(v[i]);
		if (norm == STEP_MAX)
			sum = a > sum ? a : sum;
		else
			sum += norm == STEP_L1 ? a : a * a;
	}
	sum = norm == STEP_L2 ? sqrt(sum) : sum;
	for (i = 0; i < n && sum != 0; i++)
		v[i] /= sum;
}

static void
normalize(struct step_rows *x, unsigned norm)
{
	size_t i;

	for (i = 0; i < x->n && norm != STEP_NONE; i++)
		if (x->sparse)
			divide_by_norm(step_value(x, step_from(x, i)), step_from(x, i + 1) - step_from(x, i),
			               norm);
		else
			divide_by_norm(step_row(x, i), x->width, norm);
}

static int
norm(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	(void)spare;
	(void)e;
	normalize(x, s->mode);
	return 0;
}

static int
tfidf(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	(void)spare;
	(void)e;
	EACH_VALUE(x, j, v, {
		if ((s->mode & STEP_SUBLINEAR) && *v != 0)
			*v = log(*v) + 1;
		if (s->a)
			*v *= s->a[j];
	});
	normalize(x, (unsigned)s->k);
	return 0;
}

/* ---- projections ---- */

static int
project(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	size_t i, j;

	if (step_rows_begin(spare, x->n, s->out, e) < 0)
		return -1;
	for (i = 0; s->a && i < x->n; i++)
		for (j = 0; j < s->in; j++)
			step_row(x, i)[j] -= s->a[j];
	step_product(x, s->b, s->out, step_row(spare, 0));
	for (i = 0; s->c && i < x->n; i++)
		for (j = 0; j < s->out; j++)
			step_row(spare, i)[j] /= s->c[j];
	step_rows_swap(x, spare);
	return 0;
}

static int
back(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	size_t i, j;

	if (step_rows_begin(spare, x->n, s->out, e) < 0)
		return -1;
	step_product(x, s->b, s->out, step_row(spare, 0));
	for (i = 0; s->a && i < x->n; i++)
		for (j = 0; j < s->out; j++)
			step_row(spare, i)[j] += s->a[j];
	step_rows_swap(x, spare);
	return 0;
}

const struct step_kind step_shift = { "shift", false, true, shift };
const struct step_kind step_stretch = { "stretch", false, true, stretch };
const struct step_kind step_norm = { "norm", false, true, norm };
const struct step_kind step_binarize = { "binarize", false, true, binarize };
const struct step_kind step_impute = { "impute", false, true, impute };
const struct step_kind step_tfidf = { "tfidf", false, true, tfidf };
const struct step_kind step_project = { "projection", false, false, project };
const struct step_kind step_back = { "projection back", false, false, back };

/* ---- the other way ---- */

/* B turned around; with the divisors of the projection as factors. */
static int
invert_projection(struct step *s, struct err *e)
{
	double *b = mem_array(s->in * s->out, sizeof *b);
	size_t i, j;

	if (!b)
		return err_memory(e);
	for (i = 0; i < s->in; i++)
		for (j = 0; j < s->out; j++)
			b[j * s->in + i] = s->b[i * s->out + j] * (s->c ? s->c[j] : 1);
	free(s->b);
	free(s->c);
	s->b = b;
	s->c = NULL;
	i = s->in;
	s->in = s->out;
	s->out = i;
	s->kind = &step_back;
	return 0;
}

int
step_invert(struct step *s, struct err *e)
{
	if (s->kind == &step_project)
		return invert_projection(s, e);
	if (s->kind == &step_shift) {
		s->kind = &step_stretch;
		return 0;
	}
	if (s->kind == &step_stretch) {
		s->kind = &step_shift;
		return 0;
	}
	return err_set(e, ERR_USAGE, NULL, "--inverse: the %s of the model has no inverse",
	               s->kind->name);
}
