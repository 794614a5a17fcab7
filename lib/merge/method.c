#include "merge/method.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/near.h"

/* ---- parameters ---- */

static const struct merge_param_row params[MERGE_PARAMS] = {
	[PARAM_WEIGHT] = { "weight", true, false, -1e6, 1e6, NULL },
	[PARAM_DENSITY] = { "density", true, false, 0, 1,
		"share of the differences from the base that stays" },
	[PARAM_GAMMA] = { "gamma", true, false, 0, 1,
		"share of the largest differences that breadcrumbs drops" },
	[PARAM_EPSILON] = { "epsilon", true, false, 0, 1,
		"della: the densities of a row lie this far below and above" },
	[PARAM_SCALE] = { "scale", true, false, -1e6, 1e6, "passthrough: factor of each value" },
	[PARAM_LAMBDA] = { "lambda", false, false, -1e6, 1e6,
		"factor of the merged difference from the base" },
	[PARAM_T] = { "t", false, false, 0, 1, "slerp: 0 is the first model, 1 the second" },
	[PARAM_NORMALIZE] = { "normalize", false, true, 0, 1,
		"divide by the sum of the weights: true or false" },
	[PARAM_RESCALE] = { "rescale", false, true, 0, 1,
		"make up for differences that were dropped: true or false" },
	[PARAM_SELECT_TOPK] = { "select_topk", false, false, 0, 1,
		"sce: share of the positions that vary most" },
	[PARAM_FLATTEN] = { "nuslerp_flatten", false, true, 0, 1,
		"nuslerp: one angle for a whole tensor: true or false" },
	[PARAM_ROW_WISE] = { "nuslerp_row_wise", false, true, 0, 1,
		"nuslerp: an angle for each column, not for each row: true or false" },
	[PARAM_FILTER_WISE] = { "filter_wise", false, true, 0, 1,
		"model_stock: an angle for each row: true or false" },
	[PARAM_NORMALIZE_WEIGHTS] = { "normalize_weights", false, true, 0, 1,
		"multislerp: divide by the sum of the weights: true or false" },
	[PARAM_MAX_ITER] = { "max_iter", false, false, 1, 1000, "karcher: maximum number of steps" },
	[PARAM_TOL] = { "tol", false, false, 1e-15, 1, "karcher: length of the last step" },
	[PARAM_EPS] = { "eps", false, false, 0, 1, NULL },
	[PARAM_INT8_MASK] = { "int8_mask", false, true, 0, 1, NULL },
};

const struct merge_param_row *
merge_param_row(enum merge_param p)
{
	return &params[p];
}

enum merge_param
merge_param_find(const char *name)
{
	unsigned i;

	for (i = 0; i < MERGE_PARAMS; i++)
		if (strcmp(params[i].name, name) == 0)
			break;
	return (enum merge_param)i;
}

/* ---- methods ---- */

#define END { MERGE_PARAMS, 0 }
#define TASK(normalize, rescale) \
	{ PARAM_WEIGHT, 1 }, { PARAM_LAMBDA, 1 }, { PARAM_NORMALIZE, normalize }, \
	{ PARAM_RESCALE, rescale }, { PARAM_DENSITY, 1 }

