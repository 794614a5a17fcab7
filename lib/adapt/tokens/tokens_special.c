#include <stdio.h>
#include <string.h>

#include "adapt/tokens/tokens_folder.h"

/* Roles of tokens: their name in the files of a folder, the keys of their id and of whether
 * they are added to a text. NULL: there is no such key. In this order they are looked for. */
static const struct {
	const char *name, *id, *add;
} roles[] = {
	{ "bos", TOKENS_KEY "bos_token_id", TOKENS_KEY "add_bos_token" },
	{ "eos", TOKENS_KEY "eos_token_id", TOKENS_KEY "add_eos_token" },
	{ "unk", TOKENS_KEY "unknown_token_id", NULL },
	{ "sep", TOKENS_KEY "seperator_token_id", TOKENS_KEY "add_sep_token" },
	{ "pad", TOKENS_KEY "padding_token_id", NULL },
	{ "cls", NULL, NULL },
	{ "mask", TOKENS_KEY "mask_token_id", NULL },
	{ "eot", TOKENS_KEY "eot_token_id", NULL },
	{ "eom", TOKENS_KEY "eom_token_id", NULL },
};
enum { BOS, EOS, UNK, SEP, PAD, CLS, MASK, EOT, EOM, ROLE_COUNT };

struct specials {
	struct tokens_folder *f;
	const json_t *token[ROLE_COUNT]; /* a text, or an object with the text as its content */
	const json_t *added_tokens;
	unsigned count;                  /* roles that are looked for */

	/* What was found, in that order. */
	unsigned id_role[ROLE_COUNT], add_role[ROLE_COUNT];
	uint32_t id[ROLE_COUNT];
	bool add[ROLE_COUNT];
	unsigned ids, adds;
};

/* ---- what is found ---- */

static void
set_add(struct specials *s, unsigned role, bool yes)
{
	unsigned i;

	for (i = 0; i < s->adds && s->add_role[i] != role; i++)
		;
	s->add_role[i] = role;
	s->add[i] = yes;
	s->adds += i == s->adds;
}

/* The first id of a role holds. Anything else than an integer is passed over. */
static void
set_id(struct specials *s, unsigned role, const json_t *v)
{
	unsigned i;
	json_int_t id = json_integer_value(v);

	if (!json_is_integer(v))
		return;
	if (id < 0 || (uint64_t)id >= s->f->count) {
		if (s->f->s->note)
			s->f->s->note("the id of a special token is not a token and is left out");
		return;
	}
	for (i = 0; i < s->ids; i++)
		if (s->id_role[i] == role)
			return;
	s->id_role[s->ids] = role;
	s->id[s->ids++] = (uint32_t)id;
}

/* Whether a role has exactly this text. A token that is an object never has. */
static bool
is(const json_t *token, const char *text)
{
	return json_is_string(token) && strcmp(json_string_value(token), text) == 0;
}

/* Whether a role has a token at all. */
static bool
given(const json_t *token)
{
	return json_string_length(token) > 0 || json_object_size(token) > 0;
}

/* ---- the post-processor of tokenizer.json ---- */

/* The special token that a part of a template is, as a value; or NULL. */
static const json_t *
special_of(const json_t *part)
{
	const json_t *id = json_object_get(json_object_get(part, "SpecialToken"), "id");

	return json_string_length(id) > 0 ? id : NULL;
}

static const json_t *
last_of(const json_t *list)
{
	size_t n = json_array_size(list);

	return n > 0 ? json_array_get(list, n - 1) : NULL;
}

static void
take_first(struct specials *s, const json_t *first)
{
	const char *text = json_string_value(first);

	if (s->f->config && !is(s->token[BOS], text) && !is(s->token[CLS], text)) {
		if (!given(s->token[BOS]))
			s->token[BOS] = first;
		if (!given(s->token[CLS]))
			s->token[CLS] = first;
	}
	set_add(s, BOS, !s->f->config || is(s->token[BOS], text) || is(s->token[CLS], text));
}

