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
extern const struct rule values_rules[VALUES_RULES];

static inline bool
values_is(const struct survey_tensor *t, enum role role)
{
	return t->known && t->read && t->match.rule->role == role && !t->match.bias;
}

/* The root of the mean square of the finite values. */
double values_rms(const struct stats *s);

/* siblings.c, bonds.c. 0, or -1 if memory ran out. */
int values_siblings(const struct survey *s, struct findings *f, struct err *e);
int values_bonds(const struct survey *s, struct findings *f, struct err *e);

#endif
