/* Operators of ONNX on texts: StringNormalizer and Tokenizer. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/pattern.h"
#include "core/text.h"
#include "predict/onnx/onnxops.h"
#include "tokenizer/unicode.h"

#define RUN struct ops_run *r, const struct ops_node *n, const struct ops_tensor *const *in, struct ops_tensor *out

/* ---- letters ---- */

enum letters { AS_THEY_ARE, LOWER, UPPER };

struct normalizer {
	enum letters letters, compared;
	struct ops_table stop;
	struct step_text *words; /* of the table */
};

static void
normalizer_free(void *more)
{
	struct normalizer *w = more;

	free(w->stop.keys);
	free(w->words);
	free(w);
}

/* A text with other letters, in the memory of a row or of the graph; NULL: not UTF-8, or too long. */
static const char *
change(struct ops_arena *a, struct step_text t, enum letters to, size_t *n)
{
	struct buf b = { 0 };
	char *p = NULL;
	uint32_t c;
	size_t i, some;

	for (i = 0; i < t.n; i += some) {
		some = text_character(t.p + i, t.n - i, &c);
		if (some == 0)
			break;
		(to == LOWER ? unicode_put_lower : unicode_put_title)(c, &b);
	}
	if (i == t.n && buf_ok(&b))
		p = ops_take(a, b.n, 1);
	if (p && b.n)
		memcpy(p, b.p, b.n);
	*n = b.n;
	buf_free(&b);
	return p;
}

static enum letters
letters_of(const struct ops_node *n, const char *name)
{
	return ops_says(n, name, "LOWER") ? LOWER : ops_says(n, name, "UPPER") ? UPPER : AS_THEY_ARE;
}

static int
open_normalizer(struct ops_reader *x, struct ops_node *n)
{
	const struct ops_attribute *a = ops_attribute(n, "stopwords");
	struct normalizer *w = mem_array(1, sizeof *w);
	size_t i, count = a ? a->text_count : 0;

	if (!w)
		return err_memory(x->x->e);
	n->more = w;
	n->free_more = normalizer_free;
	w->letters = letters_of(n, ops_attribute(n, "casechangeaction") ? "casechangeaction" : "case_change_action");
	if (ops_number(n, "is_case_sensitive", 0) == 0)
		w->compared = w->letters == UPPER ? UPPER : LOWER;
	w->words = mem_array(count, sizeof *w->words);
	for (i = 0; w->words && i < count; i++) {
		w->words[i] = a->texts[i];
		if (w->compared && !(w->words[i].p = change(&x->g->memory, a->texts[i], w->compared, &w->words[i].n)))
			return ops_reader_wrong(x, n, "a stop word is not UTF-8");
	}
	return !w->words || ops_table(&w->stop, NULL, w->words, count) < 0 ? err_memory(x->x->e) : 0;
}

/* [C] or [1, C] texts become others, without stop words. Without any text left, there is an empty one. */
static int
normalize(RUN)
{
	const struct normalizer *w = n->more;
	const struct ops_tensor *x = in[0];
	size_t i, count = 0, dims[2] = { 1, 1 };
	struct step_text t, seen, *kept = ops_take(&r->memory, x->n, sizeof *kept);

	if (x->type != OPS_STRING || x->rank == 0 || x->rank > 2 || (x->rank == 2 && x->dims[0] != 1))
		return ops_wrong(r, n, "the input is not a list of texts");
	r->texts = true;
	if (!kept)
		return ops_wrong(r, n, "too many texts");
	for (i = 0; i < x->n; i++) {
		t = seen = x->t[i];
		if (ops_work(r, n, t.n + 20) < 0)
			return -1;
		if (w->compared && !(seen.p = change(&r->memory, t, w->compared, &seen.n)))
			return ops_wrong(r, n, "a text is not UTF-8, or too long");
		if (w->stop.n && ops_search(&w->stop, 0, seen) != SIZE_MAX)
			continue;
		if (w->letters && w->letters == w->compared)
			t = seen;
		else if (w->letters && !(t.p = change(&r->memory, t, w->letters, &t.n)))
			return ops_wrong(r, n, "a text is not UTF-8, or too long");
		kept[count++] = t;
	}
	dims[x->rank - 1] = count ? count : 1;
	if (ops_make(r, n, out, OPS_STRING, x->rank, dims) < 0)
		return -1;
	if (count)
		memcpy(out->t, kept, count * sizeof *kept);
	return 0;
}

