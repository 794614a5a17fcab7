#include "arch/guess.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/match.h"
#include "core/mem.h"
#include "core/text.h"

/* ---- kinds of names ---- */

/* Names that differ only in their first number that stands between dots: the tensors of
 * different blocks. */
#define KINDS 8192

struct kinds {
	const char **name; /* one of each kind */
	size_t n;
};

/* The first number between dots: its place and digits; n is 0 if there is none. */
static size_t
first_number(const char *name, size_t *n)
{
	const char *p = name;

	for (; *p; p += strcspn(p, "."), p += *p == '.') {
		*n = strspn(p, "0123456789");
		if (*n && (p[*n] == '.' || !p[*n]))
			return (size_t)(p - name);
	}
	*n = 0;
	return (size_t)(p - name);
}

/* A name whose first number counts as one character. */
struct kind {
	const char *p, *number;
	size_t digits;
};

static struct kind
kind_of(const char *name)
{
	struct kind k = { .p = name };

	k.number = name + first_number(name, &k.digits);
	return k;
}

static int
next_character(struct kind *k)
{
	if (k->digits && k->p == k->number) {
		k->p += k->digits;
		return 1;
	}
	return (unsigned char)*k->p++;
}

static int
by_kind(const void *a, const void *b)
{
	struct kind x = kind_of(*(const char *const *)a), y = kind_of(*(const char *const *)b);
	int c, d;

	do {
		c = next_character(&x);
		d = next_character(&y);
	} while (c == d && c);
	return c - d;
}

/* Sort the names and keep one of each kind. 0; -1 if there are too many kinds, or no memory. */
static int
find_kinds(struct kinds *kinds, const struct model *m)
{
	const char **name = mem_array(m->tensor_count, sizeof *name);
	size_t i, n = 0;

	*kinds = (struct kinds){ .name = name };
	for (i = 0; name && i < m->tensor_count; i++)
		name[i] = tensor_name(m->tensors[i]);
	if (name && m->tensor_count)
		qsort(name, m->tensor_count, sizeof *name, by_kind);
	for (i = 0; name && i < m->tensor_count; i++)
		if (n == 0 || by_kind(&name[n - 1], &name[i]) != 0)
			name[n++] = name[i];
	kinds->n = n;
	return name && n <= KINDS ? 0 : -1;
}

/* ---- rows ---- */

/* The row of qwen2 has the names of llama; its queries, keys and values have a bias, the
 * output of its attention does not. */
static bool
has_role_bias(const struct kinds *kinds, const struct arch *a, enum arch_form form,
              enum role role)
{
	struct match m;
	size_t i;

	for (i = 0; i < kinds->n; i++)
		if (match_find(a, form, kinds->name[i], 0, &m) && m.rule->role == role && m.bias)
			return true;
	return false;
}

static bool
is_required(const struct arch_rule *r)
{
	return !(r->flags & (RULE_OPTIONAL | RULE_UNUSED));
}

/* Whether each name has a rule, and each required rule a name. */
static bool
fits(const struct kinds *kinds, const struct arch *a, enum arch_form form)
{
	bool seen[ROLES + 64] = { false };
	const struct arch_rule *r;
	struct match m;
	size_t i, from;

	if (form == ARCH_GGUF && a->flags & ARCH_NO_GGUF)
		return false;
	for (i = 0; i < kinds->n; i++) {
		if (arch_is_apart(kinds->name[i], form) ||
		    strncmp(kinds->name[i], "rope_f", 6) == 0)
			continue; /* rope_freqs, rope_factors_long: any model may have them */
		for (from = 0; match_find(a, form, kinds->name[i], from, &m); from = m.index + 1)
			if (m.rule->role != ROLES)
				seen[m.rule->role] = true;
			else if (m.index < 64)
				seen[ROLES + m.index] = true;
		if (from == 0)
			return false;
	}
	for (i = 0; (r = arch_rule(a, i)); i++)
		if (is_required(r) && (r->role != ROLES || i < 64) &&
		    !seen[r->role != ROLES ? (size_t)r->role : ROLES + i])
			return false;
	return true;
}

static const enum arch_form forms[] = { ARCH_FOLDER, ARCH_GGUF, ARCH_APR };

static const struct arch *
guess(const struct kinds *kinds, enum arch_form *form)
{
	const struct arch *a, *found = NULL;
	size_t i, f;

	for (f = 0; !found && f < 3; f++)
		for (i = 0; !found && (a = arch_row(i)); i++)
			if (fits(kinds, a, *form = forms[f]))
				found = a;
	if (found && found == arch_by_name("llama") &&
	    has_role_bias(kinds, found, *form, ROLE_Q) &&
	    !has_role_bias(kinds, found, *form, ROLE_O))
		found = arch_by_name("qwen2");
	return found;
}

const struct arch *
arch_guess(const struct model *m, enum arch_form *form)
{
	const struct arch *a = NULL;
	struct kinds kinds;

	*form = ARCH_FOLDER;
	if (m->tensor_count && find_kinds(&kinds, m) == 0)
		a = guess(&kinds, form);
	else if (m->tensor_count == 0)
		return NULL;
	free(kinds.name);
	return a;
}

static bool
fits_any(const struct kinds *kinds, const struct arch *a)
{
	return fits(kinds, a, ARCH_FOLDER) || fits(kinds, a, ARCH_GGUF) ||
	       fits(kinds, a, ARCH_APR);
}

