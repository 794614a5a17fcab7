#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arch/apr_keys.h"
#include "check/card.h"
#include "check/lint_parts.h"
#include "core/text.h"

#define LONG_LIST 64 /* items from which a list is a matrix, or values of a measurement */

static bool
has_any(const struct lint *l, const char *const *fields)
{
	for (; *fields; fields++)
		if (json_object_get(l->card, *fields))
			return true;
	return false;
}

static bool
has_file(const struct lint *l, const char *name)
{
	size_t n;

	return weights_file(&l->s->subject.w, name, &n) != NULL;
}

/* ---- what a model says of itself ---- */

const char *
lint_licence(const struct lint *l, const struct rule *r)
{
	static const char *const fields[] = { "license", "license_name", "license_link",
		"license_terms", NULL };

	if (has_any(l, fields) || l->s->source->plan->licence != MODEL_NONE ||
	    has_file(l, "LICENSE") || has_file(l, "LICENSE.txt") || has_file(l, "LICENSE.md"))
		return NULL;
	findings_add(l->to, r, lint_is(l, "gguf") ? "general.license" : "license",
	             "the model does not state its licence");
	lint_fix_meta(l, lint_is(l, "gguf") ? "set general.license=NAME" : "set license=NAME");
	return NULL;
}

const char *
lint_card(const struct lint *l, const struct rule *r)
{
	static const char *const fields[] = { "description", "author", "organization", "domain",
		"intended_users", "out_of_scope", "limitations", "bias_risks", "url", "repo_url",
		"tags", "more", NULL };

	if (lint_has(l, "model_card") || has_file(l, "README.md") || has_any(l, fields))
		return NULL;
	findings_add(l->to, r, lint_is_apr(l) ? "model_card" : NULL,
	             "the model has neither a model card nor a description");
	lint_fix_meta(l, lint_is(l, "gguf") ? "set general.description=TEXT"
	                                    : "set description=TEXT");
	return NULL;
}

const char *
lint_provenance(const struct lint *l, const struct rule *r)
{
	static const char *const fields[] = { "base_models", "datasets", "training_data",
		"training_data_hash", "training", "url", "repo_url", "model_id", "source_code_hash",
		"quantized_by", NULL };
	static const char *const keys[] = { "provenance", "general.source.url", "source",
		"general.source.huggingface.repository", "general.source.repo_url" };
	size_t i;

	if (has_any(l, fields) || l->s->source->plan->prov_count > 0 ||
	    l->s->source->plan->signatures > 0)
		return NULL;
	for (i = 0; i < sizeof keys / sizeof *keys; i++)
		if (lint_has(l, keys[i]))
			return NULL;
	findings_add(l->to, r, NULL, "the model does not state its source, base model or training "
	             "data, and nobody has signed it");
	lint_fix_meta(l, lint_is(l, "gguf") ? "set general.source.url=ADDRESS"
	                                    : "set repo_url=ADDRESS");
	return NULL;
}

const char *
lint_title(const struct lint *l, const struct rule *r)
{
	if (lint_card_text(l, "name"))
		return NULL;
	findings_add(l->to, r, lint_is(l, "gguf") ? "general.name" : "name",
	             "the model has no name");
	lint_fix_meta(l, lint_is(l, "gguf") ? "set general.name=NAME" : "set name=NAME");
	return NULL;
}

const char *
lint_empty(const struct lint *l, const struct rule *r)
{
	const struct model *m = l->s->source->plan;
	struct buf key = { 0 }, words = { 0 };
	size_t i, n;

	for (i = 0; i < m->meta_count; i++) {
		const struct meta *k = &m->meta[i];

		if (!k->wire || !value_string(k->type, k->wire, k->wire_bytes, &n) || n > 0)
			continue;
		findings_add(l->to, r, k->key, "is an empty text");
		buf_clear(&words);
		buf_printf(&words, "delete %s", lint_shell(&key, k->key));
		if (buf_string(&words))
			lint_fix_meta(l, (const char *)words.p);
	}
	buf_free(&key);
	buf_free(&words);
	return NULL;
}

