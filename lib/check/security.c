#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check/lint_parts.h"
#include "check/template.h"
#include "core/text.h"

#define TEMPLATE_LARGE ((size_t)1 << 20)
#define TEXT_SHORT 4096 /* bytes of a text that people read in one piece */

/* ---- pickles ---- */

const char *
security_pickle(const struct lint *l, const struct rule *r)
{
	const json_t *calls = json_object_get(l->s->facts, "would_call");
	size_t i;

	if (!lint_is(l, "pytorch"))
		return "the file is not a pickle";
	for (i = 0; i < json_array_size(calls); i++) {
		const char *call = json_string_value(json_array_get(calls, i));

		findings_add(l->to, r, NULL, "a program that loads the file calls %s",
		             call ? call : "a function");
	}
	return NULL;
}

/* ---- names ---- */

/* Why a name leads out of a folder, or NULL. file: the name of a file, which must not be absolute
 * either; names of tensors often begin with "/". */
static const char *
climbs(const char *name, bool file)
{
	const char *part = name, *end;

	if (file && (*name == '/' || *name == '\\'))
		return "is an absolute path";
	if (file && name[0] && name[1] == ':')
		return "begins with a drive letter";
	for (;; part = end + 1) {
		end = part + strcspn(part, "/\\");
		if (end - part == 2 && memcmp(part, "..", 2) == 0)
			return "leads to a folder above";
		if (file && *end == '\\')
			return "has a backslash";
		if (!*end)
			return NULL;
	}
}

static void
judge_path(const struct lint *l, const struct rule *r, const char *name, bool file)
{
	const char *why = climbs(name, file);

	if (why)
		findings_add_at(l->to, r, file ? r->level : FINDING_WARN, name, "%s", why);
}

const char *
security_path(const struct lint *l, const struct rule *r)
{
	const struct model *m = l->s->source->plan;
	size_t i;

	for (i = 0; i < m->blob_count; i++)
		if (strncmp(m->blobs[i].name, MODEL_VALUE_NAME, sizeof MODEL_VALUE_NAME - 1) != 0)
			judge_path(l, r, m->blobs[i].name, true);
	for (i = 0; i < m->tensor_count; i++)
		judge_path(l, r, tensor_name(m->tensors[i]), false);
	for (i = 0; i < m->meta_count; i++)
		judge_path(l, r, m->meta[i].key, false);
	return NULL;
}

/* Whether n bytes of text have a character that acts on a terminal. prose: line breaks, tabs,
 * joiners and a byte order mark are ordinary. */
static bool
has_control(const char *s, size_t n, bool prose, uint32_t *found)
{
	size_t len;
	uint32_t c = 0;

	for (; n > 0; s += len, n -= len) {
		len = text_character(s, n, &c);
		if (len == 0 || !text_dangerous(c)) {
			len = len ? len : 1;
			continue;
		}
		if (prose && (c == '\n' || c == '\t' || c == '\r' || c == 0x200c || c == 0x200d ||
		              c == 0xfeff))
			continue;
		*found = c;
		return true;
	}
	return false;
}

static void
judge_name(const struct lint *l, const struct rule *r, const char *name, const char *what)
{
	uint32_t c;

	if (has_control(name, strlen(name), false, &c))
		findings_add(l->to, r, name, "the name of the %s has the character U+%04" PRIX32, what, c);
}

const char *
security_control(const struct lint *l, const struct rule *r)
{
	const struct model *m = l->s->source->plan;
	size_t i, n;
	uint32_t c;

	for (i = 0; i < m->tensor_count; i++)
		judge_name(l, r, tensor_name(m->tensors[i]), "tensor");
	for (i = 0; i < m->blob_count; i++)
		judge_name(l, r, m->blobs[i].name, "file");
	for (i = 0; i < m->meta_count; i++) {
		const struct meta *k = &m->meta[i];
		const char *text = k->wire ? value_string(k->type, k->wire, k->wire_bytes, &n) : NULL;

		judge_name(l, r, k->key, "key");
		if (text && n <= TEXT_SHORT && has_control(text, n, true, &c))
			findings_add(l->to, r, k->key, "has the character U+%04" PRIX32, c);
	}
	return NULL;
}

/* ---- chat templates ---- */

static void
judge_template(const struct lint *l, const struct rule *r, const char *object, const char *text,
               size_t n)
{
	struct template_sign sign;
	size_t at = 0;

	while (template_next(text, n, &at, &sign))
		findings_add(l->to, r, object, "the template %s: %s, at byte %zu", sign.what, sign.text,
		             sign.offset);
	if (n > TEMPLATE_LARGE)
		findings_add_at(l->to, r, FINDING_WARN, object, "the template has %zu bytes", n);
}

