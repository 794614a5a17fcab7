#include "adapt/tokens/tokens_keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/tokens/tokens_folder.h"
#include "core/mem.h"
#include "core/reader.h"
#include "core/text.h"
#include "tokenizer/charsmap.h"

#define LONGEST 1048576 /* bytes of a token */

/* ---- single keys ---- */

/* 1 with the value; 0: the key does not exist; -1: it has another type. */
static int
key_value(const struct tokens_keys *k, const char *key, struct value_type wants,
          const uint8_t **p, size_t *n)
{
	struct value_type type;
	char has[VALUE_TYPE_TEXT], text[VALUE_TYPE_TEXT];

	*p = weights_value(&k->s->w, key, &type, n);
	if (!*p)
		return 0;
	if (type.depth == wants.depth && type.leaf == wants.leaf)
		return 1;
	return err_set(k->e, ERR_CORRUPT, key, "is of type %s, not %s",
	               value_type_text(type, has), value_type_text(wants, text));
}

static int
key_bool(const struct tokens_keys *k, const char *key, int otherwise, int *yes)
{
	const uint8_t *p;
	size_t n;
	int r = key_value(k, key, (struct value_type){ 0, VALUE_BOOL }, &p, &n);

	*yes = r > 0 ? *p != 0 : otherwise;
	return r < 0 ? -1 : 0;
}

/* An id that is not a token is passed over, as readers of GGUF do. */
static uint32_t
key_id(const struct tokens_keys *k, const char *key)
{
	uint64_t id;

	if (model_u64(k->s->w.plan, key, &id) < 0 || id >= k->v.count)
		return TOKEN_NONE;
	return (uint32_t)id;
}

static const char *
key_text(const struct tokens_keys *k, const char *key)
{
	return model_text(k->s->w.plan, key);
}

/* ---- lists ---- */

static int
key_list(const struct tokens_keys *k, const char *key, enum value_kind leaf,
         struct reader *r, uint64_t *count)
{
	const uint8_t *p;
	size_t n;
	int got = key_value(k, key, (struct value_type){ 1, (uint8_t)leaf }, &p, &n);

	if (got <= 0)
		return got;
	reader_memory(r, p, n, key, k->e);
	reader_u32(r);
	*count = reader_u64(r);
	return r->failed ? -1 : 1;
}

static int
open_lists(struct tokens_keys *k, struct reader lists[3], int has[3], uint64_t *count)
{
	static const struct { const char *key; enum value_kind leaf; } keys[] = {
		{ TOKENS_KEY "tokens", VALUE_STRING }, { TOKENS_KEY "token_type", VALUE_I32 },
		{ TOKENS_KEY "scores", VALUE_F32 }
	};
	uint64_t n[3];
	size_t i;

	for (i = 0; i < 3; i++) {
		has[i] = key_list(k, keys[i].key, keys[i].leaf, &lists[i], &n[i]);
		if (has[i] < 0)
			return -1;
		if (has[i] && n[i] != n[0])
			return err_set(k->e, ERR_CORRUPT, keys[i].key, "%llu items for %llu tokens",
			               (unsigned long long)n[i], (unsigned long long)n[0]);
		if (!has[0])
			return err_set(k->e, ERR_CORRUPT, k->s->w.name, "has no " TOKENS_KEY "tokens");
	}
	if (!has[2] && (k->model == TOKENS_SPM || k->model == TOKENS_T5))
		return err_set(k->e, ERR_CORRUPT, k->s->w.name, "has no " TOKENS_KEY "scores");
	*count = n[0];
	return n[0] > 0 ? 0 : err_set(k->e, ERR_CORRUPT, TOKENS_KEY "tokens", "is empty");
}

