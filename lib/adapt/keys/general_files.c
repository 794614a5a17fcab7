/* generation_config.json and README.md from the keys. */
#include "adapt/keys/general.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/keys/general_card.h"
#include "adapt/keys/general_name.h"
#include "core/le.h"
#include "core/text.h"
#include "wire/yaml.h"

struct making {
	const struct subject *s;
	json_t *front;
	struct err *e;
};

/* ---- keys ---- */

/* The value of general.NAME as a new reference: text or an array of texts; NULL if there is
 * none, or no memory. */
static json_t *
key_text(const struct making *m, const char *name)
{
	struct value_type type;
	char key[160];
	const uint8_t *p;
	size_t n, len;
	const char *text;

	snprintf(key, sizeof key, "general.%s", name);
	p = weights_value(&m->s->w, key, &type, &n);
	if (!p)
		return NULL;
	if (type.depth == 1 && type.leaf == VALUE_STRING && value_is_inline(type, p, n))
		return value_to_json(type, p, n);
	text = value_string(type, p, n, &len);
	return text && len > 0 && text_utf8(text, len, false) ? json_stringn(text, len) : NULL;
}

/* Sets a member of an object; v: NULL leaves it out; takes the reference. */
static int
set(struct making *m, json_t *object, const char *name, json_t *v)
{
	return v && json_object_set_new(object, name, v) < 0 ? err_memory(m->e) : 0;
}

/* ---- generation_config.json ---- */

/* The number with the fewest digits that is the same in 32 bits. */
static json_t *
real(float f)
{
	char text[40];
	int digits = 1;

	do
		snprintf(text, sizeof text, "%.*g", digits, (double)f);
	while (strtof(text, NULL) != f && ++digits < 10);
	return json_real(strtod(text, NULL));
}

static json_t *
sampling(const struct making *m, const struct general_sampling *row)
{
	struct value_type type;
	char key[64];
	const uint8_t *p;
	size_t n;
	float f;

	if (row->leaf == VALUE_STRING)
		return key_text(m, row->key);
	snprintf(key, sizeof key, "general.%s", row->key);
	p = weights_value(&m->s->w, key, &type, &n);
	if (!p || type.depth || type.leaf != row->leaf || n != 4)
		return NULL;
	if (row->leaf == VALUE_I32)
		return json_integer((int32_t)le32(p));
	f = le_f32(p);
	return f - f == 0 ? real(f) : NULL;
}

/* The id of a special token, or NULL. */
static json_t *
token(const struct making *m, const char *name)
{
	char key[64];
	uint64_t id;

	snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", name);
	return model_u64(m->s->plan, key, &id) == 0 && id <= UINT32_MAX
		? json_integer((json_int_t)id) : NULL;
}

/* Tokens that end a text: an id, or the list of different ones. */
static json_t *
ends(const struct making *m)
{
	static const char *const names[] = { "eos", "eot", "eom" };
	json_t *list = json_array(), *v, *first;
	size_t i, k;

	for (i = 0; list && i < 3; i++) {
		v = token(m, names[i]);
		for (k = 0; k < json_array_size(list); k++)
			if (json_equal(v, json_array_get(list, k)))
				break;
		if (v && k == json_array_size(list))
			json_array_append(list, v);
		json_decref(v);
	}
	first = json_incref(json_array_get(list, 0));
	if (json_array_size(list) > 1) {
		json_decref(first);
		return list;
	}
	json_decref(list);
	return first;
}

static int
make_generation(struct making *m, struct subject_files *out)
{
	const struct general_sampling *row;
	json_t *o = json_object();
	int r = o ? set(m, o, "bos_token_id", token(m, "bos")) : err_memory(m->e);

	if (r == 0)
		r = set(m, o, "eos_token_id", ends(m));
	if (r == 0)
		r = set(m, o, "pad_token_id", token(m, "padding"));
	for (row = general_samplings; r == 0 && row->key; row++) {
		json_t *v = sampling(m, row);

		if (json_is_number(v) && !json_object_get(o, "do_sample"))
			r = set(m, o, "do_sample", json_true());
		if (v && strcmp(row->member, "penalty_repeat") == 0)
			r |= json_object_set(o, "repetition_penalty", v);
		r |= set(m, o, row->member, v);
	}
	if (r == 0 && json_object_size(o) > 0)
		return subject_add_json(out, "generation_config.json", o, m->e);
	json_decref(o);
	return r < 0 ? err_memory(m->e) : 0;
}

