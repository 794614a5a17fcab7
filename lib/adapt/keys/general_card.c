#include "adapt/keys/general_card.h"

#include <stdio.h>
#include <string.h>

#include "adapt/keys/general_name.h"
#include "core/text.h"

#define HUB "https://huggingface.co/"

const char *const general_card_fields[] = { "name", "author", "version", "organization",
	"description", "url", "doi", "uuid", "repo_url", NULL };

static void
note(const struct general_card *c, const char *before, const char *member, const char *what)
{
	char name[80], text[160];

	if (!c->note)
		return;
	snprintf(text, sizeof text, "README.md: %s%s is %s, and not used", before,
	         text_quote(name, sizeof name, member, strlen(member)), what);
	c->note(text);
}

/* Sets a member that is not there yet; takes the reference. */
static int
set(struct general_card *c, const char *name, json_t *v)
{
	if (!v)
		return err_memory(c->e);
	if (json_object_get(c->facts, name)) {
		json_decref(v);
		return 0;
	}
	return json_object_set_new(c->facts, name, v) < 0 ? err_memory(c->e) : 0;
}

/* ---- names ---- */

static json_t *
title(const char *name)
{
	struct buf b = { 0 };
	json_t *v;

	general_title(name, &b);
	v = buf_string(&b) ? json_stringn((const char *)b.p, b.n) : NULL;
	buf_free(&b);
	return v;
}

int
general_card_name(struct general_card *c, const char *id)
{
	struct general_name n;
	int r = general_name_read(&n, id, c->parameters, c->e);

	if (r == 0)
		r = set(c, "name", title(n.full));
	if (r == 0 && n.organization)
		r = set(c, "organization", title(n.organization));
	if (r == 0 && n.basename)
		r = set(c, "basename", json_string(n.basename));
	if (r == 0 && n.finetune)
		r = set(c, "finetune", json_string(n.finetune));
	if (r == 0 && n.version)
		r = set(c, "version", json_string(n.version));
	if (r == 0 && n.size_label)
		r = set(c, "size_label", json_string(n.size_label));
	general_name_free(&n);
	return r;
}

/* ---- base models and data sets ---- */

static bool
is_address(const char *s)
{
	return strncmp(s, "http://", 7) == 0 || strncmp(s, "https://", 8) == 0 ||
	       strncmp(s, "ssh://", 6) == 0;
}

/* ORGANIZATION/NAME at the end of an address of the Hub, or NULL. */
static const char *
hub_id(const char *address)
{
	const char *p = strstr(address, "://huggingface.co/"), *slash;

	if (!p || (p != address + 4 && p != address + 5) || strncmp(address, "http", 4) != 0)
		return NULL;
	p += strlen("://huggingface.co/");
	slash = strchr(p, '/');
	return slash && slash > p && slash[1] && !strchr(slash + 1, '/') ? p : NULL;
}

static int
name_entry(struct general_card *c, json_t *entry, const char *id, bool address)
{
	struct general_name n;
	int r = general_name_read(&n, id, c->parameters, c->e);

	if (r == 0 && json_object_set_new(entry, "name", title(n.full)) < 0)
		r = -1;
	if (r == 0 && n.organization)
		r = json_object_set_new(entry, "organization", title(n.organization));
	if (r == 0 && n.version)
		r = json_object_set_new(entry, "version", json_string(n.version));
	if (r == 0 && n.organization && !address)
		r = json_object_set_new(entry, "repo_url",
		                        json_sprintf(HUB "%s/%s", n.organization, n.full));
	general_name_free(&n);
	return r;
}

json_t *
general_card_entry(struct general_card *c, const char *id)
{
	json_t *entry = json_object();
	int r = entry ? 0 : -1;

	if (r == 0 && is_address(id)) {
		r = json_object_set_new(entry, "repo_url", json_string(id));
		id = hub_id(id);
		if (r == 0 && id)
			r = name_entry(c, entry, id, true);
	} else if (r == 0) {
		r = name_entry(c, entry, id, false);
	}
	if (r == 0)
		return entry;
	err_memory(c->e);
	json_decref(entry);
	return NULL;
}

/* The fields of an entry that is a mapping. */
static json_t *
entry_fields(struct general_card *c, const json_t *from, const char *member)
{
	json_t *entry = json_object();
	size_t i;

	for (i = 0; entry && general_card_fields[i]; i++) {
		json_t *v = json_object_get(from, general_card_fields[i]);

		if (v && !json_is_string(v)) {
			note(c, "an entry of ", member, "not text");
			v = NULL;
		}
		if (v && json_object_set(entry, general_card_fields[i], v) < 0) {
			json_decref(entry);
			entry = NULL;
		}
	}
	if (!entry)
		err_memory(c->e);
	return entry;
}

static int
add_entry(struct general_card *c, json_t *list, const json_t *from, const char *member)
{
	json_t *entry = json_is_string(from)
		? general_card_entry(c, json_string_value(from)) : entry_fields(c, from, member);

	if (!entry)
		return -1;
	return json_array_append_new(list, entry) < 0 ? err_memory(c->e) : 0;
}

static int
too_many(struct general_card *c, const char *member)
{
	return err_set(c->e, ERR_MEMORY, "README.md", "%s lists more than %d entries", member,
	               GENERAL_ENTRIES);
}

