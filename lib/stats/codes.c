#include "stats/codes.h"

#include <string.h>

#define ITEMS 32
#define BELOW 0x80 /* -128 */

/* Bytes before the codes of a block; 0: the type is another one. */
static size_t
codes_at(const struct dtype *t)
{
	return strcmp(t->name, "Q8_0") == 0 ? 2 : strcmp(t->name, "Q8_1") == 0 ? 4 : 0;
}

static size_t
count(const uint8_t *code, size_t n)
{
	size_t i, found = 0;

	for (i = 0; i < n; i++)
		found += code[i] == BELOW;
	return found;
}

size_t
codes_below(const struct dtype *t, const uint8_t *x, size_t n, size_t *first)
{
	size_t at = codes_at(t), i, part, found, all = 0;
	const uint8_t *code;

	for (i = 0; at && i < n; i += ITEMS, x += t->bytes) {
		part = n - i < ITEMS ? n - i : ITEMS;
		code = x + at;
		found = count(code, part);
		if (found && !all)
			*first = i + (size_t)((const uint8_t *)memchr(code, BELOW, part) - code);
		all += found;
	}
	return all;
}
