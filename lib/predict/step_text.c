#include "predict/step_text.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/unicode.h"

struct span {
	size_t at, n;
};

struct bag_room {
	struct buf text, joined, spans, columns;
	struct pattern pattern;
};

/* ---- building ---- */

struct bag *
bag_new(void)
{
	struct bag *w = mem_array(1, sizeof *w);

	if (w) {
		w->shortest = w->longest = 1;
		w->letters = 2;
	}
	return w;
}

void
bag_free(void *p)
{
	struct bag *w = p;

	if (!w)
		return;
	vocab_free(&w->stop);
	vocab_free(&w->terms);
	free(w->column);
	free(w->pattern);
	free(w);
}

/* Python's patterns of words that need no search for a pattern. */
static bool
known_pattern(struct bag *w, const char *text)
{
	static const struct { const char *text; size_t letters; bool black; } known[] = {
		{ "\\b\\w\\w+\\b", 2, false }, { "\\b\\w+\\b", 1, false }, { "\\w+", 1, false },
		{ "\\w\\w+", 2, false }, { "\\S+", 1, true }, { "[^\\s]+", 1, true },
	};
	size_t i;

	for (i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i].text, text) == 0) {
			w->letters = known[i].letters;
			w->black = known[i].black;
			return true;
		}
	return false;
}

/* Whether a pattern has a group whose text would be the word: (...), (?P<name>...). */
static bool
has_group(const char *p)
{
	for (; *p; p++)
		if (*p == '\\' && p[1])
			p++;
		else if (*p == '(' && (p[1] != '?' || strncmp(p, "(?P<", 4) == 0 ||
		                       (p[2] == '<' && p[3] != '=' && p[3] != '!')))
			return true;
	return false;
}

int
bag_pattern(struct bag *w, const char *text, size_t n, const char *where, struct err *e)
{
	struct pattern p;
	const char *q;
	int r;

	free(w->pattern);
	w->pattern = NULL;
	if (!text_utf8(text, n, false))
		return err_set(e, ERR_CORRUPT, where, "the pattern of a word is not a text");
	w->pattern = mem_text(text, n);
	if (!w->pattern)
		return err_memory(e);
	q = strncmp(w->pattern, "(?u)", 4) == 0 ? w->pattern + 4 : w->pattern;
	if (known_pattern(w, q)) {
		free(w->pattern);
		w->pattern = NULL;
		return 0;
	}
	memmove(w->pattern, q, strlen(q) + 1);
	if (has_group(w->pattern))
		return err_set(e, ERR_FORMAT, where, "a pattern of words with a group is not read: %.80s",
		               w->pattern);
	r = pattern_open_text(&p, w->pattern, ERR_CORRUPT, e);
	pattern_close(&p);
	return r;
}

int
bag_term(struct bag *w, const void *text, size_t n, uint32_t column, struct err *e)
{
	if (mem_grow(&w->column, &w->column_cap, w->terms.count + 1, sizeof *w->column) < 0)
		return err_memory(e);
	w->column[w->terms.count] = column;
	return vocab_add(&w->terms, text, n, TOKEN_NORMAL, 0, e);
}

int
bag_stop(struct bag *w, const void *text, size_t n, struct err *e)
{
	return vocab_add(&w->stop, text, n, TOKEN_NORMAL, 0, e);
}

int
bag_step(struct bag *w, size_t columns, const char *where, struct step *s, struct err *e)
{
	size_t i;

	*s = (struct step){ .kind = &step_words, .in = 1, .out = columns, .more = w,
		.free_more = bag_free };
	if (w->shortest < 1 || w->longest < w->shortest || w->longest > BAG_RANGE)
		return err_set(e, ERR_FORMAT, where, "terms of %zu to %zu words", w->shortest, w->longest);
	for (i = 0; i < w->terms.count; i++)
		if (w->column[i] >= columns)
			return err_set(e, ERR_CORRUPT, where, "a term has the column %u of %zu", w->column[i],
			               columns);
	return vocab_index(&w->stop, where, e) < 0 || vocab_index(&w->terms, where, e) < 0 ? -1 : 0;
}

