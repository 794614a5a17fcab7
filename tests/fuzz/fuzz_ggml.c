/* fuzz_ggml: the properties of tests/fuzz/fuzz.h, for files of GGML's programs.
 *
 * The mutator writes whole headers of tensors: at the end of the file, or in front of what it
 * finds there, with values of the size that type and shape ask for.
 */
#include "mutate.h"

static const uint32_t magics[][2] = {
	{ 0x67676d6c, 0 }, { 0x67676d66, 1 }, { 0x67676a74, 1 }, { 0x67676a74, 2 },
	{ 0x67676a74, 3 }, { 0x67676d66, 100 }, { 0x67676d66, 101 },
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_container(&format_ggml, data, size);
}

/* A tensor of 1 to 4 blocks, in a type that may not exist. */
static void
put_tensor(struct buf *b, unsigned seed)
{
	static const uint8_t bytes[] = { 128, 64, 20, 24, 20, 24, 22, 24, 36 };
	static const char *const names[] = { "a", "norm.weight", "layers.0.attention.wk.weight",
		"layers.7.feed_forward.w1.weight", "tok_embeddings.weight", "layers..ffn_norm.weight" };
	const char *name = names[seed % 6];
	unsigned type = seed / 6 % 9, ndim = 1 + seed / 54 % 4, i;

	buf_u32(b, seed % 97 ? ndim : seed);
	buf_u32(b, (uint32_t)strlen(name));
	buf_u32(b, seed % 89 ? type : type + 9);
	for (i = 0; i < ndim; i++)
		buf_u32(b, i == 0 ? 32 : i == 1 ? seed / 216 % 4 + 1 : 1);
	buf_text(b, name);
	buf_zeros(b, (size_t)bytes[type] * (ndim > 1 ? seed / 216 % 4 + 1 : 1));
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct buf b = { 0 };
	size_t i, n;

	if (seed % 4 == 0 || size < 48)
		return LLVMFuzzerMutate(data, size, max);
	buf_put(&b, data, size);
	switch (seed % 4) {
	case 1:
		put_tensor(&b, seed / 4);
		break;
	case 2: /* another form with the same header */
		i = seed / 4 % 7;
		le32_put(b.p, magics[i][0]);
		if (magics[i][1])
			le32_put(b.p + 4, magics[i][1]);
		break;
	default: /* a number of the header */
		i = 4 * (1 + seed / 4 % 11);
		n = seed / 44 % 5;
		le32_put(b.p + i, n == 0 ? 0 : n == 1 ? UINT32_MAX : n == 2 ? 1u << (seed % 31)
		                                                           : seed / 220 % 64);
		break;
	}
	return mutate_done(&b, data, size, max);
}
