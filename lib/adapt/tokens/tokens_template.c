#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/tokens/tokens_folder.h"
#include "core/text.h"

#define KEY "tokenizer.chat_template"
#define MORE "additional_chat_templates/"
#define SUFFIX ".jinja"

/* The places of a chat template; the first has a named list too. Templates: a text, or a list
 * of objects with a name and a template. */
static const char *const places[] = { "tokenizer_config.json", "chat_template.jinja",
	                              "chat_template.json" };
#define PLACES 3

#define TEMPLATES 1024 /* maximum number in a list: real ones have up to five */

/* ---- reading ---- */

static json_t *
text_of(struct tokens_folder *f, const uint8_t *p, size_t n, const char *name)
{
	json_t *v;

	if (!p)
		return NULL;
	if (!text_utf8(p, n, false)) {
		err_set(f->e, ERR_CORRUPT, name, "is not UTF-8 text");
		return NULL;
	}
	v = json_stringn((const char *)p, n);
	if (!v)
		err_memory(f->e);
	return v;
}

static int
append(json_t *list, const char *name, size_t n, json_t *text)
{
	json_t *o = json_object();
	int r = text && json_object_set_new(o, "name", json_stringn(name, n)) == 0 &&
	        json_object_set(o, "template", text) == 0 ? 0 : -1;

	json_decref(text);
	return r == 0 ? json_array_append_new(list, o) : (json_decref(o), -1);
}

/* A folder with a .jinja file for each further template makes the template a list. */
static json_t *
with_more(struct tokens_folder *f, json_t *text)
{
	const struct model *plan = f->s->plan;
	json_t *list = NULL;
	size_t i;

	for (i = 0; text && i < plan->blob_count; i++) {
		const char *name = plan->blobs[i].name;
		size_t n = strlen(name), head = strlen(MORE), tail = strlen(SUFFIX);

		if (strncmp(name, MORE, head) != 0 || n <= head + tail ||
		    strcmp(name + n - tail, SUFFIX) != 0)
			continue;
		if (!list) {
			list = json_array();
			append(list, "default", 7, json_incref(text));
		}
		append(list, name + head, n - head - tail,
		       text_of(f, f->s->w.blobs[i].p, f->s->w.blobs[i].n, name));
	}
	if (!list)
		return text;
	json_decref(text);
	return list;
}

static json_t *
read_place(struct tokens_folder *f, unsigned place)
{
	const uint8_t *p;
	json_t *o, *v;
	size_t n;

	switch (place) {
	case 0:
		v = json_object_get(f->config, "chat_template");
		return json_is_null(v) ? NULL : json_incref(v);
	case 1:
		p = weights_file(&f->s->w, places[place], &n);
		return with_more(f, text_of(f, p, n, places[place]));
	default:
		o = subject_json(f->s, places[place], f->e);
		v = json_object_get(o, "chat_template");
		v = json_is_null(v) ? NULL : json_incref(v);
		json_decref(o);
		return v;
	}
}

/* ---- choosing ---- */

/* The template that holds if nothing names another. */
static const json_t *
main_of(const json_t *v)
{
	size_t i;

	if (!json_is_array(v))
		return v;
	for (i = 0; i < json_array_size(v); i++) {
		const json_t *o = json_array_get(v, i);
		const char *name = json_string_value(json_object_get(o, "name"));

		if (name && strcmp(name, "default") == 0)
			return json_object_get(o, "template");
	}
	return NULL;
}

/* Whether templates give the same text. Jinja drops a line feed at the end. */
static bool
same(const json_t *a, const json_t *b)
{
	size_t i, n[2] = { 0 };
	const char *s[2];

	if (json_is_array(a) && json_is_array(b))
		return json_equal(a, b);
	a = main_of(a);
	b = main_of(b);
	if (!json_is_string(a) || !json_is_string(b))
		return false;
	s[0] = json_string_value(a);
	s[1] = json_string_value(b);
	n[0] = json_string_length(a);
	n[1] = json_string_length(b);
	for (i = 0; i < 2; i++)
		n[i] -= n[i] > 0 && s[i][n[i] - 1] == '\n';
	return n[0] == n[1] && memcmp(s[0], s[1], n[0]) == 0;
}

