/* fuzz_aprjson: the properties of tests/fuzz/fuzz.h, for APR1 files with a JSON layout.
 *
 * The mutator changes one of the three parts, metadata, index and values, or puts in a tensor of its
 * own, and writes the lengths again. The CRC-32 is not compared under a fuzzer.
 */
#include "mutate.h"

#include "dice.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_container(&format_aprjson, data, size);
}

struct parts {
	struct buf meta, index, values;
	uint32_t count;
};

static bool
split(struct parts *x, const uint8_t *p, size_t n)
{
	size_t meta, index;

	if (n < 20 || (meta = le32(p + 4)) > n - 20 || (index = le32(p + 12 + meta)) > n - 20 - meta)
		return false;
	x->count = le32(p + 8 + meta);
	buf_put(&x->meta, p + 8, meta);
	buf_put(&x->index, p + 16 + meta, index);
	buf_put(&x->values, p + 16 + meta + index, n - 20 - meta - index);
	return true;
}

/* A list of tensors whose values mostly follow one another. */
static void
put_index(struct parts *x, struct dice *d)
{
	static const char *const types[] = { "F32", "I8", "Q8_0", "BF16", "C64", "F33" };
	static const uint8_t bytes[] = { 4, 1, 34, 2, 8, 4 };
	unsigned i, k, rows, row, at = 0;

	buf_clear(&x->index);
	x->count = roll(d, 4);
	for (i = 0; i < x->count; i++) {
		k = roll(d, 6);
		rows = roll(d, 4);
		row = k == 2 ? 32 : 1 + roll(d, 3);
		buf_printf(&x->index, "%s{\"name\":\"%c\",\"dtype\":\"%s\",\"shape\":[%u,%u],\"offset\":%u,"
		           "\"size\":%u}", i ? "," : "[", 'a' + (char)roll(d, 9), types[k], rows, row,
		           at + !roll(d, 9), rows * (k == 2 ? 34 : row * bytes[k]));
		at += rows * (k == 2 ? 34 : row * bytes[k]);
	}
	buf_text(&x->index, x->count ? "]" : "[]");
	buf_clear(&x->values);
	buf_zeros(&x->values, at + !roll(d, 9));
}

/* A member of the metadata, of any kind. */
static void
put_member(struct parts *x, struct dice *d)
{
	static const char *const values[] = { "1", "-1", "0.5", "1e400", "null", "\"a\\u0000\"", "[1,2]",
		"[[1],[]]", "{\"a\":{}}", "[\"a\",\"b\"]", "18446744073709551616", "\"general\"" };

	if (x->meta.n < 2)
		return;
	x->meta.n--;
	buf_printf(&x->meta, "%s\"%c\":%s}", x->meta.n > 1 ? "," : "", 'a' + (char)roll(d, 26),
	           ONE_OF(d, values));
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct dice d = { .state = seed };
	struct parts x = { .count = 0 };
	struct buf b = { 0 }, *part[3] = { &x.meta, &x.index, &x.values };
	unsigned k = roll(&d, 6);

	if (k == 0 || !split(&x, data, size))
		return LLVMFuzzerMutate(data, size, max);
	if (k < 4)
		mutate_piece(part[k - 1], 0, &part[k - 1]->n);
	else if (k == 4)
		put_index(&x, &d);
	else
		put_member(&x, &d);
	buf_text(&b, "APR1");
	buf_u32(&b, (uint32_t)x.meta.n);
	buf_put(&b, x.meta.p, x.meta.n);
	buf_u32(&b, x.count);
	buf_u32(&b, (uint32_t)x.index.n);
	buf_put(&b, x.index.p, x.index.n);
	buf_put(&b, x.values.p, x.values.n);
	buf_u32(&b, 0);
	buf_free(&x.meta);
	buf_free(&x.index);
	buf_free(&x.values);
	return mutate_done(&b, data, size, max);
}
