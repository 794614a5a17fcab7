#include <stdlib.h>
#include <string.h>

#include "adapt/tokens/tokens_folder.h"
#include "adapt/tokens/tokens_keys.h"
#include "core/mem.h"
#include "core/reader.h"
#include "core/work.h"

/* ---- merges of the keys ---- */

static int
check(struct tokens_keys *k, uint64_t i, const char *s, size_t n)
{
	if (vocab_find(&k->v, s, n) != TOKEN_NONE)
		return 0;
	return err_set(k->e, ERR_CORRUPT, TOKENS_KEY "merges", "merge %llu names %.*s, which is "
	               "not a token", (unsigned long long)i, (int)(n < 60 ? n : 60), s);
}

/* "left right": the left side has at least one byte, which can be a space. */
static int
put_merge(struct tokens_keys *k, uint64_t i, const char *s, size_t n, struct buf *joined,
          struct buf *b)
{
	const char *space = n > 1 ? memchr(s + 1, ' ', n - 1) : NULL;
	size_t left;

	if (!space)
		return err_set(k->e, ERR_CORRUPT, TOKENS_KEY "merges", "merge %llu is not a pair",
		               (unsigned long long)i);
	left = (size_t)(space - s);
	buf_clear(joined);
	buf_put(joined, s, left);
	buf_put(joined, space + 1, n - left - 1);
	if (!buf_ok(joined))
		return err_memory(k->e);
	if (check(k, i, s, left) < 0 || check(k, i, space + 1, n - left - 1) < 0 ||
	    check(k, i, (char *)joined->p, n - 1) < 0)
		return -1;
	buf_text(b, i == 0 ? "\n      " : ",\n      ");
	json_quote(b, s, n);
	return 0;
}

static int
put_stated(struct tokens_keys *k, struct buf *b)
{
	struct buf joined = { 0 };
	struct value_type type;
	struct reader r;
	uint64_t count, i, length;
	size_t n;
	const uint8_t *p = weights_value(&k->s->w, TOKENS_KEY "merges", &type, &n);
	int result = 0;

	if (!p || type.depth != 1 || type.leaf != VALUE_STRING)
		return err_set(k->e, ERR_CORRUPT, k->s->w.name, "has no " TOKENS_KEY "merges");
	reader_memory(&r, p, n, TOKENS_KEY "merges", k->e);
	reader_u32(&r);
	count = reader_u64(&r);
	for (i = 0; i < count && result == 0; i++) {
		length = reader_u64(&r);
		p = length <= READER_WINDOW ? reader_take(&r, (size_t)length) : NULL;
		result = p ? put_merge(k, i, (const char *)p, (size_t)length, &joined, b)
		           : err_set(k->e, ERR_CORRUPT, TOKENS_KEY "merges", "is cut off");
	}
	buf_free(&joined);
	return result;
}

/* ---- merges that give the order of scores ---- */

/* SentencePiece joins the pair whose token has the highest score. Ranks do the same if the
 * tokens with higher scores come first. Of equal scores, pairs with more characters on the
 * left come first, then on the right, then in the order of the ids: published files have the
 * same order. User-defined tokens, whose score is lost, have the score 0 there. */
struct halves {
	float score;
	uint32_t left, right; /* ids */
	uint32_t chars_left, chars_right, to;
};

struct splits {
	struct halves *p;
	size_t n, cap;
	struct work work;
};

static int
more(uint32_t a, uint32_t b)
{
	return a > b ? -1 : a < b;
}

static int
by_rank(const void *a, const void *b)
{
	const struct halves *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	if (x->chars_left != y->chars_left)
		return more(x->chars_left, y->chars_left);
	if (x->chars_right != y->chars_right)
		return more(x->chars_right, y->chars_right);
	if (x->to != y->to)
		return more(y->to, x->to);
	return x->left != y->left ? more(y->left, x->left) : more(y->right, x->right);
}

static uint32_t
characters(const uint8_t *s, size_t n)
{
	uint32_t count = 0;

	while (n-- > 0)
		count += (s[n] & 0xc0) != 0x80;
	return count;
}

