/* method: the methods of merging as rows of a table, and their parameters.
 *
 * x is the tensor of a model, b that of the base, d = x - b in single precision. Sums over
 * models and over a tensor are in double precision. A row says which vectors are merged (x or
 * d), which of their values are kept, how coefficients are found, and how the kept values of
 * all models become one.
 *
 * Sources: linear: Model Soups (arXiv 2203.05482); task_arithmetic: 2212.04089; ties:
 * 2306.01708; dare: 2311.03099; della: 2406.11617; breadcrumbs: 2312.06795; model_stock:
 * 2403.19522; sce: FuseChat (2408.07990); slerp: Shoemake, Animating Rotation with Quaternion
 * Curves; karcher: the mean on the sphere by gradient descent; multislerp and the names of
 * parameters: the documentation of mergekit.
 */
#ifndef MERGE_METHOD_H
#define MERGE_METHOD_H

#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"

/* ---- parameters ---- */

enum merge_param {
	PARAM_WEIGHT, PARAM_DENSITY, PARAM_GAMMA, PARAM_EPSILON, PARAM_SCALE, /* of each model */
	PARAM_LAMBDA, PARAM_T, PARAM_NORMALIZE, PARAM_RESCALE, PARAM_SELECT_TOPK,
	PARAM_FLATTEN, PARAM_ROW_WISE, PARAM_FILTER_WISE, PARAM_NORMALIZE_WEIGHTS,
	PARAM_MAX_ITER, PARAM_TOL, PARAM_EPS, PARAM_INT8_MASK,
	MERGE_PARAMS
};

struct merge_param_row {
	const char *name;    /* of a recipe */
	bool model;          /* each model has its own value */
	bool truth;          /* true or false */
	double low, high;    /* limits, inclusive */
	const char *help;    /* as an option of apr-merge; NULL: recipes only */
};

/* The row of a parameter; the parameter with a name, or MERGE_PARAMS. */
const struct merge_param_row *merge_param_row(enum merge_param p);
enum merge_param merge_param_find(const char *name);

/* ---- methods ---- */

enum merge_keep {        /* the values of d that stay */
	KEEP_ALL,
	KEEP_LARGEST,    /* the density share with the largest |d| */
	KEEP_MIDDLE,     /* the same after the gamma share with the largest |d| */
	KEEP_RANDOM,     /* each with probability density */
	KEEP_RANKED,     /* each with a probability by its rank in its row */
	KEEP_VARIED      /* the select_topk share with the largest variance over the models */
};

enum merge_weigh {       /* where coefficients come from */
	WEIGH_GIVEN,     /* weight */
	WEIGH_EQUAL,
	WEIGH_SCALE,     /* scale */
	WEIGH_SLERP,     /* t: the angle between two models */
	WEIGH_NUSLERP,   /* the same; t from weights, of rows or columns if asked */
	WEIGH_MULTISLERP,
	WEIGH_KARCHER,
	WEIGH_STOCK,     /* the mean angle of the models around the base */
	WEIGH_ENERGY     /* the share of the sum of d² */
};

enum merge_base { BASE_NONE, BASE_MAY, BASE_MUST, BASE_FIRST /* one of the models */ };

struct merge_default {
	enum merge_param param;
	double value;        /* NAN: there is none, and a value must be given */
};

struct merge_method {
	const char *name;
	enum merge_base base;
	size_t least, most;  /* models, without the base except for BASE_FIRST; most 0: any */
	bool deltas;         /* vectors are d; for BASE_MAY: if there is a base */
	enum merge_keep keep;
	enum merge_weigh weigh;
	bool elect;          /* only values with the elected sign are added */
	const char *help;    /* what the result is */
	struct merge_default defaults[6]; /* parameters of the method, ended by MERGE_PARAMS */
};

/* The n-th row, NULL past the last; the row of a name, or NULL. merge_method_asked: ERR_USAGE
 * with the nearest name. */
const struct merge_method *merge_method_row(size_t n);
const struct merge_method *merge_method_find(const char *name);
const struct merge_method *merge_method_asked(const char *name, const char *where,
                                              struct err *e);

/* The default of a parameter; false if the method does not have it. */
bool merge_method_default(const struct merge_method *m, enum merge_param p, double *value);

#endif
