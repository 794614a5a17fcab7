#include <stdlib.h>
#include <string.h>

#include "adapt/tokens/tokens_folder.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "tokenizer/bytes.h"
#include "tokenizer/vocab.h"

/* ---- the list of tokens ---- */

/* The size of the vocabulary that config.json or the embeddings ask for. */
static int
size_of(struct tokens_folder *f, size_t have, uint64_t *size)
{
	uint64_t rows = f->o->rows;

	*size = rows ? rows : have;
	json_member_u64(f->s->config, "vocab_size", size);
	if (*size == 0)
		*size = have;
	if (f->flags & TOKENS_EIGHTS && num_align(*size, 8, size) < 0)
		*size = UINT64_MAX;
	if (rows && *size > rows)
		return err_set(f->e, ERR_CORRUPT, "config.json", "vocab_size is %llu, but the "
		               "embeddings have %llu rows", (unsigned long long)*size,
		               (unsigned long long)rows);
	if (rows > *size) /* a model has as many tokens as rows */
		*size = rows;
	if (*size > have && *size - have > TOKENS_HOLES)
		return err_set(f->e, ERR_CORRUPT, "config.json", "the vocabulary has %llu tokens, "
		               "but the tokenizer has %zu", (unsigned long long)*size, have);
	return 0;
}

int
tokens_open(struct tokens_folder *f, size_t have, bool drops, const char *what)
{
	uint64_t size;
	size_t i;

	if (size_of(f, have, &size) < 0)
		return -1;
	if (have > size && !drops)
		return err_set(f->e, ERR_CORRUPT, what, "has ids up to %zu, but the vocabulary has "
		               "%llu tokens", have - 1, (unsigned long long)size);
	if (have > size && f->s->note)
		f->s->note("the tokenizer has tokens beyond the embeddings, which are left out");
	if (mem_grow(&f->token, &f->cap, (size_t)size, sizeof *f->token) < 0)
		return err_memory(f->e);
	f->count = (size_t)size;
	for (i = 0; i < f->count; i++)
		f->token[i].score = TOKENS_SCORE_PADDING;
	return 0;
}

int
tokens_set(struct tokens_folder *f, size_t id, const char *text, size_t n, uint8_t kind,
           float score)
{
	struct tokens_token *t = &f->token[id];

	if (n > UINT32_MAX)
		return err_set(f->e, ERR_CORRUPT, f->s->w.name, "token %zu has %zu bytes", id, n);
	*t = (struct tokens_token){ f->pool.n, (uint32_t)n, score, kind };
	buf_put(&f->pool, text, n);
	return buf_ok(&f->pool) ? 0 : err_memory(f->e);
}

int
tokens_set_added(struct tokens_folder *f, size_t id, const char *text, size_t n,
                 bool control, float score)
{
	struct buf b = { 0 };
	const char *blank;
	int r;

	if (control)
		return tokens_set(f, id, text, n, TOKEN_CONTROL, score);
	for (; (blank = memmem(text, n, TOKENS_BLANK, 3)) != NULL; text = blank + 3) {
		buf_put(&b, text, (size_t)(blank - text));
		buf_u8(&b, ' ');
		n -= (size_t)(blank - text) + 3;
	}
	buf_put(&b, text, n);
	r = buf_ok(&b) ? tokens_set(f, id, (char *)b.p, b.n, TOKEN_USER, score)
	               : err_memory(f->e);
	buf_free(&b);
	return r;
}

static bool
is_between(const char *text, size_t n, const char *first, const char *last)
{
	size_t a = strlen(first), b = strlen(last);

	return n >= a && n >= b && memcmp(text, first, a) == 0 &&
	       memcmp(text + n - b, last, b) == 0;
}

/* Models mark these as ordinary tokens. */
bool
tokens_look_special(const char *text, size_t n)
{
	static const char *const whole[] = { "<pad>", "<mask>", "<2mass>", "[@BOS@]" };
	size_t i;

	for (i = 0; i < sizeof whole / sizeof *whole; i++)
		if (strlen(whole[i]) == n && memcmp(whole[i], text, n) == 0)
			return true;
	return is_between(text, n, "<|", "|>") ||
	       is_between(text, n, "<\xef\xbd\x9c", "\xef\xbd\x9c>") ||
	       is_between(text, n, "<unused", ">");
}

