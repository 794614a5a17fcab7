#include "adapt/keys/general.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "adapt/keys/general_card.h"
#include "adapt/keys/general_name.h"
#include "core/num.h"
#include "wire/yaml.h"

/* ---- single keys ---- */

static int
put(struct model *out, const char *name, struct value_type type, struct buf *wire, bool good,
    struct err *e)
{
	char key[128];
	int r = good && buf_ok(wire) ? 0 : err_memory(e);

	snprintf(key, sizeof key, "general.%s", name);
	if (r == 0)
		r = model_add_meta(out, key, strlen(key), type, wire->p, wire->n, e);
	buf_free(wire);
	return r;
}

static void
note(const struct subject *s, const char *what, const char *fact)
{
	char text[160];

	snprintf(text, sizeof text, "%s %s, and is not used", what, fact);
	if (s->note)
		s->note(text);
}

/* A text or an array of texts; empty ones are not written. */
static int
put_text(const struct subject *s, struct model *out, const char *name, const json_t *v,
         struct err *e)
{
	struct value_type type = { .depth = json_is_array(v), .leaf = VALUE_STRING };
	struct buf wire = { 0 };
	bool good;

	if (json_string_length(v) == 0 && json_array_size(v) == 0)
		return 0;
	good = value_from_json(type, v, &wire) == 0;
	if (wire.n <= VALUE_INLINE_BYTES)
		return put(out, name, type, &wire, good, e);
	buf_free(&wire);
	note(s, name, "is too long");
	return 0;
}

static int
put_u32(struct model *out, const char *name, size_t n, struct err *e)
{
	struct buf wire = { 0 };

	buf_u32(&wire, (uint32_t)n);
	return put(out, name, (struct value_type){ 0, VALUE_U32 }, &wire, true, e);
}

/* ---- defaults of sampling ---- */

const struct general_sampling general_samplings[] = {
	{ "sampling.sequence", "sequence", VALUE_STRING },
	{ "sampling.top_k", "top_k", VALUE_I32 },
	{ "sampling.top_p", "top_p", VALUE_F32 },
	{ "sampling.min_p", "min_p", VALUE_F32 },
	{ "sampling.xtc_probability", "xtc_probability", VALUE_F32 },
	{ "sampling.xtc_threshold", "xtc_threshold", VALUE_F32 },
	{ "sampling.temp", "temperature", VALUE_F32 },
	{ "sampling.penalty_last_n", "penalty_last_n", VALUE_I32 },
	{ "sampling.penalty_repeat", "penalty_repeat", VALUE_F32 },
	{ "sampling.mirostat", "mirostat", VALUE_I32 },
	{ "sampling.mirostat_tau", "mirostat_tau", VALUE_F32 },
	{ "sampling.mirostat_eta", "mirostat_eta", VALUE_F32 },
	{ NULL, NULL, 0 }
};

/* A number of 32 bits; false if it does not fit. */
static bool
put_number(struct buf *wire, unsigned leaf, double v)
{
	float f = (float)v;
	uint32_t bits;

	if (leaf == VALUE_I32) {
		if (!(v >= INT32_MIN && v <= INT32_MAX) || v != rint(v))
			return false;
		bits = (uint32_t)(int32_t)v;
	} else {
		if (!isfinite(f))
			return false;
		memcpy(&bits, &f, sizeof bits);
	}
	buf_u32(wire, bits);
	return true;
}

static int
put_sampling(const struct subject *s, const struct general_sampling *row, const json_t *v,
             struct model *out, struct err *e)
{
	struct buf wire = { 0 };
	char what[64];

	if (!v || json_is_null(v))
		return 0;
	if (row->leaf == VALUE_STRING && json_is_string(v))
		return put_text(s, out, row->key, v, e);
	if (row->leaf == VALUE_STRING || !json_is_number(v) ||
	    !put_number(&wire, row->leaf, json_number_value(v))) {
		snprintf(what, sizeof what, "generation_config.json: %s", row->member);
		note(s, what, row->leaf == VALUE_STRING ? "is not text"
		     : row->leaf == VALUE_I32 ? "is not an integer of 32 bits"
		     : "is not a number of 32 bits");
		return 0;
	}
	return put(out, row->key, (struct value_type){ 0, row->leaf }, &wire, true, e);
}