const struct arch *
arch_refine(const struct arch *a, const struct model *m)
{
	const struct arch *x, *found = a;
	struct kinds kinds;
	size_t i;

	if (find_kinds(&kinds, m) == 0 && !fits_any(&kinds, a))
		for (i = 0; found == a && (x = arch_row(i)); i++)
			if (strcmp(x->name, a->name) == 0 && fits_any(&kinds, x))
				found = x;
	free(kinds.name);
	return found;
}

enum arch_form
arch_form_of(const struct arch *a, const struct model *m)
{
	enum arch_form best = ARCH_FOLDER;
	struct kinds kinds;
	struct match found;
	size_t i, f, n, most = 0;

	if (find_kinds(&kinds, m) < 0)
		kinds.n = kinds.n < KINDS ? kinds.n : KINDS;
	for (f = 0; kinds.name && f < 3; f++) {
		for (n = 0, i = 0; i < kinds.n; i++)
			n += match_find(a, forms[f], kinds.name[i], 0, &found);
		if (n > most) {
			most = n;
			best = forms[f];
		}
	}
	free(kinds.name);
	return best;
}

/* ---- what a plan says ---- */

/* The text of a key: a string, JSON text, or the member "name" of a JSON object. The JSON is
 * read in place, without escapes. */
static const char *
key_text(const struct model *m, const char *key, size_t *n)
{
	const struct meta *k = model_find(m, key);
	const char *s, *end;

	if (!k || !k->wire)
		return NULL;
	if (k->type.depth != 0 || k->type.leaf != VALUE_JSON)
		return value_string(k->type, k->wire, k->wire_bytes, n);
	s = (const char *)k->wire;
	end = s + k->wire_bytes;
	if (s < end && *s == '{') {
		s = memmem(s, (size_t)(end - s), "\"name\":\"", 8);
		s = s ? s + 7 : end;
	}
	if (s >= end || *s++ != '"')
		return NULL;
	for (*n = 0; s + *n < end && s[*n] != '"'; ++*n)
		if (s[*n] == '\\')
			return NULL;
	return s + *n < end ? s : NULL;
}

const char *
arch_said(const struct model *m, size_t *n)
{
	static const char *const keys[] = { "hf_model_type", "architecture", "model_type" };
	const char *s = model_architecture(m, n);
	size_t i;

	for (i = 0; !s && i < sizeof keys / sizeof *keys; i++) {
		s = key_text(m, keys[i], n);
		if (s && *n == 0)
			s = NULL;
	}
	return s;
}

const struct arch *
arch_known(const char *name)
{
	const struct arch *a = arch_by_name(name);

	return a ? a : arch_by_folder(name);
}

#define KNOWN 384 /* bytes of all names, which must fit into a fact */

/* The names that --arch takes, as folders state them. */
static void
known(char *to, size_t room)
{
	const struct arch *a;
	size_t i, n = 0;

	for (i = 0; (a = arch_row(i)) && n < room; i++)
		n += (size_t)snprintf(to + n, room - n, "%s%s", i ? ", " : "", a->folder);
}

int
arch_unknown(const char *where, const char *name, struct err *e)
{
	const struct arch *a, *near = NULL;
	size_t i, least = strlen(name) / 3 + 2;
	char names[KNOWN];

	for (i = 0; (a = arch_row(i)); i++) {
		size_t folder = text_distance(name, a->folder), gguf = text_distance(name, a->name);
		size_t cost = folder < gguf ? folder : gguf;

		if (cost < least) {
			least = cost;
			near = a;
		}
	}
	known(names, sizeof names);
	err_set(e, ERR_NO, where, "architecture %.120s is not known; --arch takes %s", name, names);
	return near ? err_hint(e, "the nearest known one is %s; --arch %s takes the model as "
	                       "such", near->folder, near->folder)
	            : err_hint(e, "--arch NAME takes the model as another one");
}

int
arch_unsaid(const char *where, struct err *e)
{
	char names[KNOWN];

	known(names, sizeof names);
	err_set(e, ERR_NO, where, "does not say its architecture, and the names of its tensors do not "
	        "show it; --arch takes %s", names);
	return err_hint(e, "--arch NAME states it");
}

bool
arch_said_text(const struct model *m, char text[ARCH_NAME])
{
	size_t n;
	const char *s = arch_said(m, &n);

	if (!s)
		return false;
	n = n < ARCH_NAME ? n : ARCH_NAME - 1;
	memcpy(text, s, n);
	text[n] = '\0';
	return true;
}

const struct arch *
arch_find(const char *name, const struct model *m, const char *where, struct err *e)
{
	const struct arch *a = NULL;
	enum arch_form form;
	char text[ARCH_NAME];

	if (!name && arch_said_text(m, text))
		name = text;
	if (name && (a = arch_known(name)))
		return arch_refine(a, m);
	if (name)
		arch_unknown(where, name, e);
	else if (!(a = arch_guess(m, &form)))
		arch_unsaid(where, e);
	return a;
}

int
arch_check(const char *name, const struct model *m, const char *where, struct err *e)
{
	const struct arch *asked = arch_known(name), *a;
	char text[ARCH_NAME];

	if (!arch_said_text(m, text))
		return 0;
	a = arch_known(text);
	if (a && asked ? strcmp(a->name, asked->name) == 0 : strcmp(text, name) == 0)
		return 0;
	return err_set(e, ERR_INVALID, where, "ArchitectureMismatch: its architecture is %s, not %s",
	               text, name);
}