/* ---- front matter ---- */

/* Several licences are one text with commas in GGUF. */
static json_t *
licences(json_t *text)
{
	const char *s = json_string_value(text);
	json_t *list;
	size_t n;

	if (!s || !strchr(s, ','))
		return text;
	list = json_array();
	for (;; s += n + 1) {
		n = strcspn(s, ",");
		if (!list || json_array_append_new(list, json_stringn(s, n)) < 0 || !s[n])
			break;
	}
	json_decref(text);
	return list;
}

/* The entry as general_put will read it from the id is the same. */
static bool
reads_back(struct making *m, const json_t *entry, const char *id)
{
	struct general_card c = { .e = m->e };
	json_t *back = general_card_entry(&c, id);
	bool same = json_equal(back, entry);

	json_decref(back);
	return same;
}

/* The shortest form of an entry: the id of the Hub, an address, a name; or all fields. Takes
 * the reference. */
static json_t *
shorten(struct making *m, json_t *entry)
{
	const char *address = json_string_value(json_object_get(entry, "repo_url"));
	const char *name = json_string_value(json_object_get(entry, "name"));
	const char *hub = "https://huggingface.co/", *tries[3] = { NULL, address, name };
	size_t i;

	if (address && strncmp(address, hub, strlen(hub)) == 0)
		tries[0] = address + strlen(hub);
	for (i = 0; i < 3; i++)
		if (tries[i] && reads_back(m, entry, tries[i])) {
			json_t *id = json_string(tries[i]);

			json_decref(entry);
			return id;
		}
	return entry;
}

static int
put_entries(struct making *m, const char *from, const char *to)
{
	json_t *list, *entry;
	uint64_t count, i;
	char key[96];
	size_t k;
	int r = 0;

	snprintf(key, sizeof key, "general.%s.count", from);
	if (model_u64(m->s->plan, key, &count) < 0)
		return 0;
	if (count > GENERAL_ENTRIES)
		return err_set(m->e, ERR_CORRUPT, key, "is more than %d", GENERAL_ENTRIES);
	list = json_array();
	for (i = 0; list && r == 0 && i < count; i++) {
		entry = json_object();
		for (k = 0; entry && r == 0 && general_card_fields[k]; k++) {
			snprintf(key, sizeof key, "%s.%u.%s", from, (unsigned)i, general_card_fields[k]);
			r = set(m, entry, general_card_fields[k], key_text(m, key));
		}
		r |= json_array_append_new(list, entry ? shorten(m, entry) : NULL);
	}
	if (r < 0 || !list) {
		json_decref(list);
		return err_memory(m->e);
	}
	return set(m, m->front, to, list);
}

/* The last tag is the Hub's pipeline_tag if it is one of its tasks. */
static int
put_tags(struct making *m)
{
	static const char *const tasks[] = { "text-generation", "image-text-to-text",
		"feature-extraction", "sentence-similarity", "text-classification", "fill-mask",
		"token-classification", "question-answering", "summarization", "translation",
		"text2text-generation", "automatic-speech-recognition", "text-to-speech",
		"text-ranking", "zero-shot-classification", "image-classification", "any-to-any",
		"image-to-text", "audio-text-to-text", "video-text-to-text", "reinforcement-learning" };
	json_t *tags = key_text(m, "tags");
	json_t *last = json_array_get(tags, json_array_size(tags) - 1);
	size_t i;

	if (!json_is_array(tags)) {
		json_decref(tags);
		return 0;
	}
	for (i = 0; i < sizeof tasks / sizeof *tasks; i++)
		if (json_is_string(last) && strcmp(json_string_value(last), tasks[i]) == 0) {
			if (set(m, m->front, "pipeline_tag", json_incref(last)) < 0) {
				json_decref(tags);
				return -1;
			}
			json_array_remove(tags, json_array_size(tags) - 1);
			break;
		}
	if (json_array_size(tags) > 0)
		return set(m, m->front, "tags", tags);
	json_decref(tags);
	return 0;
}

