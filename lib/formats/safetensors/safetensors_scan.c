#include "formats/safetensors/safetensors_scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"

/* ---- bytes ---- */

int
scan_fail(struct scan *s, enum err_code code, const char *fmt, ...)
{
	struct reader *r = s->r;
	char object[sizeof r->err->object];
	va_list ap;

	r->failed = true;
	snprintf(object, sizeof object, "%s: byte %" PRIu64, r->name,
	         reader_tell(r) - (uint64_t)(s->end - s->p));
	va_start(ap, fmt);
	err_vset(r->err, code, object, fmt, ap);
	va_end(ap);
	return -1;
}

int
scan_no_memory(struct scan *s)
{
	s->r->failed = true;
	return err_memory(s->r->err);
}

int
scan_more(struct scan *s)
{
	size_t n;

	if (s->left == 0 || s->r->failed)
		return -1;
	s->p = s->end = reader_some(s->r, s->left, &n);
	if (!s->p)
		return -1;
	s->end += n;
	s->left -= n;
	return *s->p;
}

int
scan_wanted(struct scan *s, const char *what)
{
	if (scan_peek(s) >= 0)
		return scan_fail(s, ERR_CORRUPT, "%s is expected here", what);
	if (s->r->failed)
		return -1;
	return scan_fail(s, ERR_CORRUPT, "the header ends where %s is expected", what);
}

void
scan_blanks(struct scan *s, bool separator)
{
	size_t n = 0;
	int c, first = scan_peek(s);

	while ((c = scan_peek(s)) == ' ' || c == '\t' || c == '\n' || c == '\r') {
		s->p++;
		n++;
	}
	if (separator && n == 0)
		s->plain = true;
	else if (separator && n == 1 && first == ' ')
		s->spaced = true;
	else if (n > 0)
		s->odd = true;
}

/* ---- strings ---- */

static int
put(struct scan *s, struct scan_text *t, const uint8_t *p, size_t n)
{
	struct spool *spool = &s->h->spool;

	t->bytes += n;
	if (!t->spooled && (t->most || t->b.n + n <= t->keep)) {
		buf_put(&t->b, p, n);
		return buf_ok(&t->b) ? 0 : scan_no_memory(s);
	}
	if (!t->spooled) {
		t->spooled = true;
		t->at = spool->bytes;
		if (spool_put(spool, t->b.p, t->b.n, s->r->err) < 0)
			return -1;
		buf_clear(&t->b);
	}
	return spool_put(spool, p, n, s->r->err);
}

/* Pass on the complete characters of the string so far; at its end (last), all of it. */
static int
settle(struct scan *s, struct scan_text *t, bool last)
{
	size_t n = last ? s->raw.n : safetensors_whole(s->raw.p, s->raw.n);

	if (!buf_ok(&s->raw))
		return scan_no_memory(s);
	if (t->most && t->bytes + s->raw.n > t->most)
		return scan_fail(s, ERR_CORRUPT, "%s of more than %zu bytes", t->what, t->most);
	if (!text_utf8(s->raw.p, n, false))
		return scan_fail(s, ERR_CORRUPT, "a string that is not UTF-8 text without NUL");
	if (!t->base64) {
		if (put(s, t, s->raw.p, n) < 0)
			return -1;
	} else {
		buf_clear(&s->decoded);
		if (base64_add(&t->decoder, s->raw.p, n, &s->decoded) < 0 ||
		    (last && base64_end(&t->decoder) < 0))
			return scan_fail(s, ERR_CORRUPT,
			                 "a key of ours with a value that is not base64");
		if (!buf_ok(&s->decoded))
			return scan_no_memory(s);
		if (put(s, t, s->decoded.p, s->decoded.n) < 0)
			return -1;
	}
	s->raw.n -= n;
	if (s->raw.n)
		memmove(s->raw.p, s->raw.p + n, s->raw.n);
	return 0;
}

/* Read four hexadecimal digits. */
static int
read_unit(struct scan *s, uint32_t *unit)
{
	unsigned i;

	*unit = 0;
	for (i = 0; i < 4; i++, s->p++) {
		int c = scan_peek(s), v;

		if (c >= '0' && c <= '9')
			v = c - '0';
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v = (c | 0x20) - 'a' + 10;
		else
			return scan_wanted(s, "a hexadecimal digit");
		*unit = *unit << 4 | (uint32_t)v;
	}
	return 0;
}

/* Read a character after "\u". Two units form a character above U+FFFF. */
static int
read_character(struct scan *s)
{
	uint32_t c, low;

	if (read_unit(s, &c) < 0)
		return -1;
	if (c >= 0x7f)
		s->escaped = true;
	if (c >= 0xd800 && c < 0xe000) {
		if (c >= 0xdc00 || !scan_take(s, '\\') || !scan_take(s, 'u') ||
		    read_unit(s, &low) < 0 || low < 0xdc00 || low >= 0xe000)
			return scan_fail(s, ERR_CORRUPT, "half a pair of surrogates");
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	text_put(&s->raw, c);
	return 0;
}

static int
read_escape(struct scan *s)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	int c = scan_peek(s);
	const char *at = c > 0 ? strchr(from, c) : NULL;

	if (c == 'u') {
		s->p++;
		return read_character(s);
	}
	if (!at)
		return scan_wanted(s, "an escape of JSON");
	s->p++;
	buf_u8(&s->raw, (uint8_t)to[at - from]);
	return 0;
}

/* Read the available characters up to the next special one. */
static void
read_run(struct scan *s)
{
	const uint8_t *from = s->p;

	while (s->p < s->end && *s->p >= 0x20 && *s->p != '"' && *s->p != '\\') {
		s->wide |= *s->p >= 0x7f;
		s->p++;
	}
	buf_put(&s->raw, from, (size_t)(s->p - from));
}

int
scan_string(struct scan *s, struct scan_text *t)
{
	int c;

	buf_clear(&s->raw);
	while ((c = scan_peek(s)) != '"') {
		if (c < 0)
			return scan_wanted(s, "the end of a string");
		if (c < 0x20)
			return scan_fail(s, ERR_CORRUPT, "a control character in a string");
		if (c == '\\') {
			s->p++;
			if (read_escape(s) < 0)
				return -1;
		} else {
			read_run(s);
		}
		if (s->raw.n > VALUE_INLINE_BYTES && settle(s, t, false) < 0)
			return -1;
	}
	if (settle(s, t, true) < 0)
		return -1;
	s->p++;
	return buf_string(&t->b) ? 0 : scan_no_memory(s);
}

int
scan_name(struct scan *s, struct buf *b, const char *what, size_t most)
{
	struct scan_text t = { .b = *b, .most = most, .what = what };
	int r;

	buf_clear(&t.b);
	r = scan_string(s, &t);
	*b = t.b;
	return r;
}
