#include "tokenizer/split.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"

#define BLANK "\xe2\x96\x81" /* U+2581, the blank of SentencePiece */

struct step *
split_add(struct split *s, enum step_kind kind, const char *text, enum err_code code,
          struct err *e)
{
	struct step *step;

	if (s->n == STEPS_MOST) {
		err_set(e, ERR_FORMAT, text, "more than %d steps cut the text", STEPS_MOST);
		return NULL;
	}
	if (text && kind == STEP_LITERAL && strlen(text) > STEPS_LONGEST) {
		err_set(e, ERR_FORMAT, text, "a step has a text of more than %d bytes",
		        STEPS_LONGEST);
		return NULL;
	}
	if (mem_grow(&s->step, &s->cap, s->n + 1, sizeof *s->step) < 0) {
		err_memory(e);
		return NULL;
	}
	step = &s->step[s->n];
	*step = (struct step){ .kind = kind };
	if (text) {
		step->length = strlen(text);
		step->text = mem_text(text, step->length);
		if (!step->text) {
			err_memory(e);
			return NULL;
		}
	}
	s->n++;
	if (kind == STEP_PATTERN) {
		if (pattern_open_text(&step->pattern, step->text, code, e) < 0)
			return NULL;
		s->width += step->pattern.width;
	}
	if (s->width > STEPS_WIDEST) {
		err_set(e, ERR_FORMAT, text, "all patterns together compare more than %d characters",
		        STEPS_WIDEST);
		return NULL;
	}
	return step;
}

void
split_free(struct split *s)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		if (s->step[i].kind == STEP_PATTERN)
			pattern_close(&s->step[i].pattern);
		free(s->step[i].text);
	}
	free(s->step);
	*s = (struct split){ 0 };
}

/* ---- pieces ---- */

static int
add(struct pieces *p, size_t from, size_t to, bool raw, struct err *e)
{
	if (from == to)
		return 0;
	if (p->n == p->cap && mem_grow(&p->p, &p->cap, p->n + 1, sizeof *p->p) < 0)
		return err_memory(e);
	p->p[p->n++] = (struct piece){ (uint32_t)from, (uint32_t)to, raw };
	return 0;
}

int
pieces_begin(struct pieces *p, const uint8_t *text, size_t n, struct err *e)
{
	size_t i = 0, from, length;
	uint32_t c;
	bool raw;

	buf_clear(&p->text);
	p->n = 0;
	buf_put(&p->text, text, n);
	if (!buf_ok(&p->text))
		return err_memory(e);
	while (i < n) {
		from = i;
		raw = text_character(text + i, n - i, &c) == 0;
		do {
			length = text_character(text + i, n - i, &c);
			if ((length == 0) != raw)
				break;
			i += length ? length : 1;
		} while (i < n);
		if (add(p, from, i, raw, e) < 0)
			return -1;
	}
	return 0;
}

void
pieces_free(struct pieces *p)
{
	buf_free(&p->text);
	free(p->p);
	*p = (struct pieces){ 0 };
}

/* ---- cutting ---- */

/* A piece being cut: what has been handed on, and the match that waits for the text after it. */
struct cut {
	const struct step *step;
	struct pieces *to;
	struct err *e;
	size_t begun;     /* where the next piece begins */
	bool last_match;  /* the piece that ends there is a match */
};

/* Handle a run of the piece up to end: a match, or text between matches. Runs come one after
 * another, and none is empty. */