static int
add_token(struct tokens_keys *k, uint64_t i, const uint8_t *p, size_t n, uint32_t kind,
          uint32_t bits)
{
	float score;

	memcpy(&score, &bits, sizeof score);
	if (kind > TOKEN_BYTE)
		return err_set(k->e, ERR_CORRUPT, TOKENS_KEY "token_type", "token %llu is of type %d",
		               (unsigned long long)i, (int)kind);
	if (!isfinite(score))
		return err_set(k->e, ERR_CORRUPT, TOKENS_KEY "scores",
		               "the score of token %llu is not a number", (unsigned long long)i);
	if (!text_utf8(p, n, false))
		return err_set(k->e, ERR_FORMAT, TOKENS_KEY "tokens", "token %llu is not UTF-8 text, "
		               "which tokenizer.json cannot hold", (unsigned long long)i);
	if (vocab_add(&k->v, p, n, kind ? kind : TOKEN_UNUSED, score, k->e) < 0)
		return -1;
	if (kind == TOKEN_CONTROL || kind == TOKEN_USER || kind == TOKEN_UNKNOWN)
		k->v.token[i].flags |= TOKEN_ADDED;
	return 0;
}

static int
read_tokens(struct tokens_keys *k)
{
	struct reader list[3];
	uint64_t count = 0, i, n;
	int has[3];

	if (open_lists(k, list, has, &count) < 0)
		return -1;
	for (i = 0; i < count; i++) {
		uint32_t kind = has[1] ? reader_u32(&list[1]) : TOKEN_NORMAL;
		uint32_t bits = has[2] ? reader_u32(&list[2]) : 0;
		const uint8_t *p;

		n = reader_u64(&list[0]);
		if (n > LONGEST)
			return err_set(k->e, ERR_CORRUPT, TOKENS_KEY "tokens", "token %llu has %llu bytes",
			               (unsigned long long)i, (unsigned long long)n);
		p = reader_take(&list[0], (size_t)n);
		if (list[0].failed || (has[1] && list[1].failed) || (has[2] && list[2].failed) ||
		    add_token(k, i, p, (size_t)n, kind, bits) < 0)
			return -1;
	}
	return vocab_index(&k->v, TOKENS_KEY "tokens", k->e);
}

/* ---- roles and flags ---- */

/* An id without a key: in WordPiece, the token with the usual name; else the usual id. */
static uint32_t
or_default(struct tokens_keys *k, uint32_t id, const char *name, uint32_t otherwise)
{
	if (id == TOKEN_NONE && k->model == TOKENS_BERT)
		id = vocab_find(&k->v, name, strlen(name));
	if (id == TOKEN_NONE && otherwise < k->v.count)
		id = otherwise;
	return id;
}

static void
read_roles(struct tokens_keys *k)
{
	static const char *const keys[] = { TOKENS_KEY "bos_token_id", TOKENS_KEY "eos_token_id",
		TOKENS_KEY "unknown_token_id", TOKENS_KEY "seperator_token_id",
		TOKENS_KEY "padding_token_id", TOKENS_KEY "cls_token_id",
		TOKENS_KEY "mask_token_id" };
	/* Ids that hold without a key: BOS, EOS or SEP, UNK. */
	static const uint32_t otherwise[][3] = { { TOKEN_NONE, TOKEN_NONE, TOKEN_NONE },
		{ 1, 2, 0 }, { 101, 102, 100 }, { TOKEN_NONE, 1, 2 } };
	const uint32_t *ids = otherwise[k->model];
	uint32_t eos;
	size_t i;

	for (i = 0; i < ROLE_TOKENS; i++) {
		k->role[i] = key_id(k, keys[i]);
		if (k->role[i] != TOKEN_NONE)
			k->v.token[k->role[i]].flags |= TOKEN_ADDED;
	}
	eos = k->role[k->model == TOKENS_BERT ? ROLE_TOKEN_SEP : ROLE_TOKEN_EOS];
	k->bos = k->role[ROLE_TOKEN_BOS];
	if (k->bos == TOKEN_NONE && k->model == TOKENS_BERT)
		k->bos = k->role[ROLE_TOKEN_CLS];
	k->bos = or_default(k, k->bos, "[CLS]", ids[0]);
	k->eos = or_default(k, eos, "[SEP]", ids[1]);
	k->unk = or_default(k, k->role[ROLE_TOKEN_UNK], "[UNK]", ids[2]);
	/* WordPiece finds its tokens by their spelling. */
	if (k->model == TOKENS_BERT && k->unk != TOKEN_NONE)
		k->v.token[k->unk].flags |= TOKEN_ADDED;
}

