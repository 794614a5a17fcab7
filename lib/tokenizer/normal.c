#include "tokenizer/normal.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "tokenizer/split.h"
#include "tokenizer/unicode.h"

#define BLANK "\xe2\x96\x81" /* U+2581 */

static int
check_size(const struct normal *s, const char *from, const char *to, struct err *e)
{
	if (s->n == STEPS_MOST)
		return err_set(e, ERR_FORMAT, from, "more than %d steps normalize the text",
		               STEPS_MOST);
	if (strlen(from) > STEPS_LONGEST || strlen(to) > STEPS_LONGEST)
		return err_set(e, ERR_FORMAT, from, "a step has a text of more than %d "
		               "bytes", STEPS_LONGEST);
	return 0;
}

struct normal_step *
normal_add(struct normal *s, enum normal_kind kind, const char *from, const char *to,
           struct err *e)
{
	struct normal_step *step;

	from = from ? from : "";
	to = to ? to : "";
	if (check_size(s, from, to, e) < 0)
		return NULL;
	if (mem_grow(&s->step, &s->cap, s->n + 1, sizeof *s->step) < 0) {
		err_memory(e);
		return NULL;
	}
	step = &s->step[s->n++];
	*step = (struct normal_step){ .kind = kind };
	step->from_bytes = strlen(from);
	step->to_bytes = strlen(to);
	step->from = mem_text(from, step->from_bytes);
	step->to = mem_text(to, step->to_bytes);
	if (!step->from || !step->to) {
		err_memory(e);
		return NULL;
	}
	if (kind == NORMAL_REPLACE_PATTERN &&
	    pattern_open_text(&step->pattern, step->from, ERR_CORRUPT, e) < 0)
		return NULL;
	s->width += step->pattern.width;
	if (s->width > STEPS_WIDEST) {
		err_set(e, ERR_FORMAT, from, "all patterns together compare more than %d characters",
		        STEPS_WIDEST);
		return NULL;
	}
	return step;
}

int
normal_add_map(struct normal *s, const void *p, size_t n, const char *what, struct err *e)
{
	struct normal_step *step = normal_add(s, NORMAL_MAP, NULL, NULL, e);

	return step && (n == 0 || charsmap_open(&step->map, p, n, what, e) == 0) ? 0 : -1;
}

int
normal_add_spaces(struct normal *s, bool prefix, bool merge, struct err *e)
{
	struct normal_step *step = normal_add(s, NORMAL_SPACES, NULL, NULL, e);

	if (!step)
		return -1;
	step->left = prefix;
	step->right = merge;
	return 0;
}

void
normal_free(struct normal *s)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		if (s->step[i].kind == NORMAL_REPLACE_PATTERN)
			pattern_close(&s->step[i].pattern);
		charsmap_free(&s->step[i].map);
		free(s->step[i].from);
		free(s->step[i].to);
	}
	free(s->step);
	*s = (struct normal){ 0 };
}

/* ---- steps over characters ---- */

