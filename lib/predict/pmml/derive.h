/* derive: the step that treats the values of a row and computes fields from them.
 *
 * A derived field is a list of operations on a stack, whose result is its slot; it may use the slots before it.
 * A missing value is NaN, and what is computed from one is missing too, where an operation says nothing else.
 */
#ifndef PREDICT_PMML_DERIVE_H
#define PREDICT_PMML_DERIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "predict/step.h"

#define DERIVE_STACK 64   /* values on the stack, at most */
#define DERIVE_ROWS 4096  /* rows of a table that is searched */

enum derive_code {
	DO_CONST, DO_SLOT, DO_DEFAULT, DO_SINGLE, DO_END,
	DO_ADD, DO_SUBTRACT, DO_MULTIPLY, DO_DIVIDE, DO_POW,
	DO_MIN, DO_MAX, DO_SUM, DO_AVG, DO_PRODUCT,
	DO_EXP, DO_LN, DO_LOG10, DO_SQRT, DO_ABS, DO_FLOOR, DO_CEIL, DO_ROUND, DO_THRESHOLD,
	DO_IS_MISSING, DO_IS_NOT_MISSING,
	DO_EQUAL, DO_NOT_EQUAL, DO_LESS, DO_LESS_EQUAL, DO_GREATER, DO_GREATER_EQUAL,
	DO_AND, DO_OR, DO_NOT, DO_IF, DO_IS_IN, DO_IS_NOT_IN,
	DO_LINES,   /* NormContinuous: n pairs of the list at a; v: outliers */
	DO_BINS,    /* Discretize: n bins of 5 numbers; v: without a bin */
	DO_TABLE,   /* MapValues: a row of n + 1 values in the list at a, their number first; v: without a row */
	DO_WORDS    /* MapValues of one word: n values at a */
};

struct derive_op {
	uint32_t code, n;
	size_t a;
	double v;
};

enum derive_outliers { OUTLIERS_AS_IS, OUTLIERS_MISSING, OUTLIERS_EXTREME };

/* A value of the rows. */
struct derive_treat {
	size_t ranges, range_count; /* valid ones, each 4 numbers of the list; 0: all */
	double replacement;         /* NaN: none */
	double invalid;             /* instead of an invalid value */
	double low, high;
	uint8_t outliers;
	bool refuses, replaces;     /* an invalid value is an error; becomes `invalid` */
	bool single;
};

struct derived {
	struct derive_treat *treats;
	size_t inputs;
	struct buf ops;  /* struct derive_op; DO_END after each slot */
	struct buf list; /* doubles */
	struct buf dropped; /* bytes: not 0 for a value of the result that is 0, as no term uses it */
	size_t slots;    /* computed ones */
	bool treated;    /* a treatment changes values otherwise than by its replacement */
	bool replaced;
	char *where;     /* for messages: the file */
};

extern const struct step_kind step_fields;
void derived_free(void *derived);

#endif
