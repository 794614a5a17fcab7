#include "generate/text.h"

#include <string.h>

#include "core/text.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* Bytes of the character that begins with this byte; 0 if none does. */
static size_t
length(unsigned char first)
{
	if (first < 0x80)
		return 1;
	return first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
}

/* Whether n bytes, fewer than the character has, can be its beginning: they are completed
 * with the smallest bytes that are valid. */
static bool
may_begin(const uint8_t *p, size_t n)
{
	static const uint8_t more[2] = { 0x80, 0xbf };
	uint8_t whole[4];
	size_t i, size = length(*p);

	for (i = 0; i < 2; i++) {
		memset(whole, more[i], sizeof whole);
		memcpy(whole, p, n);
		if (text_utf8(whole, size, true))
			return true;
	}
	return false;
}

/* The length of the character at p (*good), or of bytes there that are not a character; 0 if
 * more bytes must come. */
static size_t
next(const uint8_t *p, size_t n, bool *good)
{
	size_t i, size = length(*p);

	*good = size > 0 && size <= n && text_utf8(p, size, true);
	if (*good)
		return size;
	/* Replace the longest beginning of a character, or one byte. */
	for (i = 1; i < n && i < size && may_begin(p, i + 1); i++)
		;
	return size > n && i == n && may_begin(p, n) ? 0 : i;
}

/* The place in the n bytes of a stop text, or of the beginning of one that may go on behind
 * them, or n. */
static size_t
stop_in(const struct text *t, const uint8_t *p, size_t n, bool *whole)
{
	size_t i, k, size, left;

	*whole = false;
	for (i = 0; i < n; i++) {
		left = n - i;
		for (k = 0; k < t->stop_count; k++) {
			size = strlen(t->stops[k]);
			if (memcmp(p + i, t->stops[k], size < left ? size : left))
				continue;
			*whole = size <= left;
			if (*whole)
				return i;
		}
		/* No whole stop text begins here, but one may go on. */
		for (k = 0; k < t->stop_count; k++)
			if (strlen(t->stops[k]) > left && !memcmp(p + i, t->stops[k], left))
				return i;
	}
	return n;
}

void
text_add(struct text *t, const void *p, size_t n)
{
	if (t->stopped)
		return;
	buf_put(&t->held, p, n);
	if (buf_ok(&t->held))
		t->ready = stop_in(t, t->held.p, t->held.n, &t->stopped);
}

void
text_end(struct text *t)
{
	t->ended = true;
	if (!t->stopped)
		t->ready = t->held.n;
}

/* Drop the first n held bytes, which have been given out. */
static void
forget(struct text *t, size_t n)
{
	if (n > 0)
		memmove(t->held.p, t->held.p + n, t->held.n - n);
	t->held.n -= n;
	t->ready -= n < t->ready ? n : t->ready;
	t->given += n;
}

bool
text_take(struct text *t, uint64_t until, struct buf *out)
{
	size_t left = until > t->given ? (size_t)(until - t->given) : 0, at = 0, size = 0;
	bool good, known = true;

	if (!buf_ok(&t->held))
		out->failed = true;
	for (; at < left && at < t->ready; at += size) {
		size = next(t->held.p + at, t->held.n - at, &good);
		known = size > 0 || t->ended;
		if (size == 0 || size > left - at)
			break; /* not decided, or part of later bytes */
		if (good)
			buf_put(out, t->held.p + at, size);
		else
			buf_text(out, REPLACEMENT);
	}
	if (at < left && at >= t->ready)
		known = t->stopped;
	forget(t, at);
	return known;
}

void
text_free(struct text *t)
{
	buf_free(&t->held);
}