/* Another token at the end of a text than EOS: that one ends a turn. */
static void
take_last(struct specials *s, const json_t *last)
{
	if (s->f->config && !is(s->token[EOS], json_string_value(last))) {
		if (s->count <= EOM)
			s->token[s->count++] = s->token[EOS];
		s->token[EOS] = last;
	}
	set_add(s, EOS, true);
}

static bool
is_separator(const struct specials *s, const json_t *special)
{
	const char *text = json_string_value(special);

	return is(s->token[SEP], text) || is(s->token[EOS], text);
}

/* Two texts: whether a separator stands between them, apart from the EOS that ends each. */
static void
take_pair(struct specials *s, const json_t *pair, const json_t *first, const json_t *last)
{
	size_t from = 0, to = json_array_size(pair), n;
	const json_t *special, *a, *b;
	bool add = false;

	if (first && json_equal(special_of(json_array_get(pair, 0)), first))
		from = 1;
	if (last && to > 0 && json_equal(special_of(json_array_get(pair, to - 1)), last))
		to--;
	if (to < from + 3)
		return;
	a = json_object_get(json_object_get(json_array_get(pair, from), "Sequence"), "id");
	b = json_object_get(json_object_get(json_array_get(pair, to - 1), "Sequence"), "id");
	if (!is(a, "A") || !is(b, "B"))
		return;
	n = to - from - 2;
	special = special_of(json_array_get(pair, from + 1));
	add = special && is_separator(s, special) && !last;
	special = special_of(json_array_get(pair, from + 2));
	if (n == 2 && special && is_separator(s, special))
		add = true;
	set_add(s, SEP, add);
	if (add && !given(s->token[SEP]))
		s->token[SEP] = s->token[EOS];
}

static void
take_template(struct specials *s, const json_t *o)
{
	const json_t *single = json_object_get(o, "single"), *first = NULL, *last = NULL;

	if (json_array_size(single) > 1) {
		first = special_of(json_array_get(single, 0));
		if (first)
			take_first(s, first);
		last = special_of(last_of(single));
		if (last)
			take_last(s, last);
	}
	take_pair(s, json_object_get(o, "pair"), first, last);
}

static void
take_roberta(struct specials *s, const json_t *o)
{
	set_add(s, BOS, true);
	set_add(s, EOS, true);
	set_add(s, SEP, true);
	if (!given(s->token[CLS]))
		s->token[CLS] = json_array_get(json_object_get(o, "cls"), 0);
	if (!given(s->token[SEP]))
		s->token[SEP] = json_array_get(json_object_get(o, "sep"), 0);
}

static void
take_processor(struct specials *s, const json_t *o)
{
	const char *type = json_string_value(json_object_get(o, "type"));

	if (type && strcmp(type, "RobertaProcessing") == 0)
		take_roberta(s, o);
	if (type && strcmp(type, "TemplateProcessing") == 0)
		take_template(s, o);
}

static int
take_file(struct specials *s)
{
	const json_t *post = json_object_get(s->f->file, "post_processor");
	const json_t *list = json_object_get(post, "processors");
	size_t i;

	if (post && !json_is_null(post) && !json_is_object(post))
		return err_set(s->f->e, ERR_CORRUPT, "tokenizer.json",
		               "post_processor is not an object");
	if (!given(s->token[BOS]))
		s->token[BOS] = s->token[CLS];
	if (!given(s->token[EOS]))
		s->token[EOS] = s->token[SEP];
	if (!json_is_array(list))
		take_processor(s, post);
	for (i = 0; i < json_array_size(list); i++)
		take_processor(s, json_array_get(list, i));
	return 0;
}

/* ---- the other files ---- */

static const json_t *
member(const json_t *o, const char *before, unsigned role, const char *behind)
{
	char name[32];

	snprintf(name, sizeof name, "%s%s%s", before, roles[role].name, behind);
	return json_object_get(o, name);
}

/* The id of an added token with this text, as a value. */
static const json_t *
find_added(const struct specials *s, const json_t *token)
{
	size_t i;

	if (json_is_object(token))
		token = json_object_get(token, "content");
	if (!json_is_string(token))
		return NULL;
	for (i = 0; i < json_array_size(s->added_tokens); i++) {
		const json_t *o = json_array_get(s->added_tokens, i);

		if (json_equal(json_object_get(o, "content"), token))
			return json_object_get(o, "id");
	}
	return NULL;
}