/* Many folders have a generation_config.json that is not JSON; it is not essential. */
static int
put_samplings(const struct subject *s, struct model *out, struct err *e)
{
	const struct general_sampling *row;
	struct err ignored = ERR_INIT;
	json_t *config = subject_json(s, "generation_config.json", &ignored);
	int r = 0;

	if (ignored.code == ERR_MEMORY)
		return err_memory(e);
	if (ignored.code != ERR_NONE)
		note(s, "generation_config.json", "is not a JSON object");
	for (row = general_samplings; r == 0 && row->key; row++)
		r = put_sampling(s, row, json_object_get(config, row->member), out, e);
	json_decref(config);
	return r;
}

/* ---- what the folder says ---- */

/* _name_or_path, unless it is a path: an id has at most one slash. */
static int
take_config(const struct subject *s, struct general_card *c)
{
	const json_t *v = json_object_get(s->config, "_name_or_path");
	const char *slash;

	if (!v || json_is_null(v))
		return 0;
	if (!json_is_string(v))
		return err_set(c->e, ERR_CORRUPT, "config.json", "_name_or_path is not text");
	slash = strchr(json_string_value(v), '/');
	return slash && strchr(slash + 1, '/') ? 0 : general_card_name(c, json_string_value(v));
}

static int
take_size(struct general_card *c, const struct arch_sizes *sizes)
{
	char text[ARCH_SIZE];

	if (sizes->all == 0 || json_object_get(c->facts, "size_label"))
		return 0;
	return json_object_set_new(c->facts, "size_label",
	                           json_string(arch_size_text(text, sizes))) < 0
		? err_memory(c->e) : 0;
}

/* The card, config.json, the folder's name, the tensors: what comes first counts. */
static int
take_facts(const struct subject *s, const char *folder, const struct arch_sizes *sizes,
           struct general_card *c)
{
	size_t n;
	const char *card = (const char *)weights_file(&s->w, "README.md", &n);
	json_t *front;
	int r = 0;

	if (card) {
		front = yaml_front_parse(card, n, "README.md", c->e);
		r = front ? general_card_front(c, front) : -1;
		json_decref(front);
	}
	if (r == 0)
		r = take_config(s, c);
	if (r == 0 && folder)
		r = general_card_name(c, folder);
	return r == 0 ? take_size(c, sizes) : -1;
}

/* ---- keys, in their order ---- */

static int
put_entries(const struct subject *s, const json_t *facts, const char *name, struct model *out,
            struct err *e)
{
	const json_t *list = json_object_get(facts, name);
	char key[96];
	size_t i, k;

	if (!list)
		return 0;
	snprintf(key, sizeof key, "%s.count", name);
	if (put_u32(out, key, json_array_size(list), e) < 0)
		return -1;
	for (i = 0; i < json_array_size(list); i++)
		for (k = 0; general_card_fields[k]; k++) {
			snprintf(key, sizeof key, "%s.%zu.%s", name, i, general_card_fields[k]);
			if (put_text(s, out, key, json_object_get(json_array_get(list, i),
			                                          general_card_fields[k]), e) < 0)
				return -1;
		}
	return 0;
}

const char *const general_texts[] = { "name", "author", "version", "organization", "finetune",
	"basename", "description", "size_label", "license", "license.name", "license.link",
	"source.url", "source.doi", "source.uuid", "source.repo_url", NULL };

static int
put_facts(const struct subject *s, const json_t *facts, struct model *out, struct err *e)
{
	size_t i;

	for (i = 0; general_texts[i]; i++)
		if (put_text(s, out, general_texts[i], json_object_get(facts, general_texts[i]), e) < 0)
			return -1;
	if (put_entries(s, facts, "base_model", out, e) < 0 ||
	    put_entries(s, facts, "dataset", out, e) < 0 ||
	    put_text(s, out, "tags", json_object_get(facts, "tags"), e) < 0)
		return -1;
	return put_text(s, out, "languages", json_object_get(facts, "languages"), e);
}

int
general_put(const struct subject *s, const char *folder, const struct arch_sizes *sizes,
            struct model *out, struct err *e)
{
	struct general_card c = { .facts = json_object(), .note = s->note, .e = e,
		.parameters = (int64_t)num_min(sizes->all, INT64_MAX) };
	json_t *type = json_string("model");
	int r = type && c.facts ? put_text(s, out, "type", type, e) : err_memory(e);

	json_decref(type);
	if (r == 0 && put_samplings(s, out, e) == 0 && take_facts(s, folder, sizes, &c) == 0)
		r = put_facts(s, c.facts, out, e);
	else
		r = -1;
	json_decref(c.facts);
	return r;
}
