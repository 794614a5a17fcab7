/* Recipe files: see recipe.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/near.h"
#include "core/text.h"
#include "merge/recipe_parts.h"

int
recipe_wrong(struct yaml_recipe *y, const json_t *object, const char *key, const char *fact)
{
	return err_set(y->e, ERR_CORRUPT, y->what, "line %zu: %.80s %s",
	               yaml_line_of(&y->lines, object, key), key, fact);
}

static int
unknown(struct yaml_recipe *y, const json_t *object, const struct recipe_key *keys, const char *name)
{
	struct near near = { 0 };

	recipe_wrong(y, object, name, "is not a key of a recipe");
	for (; keys->name; keys++) {
		size_t cost = text_distance(name, keys->name);

		if (!keys->refused && cost < strlen(name) / 3 + 2)
			near_consider(&near, keys->name, cost);
	}
	near_hint(&near, y->e);
	return -1;
}

bool
recipe_has(const json_t *v, const char *key)
{
	const json_t *member = json_object_get(v, key);

	return member && !json_is_null(member);
}

int
recipe_read_keys(struct yaml_recipe *y, const json_t *object, const struct recipe_key *keys, void *to)
{
	json_t *o = (json_t *)(uintptr_t)object, *v;
	const struct recipe_key *k;
	const char *name;

	json_object_foreach(o, name, v) {
		for (k = keys; k->name && strcmp(k->name, name) != 0; k++)
			;
		if (!k->name)
			return unknown(y, object, keys, name);
		if (k->refused && !json_is_null(v))
			return err_set(y->e, ERR_FORMAT, y->what, "line %zu: %s: %s",
			               yaml_line_of(&y->lines, object, name), name, k->refused);
	}
	for (k = keys; k->name; k++)
		if (k->read && (v = json_object_get(o, k->name)) && !json_is_null(v) &&
		    k->read(y, object, v, to) < 0)
			return -1;
	return 0;
}

/* ---- parameters ---- */

static int
wrong_value(struct yaml_recipe *y, const json_t *object, enum merge_param p)
{
	const struct merge_param_row *row = merge_param_row(p);

	recipe_wrong(y, object, row->name, row->truth ? "is not true or false" : "is not a number in its "
	      "limits, a list of these, or a list of filters with values");
	return row->truth ? -1 : err_hint(y->e, "%s is from %g to %g", row->name, row->low, row->high);
}

static bool
read_number(const json_t *v, enum merge_param p, double *to)
{
	return json_is_string(v) && merge_number(json_string_value(v), to) && merge_in_limits(p, *to);
}

/* A number or a gradient as a rule. */
static int
add_rule(struct yaml_recipe *y, const json_t *object, const json_t *v, enum merge_param p,
         const char *filter, struct merge_setting *to)
{
	size_t n = json_is_array(v) ? json_array_size(v) : 1, i;
	double *numbers;

	if (n == 0)
		return wrong_value(y, object, p);
	numbers = mem_array(n, sizeof *numbers);
	if (!numbers)
		return err_memory(y->e);
	for (i = 0; i < n; i++)
		if (!read_number(json_is_array(v) ? json_array_get(v, i) : v, p, &numbers[i])) {
			free(numbers);
			return wrong_value(y, object, p);
		}
	return merge_setting_add(to, filter, numbers, n, y->e);
}

/* One member {filter, value}. */
static int
add_filtered(struct yaml_recipe *y, const json_t *object, const json_t *v, enum merge_param p,
             struct merge_setting *to)
{
	const json_t *filter = json_object_get(v, "filter"), *value = json_object_get(v, "value");

	if (!value || json_object_size(v) != (filter ? 2 : 1) ||
	    (filter && !json_is_null(filter) && !json_is_string(filter)))
		return wrong_value(y, object, p);
	return add_rule(y, object, value, p, json_string_value(filter), to);
}

static int
read_setting(struct yaml_recipe *y, const json_t *object, const json_t *v, enum merge_param p,
             struct merge_setting *to)
{
	size_t i;

	if (json_is_object(v))
		return add_filtered(y, object, v, p, to);
	if (!json_is_object(json_array_get(v, 0)))
		return add_rule(y, object, v, p, NULL, to);
	for (i = 0; i < json_array_size(v); i++)
		if (!json_is_object(json_array_get(v, i)) ||
		    add_filtered(y, object, json_array_get(v, i), p, to) < 0)
			return wrong_value(y, object, p);
	return 0;
}