static int
read_flags(struct tokens_keys *k)
{
	bool bos = k->model == TOKENS_SPM || (k->pre && k->pre->flags & PRE_BOS);
	int prefix, extra, lower;

	if (key_bool(k, TOKENS_KEY "add_bos_token", -1, &k->add_bos) < 0 ||
	    key_bool(k, TOKENS_KEY "add_eos_token", -1, &k->add_eos) < 0 ||
	    key_bool(k, TOKENS_KEY "add_sep_token", -1, &k->add_sep) < 0 ||
	    key_bool(k, TOKENS_KEY "add_space_prefix", -1, &prefix) < 0 ||
	    key_bool(k, TOKENS_KEY "remove_extra_whitespaces", 0, &extra) < 0 ||
	    key_bool(k, TOKENS_KEY "normalizer.lowercase", 1, &lower) < 0 ||
	    key_bool(k, TOKENS_KEY "normalizer.strip_accents", -1, &k->accents) < 0)
		return -1;
	k->puts_bos = k->add_bos < 0 ? bos : k->add_bos;
	k->puts_eos = k->add_eos < 0 ? k->model == TOKENS_T5 : k->add_eos;
	if (k->model == TOKENS_BERT)
		k->puts_bos = k->puts_eos = true;
	k->puts_bos = k->puts_bos && k->bos != TOKEN_NONE;
	k->puts_eos = k->puts_eos && k->eos != TOKEN_NONE;
	k->has_prefix = prefix >= 0;
	k->prefix = prefix != 0;
	k->extra = extra;
	k->lower = lower;
	return 0;
}

static int
read_map(struct tokens_keys *k)
{
	struct reader r;
	uint64_t n;
	int got = key_list(k, TOKENS_KEY "precompiled_charsmap", VALUE_U8, &r, &n);

	if (got <= 0)
		return got;
	if (n != reader_left(&r))
		return err_set(k->e, ERR_CORRUPT, TOKENS_KEY "precompiled_charsmap", "is cut off");
	k->map = r.window + r.at;
	k->map_bytes = (size_t)n;
	return n > 0 ? charsmap_check(k->map, k->map_bytes, TOKENS_KEY "precompiled_charsmap", k->e)
	             : 0;
}

static int
read_names(struct tokens_keys *k, const char *model)
{
	static const char *const models[] = { "gpt2", "llama", "bert", "t5" };
	size_t i;

	for (i = 0; i < 4 && strcmp(models[i], model) != 0; i++)
		;
	if (i == 4)
		return err_set(k->e, ERR_FORMAT, k->s->w.name, "tokenizer %s is not supported", model);
	k->model = (enum tokens_model)i;
	k->pre_name = key_text(k, TOKENS_KEY "pre");
	if (k->model != TOKENS_GPT2)
		return 0;
	if (!k->pre_name)
		k->pre_name = "default";
	k->pre = pre_find(k->pre_name);
	if (!k->pre)
		return err_set(k->e, ERR_FORMAT, k->s->w.name, "pre-tokenizer %s is not supported",
		               k->pre_name);
	return 0;
}

int
tokens_keys_open(struct tokens_keys *k, const struct subject *s, struct err *e)
{
	const char *model = model_text(s->w.plan, TOKENS_KEY "model");

	*k = (struct tokens_keys){ .s = s, .e = e };
	if (!model || strcmp(model, "none") == 0 || strcmp(model, "no_vocab") == 0)
		return 0;
	if (read_names(k, model) < 0 || read_tokens(k) < 0)
		return -1;
	read_roles(k);
	if (read_flags(k) < 0 || read_map(k) < 0)
		return -1;
	return 1;
}

void
tokens_keys_close(struct tokens_keys *k)
{
	free(k->added);
	vocab_free(&k->v);
}

/* ---- the record of a folder ---- */

/* Whether a token of the record has the text of the keys, apart from U+2581 in place of
 * spaces. */
static bool
is_same_text(const struct tokens_keys *k, uint64_t id, const char *s)
{
	struct buf b = { 0 };
	const char *t = tokens_spell(k, id, &b), *blank = TOKENS_BLANK;
	bool r = t != NULL;

	for (; r && *t; t++) {
		if (*t == ' ' && strncmp(s, blank, 3) == 0)
			s += 3;
		else
			r = *s++ == *t;
	}
	r = r && *s == 0;
	buf_free(&b);
	return r;
}

