/* fuzz_coreml: the properties of tests/fuzz/fuzz.h, for models of Core ML.
 *
 * The mutator writes whole networks of one layer, whose weights have a form, bits and codings that
 * mostly fit together.
 */
#include "mutate.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_container(&format_coreml, data, size);
}

static void
put_varint(struct buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		buf_u8(b, (uint8_t)(v | 0x80));
	buf_u8(b, (uint8_t)v);
}

static void
put_number(struct buf *b, uint32_t field, uint64_t v)
{
	put_varint(b, (uint64_t)field << 3);
	put_varint(b, v);
}

/* Add a message to another one, and free it. */
static void
put_message(struct buf *b, uint32_t field, struct buf *message)
{
	put_varint(b, (uint64_t)field << 3 | 2);
	put_varint(b, message->n);
	buf_put(b, message->p, message->n);
	buf_free(message);
	*message = (struct buf){ 0 };
}

static void
put_zeros(struct buf *b, uint32_t field, size_t n)
{
	struct buf zeros = { 0 };

	buf_zeros(&zeros, n);
	put_message(b, field, &zeros);
}

/* Weights of n values. */
static void
put_weights(struct buf *b, uint32_t field, size_t n, unsigned seed)
{
	const unsigned bits = 1 + seed / 4 % 9;
	struct buf w = { 0 }, coding = { 0 }, inner = { 0 };

	if (seed % 4 < 2) {
		put_zeros(&w, 1 + seed % 2, n * (seed % 2 ? 2 : 4));
	} else {
		put_zeros(&w, seed / 36 % 8 ? 30 : 31, (n * bits + 7) / 8);
		put_number(&coding, 1, bits);
		put_zeros(&inner, 1, seed % 4 == 2 ? 4 * (1 + seed / 288 % 3) : (size_t)4 << bits);
		put_message(&coding, seed % 4 == 2 ? 101 : 102, &inner);
		put_message(&w, 40, &coding);
	}
	put_message(b, field, &w);
}

static void
put_network(struct buf *b, unsigned seed)
{
	static const struct { uint16_t layer, field; } parts[] = { { 100, 90 }, { 140, 20 },
		{ 160, 15 }, { 290, 2 }, { 1070, 2 }, { 150, 20 }, { 400, 31 }, { 420, 1 } };
	const unsigned x = 1 + seed / 8 % 4, y = 1 + seed / 32 % 4, k = seed % 8;
	struct buf layer = { 0 }, body = { 0 }, inner = { 0 }, network = { 0 };

	put_number(&body, 1, x);
	if (k != 3 && k != 4)
		put_number(&body, 2, y);
	if (k == 7) {
		put_weights(&inner, parts[k].field, x * y, seed / 128);
		put_message(&body, 20, &inner);
	} else {
		put_weights(&body, parts[k].field,
		            k == 2 || k == 3 || k == 4 ? x : k == 6 ? y * y : x * y, seed / 128);
	}
	buf_text(&inner, "l");
	put_message(&layer, 1, &inner);
	put_message(&layer, parts[k].layer, &body);
	put_message(&network, 1, &layer);
	put_number(b, 1, 4);
	buf_put(b, "\x12\5\n\3\n\1x", 7);
	put_message(b, 500, &network);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct buf b = { 0 };
	size_t at, n;

	if (seed % 2)
		return LLVMFuzzerMutate(data, size, max);
	put_network(&b, seed / 8);
	if (seed % 8 == 0) {
		at = seed / 8 % b.n;
		n = b.n - at < 4 ? b.n - at : 4;
		mutate_piece(&b, at, &n);
	}
	return mutate_done(&b, data, size, max);
}
