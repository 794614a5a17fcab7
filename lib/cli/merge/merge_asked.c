#include "cli/merge/merge_asked.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/dir_name.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/reader.h"

#define METRIC_BYTES ((size_t)1 << 20)
#define OPTION_NAME 32

/* ---- options ---- */

/* The option of a parameter: its name, with dashes. */
static const char *
option_name(enum merge_param p)
{
	static char names[MERGE_PARAMS][OPTION_NAME];
	size_t i;

	strncpy(names[p], merge_param_row(p)->name, OPTION_NAME - 1);
	for (i = 0; names[p][i]; i++)
		if (names[p][i] == '_')
			names[p][i] = '-';
	return names[p];
}

struct opt *
merge_asked_options(struct merge_asked *a, struct opt *to)
{
	const struct opt rows[] = {
		TEXT(0, "method", "NAME", &a->method, "merge by this method (default: average, or "
		     "weighted with -w)"),
		TEXT(0, "strategy", "NAME", &a->method, NULL),
		LIST('w', "weight", "X", &a->weights, "weight of the next model: one for each"),
		TEXT(0, "base", "FILE", &a->base, "the model that the others were made from"),
		TEXT(0, "metric", "FILE", &a->metric,
		     "take weights from a JSON object of models and numbers"),
		FLAG(0, "lower", &a->lower, "with --metric: lower numbers are better"),
		TEXT(0, "recipe", "FILE", &a->recipe, "read a recipe with the keys of mergekit"),
		LIST(0, "model", "NAME=FILE", &a->models, "the file of a model that a recipe names"),
		TEXT(0, "type", "TYPE", &a->type, "type of the result: f32, f16 or bf16"),
		NUMBER(0, "seed", "N", &a->seed, 0, UINT64_MAX, "seed of random choices (default: 0)"),
		FLAG(0, "compat", &a->compat, "compute as mergekit does"),
		TEXT(0, "tokens", "base|union|FILE", &a->tokens,
		     "merge rows of tokens by their texts: tokens of the base, of all, or of FILE"),
		FLAG(0, "any-tokens", &a->any_tokens, "merge rows of tokens by their numbers"),
		OPT_END
	};
	unsigned i;

	to = opt_add(to, rows);
	for (i = 0; i < MERGE_PARAMS; i++)
		if (merge_param_row(i)->help)
			to = opt_add_named(to, option_name(i), "X", merge_param_row(i)->help,
			                   &a->given[i]);
	return to;
}

void
merge_asked_list(struct buf *b)
{
	const struct merge_method *m;
	size_t i, k;

	for (i = 0; (m = merge_method_row(i)); i++) {
		buf_printf(b, "%-17s %s\n", m->name, m->help);
		for (k = 0; k < sizeof m->defaults / sizeof *m->defaults &&
		            m->defaults[k].param != MERGE_PARAMS; k++)
			if (isnan(m->defaults[k].value))
				buf_printf(b, "%-19s %s\n", "", merge_param_row(m->defaults[k].param)->name);
			else
				buf_printf(b, "%-19s %s %g\n", "",
				           merge_param_row(m->defaults[k].param)->name,
				           m->defaults[k].value);
	}
}

void
merge_asked_free(struct merge_asked *a)
{
	size_t i;

	for (i = 0; i < a->path_count; i++)
		free(a->paths[i]);
	free(a->paths);
	free(a->weights.items);
	free(a->models.items);
	a->paths = NULL;
	a->path_count = 0;
}

/* ---- models of the command line ---- */

static int
add_weight(struct merge_setting *to, double v, struct err *e)
{
	double *copy = mem_array(1, sizeof *copy);

	if (!copy)
		return err_memory(e);
	*copy = v;
	return merge_setting_add(to, NULL, copy, 1, e);
}

static int
add_models(const struct merge_asked *a, char **operands, struct merge_recipe *r, struct err *e)
{
	struct merge_slice *s = merge_recipe_slice(r, e);
	size_t i;

	for (i = 0; s && operands[i]; i++) {
		size_t model = merge_recipe_model(r, operands[i], e);
		struct merge_part *part = model == MERGE_NONE ? NULL : merge_slice_part(s, model, e);

		if (!part)
			return -1;
		if (i < a->weights.n && merge_setting_parse(&part->own.of[PARAM_WEIGHT], PARAM_WEIGHT,
		                                            a->weights.items[i], "-w", e) < 0)
			return -1;
	}
	if (!s)
		return -1;
	if (a->base)
		r->base = merge_recipe_model(r, a->base, e);
	return a->base && r->base == MERGE_NONE ? -1 : 0;
}

/* ---- weights from a metric ---- */

