#include "arch/expr.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXACT 9007199254740992.0 /* integers below it are exact in double precision */

/* ---- words ---- */

/* Copy the next word of *text, and move *text behind it. False at the end. */
static bool
word(const char **text, char dst[EXPR_NAME])
{
	const char *p = *text + strspn(*text, " ");
	size_t n = strcspn(p, " ");

	*text = p + n;
	if (n == 0 || n >= EXPR_NAME)
		return false;
	memcpy(dst, p, n);
	dst[n] = '\0';
	return true;
}

static bool
is_number(const char *w)
{
	return isdigit((unsigned char)w[0]) || (w[0] == '-' && isdigit((unsigned char)w[1]));
}

/* Whether a word is a literal: then *v is its value, as a new reference. */
static bool
literal(const char *w, json_t **v)
{
	struct err ignored = ERR_INIT;
	size_t n = strlen(w);

	if (w[0] == '\'')
		*v = n > 1 ? json_stringn(w + 1, n - 2) : NULL;
	else if (is_number(w) && !strpbrk(w, ".e"))
		*v = json_integer(strtoll(w, NULL, 10));
	else if (is_number(w))
		*v = json_real(strtod(w, NULL));
	else if (w[0] == '[' || w[0] == '{' || strcmp(w, "true") == 0 ||
	         strcmp(w, "false") == 0 || strcmp(w, "null") == 0)
		*v = json_parse_any(w, n, ERR_CORRUPT, w, &ignored);
	else
		return false;
	return true;
}

static bool
is_operator(const char *w)
{
	return w[0] && !w[1] && strchr("+-*/:|", w[0]);
}

char *
expr_name(const char *text, char name[EXPR_NAME])
{
	json_t *v = NULL;

	text += strspn(text, "?-");
	while (word(&text, name)) {
		if (!is_operator(name) && !literal(name, &v)) {
			name[strcspn(name, "!=")] = '\0';
			return name;
		}
		json_decref(v);
		v = NULL;
	}
	name[0] = '\0';
	return name;
}

bool
expr_alternative(const char **text, char name[EXPR_NAME])
{
	char next[EXPR_NAME];
	json_t *v = NULL;
	bool single;

	if (!*text || !word(text, name)) {
		*text = NULL;
		return false;
	}
	single = !literal(name, &v);
	json_decref(v);
	while (word(text, next)) {
		if (strcmp(next, "|") == 0)
			return single;
		single = false;
	}
	return single;
}

/* ---- values ---- */

static json_t *
term(const struct expr_scope *s, const char *w)
{
	json_t *v = NULL;

	if (literal(w, &v))
		return v;
	v = s->find(s, w);
	/* "auto" asks the reader to compute the value, as if it were missing */
	if (json_is_null(v) || (json_is_string(v) && strcmp(json_string_value(v), "auto") == 0)) {
		json_decref(v);
		v = NULL;
	}
	return v;
}

static double
quotient(double a, double b)
{
	double r = a / b;

	return r * b < a ? nextafter(r, INFINITY) : r;
}

static double
apply(char operator, double a, double b)
{
	switch (operator) {
	case '+': return a + b;
	case '-': return a - b;
	case '*': return a * b;
	case '/': return trunc(trunc(a) / trunc(b));
	default: return quotient(a, b);
	}
}

/* The terms at all; the first is w and has the value v, which is taken, and text is the rest. */
static json_t *
compute(const struct expr_scope *s, const char *all, const char *text, char *w, json_t *v,
        struct err *e)
{
	char operator[EXPR_NAME];
	double result = json_number_value(v);
	bool number = json_is_number(v), whole = json_is_integer(v);

	json_decref(v);
	while (number && word(&text, operator) && strcmp(operator, "|") != 0) {
		if (!word(&text, w) || !(v = term(s, w)))
			return NULL;
		number = json_is_number(v);
		whole = operator[0] != ':' && (whole || operator[0] == '/') &&
			(json_is_integer(v) || operator[0] == '/');
		result = apply(operator[0], result, json_number_value(v));
		json_decref(v);
	}
	if (!number)
		err_set(e, ERR_CORRUPT, s->where, "%s is not a number", w[0] == '@' ? w + 1 : w);
	else if (!isfinite(result))
		err_set(e, ERR_CORRUPT, s->where, "%.*s is not a finite number",
		        (int)strcspn(all, "|"), all);
	if (!number || !isfinite(result))
		return NULL;
	return whole && fabs(result) < EXACT ? json_integer((json_int_t)result)
	                                     : json_real(result);
}

/* One alternative; *text moves behind it. */
static json_t *
alternative(const struct expr_scope *s, const char **text, struct err *e)
{
	const char *all = *text, *rest;
	char w[EXPR_NAME], next[EXPR_NAME];
	json_t *v;

	all += strspn(all, " ");
	if (!word(text, w))
		return NULL;
	rest = *text;
	v = term(s, w);
	if (word(text, next) && strcmp(next, "|") != 0) {
		if (v)
			v = compute(s, all, rest, w, v, e);
		while (word(text, next) && strcmp(next, "|") != 0)
			;
	}
	return v;
}

json_t *
expr_value(const struct expr_scope *s, const char *text, struct err *e)
{
	json_t *v = NULL;

	while (!v && e->code == ERR_NONE && *text)
		v = alternative(s, &text, e);
	return v;
}

static bool
holds_one(const struct expr_scope *s, const char *condition)
{
	const char *other = strpbrk(condition, "!=");
	size_t n = other ? (size_t)(other - condition) : strlen(condition);
	char name[EXPR_NAME];
	json_t *v;
	bool holds;

	snprintf(name, sizeof name, "%.*s", (int)n, condition);
	v = term(s, other ? name : name + 1);

	if (!other)
		holds = (v != NULL) == (condition[0] == '?');
	else if (*other == '=')
		holds = json_is_string(v) && strcmp(json_string_value(v), other + 1) == 0;
	else
		holds = v && (json_is_boolean(v) ? json_is_true(v) : json_number_value(v)) !=
		             strtod(other + 1, NULL);
	json_decref(v);
	return holds;
}

bool
expr_holds(const struct expr_scope *s, const char *condition)
{
	char one[EXPR_NAME];

	while (word(&condition, one))
		if (one[0] != '&' && !holds_one(s, one))
			return false;
	return true;
}
