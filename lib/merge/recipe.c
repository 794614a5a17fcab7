#include "merge/recipe.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/mem.h"
#include "model/value_text.h"

void
merge_recipe_init(struct merge_recipe *r, const struct merge_method *m)
{
	*r = (struct merge_recipe){ .method = m, .base = MERGE_NONE };
}

/* ---- memory ---- */

static void
free_settings(struct merge_settings *s)
{
	size_t i, k;

	for (i = 0; i < MERGE_PARAMS; i++) {
		for (k = 0; k < s->of[i].n; k++) {
			free(s->of[i].rules[k].filter);
			free(s->of[i].rules[k].v);
		}
		free(s->of[i].rules);
	}
	*s = (struct merge_settings){ 0 };
}

static void
free_slice(struct merge_slice *s)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		free_settings(&s->parts[i].own);
	free(s->parts);
	free_settings(&s->base.own);
	free_settings(&s->all);
}

void
merge_recipe_free(struct merge_recipe *r)
{
	size_t i;

	for (i = 0; i < r->model_count; i++)
		free(r->models[i]);
	free(r->models);
	for (i = 0; i < r->slice_count; i++)
		free_slice(&r->slices[i]);
	free(r->slices);
	for (i = 0; i < r->token_count; i++) {
		free(r->token[i].text);
		free(r->token[i].from);
	}
	free(r->token);
	free_settings(&r->all);
	*r = (struct merge_recipe){ .base = MERGE_NONE };
}

/* ---- building ---- */

size_t
merge_recipe_model(struct merge_recipe *r, const char *name, struct err *e)
{
	size_t i;

	for (i = 0; i < r->model_count; i++)
		if (strcmp(r->models[i], name) == 0)
			return i;
	if (r->model_count == MERGE_MODELS) {
		err_set(e, ERR_MEMORY, NULL, "more than %d models", MERGE_MODELS);
		return MERGE_NONE;
	}
	if (mem_grow(&r->models, &r->model_cap, r->model_count + 1, sizeof *r->models) < 0 ||
	    !(r->models[r->model_count] = mem_text(name, strlen(name)))) {
		err_memory(e);
		return MERGE_NONE;
	}
	return r->model_count++;
}

bool
merge_recipe_uses(const struct merge_recipe *r, size_t model)
{
	size_t i, k;

	for (i = 0; i < r->slice_count; i++) {
		const struct merge_slice *s = &r->slices[i];

		if (s->has_base && s->base.model == model)
			return true;
		for (k = 0; k < s->n; k++)
			if (s->parts[k].model == model)
				return true;
	}
	return false;
}

int
merge_recipe_tokens(struct merge_recipe *r, const char *source, struct err *e)
{
	if (strcmp(source, "base") == 0 || strcmp(source, "union") == 0) {
		r->tokens = *source == 'b' ? MERGE_TOKENS_BASE : MERGE_TOKENS_UNION;
		return 0;
	}
	r->tokens = MERGE_TOKENS_OF;
	r->tokens_model = merge_recipe_model(r, source, e);
	return r->tokens_model == MERGE_NONE ? -1 : 0;
}

struct merge_slice *
merge_recipe_slice(struct merge_recipe *r, struct err *e)
{
	if (mem_grow(&r->slices, &r->slice_cap, r->slice_count + 1, sizeof *r->slices) < 0) {
		err_memory(e);
		return NULL;
	}
	return &r->slices[r->slice_count++];
}

struct merge_part *
merge_slice_part(struct merge_slice *s, size_t model, struct err *e)
{
	if (s->n == MERGE_MODELS) {
		err_set(e, ERR_MEMORY, NULL, "more than %d models", MERGE_MODELS);
		return NULL;
	}
	if (mem_grow(&s->parts, &s->cap, s->n + 1, sizeof *s->parts) < 0) {
		err_memory(e);
		return NULL;
	}
	s->parts[s->n].model = model;
	return &s->parts[s->n++];
}

