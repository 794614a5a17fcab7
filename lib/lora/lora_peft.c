/* Folders of PEFT: the tensors that adapter_config.json describes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/pattern.h"
#include "lora/lora_parts.h"

#define PREFIX "base_model.model."
#define NAME 512
#define ALPHAS 1024 /* entries of alpha_pattern */

/* An entry of alpha_pattern: modules whose name is the key, or ends in a dot and the key. */
struct alpha {
	const char *key;
	double alpha;
	bool plain;        /* the key is a name; else */
	struct pattern pattern;
	struct buf text;   /* its regular expression */
};

/* What adapter_config.json says. */
struct config {
	json_t *o;
	double alpha;
	bool root;         /* use_rslora: the scale is alpha / sqrt(rank) */
	struct alpha *alphas;
	size_t alpha_count;
	struct work work;  /* of all patterns on all names */
};

static int
bad(const struct lora *l, const char *member, const char *what, struct err *e)
{
	return err_set(e, ERR_CORRUPT, l->w->name, "adapter_config.json: %s %s", member, what);
}

/* True for a member that is true, a text other than "none", or anything with content. */
static bool
says(const json_t *o, const char *member)
{
	const json_t *v = json_object_get(o, member);

	if (json_is_array(v) || json_is_object(v))
		return json_array_size(v) + json_object_size(v) > 0;
	return v && !json_is_null(v) && !json_is_false(v);
}

/* Members that change what the adapter computes, and that are not known here. */
static int
refuse_unknown(const struct lora *l, const json_t *o, struct err *e)
{
	static const char *const members[] = { "layer_replication", "megatron_config", "lora_bias",
		"use_qalora", "alora_invocation_tokens", "arrow_config", "trainable_token_indices",
		"target_parameters" };
	const char *kind = json_string_value(json_object_get(o, "peft_type"));
	size_t i;

	if (!kind || strcmp(kind, "LORA") != 0)
		return err_set(e, ERR_FORMAT, l->w->name, "adapter_config.json: peft_type is %s, "
		               "where LORA is expected", kind ? kind : "missing");
	for (i = 0; i < sizeof members / sizeof *members; i++)
		if (says(o, members[i]))
			return err_set(e, ERR_FORMAT, l->w->name, "adapter_config.json: %s is not "
			               "supported", members[i]);
	return 0;
}

/* Ways to begin a training that change the weights of the base: the adapter then belongs to what is
 * left of them. After its conversion the member is true. */
static int
refuse_residue(const struct lora *l, const json_t *o, struct err *e)
{
	static const char *const ways[] = { "pissa", "olora", "corda", "loftq", "lora_ga" };
	const char *way = json_string_value(json_object_get(o, "init_lora_weights"));
	size_t i;

	for (i = 0; way && i < sizeof ways / sizeof *ways; i++)
		if (strncmp(way, ways[i], strlen(ways[i])) == 0) {
			err_set(e, ERR_FORMAT, l->w->name, "adapter_config.json: init_lora_weights is "
			        "%.40s, so the adapter belongs to a base that was changed", way);
			return err_hint(e, "PEFT converts it when it saves it: "
			                "path_initial_model_for_weight_conversion");
		}
	return 0;
}

static int
add_alpha(const struct lora *l, struct alpha *a, const char *key, const json_t *value,
          struct err *e)
{
	a->key = key;
	a->alpha = json_number_value(value);
	if (!json_is_number(value) || !isfinite((float)a->alpha))
		return bad(l, "alpha_pattern", "has a value that is not a number", e);
	a->plain = !strpbrk(key, "\\^$*+?()[]{}|");
	if (a->plain)
		return 0;
	buf_text(&a->text, "\\A(?:.*\\.)?(?:");
	buf_text(&a->text, key);
	buf_put(&a->text, ")\\z", strlen(")\\z") + 1);
	if (!buf_ok(&a->text))
		return err_memory(e);
	return pattern_open_text(&a->pattern, (char *)a->text.p, ERR_CORRUPT, e);
}