static void
take_config(struct specials *s)
{
	const json_t *text = json_object_get(s->f->s->config, "text_config");
	unsigned i;

	for (i = 0; i < s->count; i++) {
		const json_t *add = member(s->f->config, "add_", i, "_token");

		if (json_is_boolean(add))
			set_add(s, i, json_is_true(add));
		set_id(s, i, find_added(s, s->token[i]));
	}
	for (i = 0; i < s->count; i++) {
		const json_t *id = member(s->f->s->config, "", i, "_token_id");

		set_id(s, i, id && !json_is_null(id) ? id : member(text, "", i, "_token_id"));
	}
}

/* ---- keys ---- */

static int
put_normalizer(struct tokens_folder *f, const json_t *o, bool inner)
{
	static const struct { const char *type, *name, *key; } flags[] = {
		{ "Lowercase", "lowercase", TOKENS_KEY "normalizer.lowercase" },
		{ "StripAccents", "strip_accents", TOKENS_KEY "normalizer.strip_accents" }
	};
	const char *type = json_string_value(json_object_get(o, "type"));
	const json_t *list = json_object_get(o, "normalizers");
	size_t i;

	for (i = 0; type && i < 2; i++) {
		const json_t *v = json_object_get(o, flags[i].name);
		bool whole = strcmp(type, flags[i].type) == 0;

		if (!whole && (strcmp(type, "BertNormalizer") != 0 || !json_is_boolean(v)))
			continue;
		if (tokens_put_bool(f, flags[i].key, whole || json_is_true(v)) < 0)
			return -1;
	}
	for (i = 0; !inner && i < json_array_size(list); i++)
		if (put_normalizer(f, json_array_get(list, i), true) < 0)
			return -1;
	return 0;
}

static int
put_found(struct specials *s)
{
	unsigned i;

	for (i = 0; i < s->ids; i++) {
		const char *key = roles[s->id_role[i]].id;

		if (key && tokens_put_u32(s->f, key, s->id[i]) < 0)
			return -1;
	}
	for (i = 0; i < s->adds; i++) {
		const char *key = roles[s->add_role[i]].add;

		if (key && tokens_put_bool(s->f, key, s->add[i]) < 0)
			return -1;
	}
	return 0;
}

int
tokens_put_special(struct tokens_folder *f)
{
	struct specials s = { .f = f, .count = EOT,
		.added_tokens = json_object_get(f->file, "added_tokens") };
	unsigned i;

	for (i = 0; i < s.count; i++)
		s.token[i] = member(f->config, "", i, "_token");
	if (f->file && take_file(&s) < 0)
		return -1;
	take_config(&s);
	if (put_found(&s) < 0 || tokens_put_template(f) < 0)
		return -1;
	return put_normalizer(f, json_object_get(f->file, "normalizer"), false);
}

/* ---- merges ---- */

struct merging {
	struct tokens_folder *f;
	const json_t *vocab;
	struct buf wire, text;
	uint64_t count;
};

/* A space inside a side of a merge is written as the letter of that byte. */
static void
put_side(struct buf *b, const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (s[i] == ' ')
			buf_text(b, "\xc4\xa0");
		else
			buf_u8(b, (uint8_t)s[i]);
}

static int
check_side(struct merging *m, const char *s, size_t n, const char *what)
{
	if (json_object_getn(m->vocab, s, n))
		return 0;
	return err_set(m->f->e, ERR_CORRUPT, what, "merge %llu names %.*s, which is not a token",
	               (unsigned long long)m->count, (int)(n < 60 ? n : 60), s);
}