static int
find_splits(struct tokens_keys *k, uint32_t id, struct splits *all)
{
	const struct token *t = &k->v.token[id];
	const uint8_t *s = vocab_text(&k->v, id);
	size_t i, n = t->text_bytes;

	for (i = 1; i < n; i++) {
		struct halves x = { .score = t->kind == TOKEN_USER ? 0 : t->score, .to = id };

		if ((s[i] & 0xc0) == 0x80)
			continue; /* within a character */
		if (work_take(&all->work, n) < 0)
			return err_set(k->e, ERR_MEMORY, TOKENS_KEY "tokens",
			               "finding merges of such long tokens takes too long");
		x.left = vocab_find(&k->v, s, i);
		x.right = x.left == TOKEN_NONE ? TOKEN_NONE : vocab_find(&k->v, s + i, n - i);
		if (x.right == TOKEN_NONE)
			continue;
		x.chars_left = characters(s, i);
		x.chars_right = characters(s + i, n - i);
		if (mem_grow(&all->p, &all->cap, all->n + 1, sizeof *all->p) < 0)
			return err_memory(k->e);
		all->p[all->n++] = x;
	}
	return 0;
}

static void
put_half(struct tokens_keys *k, uint32_t id, struct buf *b)
{
	json_quote(b, (const char *)vocab_text(&k->v, id), k->v.token[id].text_bytes);
}

static int
put_scored(struct tokens_keys *k, struct buf *b)
{
	struct splits all = { .work = work_of(k->v.pool.n) };
	uint32_t id;
	size_t i;
	int r = 0;

	for (id = 0; id < k->v.count && r == 0; id++)
		if (!tokens_is_padding(k, id))
			r = find_splits(k, id, &all);
	if (all.n > 1)
		qsort(all.p, all.n, sizeof *all.p, by_rank);
	for (i = 0; i < all.n && r == 0; i++) {
		buf_text(b, i == 0 ? "\n      [" : ",\n      [");
		put_half(k, all.p[i].left, b);
		buf_text(b, ", ");
		put_half(k, all.p[i].right, b);
		buf_text(b, "]");
	}
	free(all.p);
	return r;
}

static bool
is_token(const struct tokens_keys *k, const char *s, size_t n)
{
	return s && n > 0 && vocab_find(&k->v, s, n) != TOKEN_NONE;
}

/* Whether a merge is a pair of tokens: a list, or a text with a space between them. */
static bool
is_pair(const struct tokens_keys *k, const json_t *m)
{
	const json_t *left = json_array_get(m, 0), *right = json_array_get(m, 1);
	const char *s = json_string_value(m), *space = s && *s ? strchr(s + 1, ' ') : NULL;

	if (json_is_array(m))
		return json_array_size(m) == 2 &&
		       is_token(k, json_string_value(left), json_string_length(left)) &&
		       is_token(k, json_string_value(right), json_string_length(right));
	return space && is_token(k, s, (size_t)(space - s)) &&
	       is_token(k, space + 1, strlen(space + 1));
}

/* The merges of the record, if they all are pairs of tokens. */
static bool
put_own(struct tokens_keys *k, struct buf *b)
{
	const json_t *list = json_object_get(json_object_get(k->file, "model"), "merges");
	size_t i;

	for (i = 0; i < json_array_size(list); i++)
		if (!is_pair(k, json_array_get(list, i)))
			return false;
	for (i = 0; i < json_array_size(list); i++) {
		buf_text(b, i == 0 ? "\n      " : ",\n      ");
		b->failed = b->failed || json_write(json_array_get(list, i), b) < 0;
	}
	return i > 0;
}

int
tokens_write_merges(struct tokens_keys *k, struct buf *b)
{
	buf_text(b, "[");
	if (k->model == TOKENS_SPM && put_own(k, b)) {
		buf_text(b, "\n    ]");
		return buf_ok(b) ? 0 : err_memory(k->e);
	}
	if ((k->model == TOKENS_SPM ? put_scored(k, b) : put_stated(k, b)) < 0)
		return -1;
	buf_text(b, "\n    ]");
	return buf_ok(b) ? 0 : err_memory(k->e);
}
