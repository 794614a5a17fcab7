#include "cli/quant/quant_options.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/imatrix_file.h"
#include "core/mem.h"
#include "core/near.h"
#include "kernels/kernel.h"
#include "quant/plugin.h"

/* Returns the name of a type in the spelling of mixtures. */
static const char *
lower(char *dst, size_t size, const char *name)
{
	size_t i;

	for (i = 0; name[i] && i + 1 < size; i++)
		dst[i] = (char)tolower((unsigned char)name[i]);
	dst[i] = '\0';
	return dst;
}

/* Returns the valid values of TYPE by index: mixtures, then types whose name is not a
 * mixture's; "" for an index to skip, NULL past the end. */
static const char *
type_word(unsigned i)
{
	const struct mixture *m;
	const struct dtype *t;
	unsigned mixtures = 0;

	while ((m = mixture_row(mixtures)))
		if (mixtures++ == i)
			return m->name;
	i -= mixtures;
	t = dtype_row(i);
	if (!t)
		return NULL;
	return kernel_encodes(t) && !mixture_by_name(t->name) ? t->name : "";
}

static const char *
type_list(char *dst, size_t size)
{
	const char *word;
	char name[32];
	size_t n = 0;
	unsigned i;

	for (i = 0; (word = type_word(i)) && n < size; i++)
		if (*word)
			n += (size_t)snprintf(dst + n, size - n, "%s%s", i ? " " : "",
			                      lower(name, sizeof name, word));
	return dst;
}

static int
parse_type(struct quant_options *o, const char *name, struct err *e)
{
	const struct dtype *t;
	char list[640];

	if (!name)
		return tool_misused(e, "TYPE is missing: %s", type_list(list, sizeof list));
	o->recipe.mixture = mixture_by_name(name);
	if (o->recipe.mixture)
		return 0;
	t = dtype_asked(name);
	if (!t || !kernel_encodes(t)) {
		tool_misused(e, "%.40s is not a type; the types are %s", name,
		             type_list(list, sizeof list));
		near_words(e, name, type_word);
		return -1;
	}
	o->plain = mixture_plain(t);
	o->plain.name = lower(o->plain_name, sizeof o->plain_name, t->name);
	o->recipe.mixture = &o->plain;
	return 0;
}

/* Returns the name of a tensor type, by index. */
static const char *
dtype_word(unsigned i)
{
	const struct dtype *t = dtype_row(i);

	return t ? t->name : NULL;
}

static int
parse_fallback(struct quant_options *o, struct err *e)
{
	if (!o->fallback)
		return 0;
	if (strcmp(o->fallback, "error") == 0) {
		o->recipe.fallback = RECIPE_ERROR;
	} else if (strcmp(o->fallback, "warn") == 0) {
		o->recipe.fallback = RECIPE_WARN;
	} else {
		o->recipe.fallback = RECIPE_TYPE;
		o->recipe.fallback_type = dtype_asked(o->fallback);
		if (!o->recipe.fallback_type || !dtype_sized(o->recipe.fallback_type)) {
			tool_misused(e, "--fallback needs error, warn or a type, not %.40s",
			             o->fallback);
			near_words(e, o->fallback, dtype_word);
			return -1;
		}
	}
	return 0;
}

/* Sets the type of an option: a name of the table, or NULL with e filled. */
static int
named_type(const char *option, const char *name, const struct dtype **type, struct err *e)
{
	if (!name)
		return 0;
	*type = dtype_asked(name);
	if (*type && dtype_sized(*type))
		return 0;
	tool_misused(e, "%s: %.40s is not a type", option, name);
	near_words(e, name, dtype_word);
	return -1;
}

static int
parse_overrides(struct quant_options *o, struct err *e)
{
	const char *type;
	size_t i;

	o->recipe.how.overrides = &o->overrides;
	for (i = 0; i < o->rules.n; i++)
		if (override_add(&o->overrides, o->rules.items[i], e) < 0) {
			type = strrchr(o->rules.items[i], '=');
			if (type && !dtype_asked(type + 1))
				near_words(e, type + 1, dtype_word);
			return -1;
		}
	for (i = 0; i < o->rule_files.n; i++)
		if (override_read(&o->overrides, o->rule_files.items[i], e) < 0)
			return -1;
	if (named_type("--output-tensor-type", o->output_type, &o->overrides.output, e) < 0)
		return -1;
	return named_type("--token-embedding-type", o->embedding_type,
	                  &o->overrides.embedding, e);
}

