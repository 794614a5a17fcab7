#include "adapt/match.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A decimal number without leading zeros, of at most 9 digits. */
static bool
number(const char **p, uint64_t *n)
{
	const char *s = *p;

	*n = 0;
	while (*s >= '0' && *s <= '9' && s - *p < 9)
		*n = *n * 10 + (uint64_t)(*s++ - '0');
	if (s == *p || (**p == '0' && s - *p > 1))
		return false;
	*p = s;
	return true;
}

/* The rest of name after a pattern that it begins with, or NULL. */
static const char *
after(const char *pattern, const char *name, struct match *m)
{
	for (; *pattern; pattern++) {
		if (*pattern == '#' || *pattern == '*') {
			if (!number(&name, *pattern == '#' ? &m->block : &m->expert))
				return NULL;
		} else if (*pattern != *name++) {
			return NULL;
		}
	}
	return name;
}

/* Whether this ending makes a name complete. */
static bool
ends(const struct arch_rule *r, enum arch_form form, const char *rest, struct match *m)
{
	bool bare = r->flags & (form == ARCH_FOLDER ? RULE_BARE : RULE_PLAIN);
	bool greek = form == ARCH_FOLDER && r->flags & RULE_GREEK;

	m->bias = (r->flags & RULE_AS_BIAS) != 0;
	if (bare)
		return *rest == '\0';
	if (form != ARCH_FOLDER && m->bias)
		return strcmp(rest, ".bias") == 0;
	if (strcmp(rest, greek ? ".gamma" : ".weight") == 0)
		return true;
	m->bias = true;
	return r->flags & RULE_BIAS && strcmp(rest, greek ? ".beta" : ".bias") == 0;
}

static bool
matches(const struct arch *a, const struct arch_rule *r, enum arch_form form,
        const char *name, struct match *m)
{
	const char *pattern = r->role == ROLES || form == ARCH_FOLDER ? rule_name(r)
	                                                              : role_name(r->role, form);
	size_t n = form == ARCH_FOLDER && a->prefix ? strlen(a->prefix) : 0;
	const char *rest;

	if (!pattern || (r->role == ROLES && form != ARCH_FOLDER))
		return false;
	m->other = r->flags & RULE_GREEK;
	if ((rest = after(pattern, name, m)) && ends(r, form, rest, m))
		return true;
	m->other = true;
	if (n && strncmp(pattern, a->prefix, n) == 0 && (rest = after(pattern + n, name, m)) &&
	    ends(r, form, rest, m))
		return true;
	return n && strncmp(name, a->prefix, n) == 0 && strncmp(pattern, a->prefix, n) != 0 &&
	       (rest = after(pattern, name + n, m)) && ends(r, form, rest, m);
}

bool
match_find(const struct arch *a, enum arch_form form, const char *name, size_t from,
           struct match *m)
{
	const struct arch_rule *r;

	for (; (r = arch_rule(a, from)); from++) {
		*m = (struct match){ .rule = r, .index = from };
		if (matches(a, r, form, name, m))
			return true;
	}
	return false;
}

static const char *
ending(const struct arch_rule *r, enum arch_form form, bool bias)
{
	if (r->flags & (form == ARCH_FOLDER ? RULE_BARE : RULE_PLAIN))
		return "";
	if (form == ARCH_FOLDER && r->flags & RULE_GREEK)
		return bias ? ".beta" : ".gamma";
	return bias ? ".bias" : ".weight";
}

const char *
match_name(const struct arch_rule *rule, enum arch_form form, bool bias, uint64_t block,
           uint64_t expert, char dst[MATCH_NAME])
{
	const char *p = form == ARCH_FOLDER ? rule_name(rule) : role_name(rule->role, form);
	size_t n = 0;

	for (; p && *p && n < MATCH_NAME - 48; p++)
		if (*p == '#' || *p == '*')
			n += (size_t)snprintf(dst + n, MATCH_NAME - n, "%" PRIu64,
			                      *p == '#' ? block : expert);
		else
			dst[n++] = *p;
	snprintf(dst + n, MATCH_NAME - n, "%s", ending(rule, form, bias));
	return dst;
}
