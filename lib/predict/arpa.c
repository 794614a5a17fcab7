/* N-grams in ARPA's text form, and what they say of texts:
 *
 *     \data\
 *     ngram N=COUNT          for each length N
 *
 *     \N-grams:
 *     LOG10<TAB>WORD ...<TAB>LOG10 OF THE WEIGHT OF BACKING OFF
 *
 *     \end\
 *
 * log10 P(w | context) is that of the longest n-gram in the list, plus the weights of the contexts
 * that had to be given up (Katz: Estimation of Probabilities from Sparse Data, 1987). Kneser-Ney and
 * other ways to estimate are part of the numbers.
 *
 * Source: the page ngram-format(5) of SRILM.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/philox.h"
#include "core/text.h"
#include "predict/decimal.h"
#include "predict/grams.h"
#include "predict/readers.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/vocab.h"

struct span {
	size_t at, n;
};

/* ---- a file ---- */

struct arpa {
	struct gram_list *g;
	const char *p, *end, *where;
	uint64_t line;
	uint64_t counts[GRAMS_ORDER];
	struct err *e;
};

static int
wrong(const struct arpa *a, const char *what)
{
	return err_set(a->e, ERR_CORRUPT, a->where, "line %" PRIu64 ": %s", a->line, what);
}

/* The next line that is not empty, without white space at its ends. False at the end of the file. */
static bool
next_line(struct arpa *a, const char **line, size_t *n)
{
	const char *stop, *p;

	while (a->p < a->end) {
		p = a->p;
		stop = memchr(p, '\n', (size_t)(a->end - p));
		stop = stop ? stop : a->end;
		a->p = stop < a->end ? stop + 1 : stop;
		a->line++;
		while (stop > p && (stop[-1] == '\r' || stop[-1] == ' ' || stop[-1] == '\t'))
			stop--;
		*line = p;
		*n = (size_t)(stop - p);
		if (*n > 0)
			return true;
	}
	return false;
}

static bool
is(const char *line, size_t n, const char *text)
{
	return n == strlen(text) && memcmp(line, text, n) == 0;
}

/* The lines "ngram N=COUNT"; ends with the first line of another kind. */
static int
read_counts(struct arpa *a, const char **line, size_t *length)
{
	while (next_line(a, line, length) && !is(*line, *length, "\\data\\"))
		;
	while (next_line(a, line, length) && *length > 6 && memcmp(*line, "ngram ", 6) == 0) {
		const char *p = *line + 6, *end = *line + *length;
		double n = decimal_read(&p, end), count = -1;

		if (p < end && *p == '=') {
			p++;
			count = decimal_read(&p, end);
		}
		if (n != (double)(a->g->order + 1) || n > GRAMS_ORDER || p != end || !(count >= 0 && count < UINT32_MAX))
			return wrong(a, "the number of n-grams of each length, up to 16, is expected");
		a->counts[a->g->order++] = (uint64_t)count;
	}
	return a->g->order ? 0 : wrong(a, "the list of numbers of n-grams is empty");
}

/* Words between white space become words with one space between them. Returns how many. */
static size_t
join(const char *p, const char *end, struct buf *to)
{
	const char *from;
	size_t n = 0;

	for (;;) {
		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
		for (from = p; p < end && *p != ' ' && *p != '\t'; p++)
			;
		if (p == from)
			return n;
		if (n++)
			buf_u8(to, ' ');
		buf_put(to, from, (size_t)(p - from));
	}
}

/* The place behind n words. */
static const char *
behind(const char *p, const char *end, size_t n)
{
	for (; n > 0; n--) {
		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
		while (p < end && *p != ' ' && *p != '\t')
			p++;
	}
	return p;
}

static int
read_gram(struct arpa *a, const char *line, size_t length, size_t n, struct buf *text)
{
	const char *p = line, *end = line + length, *stop;
	double log = decimal_read(&p, end), back = 0;

	if (p == line || p == end || (*p != '\t' && *p != ' ') || !(log <= 0 && isfinite(log)))
		return wrong(a, "the logarithm of a probability is expected");
	stop = behind(p, end, n);
	buf_clear(text);
	if (join(p, stop, text) != n || !text_utf8(text->p, text->n, false))
		return wrong(a, "an n-gram has another number of words, or is not UTF-8");
	for (p = stop; p < end && (*p == ' ' || *p == '\t'); p++)
		;
	if (p < end)
		back = decimal_read(&p, end);
	if (p != end || !isfinite(back))
		return wrong(a, "the weight of an n-gram is not a number");
	buf_put(&a->g->log, &log, sizeof log);
	buf_put(&a->g->back, &back, sizeof back);
	return buf_ok(&a->g->log) && buf_ok(&a->g->back)
	           ? vocab_add(&a->g->texts, text->p, text->n, TOKEN_NORMAL, 0, a->e) : err_memory(a->e);
}

