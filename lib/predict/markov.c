/* N-grams as counts: the payload of NGRAM_LM (MarkovModel), which says how often each word followed each
 * context; a context is the words in front of it, joined by spaces, and the empty one begins a line.
 *
 *     S(w | c) = count(c, w) / (sum of the counts of c)   if w ever followed c
 *              = 0.4 S(w | c without its first word)       if not
 *
 * c: up to n words in front of w, because the training of aprender-shell, from which the counts come,
 * joins n of them. S is a probability only for the first line, and a score for the second. Source: Brants,
 * Popat, Xu, Och, Dean: Large Language Models in Machine Translation, 2007 ("stupid backoff", with its
 * weight of 0.4); aprender-shell itself looks at one context only, and says nothing of a line.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/text.h"
#include "predict/grams.h"
#include "predict/markov.h"
#include "predict/readers.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/vocab.h"

#define BACKOFF 0.4

struct next {
	const uint8_t *p;
	size_t n;
	uint32_t count;
};

struct markov {
	struct vocab contexts;
	struct buf text;     /* the bytes of next */
	struct next *next;   /* of each context in the order of their bytes */
	size_t *from;        /* for each context, and the end */
	uint64_t *total;
	uint32_t empty;      /* the empty context, or TOKEN_NONE */
	size_t order;
};

/* ---- the model ---- */

static void
markov_free(void *more)
{
	struct markov *g = more;

	vocab_free(&g->contexts);
	buf_free(&g->text);
	free(g->next);
	free(g->from);
	free(g->total);
	free(g);
}

static int
wrong(const char *where, const char *what, struct err *e)
{
	return err_set(e, ERR_CORRUPT, where, "%s", what);
}

/* The bytes of text i, if they are in what is left of all; *at goes behind them. */
static bool
take(const struct markov_texts *x, size_t i, size_t *at, const uint8_t **p, size_t *n)
{
	uint64_t bytes = le64(x->lengths + i * 8);

	if (bytes > x->bytes - *at || bytes > UINT32_MAX)
		return false;
	*p = x->text + *at;
	*n = (size_t)bytes;
	*at += *n;
	return *n == 0 || text_utf8(*p, *n, true);
}

static int
order_of(const struct next *a, const uint8_t *p, size_t n)
{
	size_t less = a->n < n ? a->n : n;
	int r = less ? memcmp(a->p, p, less) : 0;

	return r ? r : (a->n > n) - (a->n < n);
}

static int
by_text(const void *a, const void *b)
{
	const struct next *y = b;

	return order_of(a, y->p, y->n);
}

static int
read_contexts(struct markov *g, const struct markov_counts *c, const char *where, struct err *e)
{
	const uint8_t *p;
	size_t i, n, at = 0, all = 0;

	g->empty = TOKEN_NONE;
	for (i = 0; i < c->contexts.n; i++) {
		uint64_t size = le64(c->sizes + i * 8);

		if (!take(&c->contexts, i, &at, &p, &n) || size > c->nexts.n - all)
			return wrong(where, "the contexts have another length than their texts", e);
		if (n == 0 && g->empty != TOKEN_NONE)
			return wrong(where, "a context is there twice", e);
		g->empty = n == 0 ? (uint32_t)i : g->empty;
		if (vocab_add(&g->contexts, p, n, TOKEN_NORMAL, 0, e) < 0)
			return -1;
		g->from[i] = all;
		all += (size_t)size;
	}
	g->from[i] = all;
	if (at != c->contexts.bytes || all != c->nexts.n)
		return wrong(where, "the contexts have another number of words than the list", e);
	return vocab_index(&g->contexts, where, e);
}

static int
read_next(struct markov *g, const struct markov_counts *c, const char *where, struct err *e)
{
	const struct markov_texts copy = { g->text.p, c->nexts.lengths, c->nexts.bytes, c->nexts.n };
	size_t i, k, at = 0;

	for (i = 0; i < c->nexts.n; i++) {
		struct next *x = &g->next[i];
		const char *word, *p;

		if (!take(&copy, i, &at, &x->p, &x->n))
			return wrong(where, "the words have another length than their texts", e);
		p = (const char *)x->p;
		if (grams_word(&p, p + x->n, &word) != x->n)
			return wrong(where, "a word has white space", e);
		x->count = le32(c->counts + i * 4);
	}
	if (at != c->nexts.bytes)
		return wrong(where, "the words have another length than their texts", e);
	for (i = 0; i < c->contexts.n; i++) {
		qsort(g->next + g->from[i], g->from[i + 1] - g->from[i], sizeof *g->next, by_text);
		for (k = g->from[i]; k < g->from[i + 1]; k++) {
			if (k > g->from[i] && by_text(&g->next[k - 1], &g->next[k]) == 0)
				return wrong(where, "a word follows a context twice", e);
			g->total[i] += g->next[k].count;
		}
	}
	return 0;
}

/* ---- texts ---- */

/* The context of the words from a place in the line on. */
static uint32_t
find(const struct markov *g, const struct buf *line, size_t from)
{
	return from >= line->n ? g->empty : vocab_find(&g->contexts, line->p + from, line->n - from);
}