static int
read_alphas(const struct lora *l, struct config *c, struct err *e)
{
	json_t *map = json_object_get(c->o, "alpha_pattern"), *value;
	const char *key;

	if (!map || json_is_null(map))
		return 0;
	if (!json_is_object(map) || json_object_size(map) > ALPHAS)
		return bad(l, "alpha_pattern", "is not an object of at most 1024 members", e);
	c->work = work_of(1 << 20);
	c->alphas = mem_array(json_object_size(map), sizeof *c->alphas);
	if (!c->alphas)
		return err_memory(e);
	json_object_foreach(map, key, value)
		if (add_alpha(l, &c->alphas[c->alpha_count++], key, value, e) < 0)
			return -1;
	return 0;
}

static int
read_config(struct lora *l, struct config *c, struct err *e)
{
	size_t n;
	const uint8_t *p = weights_file(l->w, "adapter_config.json", &n);
	const json_t *alpha;

	if (!p) {
		err_set(e, ERR_FORMAT, l->w->name, "is not an adapter: it has neither an "
		        "adapter_config.json nor the key adapter.type");
		return err_hint(e, "name the folder of the adapter");
	}
	if (!(c->o = json_parse_wide(p, n, ERR_CORRUPT, "adapter_config.json", e)) ||
	    refuse_unknown(l, c->o, e) < 0 || refuse_residue(l, c->o, e) < 0)
		return -1;
	alpha = json_object_get(c->o, "lora_alpha");
	c->alpha = json_number_value(alpha);
	if (!json_is_number(alpha) || !isfinite((float)c->alpha))
		return bad(l, "lora_alpha", "is not a number", e);
	c->root = says(c->o, "use_rslora");
	l->turned = says(c->o, "fan_in_fan_out");
	return read_alphas(l, c, e);
}

static void
config_free(struct config *c)
{
	size_t i;

	for (i = 0; i < c->alpha_count; i++) {
		pattern_close(&c->alphas[i].pattern);
		buf_free(&c->alphas[i].text);
	}
	free(c->alphas);
	json_decref(c->o);
}

/* ---- names ---- */

/* Take the last n bytes of `text`, which is made of whole parts of a name, out of a name. */
static void
cut_out(char *name, const char *text, size_t n)
{
	char *at = strstr(name, text), *end = at ? at + strlen(text) : NULL;

	if (at && (*end == '.' || !*end))
		memmove(end - n, end, strlen(end) + 1);
}

/* Cut the names of PEFT's modules out of a name of n bytes: what stands in front, the copies of a
 * layer that it keeps, and the name of the adapter, which is "default" in files that were not saved by
 * PEFT itself. Returns to, or NULL if it is too long. */
static char *
plain_name(const char *name, char to[NAME])
{
	static const char *const inner[] = { ".base_layer", ".modules_to_save.default",
		".modules_to_save" };
	static const char *const named[] = { ".lora_A.default", ".lora_B.default",
		".lora_embedding_A.default", ".lora_embedding_B.default",
		".lora_magnitude_vector.default" };
	size_t n = strlen(name), i;

	if (strncmp(name, PREFIX, strlen(PREFIX)) == 0) {
		name += strlen(PREFIX);
		n -= strlen(PREFIX);
	}
	if (n >= NAME)
		return NULL;
	memcpy(to, name, n + 1);
	for (i = 0; i < sizeof inner / sizeof *inner; i++)
		cut_out(to, inner[i], strlen(inner[i]));
	for (i = 0; i < sizeof named / sizeof *named; i++)
		cut_out(to, named[i], strlen(".default"));
	return to;
}

static const struct ending {
	const char *text;
	enum { PART_A, PART_B, PART_MAGNITUDE } is;
	bool embedding;
} endings[] = {
	{ ".lora_A.weight", PART_A, false }, { ".lora_B.weight", PART_B, false },
	{ ".lora_embedding_A", PART_A, true }, { ".lora_embedding_B", PART_B, true },
	{ ".lora_magnitude_vector", PART_MAGNITUDE, false },
	{ ".lora_magnitude_vector.weight", PART_MAGNITUDE, false },
};

