/* tokens: the tokenizer against itself: lengths of its lists, ids of special tokens, merges, and
 * the chat template. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check/jinja.h"
#include "check/judge.h"
#include "check/points.h"
#include "core/le.h"
#include "core/only.h"
#include "tokenizer/tokenizer.h"

enum { TOKENS_TEMPLATE };

const struct rule tokens_rules[] = {
	[TOKENS_TEMPLATE] = { "MODEL-TEMPLATE", FINDING_WARN, "the chat template can be parsed",
	                      "programs refuse the template or answer without it" },
	{ NULL, FINDING_INFO, NULL, NULL },
};

#define ARRAY_HEAD 12 /* u32 type of the items, u64 count */

/* The items of an array of the model: their number, and where the first is. 0 if the model
 * lacks the key. */
static uint64_t
array(const struct survey *s, const char *key, const uint8_t **items, size_t *bytes)
{
	struct value_type type;
	size_t n;
	const uint8_t *p = weights_value(&s->subject.w, key, &type, &n);

	if (!p || type.depth != 1 || n < ARRAY_HEAD)
		return 0;
	*items = p + ARRAY_HEAD;
	*bytes = n - ARRAY_HEAD;
	return le64(p + 4);
}

static void
judge_lists(const struct survey *s, uint64_t tokens, struct findings *f)
{
	static const char *const lists[] = { "tokenizer.ggml.scores", "tokenizer.ggml.token_type" };
	const uint8_t *p;
	size_t i, n;

	for (i = 0; i < sizeof lists / sizeof *lists; i++) {
		uint64_t count = array(s, lists[i], &p, &n);

		if (count && count != tokens)
			findings_add(f, point_rule(84), lists[i], "has %" PRIu64
			             " items, but there are %" PRIu64 " tokens", count, tokens);
	}
}

/* A merge is two tokens with a space between. */
static void
judge_merges(const struct survey *s, struct findings *f)
{
	const uint8_t *p;
	size_t left;
	uint64_t i, count = array(s, "tokenizer.ggml.merges", &p, &left);

	for (i = 0; i < count && left >= 8; i++) {
		const uint64_t n = le64(p);

		if (n > left - 8)
			return;
		if (n < 3 || !memchr(p + 9, ' ', (size_t)n - 2))
			findings_add(f, point_rule(84), "tokenizer.ggml.merges",
			             "merge %" PRIu64 " is not two tokens with a space between", i);
		p += 8 + n;
		left -= 8 + (size_t)n;
	}
}

static void
judge_id(const char *key, uint64_t id, uint64_t tokens, struct findings *f)
{
	if (id >= tokens && id != UINT32_MAX)
		findings_add(f, point_rule(85), key, "is %" PRIu64 ", but there are %" PRIu64
		             " tokens", id, tokens);
}

static void
judge_keys(const struct survey *s, uint64_t tokens, struct findings *f)
{
	const struct model *m = s->source->plan;
	const char *const head = "tokenizer.ggml.", *const tail = "_token_id";
	size_t i;

	for (i = 0; i < m->meta_count; i++) {
		const char *key = m->meta[i].key;
		const size_t n = strlen(key);
		uint64_t id;

		if (strncmp(key, head, strlen(head)) == 0 && n > strlen(tail) &&
		    strcmp(key + n - strlen(tail), tail) == 0 && model_u64(m, key, &id) == 0)
			judge_id(key, id, tokens, f);
	}
}

/* Ids of config.json and generation_config.json, each a number or a list. */
static void
judge_members(const json_t *config, uint64_t tokens, struct findings *f)
{
	static const char *const names[] = { "bos_token_id", "eos_token_id", "pad_token_id",
		"unk_token_id", "decoder_start_token_id" };
	size_t i, k;
	uint64_t id;

	for (i = 0; i < sizeof names / sizeof *names; i++) {
		const json_t *v = json_object_get(config, names[i]);

		if (json_is_integer(v) && json_value_u64(v, &id) == 0)
			judge_id(names[i], id, tokens, f);
		for (k = 0; k < json_array_size(v); k++)
			if (json_value_u64(json_array_get(v, k), &id) == 0)
				judge_id(names[i], id, tokens, f);
	}
}

static void
judge_folder(const struct survey *s, struct findings *f)
{
	struct err ignored = ERR_INIT;
	json_t *generation;
	uint64_t tokens;

	if (survey_key(s, "vocab_size", &tokens) < 0 || tokens == 0)
		return;
	judge_members(s->subject.config, tokens, f);
	generation = subject_json(&s->subject, "generation_config.json", &ignored);
	judge_members(generation, tokens, f);
	json_decref(generation);
}

static void
judge_template(const char *where, const char *text, size_t n, struct findings *f)
{
	const char *fact;
	size_t at;

	if (!jinja_check(text, n, &fact, &at))
		findings_add(f, &tokens_rules[TOKENS_TEMPLATE], where, "%s, at byte %zu", fact, at);
}

static void
judge_templates(const struct survey *s, struct findings *f)
{
	static const char *const key = "tokenizer.chat_template";
	struct err ignored = ERR_INIT;
	struct value_type type;
	const uint8_t *p;
	const char *text;
	json_t *config;
	size_t n;

	p = weights_value(&s->subject.w, key, &type, &n);
	if (p && type.depth == 0 && type.leaf == VALUE_STRING &&
	    (text = value_string(type, p, n, &n)))
		judge_template(key, text, n, f);
	if ((p = weights_file(&s->subject.w, "chat_template.jinja", &n)))
		judge_template("chat_template.jinja", (const char *)p, n, f);
	config = subject_json(&s->subject, "tokenizer_config.json", &ignored);
	if (json_member_text(config, "chat_template", &text) == 0)
		judge_template("tokenizer_config.json", text, strlen(text), f);
	json_decref(config);
}

/* What the tokenizer itself refuses. */
static void
judge_opening(const struct survey *s, struct findings *f)
{
	const struct tokenizer_options any = { .any = true };
	struct err e = ERR_INIT;
	struct tokenizer *t = tokenizer_of(&s->subject.w, &any, &e);

	tokenizer_free(t);
	if (!t && e.code == ERR_CORRUPT)
		findings_add(f, point_rule(84), e.object[0] ? e.object : NULL, "%s", e.fact);
	else if (!t && e.code == ERR_FORMAT)
		findings_add_at(f, point_rule(84), FINDING_INFO, NULL, "%s", e.fact);
}

int
tokens_judge(const struct survey *s, struct findings *f, struct err *e)
{
	const uint8_t *p;
	size_t n;
	uint64_t tokens = array(s, "tokenizer.ggml.tokens", &p, &n);

	(void)e;
	judge_templates(s, f);
	if (tokens) {
		judge_lists(s, tokens, f);
		judge_keys(s, tokens, f);
		judge_merges(s, f);
	} else if (s->subject.config) {
		judge_folder(s, f);
	}
	if (!ONLY_READS && !point_lacks(84, s) && findings_of(f, point_rule(84)) == 0 &&
	    findings_of(f, point_rule(85)) == 0)
		judge_opening(s, f);
	return 0;
}
