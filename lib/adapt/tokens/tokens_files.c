#include <string.h>

#include "adapt/tokens/tokens_folder.h"
#include "adapt/tokens/tokens_keys.h"
#include "tokenizer/sp_model.h"

/* Roles by the names of the files; in GGUF, CLS of BERT is BOS. */
static const char *const roles[ROLE_TOKENS] = { "bos_token", "eos_token", "unk_token",
	"sep_token", "pad_token", "cls_token", "mask_token" };

/* ---- roles ---- */

static bool
says(const json_t *o, const char *role, const char *text)
{
	const json_t *v = json_object_get(o, role);

	if (json_is_object(v))
		v = json_object_get(v, "content");
	return json_is_string(v) && strcmp(json_string_value(v), text) == 0;
}

/* Set the roles of the keys; a member that says the same stays as it is. A record has all
 * roles that its file had. */
static int
put_roles(const struct tokens_keys *k, json_t *o, bool record)
{
	struct buf b = { 0 };
	size_t i;
	int r = 0;

	for (i = 0; i < ROLE_TOKENS && r == 0; i++) {
		if (k->role[i] == TOKEN_NONE ||
		    (record && json_is_null(json_object_get(o, roles[i]))) ||
		    (record && !json_object_get(o, roles[i])))
			continue;
		if (!tokens_spell(k, k->role[i], &b))
			r = -1;
		else if (!says(o, roles[i], (char *)b.p))
			r = json_object_set_new(o, roles[i], json_stringn((char *)b.p, b.n));
	}
	if (r == 0 && !record && k->model == TOKENS_BERT && k->role[ROLE_TOKEN_CLS] == TOKEN_NONE &&
	    k->role[ROLE_TOKEN_BOS] != TOKEN_NONE)
		r = json_object_set(o, "cls_token", json_object_get(o, "bos_token"));
	buf_free(&b);
	return r < 0 ? err_memory(k->e) : 0;
}

/* ---- chat templates ---- */

/* The text of a key, as a value: a new reference, or NULL, also if it is not UTF-8, or if there is
 * no key. */
static json_t *
key_json(const struct tokens_keys *k, const struct meta *key)
{
	struct value_type type;
	size_t n;
	const uint8_t *p = key ? weights_meta(&k->s->w, key, &type, &n) : NULL;
	const char *s = p ? value_string(type, p, n, &n) : NULL;
	json_t *v = s ? json_stringn(s, n) : NULL;

	if (s && !v)
		err_set(k->e, ERR_CORRUPT, key->key, "is not UTF-8 text");
	return v;
}

#define NAMED "tokenizer.chat_template."

/* All templates: a text, or a list if there are named ones. New reference or NULL. */
static json_t *
templates(const struct tokens_keys *k)
{
	const struct model *plan = k->s->w.plan;
	json_t *text = key_json(k, model_find(plan, "tokenizer.chat_template")), *list = NULL;
	size_t i;

	for (i = 0; i < plan->meta_count; i++) {
		const char *key = plan->meta[i].key;
		json_t *named;

		if (strncmp(key, NAMED, strlen(NAMED)) != 0)
			continue;
		named = key_json(k, &plan->meta[i]);
		if (!named)
			continue;
		if (!list)
			list = text ? json_pack("[{s:s,s:o}]", "name", "default", "template", text)
			            : json_array();
		json_array_append_new(list, json_pack("{s:s,s:o}", "name", key + strlen(NAMED),
			"template", named));
	}
	return list ? list : text;
}

static int
add_template(const struct tokens_keys *k, json_t *o, struct subject_files *out)
{
	json_t *v = templates(k);
	struct buf b = { 0 };

	if (!v)
		return k->e->code == ERR_NONE ? 0 : -1;
	json_object_set_new(o, "chat_template", v);
	if (!json_is_string(v))
		return 0;
	buf_put(&b, json_string_value(v), json_string_length(v));
	return subject_add_file(out, "chat_template.jinja", &b, k->e);
}

/* ---- tokenizer_config.json ---- */