static int
take(struct lora *l, size_t i, struct err *e)
{
	char to[NAME];
	const char *name = plain_name(tensor_name(l->w->plan->tensors[i]), to);
	struct lora_part *p;
	size_t n, k, *to_set;

	if (!name)
		return err_set(e, ERR_CORRUPT, tensor_name(l->w->plan->tensors[i]),
		               "is too long a name");
	for (k = 0; k < sizeof endings / sizeof *endings; k++) {
		n = strlen(name);
		if (!lora_cut(name, &n, endings[k].text))
			continue;
		if (!(p = lora_part(l, name, n, ".weight", e)))
			return -1;
		to_set = endings[k].is == PART_A ? &p->a
			: endings[k].is == PART_B ? &p->b : &p->magnitude;
		if (*to_set != SIZE_MAX)
			return err_set(e, ERR_CORRUPT, name, "is there twice, under two names");
		*to_set = i;
		p->embedding |= endings[k].embedding;
		return 0;
	}
	if (strstr(name, ".lora_"))
		return err_set(e, ERR_FORMAT, name, "is a part of an adapter that is not known");
	return lora_add_whole(l, name, strlen(name), "", i, e);
}

/* ---- scales ---- */

/* 1 if an entry is for the module whose name has n bytes, 0, or -1. */
static int
matches(struct config *c, struct alpha *a, const char *module, size_t n, struct err *e)
{
	size_t k = strlen(a->key), at = 0, from, to;

	if (a->plain)
		return k <= n && memcmp(module + n - k, a->key, k) == 0 &&
		       (k == n || module[n - k - 1] == '.');
	return pattern_find(&a->pattern, module, n, &at, &from, &to, &c->work, e);
}

/* The alpha of a module: that of the first entry that is for it, or the common one. */
static int
alpha_of(struct config *c, const char *module, size_t n, double *alpha, struct err *e)
{
	size_t i;
	int r;

	*alpha = c->alpha;
	for (i = 0; i < c->alpha_count; i++) {
		if ((r = matches(c, &c->alphas[i], module, n, e)) < 0)
			return -1;
		if (r > 0) {
			*alpha = c->alphas[i].alpha;
			break;
		}
	}
	return 0;
}

static int
scale_parts(struct lora *l, struct config *c, float scale, struct err *e)
{
	size_t i;

	for (i = 0; i < l->part_count; i++) {
		struct lora_part *p = &l->parts[i];
		const struct tensor *a = p->a == SIZE_MAX ? NULL : l->w->plan->tensors[p->a];
		double alpha, rank = a && tensor_ndim(a) == 2 ? (double)tensor_dims(a)[0] : 1;

		if (alpha_of(c, p->name, strlen(p->name) - strlen(".weight"), &alpha, e) < 0)
			return -1;
		p->scale = rank > 0 ? scale * (float)(alpha / (c->root ? sqrt(rank) : rank)) : 0;
	}
	return 0;
}

/* With use_dora, and only then, each part has magnitudes. */
static int
check_magnitudes(const struct lora *l, const struct config *c, struct err *e)
{
	bool dora = says(c->o, "use_dora");
	size_t i;

	for (i = 0; i < l->part_count; i++)
		if ((l->parts[i].magnitude != SIZE_MAX) != dora)
			return err_set(e, ERR_CORRUPT, l->w->name, "%s: %s", l->parts[i].name, dora
			               ? "has no magnitudes, and adapter_config.json says use_dora"
			               : "has magnitudes, and adapter_config.json does not say use_dora");
	return 0;
}

int
lora_read_peft(struct lora *l, const size_t *by_name, float scale, struct err *e)
{
	struct config c = { 0 };
	size_t i;
	int r = read_config(l, &c, e);

	for (i = 0; r == 0 && i < l->w->plan->tensor_count; i++)
		r = take(l, by_name[i], e);
	if (r == 0)
		r = check_magnitudes(l, &c, e);
	if (r == 0)
		r = scale_parts(l, &c, scale, e);
	config_free(&c);
	return r;
}