/* A list of n-grams; ends with the first line that begins with a backslash. */
static int
read_grams(struct arpa *a, size_t n, const char **line, size_t *length)
{
	char head[16];
	struct buf text = { 0 };
	uint64_t count = 0;
	int r = 0;

	snprintf(head, sizeof head, "\\%zu-grams:", n);
	if (!is(*line, *length, head))
		return wrong(a, "another list of n-grams is expected");
	while (r == 0 && next_line(a, line, length) && **line != '\\') {
		r = read_gram(a, *line, *length, n, &text);
		count++;
	}
	buf_free(&text);
	return r < 0 ? -1 : count == a->counts[n - 1] ? 0
	       : wrong(a, "the list has another number of n-grams than the beginning of the file says");
}

void
grams_free(void *p)
{
	struct gram_list *g = p;

	if (!g)
		return;
	vocab_free(&g->texts);
	buf_free(&g->log);
	buf_free(&g->back);
	free(g);
}

static bool
has(const struct gram_list *g, const char *word)
{
	return vocab_find(&g->texts, word, strlen(word)) != TOKEN_NONE;
}

int
grams_index(struct gram_list *g, const char *where, struct err *e)
{
	if (vocab_index(&g->texts, where, e) < 0)
		return -1;
	g->begins = has(g, "<s>");
	g->ends = has(g, "</s>");
	g->knows_unknown = has(g, "<unk>");
	return 0;
}

static int
read_file(struct arpa *a)
{
	const char *line = "";
	size_t n, length = 0;

	if (read_counts(a, &line, &length) < 0)
		return -1;
	for (n = 1; n <= a->g->order; n++)
		if (read_grams(a, n, &line, &length) < 0)
			return -1;
	a->g->words = (size_t)a->counts[0];
	if (!is(line, length, "\\end\\"))
		return wrong(a, "\\end\\ is expected");
	return grams_index(a->g, a->where, a->e);
}

/* ---- texts ---- */

static double
of(const struct buf *b, uint32_t i)
{
	return ((const double *)(const void *)b->p)[i];
}

static uint32_t
find(const struct gram_list *g, const char *text, const struct span *from, const struct span *to)
{
	return vocab_find(&g->texts, text + from->at, to->at + to->n - from->at);
}

/* log10 P of the last of the n words from x[0] on. */
static double
log_of(const struct gram_list *g, const char *text, const struct span *x, size_t n)
{
	double sum = 0;
	uint32_t i;

	for (;; x++, n--) {
		i = find(g, text, x, x + n - 1);
		if (i != TOKEN_NONE)
			return sum + of(&g->log, i);
		if (n == 1)
			return sum + GRAMS_UNKNOWN;
		i = find(g, text, x, x + n - 2);
		sum += i != TOKEN_NONE ? of(&g->back, i) : 0;
	}
}

static void
put_word(struct buf *text, struct buf *spans, const void *word, size_t n)
{
	struct span x = { text->n, n };

	buf_put(text, word, n);
	buf_u8(text, ' ');
	buf_put(spans, &x, sizeof x);
}

size_t
grams_word(const char **p, const char *end, const char **word)
{
	while (*p < end && **p && strchr(" \t\v\f\r\n", **p))
		++*p;
	for (*word = *p; *p < end && (!**p || !strchr(" \t\v\f\r\n", **p)); ++*p)
		;
	return (size_t)(*p - *word);
}

/* The words of a text; *unknown: how many are not in the list. */
static void
put_words(const struct gram_list *g, const struct step_text *t, struct buf *text, struct buf *spans,
          double *unknown)
{
	const char *p = t->p, *end = t->p + t->n, *from;
	size_t n;
	bool known;

	if (g->begins)
		put_word(text, spans, "<s>", 3);
	while ((n = grams_word(&p, end, &from)) > 0) {
		known = vocab_find(&g->texts, from, n) != TOKEN_NONE;
		*unknown += !known;
		if (known || !g->knows_unknown)
			put_word(text, spans, from, n);
		else
			put_word(text, spans, "<unk>", 5);
	}
	if (g->ends)
		put_word(text, spans, "</s>", 4);
}