/* ---- tokens ---- */

struct tokenizer {
	char **patterns;    /* of separators, or one of tokens */
	size_t count;
	bool tokens;        /* the pattern is of tokens */
	bool letters;       /* each character is a token */
	size_t shortest;
	bool mark;
	struct step_text pad;
};

static void
tokenizer_free(void *more)
{
	struct tokenizer *t = more;
	size_t i;

	for (i = 0; t->patterns && i < t->count; i++)
		free(t->patterns[i]);
	free(t->patterns);
	free(t);
}

/* Takes an escape as RE2 knows it: classes of ASCII are written out. */
static int
put_escape(const char **p, const char *end, bool inside, struct buf *to)
{
	static const struct { char c; const char *class; } classes[] = {
		{ 'w', "0-9A-Za-z_" }, { 'd', "0-9" }, { 's', "\\t\\n\\f\\r " },
		{ 'W', "^0-9A-Za-z_" }, { 'D', "^0-9" }, { 'S', "^\\t\\n\\f\\r " },
	};
	size_t i;
	char c;

	if (++*p == end)
		return -1;
	c = *(*p)++;
	for (i = 0; i < sizeof classes / sizeof *classes; i++)
		if (c == classes[i].c) {
			if (inside && i > 2)
				return -1;
			buf_printf(to, inside ? "%s" : "[%s]", classes[i].class);
			return 0;
		}
	if (c == 'n' || c == 't' || c == 'r' || c == 'f' || (c > 0 && !((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	    (c >= 'a' && c <= 'z') || c < ' '))) {
		buf_printf(to, "\\%c", c);
		return 0;
	}
	return -1;
}

/* Takes a class. */
static int
put_class(const char **p, const char *end, struct buf *to)
{
	bool first = true;

	buf_u8(to, (uint8_t)*(*p)++);
	if (*p < end && **p == '^')
		buf_u8(to, (uint8_t)*(*p)++);
	for (; *p < end && (first || **p != ']'); first = false) {
		if (**p == '\\') {
			if (put_escape(p, end, true, to) < 0)
				return -1;
			continue;
		}
		if (**p == '[' && *p + 1 < end && (*p)[1] == ':')
			return -1;
		if (**p == '[' || **p == '&' || **p == '^' || **p == ']')
			buf_u8(to, '\\');
		buf_u8(to, (uint8_t)*(*p)++);
	}
	if (*p == end)
		return -1;
	buf_u8(to, (uint8_t)*(*p)++);
	return 0;
}

/* Takes a character that stands for itself, or '.'. */
static int
put_character(const char **p, const char *end, struct buf *to)
{
	uint32_t c;
	size_t some = text_character(*p, (size_t)(end - *p), &c);

	buf_put(to, *p, some);
	*p += some;
	return some ? 0 : -1;
}

/* Takes "*", "+", "?" or "{n,m}". *least: 0 if the part may be left out. */
static int
put_times(const char **p, const char *end, struct buf *to, bool *least)
{
	const char *from = *p;

	if (*p == end || !strchr("*+?{", **p))
		return 0;
	*least = **p == '+';
	if (**p == '{') {
		*least = *p + 1 < end && (*p)[1] >= '1' && (*p)[1] <= '9';
		for (++*p; *p < end && ((**p >= '0' && **p <= '9') || **p == ','); ++*p)
			;
		if (*p == end || **p != '}' || *p == from + 1 || from[1] == ',')
			return -1;
	}
	++*p;
	if (*p < end && strchr("*+?{", **p))
		return -1; /* not greedy, or twice */
	buf_put(to, from, (size_t)(*p - from));
	return 0;
}

/* A pattern in the subset whose longest match is the first that a search finds: characters and classes, each
 * of them maybe repeated, without alternatives and groups. At least one character must be there. */
static int
translate(const char *p, size_t n, struct buf *to)
{
	const char *end = n ? p + n : p;
	bool some = false;

	while (p < end) {
		bool least = true;

		if (!*p || strchr("()|^$*+?{}]", *p))
			return -1;
		if (*p == '\\' ? put_escape(&p, end, false, to) < 0 : *p == '[' ? put_class(&p, end, to) < 0
		                                                                   : put_character(&p, end, to) < 0)
			return -1;
		if (put_times(&p, end, to, &least) < 0)
			return -1;
		some |= least;
	}
	return some && buf_ok(to) ? 0 : -1;
}

static int
add_pattern(struct ops_reader *x, struct ops_node *n, struct tokenizer *t, struct step_text text)
{
	struct buf b = { 0 };
	struct pattern p;
	struct err ignored = ERR_INIT;
	const char *string;
	int r = -1;

	if (!text_utf8(text.p, text.n, false) || translate(text.p, text.n, &b) < 0 || !(string = buf_string(&b)) ||
	    !(t->patterns[t->count] = mem_text(string, b.n))) {
		ops_reader_wrong(x, n, "a pattern is more than characters, classes and their repeats");
	} else {
		t->count++;
		r = pattern_open_text(&p, t->patterns[t->count - 1], ERR_CORRUPT, &ignored);
		pattern_close(&p);
		if (r < 0)
			ops_reader_wrong(x, n, "a pattern is wrong or too long");
	}
	buf_free(&b);
	return r;
}

#define PATTERNS 256 /* separators of a tokenizer */

static int
open_tokenizer(struct ops_reader *x, struct ops_node *n)
{
	const struct ops_attribute *a = ops_attribute(n, "separators"), *b = ops_attribute(n, "tokenexp"),
	                           *pad = ops_attribute(n, "pad_value");
	struct tokenizer *t = mem_array(1, sizeof *t);
	double shortest = ops_number(n, "mincharnum", 1);
	size_t i, count = b ? 1 : a ? a->text_count : 0;

	if (!t)
		return err_memory(x->x->e);
	n->more = t;
	n->free_more = tokenizer_free;
	t->tokens = b != NULL;
	t->letters = b ? b->text.n == 1 && *b->text.p == '.' : count == 1 && a->texts[0].n == 0;
	t->shortest = shortest >= 1 && shortest < OPS_CELLS ? (size_t)shortest : 1;
	t->mark = ops_number(n, "mark", 0) != 0;
	t->pad = pad && pad->text.p ? pad->text : (struct step_text){ "#", 1 };
	if (count == 0 || count > PATTERNS)
		return ops_reader_wrong(x, n, "the operator needs 1 to 256 separators");
	t->patterns = mem_array(count, sizeof *t->patterns);
	if (!t->patterns)
		return err_memory(x->x->e);
	for (i = 0; i < count && !t->letters; i++)
		if (add_pattern(x, n, t, b ? b->text : a->texts[i]) < 0)
			return -1;
	return 0;
}

/* The patterns of a thread. */
struct patterns {
	size_t n;
	struct pattern p[];
};

static void
patterns_free(void *room)
{
	struct patterns *x = room;
	size_t i;

	for (i = 0; i < x->n; i++)
		pattern_close(&x->p[i]);
	free(x);
}

static struct patterns *
patterns_of(struct ops_run *r, const struct ops_node *n)
{
	const struct tokenizer *t = n->more;
	struct patterns *x = r->rooms[n->number];

	if (x)
		return x;
	x = calloc(1, sizeof *x + t->count * sizeof *x->p);
	if (!x) {
		err_memory(r->e);
		return NULL;
	}
	r->rooms[n->number] = x;
	r->free_rooms[n->number] = patterns_free;
	for (; x->n < t->count; x->n++)
		if (pattern_open_text(&x->p[x->n], t->patterns[x->n], ERR_CORRUPT, r->e) < 0)
			return NULL;
	return x;
}

static void
put_token(struct buf *to, struct step_text t)
{
	buf_put(to, &t, sizeof t);
}

/* Appends the matches of a pattern in a text, or what is between them. 0 or -1. */
static int
cut(struct pattern *p, bool between, struct step_text text, struct buf *to, struct work *work, struct err *e)
{
	size_t at = 0, last = 0, from, end;
	int found;

	while ((found = pattern_find(p, text.p, text.n, &at, &from, &end, work, e)) == 1) {
		put_token(to, between ? (struct step_text){ text.p + last, from - last }
		                      : (struct step_text){ text.p + from, end - from });
		last = end;
	}
	if (between)
		put_token(to, (struct step_text){ text.p + last, text.n - last });
	return found;
}

static size_t
characters(struct step_text t)
{
	size_t i, n = 0;

	for (i = 0; i < t.n; i++)
		n += ((unsigned char)t.p[i] & 0xc0) != 0x80;
	return n;
}

static void
put_letters(struct step_text text, struct buf *to)
{
	size_t i, some;
	uint32_t c;

	for (i = 0; i < text.n && (some = text_character(text.p + i, text.n - i, &c)) > 0; i += some)
		put_token(to, (struct step_text){ text.p + i, some });
}

/* Appends the tokens of a text; *count: of them. spare loses what it has. 0 or -1. */
static int
tokens_of(struct ops_run *r, const struct ops_node *n, struct step_text text, struct buf *to, struct buf *spare)
{
	const struct tokenizer *t = n->more;
	struct patterns *p = t->letters ? NULL : patterns_of(r, n);
	struct work work = work_of(text.n);
	struct step_text *pieces;
	size_t i, k, from = to->n;

	if (!t->letters && !p)
		return -1;
	if (!text_utf8(text.p, text.n, true))
		return ops_wrong(r, n, "a text is not UTF-8");
	if (ops_work(r, n, 8 * text.n + 8) < 0)
		return -1;
	if (t->letters) {
		put_letters(text, to);
		return 0;
	}
	put_token(to, text);
	for (k = 0; k < t->count; k++) {
		buf_clear(spare);
		buf_put(spare, to->p + from, to->n - from);
		to->n = from;
		pieces = (struct step_text *)(void *)spare->p;
		for (i = 0; i < spare->n / sizeof *pieces; i++)
			if (cut(&p->p[k], !t->tokens, pieces[i], to, &work, r->e) < 0)
				return -1;
	}
	pieces = (struct step_text *)(void *)(to->p + from);
	for (i = k = 0; to->p && i < (to->n - from) / sizeof *pieces; i++)
		if (pieces[i].n && characters(pieces[i]) >= t->shortest)
			pieces[k++] = pieces[i];
	to->n = from + k * sizeof *pieces;
	return 0;
}

/* Puts the tokens of each text into a row of the result, with marks and padding. */
static void
place_tokens(const struct tokenizer *t, const struct step_text *tokens, const size_t *ends, size_t texts, size_t width,
             struct step_text *to)
{
	size_t i, k, from = 0;

	for (i = 0; i < texts; from = ends[i++]) {
		size_t count = ends[i] - from, at = 0;

		if (t->mark)
			to[at++] = (struct step_text){ "\2", 1 };
		for (k = 0; k < count; k++)
			to[at++] = tokens[from + k];
		while (at < width - t->mark)
			to[at++] = t->pad;
		if (t->mark)
			to[at++] = (struct step_text){ "\3", 1 };
		to += width;
	}
}

static int
tokenize(RUN)
{
	const struct tokenizer *t = n->more;
	const struct ops_tensor *x = in[0];
	struct buf tokens = { 0 }, spare = { 0 };
	size_t i, before = 0, most = 0, dims[OPS_RANK + 1], *ends = ops_take(&r->memory, x->n, sizeof *ends);
	int status = 0;

	if (x->type != OPS_STRING || x->rank == 0 || x->rank > 2 || !ends)
		return ops_wrong(r, n, "the input is not a list of texts");
	r->texts = true;
	for (i = 0; i < x->n && status == 0; i++) {
		status = tokens_of(r, n, x->t[i], &tokens, &spare);
		ends[i] = tokens.n / sizeof *x->t;
		most = ends[i] - before > most ? ends[i] - before : most;
		before = ends[i];
	}
	if (status == 0 && (!buf_ok(&tokens) || !buf_ok(&spare)))
		status = err_memory(r->e);
	memcpy(dims, x->dims, sizeof x->dims);
	most += most ? 2 * t->mark : 0;
	dims[x->rank] = most;
	if (status == 0)
		status = ops_make(r, n, out, OPS_STRING, x->rank + 1, dims);
	if (status == 0 && most)
		place_tokens(t, (const struct step_text *)(void *)tokens.p, ends, x->n, most, out->t);
	buf_free(&tokens);
	buf_free(&spare);
	return status;
}

const struct ops_operator ops_text[] = {
	{ "", "StringNormalizer", 1, normalize, open_normalizer, NULL, NULL },
	{ "ms", "StringNormalizer", 1, normalize, open_normalizer, NULL, NULL },
	{ "ms", "Tokenizer", 1, tokenize, open_tokenizer, NULL, NULL },
	{ NULL, NULL, 0, NULL, NULL, NULL, NULL },
};