static uint32_t
count(const struct markov *g, uint32_t context, const char *word, size_t n)
{
	size_t low = g->from[context], high = g->from[context + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int r = order_of(&g->next[middle], (const uint8_t *)word, n);

		if (r == 0)
			return g->next[middle].count;
		if (r < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

/* A text so far: its words joined by spaces, and where the last of them begin. */
struct so_far {
	struct buf line;
	size_t at[GRAMS_ORDER];
	size_t words; /* of at, at most the model's order */
};

static void
go_on(struct so_far *x, size_t order, const void *word, size_t n)
{
	if (x->words == order)
		memmove(x->at, x->at + 1, --x->words * sizeof *x->at);
	if (x->line.n)
		buf_u8(&x->line, ' ');
	x->at[x->words++] = x->line.n;
	buf_put(&x->line, word, n);
}

/* log10 S; *unknown grows if the word never followed, not even the empty context. */
static double
log_of(const struct markov *g, const struct so_far *x, const char *word, size_t n, double *unknown)
{
	double weight = 0;
	size_t i;

	for (i = 0; i <= x->words; i++, weight += log10(BACKOFF)) {
		uint32_t c = find(g, &x->line, i < x->words ? x->at[i] : x->line.n);
		uint32_t times = c == TOKEN_NONE ? 0 : count(g, c, word, n);

		if (times > 0)
			return weight + log10((double)times / (double)g->total[c]);
	}
	++*unknown;
	return GRAMS_UNKNOWN;
}

/* log10 of the product of S, words, unknown words. */
static int
score(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	const struct markov *g = s->more;
	struct so_far so_far = { .words = 0 };
	const char *p, *word;
	size_t i, n;
	double *to;

	if (step_rows_begin(spare, x->n, s->out, e) < 0)
		return -1;
	for (i = 0; i < x->n; i++) {
		buf_clear(&so_far.line);
		so_far.words = 0;
		to = step_row(spare, i);
		p = x->texts[i].p;
		while ((n = grams_word(&p, x->texts[i].p + x->texts[i].n, &word)) > 0 && buf_ok(&so_far.line)) {
			to[0] += log_of(g, &so_far, word, n, &to[2]);
			to[1]++;
			go_on(&so_far, g->order, word, n);
		}
		if (!buf_ok(&so_far.line))
			break;
	}
	buf_free(&so_far.line);
	if (i < x->n)
		return err_memory(e);
	step_rows_swap(x, spare);
	return 0;
}

static const struct step_kind step_markov = { "counts of n-grams", true, false, score };

/* The word that follows by chance; NULL if none ever followed. */
static const struct next *
choose(const struct markov *g, uint32_t context, double r)
{
	uint64_t sum = 0, at;
	size_t i;

	if (context == TOKEN_NONE || g->total[context] == 0)
		return NULL;
	at = (uint64_t)(r * (double)g->total[context]);
	for (i = g->from[context]; i + 1 < g->from[context + 1]; i++) {
		sum += g->next[i].count;
		if (sum > at)
			break;
	}
	return &g->next[i];
}

/* A line ends where no word followed its last n words, or all of them if they are fewer; and with an
 * empty word, which aprender-shell does not write. */
int
markov_generate(const struct step *s, uint64_t key, struct buf *to)
{
	const struct markov *g = s->more;
	struct so_far x = { .words = 0 };
	const struct next *next;
	size_t i;

	if (s->kind != &step_markov)
		return 0;
	for (i = 0; i < ARPA_WORDS; i++) {
		next = choose(g, find(g, &x.line, x.words ? x.at[0] : 0), grams_chance(key, i));
		if (!next || next->n == 0 || !buf_ok(&x.line))
			break;
		go_on(&x, g->order, next->p, next->n);
	}
	buf_put(to, x.line.p, x.line.n);
	buf_text(to, "\n");
	i = buf_ok(&x.line) && buf_ok(to);
	buf_free(&x.line);
	return i ? 1 : -1;
}

/* ---- the step ---- */

int
markov_read(struct predictor *m, const struct markov_counts *c, const char *where, struct err *e)
{
	struct markov *g = mem_array(1, sizeof *g);
	struct step *s = g ? predictor_add_step(m) : NULL;

	if (!s) {
		free(g);
		return err_memory(e);
	}
	*s = (struct step){ .kind = &step_markov, .in = 1, .out = 3, .more = g, .free_more = markov_free };
	m->kind = "n-grams";
	m->form = PREDICT_STEPS;
	m->task = PREDICT_VALUE;
	if (c->order < 1 || c->order > GRAMS_ORDER)
		return err_set(e, ERR_CORRUPT, where, "n-grams of %" PRIu64 " words", c->order);
	g->order = (size_t)c->order;
	g->next = mem_array(c->nexts.n + 1, sizeof *g->next);
	g->from = mem_array(c->contexts.n + 1, sizeof *g->from);
	g->total = mem_array(c->contexts.n + 1, sizeof *g->total);
	buf_put(&g->text, c->nexts.text, c->nexts.bytes);
	if (!g->next || !g->from || !g->total || !buf_ok(&g->text))
		return err_memory(e);
	return read_contexts(g, c, where, e) < 0 || read_next(g, c, where, e) < 0 ? -1 : 0;
}