int
tokens_id(const json_t *v, const char *what, uint64_t *id, struct err *e)
{
	if (!json_is_integer(v) || json_value_u64(v, id) < 0)
		return err_set(e, ERR_CORRUPT, what, "the id of a token is not a number");
	return 0;
}

/* ---- names of roles ---- */

/* Append the text of a role, which may be an object. */
static int
add_text(json_t *named, const json_t *v)
{
	if (json_is_object(v))
		v = json_object_get(v, "content");
	return json_is_string(v) ? json_object_set_new(named, json_string_value(v), json_true()) : 0;
}

static int
add_named(json_t *named, const json_t *o)
{
	static const char *const roles[] = { "bos_token", "eos_token", "unk_token", "sep_token",
		                             "pad_token", "cls_token", "mask_token" };
	const json_t *more = json_object_get(o, "additional_special_tokens");
	size_t i;
	int r = 0;

	for (i = 0; i < sizeof roles / sizeof *roles; i++)
		r |= add_text(named, json_object_get(o, roles[i]));
	for (i = 0; i < json_array_size(more); i++)
		r |= add_text(named, json_array_get(more, i));
	return r;
}

int
tokens_name(struct tokens_folder *f)
{
	f->named = json_object();
	return f->named && add_named(f->named, f->config) == 0 && add_named(f->named, f->map) == 0
	           ? 0 : err_memory(f->e);
}

/* Roles that the classes of the transformers library give without a file that says so. */
static bool
is_named_by_class(const struct tokens_folder *f, const char *text)
{
	static const struct { enum tokens_kind kind; const char *role, *text; } known[] = {
		{ TOKENS_FALLBACK, "unk_token", "<unk>" }, { TOKENS_FALLBACK, "bos_token", "<s>" },
		{ TOKENS_FALLBACK, "eos_token", "</s>" }, { TOKENS_WORDS, "unk_token", "[UNK]" },
		{ TOKENS_WORDS, "sep_token", "[SEP]" }, { TOKENS_WORDS, "pad_token", "[PAD]" },
		{ TOKENS_WORDS, "cls_token", "[CLS]" }, { TOKENS_WORDS, "mask_token", "[MASK]" },
		{ TOKENS_BYTES, "eos_token", "<|endoftext|>" }
	};
	size_t i;

	for (i = 0; i < sizeof known / sizeof *known; i++)
		if (f->kind == known[i].kind && strcmp(known[i].text, text) == 0 &&
		    !json_object_get(f->config, known[i].role))
			return true;
	return false;
}

bool
tokens_named(const struct tokens_folder *f, const char *text)
{
	return json_object_get(f->named, text) || is_named_by_class(f, text);
}

/* ---- tokenizer.json, vocab.json, vocab.txt ---- */

struct entry {
	const char *text;
	size_t bytes;
	bool is, added, special, raw; /* raw: the text is found before it is normalized */
};

struct entries {
	struct entry *p;
	size_t n, cap;
	size_t tokens; /* in the files */
};

static int
enter(struct tokens_folder *f, struct entries *all, uint64_t id, const char *text, size_t n,
      const char *what, struct entry **to)
{
	if (id > all->tokens + TOKENS_HOLES)
		return err_set(f->e, ERR_CORRUPT, what, "token id %llu is far beyond the number of "
		               "tokens", (unsigned long long)id);
	if (all->n <= id) {
		if (mem_grow(&all->p, &all->cap, (size_t)id + 1, sizeof *all->p) < 0)
			return err_memory(f->e);
		all->n = (size_t)id + 1;
	}
	*to = &all->p[id];
	if ((*to)->is && ((*to)->bytes != n || memcmp((*to)->text, text, n) != 0))
		return err_set(f->e, ERR_CORRUPT, what, "the tokens %.60s and %.60s have the id %llu",
		               (*to)->text, text, (unsigned long long)id);
	(*to)->text = text;
	(*to)->bytes = n;
	(*to)->is = true;
	return 0;
}

static int
enter_object(struct tokens_folder *f, struct entries *all, json_t *vocab, const char *what)
{
	struct entry *entry;
	const char *text;
	uint64_t id;
	json_t *v;

	json_object_foreach(vocab, text, v)
		if (tokens_id(v, what, &id, f->e) < 0 ||
		    enter(f, all, id, text, strlen(text), what, &entry) < 0)
			return -1;
	return 0;
}

