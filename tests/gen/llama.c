/* llama: a LLaMA-shaped F16 GGUF file of any size on standard output, the same
 * bytes for the same arguments: for memory tests and benchmarks.
 *
 *     llama LAYERS WIDTH FEED_FORWARD VOCABULARY [KEY_VALUE_HEADS [TYPE]]
 *
 * TYPE is IQ1_S … IQ3_S, which an encoder would take long for. Its blocks are random
 * bytes except for the scale, so all points of its grid are used. Heads have 64 columns; by
 * default there are as many key and value heads as query heads. llama 22 2048 5632 32000 4 has TinyLlama's dimensions: 1.1 B
 * parameters, 2.2 GB. It can be run, on token ids: it says that it has no
 * vocabulary.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { F32 = 0, F16 = 1, ALIGN = 32, ITEMS = 256 };

/* Types of blocks of ITEMS values, in bytes, with a scale in half precision at their
 * beginning; IQ1_M has it in the upper quarter of each of its last four words. */
static const struct blocks {
	const char *name;
	int number;
	unsigned bytes;
} types[] = {
	{ "IQ2_XXS", 16, 66 }, { "IQ2_XS", 17, 74 }, { "IQ3_XXS", 18, 98 }, { "IQ1_S", 19, 50 },
	{ "IQ3_S", 21, 110 },  { "IQ2_S", 22, 82 },  { "IQ1_M", 29, 56 },
};
static const struct blocks *blocks; /* NULL: F16 */

struct shape {
	uint64_t layers, width, feed, vocabulary, groups;
};

static uint64_t written;

static void
put(const void *p, size_t n)
{
	if (fwrite(p, 1, n, stdout) != n) {
		perror("llama");
		exit(1);
	}
	written += n;
}

static void
put_int(uint64_t v, unsigned bytes)
{
	uint8_t b[8];
	unsigned i;

	for (i = 0; i < bytes; i++)
		b[i] = (uint8_t)(v >> 8 * i);
	put(b, bytes);
}

static void
put_text(const char *s)
{
	put_int(strlen(s), 8);
	put(s, strlen(s));
}

static void
put_u32(const char *key, uint64_t v)
{
	put_text(key);
	put_int(4, 4);
	put_int(v, 4);
}

/* Numbers that look like weights: a normal-ish sum of four uniform ones, as
 * halves with an exponent around 2^-6. */
static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t
next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint16_t
weight(void)
{
	uint64_t r = next();
	/* sign, exponent 6 to 9 (of 15), random mantissa */
	return (uint16_t)((r & 0x8000) | ((6 + (r >> 16 & 3)) << 10) | (r >> 20 & 0x3ff));
}

static uint64_t
bytes_of(int type, uint64_t n)
{
	return type == F32 ? n * 4 : type == F16 ? n * 2 : n / ITEMS * blocks->bytes;
}

/* Scales are 2^-12 and half that again at most, and their sign does not matter. */
static void
put_blocks(uint64_t n)
{
	static uint8_t block[128];
	unsigned i, d;

	for (; n > 0; n -= ITEMS) {
		for (i = 0; i < blocks->bytes; i++)
			block[i] = (uint8_t)(next() >> 24);
		d = 0x0c00 | (unsigned)(next() & 0x1ff);
		for (i = 0; i < 4 && !strcmp(blocks->name, "IQ1_M"); i++)
			block[49 + 2 * i] = (uint8_t)((block[49 + 2 * i] & 15) | (d >> 4 * i & 15) << 4);
		if (i == 0) {
			block[0] = (uint8_t)d;
			block[1] = (uint8_t)(d >> 8);
		}
		put(block, blocks->bytes);
	}
}

/* Either the index entry of a tensor (offset known so far) or its data. */
static uint64_t offset;
static int data;

