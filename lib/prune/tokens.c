#include "prune/tokens.h"

#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "merge/tokenizer_out.h"
#include "tokenizer/vocab.h"

#define KEY "tokenizer.ggml."
#define HEAD 12 /* bytes of an array before its items */
#define GONE VOCABULARY_LACKS

struct tokens_plan {
	struct prune_plan *p;
	struct vocabulary v;      /* of the result; v.words is that of the model, then that of the result */
	struct vocab texts;       /* to find tokens by their texts */
	bool *kept;
	uint32_t *id;             /* of each token in the result, or GONE */
	struct merge_ids {
		uint32_t left, right, result; /* GONE: not a token */
	} *merges;
	size_t merge_count;
	struct err *e;
};

/* ---- what stays by itself ---- */

static uint32_t
type_of(const struct word_list *w, size_t i)
{
	return w->types ? le32(w->types + 4 * i) : TOKEN_NORMAL;
}

/* Whether a text is one character. */
static bool
is_letter(const char *p, size_t n)
{
	size_t i;

	for (i = 1; i < n && ((uint8_t)p[i] & 0xc0) == 0x80; i++)
		;
	return n > 0 && i == n;
}

static bool
names_id(const char *key)
{
	size_t n = strlen(key), k = strlen("_token_id");

	return n > k && strcmp(key + n - k, "_token_id") == 0;
}

static bool
states(const struct model *keys, const char *key)
{
	uint64_t id;

	return model_find(keys, key) && (model_u64(keys, key, &id) < 0 || id != TOKEN_NONE);
}

/* Roles that a tokenizer gives to fixed ids if no key states them: they get keys, since ids change. */
static int
state_roles(struct tokens_plan *s)
{
	static const struct value_type u32 = { 0, VALUE_U32 };
	static const struct {
		const char *kind, *key, *instead; /* a key that replaces it, or NULL */
		uint32_t id;
	} roles[] = {
		{ "bert", KEY "cls_token_id", KEY "bos_token_id", 101 },
		{ "bert", KEY "unknown_token_id", NULL, 100 },
		{ "bert", KEY "seperator_token_id", NULL, 102 },
		{ "bert", KEY "padding_token_id", NULL, 0 },
		{ "bert", KEY "mask_token_id", NULL, 103 },
		{ "t5", KEY "eos_token_id", NULL, 1 },
		{ "t5", KEY "unknown_token_id", NULL, 2 },
		{ "t5", KEY "padding_token_id", NULL, 0 },
		{ "llama", KEY "bos_token_id", NULL, 1 },
		{ "llama", KEY "eos_token_id", NULL, 2 },
		{ "llama", KEY "unknown_token_id", NULL, 0 },
	};
	struct model *keys = &s->v.words.keys;
	uint8_t wire[4];
	size_t i;

	for (i = 0; i < sizeof roles / sizeof *roles; i++) {
		if (strcmp(s->v.words.kind, roles[i].kind) != 0 || roles[i].id >= s->v.words.count ||
		    states(keys, roles[i].key) || (roles[i].instead && states(keys, roles[i].instead)))
			continue;
		le32_put(wire, roles[i].id);
		if (model_set_meta(keys, roles[i].key, u32, wire, sizeof wire, s->e) < 0)
			return -1;
	}
	return 0;
}

static int
keep_own(struct tokens_plan *s)
{
	const struct word_list *w = &s->v.words;
	const struct prune_how *how = &s->p->how;
	bool letters = strcmp(w->kind, "gpt2") == 0;
	uint64_t id;
	size_t i;

	/* A folder states its roles. */
	if (model_find(s->p->in->subject.w.plan, KEY "tokens") && state_roles(s) < 0)
		return -1;
	for (i = 0; i < w->count; i++) {
		uint32_t type = type_of(w, i);

		s->kept[i] = (i < how->used_count && how->used[i]) ||
			(type != TOKEN_NORMAL && type != TOKEN_UNUSED) ||
			(letters && is_letter(w->word[i].text, w->word[i].n));
	}
	for (i = 0; i < w->keys.meta_count; i++) {
		const struct meta *k = &w->keys.meta[i];

		if (names_id(k->key) && value_u64(k->type, k->wire, k->wire_bytes, &id) == 0 && id < w->count)
			s->kept[id] = true;
	}
	return tokenizer_named(s->p->in, s->kept, w->count, s->e);
}

