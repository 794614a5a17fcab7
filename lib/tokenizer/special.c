#include "tokenizer/special.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "tokenizer/tokenizer.h"

static int
longer(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? 1 : *x > *y ? -1 : 0;
}

int
special_open(struct special *s, const struct vocab *v, const char *what, struct err *e)
{
	size_t i, cap = 0, n = 0, kept = 0;
	const uint8_t *text;

	memset(s, 0, sizeof *s);
	for (i = 0; i < v->count; i++) {
		if (!(v->token[i].flags & TOKEN_ADDED) || v->token[i].text_bytes == 0)
			continue;
		if (mem_grow(&s->length, &cap, n + 1, sizeof *s->length) < 0)
			return err_memory(e);
		s->length[n++] = v->token[i].text_bytes;
		text = vocab_text(v, (uint32_t)i);
		if (v->token[i].text_bytes == 1)
			s->single[text[0]] = true;
		else
			s->begins[text[1] << 5 | text[0] >> 3] |= (uint8_t)(1 << (text[0] & 7));
	}
	if (n > 0)
		qsort(s->length, n, sizeof *s->length, longer);
	for (i = 0; i < n; i++)
		if (i == 0 || s->length[i] != s->length[kept - 1])
			s->length[kept++] = s->length[i];
	s->lengths = kept;
	if (kept > SPECIAL_LENGTHS)
		return err_set(e, ERR_CORRUPT, what, "added tokens have %zu different lengths",
		               kept);
	return 0;
}

void
special_free(struct special *s)
{
	free(s->length);
	memset(s, 0, sizeof *s);
}

/* ---- finding ---- */

struct search {
	const struct special *s;
	const struct vocab *v;
	const uint8_t *text;
	size_t n;
	uint8_t *taken;    /* a bit for each byte that is part of a token */
	uint32_t *at;      /* places where a token can begin */
	size_t places, cap;
	struct fragments *found; /* tokens, not in order */
	struct work *work;
};

static bool
is_taken(const struct search *f, size_t i)
{
	return f->taken[i >> 3] >> (i & 7) & 1;
}

static int
find_places(struct search *f, struct err *e)
{
	size_t i;

	for (i = 0; i < f->n; i++) {
		const uint8_t *p = f->text + i;

		if (!f->s->single[p[0]] &&
		    (i + 1 == f->n ||
		     !(f->s->begins[p[1] << 5 | p[0] >> 3] >> (p[0] & 7) & 1)))
			continue;
		if (f->places == f->cap &&
		    mem_grow(&f->at, &f->cap, f->places + 1, sizeof *f->at) < 0)
			return err_memory(e);
		f->at[f->places++] = (uint32_t)i;
	}
	return 0;
}

/* Whether the character before or after a place is part of a word. */
static bool
in_word(const uint8_t *p, size_t n)
{
	return n > 0 && (isalnum(*p) || *p == '_' || *p >= 0x80);
}

static bool
stands_alone(const struct search *f, size_t from, size_t to)
{
	return !(from > 0 && in_word(f->text + from - 1, 1)) &&
	       !in_word(f->text + to, f->n - to);
}

static int
take(struct search *f, size_t from, size_t to, uint32_t id, struct err *e)
{
	const struct token *t = &f->v->token[id];
	size_t i;

	if (t->flags & TOKEN_STRIP_LEFT)
		while (from > 0 && !is_taken(f, from - 1) && isspace(f->text[from - 1]))
			from--;
	if (t->flags & TOKEN_STRIP_RIGHT)
		while (to < f->n && !is_taken(f, to) && isspace(f->text[to]))
			to++;
	for (i = from; i < to; i++)
		f->taken[i >> 3] |= (uint8_t)(1 << (i & 7));
	if (mem_grow(&f->found->p, &f->found->cap, f->found->n + 1, sizeof *f->found->p) < 0)
		return err_memory(e);
	f->found->p[f->found->n++] =
		(struct fragment){ (uint32_t)from, (uint32_t)to, id };
	return 0;
}

#define HASHED 64 /* bytes of a token that one step of work hashes */

static int
find_length(struct search *f, uint32_t length,
            bool (*wanted)(const struct token *t, void *ctx), void *ctx, struct err *e)
{
	size_t i, from;
	uint32_t id;

	for (i = 0; i < f->places; i++) {
		from = f->at[i];
		if (from + length > f->n)
			break;
		if (is_taken(f, from) || is_taken(f, from + length - 1))
			continue;
		/* For texts that are almost tokens of many lengths, the time is the product
		 * of both. */
		if (work_take(f->work, 1 + length / HASHED) < 0)
			return err_set(e, ERR_MEMORY, NULL, "finding added tokens in the text takes "
			               "too long");
		id = vocab_find(f->v, f->text + from, length);
		if (id == TOKEN_NONE || !(f->v->token[id].flags & TOKEN_ADDED) ||
		    !wanted(&f->v->token[id], ctx))
			continue;
		if (f->v->token[id].flags & TOKEN_WORD && !stands_alone(f, from, from + length))
			continue;
		if (take(f, from, from + length, id, e) < 0)
			return -1;
	}
	return 0;
}

static int
by_place(const void *a, const void *b)
{
	const struct fragment *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* The tokens found, and the text between them. */
static int
fill_gaps(const struct search *f, struct fragments *to, struct err *e)
{
	size_t i, at = 0, next;

	for (i = 0; i <= f->found->n; i++) {
		next = i < f->found->n ? f->found->p[i].from : f->n;
		if (mem_grow(&to->p, &to->cap, to->n + 2, sizeof *to->p) < 0)
			return err_memory(e);
		if (next > at)
			to->p[to->n++] =
				(struct fragment){ (uint32_t)at, (uint32_t)next, TOKEN_NONE };
		if (i < f->found->n) {
			to->p[to->n++] = f->found->p[i];
			at = f->found->p[i].to;
		}
	}
	return 0;
}

int
special_find(const struct special *s, const struct vocab *v, const uint8_t *text,
             size_t n, bool (*wanted)(const struct token *t, void *ctx), void *ctx,
             struct fragments *to, struct work *work, struct err *e)
{
	struct fragments found = { 0 };
	struct search f = { .s = s, .v = v, .text = text, .n = n, .found = &found,
		.work = work };
	size_t i;
	int r = -1;

	if (find_places(&f, e) < 0)
		goto end;
	if (f.places > 0) {
		f.taken = mem_array(n / 8 + 1, 1);
		if (!f.taken) {
			err_memory(e);
			goto end;
		}
		for (i = 0; i < s->lengths; i++)
			if (find_length(&f, s->length[i], wanted, ctx, e) < 0)
				goto end;
		if (found.n > 0)
			qsort(found.p, found.n, sizeof *found.p, by_place);
	}
	r = fill_gaps(&f, to, e);
end:
	free(f.taken);
	free(f.at);
	free(found.p);
	return r;
}