/* log10 P, words with the end, unknown words. */
static int
score(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	const struct gram_list *g = s->more;
	struct buf text = { 0 }, spans = { 0 };
	const struct span *words;
	size_t i, k, n;
	double *to;

	if (step_rows_begin(spare, x->n, s->out, e) < 0)
		return -1;
	for (i = 0; i < x->n; i++) {
		buf_clear(&text);
		buf_clear(&spans);
		to = step_row(spare, i);
		put_words(g, &x->texts[i], &text, &spans, &to[2]);
		if (!buf_ok(&text) || !buf_ok(&spans))
			break;
		words = (const struct span *)(const void *)spans.p;
		n = spans.n / sizeof *words;
		for (k = g->begins; k < n; k++) {
			size_t from = k + 1 > g->order ? k + 1 - g->order : 0;

			to[0] += log_of(g, (const char *)text.p, words + from, k + 1 - from);
			to[1]++;
		}
	}
	buf_free(&text);
	buf_free(&spans);
	if (i < x->n)
		return err_memory(e);
	step_rows_swap(x, spare);
	return 0;
}

const struct step_kind step_grams = { "list of n-grams", true, false, score };

/* ---- texts by chance ---- */

double
grams_chance(uint64_t key, uint64_t index)
{
	uint32_t to[4];

	philox_fill(key, index * 4, to, 4);
	return ((double)(to[0] >> 5) * 67108864 + (double)(to[1] >> 6)) / 9007199254740992;
}

/* The word that follows: each with its probability, except those that nobody writes. What the
 * probabilities lack to 1 goes to the last word. */
static size_t
choose(const struct gram_list *g, struct buf *text, struct buf *spans, double r)
{
	size_t n = spans->n / sizeof(struct span), from = n + 1 > g->order ? n + 1 - g->order : 0;
	size_t i, last = g->words;
	double sum = 0;

	for (i = 0; i < g->words; i++) {
		const struct token *t = &g->texts.token[i];
		const char *word = (const char *)vocab_text(&g->texts, (uint32_t)i);

		if (is(word, t->text_bytes, "<s>") || is(word, t->text_bytes, "<unk>"))
			continue;
		put_word(text, spans, word, t->text_bytes);
		if (!buf_ok(text) || !buf_ok(spans))
			break;
		sum += pow(10, log_of(g, (const char *)text->p, (const struct span *)(void *)spans->p + from,
		                      n + 1 - from));
		last = i;
		spans->n -= sizeof(struct span);
		text->n -= t->text_bytes + 1;
		if (sum > r)
			break;
	}
	return last;
}

int
arpa_generate(const struct predictor *m, uint64_t seed, uint64_t number, struct buf *to, struct err *e)
{
	const struct step *s = m->step_count ? &m->steps[0] : NULL;
	struct buf text = { 0 }, spans = { 0 };
	const struct gram_list *g;
	uint64_t key = philox_key(seed, "text", number);
	size_t i, word, n;

	int r = s ? markov_generate(s, key, to) : 0;

	if (r != 0)
		return r < 0 ? err_memory(e) : 0;
	if (!s || s->kind != &step_grams)
		return err_set(e, ERR_USAGE, NULL, "--generate: the model is not a list of n-grams");
	g = s->more;
	if (g->begins)
		put_word(&text, &spans, "<s>", 3);
	for (i = 0; i < ARPA_WORDS; i++) {
		word = choose(g, &text, &spans, grams_chance(key, i));
		n = word < g->words ? g->texts.token[word].text_bytes : 0;
		if (n == 0 || is((const char *)vocab_text(&g->texts, (uint32_t)word), n, "</s>"))
			break;
		put_word(&text, &spans, vocab_text(&g->texts, (uint32_t)word), n);
		buf_text(to, i ? " " : "");
		buf_put(to, vocab_text(&g->texts, (uint32_t)word), n);
	}
	buf_text(to, "\n");
	n = buf_ok(&text) && buf_ok(&spans) && buf_ok(to);
	buf_free(&text);
	buf_free(&spans);
	return n ? 0 : err_memory(e);
}

bool
arpa_probe(const uint8_t *p, size_t n)
{
	return n > 7 && *p != '{' && (memcmp(p, "\\data\\", 6) == 0 || memmem(p, n, "\n\\data\\", 7)) &&
	       memmem(p, n, "\nngram 1=", 9);
}

int
arpa_read(struct predictor *m, const uint8_t *p, size_t n, const char *where, struct err *e)
{
	struct arpa a = { .g = mem_array(1, sizeof *a.g), .p = (const char *)p, .where = where, .e = e };
	struct step *s = a.g ? predictor_add_step(m) : NULL;

	a.end = a.p + n;
	if (!s) {
		free(a.g);
		return err_memory(e);
	}
	*s = (struct step){ .kind = &step_grams, .in = 1, .out = 3, .more = a.g, .free_more = grams_free };
	m->kind = "n-grams";
	m->form = PREDICT_STEPS;
	m->task = PREDICT_VALUE;
	return read_file(&a);
}