static int
read_settings(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	struct merge_settings *s = to;
	const char *name;
	json_t *member;

	if (!json_is_object(v))
		return recipe_wrong(y, object, "parameters", "is not a mapping");
	json_object_foreach((json_t *)(uintptr_t)v, name, member) {
		enum merge_param p = merge_param_find(name);
		double ignored;

		if (p == MERGE_PARAMS)
			return recipe_wrong(y, v, name, "is not a parameter of any method");
		if (p != PARAM_INT8_MASK && !merge_method_default(y->r->method, p, &ignored)) {
			err_set(y->e, ERR_FORMAT, y->what, "line %zu: %s does not have the parameter %s",
			        yaml_line_of(&y->lines, v, name), y->r->method->name, name);
			return -1;
		}
		if (!json_is_null(member) && read_setting(y, v, member, p, &s->of[p]) < 0)
			return -1;
	}
	return 0;
}

static int
read_part_settings(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	struct merge_part *part = to;

	return read_settings(y, object, v, &part->own);
}

static int
read_slice_settings(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	struct merge_slice *s = to;

	return read_settings(y, object, v, &s->all);
}

static int
read_all_settings(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	struct merge_recipe *r = to;

	return read_settings(y, object, v, &r->all);
}

/* ---- models ---- */

size_t
recipe_model_of(struct yaml_recipe *y, const json_t *object, const char *key, const json_t *v)
{
	const char *name = json_string_value(v);

	if (!name || !*name) {
		recipe_wrong(y, object, key, "is not the name of a model");
		return MERGE_NONE;
	}
	if (strchr(name, '+')) {
		err_set(y->e, ERR_FORMAT, y->what, "line %zu: %.80s: a model with an adapter is not "
		        "supported", yaml_line_of(&y->lines, object, key), name);
		return MERGE_NONE;
	}
	return merge_recipe_model(y->r, name, y->e);
}

static int
read_model(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	struct merge_part *part = to;

	part->model = recipe_model_of(y, object, "model", v);
	return part->model == MERGE_NONE ? -1 : 0;
}

static int
read_range(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	struct merge_part *part = to;
	const char *from = json_string_value(json_array_get(v, 0));
	const char *end = json_string_value(json_array_get(v, 1));

	if (json_array_size(v) != 2 || !from || !end ||
	    text_u64(from, 0, MERGE_LAYERS, &part->from) < 0 ||
	    text_u64(end, 1, MERGE_LAYERS, &part->to) < 0 || part->from >= part->to)
		return recipe_wrong(y, object, "layer_range", "is not [FROM, TO] with FROM below TO");
	return 0;
}

static int
read_parts(struct yaml_recipe *y, const json_t *object, const char *key, const json_t *list,
           const struct recipe_key *keys, struct merge_slice *s)
{
	size_t i;

	if (json_array_size(list) == 0)
		return recipe_wrong(y, object, key, "is not a list of models");
	for (i = 0; i < json_array_size(list); i++) {
		const json_t *v = json_array_get(list, i);
		struct merge_part *part;

		if (!recipe_has(v, "model"))
			return recipe_wrong(y, object, key, "has an item without a model");
		part = merge_slice_part(s, MERGE_NONE, y->e);
		if (!part || recipe_read_keys(y, v, keys, part) < 0)
			return -1;
		if (y->r->layered && part->to == 0)
			return recipe_wrong(y, v, "model", "has no layer_range");
	}
	return 0;
}

static const struct recipe_key part_keys[] = {
	{ "model", read_model, NULL },
	{ "parameters", read_part_settings, NULL },
	{ NULL, NULL, NULL }
};

static const struct recipe_key source_keys[] = {
	{ "model", read_model, NULL },
	{ "layer_range", read_range, NULL },
	{ "parameters", read_part_settings, NULL },
	{ NULL, NULL, NULL }
};

static int
read_models(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	struct merge_slice *s = merge_recipe_slice(to, y->e);

	return s ? read_parts(y, object, "models", v, part_keys, s) : -1;
}

/* ---- slices ---- */

static int
read_sources(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	return read_parts(y, object, "sources", v, source_keys, to);
}

/* The base of one slice, which is one of its sources. */
static int
read_slice_base(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	size_t base = recipe_model_of(y, object, "base_model", v);

	return base == MERGE_NONE ? -1 : merge_slice_base(y->r, to, base, y->what, y->e);
}

static const struct recipe_key slice_keys[] = {
	{ "sources", read_sources, NULL },
	{ "base_model", read_slice_base, NULL },
	{ "parameters", read_slice_settings, NULL },
	{ "residual_weight", NULL, "is not supported" },
	{ NULL, NULL, NULL }
};

static int
read_slices(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	struct merge_recipe *r = to;
	size_t i;

	r->layered = true;
	if (json_array_size(v) == 0)
		return recipe_wrong(y, object, "slices", "is not a list of slices");
	for (i = 0; i < json_array_size(v); i++) {
		const json_t *o = json_array_get(v, i);
		struct merge_slice *s;

		if (!recipe_has(o, "sources"))
			return recipe_wrong(y, object, "slices", "has an item without sources");
		s = merge_recipe_slice(r, y->e);
		if (!s || recipe_read_keys(y, o, slice_keys, s) < 0)
			return -1;
	}
	return 0;
}