/* chat_template of tokenizer_config.json or chat_template.json: a text, or a list of objects with
 * name and template. */
static void
judge_templates(const struct lint *l, const struct rule *r, const char *object, const json_t *v)
{
	size_t i;

	if (json_is_object(v))
		v = json_object_get(v, "template");
	if (json_is_string(v))
		judge_template(l, r, object, json_string_value(v), json_string_length(v));
	for (i = 0; i < json_array_size(v); i++) {
		const json_t *one = json_object_get(json_array_get(v, i), "template");

		if (json_is_string(one))
			judge_template(l, r, object, json_string_value(one), json_string_length(one));
	}
}

static void
judge_json_file(const struct lint *l, const struct rule *r, const char *name)
{
	struct err e = ERR_INIT;
	json_t *o = subject_json(&l->s->subject, name, &e);

	if (e.code != ERR_NONE)
		findings_add_at(l->to, r, FINDING_WARN, name, "cannot be read: %s", e.fact);
	judge_templates(l, r, name, json_object_get(o, "chat_template"));
	json_decref(o);
}

const char *
security_template(const struct lint *l, const struct rule *r)
{
	const struct model *m = l->s->source->plan;
	size_t i, n, end;

	for (i = 0; i < m->meta_count; i++) {
		const char *text = strstr(m->meta[i].key, "chat_template")
		                       ? lint_text(l, m->meta[i].key, &n) : NULL;

		if (text)
			judge_template(l, r, m->meta[i].key, text, n);
	}
	for (i = 0; i < m->blob_count; i++) {
		const char *name = m->blobs[i].name;
		const uint8_t *p = weights_file(&l->s->subject.w, name, &n);

		end = strlen(name);
		if (p && end > 6 && strcmp(name + end - 6, ".jinja") == 0)
			judge_template(l, r, name, (const char *)p, n);
	}
	judge_json_file(l, r, "tokenizer_config.json");
	judge_json_file(l, r, "chat_template.json");
	return NULL;
}

/* ---- code ---- */

const char *
security_code(const struct lint *l, const struct rule *r)
{
	static const char *const ends[] = { ".py", ".pyc", ".so", ".dll", ".dylib", ".exe", ".sh",
		".bat", ".ps1", ".js", ".wasm", ".pkl", ".pickle" };
	const struct model *m = l->s->source->plan;
	size_t i, k;

	if (json_object_get(l->s->subject.config, "auto_map"))
		findings_add(l->to, r, "config.json", "auto_map names classes in Python files of the "
		             "model");
	for (i = 0; i < m->blob_count; i++)
		for (k = 0; k < sizeof ends / sizeof *ends; k++) {
			const char *name = m->blobs[i].name;
			size_t n = strlen(name), len = strlen(ends[k]);

			if (n > len && strcmp(name + n - len, ends[k]) == 0)
				findings_add(l->to, r, name, "is code that travels with the model");
		}
	return NULL;
}

/* ---- sizes ---- */

const char *
security_size(const struct lint *l, const struct rule *r)
{
	const struct model *m = l->s->source->plan;
	uint64_t file = l->s->file_bytes, bytes = model_tensor_bytes(m);
	size_t i;

	if (file == UINT64_MAX || file == 0)
		return "the size of the file is not known";
	/* Good compression of weights reaches a factor of 2; of zeros, more. */
	if (bytes / file >= 100)
		findings_add(l->to, r, NULL, "its tensors have %" PRIu64 " bytes, %" PRIu64
		             " times as many as the file", bytes, bytes / file);
	for (i = 0; i < m->blob_count; i++)
		if (m->blobs[i].bytes / file >= 100)
			findings_add(l->to, r, m->blobs[i].name, "has %" PRIu64 " bytes, %" PRIu64
			             " times as many as the file", m->blobs[i].bytes,
			             m->blobs[i].bytes / file);
	return NULL;
}

/* ---- signatures ---- */

const char *
security_claims(const struct lint *l, const struct rule *r)
{
	if (l->s->signature == SURVEY_UNSIGNED)
		return "the model is not signed";
	if (l->s->signature == SURVEY_SIGNED)
		findings_add(l->to, r, NULL, "the model carries a signature that was not verified");
	return NULL;
}

int
security_judge(const struct survey *s, struct findings *f, struct err *e)
{
	struct lint l = { .s = s, .to = f, .fd = -1 };
	const struct lint_rule *row;
	json_t *card;
	size_t i;

	if (survey_card(s, &card, e) < 0)
		return -1;
	l.card = card;
	for (i = 0; (row = security_rule(i)); i++)
		if (row->judge != security_hidden)
			row->judge(&l, &row->rule);
	json_decref(card);
	return findings_ok(f) ? 0 : err_memory(e);
}