/* Scores of added tokens are not those of the model: only these are listed. */
static bool
is_listed(const struct tokens_keys *k, size_t id)
{
	const struct token *t = &k->v.token[id];
	bool scored = k->model == TOKENS_SPM || k->model == TOKENS_T5;

	return tokens_is_added(k, id) && !(scored && t->score != TOKENS_SCORE_ADDED);
}

static json_t *
added_decoder(const struct tokens_keys *k)
{
	json_t *all = json_object();
	char id[32];
	size_t i;

	for (i = 0; i < k->v.count; i++)
		if (is_listed(k, i)) {
			snprintf(id, sizeof id, "%zu", i);
			json_object_set_new(all, id, tokens_added(k, i));
		}
	return all;
}

/* The name of a pre-tokenizer that others share the patterns with stands in the file. */
static void
put_pre(const struct tokens_keys *k, json_t *o)
{
	char derived[64];
	json_t *pre;
	const char *name = k->model == TOKENS_BERT ? TOKENS_PRE_WORDS : TOKENS_PRE_SCORES;

	if (k->model == TOKENS_GPT2) {
		pre = tokens_patterns(k->pre);
		name = tokens_derived(k->s, pre, k->pre->flags & PRE_WHOLE_WORDS, derived);
		json_decref(pre);
	}
	if (k->pre_name && (!name || strcmp(name, k->pre_name) != 0))
		json_object_set_new(o, TOKENS_PRE_MEMBER, json_string(k->pre_name));
}

static void
put_lengths(const struct tokens_keys *k, json_t *o)
{
	const char *arch = model_text(k->s->w.plan, "general.architecture");
	char key[256];
	uint64_t n;

	snprintf(key, sizeof key, "%.200s.context_length", arch ? arch : "");
	if (model_u64(k->s->w.plan, key, &n) == 0 && n <= INT64_MAX)
		json_object_set_new(o, "model_max_length", json_integer((json_int_t)n));
}

static const char *
class_of(const struct tokens_keys *k)
{
	switch (k->model) {
	case TOKENS_SPM: return "LlamaTokenizer";
	case TOKENS_BERT: return "BertTokenizer";
	case TOKENS_T5: return k->role[ROLE_TOKEN_BOS] == TOKEN_NONE ? "T5Tokenizer"
	                                                             : "XLMRobertaTokenizer";
	default: return "PreTrainedTokenizerFast";
	}
}

/* What the keys say, without a record. */
static void
put_config(struct tokens_keys *k, json_t *o)
{
	if (k->add_bos >= 0 && k->model != TOKENS_BERT)
		json_object_set_new(o, "add_bos_token", json_boolean(k->add_bos));
	if (k->add_eos >= 0 && k->model != TOKENS_BERT)
		json_object_set_new(o, "add_eos_token", json_boolean(k->add_eos));
	if (k->has_prefix)
		json_object_set_new(o, "add_prefix_space", json_boolean(k->prefix));
	json_object_set_new(o, "added_tokens_decoder", json_null());
	json_object_set_new(o, "clean_up_tokenization_spaces", json_false());
	if (k->model == TOKENS_BERT)
		json_object_set_new(o, "do_lower_case", json_boolean(k->lower));
	if (k->model == TOKENS_SPM)
		json_object_set_new(o, "legacy", json_true());
	put_lengths(k, o);
	put_pre(k, o);
	json_object_set_new(o, "tokenizer_class", json_string(class_of(k)));
}

/* The record's, with what the keys say otherwise. */
static void
put_flags(struct tokens_keys *k, json_t *o)
{
	if (k->add_bos >= 0 && json_object_get(o, "add_bos_token"))
		json_object_set_new(o, "add_bos_token", json_boolean(k->add_bos));
	if (k->add_eos >= 0 && json_object_get(o, "add_eos_token"))
		json_object_set_new(o, "add_eos_token", json_boolean(k->add_eos));
	if (k->model == TOKENS_GPT2 && json_object_get(o, TOKENS_PRE_MEMBER))
		json_object_set_new(o, TOKENS_PRE_MEMBER, json_string(k->pre_name));
}