/* ---- the recipe ---- */

static int
read_method(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	struct merge_recipe *r = to;
	const char *name = json_string_value(v);
	char where[200];

	if (!name)
		return recipe_wrong(y, object, "merge_method", "is not the name of a method");
	snprintf(where, sizeof where, "%.120s: line %zu", y->what,
	         yaml_line_of(&y->lines, object, "merge_method"));
	r->method = merge_method_asked(strcmp(name, "linear") == 0 ? "weighted" : name, where, y->e);
	if (!r->method)
		y->e->code = ERR_FORMAT;
	return r->method ? 0 : -1;
}

static int
read_base(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	struct merge_recipe *r = to;

	r->base = recipe_model_of(y, object, "base_model", v);
	return r->base == MERGE_NONE ? -1 : 0;
}

static const struct dtype *
type_of(const json_t *v)
{
	static const char *const types[][2] = {
		{ "float32", "F32" }, { "float16", "F16" }, { "bfloat16", "BF16" }
	};
	const char *name = json_string_value(v);
	size_t i;

	for (i = 0; name && i < sizeof types / sizeof *types; i++)
		if (strcmp(types[i][0], name) == 0)
			return dtype_by_name(types[i][1]);
	return NULL;
}

static int
read_dtype(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	struct merge_recipe *r = to;

	r->type = r->work = type_of(v);
	return r->type ? 0 : recipe_wrong(y, object, "dtype", "is not float32, float16 or bfloat16");
}

static int
read_out_dtype(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	struct merge_recipe *r = to;

	r->type = type_of(v);
	return r->type ? 0 : recipe_wrong(y, object, "out_dtype", "is not float32, float16 or bfloat16");
}

static int
read_tokenizer_source(struct yaml_recipe *y, const json_t *object, const json_t *v, void *to)
{
	struct merge_recipe *r = to;
	const char *name = json_string_value(v);

	if (r->tokens != MERGE_TOKENS_SAME)
		return recipe_wrong(y, object, "tokenizer_source", "is stated twice, also by tokenizer");
	if (name && (strcmp(name, "base") == 0 || strcmp(name, "union") == 0))
		return merge_recipe_tokens(r, name, y->e);
	r->tokens = MERGE_TOKENS_OF;
	r->tokens_model = recipe_model_of(y, object, "tokenizer_source", v);
	return r->tokens_model == MERGE_NONE ? -1 : 0;
}

static const struct recipe_key recipe_keys[] = {
	{ "merge_method", read_method, NULL }, /* the first: others depend on it */
	{ "models", read_models, NULL },
	{ "slices", read_slices, NULL },
	{ "base_model", read_base, NULL },
	{ "parameters", read_all_settings, NULL },
	{ "dtype", read_dtype, NULL },
	{ "out_dtype", read_out_dtype, NULL },
	{ "tokenizer", recipe_read_tokenizer, NULL }, /* after the models */
	{ "tokenizer_source", read_tokenizer_source, NULL },
	{ "name", NULL, NULL },
	{ "modules", NULL, "models of several modules are not supported" },
	{ "chat_template", NULL, "is not supported; apr-meta sets it" },
	{ NULL, NULL, NULL }
};

static int
read_recipe(struct yaml_recipe *y, const json_t *v)
{
	if (!json_is_object(v))
		return err_set(y->e, ERR_CORRUPT, y->what, "is not a mapping of keys of a recipe");
	if (!recipe_has(v, "merge_method"))
		return err_set(y->e, ERR_CORRUPT, y->what, "merge_method is missing");
	if (recipe_has(v, "models") == recipe_has(v, "slices") && !recipe_has(v, "modules"))
		return err_set(y->e, ERR_CORRUPT, y->what, "has not exactly one of models and slices");
	if (recipe_read_keys(y, v, recipe_keys, y->r) < 0)
		return -1;
	if (merge_recipe_finish(y->r, y->what, y->e) == 0)
		return 0;
	if (y->e->code == ERR_USAGE)
		y->e->code = ERR_CORRUPT;
	return -1;
}

int
merge_recipe_read(struct merge_recipe *r, const char *text, size_t n, const char *what,
                  struct err *e)
{
	struct yaml_recipe y = { .r = r, .what = what, .e = e };
	json_t *v;
	int status;

	merge_recipe_init(r, NULL);
	v = yaml_parse_lines(text, n, what, 1, &y.lines, e);
	status = v ? read_recipe(&y, v) : -1;
	yaml_lines_free(&y.lines);
	json_decref(v);
	return status;
}
