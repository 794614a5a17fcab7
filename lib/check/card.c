#include "check/card.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/card_fields.h"
#include "core/mem.h"
#include "core/text.h"
#include "wire/yaml.h"

#define ENTRIES 1000           /* base models or data sets */
#define VALUE ((size_t)4 << 20) /* bytes of a key's value */

#define S CARD_SCALAR
#define L CARD_LIST
#define M CARD_MAP
#define E CARD_ENTRIES
const struct card_field card_fields[] = {
	{ "name", "Name", S, CARD_DETAILS, "model_name", "name", { "name", "model_name" } },
	{ "author", "Author", S, CARD_DETAILS, NULL, "author",
	  { "author", "model_author", "model_creator" } },
	{ "version", "Version", S, CARD_DETAILS, NULL, "version", { "version", "model_version" } },
	{ "organization", "Organization", S, CARD_DETAILS, NULL, "organization",
	  { "organization", "model_organization" } },
	{ "description", "Description", S, CARD_DETAILS, NULL, "description",
	  { "description", "model_description" } },
	{ "architecture", "Architecture", S, CARD_DETAILS, NULL, "architecture", { NULL } },
	{ "size_label", "Size", S, CARD_DETAILS, NULL, "size_label",
	  { "size_label", "model_size_label" } },
	{ "param_count", "Parameters", S, CARD_DETAILS, NULL, NULL, { NULL } },
	{ "basename", "Base name", S, CARD_DETAILS, NULL, "basename",
	  { "basename", "model_basename", "model_type" } },
	{ "finetune", "Fine-tuned for", S, CARD_DETAILS, NULL, "finetune",
	  { "finetune", "model_finetune" } },
	{ "quantized_by", "Quantized by", S, CARD_DETAILS, NULL, "quantized_by",
	  { "quantized_by" } },
	{ "license", "License", S, CARD_DETAILS, NULL, "license", { "license" } },
	{ "license_name", "License name", S, CARD_DETAILS, NULL, "license.name",
	  { "license_name" } },
	{ "license_link", "License text", S, CARD_DETAILS, NULL, "license.link",
	  { "license_link" } },
	{ "license_terms", "License terms", M, CARD_DETAILS, "license", NULL,
	  { "license" } },
	{ "url", "Address", S, CARD_DETAILS, NULL, "url", { "url", "model_url" } },
	{ "repo_url", "Repository", S, CARD_DETAILS, NULL, "repo_url",
	  { "repo_url", "model_repo_url" } },
	{ "model_id", "Id", S, CARD_DETAILS, NULL, NULL, { NULL } },
	{ "framework_version", "Framework version", S, CARD_DETAILS, "aprender_version", NULL,
	  { NULL } },
	{ "rust_version", "Rust version", S, CARD_DETAILS, NULL, NULL, { NULL } },
	{ "source_code_hash", "Source code", S, CARD_DETAILS, NULL, NULL, { NULL } },
	{ "created_at", "Created", S, CARD_DETAILS, NULL, NULL, { NULL } },
	{ "updated_at", "Updated", S, CARD_DETAILS, NULL, NULL, { NULL } },
	{ "tags", "Tags", L, CARD_DETAILS, NULL, "tags", { "tags" } },
	{ "languages", "Languages", L, CARD_DETAILS, NULL, "languages",
	  { "languages", "language" } },
	{ "base_models", "Base models", E, CARD_DETAILS, NULL, "base_model",
	  { "base_model", "base_models", "base_model_sources" } },
	{ "domain", "Domain", S, CARD_USE, NULL, NULL, { "domain", "pipeline_tag" } },
	{ "intended_users", "Intended users", L, CARD_USE, NULL, NULL, { "intended_users" } },
	{ "out_of_scope", "Out of scope", L, CARD_USE, NULL, NULL, { "out_of_scope" } },
	{ "target_hardware", "Target hardware", L, CARD_USE, NULL, NULL, { "target_hardware" } },
	{ "training_data", "Training data", S, CARD_TRAINING, NULL, NULL, { "training_data" } },
	{ "training_data_hash", "Training data hash", S, CARD_TRAINING, NULL, NULL,
	  { "training_data_hash" } },
	{ "datasets", "Data sets", E, CARD_TRAINING, NULL, "dataset",
	  { "datasets", "dataset", "dataset_sources" } },
	{ "hyperparameters", "Hyperparameters", M, CARD_TRAINING, NULL, NULL,
	  { "hyperparameters" } },
	{ "training", "Training", M, CARD_TRAINING, NULL, NULL, { NULL } },
	{ "metrics", "Metrics", M, CARD_EVALUATION, NULL, NULL, { "metrics" } },
	{ "bias_risks", "Bias and risks", S, CARD_RISKS, NULL, NULL, { "bias_risks" } },
	{ "limitations", "Limitations", S, CARD_RISKS, NULL, NULL, { "limitations" } },
	{ "compliance", "Compliance", M, CARD_COMPLIANCE, NULL, NULL, { "compliance" } },
	{ "more", "More", M, CARD_MORE, NULL, NULL, { NULL } },
	{ NULL, NULL, S, CARD_MORE, NULL, NULL, { NULL } }
};

