/* The schema of an architecture. */
#include <stdio.h>
#include <string.h>

#include "adapt/names/schema.h"
#include "arch/match.h"

#define NAME (MATCH_NAME + 64)

/* Whether GGUF has the tensor of a rule, one for one. */
static bool
has_gguf(const struct arch *a, const struct arch_rule *r)
{
	const char *name = r->role != ROLES ? role_name(r->role, ARCH_GGUF) : NULL;

	return name && !(a->flags & ARCH_NO_GGUF) && r->change != CHANGE_K_B &&
	       r->change != CHANGE_V_B && r->change != CHANGE_EVEN && r->change != CHANGE_ODD &&
	       !strchr(name, '*') == !strchr(rule_name(r), '*');
}

/* A template of arch/match.h as one of adapt/names/schema.h. */
static void
spell(const char *template, char dst[NAME])
{
	size_t n = 0;

	for (; *template && n < NAME - 4; template++)
		if (*template == '#' || *template == '*')
			n += (size_t)snprintf(dst + n, NAME - n, "{%c}", *template == '#' ? 'N' : 'E');
		else
			dst[n++] = *template;
	dst[n] = '\0';
}

static int
add(struct schema *s, const char *from, const char *to, bool required, struct err *e)
{
	char old[NAME], new[NAME];

	spell(from, old);
	spell(to, new);
	return schema_add(s, old, new, required, e);
}

/* Add a name, and the same as ONNX spells it. */
static int
add_both(struct schema *s, const char *from, const char *to, bool required, struct err *e)
{
	char onnx[NAME], *p;

	snprintf(onnx, sizeof onnx, "/%s", from);
	for (p = onnx; (p = strchr(p, '.')); )
		*p = '/';
	return add(s, from, to, required, e) < 0 ? -1 : add(s, onnx, to, false, e);
}

/* Add the name in folders, and without the prefix or with one more. */
static int
add_folder(struct schema *s, const struct arch *a, const char *from, const char *to,
           bool required, struct err *e)
{
	size_t n = a->prefix ? strlen(a->prefix) : 0;
	char other[NAME];

	if (add_both(s, from, to, required, e) < 0)
		return -1;
	if (n && strncmp(from, a->prefix, n) == 0)
		return add_both(s, from + n, to, false, e);
	if (!n)
		return 0;
	snprintf(other, sizeof other, "%s%s", a->prefix, from);
	return add_both(s, other, to, false, e);
}

/* Whether models have other tensors instead of that of a rule. */
static bool
has_other(const struct arch *a, const struct arch_rule *r)
{
	const struct arch_rule *x;
	size_t i;

	for (i = 0; (x = arch_rule(a, i)); i++)
		if (x != r && x->role == r->role && r->role != ROLES)
			return true;
	return false;
}

/* Add the rows of a weight or a bias. */
static int
add_rule(struct schema *s, const struct arch *a, const struct arch_rule *r, bool bias,
         enum arch_form form, struct err *e)
{
	bool required = !bias && !(r->flags & (RULE_OPTIONAL | RULE_UNUSED)) && !has_other(a, r);
	char folder[MATCH_NAME], apr[MATCH_NAME], gguf[MATCH_NAME] = "";
	const char *to;

	match_template(r, ARCH_FOLDER, bias, folder);
	match_template(r, ARCH_APR, bias, apr);
	if (has_gguf(a, r))
		match_template(r, ARCH_GGUF, bias || r->flags & RULE_AS_BIAS, gguf);
	/* Whisper: GGUF has the names of .apr files (version 2, section 10.8). */
	if (a->flags & ARCH_NO_GGUF)
		memcpy(gguf, apr, sizeof gguf);
	else if (r->flags & RULE_UNUSED)
		memcpy(gguf, folder, sizeof gguf); /* it keeps its name */
	to = form == ARCH_GGUF ? gguf : form == ARCH_APR ? apr : folder;
	if (!*to)
		return 0;
	if (add_folder(s, a, folder, to, required, e) < 0 ||
	    add_both(s, apr, to, false, e) < 0)
		return -1;
	return *gguf ? add(s, gguf, to, false, e) : 0;
}

/* Add names of GGUF that no other form has: they stay. */
static int
keep_gguf(struct schema *s, const struct arch *a, enum role role, bool bias, struct err *e)
{
	const char *name = role < ROLES ? role_name(role, ARCH_GGUF) : NULL;
	char full[NAME];

	if (!name || a->flags & ARCH_NO_GGUF)
		return 0;
	snprintf(full, sizeof full, "%s%s", name, bias ? ".bias" : ".weight");
	return add(s, full, full, false, e);
}

int
schema_arch(struct schema *s, const struct arch *a, enum arch_form to, struct err *e)
{
	const struct arch_rule *r;
	size_t i;

	s->first_wins = true;
	for (i = 0; (r = arch_rule(a, i)); i++) {
		if (add_rule(s, a, r, false, to, e) < 0 ||
		    (match_may_bias(r) && add_rule(s, a, r, true, to, e) < 0))
			return -1;
		if (to == ARCH_GGUF && (keep_gguf(s, a, r->role, false, e) < 0 ||
		                        keep_gguf(s, a, r->role, true, e) < 0))
			return -1;
	}
	if (keep_gguf(s, a, ROLE_ROPE_FREQS, false, e) < 0 ||
	    keep_gguf(s, a, ROLE_ROPE_LONG, false, e) < 0 ||
	    keep_gguf(s, a, ROLE_ROPE_SHORT, false, e) < 0)
		return -1;
	return schema_finish(s, e);
}
