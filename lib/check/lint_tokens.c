#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "arch/guess.h"
#include "check/lint_parts.h"
#include "core/text.h"
#include "tokenizer/pre.h"

#define CONTEXT_MOST ((uint64_t)1 << 27) /* positions; the longest known model has 10^7 */

/* The number of tokens, as the vocabulary or the configuration says; 0: not known. */
static uint64_t
vocabulary(const struct lint *l)
{
	const struct meta *k = model_find(l->s->source->plan, "tokenizer.ggml.tokens");
	uint64_t n = 0;

	if (k)
		return lint_items(l, k, false);
	return survey_key(l->s, "vocab_size", &n) == 0 ? n : 0;
}

static bool
has_file(const struct lint *l, const char *const *names)
{
	size_t n;

	for (; *names; names++)
		if (weights_file(&l->s->subject.w, *names, &n))
			return true;
	return false;
}

static bool
has_tokenizer(const struct lint *l)
{
	static const char *const files[] = { "tokenizer.json", "tokenizer.model", "vocab.json",
		"vocab.txt", "spiece.model", "tokenizer_config.json", NULL };

	return lint_has(l, "tokenizer.ggml.model") || lint_has(l, "tokenizer.ggml.tokens") ||
	       lint_has(l, "vocab") || lint_has(l, "tokenizer") || lint_has(l, "vocabulary") ||
	       lint_has(l, "tokenizer.vocabulary") || has_file(l, files);
}

const char *
lint_context(const struct lint *l, const struct rule *r)
{
	char arch[ARCH_NAME], key[ARCH_NAME + 32] = "max_position_embeddings";
	uint64_t n;

	if (arch_said_text(l->s->source->plan, arch) && l->s->subject.form == ARCH_GGUF)
		snprintf(key, sizeof key, "%s.context_length", arch);
	if (survey_key(l->s, key, &n) < 0)
		return "the model does not state a context length";
	if (n == 0 || n > CONTEXT_MOST)
		findings_add(l->to, r, key, "is %" PRIu64 ", which is not a possible length", n);
	return NULL;
}

static void
judge_id(const struct lint *l, const struct rule *r, const char *key, uint64_t id, uint64_t count)
{
	if (id >= count)
		findings_add(l->to, r, key, "is %" PRIu64 ", but the vocabulary has %" PRIu64 " tokens",
		             id, count);
}

const char *
lint_special(const struct lint *l, const struct rule *r)
{
	static const char *const members[] = { "bos_token_id", "eos_token_id", "pad_token_id",
		"decoder_start_token_id" };
	const struct model *m = l->s->source->plan;
	uint64_t count = vocabulary(l), id;
	size_t i, n;

	if (count == 0)
		return "the size of the vocabulary is not known";
	for (i = 0; i < m->meta_count; i++) {
		const char *key = m->meta[i].key;

		n = strlen(key);
		if (strncmp(key, "tokenizer.ggml.", 15) == 0 && n > 9 &&
		    strcmp(key + n - 9, "_token_id") == 0 && model_u64(m, key, &id) == 0)
			judge_id(l, r, key, id, count);
	}
	for (i = 0; l->s->subject.form == ARCH_FOLDER && i < sizeof members / sizeof *members; i++) {
		json_t *v = json_object_get(l->s->subject.config, members[i]);

		if (json_is_array(v))
			v = json_array_get(v, 0);
		if (json_is_integer(v) && json_integer_value(v) >= 0)
			judge_id(l, r, members[i], (uint64_t)json_integer_value(v), count);
	}
	return NULL;
}

static bool
embeds_tokens(const struct lint *l)
{
	size_t i;

	for (i = 0; i < l->s->count; i++)
		if (l->s->tensors[i].known && l->s->tensors[i].match.rule->role == ROLE_EMBED)
			return true;
	return false;
}

const char *
lint_tokenizer(const struct lint *l, const struct rule *r)
{
	if (!embeds_tokens(l))
		return "the model is not known to be a language model";
	if (!has_tokenizer(l))
		findings_add_at(l->to, r, lint_is(l, "gguf") ? r->level : FINDING_INFO, NULL,
		                "the model has no tokenizer");
	return NULL;
}

/* Whether the name of the model says that it is for chats. */
static const char *
chat_name(const struct lint *l)
{
	static const char *const fields[] = { "name", "finetune", "basename" };
	static const char *const words[] = { "instruct", "chat" };
	size_t i, k;

	for (i = 0; i < sizeof fields / sizeof *fields; i++) {
		const char *s = lint_card_text(l, fields[i]);

		for (k = 0; s && k < sizeof words / sizeof *words; k++)
			if (strcasestr(s, words[k]))
				return s;
	}
	return NULL;
}

const char *
lint_template(const struct lint *l, const struct rule *r)
{
	static const char *const files[] = { "chat_template.jinja", "chat_template.json", NULL };
	const char *name = chat_name(l);
	const uint8_t *config;
	char quoted[128];
	size_t n;

	if (!name)
		return "the name of the model does not say that it is for chats";
	config = weights_file(&l->s->subject.w, "tokenizer_config.json", &n);
	if (!lint_has(l, "tokenizer.chat_template") && !lint_has(l, "chat_template") &&
	    !has_file(l, files) && !(config && memmem(config, n, "\"chat_template\"", 15)))
		findings_add(l->to, r, lint_is(l, "gguf") ? "tokenizer.chat_template" : "chat_template",
		             "is missing, but the model is called %s",
		             text_quote(quoted, sizeof quoted, name, strlen(name)));
	return NULL;
}

const char *
lint_pre(const struct lint *l, const struct rule *r)
{
	static const char key[] = "tokenizer.ggml.pre";
	char name[64], quoted[128];
	const char *kind, *pre;
	size_t n;

	kind = lint_text(l, "tokenizer.ggml.model", &n);
	if (!kind || n != 4 || memcmp(kind, "gpt2", 4) != 0)
		return "only BPE of bytes in GGUF has a pre-tokenizer";
	pre = lint_text(l, key, &n);
	if (!pre || n == 0) {
		findings_add(l->to, r, key, "is missing, so programs use their default");
		return NULL;
	}
	snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : 0, pre);
	if (strcmp(name, "default") == 0)
		findings_add(l->to, r, key, "is \"default\": the converter did not know it");
	else if (!pre_find(name))
		findings_add_at(l->to, r, FINDING_INFO, key, "is %s, which these tools do not know",
		                text_quote(quoted, sizeof quoted, pre, n < 100 ? n : 100));
	return NULL;
}
