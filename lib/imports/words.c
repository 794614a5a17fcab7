#include "imports/words.h"

#include <string.h>

#define FIRST_BYTE 3 /* ids of the tokens of bytes */
#define BYTES 256

/* GGUF's types of tokens. */
enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, BYTE = 6 };

void
words_begin(struct words *w, uint32_t count)
{
	import_array(&w->tokens, VALUE_STRING, count);
	import_array(&w->scores, VALUE_F32, count);
	import_array(&w->types, VALUE_I32, count);
}

void
words_free(struct words *w)
{
	buf_free(&w->tokens);
	buf_free(&w->scores);
	buf_free(&w->types);
}

static bool
is_hex(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F');
}

/* <0xNN> */
static bool
is_byte(const uint8_t *p, size_t n)
{
	return n == 6 && memcmp(p, "<0x", 3) == 0 && is_hex(p[3]) && is_hex(p[4]) && p[5] == '>';
}

void
words_piece(struct words *w, uint32_t id, const uint8_t *p, size_t n)
{
	static const char *const special[] = { "<unk>", "<s>", "</s>" };
	const bool may_be_byte = id >= FIRST_BYTE && id < FIRST_BYTE + BYTES;
	struct buf text = { 0 };
	uint32_t type = NORMAL;
	size_t i;

	if (id < FIRST_BYTE) {
		buf_text(&text, special[id]);
		type = id == 0 ? UNKNOWN : CONTROL;
	} else if (n == 0) {
		type = CONTROL;
	} else if (may_be_byte && n == 1) {
		buf_printf(&text, "<0x%02X>", *p);
		type = BYTE;
	} else if (may_be_byte && is_byte(p, n)) {
		buf_put(&text, p, n);
		type = BYTE;
	}
	for (i = 0; type == NORMAL && i < n; i++)
		if (p[i] == ' ')
			buf_text(&text, "\xe2\x96\x81");
		else
			buf_u8(&text, p[i]);
	import_string(&w->tokens, text.p, text.n);
	w->tokens.failed |= text.failed;
	buf_u32(&w->types, type);
	buf_free(&text);
}

int
words_llama(struct import *im, const struct words *w, bool scored)
{
	static const struct { const char *key; uint32_t id; } special[] = {
		{ "tokenizer.ggml.bos_token_id", 1 }, { "tokenizer.ggml.eos_token_id", 2 },
		{ "tokenizer.ggml.unknown_token_id", 0 },
	};
	size_t i;

	if (import_text(im, "tokenizer.ggml.model", "llama", 5) < 0 ||
	    import_value(im, "tokenizer.ggml.tokens", (struct value_type){ 1, VALUE_STRING },
	                 &w->tokens) < 0)
		return -1;
	if (scored && import_value(im, "tokenizer.ggml.scores", (struct value_type){ 1, VALUE_F32 },
	                           &w->scores) < 0)
		return -1;
	if (import_value(im, "tokenizer.ggml.token_type", (struct value_type){ 1, VALUE_I32 },
	                 &w->types) < 0)
		return -1;
	for (i = 0; i < sizeof special / sizeof *special; i++)
		if (import_u32(im, special[i].key, special[i].id) < 0)
			return -1;
	if (!scored)
		import_note(im, "the vocabulary has no scores, so texts cannot be cut into tokens");
	return 0;
}