/* An id, or a list of ids and mappings. */
static int
add_entries(struct general_card *c, json_t *list, const json_t *from, const char *member)
{
	size_t i;

	if (json_array_size(from) > GENERAL_ENTRIES)
		return too_many(c, member);
	if (json_is_string(from))
		return add_entry(c, list, from, member);
	if (!json_is_array(from) && !json_is_null(from))
		note(c, "", member, "not a list");
	for (i = 0; i < json_array_size(from); i++)
		if (add_entry(c, list, json_array_get(from, i), member) < 0)
			return -1;
	return 0;
}

/* The first of the members that is there, even if it is null: the count 0 is a key too. */
static int
take_entries(struct general_card *c, const json_t *front, const char *name,
             const char *const members[3])
{
	json_t *list;
	size_t i;

	for (i = 0; i < 3 && !json_object_get(front, members[i]); i++)
		;
	if (i == 3)
		return 0;
	list = json_array();
	if (list && add_entries(c, list, json_object_get(front, members[i]), members[i]) < 0) {
		json_decref(list);
		return -1;
	}
	return set(c, name, list);
}

/* ---- text and lists of text ---- */

/* The texts of a list, joined by commas. */
static json_t *
join(const json_t *list)
{
	struct buf b = { 0 };
	json_t *v = NULL;
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		if (i > 0)
			buf_u8(&b, ',');
		buf_text(&b, json_string_value(json_array_get(list, i)));
	}
	if (buf_string(&b))
		v = json_stringn((const char *)b.p, b.n);
	buf_free(&b);
	return v;
}

static bool
is_list_of_text(const json_t *v)
{
	size_t i;

	for (i = 0; i < json_array_size(v); i++)
		if (!json_is_string(json_array_get(v, i)))
			return false;
	return json_is_array(v);
}

static const struct text_row {
	const char *name, *members[3];
	bool list; /* may be a list of texts */
} texts[] = {
	{ "name", { "name", "model_name" }, false },
	{ "author", { "author", "model_author", "model_creator" }, false },
	{ "version", { "version", "model_version" }, false },
	{ "organization", { "organization", "model_organization" }, false },
	{ "description", { "description", "model_description" }, false },
	{ "finetune", { "finetune", "model_finetune" }, false },
	{ "basename", { "basename", "model_basename", "model_type" }, false },
	{ "size_label", { "size_label", "model_size_label" }, false },
	{ "source.url", { "url", "model_url" }, false },
	{ "source.doi", { "doi", "model_doi" }, false },
	{ "source.uuid", { "uuid", "model_uuid" }, false },
	{ "source.repo_url", { "repo_url", "model_repo_url" }, false },
	{ "license", { "license" }, true },
	{ "license.name", { "license_name" }, false },
	{ "license.link", { "license_link" }, false },
};

static int
take_text(struct general_card *c, const json_t *front, const struct text_row *row)
{
	size_t i;

	for (i = 0; i < 3 && row->members[i]; i++) {
		json_t *v = json_object_get(front, row->members[i]);

		if (json_is_string(v))
			return set(c, row->name, json_incref(v));
		if (row->list && is_list_of_text(v))
			return json_array_size(v) > GENERAL_ENTRIES ? too_many(c, row->members[i])
			                                            : set(c, row->name, join(v));
		if (v && !json_is_null(v))
			note(c, "", row->members[i], "not text");
	}
	return 0;
}

/* Appends a text, or the texts of a list. */
static int
append_texts(struct general_card *c, json_t *list, const json_t *from, const char *member)
{
	size_t i;

	if (json_array_size(from) + json_array_size(list) > GENERAL_ENTRIES)
		return too_many(c, member);
	if (json_is_string(from))
		return json_array_append(list, (json_t *)(uintptr_t)from) < 0 ? err_memory(c->e) : 0;
	if (from && !json_is_array(from) && !json_is_null(from))
		note(c, "", member, "not a list");
	for (i = 0; i < json_array_size(from); i++) {
		json_t *v = json_array_get(from, i);

		if (!json_is_string(v))
			note(c, "an entry of ", member, "not text");
		else if (json_array_append(list, v) < 0)
			return err_memory(c->e);
	}
	return 0;
}

static int
take_list(struct general_card *c, const json_t *front, const char *name, const char *first,
          const char *second)
{
	json_t *list = json_array();

	if (list && (append_texts(c, list, json_object_get(front, first), first) < 0 ||
	             append_texts(c, list, json_object_get(front, second), second) < 0)) {
		json_decref(list);
		return -1;
	}
	return set(c, name, list);
}

int
general_card_front(struct general_card *c, const json_t *front)
{
	static const char *const models[3] = { "base_model", "base_models", "base_model_sources" };
	static const char *const sets[3] = { "datasets", "dataset", "dataset_sources" };
	size_t i;

	for (i = 0; i < sizeof texts / sizeof *texts; i++)
		if (take_text(c, front, &texts[i]) < 0)
			return -1;
	if (take_entries(c, front, "base_model", models) < 0 ||
	    take_entries(c, front, "dataset", sets) < 0 ||
	    take_list(c, front, "tags", "tags", "pipeline_tag") < 0)
		return -1;
	return take_list(c, front, "languages", "languages", "language");
}