const struct card_field card_compliance[] = {
	{ "gdpr_training_consent", "Consent to training (GDPR)", S, CARD_COMPLIANCE, NULL, NULL,
	  { NULL } },
	{ "data_retention_policy", "Data retention policy", S, CARD_COMPLIANCE, NULL, NULL,
	  { NULL } },
	{ "model_card_url", "Model card", S, CARD_COMPLIANCE, NULL, NULL, { NULL } },
	{ "bias_audit_date", "Bias audit", S, CARD_COMPLIANCE, NULL, NULL, { NULL } },
	{ "export_control", "Export control", S, CARD_COMPLIANCE, NULL, NULL, { NULL } },
	{ NULL, NULL, S, CARD_COMPLIANCE, NULL, NULL, { NULL } }
};
#undef S
#undef L
#undef M
#undef E

struct reading {
	const struct weights *w;
	json_t *card, *own, *front; /* own: the key model_card; may be NULL */
	struct err *e;
};

/* ---- values ---- */

static bool
is_scalar(const json_t *v)
{
	return json_is_string(v) ? json_string_length(v) > 0
	                         : json_is_number(v) || json_is_boolean(v);
}

/* {"name":TEXT}, or {"repo_url":TEXT} for an address. New reference. */
static json_t *
entry_of(const json_t *text)
{
	const char *s = json_string_value(text);

	return json_pack("{s:s}", strstr(s, "://") ? "repo_url" : "name", s);
}

/* Appends to a list in the form of the kind; what has another form is left out. 0 or -1. */
static int
append(json_t *list, enum card_kind kind, const json_t *v)
{
	if (kind == CARD_ENTRIES && json_is_string(v))
		return json_array_append_new(list, entry_of(v));
	if (kind == CARD_ENTRIES ? json_is_object(v) : is_scalar(v))
		return json_array_append(list, (json_t *)(uintptr_t)v);
	return 0;
}

/* An array of a value, or of the items of one; NULL if there is none, or no memory. */
static json_t *
list_of(enum card_kind kind, const json_t *v, struct err *e)
{
	json_t *list = json_array();
	int r = list ? append(list, kind, v) : -1;
	size_t i;

	for (i = 0; r == 0 && i < json_array_size(v) && i < ENTRIES; i++)
		r = append(list, kind, json_array_get(v, i));
	if (r == 0 && json_array_size(list) > 0)
		return list;
	json_decref(list);
	if (r < 0)
		err_memory(e);
	return NULL;
}

/* The texts of an array, such as several licences, as one text with commas; NULL if there is
 * none, or no memory. */
static json_t *
text_of(const json_t *list, struct err *e)
{
	struct buf b = { 0 };
	json_t *v = NULL;
	size_t i;

	for (i = 0; i < json_array_size(list) && i < ENTRIES; i++)
		if (json_is_string(json_array_get(list, i)))
			buf_printf(&b, "%s%s", b.n ? "," : "", json_string_value(json_array_get(list, i)));
	if (b.failed || (b.n > 0 && !(v = json_stringn((char *)b.p, b.n))))
		err_memory(e);
	buf_free(&b);
	return v;
}