/* ---- what the others are made of ---- */

static int
index_texts(struct tokens_plan *s)
{
	const struct word_list *w = &s->v.words;
	size_t i;

	for (i = 0; i < w->count; i++)
		if (vocab_add(&s->texts, w->word[i].text, w->word[i].n, TOKEN_NORMAL, 0, s->e) < 0)
			return -1;
	return vocab_index(&s->texts, w->file, s->e);
}

/* The merges as ids. */
static int
read_merges(struct tokens_plan *s)
{
	const struct meta *k = model_find(&s->v.words.keys, KEY "merges");
	const uint8_t *p, *blank;
	size_t at = HEAD, n;

	if (!k || k->type.depth != 1 || k->type.leaf != VALUE_STRING || k->wire_bytes < HEAD)
		return 0;
	s->merge_count = 0;
	s->merges = mem_array(k->wire_bytes / 8, sizeof *s->merges);
	if (!s->merges)
		return err_memory(s->e);
	while ((p = word_list_next(k->wire, k->wire_bytes, &at, &n))) {
		struct merge_ids *m = &s->merges[s->merge_count++];
		uint8_t text[1024];

		*m = (struct merge_ids){ GONE, GONE, GONE };
		/* The left side has at least one byte, which can be a blank. */
		if (n < 3 || n > sizeof text || !(blank = memchr(p + 1, ' ', n - 1)))
			continue;
		memcpy(text, p, (size_t)(blank - p));
		memcpy(text + (blank - p), blank + 1, n - 1 - (size_t)(blank - p));
		m->left = vocab_find(&s->texts, text, (size_t)(blank - p));
		m->right = vocab_find(&s->texts, blank + 1, n - 1 - (size_t)(blank - p));
		m->result = vocab_find(&s->texts, text, n - 1);
	}
	return 0;
}

static bool
keep(struct tokens_plan *s, uint32_t id)
{
	if (id == TOKEN_NONE || s->kept[id])
		return false;
	return s->kept[id] = true;
}

/* Both sides of each merge whose result stays. Results mostly come after their sides. */
static void
keep_sides(struct tokens_plan *s)
{
	bool more = s->merge_count > 0;
	size_t i;

	while (more)
		for (more = false, i = s->merge_count; i-- > 0;) {
			const struct merge_ids *m = &s->merges[i];

			if (m->result == TOKEN_NONE || !s->kept[m->result])
				continue;
			more |= keep(s, m->left);
			more |= keep(s, m->right);
		}
}

/* The sides of each way to cut a text in two. Adds to the list what stays now. */
static int
cut_text(struct tokens_plan *s, uint32_t id, struct tokens *list)
{
	const char *p = s->v.words.word[id].text;
	size_t n = s->v.words.word[id].n, i;

	for (i = 1; i < n; i++) {
		uint32_t left = vocab_find(&s->texts, p, i), right = vocab_find(&s->texts, p + i, n - i);

		if (((uint8_t)p[i] & 0xc0) == 0x80 || (left == TOKEN_NONE && !is_letter(p, i)) ||
		    (right == TOKEN_NONE && !is_letter(p + i, n - i)))
			continue;
		if (keep(s, left) && tokens_add(list, left, s->e) < 0)
			return -1;
		if (keep(s, right) && tokens_add(list, right, s->e) < 0)
			return -1;
	}
	return 0;
}

static int
keep_cuts(struct tokens_plan *s)
{
	struct tokens list = { 0 };
	int r = 0;
	size_t i;

	for (i = 0; r == 0 && i < s->v.words.count; i++)
		if (s->kept[i] && type_of(&s->v.words, i) == TOKEN_NORMAL)
			r = tokens_add(&list, (uint32_t)i, s->e);
	while (r == 0 && list.n > 0)
		r = cut_text(s, list.id[--list.n], &list);
	tokens_free(&list);
	return r;
}

/* The token with the lowest score, which prices characters that are no tokens. */
static void
keep_lowest(struct tokens_plan *s)
{
	const struct word_list *w = &s->v.words;
	size_t at = word_list_lowest(w);

	if (at < w->count)
		s->kept[at] = true;
}

