#include "tokenizer/merge.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "tokenizer/tokenizer.h"

#define JOINED (TOKEN_NONE - 1) /* the id of a symbol that has become part of another */

int
merges_open(struct merges *m, size_t count, struct err *e)
{
	for (m->slots = 16; m->slots < 2 * count; m->slots *= 2)
		;
	m->slot = mem_array(m->slots, sizeof *m->slot);
	if (!m->slot)
		return err_memory(e);
	memset(m->slot, 0xff, m->slots * sizeof *m->slot);
	m->seed = hash_seed();
	return 0;
}

void
merges_free(struct merges *m)
{
	free(m->slot);
	*m = (struct merges){ 0 };
}

static struct merge_rule *
place(const struct merges *m, uint32_t left, uint32_t right)
{
	uint64_t h = (m->seed ^ ((uint64_t)left << 32 | right)) * 0x9e3779b97f4a7c15u;
	size_t i = (h ^ h >> 32) & (m->slots - 1);

	for (; m->slot[i].left != TOKEN_NONE; i = (i + 1) & (m->slots - 1))
		if (m->slot[i].left == left && m->slot[i].right == right)
			break;
	return &m->slot[i];
}

void
merges_add(struct merges *m, uint32_t left, uint32_t right, uint32_t rank, uint32_t to)
{
	struct merge_rule *r = place(m, left, right);

	if (r->left == TOKEN_NONE)
		*r = (struct merge_rule){ left, right, rank, to };
}

int
word_open(struct word *w, size_t n, struct err *e)
{
	/* It is written before it is read, so growing need not copy. */
	if (mem_grow(&w->id, &w->cap_id, n, sizeof *w->id) < 0 ||
	    mem_grow(&w->length, &w->cap, n, sizeof *w->length) < 0)
		return err_memory(e);
	return 0;
}

void
word_free(struct word *w)
{
	free(w->id);
	free(w->length);
	free(w->heap);
	*w = (struct word){ 0 };
}

/* ---- the heap ---- */

static bool
before(const struct candidate *a, const struct candidate *b)
{
	return a->key < b->key || (a->key == b->key && a->at < b->at);
}

static void
sift_down(struct word *w, size_t i)
{
	struct candidate c = w->heap[i];
	size_t child;

	while ((child = 2 * i + 1) < w->count) {
		if (child + 1 < w->count && before(&w->heap[child + 1], &w->heap[child]))
			child++;
		if (!before(&w->heap[child], &c))
			break;
		w->heap[i] = w->heap[child];
		i = child;
	}
	w->heap[i] = c;
}

static void
sift_up(struct word *w, size_t i)
{
	struct candidate c = w->heap[i];

	for (; i > 0 && before(&c, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = c;
}

/* ---- merging ---- */

/* Scores as integers of the same order, the highest first; -0 is 0. */
static uint32_t
score_key(float score)
{
	uint32_t bits;

	score += 0.0f;
	memcpy(&bits, &score, sizeof bits);
	return bits & 0x80000000u ? bits : ~(bits | 0x80000000u);
}

/* Whether the symbol at a byte can be joined with the next; then *c. */
static bool
pair(const struct word *w, const struct merges *m, const uint8_t *text, size_t n,
     size_t at, struct candidate *c)
{
	uint32_t left = w->length[at], right, id;
	const struct merge_rule *r;

	if (at + left >= n)
		return false;
	right = w->length[at + left];
	c->at = (uint32_t)at;
	c->bytes = left + right;
	if (m->slot) {
		r = place(m, w->id[at], w->id[at + left]);
		if (r->left == TOKEN_NONE)
			return false;
		c->key = r->rank;
		c->to = r->to;
		return true;
	}
	id = vocab_find(m->vocab, text + at, c->bytes);
	if (id == TOKEN_NONE)
		return false;
	c->key = score_key(m->vocab->token[id].score);
	c->to = id;
	return true;
}

static int
push(struct word *w, const struct candidate *c, struct err *e)
{
	if (w->count == w->cap_heap &&
	    mem_grow(&w->heap, &w->cap_heap, w->count + 1, sizeof *w->heap) < 0)
		return err_memory(e);
	w->heap[w->count++] = *c;
	return 0;
}

static int
push_pair(struct word *w, const struct merges *m, const uint8_t *text, size_t n,
          size_t at, struct err *e)
{
	struct candidate c;

	if (!pair(w, m, text, n, at, &c))
		return 0;
	if (push(w, &c, e) < 0)
		return -1;
	sift_up(w, w->count - 1);
	return 0;
}

int
word_merge(struct word *w, const struct merges *m, const uint8_t *text, size_t n,
           struct err *e)
{
	struct candidate c;
	size_t i, right;

	w->count = 0;
	for (i = 0; i < n; i += w->length[i])
		if (pair(w, m, text, n, i, &c) && push(w, &c, e) < 0)
			return -1;
	for (i = w->count / 2; i-- > 0;)
		sift_down(w, i);
	while (w->count > 0) {
		c = w->heap[0];
		w->heap[0] = w->heap[--w->count];
		if (w->count > 0)
			sift_down(w, 0);
		/* Both symbols are unchanged since the candidate was made if the left one is
		 * still a symbol and the sum of the lengths is the same: a symbol only grows,
		 * and the left one grows by taking the right one. */
		right = c.at + w->length[c.at];
		if (w->id[c.at] == JOINED || right >= n ||
		    w->length[c.at] + w->length[right] != c.bytes)
			continue;
		w->id[right] = JOINED;
		word_symbol(w, c.at, c.bytes, c.to);
		if (c.at > 0 &&
		    push_pair(w, m, text, n, c.at - w->length[c.at - 1], e) < 0)
			return -1;
		if (push_pair(w, m, text, n, c.at, e) < 0)
			return -1;
	}
	return 0;
}
