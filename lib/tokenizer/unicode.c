#include "tokenizer/unicode.h"

#include <stdlib.h>
#include <string.h>

#include "core/characters.h"
#include "core/mem.h"
#include "core/text.h"

void
unicode_put_lower(uint32_t c, struct buf *to)
{
	if (c == 0x130)
		buf_text(to, "i\xcc\x87");
	else
		text_put(to, character_lower(c));
}

void
unicode_put_title(uint32_t c, struct buf *to)
{
	text_put(to, character_title(c));
}

bool
unicode_is_space(uint32_t c)
{
	return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
	       (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
	       c == 0x205f || c == 0x3000;
}

bool
unicode_is_letter(uint32_t c)
{
	return character_category(c) >= CHARACTER_LU && character_category(c) <= CHARACTER_LO;
}

bool
unicode_is_number(uint32_t c)
{
	return character_category(c) >= CHARACTER_ND && character_category(c) <= CHARACTER_NO;
}

bool
unicode_is_lower(uint32_t c)
{
	return character_category(c) == CHARACTER_LL;
}

bool
unicode_is_upper(uint32_t c)
{
	return character_category(c) == CHARACTER_LU || character_category(c) == CHARACTER_LT;
}

bool
unicode_is_mark(uint32_t c)
{
	return character_category(c) >= CHARACTER_MN && character_category(c) <= CHARACTER_ME;
}

bool
unicode_is_accent(uint32_t c)
{
	return character_category(c) == CHARACTER_MN;
}

bool
unicode_is_other(uint32_t c)
{
	return character_category(c) == CHARACTER_CN || character_category(c) >= CHARACTER_CC;
}

/* ---- normal forms ---- */

/* Characters; room for as many as needed. */
struct characters {
	uint32_t *c;
	size_t n, cap;
};

bool
unicode_combines(uint32_t c)
{
	return character_class(c) != 0;
}

/* Sort marks in a row by their classes. The sort of the library is quadratic in their number. */
static void
sort_marks(uint32_t *c, size_t n, uint32_t *scratch)
{
	size_t count[257] = { 0 }, i;

	for (i = 0; i < n; i++)
		count[character_class(c[i]) + 1]++;
	for (i = 1; i < 257; i++)
		count[i] += count[i - 1];
	for (i = 0; i < n; i++)
		scratch[count[character_class(c[i])]++] = c[i];
	memcpy(c, scratch, n * sizeof *c);
}

static int
order_marks(struct characters *a, struct err *e)
{
	uint32_t *scratch = mem_array(a->n, sizeof *scratch);
	size_t i = 0, from;
	bool sorted;

	if (!scratch)
		return err_memory(e);
	while (i < a->n) {
		if (a->c[i] < 0x300 || character_class(a->c[i]) == 0) {
			i++;
			continue;
		}
		sorted = true;
		for (from = i++; i < a->n && character_class(a->c[i]) != 0; i++)
			sorted = sorted && character_class(a->c[i - 1]) <= character_class(a->c[i]);
		if (!sorted)
			sort_marks(a->c + from, i - from, scratch);
	}
	free(scratch);
	return 0;
}

static int
decompose(const uint8_t *s, size_t n, bool compatible, struct characters *a, struct err *e)
{
	size_t length;
	uint32_t c;

	for (; n > 0; s += length, n -= length) {
		length = text_character(s, n, &c);
		if (mem_grow(&a->c, &a->cap, a->n + CHARACTER_LONGEST, sizeof *a->c) < 0)
			return err_memory(e);
		if (c < 0xa0) /* the first that decomposes */
			a->c[a->n++] = c;
		else
			a->n += character_decompose(c, compatible, a->c + a->n);
	}
	return 0;
}

int
unicode_normalize(const uint8_t *s, size_t n, enum unicode_form form, struct buf *to,
                  struct err *e)
{
	bool compatible = form == UNICODE_NFKC || form == UNICODE_NFKD;
	bool compose = form == UNICODE_NFC || form == UNICODE_NFKC;
	struct characters a = { 0 };
	size_t i;
	int r = -1;

	for (i = 0; i < n && s[i] < 0x80; i++)
		;
	if (i == n) {
		buf_put(to, s, n);
		return buf_ok(to) ? 0 : err_memory(e);
	}
	if (decompose(s, n, compatible, &a, e) < 0 || order_marks(&a, e) < 0)
		goto end;
	if (compose)
		a.n = characters_compose(a.c, a.n);
	for (i = 0; i < a.n; i++)
		text_put(to, a.c[i]);
	r = buf_ok(to) ? 0 : err_memory(e);
end:
	free(a.c);
	return r;
}
