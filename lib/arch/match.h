/* match: finds the rule for a name (arch/arch.h). */
#ifndef ARCH_MATCH_H
#define ARCH_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

#define MATCH_NAME 512

struct match {
	const struct arch_rule *rule;
	size_t index;            /* of the rule */
	uint64_t block, expert;  /* 0: the name has none */
	bool bias;
	bool other;              /* the name is greek, or lacks the prefix or has one more */
};

/* Find a rule from number `from` on for a name in that form. False if there is none. */
bool match_find(const struct arch *a, enum arch_form form, const char *name, size_t from,
                struct match *m);

/* The name that a rule gives in a form, also with "#" and "*" as the numbers (match_template).
 * Returns dst. */
const char *match_name(const struct arch_rule *rule, enum arch_form form, bool bias,
                       uint64_t block, uint64_t expert, char dst[MATCH_NAME]);
const char *match_template(const struct arch_rule *rule, enum arch_form form, bool bias,
                           char dst[MATCH_NAME]);

/* Whether a rule is for a weight and a bias. */
bool match_may_bias(const struct arch_rule *r);

/* The name in .apr files of a tensor that has this name in model folders, numbers or their
 * placeholders included (version 2, section 10.8). Returns dst. */
const char *match_apr(const char *folder, char dst[MATCH_NAME]);

#endif