int
merge_setting_add(struct merge_setting *s, const char *filter, double *v, size_t n, struct err *e)
{
	char *copy = filter ? mem_text(filter, strlen(filter)) : NULL;

	if ((filter && !copy) || mem_grow(&s->rules, &s->cap, s->n + 1, sizeof *s->rules) < 0) {
		free(copy);
		free(v);
		return err_memory(e);
	}
	s->rules[s->n++] = (struct merge_rule){ copy, v, n };
	return 0;
}

/* ---- values as text ---- */

/* The digits of a number and its parts; nothing else that strtod takes. */
static bool
is_number(const char *s)
{
	const char *digits = "0123456789";
	size_t whole, part = 0;

	s += *s == '-' || *s == '+';
	whole = strspn(s, digits);
	s += whole;
	if (*s == '.') {
		part = strspn(s + 1, digits);
		s += 1 + part;
	}
	if (whole + part == 0)
		return false;
	if (*s == 'e' || *s == 'E') {
		s += 1 + (s[1] == '-' || s[1] == '+');
		if (!isdigit((unsigned char)*s))
			return false;
		s += strspn(s, digits);
	}
	return !*s;
}

bool
merge_number(const char *text, double *v)
{
	static const char *const truths[] = { "false", "true", "no", "yes", "off", "on" };
	size_t i;

	for (i = 0; i < sizeof truths / sizeof *truths; i++)
		if (strcasecmp(text, truths[i]) == 0) {
			*v = (double)(i % 2);
			return true;
		}
	if (strlen(text) > 64 || !is_number(text))
		return false;
	*v = strtod(text, NULL);
	return isfinite(*v);
}

bool
merge_in_limits(enum merge_param p, double v)
{
	const struct merge_param_row *row = merge_param_row(p);

	return v >= row->low && v <= row->high && (!row->truth || v == 0 || v == 1);
}

static int
parse_items(enum merge_param p, char *text, double *v, size_t n, const char *where, struct err *e)
{
	const struct merge_param_row *row = merge_param_row(p);
	char *item = text, *end;
	size_t i;

	for (i = 0; i < n; i++, item = end + 1) {
		end = item + strcspn(item, ",");
		*end = '\0';
		if (!merge_number(item, &v[i]) || !merge_in_limits(p, v[i])) {
			err_set(e, ERR_USAGE, where, "%.80s is not a value of %s", item, row->name);
			return row->truth ? err_hint(e, "true or false")
			                  : err_hint(e, "a number from %g to %g", row->low, row->high);
		}
	}
	return 0;
}

int
merge_setting_parse(struct merge_setting *s, enum merge_param p, const char *text,
                    const char *where, struct err *e)
{
	char *copy = mem_text(text, strlen(text));
	const char *c;
	size_t n = 1;
	double *v;
	int r;

	for (c = text; *c; c++)
		n += *c == ',';
	v = mem_array(n, sizeof *v);
	if (!copy || !v) {
		free(copy);
		free(v);
		return err_memory(e);
	}
	r = parse_items(p, copy, v, n, where, e);
	free(copy);
	if (r == 0)
		return merge_setting_add(s, NULL, v, n, e);
	free(v);
	return -1;
}

/* ---- the base in its place ---- */

static size_t
find_part(const struct merge_slice *s, size_t model)
{
	size_t i = 0;

	while (i < s->n && s->parts[i].model != model)
		i++;
	return i;
}

/* Move a part out of the list. */
static struct merge_part
take_part(struct merge_slice *s, size_t i)
{
	struct merge_part part = s->parts[i];

	memmove(&s->parts[i], &s->parts[i + 1], (s->n - i - 1) * sizeof *s->parts);
	s->n--;
	s->parts[s->n] = (struct merge_part){ 0 };
	return part;
}

static int
put_first(struct merge_slice *s, struct merge_part part, struct err *e)
{
	if (!merge_slice_part(s, part.model, e))
		return -1;
	memmove(&s->parts[1], &s->parts[0], (s->n - 1) * sizeof *s->parts);
	s->parts[0] = part;
	return 0;
}

