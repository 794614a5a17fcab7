/* Lists of n-grams as tensors, and back (form.h).
 *
 *     step.N.list   I32: the number of lengths, of n-grams of each length, and of bytes of each n-gram
 *     step.N.terms  I8: the n-grams, shorter ones first: words with one space between them
 *     step.N.a, .b  F64 [n-grams]: log10 of the probability, and of the weight of backing off
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "predict/form_words.h"
#include "predict/grams.h"

/* The number of words of an n-gram; 0: it is not written as one. */
static size_t
words_of(const uint8_t *p, size_t n)
{
	size_t i, words = 1;

	for (i = 0; i < n; i++) {
		if (p[i] == '\t' || p[i] == '\n' || (p[i] == ' ' && (i == 0 || i + 1 == n || p[i - 1] == ' ')))
			return 0;
		words += p[i] == ' ';
	}
	return n && text_utf8(p, n, false) ? words : 0;
}

int
form_put_grams(const struct form_target *to, const struct step *s, size_t i, json_t *o)
{
	const struct gram_list *g = s->more;
	uint32_t counts[GRAMS_ORDER] = { 0 }, n = g->texts.count, k;
	uint64_t bytes = 0;
	struct buf *list, *terms;
	char name[32];

	(void)o;
	for (k = 0; k < n; k++) {
		counts[words_of(vocab_text(&g->texts, k), g->texts.token[k].text_bytes) - 1]++;
		bytes += g->texts.token[k].text_bytes;
	}
	list = form_part(to->to, form_name_of(name, i, "list"), "I32", 1 + g->order + n, 0);
	terms = form_part(to->to, form_name_of(name, i, "terms"), "I8", bytes, 0);
	buf_u32(list, (uint32_t)g->order);
	for (k = 0; k < g->order; k++)
		buf_u32(list, counts[k]);
	for (k = 0; k < n; k++) {
		buf_u32(list, (uint32_t)g->texts.token[k].text_bytes);
		buf_put(terms, vocab_text(&g->texts, k), g->texts.token[k].text_bytes);
	}
	form_put(form_part(to->to, form_name_of(name, i, "a"), "F64", n, 0), (const double *)(const void *)g->log.p, n);
	form_put(form_part(to->to, form_name_of(name, i, "b"), "F64", n, 0), (const double *)(const void *)g->back.p, n);
	return 0;
}

/* Adds the n-grams: l has counts of each length behind the first word, then n lengths in bytes. */
static int
read_texts(const struct form_source *x, size_t i, const uint32_t *l, size_t n, struct gram_list *g)
{
	const uint32_t *counts = l + 1, *sizes = counts + g->order;
	size_t bytes = 0, at = 0, k, length = 0;
	uint64_t left = 0; /* a sum of 16 counts does not fit into 32 bits */
	char name[32];
	const uint8_t *p = form_bytes(x, form_name_of(name, i, "terms"), &bytes);

	for (k = 0; p && k < n; k++, left--) {
		while (left == 0 && length < g->order)
			left = counts[length++];
		if (sizes[k] > bytes - at || left == 0 || words_of(p + at, sizes[k]) != length)
			return form_wrong(x, i, "an n-gram has another number of words, or is not UTF-8");
		if (vocab_add(&g->texts, p + at, sizes[k], TOKEN_NORMAL, 0, x->e) < 0)
			return -1;
		at += sizes[k];
	}
	for (; p && length < g->order; length++)
		left += counts[length];
	return !p ? -1 : left || at != bytes ? form_wrong(x, i, "it has other n-grams than its lists say")
	                                     : grams_index(g, x->w->name, x->e);
}

static int
read_numbers(const struct form_source *x, size_t i, size_t n, struct gram_list *g)
{
	char name[32];
	double *log = form_doubles(x, form_name_of(name, i, "a"), n), *back = NULL;
	size_t k;
	int r = -1;

	for (k = 0; log && k < n && log[k] <= 0; k++)
		;
	if (log && k < n)
		form_wrong(x, i, "a probability is greater than 1");
	else if (log)
		back = form_doubles(x, form_name_of(name, i, "b"), n);
	if (back) {
		buf_put(&g->log, log, n * sizeof *log);
		buf_put(&g->back, back, n * sizeof *back);
		r = buf_ok(&g->log) && buf_ok(&g->back) ? 0 : err_memory(x->e);
	}
	free(log);
	free(back);
	return r;
}

int
form_read_grams(struct form_source *x, const json_t *o, size_t i, struct step *s)
{
	struct gram_list *g = mem_array(1, sizeof *g);
	char name[32];
	size_t n = (size_t)form_items(x, form_name_of(name, i, "list"));
	uint32_t *l;
	int r = -1;

	(void)o;
	s->more = g;
	s->free_more = grams_free;
	if (!g)
		return err_memory(x->e);
	if (s->in != 1 || s->out != 3 || n < 3)
		return form_wrong(x, i, "n-grams take a text, give three values, and have a list");
	l = form_words(x, name, n);
	if (l && (l[0] < 1 || l[0] > GRAMS_ORDER || l[0] + 1 >= n)) {
		form_wrong(x, i, "the number of lengths of its n-grams is wrong");
	} else if (l) {
		g->order = l[0];
		g->words = l[1];
		n -= 1 + g->order;
		r = read_texts(x, i, l, n, g) < 0 ? -1 : read_numbers(x, i, n, g);
	}
	free(l);
	return r;
}