/* The number of a model in the file: by its name as given, or by the last part of it. */
static int
metric_of(const json_t *numbers, const char *path, const char *file, double *v, struct err *e)
{
	char *last = dir_last(path);
	const json_t *n = json_object_get(numbers, path);

	if (!n && last)
		n = json_object_get(numbers, last);
	free(last);
	if (!n)
		return err_set(e, ERR_INVALID, file, "has no number for %.200s", path);
	*v = json_number_value(n);
	if (!json_is_number(n) || !isfinite(*v) || *v <= 0)
		return err_set(e, ERR_INVALID, file, "the value of %.200s is not a number above 0", path);
	return 0;
}

static int
weigh(const struct merge_asked *a, struct merge_recipe *r, const json_t *numbers, struct err *e)
{
	struct merge_slice *s = &r->slices[0];
	double v[MERGE_MODELS], sum = 0;
	size_t i;

	for (i = 0; i < s->n; i++) {
		if (metric_of(numbers, r->models[s->parts[i].model], a->metric, &v[i], e) < 0)
			return -1;
		v[i] = a->lower ? 1 / v[i] : v[i];
		sum += v[i];
	}
	for (i = 0; i < s->n; i++)
		if (add_weight(&s->parts[i].own.of[PARAM_WEIGHT], v[i] / sum, e) < 0)
			return -1;
	return 0;
}

static int
read_metric(const struct merge_asked *a, struct merge_recipe *r, struct err *e)
{
	struct buf b = { 0 };
	json_t *numbers = NULL;
	int status = -1;

	if (reader_file(a->metric, METRIC_BYTES, &b, e) == 0)
		numbers = json_parse(b.p, b.n, ERR_CORRUPT, a->metric, e);
	if (numbers)
		status = weigh(a, r, numbers, e);
	json_decref(numbers);
	buf_free(&b);
	return status;
}

/* ---- parameters ---- */

static int
add_parameters(const struct merge_asked *a, struct merge_recipe *r, struct err *e)
{
	unsigned i;
	double ignored;

	for (i = 0; i < MERGE_PARAMS; i++) {
		if (!a->given[i])
			continue;
		if (!merge_method_default(r->method, i, &ignored))
			return tool_misused(e, "%s does not have --%s", r->method->name, option_name(i));
		if (merge_setting_parse(&r->all.of[i], i, a->given[i], option_name(i), e) < 0)
			return -1;
	}
	return 0;
}

/* Without operands, the model is standard input. */
static char **
operands_of(char **operands)
{
	static char piped[] = "-";
	static char *only[] = { piped, NULL };

	return operands[0] ? operands : only;
}

static size_t
count(char **operands)
{
	size_t n = 0;

	while (operands[n])
		n++;
	return n;
}

static int
from_options(struct merge_asked *a, char **operands, struct merge_recipe *r, struct err *e)
{
	const char *name = a->method ? a->method : a->weights.n > 0 || a->metric ? "weighted"
	                                                                         : "average";
	const struct merge_method *m = merge_method_asked(name, NULL, e);
	size_t n = count(operands);
	double ignored;

	if (!m)
		return -1;
	merge_recipe_init(r, m);
	if (strcmp(operands[0], "-") == 0 && !tool_input(NULL, e))
		return -1;
	if (a->models.n > 0)
		return tool_misused(e, "--model is for --recipe");
	if ((a->weights.n > 0 || a->metric) && !merge_method_default(m, PARAM_WEIGHT, &ignored))
		return tool_misused(e, "%s does not have weights", m->name);
	if (a->weights.n > 0 && a->weights.n != n)
		return tool_misused(e, "%zu weights for %zu models", a->weights.n, n);
	if (a->metric && a->weights.n > 0)
		return tool_misused(e, "-w and --metric exclude each other");
	if (m->weigh == WEIGH_SCALE && n > 1)
		return tool_misused(e, "%s takes one model; a recipe with slices takes layers of "
		                    "several", m->name);
	if (add_models(a, operands, r, e) < 0 || add_parameters(a, r, e) < 0 ||
	    merge_recipe_finish(r, NULL, e) < 0)
		return -1;
	return a->metric ? read_metric(a, r, e) : 0;
}

/* ---- recipes ---- */

static int
from_recipe(struct merge_asked *a, struct merge_recipe *r, struct err *e)
{
	struct buf b = { 0 };
	unsigned i;
	int status;

	if (a->method || a->base || a->weights.n > 0 || a->metric)
		return tool_misused(e, "a recipe states the method, the base and the weights");
	for (i = 0; i < MERGE_PARAMS; i++)
		if (a->given[i])
			return tool_misused(e, "a recipe states --%s", option_name(i));
	status = reader_file(a->recipe, MERGE_RECIPE_BYTES, &b, e);
	if (status == 0)
		status = merge_recipe_read(r, (const char *)b.p, b.n, a->recipe, e);
	buf_free(&b);
	return status;
}