/* An object of added_tokens, or of added_tokens_decoder. */
static int
enter_added(struct tokens_folder *f, struct entries *all, uint64_t id, const json_t *o,
            const char *what)
{
	const json_t *text = json_object_get(o, "content");
	const json_t *special = json_object_get(o, "special");
	const json_t *normalized = json_object_get(o, "normalized");
	struct entry *entry;

	if (!json_is_string(text))
		return err_set(f->e, ERR_CORRUPT, what, "an added token has no content");
	if (enter(f, all, id, json_string_value(text), json_string_length(text), what,
	          &entry) < 0)
		return -1;
	entry->added = true;
	entry->special = json_is_true(special);
	entry->raw = normalized ? !json_is_true(normalized) : entry->special;
	return 0;
}

static int
enter_list(struct tokens_folder *f, struct entries *all)
{
	const json_t *list = json_object_get(f->file, "added_tokens");
	uint64_t id;
	size_t i;

	if (list && !json_is_null(list) && !json_is_array(list))
		return err_set(f->e, ERR_CORRUPT, "tokenizer.json", "added_tokens is not a list");
	for (i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);

		if (tokens_id(json_object_get(o, "id"), "tokenizer.json", &id, f->e) < 0 ||
		    enter_added(f, all, id, o, "tokenizer.json") < 0)
			return -1;
	}
	return 0;
}

static int
enter_decoder(struct tokens_folder *f, struct entries *all)
{
	json_t *decoder = json_object_get(f->config, "added_tokens_decoder"), *o;
	const char *text;
	uint64_t id;

	if (decoder && !json_is_null(decoder) && !json_is_object(decoder))
		return err_set(f->e, ERR_CORRUPT, "tokenizer_config.json",
		               "added_tokens_decoder is not an object");
	json_object_foreach(decoder, text, o) {
		if (text_u64(text, 0, UINT32_MAX, &id) < 0)
			return err_set(f->e, ERR_CORRUPT, "tokenizer_config.json",
			               "added_tokens_decoder: %.60s is not the id of a token", text);
		if (enter_added(f, all, id, o, "tokenizer_config.json") < 0)
			return -1;
	}
	return 0;
}

/* Without tokenizer.json: added_tokens.json, and roles make tokens special. */
static int
enter_old(struct tokens_folder *f, struct entries *all, json_t *added)
{
	size_t i;

	if (added && enter_object(f, all, added, "added_tokens.json") < 0)
		return -1;
	for (i = 0; i < all->n; i++) {
		struct entry *t = &all->p[i];

		if (!t->is || t->added)
			continue;
		t->special = tokens_named(f, t->text);
		t->added = t->special || (added && json_object_get(added, t->text));
	}
	return 0;
}

/* Whether a text consists of the letters of bytes, and bytes that are UTF-8; then b has
 * them. Such a token writes these bytes. */
static bool
spells_bytes(const struct entry *x, struct buf *b)
{
	buf_clear(b);
	return bytes_of_letters((const uint8_t *)x->text, x->bytes, b) &&
	       text_utf8(b->p, b->n, false);
}

static int
set_word(struct tokens_folder *f, size_t id, const struct entry *x, bool control,
         struct buf *b)
{
	uint8_t kind = x->added ? TOKEN_USER : TOKEN_NORMAL;

	if (control)
		return tokens_set(f, id, x->text, x->bytes, TOKEN_CONTROL, 0);
	if (x->bytes >= 2 && memcmp(x->text, "##", 2) == 0)
		return tokens_set(f, id, x->text + 2, x->bytes - 2, kind, 0);
	buf_clear(b);
	buf_text(b, TOKENS_BLANK);
	buf_put(b, x->text, x->bytes);
	if (!buf_ok(b))
		return err_memory(f->e);
	return tokens_set(f, id, (char *)b->p, b->n, kind, 0);
}

static bool
is_byte(const char *text, size_t n)
{
	return n == 6 && memcmp(text, "<0x", 3) == 0 && text[5] == '>' &&
	       strspn(text + 3, "0123456789ABCDEFabcdef") == 2;
}

/* SentencePiece's BPE in tokenizer.json: scores are not known. A token beyond the vocabulary
 * proper is control only if it has a role. */
