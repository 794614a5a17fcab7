#include "tokenizer/wordpiece.h"

static size_t
count_characters(const uint8_t *s, size_t n)
{
	size_t i, count = 0;

	for (i = 0; i < n; i++)
		count += (s[i] & 0xc0) != 0x80;
	return count;
}

/* The longest token that s begins with, and its bytes. */
static uint32_t
longest(const struct vocab *v, const uint8_t *s, size_t n, size_t *bytes)
{
	uint32_t id;
	size_t i;

	for (i = n < v->longest ? n : v->longest; i > 0; i--) {
		if (i < n && (s[i] & 0xc0) == 0x80)
			continue; /* within a character */
		id = vocab_find(v, s, i);
		if (id != TOKEN_NONE) {
			*bytes = i;
			return id;
		}
	}
	return TOKEN_NONE;
}

int
wordpiece_encode(const struct vocab *v, const uint8_t *word, size_t n, size_t limit,
                 uint32_t unknown, struct buf *scratch, struct tokens *to,
                 struct err *e)
{
	size_t i, before = to->n, bytes = 0;
	uint32_t id;

	if (limit && n > limit && count_characters(word, n) > limit)
		return tokens_add(to, unknown, e);
	buf_clear(scratch);
	buf_text(scratch, "\xe2\x96\x81");
	buf_put(scratch, word, n);
	if (!buf_ok(scratch))
		return err_memory(e);
	for (i = 0; i < scratch->n; i += bytes) {
		id = longest(v, scratch->p + i, scratch->n - i, &bytes);
		if (id == TOKEN_NONE) {
			to->n = before;
			return tokens_add(to, unknown, e);
		}
		if (tokens_add(to, id, e) < 0)
			return -1;
	}
	return 0;
}
