/* The vocabularies of two files, tokenizer.json, as lists of texts. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "diff/parts.h"
#include "tokenizer/tokenizer.h"

/* The texts of all tokens as the wire form of a list of texts (model/value.h). */
static int
put_tokens(const struct tokenizer *t, struct buf *to)
{
	uint32_t i, count = tokenizer_count(t);
	const char *text;
	size_t n;

	buf_u32(to, VALUE_STRING);
	buf_u64(to, count);
	for (i = 0; i < count; i++) {
		text = tokenizer_text(t, i, &n);
		buf_u64(to, n);
		buf_put(to, text, n);
	}
	return buf_ok(to) ? 0 : -1;
}

/* The vocabulary of file i of a side. 0; -1 if it cannot be read. */
static int
read_vocabulary(const struct diff *d, size_t side, size_t i, struct buf *to, struct err *e)
{
	static const struct tokenizer_options tokens_only = { .list = true };
	const struct side *s = &d->side[side];
	const size_t n = (size_t)s->plan->blobs[i].bytes;
	uint8_t *p = side_keeps_file(s, i) ? mem_array(n + 1, 1) : NULL;
	struct tokenizer *t = NULL;
	int r = -1;

	if (p && spool_get((struct spool *)(uintptr_t)&s->spool, s->blobs[i].at, p, n, e) == 0)
		t = tokenizer_open_json(p, n, NULL, 0, s->plan->blobs[i].name, &tokens_only, e);
	if (t)
		r = put_tokens(t, to);
	tokenizer_free(t);
	free(p);
	return r;
}

struct diff_list *
diff_vocabularies(const struct diff *d, size_t i, size_t k)
{
	struct buf a = { 0 }, b = { 0 };
	struct err e = ERR_INIT;
	struct diff_list *list = NULL;

	if (read_vocabulary(d, 0, i, &a, &e) == 0 && read_vocabulary(d, 1, k, &b, &e) == 0) {
		const struct value_type texts = { 1, VALUE_STRING };
		const struct meta x = { .type = texts, .wire = a.p, .wire_bytes = a.n };
		const struct meta y = { .type = texts, .wire = b.p, .wire_bytes = b.n };

		list = diff_lists(d, &x, &y, &e);
	}
	buf_free(&a);
	buf_free(&b);
	return list;
}