/* The path that --model gives to a name, or NULL. */
static const char *
mapped(const struct merge_asked *a, const char *name)
{
	size_t i, n = strlen(name);

	for (i = 0; i < a->models.n; i++)
		if (strncmp(a->models.items[i], name, n) == 0 && a->models.items[i][n] == '=')
			return a->models.items[i] + n + 1;
	return NULL;
}

static char *
path_of(const struct merge_asked *a, const struct merge_recipe *r, size_t model, struct err *e)
{
	const char *name = r->models[model];
	bool given = a->tokens && strcmp(a->tokens, name) == 0 && !merge_recipe_uses(r, model);
	const char *file = !a->recipe || given ? name : mapped(a, name);
	const char *slash = a->recipe ? strrchr(a->recipe, '/') : NULL;
	struct buf b = { 0 };

	if (!file && !dir_name_is_inside(name)) {
		err_set(e, ERR_INVALID, a->recipe, "the model %.200s is not a file in the folder of the "
		        "recipe or below", name);
		err_hint(e, "--model %.100s=FILE gives its path", name);
		return NULL;
	}
	if (!file && slash)
		buf_put(&b, a->recipe, (size_t)(slash - a->recipe) + 1);
	buf_text(&b, file ? file : name);
	if (buf_string(&b))
		return (char *)b.p;
	buf_free(&b);
	err_memory(e);
	return NULL;
}

/* Each --model names a model of the recipe. */
static int
check_mapped(const struct merge_asked *a, const struct merge_recipe *r, struct err *e)
{
	size_t i, k;

	for (i = 0; i < a->models.n; i++) {
		const char *text = a->models.items[i], *equals = strchr(text, '=');

		if (!equals || !equals[1])
			return tool_misused(e, "--model needs NAME=FILE, not %.80s", text);
		for (k = 0; k < r->model_count; k++)
			if (mapped(a, r->models[k]) == equals + 1)
				break;
		if (k == r->model_count)
			return tool_misused(e, "the recipe does not name the model %.*s",
			                    (int)(equals - text), text);
	}
	return 0;
}

static int
find_paths(struct merge_asked *a, const struct merge_recipe *r, struct err *e)
{
	size_t i, pipes = 0;

	a->paths = mem_array(r->model_count, sizeof *a->paths);
	if (!a->paths)
		return err_memory(e);
	for (i = 0; i < r->model_count; i++, a->path_count++) {
		if (!(a->paths[i] = path_of(a, r, i, e)))
			return -1;
		pipes += strcmp(a->paths[i], "-") == 0;
	}
	return pipes > 1 ? tool_misused(e, "two models are standard input") : 0;
}

static int
read_type(const struct merge_asked *a, const struct merge_recipe *r, struct merge_options *o,
          struct err *e)
{
	static const char *const types[] = { "f32", "f16", "bf16" };
	size_t i;

	*o = (struct merge_options){ .type = r->type, .compat = a->compat,
		.any_tokens = a->any_tokens, .seed = a->seed };
	if (a->tokens && a->any_tokens)
		return tool_misused(e, "--tokens and --any-tokens exclude each other");
	if (!a->type)
		return 0;
	for (i = 0; i < sizeof types / sizeof *types; i++)
		if (strcmp(a->type, types[i]) == 0) {
			o->type = dtype_by_name(types[i]);
			return 0;
		}
	err_set(e, ERR_USAGE, NULL, "%.80s is not a type that this tool gives", a->type);
	return err_hint(e, "f32, f16 or bf16; apr-quant gives others");
}

static bool
is_recipe(char **operands)
{
	return operands[0] && !operands[1] &&
	       (dir_name_ends(operands[0], ".yml") || dir_name_ends(operands[0], ".yaml"));
}

int
merge_asked_recipe(struct merge_asked *a, char **operands, struct merge_recipe *r,
                   struct merge_options *o, struct err *e)
{
	if (!a->recipe && is_recipe(operands)) {
		a->recipe = operands[0];
		operands++;
	}
	if (a->lower && !a->metric)
		return tool_misused(e, "--lower is for --metric");
	if (a->recipe && operands[0])
		return tool_misused(e, "a recipe names its models");
	if ((a->recipe ? from_recipe(a, r, e) : from_options(a, operands_of(operands), r, e)) < 0)
		return -1;
	if (a->recipe && check_mapped(a, r, e) < 0)
		return -1;
	if (a->tokens && r->tokens != MERGE_TOKENS_SAME)
		return tool_misused(e, "the recipe states whose tokens the result has");
	if (a->tokens && merge_recipe_tokens(r, a->tokens, e) < 0)
		return -1;
	return read_type(a, r, o, e) < 0 || find_paths(a, r, e) < 0 ? -1 : 0;
}