/* ---- names of keys ---- */

static void
fix_rename(const struct lint *l, const char *old, const char *new)
{
	char words[128];

	snprintf(words, sizeof words, "rename %s %s", old, new);
	lint_fix_meta(l, words);
}

/* A key of a GGUF file that only has its meaning below general. */
static void
spell_general(const struct lint *l, const struct rule *r)
{
	static const char *const names[] = { "name", "license", "author", "description", "version",
		"url", "organization", "architecture" };
	char full[32];
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(full, sizeof full, "general.%s", names[i]);
		if (!lint_has(l, names[i]) || lint_has(l, full))
			continue;
		findings_add(l->to, r, names[i], "is called %s in GGUF", full);
		fix_rename(l, names[i], full);
	}
}

const char *
lint_spelling(const struct lint *l, const struct rule *r)
{
	const struct apr_key *k;
	size_t i;

	if (lint_is(l, "gguf"))
		spell_general(l, r);
	for (i = 0; lint_is_apr(l) && (k = apr_key_row(i)); i++) {
		if (!k->other || !lint_has(l, k->other) || lint_has(l, k->apr))
			continue;
		findings_add(l->to, r, k->other, "is usually called %s", k->apr);
		fix_rename(l, k->other, k->apr);
	}
	return NULL;
}

const char *
lint_twice(const struct lint *l, const struct rule *r)
{
	const struct apr_key *k;
	char words[128];
	size_t i;

	if (!lint_is_apr(l))
		return "only .apr files have several names for a key";
	for (i = 0; (k = apr_key_row(i)); i++) {
		if (!k->other || !lint_has(l, k->apr) || !lint_has(l, k->other))
			continue;
		findings_add(l->to, r, k->other, "means the same as %s, which is there too", k->apr);
		snprintf(words, sizeof words, "delete %s", k->other);
		lint_fix_meta(l, words);
	}
	return NULL;
}

const char *
lint_format_version(const struct lint *l, const struct rule *r)
{
	if (!lint_is_apr(l))
		return "only metadata of .apr files has it";
	if (lint_has(l, "format_version"))
		return NULL;
	findings_add(l->to, r, "format_version", "is missing");
	lint_fix_meta(l, "set format_version=2.0.0");
	return NULL;
}

/* ---- lists of numbers ---- */

/* A list that is neither of a tokenizer nor beside a list of the same name: shapes and units
 * themselves. */
static bool
is_long_list(const struct lint *l, const struct meta *k)
{
	return strncmp(k->key, "tokenizer.", 10) != 0 && strncmp(k->key, "general.", 8) != 0 &&
	       !strstr(k->key, "vocab") && !strstr(k->key, "token") &&
	       !strstr(k->key, "merges") && lint_items(l, k, true) >= LONG_LIST;
}

/* The key NAME followed by one of these ends, or NULL. */
static const struct meta *
beside(const struct lint *l, const char *name, const char *const *end)
{
	const struct meta *k = NULL;
	char key[512];

	for (; *end && !k; end++)
		if ((size_t)snprintf(key, sizeof key, "%s%s", name, *end) < sizeof key)
			k = model_find(l->s->source->plan, key);
	return k;
}

/* The product of a shape that is a list of integers; false if it is not one. */
static bool
product(const struct lint *l, const struct meta *k, uint64_t *items)
{
	json_t *shape = apr_key_value(&l->s->subject.w, k->key), *v;
	size_t i;
	bool good = json_array_size(shape) > 0;

	if (!good && k->wire) {
		json_decref(shape);
		shape = value_to_json(k->type, k->wire, k->wire_bytes);
		good = json_array_size(shape) > 0;
	}
	*items = 1;
	json_array_foreach(shape, i, v)
		good = good && json_is_integer(v) && json_integer_value(v) > 0 &&
		       !__builtin_mul_overflow(*items, (uint64_t)json_integer_value(v), items);
	json_decref(shape);
	return good;
}