static int
read_imatrix(struct quant_options *o, struct err *e)
{
	return o->calibrate.path ? calibrate_read(&o->calibrate, &o->imatrix, e)
	                         : imatrix_file_read(&o->imatrix, o->imatrix_path, e);
}

static int
parse_imatrix(struct quant_options *o, struct err *e)
{
	size_t i, n;

	if (!o->imatrix_path && !o->calibrate.path) {
		if (o->include.n + o->exclude.n)
			return tool_misused(e, "--include-weights and --exclude-weights need "
			                    "--imatrix");
		return 0;
	}
	if (read_imatrix(o, e) < 0 || imatrix_means(&o->imatrix, e) < 0)
		return -1;
	n = o->imatrix.n;
	for (i = 0; i < o->exclude.n; i++)
		if (imatrix_exclude(&o->imatrix, o->exclude.items[i]) == 0)
			return tool_misused(e, "--exclude-weights %.80s: no entry's name contains it",
			                    o->exclude.items[i]);
	if (o->include.n)
		imatrix_include(&o->imatrix, o->include.items, o->include.n);
	if (o->imatrix.n == 0)
		return tool_misused(e, "none of the %zu entries of the importance matrix is left",
		                    n);
	if (prune_imatrix(&o->prune, &o->imatrix, e) < 0)
		return -1;
	o->recipe.imatrix = &o->imatrix;
	o->recipe.imatrix_path = o->calibrate.path ? o->calibrate.path : o->imatrix_path;
	o->recipe.calibration = o->calibrate.path ? &o->calibrate.record : NULL;
	return 0;
}

/* Parses the other changes, and the limit of the error. */
static int
parse_rest(struct quant_options *o, struct err *e)
{
	char *end;
	size_t i;

	if (o->prune_list && prune_parse(&o->prune, o->prune_list, e) < 0)
		return -1;
	for (i = 0; i < o->key_list.n; i++)
		if (key_values_add(&o->keys, o->key_list.items[i], e) < 0)
			return -1;
	if (o->hook_command) {
		o->recipe.ask = hook_ask;
		o->recipe.ask_ctx = &o->hook;
	}
	o->recipe.keys = &o->keys;
	o->recipe.prune = &o->prune;
	o->max_rmse = INFINITY;
	if (!o->max_rmse_text)
		return 0;
	o->max_rmse = strtod(o->max_rmse_text, &end);
	if (!*o->max_rmse_text || *end || !(o->max_rmse >= 0))
		return tool_misused(e, "--max-rmse needs a number that is at least 0, not %.40s",
		                    o->max_rmse_text);
	return 0;
}

int
quant_options_load(struct quant_options *o, struct err *e)
{
	size_t i;

	for (i = 0; i < o->plugins.n; i++)
		if (!plugin_load(o->plugins.items[i], e))
			return -1;
	return o->hook_command ? hook_begin(&o->hook, o->hook_command, e) : 0;
}

int
quant_options_parse(struct quant_options *o, const char *type, struct err *e)
{
	if (parse_type(o, type, e) < 0 || parse_fallback(o, e) < 0 || parse_rest(o, e) < 0)
		return -1;
	return parse_overrides(o, e) < 0 ? -1 : parse_imatrix(o, e);
}

void
quant_options_free(struct quant_options *o)
{
	override_free(&o->overrides);
	imatrix_free(&o->imatrix);
	free(o->include.items);
	free(o->exclude.items);
	free(o->rules.items);
	free(o->rule_files.items);
	prune_free(&o->prune);
	key_values_free(&o->keys);
	free(o->key_list.items);
	free(o->plugins.items);
	hook_end(&o->hook);
}
