#include <stdlib.h>
#include <string.h>

#include "adapt/tokens_folder.h"
#include "adapt/tokens_keys.h"
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
 * tokens with higher scores come first. The splits of one token come in the order of their
 * ids, as published files have them. */
struct scored {
	float score;
	uint32_t id;
};

struct halves {
	uint32_t left, right;
};

struct splits {
	struct halves *p;
	size_t n, cap;
	struct work work;
	uint64_t count; /* written */
};

static int
by_score(const void *a, const void *b)
{
	const struct scored *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int
by_ids(const void *a, const void *b)
{
	const struct halves *x = a, *y = b;

	if (x->left != y->left)
		return x->left < y->left ? -1 : 1;
	return x->right < y->right ? -1 : x->right > y->right;
}

static int
find_splits(struct tokens_keys *k, uint32_t id, struct splits *all)
{
	const uint8_t *s = vocab_text(&k->v, id);
	size_t i, n = k->v.token[id].text_bytes;

	all->n = 0;
	for (i = 1; i < n; i++) {
		struct halves x;

		if ((s[i] & 0xc0) == 0x80)
			continue; /* within a character */
		if (work_take(&all->work, n) < 0)
			return err_set(k->e, ERR_MEMORY, TOKENS_KEY "tokens",
			               "finding merges of such long tokens takes too long");
		x.left = vocab_find(&k->v, s, i);
		x.right = x.left == TOKEN_NONE ? TOKEN_NONE : vocab_find(&k->v, s + i, n - i);
		if (x.right == TOKEN_NONE)
			continue;
		if (mem_grow(&all->p, &all->cap, all->n + 1, sizeof *all->p) < 0)
			return err_memory(k->e);
		all->p[all->n++] = x;
	}
	if (all->n > 1)
		qsort(all->p, all->n, sizeof *all->p, by_ids);
	return 0;
}

static int
put_splits(struct tokens_keys *k, uint32_t id, struct splits *all, struct buf *b)
{
	const uint8_t *s = vocab_text(&k->v, id);
	size_t i, left;

	if (find_splits(k, id, all) < 0)
		return -1;
	for (i = 0; i < all->n; i++) {
		left = k->v.token[all->p[i].left].text_bytes;
		buf_text(b, all->count++ == 0 ? "\n      [" : ",\n      [");
		json_quote(b, (const char *)s, left);
		buf_text(b, ", ");
		json_quote(b, (const char *)s + left, k->v.token[id].text_bytes - left);
		buf_text(b, "]");
	}
	return 0;
}

static int
put_scored(struct tokens_keys *k, struct buf *b)
{
	struct scored *order = mem_array(k->v.count, sizeof *order);
	struct splits all = { .work = work_of(k->v.pool.n) };
	uint32_t i;
	int r = 0;

	if (!order)
		return err_memory(k->e);
	for (i = 0; i < k->v.count; i++)
		order[i] = (struct scored){ k->v.token[i].score, i };
	qsort(order, k->v.count, sizeof *order, by_score);
	for (i = 0; i < k->v.count && r == 0; i++)
		if (!tokens_is_padding(k, order[i].id))
			r = put_splits(k, order[i].id, &all, b);
	free(all.p);
	free(order);
	return r;
}

int
tokens_write_merges(struct tokens_keys *k, struct buf *b)
{
	buf_text(b, "[");
	if ((k->model == TOKENS_SPM ? put_scored(k, b) : put_stated(k, b)) < 0)
		return -1;
	buf_text(b, "\n    ]");
	return buf_ok(b) ? 0 : err_memory(k->e);
}
