/* Which texts of a list, such as a vocabulary, are in one model and not in the other. */
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "diff/parts.h"

#define ITEMS ((uint64_t)1 << 20) /* longer lists are not compared item by item */
#define WINDOW 65536

/* The wire bytes of a value, from a window of them. */
struct value {
	const struct side *side;
	const struct meta *key;
	uint64_t bytes, at; /* at: of the next byte that is read */
	uint8_t window[WINDOW];
	uint64_t from;      /* of the window */
	size_t n;
};

static int
fill(struct value *v, struct err *e)
{
	const struct side_blob *b;

	v->from = v->at;
	v->n = (size_t)num_min(WINDOW, v->bytes - v->at);
	if (v->key->wire) {
		memcpy(v->window, v->key->wire + v->at, v->n);
		return 0;
	}
	b = &v->side->blobs[v->key->blob];
	return spool_get((struct spool *)(uintptr_t)&v->side->spool, b->at + v->at, v->window, v->n,
	                 e);
}

/* The next n bytes, or as many as fit into to; the others are passed over, and hashed as well if
 * hash is given. 0; 1 if the value ends before; -1. */
static int
take(struct value *v, uint64_t n, uint8_t *to, size_t room, struct sha256 *hash, struct err *e)
{
	size_t part;

	if (n > v->bytes - v->at)
		return 1;
	for (; n > 0; n -= part) {
		if ((v->at < v->from || v->at - v->from >= v->n) && fill(v, e) < 0)
			return -1;
		part = (size_t)num_min(n, v->n - (v->at - v->from));
		if (hash)
			sha256_add(hash, v->window + (v->at - v->from), part);
		if (room > 0) {
			size_t copy = part < room ? part : room;

			memcpy(to, v->window + (v->at - v->from), copy);
			to += copy;
			room -= copy;
		}
		v->at += part;
	}
	return 0;
}

/* The number of texts in a list; -1 if it is not one, or too long. The value is then at its first
 * text. */
static int
open_list(struct value *v, const struct side *s, const struct meta *k, uint64_t *count,
          struct err *e)
{
	uint8_t head[12];
	int r;

	*v = (struct value){ .side = s, .key = k,
		.bytes = k->wire ? k->wire_bytes : s->plan->blobs[k->blob].bytes };
	if (k->type.depth != 1 || k->type.leaf != VALUE_STRING)
		return 1;
	r = take(v, sizeof head, head, sizeof head, NULL, e);
	if (r != 0)
		return r;
	*count = le64(head + 4);
	return *count > ITEMS || *count > v->bytes / 8;
}

/* ---- texts by their digests ---- */

struct text {
	uint8_t digest[12]; /* of SHA-256 */
	uint32_t index;
};

static int
read_texts(struct value *v, struct text *to, uint64_t count, struct err *e)
{
	struct digest digest;
	struct sha256 hash;
	uint8_t length[8];
	uint32_t i;
	int r;

	for (i = 0; i < count; i++) {
		r = take(v, sizeof length, length, sizeof length, NULL, e);
		if (r != 0)
			return r;
		sha256_start(&hash);
		r = take(v, le64(length), NULL, 0, &hash, e);
		if (sha256_finish(&hash, &digest, e) < 0 || r < 0)
			return -1;
		if (r != 0)
			return r;
		memcpy(to[i].digest, digest.b, sizeof to[i].digest);
		to[i].index = i;
	}
	return 0;
}

static int
by_digest(const void *a, const void *b)
{
	const struct text *x = a, *y = b;

	return memcmp(x->digest, y->digest, sizeof x->digest);
}

static int
by_digest_and_index(const void *a, const void *b)
{
	const struct text *x = a, *y = b;
	int order = by_digest(a, b);

	return order ? order : x->index < y->index ? -1 : x->index > y->index;
}

