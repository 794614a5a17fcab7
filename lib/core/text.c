#include "core/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/num.h"

size_t
text_character(const void *p, size_t n, uint32_t *cp)
{
	static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	const uint8_t *s = p;
	size_t len, i;
	uint32_t c;

	if (s[0] < 0x80) {
		*cp = s[0];
		return 1;
	}
	len = s[0] >= 0xf0 && s[0] < 0xf8 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (s[0] < 0xc2 || s[0] > 0xf4 || len > n)
		return 0;
	c = s[0] & (0x7fu >> len);
	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*cp = c;
	return len;
}

size_t
text_encode(uint32_t cp, void *to)
{
	size_t n = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : cp < 0x110000 ? 4 : 0, i;
	uint8_t *p = to;

	for (i = n; i-- > 1; cp >>= 6)
		p[i] = (uint8_t)(0x80 | (cp & 0x3f));
	if (n > 0)
		p[0] = (uint8_t)(n == 1 ? cp : cp | (0xf00u >> n & 0xff));
	return n;
}

void
text_put(struct buf *b, uint32_t cp)
{
	uint8_t *p = buf_room(b, 4);

	if (p)
		b->n += text_encode(cp, p);
}

bool
text_dangerous(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || (c >= 0xfff9 && c <= 0xfffb) ||
	       c == 0xfeff || (c >= 0xe0000 && c <= 0xe0fff);
}

/* Whether a dangerous character is part of ordinary text: a tab, a line break, or a
 * joiner of letters and of the parts of an emoji. */
static bool
harmless(uint32_t c)
{
	return c == '\t' || c == '\n' || c == 0x200c || c == 0x200d;
}

static char *
escape(char *dst, size_t size, const char *s, size_t n, bool backslash)
{
	const uint8_t *p = (const uint8_t *)s;
	size_t used = 0, i;

	if (size == 0)
		return dst;
	while (n > 0) {
		char piece[24];
		uint32_t c = 0;
		size_t len = text_character(p, n, &c), put = 0;

		if (len == 0)
			len = 1, c = 0;
		if (text_dangerous(c))
			for (i = 0; i < len; i++)
				put += (size_t)snprintf(piece + put, sizeof piece - put,
				                        "\\x%02x", p[i]);
		else if (c == '\\' && backslash)
			memcpy(piece, "\\\\", put = 2);
		else
			memcpy(piece, p, put = len);
		if (used + put + 4 > size) {
			if (size >= 4)
				memcpy(dst + used, "...", 3), used += 3;
			break;
		}
		memcpy(dst + used, piece, put);
		used += put;
		p += len;
		n -= len;
	}
	dst[used] = '\0';
	return dst;
}

char *
text_quote(char *dst, size_t size, const char *s, size_t n)
{
	return escape(dst, size, s, n, true);
}

char *
text_sentence(char *dst, size_t size, const char *s)
{
	return escape(dst, size, s, strlen(s), false);
}

void
text_show(struct buf *to, const void *s, size_t n)
{
	const uint8_t *p = s;
	size_t len, i;
	uint32_t c;

	for (; n > 0; p += len, n -= len) {
		len = text_character(p, n, &c);
		if (len > 0 && (!text_dangerous(c) || harmless(c))) {
			buf_put(to, p, len);
			continue;
		}
		len = len > 0 ? len : 1;
		for (i = 0; i < len; i++)
			buf_printf(to, "\\x%02x", p[i]);
	}
}

static bool
in_blocks(uint32_t c, const uint32_t (*block)[2], size_t n)
{
	while (n > 0)
		if (c >= block[--n][0] && c <= block[n][1])
			return true;
	return false;
}