/* Sets a field that has no value yet, if v has the form of the field. v: may be NULL. */
static int
offer(struct reading *r, const struct card_field *f, const json_t *v)
{
	json_t *to = NULL;

	if (!v || json_object_get(r->card, f->name))
		return 0;
	if (f->kind == CARD_LIST || f->kind == CARD_ENTRIES)
		to = list_of(f->kind, v, r->e);
	else if (f->kind == CARD_SCALAR && json_is_array(v))
		to = text_of(v, r->e);
	else if (f->kind == CARD_SCALAR ? is_scalar(v) : json_object_size(v) > 0)
		to = json_incref((json_t *)(uintptr_t)v);
	if (to && json_object_set_new(r->card, f->name, to) < 0)
		err_memory(r->e);
	return r->e->code == ERR_NONE ? 0 : -1;
}

/* ---- keys ---- */

/* A key's value as JSON, or NULL: no such key, or nothing that a card holds. Text that begins
 * with a brace is taken for JSON too. */
static json_t *
meta_value(struct reading *r, const struct meta *k)
{
	struct value_type type;
	size_t n, len;
	const uint8_t *p = k ? weights_meta(r->w, k, &type, &n) : NULL;
	const char *text;

	if (!p || n > VALUE)
		return NULL;
	if (type.depth == 0 && type.leaf == VALUE_JSON)
		return json_parse_any(p, n, ERR_CORRUPT, k->key, r->e);
	text = value_string(type, p, n, &len);
	if (!text)
		return value_is_inline(type, p, n) ? value_to_json(type, p, n) : NULL;
	if (len > 0 && *text == '{')
		return json_parse_any(text, len, ERR_CORRUPT, k->key, r->e);
	return text_utf8(text, len, false) ? json_stringn(text, len) : NULL;
}

static json_t *
key_value(struct reading *r, const char *key)
{
	return meta_value(r, model_find(r->w->plan, key));
}

static int
offer_key(struct reading *r, const struct card_field *f, const char *key)
{
	json_t *v = key ? key_value(r, key) : NULL;
	int result = r->e->code != ERR_NONE ? -1 : offer(r, f, v);

	json_decref(v);
	return result;
}

static const char *const entry_fields[] = { "name", "author", "version", "organization",
	"description", "url", "doi", "uuid", "repo_url" };
#define ENTRY_FIELDS (sizeof entry_fields / sizeof *entry_fields)

/* Finds the keys general.base_model.0.name and so on of count entries, in one walk over all keys:
 * field k of entry i is found[i * ENTRY_FIELDS + k], or NULL. */
static void
find_entries(const struct model *m, const char *prefix, uint64_t count,
             const struct meta **found)
{
	size_t i, k, n = strlen(prefix);

	for (i = 0; i < m->meta_count; i++) {
		const char *digits, *end;
		uint64_t entry;

		if (strncmp(m->meta[i].key, prefix, n) != 0)
			continue;
		digits = end = m->meta[i].key + n;
		/* A number has one spelling. */
		if (text_digits(&end, &entry) < 0 || entry >= count || *end != '.' ||
		    (*digits == '0' && end > digits + 1))
			continue;
		for (k = 0; k < ENTRY_FIELDS && strcmp(end + 1, entry_fields[k]) != 0; k++)
			;
		if (k < ENTRY_FIELDS && !found[entry * ENTRY_FIELDS + k])
			found[entry * ENTRY_FIELDS + k] = &m->meta[i];
	}
}

static json_t *
entry_of_keys(struct reading *r, const struct meta *const *found)
{
	json_t *entry = json_object();
	size_t k;

	for (k = 0; entry && k < ENTRY_FIELDS; k++) {
		json_t *v = meta_value(r, found[k]);

		if (v && json_object_set_new(entry, entry_fields[k], v) < 0) {
			json_decref(entry);
			return NULL;
		}
	}
	return entry;
}

static int
offer_entries(struct reading *r, const struct card_field *f)
{
	json_t *list = json_array();
	const struct meta **found;
	uint64_t count = 0, i;
	char key[96];
	int result = list ? 0 : -1;

	snprintf(key, sizeof key, "general.%s.count", f->general);
	model_u64(r->w->plan, key, &count);
	count = count < ENTRIES ? count : ENTRIES;
	found = mem_array(count * ENTRY_FIELDS, sizeof *found);
	snprintf(key, sizeof key, "general.%s.", f->general);
	if (found && count > 0)
		find_entries(r->w->plan, key, count, found);
	for (i = 0; result == 0 && found && i < count; i++)
		result = json_array_append_new(list, entry_of_keys(r, found + i * ENTRY_FIELDS));
	if (result < 0 || !found)
		err_memory(r->e);
	free(found);
	result = r->e->code != ERR_NONE ? -1 : offer(r, f, list);
	json_decref(list);
	return result;
}

