/* values_parts: what the files of values.h share. */
#ifndef CHECK_VALUES_PARTS_H
#define CHECK_VALUES_PARTS_H

#include "check/values.h"
#include "stats/look.h"

enum values_rule {
	VALUES_DEAD, VALUES_OUTLIER, VALUES_DUPLICATE, VALUES_SCALE, VALUES_CODES, VALUES_CONSTANT,
	VALUES_SPREAD, VALUES_SPARSE, VALUES_SIBLING, VALUES_BOND, VALUES_ORDER, VALUES_TOKENS,
	VALUES_REFERENCE, VALUES_RULES
};

static inline bool
values_is(const struct survey_tensor *t, enum role role)
{
	return t->known && t->read && t->match.rule->role == role && !t->match.bias;
}

/* The root of the mean square of the finite values. */
double values_rms(const struct stats *s);

/* The correlation of n pairs of numbers, without those that are not finite; 0 if fewer than 8
 * are left. *used: their number. */
double values_correlation(const float *a, const float *b, size_t n, size_t *used);

/* The sum of the products of n pairs of finite numbers, in eight lanes. */
double values_product(const float *a, const float *b, size_t n);

/* Fisher's transform of a correlation, in standard errors of n pairs. */
double values_sureness(double r, size_t n);

/* profiles.c: embeddings and head. */
void values_tokens(const struct survey *s, struct findings *f);

/* siblings.c, bonds.c. 0, or -1 if memory ran out. */
int values_siblings(const struct survey *s, struct findings *f, struct err *e);
int values_bonds(const struct survey *s, struct findings *f, struct err *e);

#endif