size_t
text_columns(const char *s)
{
	static const uint32_t none[][2] = { { 0x300, 0x36f }, { 0x483, 0x489 },
		{ 0x591, 0x5bd }, { 0x610, 0x61a }, { 0x64b, 0x65f }, { 0x1ab0, 0x1aff },
		{ 0x1dc0, 0x1dff }, { 0x20d0, 0x20ff }, { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f } };
	static const uint32_t wide[][2] = { { 0x1100, 0x115f }, { 0x2e80, 0x303e },
		{ 0x3041, 0xa4cf }, { 0xac00, 0xd7a3 }, { 0xf900, 0xfaff }, { 0xfe30, 0xfe6f },
		{ 0xff00, 0xff60 }, { 0xffe0, 0xffe6 }, { 0x1f300, 0x1f64f }, { 0x1f900, 0x1f9ff },
		{ 0x20000, 0x3fffd } };
	size_t n = strlen(s), columns = 0, len;
	uint32_t c;

	for (; n > 0; s += len, n -= len) {
		len = text_character(s, n, &c);
		if (len == 0)
			len = 1, c = ' ';
		columns += in_blocks(c, wide, sizeof wide / sizeof *wide) ? 2
		           : !in_blocks(c, none, sizeof none / sizeof *none);
	}
	return columns;
}

bool
text_utf8(const void *s, size_t n, bool allow_nul)
{
	const uint8_t *p = s;
	uint32_t c;

	while (n > 0) {
		size_t len = text_character(p, n, &c);

		if (len == 0 || (c == 0 && !allow_nul))
			return false;
		p += len;
		n -= len;
	}
	return true;
}

char *
text_size(char *dst, size_t size, uint64_t bytes)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double v = (double)bytes;
	unsigned u = 0;

	while (v >= 1024 && u < 6) {
		v /= 1024;
		u++;
	}
	snprintf(dst, size, u ? "%.1f %s" : "%.0f %s", v, unit[u]);
	return dst;
}

size_t
text_distance(const char *a, const char *b)
{
	size_t row[TEXT_DISTANCE + 1], i, j, n = strlen(b);

	if (n > TEXT_DISTANCE || strlen(a) > TEXT_DISTANCE)
		return SIZE_MAX;
	for (j = 0; j <= n; j++)
		row[j] = j;
	for (i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (j = 1; j <= n; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = row[j];
			row[j] = best;
		}
	}
	return row[n];
}

int
text_digits(const char **p, uint64_t *v)
{
	uint64_t n = 0;

	if (**p < '0' || **p > '9')
		return -1;
	for (; **p >= '0' && **p <= '9'; ++*p)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(**p - '0'), &n))
			return -1;
	*v = n;
	return 0;
}

int
text_u64(const char *s, uint64_t lo, uint64_t hi, uint64_t *v)
{
	uint64_t n;

	if (text_digits(&s, &n) < 0 || *s || n < lo || n > hi)
		return -1;
	*v = n;
	return 0;
}

/* Returns the factor of the unit after a number, or 0 if it is not a unit: "" and "B" are
 * 1, "K" and "KiB" are 1024, "KB" is 1000; likewise M, G and T. Case is ignored. */
static uint64_t
unit_factor(const char *unit)
{
	static const char letters[] = "kmgt";
	uint64_t base = 1024, factor = 1;
	const char *letter;

	if (!*unit || strcasecmp(unit, "b") == 0)
		return 1;
	letter = strchr(letters, tolower((unsigned char)*unit));
	if (!letter)
		return 0;
	if (strcasecmp(unit + 1, "b") == 0)
		base = 1000;
	else if (unit[1] && strcasecmp(unit + 1, "ib") != 0)
		return 0;
	for (; letter >= letters; letter--)
		factor *= base;
	return factor;
}

int
text_bytes(const char *s, uint64_t lo, uint64_t hi, uint64_t *v)
{
	uint64_t count, factor;

	if (text_digits(&s, &count) < 0)
		return -1;
	factor = unit_factor(s);
	if (factor == 0 || num_mul(count, factor, &count) < 0 || count < lo || count > hi)
		return -1;
	*v = count;
	return 0;
}

int
text_decimal(const char *s, double lo, double hi, double *v)
{
	size_t digits = strspn(s, "0123456789"), more = 0;
	double value;

	if (s[digits] == '.')
		more = 1 + strspn(s + digits + 1, "0123456789");
	if (digits + more < 1 + (more > 0) || digits + more > 40 || s[digits + more])
		return -1;
	value = strtod(s, NULL);
	if (!(value >= lo && value <= hi))
		return -1;
	*v = value;
	return 0;
}