/* The Unicode blocks that BERT counts as Chinese. */
static bool
is_chinese(uint32_t c)
{
	return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
	       (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
	       (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
	       (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

static void
put_character(enum normal_kind kind, uint32_t c, struct buf *to)
{
	switch (kind) {
	case NORMAL_LOWER:
		unicode_put_lower(c, to);
		return;
	case NORMAL_MARKS:
		if (c >= 0x300 && unicode_is_mark(c))
			return;
		break;
	case NORMAL_ACCENTS:
		if (c >= 0x300 && unicode_is_accent(c))
			return;
		break;
	case NORMAL_CLEAN:
		if (unicode_is_space(c))
			c = ' ';
		else if (c == 0 || c == 0xfffd || unicode_is_other(c))
			return;
		break;
	case NORMAL_CJK:
		if (is_chinese(c)) {
			buf_u8(to, ' ');
			text_put(to, c);
			c = ' ';
		}
		break;
	default:
		break;
	}
	text_put(to, c);
}

static int
run_characters(enum normal_kind kind, const uint8_t *s, size_t n, struct buf *to,
               struct err *e)
{
	size_t i = 0, length, from;
	uint32_t c;

	while (i < n) {
		if (kind <= NORMAL_NFKD) {
			for (from = i; i < n && (length = text_character(s + i, n - i, &c)) > 0;)
				i += length;
			if (unicode_normalize(s + from, i - from, (enum unicode_form)kind, to, e) < 0)
				return -1;
			if (i < n)
				buf_u8(to, s[i++]);
			continue;
		}
		length = text_character(s + i, n - i, &c);
		if (length > 0)
			put_character(kind, c, to);
		else if (kind != NORMAL_CLEAN)
			buf_u8(to, s[i]);
		i += length ? length : 1;
	}
	return 0;
}

/* ---- steps over texts ---- */

/* Replace old bytes by the text of a step. Growth counts at once, so that a step cannot make
 * a gigabyte before it ends. */
static int
put_in(struct normal_step *s, size_t old, struct work *work, struct buf *to, struct err *e)
{
	if (work_grow(work, old, s->to_bytes) < 0)
		return split_grown(e);
	buf_put(to, s->to, s->to_bytes);
	return 0;
}

static int
replace(struct normal_step *s, const uint8_t *text, size_t n, struct buf *to,
        struct work *work, struct err *e)
{
	size_t i = 0;
	const uint8_t *found;

	while (s->from_bytes > 0 && i < n &&
	       (found = memmem(text + i, n - i, s->from, s->from_bytes))) {
		buf_put(to, text + i, (size_t)(found - text) - i);
		if (put_in(s, s->from_bytes, work, to, e) < 0)
			return -1;
		i = (size_t)(found - text) + s->from_bytes;
	}
	buf_put(to, text + i, n - i);
	return 0;
}

static int
replace_valid(struct normal_step *s, const char *text, size_t n, struct buf *to,
              struct work *work, struct err *e)
{
	size_t i = 0, at = 0, from, end;
	int r;

	while ((r = pattern_find(&s->pattern, text, n, &at, &from, &end, work, e)) > 0) {
		buf_put(to, text + i, from - i);
		if (put_in(s, end - from, work, to, e) < 0)
			return -1;
		i = end;
	}
	buf_put(to, text + i, n - i);
	return r;
}

static int
replace_pattern(struct normal_step *s, const uint8_t *text, size_t n, struct buf *to,
                struct work *work, struct err *e)
{
	size_t i = 0, from, length;
	uint32_t c;

	while (i < n) {
		for (from = i; i < n && (length = text_character(text + i, n - i, &c)) > 0;)
			i += length;
		if (i > from &&
		    replace_valid(s, (const char *)text + from, i - from, to, work, e) < 0)
			return -1;
		if (i < n)
			buf_u8(to, text[i++]);
	}
	return 0;
}

static void
strip(const struct normal_step *s, const uint8_t *text, size_t n, struct buf *to)
{
	size_t i = 0, end = n, back, length;
	uint32_t c;

	while (s->left && i < n && (length = text_character(text + i, n - i, &c)) > 0 &&
	       unicode_is_space(c))
		i += length;
	while (s->right && end > i) {
		for (back = end - 1; back > i && (text[back] & 0xc0) == 0x80; back--)
			;
		if (text_character(text + back, end - back, &c) != end - back ||
		    !unicode_is_space(c))
			break;
		end = back;
	}
	buf_put(to, text + i, end - i);
}

static void
spaces(const struct normal_step *s, const uint8_t *text, size_t n, struct buf *to)
{
	bool first = true; /* no word so far */
	size_t i, end;

	for (i = 0; i < n; i = end) {
		for (; i < n && text[i] == ' '; i++)
			if (!s->right)
				buf_text(to, BLANK);
		for (end = i; end < n && text[end] != ' '; end++)
			;
		if (end > i && (s->right ? s->left || !first : s->left && first))
			buf_text(to, BLANK);
		first = first && end == i;
		buf_put(to, text + i, end - i);
	}
}

static int
run_step(struct normal_step *s, const uint8_t *text, size_t n, struct buf *to,
         struct work *work, struct err *e)
{
	int r = 0;

	switch (s->kind) {
	case NORMAL_REPLACE:
		r = replace(s, text, n, to, work, e);
		break;
	case NORMAL_REPLACE_PATTERN:
		r = replace_pattern(s, text, n, to, work, e);
		break;
	case NORMAL_PREPEND:
		if (n > 0)
			r = put_in(s, 0, work, to, e);
		buf_put(to, text, n);
		break;
	case NORMAL_STRIP:
		strip(s, text, n, to);
		break;
	case NORMAL_MAP:
		r = charsmap_run(&s->map, text, n, to, work, e);
		break;
	case NORMAL_SPACES:
		spaces(s, text, n, to); /* at most three times as long */
		break;
	default:
		/* No character becomes more than a few dozen bytes. */
		r = run_characters(s->kind, text, n, to, e);
		if (r == 0 && work_grow(work, n, to->n) < 0)
			r = split_grown(e);
	}
	return r < 0 ? -1 : buf_ok(to) ? 0 : err_memory(e);
}

/* Offsets in a text have 32 bits. */
#define LONGEST ((size_t)1 << 30)

int
normal_run(struct normal *s, const uint8_t *text, size_t n, struct buf *to,
           struct work *work, struct err *e)
{
	struct buf next = { 0 }, old;
	size_t i;
	int r = 0;

	buf_clear(to);
	buf_put(to, text, n);
	if (!buf_ok(to))
		return err_memory(e);
	for (i = 0; i < s->n && r == 0; i++) {
		buf_clear(&next);
		r = run_step(&s->step[i], to->p, to->n, &next, work, e);
		old = *to;
		*to = next;
		next = old;
		if (r == 0 && to->n > LONGEST)
			r = err_set(e, ERR_MEMORY, NULL, "a text of more than 1 GiB is not encoded");
	}
	buf_free(&next);
	return r;
}
