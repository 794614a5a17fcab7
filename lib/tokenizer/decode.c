#include <string.h>

#include "tokenizer/private.h"

void
tokenizer_piece(const struct tokenizer *t, uint32_t id, bool first, unsigned flags,
                struct buf *to)
{
	const struct token *k = &t->vocab.token[id];
	const uint8_t *p = t->vocab.pool.p + k->piece;
	size_t n = k->piece_bytes;

	if (tokenizer_is_control(t, id) && !(flags & TOKENIZER_SPECIAL))
		return;
	if (first && t->blank_first && n > 0 && *p == ' ' && !tokenizer_is_control(t, id))
		p++, n--;
	buf_put(to, p, n);
}

int
tokenizer_decode(const struct tokenizer *t, const uint32_t *id, size_t n, unsigned flags,
                 struct buf *to, struct err *e)
{
	bool first = true;
	size_t i;

	for (i = 0; i < n; i++) {
		if (id[i] >= t->vocab.count)
			return err_set(e, ERR_USAGE, NULL, "%u is not a token: there are %zu", id[i],
			               t->vocab.count);
		tokenizer_piece(t, id[i], first, flags, to);
		first = first && tokenizer_is_control(t, id[i]);
	}
	return buf_ok(to) ? 0 : err_memory(e);
}