static int
keep_parts(struct tokens_plan *s)
{
	const char *kind = s->v.words.kind;

	if (strcmp(kind, "gpt2") == 0) {
		if (index_texts(s) < 0 || read_merges(s) < 0)
			return -1;
		keep_sides(s);
	} else if (strcmp(kind, "llama") == 0) {
		return index_texts(s) < 0 ? -1 : keep_cuts(s);
	} else if (strcmp(kind, "t5") == 0) {
		keep_lowest(s);
	}
	return 0; /* WordPiece and Unigram choose whole tokens */
}

static int
number(struct tokens_plan *s)
{
	struct prune_list *rows = &s->p->tokens;
	size_t i;

	rows->at = mem_array(s->v.words.count, sizeof *rows->at);
	if (!rows->at)
		return err_memory(s->e);
	for (i = 0; i < s->v.words.count; i++) {
		s->id[i] = s->kept[i] ? (uint32_t)rows->n : GONE;
		if (s->kept[i])
			rows->at[rows->n++] = i;
	}
	s->v.tokens = (uint32_t)rows->n;
	s->v.replaced = s->v.foreign = true;
	s->v.moved = s->id;
	s->v.before = s->v.words.count;
	return 0;
}

/* ---- keys ---- */

/* A list of texts: those of tokens that stay, or of merges whose sides and result do. */
static int
take_texts(struct tokens_plan *s, const struct meta *k, bool merges, struct buf *to)
{
	size_t at = HEAD, n, i = 0, count = 0, most = merges ? s->merge_count : s->v.words.count;
	const uint8_t *p;

	buf_put(to, k->wire, 4);
	buf_u64(to, 0);
	while (i < most && (p = word_list_next(k->wire, k->wire_bytes, &at, &n))) {
		const struct merge_ids *m = merges ? &s->merges[i] : NULL;
		bool stays = m ? m->left != TOKEN_NONE && s->kept[m->left] && m->right != TOKEN_NONE &&
			s->kept[m->right] && m->result != TOKEN_NONE && s->kept[m->result] : s->kept[i];

		i++;
		if (!stays)
			continue;
		buf_u64(to, n);
		buf_put(to, p, n);
		count++;
	}
	if (!buf_ok(to))
		return err_memory(s->e);
	le64_put(to->p + 4, count);
	return 0;
}

/* A list of numbers with one for each token. */
static int
take_numbers(struct tokens_plan *s, const struct meta *k, size_t each, struct buf *to)
{
	size_t i;

	buf_put(to, k->wire, 4);
	buf_u64(to, s->v.tokens);
	for (i = 0; i < s->v.words.count; i++)
		if (s->kept[i])
			buf_put(to, k->wire + HEAD + i * each, each);
	return buf_ok(to) ? 0 : err_memory(s->e);
}

/* A list of ids: those that stay. */
static int
take_ids(struct tokens_plan *s, const struct meta *k, struct buf *to)
{
	uint64_t count = le64(k->wire + 4), i, n = 0;

	buf_put(to, k->wire, 4);
	buf_u64(to, 0);
	for (i = 0; i < count; i++) {
		uint32_t id = le32(k->wire + HEAD + 4 * i);

		if (id >= s->v.words.count || s->id[id] == GONE)
			continue;
		buf_u32(to, s->id[id]);
		n++;
	}
	if (!buf_ok(to))
		return err_memory(s->e);
	le64_put(to->p + 4, n);
	return 0;
}

/* The new value of a key in `to`, which stays empty if it does not change. *type: of the old one, and
 * of the new. */
static int
change_key(struct tokens_plan *s, const struct meta *k, struct value_type *type, struct buf *to)
{
	size_t count = s->v.words.count, each = value_leaf_bytes(k->type.leaf);
	uint64_t id;

	if (names_id(k->key)) {
		if (value_u64(k->type, k->wire, k->wire_bytes, &id) == 0 && id < count)
			buf_u32(to, s->id[id]);
		*type = (struct value_type){ 0, VALUE_U32 };
		return buf_ok(to) ? 0 : err_memory(s->e);
	}
	if (k->type.depth != 1 || k->wire_bytes < HEAD)
		return 0;
	if (strcmp(k->key, KEY "merges") == 0)
		return s->merges ? take_texts(s, k, true, to) : 0;
	if (strstr(k->key, "token_ids") || strcmp(k->key, KEY "suppress_tokens") == 0)
		return each == 4 && k->wire_bytes == HEAD + 4 * le64(k->wire + 4) ? take_ids(s, k, to) : 0;
	if (le64(k->wire + 4) != count)
		return 0;
	if (k->type.leaf == VALUE_STRING)
		return take_texts(s, k, false, to);
	return each > 0 && k->wire_bytes == HEAD + each * count ? take_numbers(s, k, each, to) : 0;
}

