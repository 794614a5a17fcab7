#include "crypto/statement.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/text.h"

static const char *const before[] = { "{\"name\":\"", "\",\"version\":\"", "\",\"date\":\"",
	"\",\"comment\":\"", "\"}" };
#define FIELDS (sizeof before / sizeof *before - 1)

/* The fields in the order of the text; returns the size of the i-th. */
static size_t
field_at(const struct statement *s, size_t i, const char **p)
{
	const char *const list[FIELDS] = { s->name, s->version, s->date, s->comment };
	static const size_t sizes[FIELDS] = { sizeof s->name, sizeof s->version,
		sizeof s->date, sizeof s->comment };

	*p = list[i];
	return sizes[i];
}

/* False for control characters: those of ASCII, and U+0080 to U+009F. */
static bool
is_plain(const char *p)
{
	size_t i, n = strlen(p);

	for (i = 0; i < n; i++) {
		uint8_t c = (uint8_t)p[i];

		if (c < 0x20 || c == 0x7f || (c == 0xc2 && (uint8_t)p[i + 1] < 0xa0))
			return false;
	}
	return text_utf8(p, n, false);
}

static int
days_of(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

static int
number(const char *digits, int n)
{
	int v = 0;

	while (n-- > 0)
		v = 10 * v + (*digits++ - '0');
	return v;
}

static bool
is_date(const char *text)
{
	static const char form[] = "0000-00-00T00:00:00Z";
	int month, day;
	size_t i;

	for (i = 0; form[i]; i++)
		if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
			return false;
	month = number(text + 5, 2);
	day = number(text + 8, 2);
	return !text[i] && month >= 1 && month <= 12 && day >= 1 && day <= days_of(number(text, 4), month) &&
	       number(text + 11, 2) < 24 && number(text + 14, 2) < 60 && number(text + 17, 2) < 60;
}

int
statement_date(const char *text, char dst[STATEMENT_DATE + 1])
{
	uint64_t seconds;
	struct tm tm;
	time_t t;

	if (text_u64(text, 0, UINT64_C(253402300799), &seconds) == 0) {
		t = (time_t)seconds;
		if (!gmtime_r(&t, &tm))
			return -1;
		return snprintf(dst, STATEMENT_DATE + 1, "%04d-%02d-%02dT%02d:%02d:%02dZ",
		                tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
		                tm.tm_min, tm.tm_sec) == STATEMENT_DATE ? 0 : -1;
	}
	if (strlen(text) > STATEMENT_DATE)
		return -1;
	strcpy(dst, text);
	if (strlen(text) == 10)
		strcat(dst, "T00:00:00Z");
	return is_date(dst) ? 0 : -1;
}

int
statement_check(const struct statement *s, enum err_code code, struct err *e)
{
	static const char *const names[FIELDS] = { "name", "version", "date", "comment" };
	const char *p;
	size_t i;

	for (i = 0; i < FIELDS; i++) {
		field_at(s, i, &p);
		if (!is_plain(p))
			return err_set(e, code, names[i],
			               "is not UTF-8 without control characters");
	}
	if (*s->date && !is_date(s->date))
		return err_set(e, code, "date", "is not a date as 2026-11-22T10:00:00Z");
	return 0;
}

int
statement_set(char *field, size_t size, const char *name, const char *text,
              enum err_code code, struct err *e)
{
	size_t n = strlen(text);

	if (n >= size)
		return err_set(e, code, name, "has %zu bytes, at most %zu can be signed", n,
		               size - 1);
	memcpy(field, text, n + 1);
	return 0;
}

size_t
statement_text(const struct statement *s, char dst[STATEMENT_TEXT + 1])
{
	char *to = dst;
	const char *p;
	size_t i;

	for (i = 0; i < FIELDS; i++) {
		to = stpcpy(to, before[i]);
		for (field_at(s, i, &p); *p; p++) {
			if (*p == '"' || *p == '\\')
				*to++ = '\\';
			*to++ = *p;
		}
	}
	to = stpcpy(to, before[FIELDS]);
	return (size_t)(to - dst);
}

/* Parse one field up to its closing quote. Returns the bytes used, or -1. */
static int
parse_field(const char *p, size_t n, char *field, size_t size)
{
	size_t i, used = 0;

	for (i = 0; i < n && p[i] != '"'; i++) {
		if (p[i] == '\\' && (++i == n || (p[i] != '"' && p[i] != '\\')))
			return -1;
		if (!p[i] || used + 1 == size)
			return -1;
		field[used++] = p[i];
	}
	field[used] = '\0';
	return i < n ? (int)i : -1;
}

size_t
statement_parse(const char *p, size_t n, struct statement *s)
{
	struct err ignored = ERR_INIT;
	size_t i, len, size, at = 0;
	const char *field;
	int used;

	memset(s, 0, sizeof *s);
	for (i = 0; i <= FIELDS; i++) {
		len = strlen(before[i]);
		if (n - at < len || memcmp(p + at, before[i], len) != 0)
			return 0;
		at += len;
		if (i == FIELDS)
			break;
		size = field_at(s, i, &field);
		used = parse_field(p + at, n - at, (char *)s + (field - (const char *)s), size);
		if (used < 0)
			return 0;
		at += (size_t)used;
	}
	return statement_check(s, ERR_CORRUPT, &ignored) < 0 ? 0 : at;
}
