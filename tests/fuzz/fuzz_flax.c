/* fuzz_flax: the properties of tests/fuzz/fuzz.h, for parameters of Flax.
 *
 * The mutator writes whole maps with arrays, chunked arrays and numbers, whose shapes and bytes
 * mostly fit together.
 */
#include "mutate.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_container(&format_flax, data, size);
}

static void
put_word(struct buf *b, const char *text)
{
	buf_u8(b, (uint8_t)(0xa0 | strlen(text)));
	buf_text(b, text);
}

static void
put_key(struct buf *b, unsigned number)
{
	buf_u8(b, 0xa1);
	buf_u8(b, (uint8_t)('0' + number % 10));
}

/* An array of one or two dimensions, as a value of an application. */
static void
put_array(struct buf *b, unsigned rows, unsigned columns, unsigned seed)
{
	static const struct { const char *name; uint8_t bytes; } types[] = { { "float32", 4 },
		{ "bfloat16", 2 }, { "uint8", 1 }, { "complex64", 8 }, { "bool", 1 }, { "object", 8 } };
	const unsigned type = seed % 6, n = rows * (columns ? columns : 1) * types[type].bytes;
	struct buf body = { 0 };

	buf_u8(&body, 0x93);
	buf_u8(&body, columns ? 0x92 : 0x91);
	buf_u8(&body, (uint8_t)rows);
	if (columns)
		buf_u8(&body, (uint8_t)columns);
	put_word(&body, types[type].name);
	buf_u8(&body, 0xc4);
	buf_u8(&body, (uint8_t)(n + (seed / 6 % 32 == 31)));
	buf_zeros(&body, n);
	buf_u8(b, seed / 192 % 2 ? 0xc7 : 0xc8);
	if (seed / 192 % 2 == 0)
		buf_u8(b, 0);
	buf_u8(b, (uint8_t)body.n);
	buf_u8(b, seed / 384 % 8 == 7 ? 3 : 1);
	buf_put(b, body.p, body.n);
	buf_free(&body);
}

static void
put_chunked(struct buf *b, unsigned seed)
{
	const unsigned chunks = 1 + seed / 6 % 3, items = 1 + seed / 18 % 4;
	unsigned i;

	buf_u8(b, 0x83);
	buf_text(b, "\xd9\x19__msgpack_chunked_array__\xc3");
	put_word(b, "shape");
	buf_u8(b, 0x82);
	put_key(b, 0);
	buf_u8(b, (uint8_t)chunks);
	put_key(b, 1);
	buf_u8(b, (uint8_t)items);
	put_word(b, "chunks");
	buf_u8(b, (uint8_t)(0x80 | chunks));
	for (i = 0; i < chunks; i++) {
		put_key(b, seed / 72 % 2 ? chunks - 1 - i : i);
		put_array(b, items, 0, seed % 6 + 192);
	}
}

static void
put_value(struct buf *b, unsigned seed, unsigned depth)
{
	static const char *const leaves[] = { "\xc0", "\xc3", "\x07", "\xff", "\xa2ok", "\xcd\1\2",
		"\xca\x3f\x80\x40\x40", "\xc7\3\2\x92\1\2" };
	unsigned i;

	switch (depth > 3 ? 1 : seed % 4) {
	case 0:
		buf_u8(b, (uint8_t)(0x81 + seed / 4 % 3));
		for (i = 0; i <= seed / 4 % 3; i++) {
			put_key(b, i);
			put_value(b, seed / 8 + i * 7, depth + 1);
		}
		break;
	case 1:
		put_array(b, 1 + seed / 4 % 3, seed / 12 % 3, seed / 36);
		break;
	case 2:
		put_chunked(b, seed / 4);
		break;
	default:
		buf_text(b, leaves[seed / 4 % 8]);
	}
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct buf b = { 0 };
	size_t at, n;

	if (seed % 2)
		return LLVMFuzzerMutate(data, size, max);
	buf_u8(&b, 0x82);
	put_key(&b, 0);
	put_value(&b, seed / 8, 0);
	put_key(&b, 1);
	put_value(&b, seed / 16 + 1, 0);
	if (seed % 8 == 0) {
		at = seed / 8 % b.n;
		n = b.n - at < 4 ? b.n - at : 4;
		mutate_piece(&b, at, &n);
	}
	return mutate_done(&b, data, size, max);
}
