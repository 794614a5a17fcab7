/* step: what a model does to rows, one step after another: scale them, project them, turn texts into
 * counts of words; or compute scores in a way that is neither trees nor sums of products.
 *
 * Each kind of step is a row of functions (struct step_kind). A chain of steps is part of a predictor
 * (predict.h), in front of its trees or weights, or alone: then the values behind the last step are
 * the scores.
 *
 * Sums are in double precision and in the order of the features. scikit-learn leaves that order to
 * a library of matrices, so scores may differ from its own in the last digits.
 */
#ifndef PREDICT_STEP_H
#define PREDICT_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

#define STEP_CELLS ((size_t)1 << 27) /* values of a block of rows, at most */

struct step_text {
	const char *p; /* UTF-8 */
	size_t n;
};

/* Some rows: texts, or values, all of them or only those that are not zero. */
struct step_rows {
	size_t n, width;
	const struct step_text *texts; /* n of them; NULL once they are values */
	const struct buf *pool; /* texts among the values, each by its number here: step_pool_put; or NULL */
	bool sparse;
	struct buf v;      /* dense: n x width doubles */
	struct buf start;  /* sparse: n + 1 times size_t */
	struct buf at, of; /* sparse: u32 columns in ascending order, doubles */
};

/* Appends a text to a pool. Returns its number, which stands for it among the values of a row. */
double step_pool_put(struct buf *pool, const char *p, size_t n);
/* The text with a number that step_pool_put returned; false for NaN and for other numbers. */
bool step_pool_text(const struct buf *pool, double at, struct step_text *to);

/* Prepare n rows of width zeros; or of none, to which step_put adds. 0 or -1. */
int step_rows_begin(struct step_rows *x, size_t n, size_t width, struct err *e);
void step_rows_sparse(struct step_rows *x, size_t width);
void step_put(struct step_rows *x, uint32_t column, double v);
void step_row_end(struct step_rows *x); /* once for each row */
void step_rows_swap(struct step_rows *a, struct step_rows *b);
void step_rows_free(struct step_rows *x);

/* Write out the zeros of sparse rows. spare loses its rows. 0 or -1. */
int step_rows_dense(struct step_rows *x, struct step_rows *spare, struct err *e);

static inline double *
step_row(const struct step_rows *x, size_t i)
{
	return (double *)(void *)x->v.p + i * x->width;
}

/* Of sparse rows. */
static inline size_t
step_from(const struct step_rows *x, size_t i)
{
	return ((const size_t *)(const void *)x->start.p)[i];
}

static inline uint32_t
step_column(const struct step_rows *x, size_t i)
{
	return ((const uint32_t *)(const void *)x->at.p)[i];
}

static inline double *
step_value(const struct step_rows *x, size_t i)
{
	return (double *)(void *)x->of.p + i;
}

struct step;

struct step_kind {
	const char *name;
	bool texts;  /* takes texts */
	bool sparse; /* takes sparse rows and leaves them so (but see step_keeps_sparse), or makes them of texts */
	/* Turns the rows x into others of s->out values, in place or by way of spare. 0 or -1. */
	int (*apply)(const struct step *s, struct step_rows *x, struct step_rows *spare,
	             struct err *e);
};

struct step {
	const struct step_kind *kind;
	size_t in, out;        /* values of a row; in is 1 for texts */
	double *a, *b, *c;     /* owned; what they are is up to the kind */
	size_t n, k;
	unsigned mode, weigh;
	double x, y;
	uint32_t *list;        /* owned */
	void *more;            /* owned, freed by free_more */
	void (*free_more)(void *more);
};

void step_free(struct step *s);

/* Whether sparse rows stay sparse: a value that is added to all, or a threshold below 0, would change the
 * zeros. */
bool step_keeps_sparse(const struct step *s);

/* Applies n steps. x: the rows, which become those behind the last step. 0 or -1. */
int step_chain(const struct step *steps, size_t n, struct step_rows *x, struct step_rows *spare,
               struct err *e);

/* Turns a step around: rows behind it become rows in front of it. 0, or -1 with ERR_USAGE. */
int step_invert(struct step *s, struct err *e);

/* Whether the step multiplies sparse rows as they come. */
bool step_takes_sparse(const struct step *s);

/* to[r][j] = the sum of x[r][i] * w[i][j], i in ascending order; to begins with zeros. Of sparse rows,
 * only what is there is multiplied: that changes neither finite sums nor their order. */
void step_product(const struct step_rows *x, const double *w, size_t out, double *to);

/* ---- kinds; sums run over the features of a row ---- */

/* (x - a) / b, or without the part whose array is NULL; and x * b + a. */
extern const struct step_kind step_shift, step_stretch;
#define STEP_CLIP 1u   /* mode of step_stretch: then between s->x and s->y */

/* x / norm; rows of norm 0 stay. */
enum step_norm { STEP_NONE, STEP_L1, STEP_L2, STEP_MAX };
extern const struct step_kind step_norm;

extern const struct step_kind step_binarize; /* 1 if greater than s->x, else 0 */
#define STEP_VALUE 1u /* mode of step_impute: s->x is what is missing, not NaN */
extern const struct step_kind step_impute;   /* a for a missing value */

/* (x - a) B, divided by c. a and c may be NULL, B is in x out; and back: x B + a. */
extern const struct step_kind step_project, step_back;

/* Weights of terms: with STEP_SUBLINEAR 1 + ln(x) for x, times a (NULL: 1), then the norm s->k. */
#define STEP_SUBLINEAR 1u
extern const struct step_kind step_tfidf;

/* A layer of a network: f(x B + a). */
enum step_activation { STEP_IDENTITY, STEP_LOGISTIC, STEP_TANH, STEP_RELU, STEP_SOFTMAX };
extern const struct step_kind step_layer;

/* Gaussian naive Bayes: for each class c + the sum of -(x - a)^2 / (2 b). */
extern const struct step_kind step_gauss;

/* The nearest of the n rows of a: mean of their targets b (n x out), or with STEP_VOTE shares of
 * the classes in list. s->k neighbours; s->mode: the metric, s->x: Minkowski's exponent; weigh:
 * by 1 / distance. */
enum step_metric { STEP_EUCLID, STEP_MANHATTAN, STEP_CHEBYSHEV, STEP_MINKOWSKI, STEP_COSINE };
extern const struct step_kind step_nearest, step_vote;

/* Sums of kernels with the n support vectors of a. b: coefficients, (classes - 1) x n, or 1 x n;
 * c: what is added; list: support vectors of each class, k of them, for one-vs-one; k = 0: a single
 * sum. mode: kernel; x: gamma, y: coef0, weigh: degree. */
enum step_kernel { STEP_LINEAR, STEP_POLY, STEP_RBF, STEP_SIGMOID };
extern const struct step_kind step_support;

#endif