const char *
lint_shape(const struct lint *l, const struct rule *r)
{
	static const char *const shape_ends[] = { "_shape", ".shape", "_dims", NULL };
	const struct model *m = l->s->source->plan;
	uint64_t items, want;
	size_t i;

	if (!lint_is_apr(l))
		return "only metadata of .apr files holds matrices";
	for (i = 0; i < m->meta_count; i++) {
		const struct meta *k = &m->meta[i], *shape;

		if (!is_long_list(l, k))
			continue;
		items = lint_items(l, k, true);
		shape = beside(l, k->key, shape_ends);
		if (!shape)
			findings_add(l->to, r, k->key, "is a list of %" PRIu64 " numbers without a shape",
			             items);
		else if (!product(l, shape, &want) || want != items)
			findings_add_at(l->to, r, FINDING_WARN, k->key, "has %" PRIu64 " numbers, which "
			                "is not what its shape says", items);
	}
	return NULL;
}

const char *
lint_units(const struct lint *l, const struct rule *r)
{
	static const char *const unit_ends[] = { "_units", "_unit", ".units", ".unit",
		"_normalization", NULL };
	const struct model *m = l->s->source->plan;
	size_t i;

	if (!lint_is_apr(l))
		return "only metadata of .apr files holds measurements";
	for (i = 0; i < m->meta_count; i++)
		if (is_long_list(l, &m->meta[i]) && !beside(l, m->meta[i].key, unit_ends))
			findings_add(l->to, r, m->meta[i].key, "does not state its unit");
	return NULL;
}

/* ---- the configuration ---- */

const char *
lint_config(const struct lint *l, const struct rule *r)
{
	const struct err *why = &l->s->arch_fault;

	/* A name that these tools do not know says nothing about the model. */
	if (why->code == ERR_FORMAT || why->code == ERR_NO)
		findings_add_at(l->to, r, FINDING_INFO, NULL, "%s", why->fact);
	else if (why->code != ERR_NONE)
		findings_add(l->to, r, why->object[0] ? why->object : NULL, "%s", why->fact);
	return NULL;
}

/* ---- licences ---- */

bool
licence_noncommercial(const char *name)
{
	static const char *const parts[] = { "nc", "mrl", "mnpl", "cpml", "amlr" };
	static const char *const words[] = { "noncommercial", "researchonly", "researchlicense",
		"nocommercial", "academiconly" };
	char part[32], flat[256];
	size_t n = 0, k = 0, i;

	/* Parts between separators; and the letters alone, for words that are spelt in many
	 * ways. */
	for (;; name++) {
		bool letter = isalnum((unsigned char)*name);
		char c = (char)tolower((unsigned char)*name);

		if (letter && n < sizeof part - 1)
			part[n++] = c;
		if (letter && k < sizeof flat - 1)
			flat[k++] = c;
		if (letter)
			continue;
		part[n] = '\0';
		for (i = 0; i < sizeof parts / sizeof *parts; i++)
			if (strcmp(part, parts[i]) == 0)
				return true;
		n = 0;
		if (!*name)
			break;
	}
	flat[k] = '\0';
	for (i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(flat, words[i]))
			return true;
	return false;
}

const char *
security_licence(const struct lint *l, const struct rule *r)
{
	static const char *const fields[] = { "license", "license_name" };
	size_t i;

	for (i = 0; i < 2; i++) {
		const char *name = lint_card_text(l, fields[i]);
		char quoted[128];

		if (!name || !licence_noncommercial(name))
			continue;
		findings_add(l->to, r, fields[i], "%s does not allow commercial use",
		             text_quote(quoted, sizeof quoted, name, strlen(name)));
		break;
	}
	return NULL;
}