static int
cut_run(struct cut *c, size_t end, bool match)
{
	const struct step *s = c->step;
	struct pieces *to = c->to;
	struct piece *last = to->n > 0 ? &to->p[to->n - 1] : NULL;
	bool touches = last && last->to == c->begun && !last->raw;
	size_t from = c->begun;

	if (end == from)
		return 0;
	c->begun = end;
	switch (s->behavior) {
	case SPLIT_REMOVED:
		if (match)
			return 0;
		break;
	case SPLIT_CONTIGUOUS:
		if (match && c->last_match && touches) {
			last->to = (uint32_t)end;
			return 0;
		}
		break;
	case SPLIT_WITH_PREVIOUS:
		if (match && touches && !c->last_match) {
			last->to = (uint32_t)end;
			c->last_match = true;
			return 0;
		}
		break;
	case SPLIT_WITH_NEXT:
		if (!match && touches && c->last_match) {
			last->to = (uint32_t)end;
			c->last_match = false;
			return 0;
		}
		break;
	case SPLIT_ISOLATED:
		break;
	}
	c->last_match = match;
	return add(to, from, end, false, c->e);
}

/* The next match from *at on that reaches beyond it, by at least one character. */
static int
next_match(struct step *s, const char *text, size_t n, size_t *at, size_t *from,
           size_t *to, struct work *work, struct err *e)
{
	const char *found;

	if (s->kind == STEP_PATTERN)
		return pattern_find(&s->pattern, text, n, at, from, to, work, e);
	found = s->length ? memmem(text + *at, n - *at, s->text, s->length) : NULL;
	if (!found)
		return 0;
	*from = (size_t)(found - text);
	*to = *at = *from + s->length;
	return 1;
}

static int
cut_piece(struct step *s, const char *text, const struct piece *p, struct pieces *to,
          struct work *work, struct err *e)
{
	struct cut c = { .step = s, .to = to, .e = e, .begun = p->from, .last_match = true };
	size_t n = p->to - p->from, at = 0, from, end;
	int r;

	/* Nothing before the first run of a piece belongs to it. */
	c.last_match = s->behavior == SPLIT_WITH_PREVIOUS;
	while ((r = next_match(s, text + p->from, n, &at, &from, &end, work, e)) > 0)
		/* An empty match cuts there. */
		if (cut_run(&c, p->from + from, s->invert) < 0 ||
		    cut_run(&c, p->from + end, !s->invert) < 0)
			return -1;
	return r < 0 ? -1 : cut_run(&c, p->to, s->invert);
}

/* "1234567" as "1", "234", "567". */
static int
cut_threes(const char *text, const struct piece *p, struct pieces *to, struct err *e)
{
	size_t i = p->from, begun = p->from, run, next;

	while (i < p->to) {
		if (text[i] < '0' || text[i] > '9') {
			i++;
			continue;
		}
		if (add(to, begun, i, false, e) < 0)
			return -1;
		for (run = i; run < p->to && text[run] >= '0' && text[run] <= '9'; run++)
			;
		for (; i < run; i = next) {
			next = i + ((run - i) % 3 ? (run - i) % 3 : 3);
			if (add(to, i, next, false, e) < 0)
				return -1;
		}
		begun = run;
	}
	return add(to, begun, p->to, false, e);
}

/* ---- steps that change the text ---- */

static int
copy(const char *text, const struct piece *p, struct pieces *to, struct err *e)
{
	size_t from = to->text.n;

	buf_put(&to->text, text + p->from, p->to - p->from);
	return buf_ok(&to->text) ? add(to, from, to->text.n, p->raw, e) : err_memory(e);
}

static int
blank_first(const char *text, const struct piece *p, struct pieces *to, struct err *e)
{
	struct piece *made;

	if (text[p->from] != ' ')
		buf_text(&to->text, " ");
	if (copy(text, p, to, e) < 0)
		return -1;
	made = &to->p[to->n - 1];
	made->from -= text[p->from] != ' ';
	return 0;
}

static bool
is_blank(const char *text, size_t n)
{
	return n >= 3 && memcmp(text, BLANK, 3) == 0;
}

static int
metaspace(const struct step *s, const char *text, const struct piece *p, bool first,
          struct pieces *to, struct err *e)
{
	size_t from = to->text.n, i, run;