static int
change_keys(struct tokens_plan *s)
{
	struct model *keys = &s->v.words.keys;
	struct buf b = { 0 };
	size_t i;
	int r = 0;

	/* A copy of the file that these keys were made from would have the old tokens. */
	model_unset_meta(keys, "tokenizer.huggingface.json");
	for (i = 0; r == 0 && i < keys->meta_count; i++) {
		struct meta *k = &keys->meta[i];
		struct value_type type = k->type;

		r = change_key(s, k, &type, &b);
		if (r < 0 || b.n == 0)
			continue;
		free(k->wire);
		k->type = type;
		k->wire = b.p;
		k->wire_bytes = b.n;
		b = (struct buf){ 0 };
	}
	buf_free(&b);
	return r;
}

/* ---- tables ---- */

static int
take_rows(struct tokens_plan *s, size_t tensor, uint64_t *rows)
{
	const struct tensor *t = merge_input_plan(s->p->in)->tensors[tensor];
	struct prune_row *row = &s->p->rows[tensor];

	if (tensor_ndim(t) < 1 || tensor_ndim(t) > 2 || tensor_dims(t)[0] < s->v.words.count)
		return err_set(s->e, ERR_INVALID, tensor_name(t), "has no row for each of %zu tokens",
		               s->v.words.count);
	if (tensor_type(t)->head > 0 || (tensor_ndim(t) == 1 && tensor_type(t)->items != 1))
		return err_set(s->e, ERR_FORMAT, tensor_name(t), "rows of %s cannot be taken",
		               tensor_type(t)->name);
	*rows = tensor_dims(t)[0];
	if (tensor_ndim(t) == 2)
		row->kept_rows = &s->p->tokens;
	else
		row->kept_columns = &s->p->tokens;
	return 0;
}

/* Other tensors outside of layers must not have a row for each token. */
static int
check_others(const struct tokens_plan *s, uint64_t rows)
{
	const struct model *m = merge_input_plan(s->p->in);
	size_t i;

	for (i = 0; i < m->tensor_count; i++) {
		const struct tensor *t = m->tensors[i];

		if (s->p->in->layer[i] == MERGE_APART && tensor_ndim(t) > 1 && tensor_dims(t)[0] == rows &&
		    !s->p->rows[i].kept_rows)
			return err_set(s->e, ERR_FORMAT, tensor_name(t), "has a row for each token, but what it "
			               "is is not known: its tokens cannot be taken");
	}
	return 0;
}

static int
take_tables(struct tokens_plan *s)
{
	uint64_t rows = 0;
	size_t i;

	for (i = 0; i < merge_input_plan(s->p->in)->tensor_count; i++)
		if (vocabulary_is_table(s->p->in, i) && take_rows(s, i, &rows) < 0)
			return -1;
	if (i == 0)
		return 0; /* a vocabulary alone */
	if (rows == 0)
		return err_set(s->e, ERR_INVALID, s->p->in->name, "has no embeddings of tokens");
	return check_others(s, rows) < 0 ? -1 : prune_put_shapes(s->p, s->e);
}

int
prune_tokens(struct prune_plan *p, struct err *e)
{
	struct tokens_plan s = { .p = p, .e = e };
	int r = word_list_read(&s.v.words, p->in, e);

	if (r == 0) {
		s.kept = mem_array(s.v.words.count, sizeof *s.kept);
		s.id = mem_array(s.v.words.count, sizeof *s.id);
		r = s.kept && s.id ? keep_own(&s) : err_memory(e);
	}
	if (r == 0 && keep_parts(&s) == 0 && number(&s) == 0 && change_keys(&s) == 0 &&
	    tokenizer_apply(&s.v, p->in, &p->out, &p->files, e) == 0)
		r = take_tables(&s);
	free(s.kept);
	free(s.id);
	free(s.merges);
	vocab_free(&s.texts);
	vocabulary_free(&s.v);
	return e->code == ERR_NONE ? r : -1;
}