static int
add_merge(struct merging *m, const char *left, size_t a, const char *right, size_t b,
          bool spaces, const char *what)
{
	if (check_side(m, left, a, what) < 0 || check_side(m, right, b, what) < 0)
		return -1;
	buf_clear(&m->text);
	buf_put(&m->text, left, a);
	buf_put(&m->text, right, b);
	if (!buf_string(&m->text))
		return err_memory(m->f->e);
	if (check_side(m, (char *)m->text.p, a + b, what) < 0)
		return -1;
	buf_clear(&m->text);
	if (spaces) {
		put_side(&m->text, left, a);
		buf_u8(&m->text, ' ');
		put_side(&m->text, right, b);
	} else {
		buf_put(&m->text, left, a);
		buf_u8(&m->text, ' ');
		buf_put(&m->text, right, b);
	}
	buf_u64(&m->wire, m->text.n);
	buf_put(&m->wire, m->text.p, m->text.n);
	m->count++;
	return 0;
}

/* "left right": the left side has at least one byte, which can be a space. */
static int
add_line(struct merging *m, const char *s, size_t n, const char *what)
{
	const char *space = n > 1 ? memchr(s + 1, ' ', n - 1) : NULL;

	if (!space)
		return err_set(m->f->e, ERR_CORRUPT, what, "merge %llu is not a pair",
		               (unsigned long long)m->count);
	return add_merge(m, s, (size_t)(space - s), space + 1, n - (size_t)(space + 1 - s),
	                 false, what);
}

static int
add_list(struct merging *m, const json_t *list)
{
	const char *what = "tokenizer.json";
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *v = json_array_get(list, i);
		const json_t *left = json_array_get(v, 0), *right = json_array_get(v, 1);
		int r;

		if (json_array_size(v) == 2 && json_is_string(left) && json_is_string(right))
			r = add_merge(m, json_string_value(left), json_string_length(left),
			              json_string_value(right), json_string_length(right), true, what);
		else
			r = add_line(m, json_is_string(v) ? json_string_value(v) : "",
			             json_string_length(v), what);
		if (r < 0)
			return -1;
	}
	return 0;
}

/* merges.txt: a pair a line; the first line can be a comment. */
static int
add_lines(struct merging *m, const char *text, size_t n)
{
	bool first = true;

	for (; n > 0; first = false) {
		const char *end = memchr(text, '\n', n);
		size_t line = end ? (size_t)(end - text) : n, used = line + (end != NULL);

		if (line > 0 && text[line - 1] == '\r')
			line--;
		if (line > 0 && !(first && *text == '#') &&
		    add_line(m, text, line, "merges.txt") < 0)
			return -1;
		text += used;
		n -= used;
	}
	return 0;
}

static int
put_merges(struct merging *m, const json_t *list)
{
	size_t n, i;
	const char *text = (const char *)weights_file(&m->f->s->w, "merges.txt", &n);

	buf_u32(&m->wire, VALUE_STRING);
	buf_u64(&m->wire, 0);
	if ((json_array_size(list) > 0 ? add_list(m, list) : text ? add_lines(m, text, n) : 0) < 0)
		return -1;
	if (!buf_ok(&m->wire))
		return err_memory(m->f->e);
	for (i = 0; i < 8; i++)
		m->wire.p[4 + i] = (uint8_t)(m->count >> 8 * i);
	if (m->count == 0)
		return 0;
	return model_set_meta(m->f->out, TOKENS_KEY "merges",
	                      (struct value_type){ 1, VALUE_STRING }, m->wire.p, m->wire.n,
	                      m->f->e);
}

int
tokens_put_merges(struct tokens_folder *f)
{
	const json_t *model = json_object_get(f->file, "model");
	const json_t *list = json_object_get(model, "merges");
	json_t *old = f->file ? NULL : subject_json(f->s, "vocab.json", f->e);
	struct merging m = { .f = f, .vocab = f->file ? json_object_get(model, "vocab") : old };
	int r = f->e->code == ERR_NONE ? 0 : -1;

	if (r == 0 && list && !json_is_array(list))
		r = err_set(f->e, ERR_CORRUPT, "tokenizer.json", "merges is not a list");
	if (r == 0)
		r = put_merges(&m, list);
	json_decref(old);
	buf_free(&m.wire);
	buf_free(&m.text);
	return r;
}