/* A size that follows from the tensors is not part of the card. */
static bool
is_own_size(const struct making *m, const json_t *label)
{
	struct arch_sizes s;
	char text[ARCH_SIZE];

	arch_count(NULL, m->s->plan, &s);
	arch_size_text(text, &s);
	return s.all > 0 && json_is_string(label) && strcmp(json_string_value(label), text) == 0;
}

static int
put_texts(struct making *m)
{
	static const struct { const char *key, *member; } rows[] = {
		{ "name", "model_name" }, { "author", "model_author" }, { "version", "model_version" },
		{ "organization", "model_organization" }, { "finetune", "model_finetune" },
		{ "basename", "model_basename" }, { "size_label", "model_size_label" },
		{ "description", "model_description" }, { "source.url", "model_url" },
		{ "source.doi", "model_doi" }, { "source.uuid", "model_uuid" },
		{ "source.repo_url", "model_repo_url" },
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		json_t *v = key_text(m, rows[i].key);

		if (strcmp(rows[i].key, "size_label") == 0 && is_own_size(m, v)) {
			json_decref(v);
			v = NULL;
		}
		if (set(m, m->front, rows[i].member, v) < 0)
			return -1;
	}
	return 0;
}

static int
put_front(struct making *m)
{
	if (set(m, m->front, "license", licences(key_text(m, "license"))) < 0 ||
	    set(m, m->front, "license_name", key_text(m, "license.name")) < 0 ||
	    set(m, m->front, "license_link", key_text(m, "license.link")) < 0 ||
	    set(m, m->front, "language", key_text(m, "languages")) < 0 || put_tags(m) < 0 ||
	    put_entries(m, "base_model", "base_model") < 0 || put_entries(m, "dataset", "datasets") < 0)
		return -1;
	return put_texts(m);
}

/* ---- README.md ---- */

/* A line of Markdown: no line breaks, and nothing that begins a block of its own. */
static void
put_line(struct buf *to, const json_t *text)
{
	const char *s = json_string_value(text);

	for (; s && *s; s++)
		if (*s == '\n' || *s == '\r' || *s == '\t')
			buf_u8(to, ' ');
		else
			buf_printf(to, strchr("\\`*_<>[]#&", *s) ? "\\%c" : "%c", *s);
}

static int
make_card(struct making *m, struct subject_files *out)
{
	const json_t *name = json_object_get(m->front, "model_name");
	const json_t *description = json_object_get(m->front, "model_description");
	struct buf b = { 0 };

	if (json_object_size(m->front) == 0)
		return 0;
	buf_text(&b, "---\n");
	if (yaml_write(m->front, &b, m->e) < 0) {
		buf_free(&b);
		return -1;
	}
	buf_text(&b, "---\n");
	if (name) {
		buf_text(&b, "# ");
		put_line(&b, name);
		buf_text(&b, "\n");
	}
	if (description) {
		buf_text(&b, "\n");
		put_line(&b, description);
		buf_text(&b, "\n");
	}
	return subject_add_file(out, "README.md", &b, m->e);
}

int
general_files(const struct subject *s, struct subject_files *out, struct err *e)
{
	struct making m = { .s = s, .front = json_object(), .e = e };
	size_t n;
	int r = m.front ? 0 : err_memory(e);

	if (r == 0 && !weights_file(&s->w, "generation_config.json", &n))
		r = make_generation(&m, out);
	if (r == 0 && !weights_file(&s->w, "README.md", &n))
		r = put_front(&m) < 0 ? -1 : make_card(&m, out);
	json_decref(m.front);
	return r;
}
