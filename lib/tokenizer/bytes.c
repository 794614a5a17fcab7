#include "tokenizer/bytes.h"

#include "core/text.h"

#define OTHERS 0x100

static bool
is_seen(uint32_t c)
{
	return (c >= 0x21 && c <= 0x7e) || (c >= 0xa1 && c <= 0xac) || (c >= 0xae && c <= 0xff);
}

/* Bytes below this one that are not printable. */
static uint32_t
unseen_before(uint32_t c)
{
	return c <= 0x20 ? c : c < 0x7f ? 0x21 : c <= 0xa0 ? c - 0x7f + 0x21 : 0x43;
}

size_t
byte_letter(uint8_t byte, uint8_t letter[2])
{
	return text_encode(is_seen(byte) ? byte : OTHERS + unseen_before(byte), letter);
}

/* The byte that a character stands for, or -1. */
static int
byte_of(uint32_t c)
{
	if (c < OTHERS)
		return is_seen(c) ? (int)c : -1;
	c -= OTHERS;
	if (c <= 0x20)
		return (int)c;
	if (c <= 0x42)
		return (int)(c - 0x21 + 0x7f);
	return c == 0x43 ? 0xad : -1;
}

bool
bytes_of_letters(const uint8_t *s, size_t n, struct buf *b)
{
	size_t before = b->n, length;
	uint32_t c;
	int byte;

	for (; n > 0; s += length, n -= length) {
		length = text_character(s, n, &c);
		byte = length ? byte_of(c) : -1;
		if (byte < 0) {
			b->n = before;
			return false;
		}
		buf_u8(b, (uint8_t)byte);
	}
	return true;
}