int
merge_slice_base(const struct merge_recipe *r, struct merge_slice *s, size_t base,
                 const char *where, struct err *e)
{
	enum merge_base kind = r->method->base;
	struct merge_part part = { .model = base };
	size_t i = find_part(s, base);

	s->placed = true;
	if (base == MERGE_NONE || kind == BASE_NONE)
		return 0;
	if (i < s->n)
		part = take_part(s, i);
	else if (r->layered)
		return err_set(e, ERR_USAGE, where, "the base model is not among the sources of a slice");
	if (kind == BASE_FIRST)
		return put_first(s, part, e);
	s->has_base = true;
	s->base = part;
	return 0;
}

static int
check_slice(const struct merge_recipe *r, const struct merge_slice *s, const char *where,
            struct err *e)
{
	const struct merge_method *m = r->method;
	const char *besides = m->base == BASE_MUST ? " besides the base" : "";
	size_t i;

	if (m->base == BASE_MUST && !s->has_base)
		return err_set(e, ERR_USAGE, where, "%s needs a base model", m->name);
	if (s->n < m->least && m->least == 1)
		return err_set(e, ERR_USAGE, where, "%s needs a model%s", m->name, besides);
	if (s->n < m->least || (m->most > 0 && s->n > m->most))
		return err_set(e, ERR_USAGE, where, "%s needs %s%zu model%s%s, not %zu", m->name,
		               m->most ? "" : "at least ", m->least, m->least == 1 ? "" : "s",
		               besides, s->n);
	for (i = 0; r->layered && i < s->n; i++)
		if (s->parts[i].to - s->parts[i].from != s->parts[0].to - s->parts[0].from ||
		    (s->has_base && s->base.to - s->base.from != s->parts[0].to - s->parts[0].from))
			return err_set(e, ERR_USAGE, where, "the sources of a slice have different "
			               "numbers of layers");
	return 0;
}

int
merge_recipe_finish(struct merge_recipe *r, const char *where, struct err *e)
{
	uint64_t layers = 0;
	size_t i;

	for (i = 0; i < r->slice_count; i++) {
		struct merge_slice *s = &r->slices[i];

		if (!s->placed && merge_slice_base(r, s, r->base, where, e) < 0)
			return -1;
		if (check_slice(r, s, where, e) < 0)
			return -1;
		layers += r->layered ? s->parts[0].to - s->parts[0].from : 0;
		if (layers > MERGE_LAYERS)
			return err_set(e, ERR_MEMORY, where, "more than %d layers", MERGE_LAYERS);
	}
	return r->slice_count > 0 ? 0 : err_set(e, ERR_USAGE, where, "has no models");
}

/* ---- values for a tensor ---- */

static double
at(const struct merge_rule *rule, bool truth, double t)
{
	double scaled = t * (double)(rule->n - 1), rest;
	size_t i = (size_t)scaled, next = i + 1 < rule->n ? i + 1 : i;

	rest = scaled - (double)i;
	return truth || rest == 0 ? rule->v[i] : (1 - rest) * rule->v[i] + rest * rule->v[next];
}

static bool
find_value(const struct merge_settings *s, enum merge_param p, const char *name,
           const char *folder, double t, double *value)
{
	const struct merge_setting *of = &s->of[p];
	size_t i;

	for (i = 0; i < of->n; i++) {
		const char *filter = of->rules[i].filter;

		if (!filter || strcmp(filter, "*") == 0 || strstr(name, filter) ||
		    (folder && strstr(folder, filter))) {
			*value = at(&of->rules[i], merge_param_row(p)->truth, t);
			return true;
		}
	}
	return false;
}

bool
merge_recipe_value(const struct merge_recipe *r, const struct merge_slice *s,
                   const struct merge_part *part, enum merge_param p, const char *name,
                   const char *folder, double t, double *value)
{
	return (part && find_value(&part->own, p, name, folder, t, value)) ||
	       find_value(&s->all, p, name, folder, t, value) ||
	       find_value(&r->all, p, name, folder, t, value) ||
	       (merge_method_default(r->method, p, value) && !isnan(*value));
}