/* ---- letters ---- */

static uint32_t
next(const uint8_t *p, const uint8_t *end, size_t *n)
{
	uint32_t c = 0xfffd;

	*n = *p < 0x80 ? 1 : text_character(p, (size_t)(end - p), &c);
	*n = *n ? *n : 1; /* not UTF-8 */
	return *p < 0x80 ? *p : c;
}

static bool
is_word(uint32_t c)
{
	if (c < 0x80)
		return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
	return unicode_is_letter(c) || unicode_is_number(c);
}

static bool
is_black(uint32_t c)
{
	return c < 0x80 ? c > ' ' || (c < 0x1c && !(c >= 9 && c <= 13)) : !unicode_is_space(c);
}

/* ---- the text before it is split ---- */

/* A sigma that ends a word has a form of its own. */
static void
put_lower(struct buf *to, uint32_t c, bool in_word, const uint8_t *p, const uint8_t *end)
{
	size_t n;

	if (c == 0x3a3 && in_word && (p == end || !unicode_is_letter(next(p, end, &n))))
		text_put(to, 0x3c2);
	else
		unicode_put_lower(c, to);
}

static void
lower(const uint8_t *p, size_t length, struct buf *to)
{
	const uint8_t *end = p + length;
	bool in_word = false;
	size_t n;

	for (; p < end; p += n) {
		uint32_t c = next(p, end, &n);

		if (c < 0x80)
			buf_u8(to, c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : (uint8_t)c);
		else
			put_lower(to, c, in_word, p + n, end);
		in_word = unicode_is_letter(c);
	}
}

static int
strip(struct buf *text, enum bag_accents accents, struct err *e)
{
	struct buf full = { 0 };
	size_t i, n;
	int r = unicode_normalize(text->p, text->n, UNICODE_NFKD, &full, e);

	buf_clear(text);
	for (i = 0; r == 0 && i < full.n; i += n) {
		uint32_t c = next(full.p + i, full.p + full.n, &n);

		if (accents == ACCENTS_ASCII ? c < 0x80 : !unicode_combines(c))
			buf_put(text, full.p + i, n);
	}
	buf_free(&full);
	return r;
}

static int
prepare(const struct bag *w, struct bag_room *r, const char *p, size_t n, struct err *e)
{
	bool ascii = true;
	size_t i;

	for (i = 0; i < n && ascii; i++)
		ascii = (unsigned char)p[i] < 0x80;
	if (!ascii && !text_utf8(p, n, true))
		return err_set(e, ERR_CORRUPT, NULL, "the text is not UTF-8");
	buf_clear(&r->text);
	if (w->lower)
		lower((const uint8_t *)p, n, &r->text);
	else
		buf_put(&r->text, p, n);
	if (!ascii && w->accents != ACCENTS_STAY && strip(&r->text, w->accents, e) < 0)
		return -1;
	return buf_ok(&r->text) ? 0 : err_memory(e);
}

/* ---- words ---- */

static void
put_word(const struct bag *w, struct bag_room *r, const uint8_t *p, size_t n)
{
	struct span x = { r->joined.n, n };

	if (w->stop.count && vocab_find(&w->stop, p, n) != TOKEN_NONE)
		return;
	buf_put(&r->joined, p, n);
	buf_u8(&r->joined, ' ');
	buf_put(&r->spans, &x, sizeof x);
}

static void
split(const struct bag *w, struct bag_room *r)
{
	const uint8_t *p = r->text.p, *end = p + r->text.n, *from = NULL;
	size_t n, letters = 0;

	for (; p < end; p += n) {
		uint32_t c = next(p, end, &n);

		if (w->black ? is_black(c) : is_word(c)) {
			from = letters++ ? from : p;
			continue;
		}
		if (letters >= w->letters)
			put_word(w, r, from, (size_t)(p - from));
		letters = 0;
	}
	if (letters >= w->letters)
		put_word(w, r, from, (size_t)(end - from));
}