static int
offer_general(struct reading *r, const struct card_field *f)
{
	char key[96];

	if (!f->general)
		return 0;
	if (f->kind == CARD_ENTRIES)
		return offer_entries(r, f);
	snprintf(key, sizeof key, "general.%s", f->general);
	return offer_key(r, f, key);
}

/* ---- fields ---- */

static int
read_field(struct reading *r, const struct card_field *f)
{
	size_t i;

	if (offer(r, f, json_object_get(r->own, f->name)) < 0 ||
	    (f->other && offer(r, f, json_object_get(r->own, f->other)) < 0) ||
	    offer_key(r, f, f->name) < 0 || offer_key(r, f, f->other) < 0 || offer_general(r, f) < 0)
		return -1;
	for (i = 0; i < 3 && f->front[i]; i++)
		if (offer(r, f, json_object_get(r->front, f->front[i])) < 0)
			return -1;
	return 0;
}

/* The members of compliance are also keys of their own: compliance.export_control. */
static int
read_compliance(struct reading *r)
{
	json_t *all = json_object(), *v;
	json_t *given = json_object_get(r->card, "compliance");
	const struct card_field *f;
	char key[64];
	int bad = all ? 0 : -1;

	for (f = card_compliance; bad == 0 && f->name; f++) {
		snprintf(key, sizeof key, "compliance.%s", f->name);
		v = key_value(r, key);
		if (!v)
			v = json_incref(json_object_get(given, f->name));
		if (is_scalar(v))
			bad = json_object_set(all, f->name, v);
		json_decref(v);
	}
	if (bad == 0 && given)
		bad = json_object_update_missing(all, given);
	if (bad == 0 && json_object_size(all) > 0)
		bad = json_object_set(r->card, "compliance", all);
	json_decref(all);
	if (bad < 0)
		err_memory(r->e);
	return r->e->code == ERR_NONE ? 0 : -1;
}

static bool
is_known(const char *name, bool front)
{
	const struct card_field *f;
	size_t i;

	for (f = card_fields; f->name; f++) {
		if (!front && (strcmp(name, f->name) == 0 || (f->other && strcmp(name, f->other) == 0)))
			return true;
		for (i = 0; front && i < 3 && f->front[i]; i++)
			if (strcmp(name, f->front[i]) == 0)
				return true;
	}
	return false;
}

/* Members without a field. */
static int
read_more(struct reading *r, const json_t *from, bool front)
{
	json_t *more = json_object_get(r->card, "more"), *v;
	const char *name;

	json_object_foreach((json_t *)(uintptr_t)from, name, v) {
		if (is_known(name, front))
			continue;
		if (!more) {
			more = json_object();
			if (json_object_set_new(r->card, "more", more) < 0)
				return err_memory(r->e);
		}
		if (!json_object_get(more, name) && json_object_set(more, name, v) < 0)
			return err_memory(r->e);
	}
	return 0;
}

static int
read_all(struct reading *r)
{
	const struct card_field *f;
	size_t n;
	const char *readme = (const char *)weights_file(r->w, "README.md", &n);

	r->own = key_value(r, "model_card");
	if (r->e->code != ERR_NONE)
		return -1;
	if (readme && !(r->front = yaml_front_parse(readme, n, "README.md", r->e)))
		return -1;
	for (f = card_fields; f->name; f++) {
		if (read_field(r, f) < 0)
			return -1;
		if (f->group == CARD_COMPLIANCE && read_compliance(r) < 0)
			return -1;
	}
	return read_more(r, r->own, false) < 0 ? -1 : read_more(r, r->front, true);
}

json_t *
card_read(const struct weights *w, struct err *e)
{
	struct reading r = { .w = w, .card = json_object(), .e = e };

	if (!r.card)
		err_memory(e);
	else if (read_all(&r) < 0) {
		json_decref(r.card);
		r.card = NULL;
	}
	json_decref(r.own);
	json_decref(r.front);
	return r.card;
}