static int
set_fallback(struct tokens_folder *f, size_t id, const struct entry *x, size_t base)
{
	uint8_t kind = tokens_named(f, x->text)   ? TOKEN_CONTROL
	               : x->added && id >= base   ? TOKEN_USER
	               : is_byte(x->text, x->bytes) ? TOKEN_BYTE : TOKEN_NORMAL;

	return tokens_set(f, id, x->text, x->bytes, kind, TOKENS_SCORE_ADDED);
}

static int
set_entry(struct tokens_folder *f, size_t id, const struct entry *x, size_t base,
          struct buf *b)
{
	bool control = x->added && (x->special || tokens_look_special(x->text, x->bytes));

	if (f->kind == TOKENS_FALLBACK)
		return set_fallback(f, id, x, base);
	if (f->kind == TOKENS_WORDS)
		return set_word(f, id, x, control, b);
	if (!x->added)
		return tokens_set(f, id, x->text, x->bytes, TOKEN_NORMAL, 0);
	if (x->raw && spells_bytes(x, b))
		return tokens_set_added(f, id, (char *)b->p, b->n, control, 0);
	return tokens_set_added(f, id, x->text, x->bytes, control, 0);
}

static int
set_entries(struct tokens_folder *f, const struct entries *all, size_t base,
            const char *what)
{
	struct buf b = { 0 };
	size_t i;
	int r = tokens_open(f, all->n, false, what);

	for (i = 0; i < all->n && r == 0; i++)
		if (all->p[i].is)
			r = set_entry(f, i, &all->p[i], base, &b);
	buf_free(&b);
	return r;
}

/* The lines of vocab.txt, with their numbers. */
static json_t *
read_lines(struct tokens_folder *f, const char *name)
{
	size_t n, i, length;
	const char *text = (const char *)weights_file(&f->s->w, name, &n);
	json_t *vocab = json_object();

	for (i = 0; vocab && n > 0; i++) {
		const char *end = memchr(text, '\n', n);
		char *copy;

		length = end ? (size_t)(end - text) : n;
		copy = mem_text(text, length && text[length - 1] == '\r' ? length - 1 : length);
		if (!copy || json_object_set_new(vocab, copy, json_integer((json_int_t)i)) < 0) {
			if (copy && !text_utf8(text, length, false))
				err_set(f->e, ERR_CORRUPT, name, "line %zu is not UTF-8", i + 1);
			json_decref(vocab);
			vocab = NULL;
		}
		free(copy);
		length += end != NULL;
		text += length;
		n -= length;
	}
	if (!vocab)
		err_memory(f->e);
	return vocab;
}

/* The vocabulary proper, as a new reference. */
static json_t *
open_vocab(struct tokens_folder *f, const char **what)
{
	json_t *vocab = json_object_get(json_object_get(f->file, "model"), "vocab");

	*what = f->file ? "tokenizer.json" : f->kind == TOKENS_WORDS ? "vocab.txt"
	                                                               : "vocab.json";
	vocab = f->file                   ? json_incref(vocab)
	        : f->kind == TOKENS_WORDS ? read_lines(f, *what)
	                                  : subject_json(f->s, *what, f->e);
	if (f->e->code == ERR_NONE && (!json_is_object(vocab) || json_object_size(vocab) == 0))
		err_set(f->e, ERR_CORRUPT, *what, "has no vocabulary");
	if (f->e->code == ERR_NONE)
		return vocab;
	json_decref(vocab);
	return NULL;
}

int
tokens_read_vocabulary(struct tokens_folder *f)
{
	const char *what;
	json_t *vocab = open_vocab(f, &what), *added = NULL;
	struct entries all = { 0 };
	int r = vocab ? 0 : -1;

	if (r == 0 && !f->file)
		added = subject_json(f->s, "added_tokens.json", f->e);
	if (f->e->code != ERR_NONE)
		r = -1;
	all.tokens = json_object_size(vocab) + json_object_size(added) +
	             json_array_size(json_object_get(f->file, "added_tokens"));
	if (r == 0)
		r = enter_object(f, &all, vocab, what);
	if (r == 0 && f->file)
		r = enter_list(f, &all);
	if (r == 0)
		r = enter_decoder(f, &all);
	if (r == 0 && !f->file)
		r = enter_old(f, &all, added);
	if (r == 0)
		r = set_entries(f, &all, json_object_size(vocab), what);
	json_decref(vocab);
	json_decref(added);
	free(all.p);
	return r;
}
