/* step_features: steps that select features, or make others of them. Each is described by the numbers and
 * arrays of struct step, so that form.h can hold it.
 *
 *     select     list: the features that stay, `out` of them
 *     marks      list: features; 1 for a missing value, else 0. mode MARKS_VALUE: s->x is what is missing
 *     poly       products of features: degrees k to n; mode POLY_ALONE, POLY_ONE
 *     bins       the bin of each feature; list: its number of inner edges; a: all edges, n of them; mode
 *                BINS_ONEHOT: a value for each bin, which is 1 or 0
 *     interpolate  list: the points of each feature; a: their x, in order; b: their y; mode: interpolate_mode
 *     power      a: the exponents; mode: power_mode
 *     function   mode: function_mode
 *     quadratic  for each of `out` classes: c - |(x - a) B|^2 / 2; a: out x in; b: out x in x in
 *
 * Source: scikit-learn's documentation of PolynomialFeatures, KBinsDiscretizer, QuantileTransformer,
 * PowerTransformer, IsotonicRegression, QuadraticDiscriminantAnalysis and GaussianMixture. */
#ifndef PREDICT_STEP_FEATURES_H
#define PREDICT_STEP_FEATURES_H

#include "predict/step.h"

#define MARKS_VALUE 1u

#define POLY_ALONE 1u /* no feature twice in a product */
#define POLY_ONE 2u   /* the value 1 comes first */
#define POLY_TERMS ((size_t)1 << 20) /* products of all degrees, at most */

#define BINS_ONEHOT 1u

enum interpolate_mode {
	INTERPOLATE_CLIP,     /* values outside are moved to the ends first */
	INTERPOLATE_UNIFORM,  /* quantiles: the mean of both directions */
	INTERPOLATE_NORMAL    /* the same, as a quantile of the normal distribution */
};

enum power_mode { POWER_YEO_JOHNSON, POWER_BOX_COX };

enum function_mode {
	FUNCTION_LOGISTIC, FUNCTION_EXP, FUNCTION_EXPM1, FUNCTION_EXP2, FUNCTION_LOG, FUNCTION_LOG1P,
	FUNCTION_LOG2, FUNCTION_LOG10, FUNCTION_SQRT, FUNCTION_SQUARE, FUNCTION_ABSOLUTE, FUNCTION_RECIPROCAL,
	FUNCTIONS
};

extern const struct step_kind step_select, step_marks, step_poly, step_bins, step_interpolate, step_power,
	step_function, step_quadratic;

/* Makes the list of a step of products of s->in features from k, n and mode, and sets s->out. 0, or -1 with
 * ERR_MEMORY. */
int step_poly_begin(struct step *s, struct err *e);

/* Whether the arrays of such a step fit each other. */
bool step_features_fit(const struct step *s);

#endif