static const struct merge_method methods[] = {
	{ "average", BASE_NONE, 1, 0, false, KEEP_ALL, WEIGH_EQUAL, false,
	  "the mean of the models", { END } },
	{ "weighted", BASE_NONE, 1, 0, false, KEEP_ALL, WEIGH_GIVEN, false,
	  "their mean by weights, which are divided by their sum",
	  { { PARAM_WEIGHT, 1 }, { PARAM_NORMALIZE, 1 }, END } },
	{ "linear", BASE_NONE, 1, 0, false, KEEP_ALL, WEIGH_GIVEN, false,
	  "their sum by weights, which are used unchanged",
	  { { PARAM_WEIGHT, 1 }, { PARAM_NORMALIZE, 0 }, END } },
	{ "slerp", BASE_FIRST, 2, 2, false, KEEP_ALL, WEIGH_SLERP, false,
	  "a point on the arc between two models", { { PARAM_T, NAN }, END } },
	{ "nuslerp", BASE_MAY, 2, 2, true, KEEP_ALL, WEIGH_NUSLERP, false,
	  "the same by weights; with a base, between differences",
	  { { PARAM_WEIGHT, 1 }, { PARAM_FLATTEN, 1 }, { PARAM_ROW_WISE, 0 }, END } },
	{ "multislerp", BASE_MAY, 2, 0, true, KEEP_ALL, WEIGH_MULTISLERP, false,
	  "a mean on the sphere, by one step from the weighted mean",
	  { { PARAM_WEIGHT, 1 }, { PARAM_NORMALIZE_WEIGHTS, 1 }, { PARAM_EPS, 1e-8 }, END } },
	{ "karcher", BASE_NONE, 2, 0, false, KEEP_ALL, WEIGH_KARCHER, false,
	  "the mean on the sphere, by steps until it is found",
	  { { PARAM_MAX_ITER, 10 }, { PARAM_TOL, 1e-5 }, END } },
	{ "task_arithmetic", BASE_MUST, 1, 0, true, KEEP_ALL, WEIGH_GIVEN, false,
	  "the base and the differences by weights", { TASK(0, 0), END } },
	{ "ties", BASE_MUST, 1, 0, true, KEEP_LARGEST, WEIGH_GIVEN, true,
	  "the largest differences with the elected sign", { TASK(1, 0), END } },
	{ "dare_linear", BASE_MUST, 1, 0, true, KEEP_RANDOM, WEIGH_GIVEN, false,
	  "differences, some dropped at random", { TASK(0, 1), END } },
	{ "dare_ties", BASE_MUST, 1, 0, true, KEEP_RANDOM, WEIGH_GIVEN, true,
	  "the same with the elected sign", { TASK(0, 1), END } },
	{ "della_linear", BASE_MUST, 1, 0, true, KEEP_RANKED, WEIGH_GIVEN, false,
	  "differences, small ones dropped more often", { TASK(0, 1), { PARAM_EPSILON, 0.15 } } },
	{ "della", BASE_MUST, 1, 0, true, KEEP_RANKED, WEIGH_GIVEN, true,
	  "the same with the elected sign", { TASK(1, 1), { PARAM_EPSILON, 0.15 } } },
	{ "breadcrumbs", BASE_MUST, 1, 0, true, KEEP_MIDDLE, WEIGH_GIVEN, false,
	  "differences that are neither the smallest nor the largest",
	  { TASK(0, 0), { PARAM_GAMMA, 0.01 } } },
	{ "breadcrumbs_ties", BASE_MUST, 1, 0, true, KEEP_MIDDLE, WEIGH_GIVEN, true,
	  "the same with the elected sign", { TASK(0, 0), { PARAM_GAMMA, 0.01 } } },
	{ "model_stock", BASE_MUST, 2, 0, true, KEEP_ALL, WEIGH_STOCK, false,
	  "a point between the base and the mean, by their angle",
	  { { PARAM_FILTER_WISE, 0 }, END } },
	{ "sce", BASE_MUST, 1, 0, true, KEEP_VARIED, WEIGH_ENERGY, true,
	  "the most varied differences, weighted by their squares",
	  { { PARAM_SELECT_TOPK, 1 }, END } },
	{ "passthrough", BASE_NONE, 1, 1, false, KEEP_ALL, WEIGH_SCALE, false,
	  "layers of the models unchanged", { { PARAM_SCALE, 1 }, END } },
};
#define METHODS (sizeof methods / sizeof *methods)

const struct merge_method *
merge_method_row(size_t n)
{
	return n < METHODS ? &methods[n] : NULL;
}

const struct merge_method *
merge_method_find(const char *name)
{
	size_t i;

	for (i = 0; i < METHODS; i++)
		if (strcmp(methods[i].name, name) == 0)
			return &methods[i];
	return NULL;
}

bool
merge_method_default(const struct merge_method *m, enum merge_param p, double *value)
{
	const struct merge_default *d = m->defaults, *end = d + sizeof m->defaults / sizeof *d;

	for (; d < end && d->param != MERGE_PARAMS; d++)
		if (d->param == p) {
			*value = d->value;
			return true;
		}
	return false;
}

/* ---- names that do not exist ---- */

static const char *
method_word(unsigned index)
{
	return index < METHODS ? methods[index].name : NULL;
}

const struct merge_method *
merge_method_asked(const char *name, const char *where, struct err *e)
{
	const struct merge_method *m = merge_method_find(name);

	if (!m) {
		err_set(e, ERR_USAGE, where, "%.80s is not a method of merging", name);
		err_hint(e, "apr-merge --list");
		near_words(e, name, method_word);
	}
	return m;
}