/* The list holds if each token in it is one of the keys, once, or has an id that the keys
 * have no token for. */
static int
take_added(struct tokens_keys *k, const json_t *list)
{
	const json_t **added;
	uint64_t id;
	size_t i;

	if (!json_is_array(list))
		return 0;
	added = mem_array(k->v.count, sizeof *added);
	if (!added)
		return err_memory(k->e);
	for (i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i), *v = json_object_get(o, "id");
		const char *text = json_string_value(json_object_get(o, "content"));

		if (!json_is_integer(v) || json_value_u64(v, &id) < 0 || id >= k->v.count || !text ||
		    added[id] || !(tokens_is_padding(k, id) || is_same_text(k, id, text))) {
			free(added);
			return 0;
		}
		added[id] = o;
	}
	k->added = added;
	return 0;
}

/* Pieces of SentencePiece are spelt as in the files: merges depend on it. Not if two are then
 * the same. */
static int
respell(struct tokens_keys *k)
{
	struct vocab v = { 0 };
	struct err twice = ERR_INIT;
	struct buf b = { 0 };
	size_t i;
	int r = 0;

	for (i = 0; i < k->v.count && r == 0; i++) {
		const struct token *t = &k->v.token[i];

		r = tokens_spell(k, i, &b)
		        ? vocab_add(&v, b.p, b.n, (enum token_kind)t->kind, t->score, k->e) : -1;
		if (r == 0)
			v.token[i].flags = t->flags;
	}
	buf_free(&b);
	if (r == 0 && vocab_index(&v, TOKENS_KEY "tokens", &twice) < 0) {
		free(k->added);
		k->added = NULL;
		vocab_free(&v);
	} else if (r == 0) {
		vocab_free(&k->v);
		k->v = v;
	} else {
		vocab_free(&v);
	}
	return r;
}

int
tokens_keys_take(struct tokens_keys *k, const json_t *origin)
{
	const json_t *file = json_object_get(origin, "file");
	const json_t *config = json_object_get(origin, "config");
	const json_t *names = json_object_get(origin, "map");

	k->file = json_is_object(file) ? file : NULL;
	k->config = json_is_object(config) ? config : NULL;
	k->names = json_is_object(names) ? names : NULL;
	if (take_added(k, json_object_get(k->file, "added_tokens")) < 0)
		return -1;
	return k->added && k->model == TOKENS_SPM ? respell(k) : 0;
}

/* ---- tokens ---- */

bool
tokens_is_added(const struct tokens_keys *k, size_t id)
{
	return k->added ? k->added[id] != NULL : k->v.token[id].flags & TOKEN_ADDED;
}


bool
tokens_is_padding(const struct tokens_keys *k, size_t id)
{
	const struct token *t = &k->v.token[id];
	const char *text = (const char *)vocab_text(&k->v, (uint32_t)id);

	if (k->model == TOKENS_BERT && t->text_bytes > 3 && memcmp(text, TOKENS_BLANK, 3) == 0)
		text += 3;
	return t->kind == TOKEN_UNUSED && t->text_bytes > 5 && memcmp(text, "[PAD", 4) == 0;
}

const char *
tokens_spell(const struct tokens_keys *k, size_t id, struct buf *b)
{
	const struct token *t = &k->v.token[id];
	const uint8_t *text = vocab_text(&k->v, (uint32_t)id);
	size_t n = t->text_bytes;
	const json_t *own = k->added && k->added[id] ? json_object_get(k->added[id], "content")
	                                             : NULL;

	buf_clear(b);
	if (own) {
		text = (const uint8_t *)json_string_value(own);
		n = json_string_length(own);
	} else if (k->model == TOKENS_BERT && t->kind != TOKEN_CONTROL) {
		if (n >= 3 && memcmp(text, TOKENS_BLANK, 3) == 0) {
			text += 3;
			n -= 3;
		} else {
			buf_text(b, "##");
		}
	}
	buf_put(b, text, n);
	if (!buf_string(b))
		err_memory(k->e);
	return buf_string(b);
}