static int
split_by_pattern(const struct bag *w, struct bag_room *r, struct err *e)
{
	struct work work = work_of(r->text.n);
	size_t at = 0, from, to;
	int found = 0;

	while (at < r->text.n && (found = pattern_find(&r->pattern, (const char *)r->text.p, r->text.n,
	                                               &at, &from, &to, &work, e)) == 1)
		if (to > from)
			put_word(w, r, r->text.p + from, to - from);
	return found < 0 ? -1 : 0;
}

/* ---- letters as terms ---- */

static void
put_letters(struct bag_room *r, const uint8_t *p, const uint8_t *end)
{
	size_t n;

	for (; p < end; p += n) {
		next(p, end, &n);
		struct span x = { r->joined.n, n };

		buf_put(&r->joined, p, n);
		buf_put(&r->spans, &x, sizeof x);
	}
}

/* Two and more white characters are one space. */
static void
letters_of_text(struct bag_room *r)
{
	const uint8_t *p = r->text.p, *end = p + r->text.n, *from;
	size_t n, whites;

	while (p < end) {
		for (from = p, whites = 0; p < end && !is_black(next(p, end, &n)); p += n)
			whites++;
		if (whites > 1)
			put_letters(r, (const uint8_t *)" ", (const uint8_t *)" " + 1);
		else
			put_letters(r, from, p);
		for (from = p; p < end && is_black(next(p, end, &n)); p += n)
			;
		put_letters(r, from, p);
	}
}

/* ---- terms ---- */

typedef int (*take)(void *ctx, const uint8_t *p, size_t n);

/* All terms of the spans so far. once: a row of fewer spans than a term has is a term, once. */
static int
put_terms(const struct bag *w, const struct bag_room *r, bool once, take term, void *ctx)
{
	const struct span *x = (const struct span *)(const void *)r->spans.p;
	size_t n, i, count = r->spans.n / sizeof *x;

	for (n = w->shortest; n <= w->longest; n++) {
		for (i = 0; i + n <= count; i++)
			if (term(ctx, r->joined.p + x[i].at, x[i + n - 1].at + x[i + n - 1].n - x[i].at) < 0)
				return -1;
		if (once && count > 0 && n >= count)
			return n == count ? 0 : term(ctx, r->joined.p, x[count - 1].at + x[count - 1].n);
	}
	return 0;
}

/* The letters of each word between spaces. */
static int
letters_inside(const struct bag *w, struct bag_room *r, take term, void *ctx)
{
	static const uint8_t space[] = " ";
	const uint8_t *p = r->text.p, *end = p + r->text.n, *from;
	size_t n;

	while (p < end) {
		for (; p < end && !is_black(next(p, end, &n)); p += n)
			;
		for (from = p; p < end && is_black(next(p, end, &n)); p += n)
			;
		if (p == from)
			break;
		buf_clear(&r->joined);
		buf_clear(&r->spans);
		put_letters(r, space, space + 1);
		put_letters(r, from, p);
		put_letters(r, space, space + 1);
		if (!buf_ok(&r->joined) || !buf_ok(&r->spans) || put_terms(w, r, true, term, ctx) < 0)
			return -1;
	}
	return 0;
}

struct bag_room *
bag_room_new(const struct bag *w, struct err *e)
{
	struct bag_room *r = mem_array(1, sizeof *r);

	if (!r) {
		err_memory(e);
		return NULL;
	}
	if (w->pattern && pattern_open_text(&r->pattern, w->pattern, ERR_CORRUPT, e) < 0) {
		bag_room_free(r);
		return NULL;
	}
	return r;
}

void
bag_room_free(struct bag_room *r)
{
	if (!r)
		return;
	buf_free(&r->text);
	buf_free(&r->joined);
	buf_free(&r->spans);
	buf_free(&r->columns);
	if (r->pattern.text)
		pattern_close(&r->pattern);
	free(r);
}

int
bag_each(const struct bag *w, struct bag_room *r, const char *p, size_t n, take term, void *ctx,
           struct err *e)
{
	int status = 0;

