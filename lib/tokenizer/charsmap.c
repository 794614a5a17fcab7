#include "tokenizer/charsmap.h"

#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/text.h"
#include "tokenizer/split.h"

#define VALUE 0x80000000u

static uint32_t
unit(const struct charsmap *m, uint32_t i)
{
	return le32(m->bytes + 4 + 4 * (size_t)i);
}

static uint32_t
offset(uint32_t u)
{
	return u >> 10 << ((u & 0x200) >> 6);
}

/* The values of nodes are units of values, which point to replacements. Nodes that nothing leads to
 * are proved too. */
static int
prove_values(const struct charsmap *m, const char *what, struct err *e)
{
	uint32_t i, u, at;

	for (i = 0; i < m->units; i++) {
		u = unit(m, i);
		if (u & VALUE || !(u & 0x100))
			continue;
		at = i ^ offset(u);
		if (at >= m->units || (unit(m, at) & ~VALUE) >= m->text_bytes)
			return err_set(e, ERR_CORRUPT, what,
			               "the character map has a rule without a replacement");
	}
	return 0;
}

int
charsmap_open(struct charsmap *m, const void *p, size_t n, const char *what, struct err *e)
{
	size_t units;

	*m = (struct charsmap){ 0 };
	if (n < 9)
		return err_set(e, ERR_CORRUPT, what, "the character map has %zu bytes", n);
	units = le32(p);
	if (units == 0 || units % 4 != 0 || units > n - 5)
		return err_set(e, ERR_CORRUPT, what,
		               "the character map has %zu bytes of rules in %zu bytes", units, n);
	if (((const uint8_t *)p)[n - 1] != 0)
		return err_set(e, ERR_CORRUPT, what, "the character map ends within a text");
	m->bytes = mem_array(n, 1);
	if (!m->bytes)
		return err_memory(e);
	memcpy(m->bytes, p, n);
	m->units = (uint32_t)(units / 4);
	m->text = (const char *)m->bytes + 4 + units;
	m->text_bytes = n - 4 - units;
	return prove_values(m, what, e);
}

int
charsmap_check(const void *p, size_t n, const char *what, struct err *e)
{
	struct charsmap m;
	int r = charsmap_open(&m, p, n, what, e);

	charsmap_free(&m);
	return r;
}

void
charsmap_free(struct charsmap *m)
{
	free(m->bytes);
	*m = (struct charsmap){ 0 };
}

/* The longest rule that n > 0 bytes begin with: its bytes, and its replacement; 0 if none does. A
 * hostile trie can lead on for as long as the text does, so each node is a step of work. */
static int
longest(const struct charsmap *m, const uint8_t *s, size_t n, size_t *bytes,
        const char **to, struct work *work)
{
	uint32_t at = offset(unit(m, 0)), u;
	size_t i;

	*bytes = 0;
	for (i = 0; i < n && s[i] != 0; i++) {
		at ^= s[i];
		if (at >= m->units)
			break;
		u = unit(m, at);
		if ((u & (VALUE | 0xff)) != s[i])
			break;
		if (work_take(work, 1) < 0)
			return -1;
		at ^= offset(u);
		if (u & 0x100) {
			*bytes = i + 1;
			*to = m->text + (unit(m, at) & ~VALUE);
		}
	}
	return 0;
}

/* What the beginning of a text becomes; *used bytes of it are done. */
static int
put_next(const struct charsmap *m, const uint8_t *s, size_t n, size_t *used, struct buf *to,
         struct work *work, struct err *e)
{
	const char *with = "\xef\xbf\xbd";
	uint32_t c;

	*used = 0;
	if (m->units > 0 && longest(m, s, n, used, &with, work) < 0)
		return err_set(e, ERR_MEMORY, NULL,
		               "the character map takes too long for this text");
	if (*used == 0 && (*used = text_character(s, n, &c)) > 0) {
		buf_put(to, s, *used);
		return 0;
	}
	if (*used == 0)
		*used = 1;
	if (work_grow(work, *used, strlen(with)) < 0)
		return split_grown(e);
	buf_text(to, with);
	return 0;
}

int
charsmap_run(const struct charsmap *m, const uint8_t *text, size_t n, struct buf *to,
             struct work *work, struct err *e)
{
	size_t i, used;

	for (i = 0; i < n; i += used)
		if (put_next(m, text + i, n - i, &used, to, work, e) < 0)
			return -1;
	return buf_ok(to) ? 0 : err_memory(e);
}