static int
chosen(struct tokens_folder *f, json_t *const found[PLACES], unsigned *place)
{
	unsigned i, k;

	if (f->o->chat_template) {
		for (i = 0; i < PLACES && strcmp(places[i], f->o->chat_template) != 0; i++)
			;
		if (i == PLACES || !found[i])
			return err_set(f->e, ERR_USAGE, f->o->chat_template,
			               "the model has no chat template there");
		*place = i;
		return 0;
	}
	for (i = 0; i < PLACES && !found[i]; i++)
		;
	*place = i;
	for (k = i + 1; k < PLACES; k++)
		if (found[k] && !same(found[i], found[k])) {
			err_set(f->e, ERR_USAGE, f->s->w.name,
			        "the chat templates in %s and %s differ", places[i], places[k]);
			return err_hint(f->e, "--chat-template %s or --chat-template %s chooses one",
			                places[i], places[k]);
		}
	return 0;
}

/* ---- keys ---- */

static int
put_named(struct tokens_folder *f, const json_t *o, struct buf *names, uint64_t *count)
{
	const json_t *name = json_object_get(o, "name"), *text = json_object_get(o, "template");
	const char *s = json_string_value(name);
	char key[256];
	size_t i, n = strlen(KEY ".");

	if (!json_is_string(name) || !json_is_string(text))
		return err_set(f->e, ERR_CORRUPT, "tokenizer_config.json",
		               "chat_template: an item has no name or no template");
	if (*s == 0 || strcmp(s, "default") == 0)
		return 0;
	if (json_string_length(name) > sizeof key - n - 1)
		return err_set(f->e, ERR_CORRUPT, "tokenizer_config.json",
		               "chat_template: a name has %zu bytes", json_string_length(name));
	memcpy(key, KEY ".", n + 1);
	for (; *s; s += i) { /* each character that is not a letter or digit: one "_" */
		uint32_t c;

		i = text_character(s, strlen(s), &c);
		i = i ? i : 1;
		key[n++] = i == 1 && isalnum((unsigned char)*s) ? *s : '_';
	}
	key[n] = 0;
	i = strlen(KEY ".");
	if (!model_find(f->out, key)) {
		buf_u64(names, n - i);
		buf_put(names, key + i, n - i);
		++*count;
	}
	return tokens_put_text(f, key, json_string_value(text), json_string_length(text));
}

static int
put_names(struct tokens_folder *f, const struct buf *names, uint64_t count)
{
	struct buf wire = { 0 };
	int r;

	if (count == 0)
		return 0;
	buf_u32(&wire, VALUE_STRING);
	buf_u64(&wire, count);
	buf_put(&wire, names->p, names->n);
	r = buf_ok(&wire) && buf_ok(names)
	        ? model_set_meta(f->out, "tokenizer.chat_templates",
	                         (struct value_type){ 1, VALUE_STRING }, wire.p, wire.n, f->e)
	        : err_memory(f->e);
	buf_free(&wire);
	return r;
}

static int
put_chosen(struct tokens_folder *f, const json_t *v, const char *place)
{
	struct buf names = { 0 };
	uint64_t count = 0;
	size_t i;
	int r = 0;

	if (!json_is_string(v) && !json_is_array(v))
		return err_set(f->e, ERR_CORRUPT, place,
		               "chat_template is neither a text nor a list");
	if (json_array_size(v) > TEMPLATES)
		return err_set(f->e, ERR_CORRUPT, place, "has %zu chat templates, at most %d are read",
		               json_array_size(v), TEMPLATES);
	for (i = 0; i < json_array_size(v) && r == 0; i++)
		r = put_named(f, json_array_get(v, i), &names, &count);
	if (r == 0)
		r = put_names(f, &names, count);
	buf_free(&names);
	v = main_of(v);
	if (r < 0 || json_string_length(v) == 0)
		return r;
	return tokens_put_text(f, KEY, json_string_value(v), json_string_length(v));
}

int
tokens_put_template(struct tokens_folder *f)
{
	json_t *found[PLACES] = { NULL };
	unsigned i, place = PLACES;
	int r = 0;

	for (i = 0; i < PLACES && r == 0; i++) {
		found[i] = read_place(f, i);
		r = f->e->code == ERR_NONE ? 0 : -1;
	}
	if (r == 0)
		r = chosen(f, found, &place);
	if (r == 0 && place < PLACES)
		r = put_chosen(f, found[place], places[place]);
	for (i = 0; i < PLACES; i++)
		json_decref(found[i]);
	return r;
}
