/* expr: small expressions over hyper-parameters, by which tables of data say how one value
 * follows from others.
 *
 *	alternatives = terms, separated by " | "
 *	terms        = term, then any number of: operator, term
 *	term         = a name, a number, 'text', true, false, null, [] or {}
 *
 * Spaces separate all parts. The value is that of the first alternative whose names all
 * have one. Operators apply from left to right:
 *
 *	+ - *   in double precision
 *	/       cuts both operands to integers and divides these, cutting the quotient
 *	:       divides; the quotient times the divisor is not below the dividend
 */
#ifndef ARCH_EXPR_H
#define ARCH_EXPR_H

#include "core/err.h"
#include "core/json.h"

#define EXPR_NAME 96 /* bytes of a name or literal with its NUL */

/* Names and their values. */
struct expr_scope {
	/* The value of a name, as a new reference; NULL if it has none. */
	json_t *(*find)(const struct expr_scope *s, const char *name);
	const char *where; /* for messages: "config.json" */
};

/* The value of an expression, as a new reference. A single term keeps its JSON type; other
 * terms are numbers. NULL with e empty: no alternative has a value; NULL with e filled
 * (ERR_CORRUPT): a value is not a number, or the result is not finite. */
json_t *expr_value(const struct expr_scope *s, const char *text, struct err *e);

/* Whether a condition holds:
 *
 *	?name        the name has a value
 *	-name        it does not have one
 *	name!number  it has one, but not this number; false and true are 0 and 1
 *	name=text    its value is this text
 *	a & b        both hold
 */
bool expr_holds(const struct expr_scope *s, const char *condition);

/* The first name in an expression or condition, for messages. Returns name. */
char *expr_name(const char *text, char name[EXPR_NAME]);

/* If an alternative is a single name, copy it, and move *text behind it. False: it is not, or
 * there is none left (*text is NULL then). */
bool expr_alternative(const char **text, char name[EXPR_NAME]);

#endif
