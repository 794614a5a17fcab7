#include "tokenizer/unicode.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "core/mem.h"
#include "core/text.h"

void
unicode_put(uint32_t c, struct buf *to)
{
	uint8_t *p = buf_room(to, 4);

	if (p)
		to->n += (size_t)utf8proc_encode_char((utf8proc_int32_t)c, p);
}

void
unicode_put_lower(uint32_t c, struct buf *to)
{
	if (c == 0x130)
		buf_text(to, "i\xcc\x87");
	else
		unicode_put((uint32_t)utf8proc_tolower((utf8proc_int32_t)c), to);
}

void
unicode_put_title(uint32_t c, struct buf *to)
{
	unicode_put((uint32_t)utf8proc_totitle((utf8proc_int32_t)c), to);
}

bool
unicode_is_space(uint32_t c)
{
	return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
	       (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
	       c == 0x205f || c == 0x3000;
}

static utf8proc_category_t
category(uint32_t c)
{
	return utf8proc_category((utf8proc_int32_t)c);
}

bool
unicode_is_letter(uint32_t c)
{
	return category(c) >= UTF8PROC_CATEGORY_LU && category(c) <= UTF8PROC_CATEGORY_LO;
}

bool
unicode_is_number(uint32_t c)
{
	return category(c) >= UTF8PROC_CATEGORY_ND && category(c) <= UTF8PROC_CATEGORY_NO;
}

bool
unicode_is_lower(uint32_t c)
{
	return category(c) == UTF8PROC_CATEGORY_LL;
}

bool
unicode_is_upper(uint32_t c)
{
	return category(c) == UTF8PROC_CATEGORY_LU || category(c) == UTF8PROC_CATEGORY_LT;
}

bool
unicode_is_mark(uint32_t c)
{
	return category(c) >= UTF8PROC_CATEGORY_MN && category(c) <= UTF8PROC_CATEGORY_ME;
}

bool
unicode_is_accent(uint32_t c)
{
	return category(c) == UTF8PROC_CATEGORY_MN;
}

bool
unicode_is_other(uint32_t c)
{
	return category(c) == UTF8PROC_CATEGORY_CN || category(c) >= UTF8PROC_CATEGORY_CC;
}

/* ---- normal forms ---- */

/* Characters; room for as many as needed. */
struct characters {
	utf8proc_int32_t *c;
	size_t n, cap;
};

static unsigned
class_of(utf8proc_int32_t c)
{
	return (unsigned)utf8proc_get_property(c)->combining_class;
}

bool
unicode_combines(uint32_t c)
{
	return class_of((utf8proc_int32_t)c) != 0;
}

/* Sort marks in a row by their classes. The sort of the library is quadratic in their number. */
static void
sort_marks(utf8proc_int32_t *c, size_t n, utf8proc_int32_t *scratch)
{
	size_t count[257] = { 0 }, i;

	for (i = 0; i < n; i++)
		count[class_of(c[i]) + 1]++;
	for (i = 1; i < 257; i++)
		count[i] += count[i - 1];
	for (i = 0; i < n; i++)
		scratch[count[class_of(c[i])]++] = c[i];
	memcpy(c, scratch, n * sizeof *c);
}

static int
order_marks(struct characters *a, struct err *e)
{
	utf8proc_int32_t *scratch = mem_array(a->n, sizeof *scratch);
	size_t i = 0, from;
	bool sorted;

	if (!scratch)
		return err_memory(e);
	while (i < a->n) {
		if (a->c[i] < 0x300 || class_of(a->c[i]) == 0) {
			i++;
			continue;
		}
		sorted = true;
		for (from = i++; i < a->n && class_of(a->c[i]) != 0; i++)
			sorted = sorted && class_of(a->c[i - 1]) <= class_of(a->c[i]);
		if (!sorted)
			sort_marks(a->c + from, i - from, scratch);
	}
	free(scratch);
	return 0;
}

static int
decompose(const uint8_t *s, size_t n, int options, struct characters *a, struct err *e)
{
	utf8proc_ssize_t got;
	size_t length;
	uint32_t c;

	for (; n > 0; s += length, n -= length) {
		length = text_character(s, n, &c);
		/* U+FDFA is 18 characters, the most of all. */
		if (mem_grow(&a->c, &a->cap, a->n + 32, sizeof *a->c) < 0)
			return err_memory(e);
		got = utf8proc_decompose_char((utf8proc_int32_t)c, a->c + a->n, 32,
		                              (utf8proc_option_t)options, NULL);
		if (got > 0)
			a->n += (size_t)got;
	}
	return 0;
}

int
unicode_normalize(const uint8_t *s, size_t n, enum unicode_form form, struct buf *to,
                  struct err *e)
{
	bool compatible = form == UNICODE_NFKC || form == UNICODE_NFKD;
	bool compose = form == UNICODE_NFC || form == UNICODE_NFKC;
	int options = UTF8PROC_STABLE | (compatible ? UTF8PROC_COMPAT : 0);
	struct characters a = { 0 };
	utf8proc_ssize_t left;
	size_t i;
	int r = -1;

	for (i = 0; i < n && s[i] < 0x80; i++)
		;
	if (i == n) {
		buf_put(to, s, n);
		return buf_ok(to) ? 0 : err_memory(e);
	}
	if (decompose(s, n, options | UTF8PROC_DECOMPOSE, &a, e) < 0 || order_marks(&a, e) < 0)
		goto end;
	if (compose) {
		left = utf8proc_normalize_utf32(a.c, (utf8proc_ssize_t)a.n,
		                                (utf8proc_option_t)(options | UTF8PROC_COMPOSE));
		a.n = left > 0 ? (size_t)left : 0;
	}
	for (i = 0; i < a.n; i++)
		unicode_put((uint32_t)a.c[i], to);
	r = buf_ok(to) ? 0 : err_memory(e);
end:
	free(a.c);
	return r;
}
