/* The vocabulary, as GGUF's keys have it. */
#include <inttypes.h>
#include <string.h>

#include "core/text.h"
#include "imports/ggml/ggml.h"
#include "imports/words.h"

static bool
is_printed(unsigned byte)
{
	return (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
}

/* The letter that GPT-2's vocabulary writes for a byte. */
static unsigned
letter_of(unsigned byte)
{
	unsigned i, next = 256;

	if (is_printed(byte))
		return byte;
	for (i = 0; i < byte; i++)
		next += !is_printed(i);
	return next;
}

/* A token of a byte-level BPE. */
static void
put_bytes(struct words *w, const uint8_t *p, size_t n)
{
	struct buf text = { 0 };
	size_t i;

	for (i = 0; i < n; i++)
		text_put(&text, letter_of(p[i]));
	import_string(&w->tokens, text.p, text.n);
	w->tokens.failed |= text.failed;
	buf_free(&text);
}

static int
read_words(struct ggml *g, struct words *w, uint32_t count)
{
	const unsigned flags = g->layout->flags;
	struct reader *r = &g->at;
	const uint8_t *p;
	uint32_t i, n;

	for (i = 0; i < count && !r->failed; i++) {
		n = reader_u32(r);
		if (n > READER_WINDOW || n > reader_left(r))
			return reader_fail(r, ERR_CORRUPT, "a token of %" PRIu32 " bytes", n);
		p = reader_take(r, n);
		if (!p)
			return -1;
		if (flags & GGML_LLAMA)
			words_piece(w, i, p, n);
		else if (flags & GGML_BYTES)
			put_bytes(w, p, n);
		else
			import_string(&w->tokens, p, n);
		if (flags & GGML_SCORED)
			buf_u32(&w->scores, reader_u32(r));
		if (w->tokens.n > IMPORT_KEYS)
			return reader_fail(r, ERR_CORRUPT, "a vocabulary of more than %u bytes",
			                   IMPORT_KEYS);
	}
	return r->failed ? -1 : 0;
}

static int
add_keys(struct ggml *g, const struct words *w)
{
	const unsigned flags = g->layout->flags;
	struct import *im = &g->import;

	if (flags & GGML_LLAMA)
		return words_llama(im, w, flags & GGML_SCORED);
	if (flags & GGML_BYTES && import_text(im, "tokenizer.ggml.model", "gpt2", 4) < 0)
		return -1;
	if (import_value(im, "tokenizer.ggml.tokens", (struct value_type){ 1, VALUE_STRING },
	                 &w->tokens) < 0)
		return -1;
	return flags & GGML_SCORED
	           ? import_value(im, "tokenizer.ggml.scores", (struct value_type){ 1, VALUE_F32 },
	                          &w->scores)
	           : 0;
}

int
ggml_vocabulary(struct ggml *g)
{
	uint32_t count = g->layout->flags & GGML_COUNTED ? reader_u32(&g->at) : g->tokens;
	struct words w = { 0 };
	int r = -1;

	if (g->at.failed)
		return -1;
	if (count > reader_left(&g->at) / 4)
		return reader_fail(&g->at, ERR_CORRUPT, "a vocabulary of %" PRIu32 " tokens, for "
		                   "which the file is too short", count);
	words_begin(&w, count);
	if (read_words(g, &w, count) == 0)
		r = add_keys(g, &w);
	words_free(&w);
	return r;
}
