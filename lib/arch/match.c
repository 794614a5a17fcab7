#include "arch/match.h"

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

/* ---- names in .apr files ---- */

/* What distinguishes a name in .apr files from that in folders: a whole name, or its
 * beginning. The first row that fits is used. Names that no row
 * fits are the same.
 *
 * Source: version 2, section 10.8; for BERT, the template of existing software. */
static const struct { const char *folder, *apr; } words[] = {
	{ "model.encoder.embed_positions.weight", "encoder.positional_embedding" },
	{ "model.decoder.embed_positions.weight", "decoder.positional_embedding" },
	{ "model.decoder.embed_tokens.weight", "decoder.token_embedding" },
	{ "model.encoder.", "encoder." },
	{ "model.decoder.", "decoder." },
	{ "model.embed_tokens.weight", "token_embedding" },
	{ "embeddings.", "bert.embeddings." },
	{ "encoder.layer.", "bert.encoder.layer." },
	{ "pooler.", "bert.pooler." },
	{ "model.layers.#.self_attn.", "layers.#.attn." },
	{ "model.", "" },
};

/* The bytes of s that a word covers at its beginning; 0: it does not fit. A "#" is a number or
 * itself, and number is set to its place. */
static size_t
covers(const char *word, const char *s, size_t *number, size_t *digits)
{
	const char *p = s;

	for (; *word; word++) {
		if (*word != '#') {
			if (*p++ != *word)
				return 0;
			continue;
		}
		*number = (size_t)(p - s);
		*digits = *p == '#' ? 1 : strspn(p, "0123456789");
		if (*digits == 0)
			return 0;
		p += *digits;
	}
	return (size_t)(p - s);
}

const char *
match_apr(const char *folder, char dst[MATCH_NAME])
{
	size_t i, n = 0, number = 0, digits = 0;
	const char *p, *rest = folder;

	for (i = 0; i < sizeof words / sizeof *words; i++) {
		n = covers(words[i].folder, folder, &number, &digits);
		if (n)
			break;
	}
	dst[0] = '\0';
	if (n) {
		rest = folder + n;
		for (p = words[i].apr, n = 0; *p && n < MATCH_NAME - 1; p++)
			if (*p == '#')
				n += (size_t)snprintf(dst + n, MATCH_NAME - n, "%.*s", (int)digits,
				                      folder + number);
			else
				dst[n++] = *p;
	}
	if (n < MATCH_NAME)
		snprintf(dst + n, MATCH_NAME - n, "%s", rest);
	return dst;
}

static const char *ending(const struct arch_rule *r, enum arch_form form, bool bias);

static bool
matches_apr(const struct arch_rule *r, const char *name, struct match *m)
{
	char pattern[MATCH_NAME];
	const char *rest;
	int bias;

	for (bias = 0; bias <= match_may_bias(r); bias++) {
		match_template(r, ARCH_APR, bias, pattern);
		m->bias = bias || (r->flags & RULE_AS_BIAS) != 0;
		if ((rest = after(pattern, name, m)) && !*rest)
			return true;
	}
	return false;
}

static bool
matches(const struct arch *a, const struct arch_rule *r, enum arch_form form,
        const char *name, struct match *m)
{
	const char *pattern = r->role == ROLES || form == ARCH_FOLDER ? rule_name(r)
	                                                              : role_name(r->role, form);
	size_t n = form == ARCH_FOLDER && a->prefix ? strlen(a->prefix) : 0;
	const char *rest;

	if (form == ARCH_APR)
		return matches_apr(r, name, m);
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

bool
match_may_bias(const struct arch_rule *r)
{
	return r->flags & RULE_BIAS && !(r->flags & RULE_BARE);
}

const char *
match_template(const struct arch_rule *rule, enum arch_form form, bool bias,
               char dst[MATCH_NAME])
{
	const char *p = form == ARCH_GGUF ? role_name(rule->role, form) : rule_name(rule);
	char folder[MATCH_NAME];

	if (!p)
		return NULL;
	snprintf(folder, sizeof folder, "%s%s", p,
	         ending(rule, form == ARCH_APR ? ARCH_FOLDER : form, bias));
	return form == ARCH_APR ? match_apr(folder, dst) : memcpy(dst, folder, MATCH_NAME);
}

const char *
match_name(const struct arch_rule *rule, enum arch_form form, bool bias, uint64_t block,
           uint64_t expert, char dst[MATCH_NAME])
{
	char pattern[MATCH_NAME];
	const char *p = match_template(rule, form, bias, pattern);
	size_t n = 0;

	for (; p && *p && n < MATCH_NAME - 24; p++)
		if (*p == '#' || *p == '*')
			n += (size_t)snprintf(dst + n, MATCH_NAME - n, "%" PRIu64,
			                      *p == '#' ? block : expert);
		else
			dst[n++] = *p;
	dst[n] = '\0';
	return dst;
}