static void
tensor(const char *name, uint64_t rows, uint64_t columns, int type)
{
	uint64_t n = columns * (rows ? rows : 1), bytes = bytes_of(type, n), i;
	static uint16_t chunk[65536];

	if (!data) {
		put_text(name);
		put_int(rows ? 2 : 1, 4);
		put_int(columns, 8);
		if (rows)
			put_int(rows, 8);
		put_int((uint64_t)type, 4);
		put_int(offset, 8);
		offset += (bytes + ALIGN - 1) / ALIGN * ALIGN;
		return;
	}
	if (type == F32)
		for (i = 0; i < n; i++)
			put_int(0x3f800000, 4);
	for (i = 0; type == F16 && i < n;) {
		size_t k, part = n - i < 65536 ? (size_t)(n - i) : 65536;

		for (k = 0; k < part; k++)
			chunk[k] = weight(); /* little-endian machines only */
		put(chunk, part * 2);
		i += part;
	}
	if (type != F32 && type != F16)
		put_blocks(n);
	while (bytes++ % ALIGN)
		put_int(0, 1);
}

static void
layer(const struct shape *s, uint64_t i)
{
	static const struct {
		const char *name;
		int rows, columns; /* 0 none, 1 width, 2 feed, 3 keys and values */
	} parts[] = {
		{ "attn_norm", 0, 1 }, { "attn_q", 1, 1 }, { "attn_k", 3, 1 },
		{ "attn_v", 3, 1 },    { "attn_output", 1, 1 }, { "ffn_norm", 0, 1 },
		{ "ffn_gate", 2, 1 },  { "ffn_up", 2, 1 }, { "ffn_down", 1, 2 },
	};
	const uint64_t size[] = { 0, s->width, s->feed, 64 * s->groups };
	char name[64];
	size_t k;

	for (k = 0; k < sizeof parts / sizeof *parts; k++) {
		snprintf(name, sizeof name, "blk.%" PRIu64 ".%s.weight", i, parts[k].name);
		tensor(name, size[parts[k].rows], size[parts[k].columns],
		       !parts[k].rows ? F32 : blocks ? blocks->number : F16);
	}
}

static void
tensors(const struct shape *s)
{
	uint64_t i;

	tensor("token_embd.weight", s->vocabulary, s->width, F16);
	for (i = 0; i < s->layers; i++)
		layer(s, i);
	tensor("output_norm.weight", 0, s->width, F32);
	tensor("output.weight", s->vocabulary, s->width, blocks ? blocks->number : F16);
}

int
main(int argc, char **argv)
{
	struct shape s;
	size_t i;

	for (i = 0; argc == 7 && i < sizeof types / sizeof *types; i++)
		if (!strcmp(types[i].name, argv[6]))
			blocks = &types[i];
	if (argc < 5 || argc > 7 || (argc == 7 && !blocks)) {
		fputs("usage: llama LAYERS WIDTH FEED_FORWARD VOCABULARY [KEY_VALUE_HEADS [TYPE]]\n",
		      stderr);
		return 2;
	}
	s.layers = strtoull(argv[1], NULL, 10);
	s.width = strtoull(argv[2], NULL, 10);
	s.feed = strtoull(argv[3], NULL, 10);
	s.vocabulary = strtoull(argv[4], NULL, 10);
	s.groups = argc > 5 ? strtoull(argv[5], NULL, 10) : s.width / 64;
	put("GGUF", 4);
	put_int(3, 4);
	put_int(9 * s.layers + 3, 8);
	put_int(11, 8);
	put_text("general.architecture");
	put_int(8, 4);
	put_text("llama");
	put_u32("general.file_type", 1);
	put_u32("llama.block_count", s.layers);
	put_u32("llama.embedding_length", s.width);
	put_u32("llama.feed_forward_length", s.feed);
	put_u32("llama.context_length", 2048);
	put_u32("llama.attention.head_count", s.width / 64);
	put_u32("llama.attention.head_count_kv", s.groups);
	put_text("llama.attention.layer_norm_rms_epsilon");
	put_int(6, 4);
	put_int(0x3727c5ac, 4); /* 1e-5f */
	put_u32("llama.vocab_size", s.vocabulary);
	put_text("tokenizer.ggml.model");
	put_int(8, 4);
	put_text("none");
	tensors(&s);
	while (written % ALIGN)
		put_int(0, 1);
	data = 1;
	tensors(&s);
	return fflush(stdout) == 0 ? 0 : 1;
}
