/* fuzz_llama2c: the properties of tests/fuzz/fuzz.h, for files of llama2.c.
 *
 * The mutator writes whole headers with small sizes that fit together, and gives the file the
 * length that these ask for, or nearly so.
 */
#include "mutate.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_container(&format_llama2c, data, size);
}

/* Numbers of values: of norms, and of matrices. */
static size_t
bytes_of(unsigned version, const uint32_t *s, bool shared, uint32_t group)
{
	uint32_t kv = s[0] / s[3] * s[4];
	size_t norms = (size_t)s[0] * (2 * s[2] + 1);
	size_t matrices = (size_t)s[0] * s[5] * (shared ? 1 : 2) +
	                  (size_t)s[2] * s[0] * (2 * s[0] + 2 * kv + 3 * s[1]);

	if (version == 0)
		return 28 + 4 * (norms + matrices + (size_t)s[6] * (s[0] / s[3]));
	return 256 + 4 * norms + (version == 1 ? 4 * matrices : matrices + matrices / group * 4);
}

static void
put_header(struct buf *b, unsigned version, const uint32_t *s, bool shared, uint32_t group)
{
	unsigned i;

	if (version > 0) {
		buf_u32(b, 0x616b3432);
		buf_u32(b, version);
	}
	for (i = 0; i < 7; i++)
		buf_u32(b, i == 5 && version == 0 && !shared ? 0 - s[i] : s[i]);
	if (version == 0)
		return;
	buf_u8(b, shared);
	if (version == 2)
		buf_u32(b, group);
	buf_zeros(b, 256 - b->n);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	const uint32_t heads = 1u << seed / 6 % 3;
	const uint32_t s[7] = { heads * 2 * (1 + seed / 18 % 3), 4 * (1 + seed / 54 % 3),
		1 + seed / 162 % 2, heads, 1 + (seed / 324 % 2) * (heads - 1), 1 + seed / 648 % 6,
		1 + seed / 3888 % 3 };
	const unsigned version = seed / 2 % 3;
	const bool shared = seed / 11664 % 2;
	struct buf b = { 0 };
	size_t n;

	if (seed % 2)
		return LLVMFuzzerMutate(data, size, max);
	put_header(&b, version, s, shared, 2);
	n = bytes_of(version, s, shared, 2);
	if (seed % 11 == 0)
		n += seed % 7;
	if (b.n < n && size > 0)
		buf_put(&b, data, size < n - b.n ? size : n - b.n);
	if (b.n < n)
		buf_zeros(&b, n - b.n);
	return mutate_done(&b, data, size, max);
}
