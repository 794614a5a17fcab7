/* llama2c: files of llama2.c, with 2 layers, hidden size 8, feed-forward 16, 4 heads (2 of keys),
 * 5 tokens and a context of 3.
 */
#ifndef GEN_LLAMA2C_H
#define GEN_LLAMA2C_H

#include <stdbool.h>

#include "gen.h"

#define GROUP 4

/* Value i of a tensor: an integer from -127 to 127 times the scale of its group. */
static inline int
integer_of(const char *name, uint32_t i)
{
	return (int)((i * 11 + strlen(name) * 31 + (unsigned)name[strlen(name) - 1]) % 255) - 127;
}

static inline float
scale_of(uint32_t i)
{
	return 0.01f * (float)(i / GROUP + 1);
}

static inline void
put_float(struct gen *g, float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof bits);
	put_u32(g, bits);
}

static inline void
put_weights(struct gen *g, const char *name, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		put_float(g, (float)integer_of(name, i) * scale_of(i));
}

/* A tensor of each layer, or of none: name, values, vector. */
static inline void
put_llama2c(struct gen *g, unsigned version, const char *name, uint32_t n, bool vector,
            unsigned layers)
{
	char full[32];
	uint32_t i;
	unsigned k;

	for (k = 0; k < layers; k++) {
		snprintf(full, sizeof full, layers > 1 ? "%s%u" : "%s", name, k);
		if (version < 2 || vector) {
			put_weights(g, full, n);
			continue;
		}
		for (i = 0; i < n; i++)
			put_u8(g, (uint8_t)integer_of(full, i));
		for (i = 0; i < n; i += GROUP)
			put_float(g, scale_of(i));
	}
}

static inline void
put_llama2c_sizes(struct gen *g, int vocab)
{
	static const char *const names[] = { "dim", "ff", "layers", "heads", "kv", "vocab", "context" };
	const int sizes[] = { 8, 16, 2, 4, 2, vocab, 3 };
	size_t i;

	for (i = 0; i < 7; i++) {
		mark(g, names[i]);
		put_u32(g, (uint32_t)sizes[i]);
	}
}

static inline void
put_llama2c_matrices(struct gen *g, unsigned version)
{
	put_llama2c(g, version, "attn_q", 64, false, 2);
	put_llama2c(g, version, "attn_k", 32, false, 2);
	put_llama2c(g, version, "attn_v", 32, false, 2);
	put_llama2c(g, version, "attn_output", 64, false, 2);
	if (version == 0)
		put_llama2c(g, version, "ffn_norm", 8, true, 2);
	put_llama2c(g, version, "ffn_gate", 128, false, 2);
	put_llama2c(g, version, "ffn_down", 128, false, 2);
	put_llama2c(g, version, "ffn_up", 128, false, 2);
}

static inline void
made_llama2c(struct gen *g, unsigned version, bool shared)
{
	if (version > 0) {
		put_u32(g, 0x616b3432);
		mark(g, "version");
		put_u32(g, version);
	}
	put_llama2c_sizes(g, version == 0 && !shared ? -5 : 5);
	if (version > 0) {
		mark(g, "shared");
		put_u8(g, shared);
		mark(g, "group");
		if (version == 2)
			put_u32(g, GROUP);
		put_align(g, 256);
		put_llama2c(g, version, "attn_norm", 8, true, 2);
		put_llama2c(g, version, "ffn_norm", 8, true, 2);
		put_llama2c(g, version, "norm", 8, true, 1);
	}
	put_llama2c(g, version, "embd", 40, false, 1);
	if (version == 0)
		put_llama2c(g, version, "attn_norm", 8, true, 2);
	put_llama2c_matrices(g, version);
	if (version == 0) {
		put_llama2c(g, version, "norm", 8, true, 1);
		put_fill(g, 0, 24);
	}
	if (!shared)
		put_llama2c(g, version, "output", 40, false, 1);
}

#endif