static int
add_config(struct tokens_keys *k, struct subject_files *out)
{
	json_t *o = k->config ? json_deep_copy(k->config) : json_object();

	if (!k->config)
		put_config(k, o);
	else
		put_flags(k, o);
	if (json_object_get(o, "added_tokens_decoder"))
		json_object_set_new(o, "added_tokens_decoder", added_decoder(k));
	if (put_roles(k, o, k->config) < 0 || add_template(k, o, out) < 0) {
		json_decref(o);
		return -1;
	}
	return subject_add_json(out, "tokenizer_config.json", o, k->e);
}

static int
add_map(struct tokens_keys *k, struct subject_files *out)
{
	json_t *o = k->names ? json_deep_copy(k->names) : json_object();

	if (put_roles(k, o, k->names) < 0 || json_object_size(o) == 0) {
		json_decref(o);
		return k->e->code == ERR_NONE ? 0 : -1;
	}
	return subject_add_json(out, "special_tokens_map.json", o, k->e);
}

/* ---- the SentencePiece model ---- */

/* Scores that are all the same came from a tokenizer.json, and say nothing. */
static bool
has_scores(const struct tokens_keys *k)
{
	size_t i, first = SIZE_MAX;

	for (i = 0; i < k->v.count; i++) {
		if (k->v.token[i].kind != TOKEN_NORMAL)
			continue;
		if (first == SIZE_MAX)
			first = i;
		if (k->v.token[i].score != k->v.token[first].score)
			return true;
	}
	return false;
}

static uint64_t
or_none(uint32_t id)
{
	return id == TOKEN_NONE ? SP_NONE : id;
}

/* All tokens up to the last one that is not padding are pieces, added tokens too. */
static int
add_pieces(struct tokens_keys *k, struct subject_files *out)
{
	struct sp_model m = { .type = k->model == TOKENS_T5 ? SP_UNIGRAM : SP_BPE,
		.unk = k->unk == TOKEN_NONE ? 0 : k->unk, .bos = or_none(k->bos),
		.eos = or_none(k->eos), .pad = or_none(k->role[ROLE_TOKEN_PAD]),
		.prefix = k->prefix, .extra = k->extra, .escapes = true, .map = k->map,
		.map_bytes = k->map_bytes };
	struct buf b = { 0 };
	size_t i, n = k->v.count;
	int r = 0;

	while (n > 0 && tokens_is_padding(k, n - 1))
		n--;
	for (i = 0; i < n && r == 0; i++) {
		const struct token *t = &k->v.token[i];
		struct sp_piece piece = { vocab_text(&k->v, (uint32_t)i), t->text_bytes, t->score,
		                          t->kind };

		r = sp_model_add(&m, piece, k->e);
	}
	if (r == 0)
		sp_model_write(&m, &b);
	sp_model_free(&m);
	if (r < 0)
		return -1;
	return subject_add_file(out, k->model == TOKENS_T5 ? "spiece.model" : "tokenizer.model",
	                        &b, k->e);
}

/* ---- the whole ---- */

static int
add_all(struct tokens_keys *k, struct subject_files *out)
{
	const char *type = k->s->arch ? k->s->arch->folder : NULL;
	struct buf b = { 0 };

	if (tokens_write_json(k, &b) < 0) {
		buf_free(&b);
		return -1;
	}
	if (subject_add_file(out, "tokenizer.json", &b, k->e) < 0 || add_config(k, out) < 0 ||
	    add_map(k, out) < 0)
		return -1;
	if ((k->model == TOKENS_SPM && has_scores(k)) ||
	    (k->model == TOKENS_T5 && type && strcmp(type, "t5") == 0))
		return add_pieces(k, out);
	return 0;
}

int
tokens_files(const struct subject *s, const json_t *origin, struct subject_files *out,
             struct err *e)
{
	struct tokens_keys k;
	int r = tokens_keys_open(&k, s, e);

	if (r > 0)
		r = tokens_keys_take(&k, origin) < 0 ? -1 : add_all(&k, out);
	tokens_keys_close(&k);
	return r < 0 ? -1 : 0;
}