/* A text that only one list has: keep the first indexes, in their order. */
static void
keep(uint32_t first[DIFF_TEXTS], uint64_t *count, uint32_t index)
{
	size_t n = (size_t)num_min(*count, DIFF_TEXTS), i;

	(*count)++;
	for (i = n; i > 0 && first[i - 1] > index; i--)
		if (i < DIFF_TEXTS)
			first[i] = first[i - 1];
	if (i < DIFF_TEXTS)
		first[i] = index;
}

/* Read the texts with these indexes. */
static int
read_first(struct value *v, const uint32_t *first, size_t n, struct diff_text *to,
           struct err *e)
{
	uint8_t length[8];
	uint32_t i;
	size_t k = 0;
	int r = 0;

	v->at = 12;
	for (i = 0; r == 0 && k < n; i++) {
		r = take(v, sizeof length, length, sizeof length, NULL, e);
		if (r == 0 && i == first[k]) {
			uint64_t size = le64(length);

			to[k].n = (uint32_t)num_min(size, DIFF_TEXT);
			to[k].cut = size > DIFF_TEXT;
			r = take(v, size, (uint8_t *)to[k].text, DIFF_TEXT, NULL, e);
			k++;
		} else if (r == 0) {
			r = take(v, le64(length), NULL, 0, NULL, e);
		}
	}
	return r < 0 ? -1 : 0;
}

/* ---- both lists ---- */

struct lists {
	struct value v[2];
	struct text *text[2];
	uint64_t n[2];
	uint32_t first[2][DIFF_TEXTS];
};

static int
read_lists(struct lists *l, const struct diff *d, const struct meta *const key[2],
           struct err *e)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < 2; i++)
		r = open_list(&l->v[i], &d->side[i], key[i], &l->n[i], e);
	for (i = 0; r == 0 && i < 2; i++) {
		l->text[i] = mem_array((size_t)l->n[i], sizeof *l->text[i]);
		r = l->text[i] ? read_texts(&l->v[i], l->text[i], l->n[i], e) : err_memory(e);
	}
	return r;
}

static int
compare_lists(struct lists *l, struct diff_list *to, struct err *e)
{
	uint64_t i = 0, k = 0;

	to->known = true;
	qsort(l->text[0], (size_t)l->n[0], sizeof *l->text[0], by_digest_and_index);
	qsort(l->text[1], (size_t)l->n[1], sizeof *l->text[1], by_digest_and_index);
	while (i < l->n[0] || k < l->n[1]) {
		int order = i == l->n[0] ? 1 : k == l->n[1] ? -1 :
		            by_digest(&l->text[0][i], &l->text[1][k]);

		if (order < 0)
			keep(l->first[0], &to->removed, l->text[0][i].index);
		if (order > 0)
			keep(l->first[1], &to->added, l->text[1][k].index);
		i += order <= 0;
		k += order >= 0;
	}
	return read_first(&l->v[0], l->first[0], (size_t)num_min(to->removed, DIFF_TEXTS),
	                  to->first[0], e) < 0 ||
	       read_first(&l->v[1], l->first[1], (size_t)num_min(to->added, DIFF_TEXTS),
	                  to->first[1], e) < 0 ? -1 : 0;
}

struct diff_list *
diff_lists(const struct diff *d, const struct meta *a, const struct meta *b, struct err *e)
{
	const struct meta *const key[2] = { a, b };
	struct diff_list *to = NULL;
	struct lists *l = NULL;
	int r;

	if (a->type.depth != 1 || a->type.leaf != VALUE_STRING || b->type.depth != 1 ||
	    b->type.leaf != VALUE_STRING)
		return NULL;
	l = mem_array(1, sizeof *l);
	to = mem_array(1, sizeof *to);
	r = l && to ? read_lists(l, d, key, e) : err_memory(e);
	if (r == 0)
		r = compare_lists(l, to, e);
	if (l) {
		free(l->text[0]);
		free(l->text[1]);
	}
	free(l);
	if (r < 0) {
		free(to);
		to = NULL;
	}
	return to;
}