	if (first && (s->twice || (text[p->from] != ' ' &&
	                           !is_blank(text + p->from, p->to - p->from))))
		buf_text(&to->text, BLANK);
	for (i = p->from; i < p->to; i = run) {
		for (run = i; run < p->to && text[run] != ' '; run++)
			;
		buf_put(&to->text, text + i, run - i);
		for (; run < p->to && text[run] == ' '; run++)
			buf_text(&to->text, BLANK);
	}
	return buf_ok(&to->text) ? add(to, from, to->text.n, p->raw, e) : err_memory(e);
}

static int
cut_blanks(const char *text, const struct piece *p, bool words, struct pieces *to,
           struct err *e)
{
	size_t i, begun = p->from;
	const char *next;

	for (i = begun; i < p->to; i = (size_t)(next - text) + 3) {
		next = memmem(text + i, p->to - i, BLANK, 3);
		if (!next)
			break;
		if (words && (size_t)(next - text) == i && i > p->from)
			continue; /* the character before was a blank too */
		if (add(to, begun, (size_t)(next - text), false, e) < 0)
			return -1;
		begun = (size_t)(next - text);
	}
	return add(to, begun, p->to, false, e);
}

/* Whether a piece was cut from another because of bytes that are not UTF-8. */
static bool
goes_on(const struct pieces *in, size_t i)
{
	return i > 0 && in->p[i - 1].to == in->p[i].from &&
	       (in->p[i].raw || in->p[i - 1].raw);
}

static bool
is_first(const struct step *s, const struct pieces *in, size_t i, bool first)
{
	return s->first == FIRST_OF_TEXT ? first && i == 0
	                                 : s->first == FIRST_ALWAYS && !goes_on(in, i);
}

int
split_grown(struct err *e)
{
	return err_set(e, ERR_MEMORY, NULL, "the steps of the tokenizer make the text more "
	               "than %d times as long", WORK_GROWTH_PER_BYTE);
}

static int
run_step(struct step *s, const struct pieces *in, struct pieces *to, bool first,
         struct work *work, struct err *e)
{
	const char *text = (const char *)in->text.p;
	size_t i;
	int r = 0;

	for (i = 0; i < in->n && r == 0; i++) {
		const struct piece *p = &in->p[i];

		if (s->kind == STEP_BLANK_FIRST)
			r = goes_on(in, i) ? copy(text, p, to, e) : blank_first(text, p, to, e);
		else if (s->kind == STEP_METASPACE)
			r = metaspace(s, text, p, is_first(s, in, i, first), to, e);
		else if (p->raw)
			r = add(to, p->from, p->to, true, e);
		else if (s->kind == STEP_CUT_BLANKS || s->kind == STEP_CUT_WORDS)
			r = cut_blanks(text, p, s->kind == STEP_CUT_WORDS, to, e);
		else if (s->kind == STEP_THREES)
			r = cut_threes(text, p, to, e);
		else
			r = cut_piece(s, text, p, to, work, e);
	}
	if (r == 0 && work_grow(work, in->text.n, to->text.n) < 0)
		r = split_grown(e);
	return r;
}

int
split_run(struct split *s, struct pieces *p, bool first, struct work *work, struct err *e)
{
	struct pieces to = { 0 }, old;
	size_t i;

	for (i = 0; i < s->n; i++) {
		bool changes = s->step[i].kind == STEP_BLANK_FIRST ||
		               s->step[i].kind == STEP_METASPACE;

		to.n = 0;
		buf_clear(&to.text);
		if (run_step(&s->step[i], p, &to, first, work, e) < 0) {
			pieces_free(&to);
			return -1;
		}
		/* If the text has not moved, its buffer stays. */
		old = *p;
		*p = to;
		to = old;
		if (!changes) {
			struct buf swap = p->text;

			p->text = to.text;
			to.text = swap;
		}
	}
	pieces_free(&to);
	return 0;
}
