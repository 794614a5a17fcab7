#include "merge/unite.h"

#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "tokenizer/vocab.h"

#define KEY "tokenizer.ggml."
#define HEAD 12 /* bytes of an array before its items */

static int
put(struct model *keys, const char *key, unsigned leaf, struct buf *wire, struct err *e)
{
	const struct value_type type = { 1, (uint8_t)leaf };
	int r = buf_ok(wire) ? model_set_meta(keys, key, type, wire->p, wire->n, e) : err_memory(e);

	buf_free(wire);
	return r;
}

/* The items of the first tokenizer, in an array that gets `more`. */
static void
begin(struct buf *wire, const struct meta *k, unsigned leaf, size_t items)
{
	buf_u32(wire, leaf);
	buf_u64(wire, items);
	if (k)
		buf_put(wire, k->wire + HEAD, k->wire_bytes - HEAD);
}

static const struct word *
word_of(const struct unite *u, const struct unite_added *a)
{
	return &u->of[a->from].word[a->id];
}

/* ---- tokens ---- */

static int
put_texts(const struct unite *u, struct model *keys, struct err *e)
{
	struct buf wire = { 0 };
	size_t i;

	begin(&wire, model_find(&u->of->keys, KEY "tokens"), VALUE_STRING, u->of->count + u->count);
	for (i = 0; i < u->count; i++) {
		buf_u64(&wire, word_of(u, &u->added[i])->n);
		buf_put(&wire, word_of(u, &u->added[i])->text, word_of(u, &u->added[i])->n);
	}
	return put(keys, KEY "tokens", VALUE_STRING, &wire, e);
}

static int
put_types(const struct unite *u, struct model *keys, struct err *e)
{
	size_t n = u->of->count + u->count, i = 0;
	struct buf wire = { 0 };

	while (!u->of->types && i < n && u->types[i] == TOKEN_NORMAL)
		i++;
	if (i == n)
		return 0; /* none has a type */
	begin(&wire, NULL, VALUE_I32, n);
	for (i = 0; i < n; i++)
		buf_u32(&wire, u->types[i]);
	return put(keys, KEY "token_type", VALUE_I32, &wire, e);
}

/* What a new token scores at least: with Unigram, the lowest score prices an unknown character, and a
 * lower one would divide texts of the first tokenizer in another way. NULL: any. */
static const uint8_t *
floor_of(const struct word_list *first)
{
	size_t at = strcmp(first->kind, "t5") == 0 ? word_list_lowest(first) : first->count;

	return at < first->count ? first->scores + 4 * at : NULL;
}

static int
put_scores(const struct unite *u, struct model *keys, struct err *e)
{
	const uint8_t none[4] = { 0 }, *low, *score;
	struct buf wire = { 0 };
	size_t i;

	if (!u->of->scores)
		return 0;
	low = floor_of(u->of);
	begin(&wire, model_find(&u->of->keys, KEY "scores"), VALUE_F32, u->of->count + u->count);
	for (i = 0; i < u->count; i++) {
		const struct unite_added *a = &u->added[i];

		score = u->of[a->from].scores ? u->of[a->from].scores + 4 * a->id : none;
		buf_put(&wire, low && le_f32(score) < le_f32(low) ? low : score, 4);
	}
	return put(keys, KEY "scores", VALUE_F32, &wire, e);
}

/* ---- merges ---- */

struct merge {
	const uint8_t *text;
	size_t n, order;
	bool left_out;
};

static int
by_text(const void *a, const void *b)
{
	const struct merge *x = a, *y = b;
	int c = memcmp(x->text, y->text, x->n < y->n ? x->n : y->n);

	if (c == 0)
		c = (x->n > y->n) - (x->n < y->n);
	return c ? c : (x->order > y->order) - (x->order < y->order);
}

static int
by_order(const void *a, const void *b)
{
	const struct merge *x = a, *y = b;

	return (x->order > y->order) - (x->order < y->order);
}

static const struct meta *
merges_of(const struct word_list *w)
{
	const struct meta *k = model_find(&w->keys, KEY "merges");

	return k && k->type.depth == 1 && k->type.leaf == VALUE_STRING && k->wire_bytes >= HEAD ? k : NULL;
}

