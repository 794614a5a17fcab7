#include "tokenizer/unigram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "tokenizer/tokenizer.h"

/* ---- the trie ---- */

/* Part of the sorted tokens: those that begin with the bytes of a node. */
struct span {
	uint32_t from, to, depth;
};

struct building {
	struct unigram *u;
	const struct vocab *v;
	uint32_t *order;    /* ids, sorted by their texts */
	size_t n;
	struct span *span;  /* by node */
};

static int
by_text(const void *a, const void *b, void *v)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct token *s = &((const struct vocab *)v)->token[x];
	const struct token *t = &((const struct vocab *)v)->token[y];
	size_t n = s->text_bytes < t->text_bytes ? s->text_bytes : t->text_bytes;
	int d = memcmp(vocab_text(v, x), vocab_text(v, y), n);

	return d ? d : (s->text_bytes > t->text_bytes) - (s->text_bytes < t->text_bytes);
}

/* The tokens of the trie, sorted. */
static int
choose(struct building *b, unsigned kinds, const char *what, struct err *e)
{
	const struct vocab *v = b->v;
	size_t i;

	b->order = mem_array(v->count, sizeof *b->order);
	if (!b->order)
		return err_memory(e);
	b->u->longest = 4;
	for (i = 0; i < v->count; i++) {
		const struct token *t = &v->token[i];

		if (!(kinds >> t->kind & 1) || t->text_bytes == 0 ||
		    (t->flags & TOKEN_ADDED && t->text_bytes > UNIGRAM_LONGEST))
			continue;
		if (t->text_bytes > UNIGRAM_LONGEST)
			return err_set(e, ERR_FORMAT, what, "token %zu has %u bytes; Unigram cuts a "
			               "text into tokens of at most %d", i, t->text_bytes, UNIGRAM_LONGEST);
		if (t->text_bytes > b->u->longest)
			b->u->longest = t->text_bytes;
		b->order[b->n++] = (uint32_t)i;
	}
	qsort_r(b->order, b->n, sizeof *b->order, by_text, (void *)(uintptr_t)v);
	return 0;
}

/* Each token adds the bytes that it does not share with the token before. */
static size_t
count_nodes(const struct building *b)
{
	size_t i, k, nodes = 1;

	for (i = 0; i < b->n; i++) {
		const uint8_t *p = vocab_text(b->v, b->order[i]);
		const uint8_t *q = i ? vocab_text(b->v, b->order[i - 1]) : p;
		size_t n = b->v->token[b->order[i]].text_bytes;
		size_t m = i ? b->v->token[b->order[i - 1]].text_bytes : 0;

		for (k = 0; k < n && k < m && p[k] == q[k]; k++)
			;
		nodes += n - k;
	}
	return nodes;
}

/* Give a node its token and its children. */
static void
add_children(struct building *b, size_t node)
{
	struct unigram *u = b->u;
	struct span r = b->span[node];
	uint32_t i;

	u->id[node] = TOKEN_NONE;
	u->first[node] = (uint32_t)u->nodes;
	if (r.from < r.to && b->v->token[b->order[r.from]].text_bytes == r.depth)
		u->id[node] = b->order[r.from++];
	for (i = r.from; i < r.to; i++) {
		uint8_t c = vocab_text(b->v, b->order[i])[r.depth];

		if (i == r.from || u->byte[u->nodes - 1] != c) {
			u->byte[u->nodes] = c;
			b->span[u->nodes++] = (struct span){ i, i, r.depth + 1 };
		}
		b->span[u->nodes - 1].to = i + 1;
	}
}

static int
build(struct building *b, struct err *e)
{
	struct unigram *u = b->u;
	size_t i, nodes = count_nodes(b);

	if (nodes >= UINT32_MAX)
		return err_memory(e);
	u->first = mem_array(nodes + 1, sizeof *u->first);
	u->id = mem_array(nodes, sizeof *u->id);
	u->byte = mem_array(nodes, 1);
	u->best = mem_array(u->longest + 1, sizeof *u->best);
	b->span = mem_array(nodes, sizeof *b->span);
	if (!u->first || !u->id || !u->byte || !u->best || !b->span)
		return err_memory(e);
	b->span[0].to = (uint32_t)b->n;
	u->nodes = 1;
	for (i = 0; i < u->nodes; i++)
		add_children(b, i);
	u->first[u->nodes] = (uint32_t)u->nodes;
	return 0;
}

int
unigram_open(struct unigram *u, const struct vocab *v, unsigned kinds, double *score,
             double unknown, const char *what, struct err *e)
{
	struct building b = { .u = u, .v = v };
	int r;

	*u = (struct unigram){ .score = score, .unknown = unknown };
	r = choose(&b, kinds, what, e) < 0 || build(&b, e) < 0 ? -1 : 0;
	free(b.order);
	free(b.span);
	return r;
}

void
unigram_free(struct unigram *u)
{
	free(u->first);
	free(u->id);
	free(u->byte);
	free(u->score);
	free(u->best);
	*u = (struct unigram){ 0 };
}

/* ---- the search ---- */

/* The best way to each end so far: w has its last token at its last byte, with a length of 0 for an end
 * that was not reached; best has its sum. */
static void
offer(struct unigram *u, struct word *w, size_t end, size_t bytes, uint32_t id, double sum)
{
	double *best = &u->best[end % (u->longest + 1)];

	if (w->length[end - 1] == 0 || sum > *best) {
		*best = sum;
		w->id[end - 1] = id;
		w->length[end - 1] = (uint32_t)bytes;
	}
}

/* All tokens that begin at a character of n bytes. */
static void
try_tokens(struct unigram *u, struct word *w, const uint8_t *text, size_t at, size_t end,
           size_t n)
{
	double sum = u->best[at % (u->longest + 1)];
	uint32_t node = 0, id;
	const uint8_t *child;
	bool single = false;
	size_t i;

	for (i = at; i < end; i++) {
		child = memchr(u->byte + u->first[node], text[i],
		               u->first[node + 1] - u->first[node]);
		if (!child)
			break;
		node = (uint32_t)(child - u->byte);
		id = u->id[node];
		if (id == TOKEN_NONE)
			continue;
		single = single || i + 1 - at == n;
		offer(u, w, i + 1, i + 1 - at, id, sum + u->score[id]);
	}
	if (!single)
		offer(u, w, at + n, n, TOKEN_NONE, sum + u->unknown);
}

/* The symbols of the best way, from its end to its beginning. Each takes the place of an end that the
 * way does not touch. */
static void
set_symbols(struct word *w, size_t n)
{
	size_t bytes;

	for (; n > 0; n -= bytes) {
		bytes = w->length[n - 1];
		word_symbol(w, n - bytes, bytes, w->id[n - 1]);
	}
}

int
unigram_cut(struct unigram *u, struct word *w, const uint8_t *text, size_t n, struct err *e)
{
	size_t at, bytes;
	uint32_t c;

	if (word_open(w, n, e) < 0)
		return -1;
	memset(w->length, 0, n * sizeof *w->length);
	u->best[0] = 0;
	for (at = 0; at < n; at += bytes) {
		bytes = text_character(text + at, n - at, &c);
		bytes = bytes ? bytes : 1;
		try_tokens(u, w, text, at, n, bytes);
	}
	set_symbols(w, n);
	return 0;
}