	if (prepare(w, r, p, n, e) < 0)
		return -1;
	buf_clear(&r->joined);
	buf_clear(&r->spans);
	if (w->unit == BAG_INSIDE)
		return letters_inside(w, r, term, ctx) < 0 ? err_memory(e) : 0;
	if (w->unit == BAG_LETTERS)
		letters_of_text(r);
	else if (w->pattern)
		status = split_by_pattern(w, r, e);
	else
		split(w, r);
	if (status < 0)
		return -1;
	return !buf_ok(&r->joined) || !buf_ok(&r->spans) || put_terms(w, r, false, term, ctx) < 0
	           ? err_memory(e) : 0;
}

/* ---- counts ---- */

/* MurmurHash3 of 32 bits (Austin Appleby, in the public domain). */
uint32_t
bag_hash(const uint8_t *p, size_t n, uint32_t h)
{
	size_t i, left = n % 4;
	uint32_t k;

	for (i = 0; i + 4 <= n; i += 4) {
		k = (uint32_t)p[i] | (uint32_t)p[i + 1] << 8 | (uint32_t)p[i + 2] << 16 |
		    (uint32_t)p[i + 3] << 24;
		k *= 0xcc9e2d51;
		k = (k << 15 | k >> 17) * 0x1b873593;
		h ^= k;
		h = (h << 13 | h >> 19) * 5 + 0xe6546b64;
	}
	for (k = 0; left > 0; left--)
		k = k << 8 | p[i + left - 1];
	k *= 0xcc9e2d51;
	h ^= (k << 15 | k >> 17) * 0x1b873593;
	h ^= (uint32_t)n;
	h = (h ^ h >> 16) * 0x85ebca6b;
	h = (h ^ h >> 13) * 0xc2b2ae35;
	return h ^ h >> 16;
}

struct counting {
	const struct bag *w;
	struct buf *columns; /* u64: column, and whether the sign of the hash is minus */
};

static int
count_term(void *ctx, const uint8_t *p, size_t n)
{
	struct counting *c = ctx;
	uint64_t column;

	if (c->w->hashes) {
		int64_t h = (int32_t)bag_hash(p, n, 0);

		column = (uint64_t)(h < 0 ? -h : h) % c->w->hashes << 1 | (h < 0 && c->w->signs);
	} else {
		uint32_t i = vocab_find(&c->w->terms, p, n);

		if (i == TOKEN_NONE)
			return 0;
		column = (uint64_t)c->w->column[i] << 1;
	}
	buf_u64(c->columns, column);
	return buf_ok(c->columns) ? 0 : -1;
}

static int
by_column(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Equal columns become one value. */
static void
put_counts(const struct bag *w, struct buf *columns, struct step_rows *to)
{
	uint64_t *c = (uint64_t *)(void *)columns->p;
	size_t n = columns->n / sizeof *c, i, from;
	double sum;

	if (n > 1)
		qsort(c, n, sizeof *c, by_column);
	for (i = 0; i < n;) {
		for (from = i, sum = 0; i < n && c[i] >> 1 == c[from] >> 1; i++)
			sum += c[i] & 1 ? -1 : 1;
		step_put(to, (uint32_t)(c[from] >> 1), w->binary ? 1 : sum);
	}
	step_row_end(to);
}

static int
count(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	const struct bag *w = s->more;
	struct bag_room *room = bag_room_new(w, e);
	struct counting c = { w, room ? &room->columns : NULL };
	size_t i;
	int r = room ? 0 : -1;

	step_rows_sparse(spare, s->out);
	for (i = 0; i < x->n && r == 0; i++) {
		buf_clear(c.columns);
		r = bag_each(w, room, x->texts[i].p, x->texts[i].n, count_term, &c, e);
		if (r == 0)
			put_counts(w, c.columns, spare);
	}
	bag_room_free(room);
	if (r == 0 && !(buf_ok(&spare->start) && buf_ok(&spare->at) && buf_ok(&spare->of)))
		r = err_memory(e);
	step_rows_swap(x, spare);
	return r;
}

const struct step_kind step_words = { "split into words", true, true, count };