static bool
is_token(const struct vocab *v, const uint8_t *p, size_t n)
{
	return vocab_find(v, p, n) != TOKEN_NONE;
}

/* Both sides and the result of "left right" are tokens. The left side may begin with a space. */
static bool
is_rule(const struct vocab *v, const struct merge *m, struct buf *both)
{
	const uint8_t *space = m->n > 1 ? memchr(m->text + 1, ' ', m->n - 1) : NULL;
	size_t left = space ? (size_t)(space - m->text) : 0;

	if (!space)
		return false;
	buf_clear(both);
	buf_put(both, m->text, left);
	buf_put(both, space + 1, m->n - left - 1);
	return buf_ok(both) && is_token(v, m->text, left) &&
	       is_token(v, space + 1, m->n - left - 1) && is_token(v, both->p, both->n);
}

/* All merges of all tokenizers: a new array. NULL with e filled. */
static struct merge *
gather(const struct unite *u, size_t *count, struct err *e)
{
	struct merge *list = NULL;
	size_t cap = 0, i, at, n;
	const uint8_t *p;

	*count = 0;
	for (i = 0; i < u->n; i++) {
		const struct meta *k = merges_of(&u->of[i]);

		for (at = HEAD; k && (p = word_list_next(k->wire, k->wire_bytes, &at, &n)); ++*count) {
			if (mem_grow(&list, &cap, *count + 1, sizeof *list) < 0) {
				free(list);
				err_memory(e);
				return NULL;
			}
			list[*count] = (struct merge){ p, n, *count, false };
		}
	}
	if (!list && !(list = mem_array(1, sizeof *list)))
		err_memory(e);
	return list;
}

/* Leave out what came before, and what is not a rule of the result. The first `own` all stay. */
static size_t
choose(struct merge *list, size_t n, size_t own, const struct vocab *v)
{
	struct buf both = { 0 };
	size_t i, left = 0;

	qsort(list, n, sizeof *list, by_text);
	for (i = 0; i < n; i++) {
		bool again = i > 0 && list[i].n == list[i - 1].n &&
		             memcmp(list[i].text, list[i - 1].text, list[i].n) == 0;

		list[i].left_out = list[i].order >= own && (again || !is_rule(v, &list[i], &both));
		left += !list[i].left_out;
	}
	buf_free(&both);
	qsort(list, n, sizeof *list, by_order);
	return left;
}

static int
put_merges(const struct unite *u, const struct vocab *v, struct model *keys, struct err *e)
{
	const struct meta *k = merges_of(u->of);
	size_t n, own, left, i;
	struct buf wire = { 0 };
	struct merge *list;

	if (!k)
		return 0;
	if (!(list = gather(u, &n, e)))
		return -1;
	own = (size_t)num_min(le64(k->wire + 4), n);
	left = choose(list, n, own, v);
	begin(&wire, NULL, VALUE_STRING, left);
	for (i = 0; i < n; i++)
		if (!list[i].left_out) {
			buf_u64(&wire, list[i].n);
			buf_put(&wire, list[i].text, list[i].n);
		}
	free(list);
	return put(keys, KEY "merges", VALUE_STRING, &wire, e);
}

/* ---- the whole ---- */

static int
index_texts(const struct unite *u, struct vocab *v, struct err *e)
{
	size_t i;

	for (i = 0; i < u->of->count + u->count; i++) {
		const struct word *w = i < u->of->count ? &u->of->word[i]
		                                        : word_of(u, &u->added[i - u->of->count]);

		if (vocab_add(v, w->text, w->n, TOKEN_NORMAL, 0, e) < 0)
			return -1;
	}
	return vocab_index(v, u->of->file, e);
}

int
unite_keys(const struct unite *u, struct model *keys, struct err *e)
{
	struct vocab v = { 0 };
	int r = index_texts(u, &v, e);

	if (r == 0)
		r = put_texts(u, keys, e) < 0 || put_types(u, keys, e) < 0 ||
		    put_scores(u, keys, e) < 0 || put_merges(u, &v, keys, e) < 0 ? -1 : 0;
	vocab_free(&v);
	model_unset_meta(keys, "tokenizer.huggingface.json"); /* states the tokens a second time */
	return r;
}
