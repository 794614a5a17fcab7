/* fuzz_numpy: the properties of tests/fuzz/fuzz.h, for arrays of NumPy.
 *
 * The mutator writes whole headers with values of the size that they ask for, opcodes of a pickle,
 * and members of an archive, described again with their sizes and CRC-32.
 */
#include "mutate.h"

#include "mutate_pickle.h"
#include "mutate_zip.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_container(&format_numpy, data, size);
}

static void
put_array(struct buf *b, unsigned seed)
{
	static const char *const types[] = { "|u1", "<f2", ">f4", "<c8", ">c8", "<i8", "|b1", "|O" };
	static const uint8_t bytes[] = { 1, 2, 4, 8, 8, 8, 1, 0 };
	unsigned x = 1 + seed / 16 % 3, y = seed / 48 % 4, n = seed / 192 % 3;
	struct buf head = { 0 };

	buf_printf(&head, "{'descr': '%s', 'fortran_order': %s, 'shape': ", types[seed % 8],
	           seed / 8 % 2 ? "True" : "False");
	buf_printf(&head, n == 0 ? "()" : n == 1 ? "(%u,)" : "(%u, %u)", x, y);
	buf_text(&head, ", }");
	buf_put(b, "\x93NUMPY\1\0", 8);
	buf_u16(b, (uint16_t)head.n);
	buf_put(b, head.p, head.n);
	buf_zeros(b, (size_t)bytes[seed % 8] * (n == 0 ? 1 : n == 1 ? x : x * y));
	buf_free(&head);
}

/* The pickle behind the header of an array of objects. */
static void
change_objects(struct buf *b, unsigned seed)
{
	struct buf pickle = { 0 };
	size_t at = b->n < 10 ? b->n : 10u + le16(b->p + 8);

	if (at > b->n)
		at = b->n;
	buf_put(&pickle, b->p + at, b->n - at);
	mutate_pickle(&pickle, seed);
	b->n = at;
	buf_put(b, pickle.p, pickle.n);
	buf_free(&pickle);
}

static void
change_member(struct buf *content, const struct zip_entry *x, unsigned seed)
{
	size_t n = content->n;

	if (seed % 3 == 0 && !x->deflated) {
		buf_clear(content);
		put_array(content, seed / 3);
	} else {
		mutate_piece(content, 0, &n);
	}
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct err e = ERR_INIT;
	struct buf b = { 0 };
	struct zip z = { 0 };

	if (seed % 8 == 0)
		return LLVMFuzzerMutate(data, size, max);
	if (seed % 8 == 1) {
		put_array(&b, seed / 8);
	} else if (zip_open(&z, data, size, NULL, "in", &e) == 0 && z.count > 0) {
		mutate_zip(&b, &z, seed / 8, change_member);
	} else {
		buf_put(&b, data, size);
		change_objects(&b, seed / 8);
	}
	zip_free(&z);
	return mutate_done(&b, data, size, max);
}
