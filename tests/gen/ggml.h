/* ggml: files of GGML's programs, written as their loaders describe them. */
#ifndef GEN_GGML_H
#define GEN_GGML_H

#include <stdbool.h>

#include "gen.h"

#define BLOCK 32
#define EMBD 32
#define VOCAB 5

/* Bits of a float. */
static inline uint32_t
bits_of(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof bits);
	return bits;
}

/* An F16 whose value is (1 + m/1024) × 2^(e - 15): the tests need no others. */
static inline uint16_t
half_of(unsigned e, unsigned m)
{
	return (uint16_t)(e << 10 | m);
}

static inline float
float_of(unsigned e, unsigned m)
{
	uint32_t bits = (e + 112) << 23 | m << 13;
	float f;

	memcpy(&f, &bits, sizeof f);
	return f;
}

/* ---- blocks ---- */

/* The quantized value k of block i. */
static inline unsigned
quant_of(unsigned type, unsigned i, unsigned k)
{
	return (k * 7 + i * 5 + k / 9) % (type == 8 ? 256 : type < 6 ? 16 : 32);
}

/* Scales of block i: exact halves, or a bit more. */
static inline float
scale_of(unsigned i, unsigned which, bool exact)
{
	return float_of(10 + which, i % 1000) * (exact ? 1.0f : 1.0001f);
}

static inline void
put_scale(struct gen *g, unsigned i, unsigned which, bool half, bool exact)
{
	if (half)
		put_number(g, half_of(10 + which, i % 1000), 2);
	else
		put_u32(g, bits_of(scale_of(i, which, exact)));
}

/* Block i of a type (GGML's number: 2, 3, 6, 7, 8) in a generation (ggml_types.c has them). */
static inline void
put_block(struct gen *g, unsigned type, unsigned generation, unsigned i, bool exact)
{
	bool half = generation == 3 || type == 6 || type == 7;
	unsigned k, low, high;
	uint32_t fifth = 0;

	put_scale(g, i, 0, half, exact);
	if (type == 3 || type == 7)
		put_scale(g, i, 1, half, exact);
	for (k = 0; k < BLOCK; k++)
		fifth |= (uint32_t)(quant_of(type, i, k) >> 4 & 1) << k;
	if (type == 6 || type == 7)
		put_u32(g, fifth);
	for (k = 0; type == 8 && k < BLOCK; k++)
		put_u8(g, (uint8_t)quant_of(type, i, k));
	for (k = 0; type != 8 && k < BLOCK / 2; k++) {
		low = generation == 1 ? 2 * k : k;
		high = generation == 1 ? 2 * k + 1 : k + 16;
		put_u8(g, (uint8_t)((quant_of(type, i, low) & 15) |
		                    (quant_of(type, i, high) & 15) << 4));
	}
}

/* The values of block i, of a type whose scales were F32. */
static inline void
put_values(struct gen *g, unsigned type, unsigned i)
{
	unsigned k;

	for (k = 0; k < BLOCK; k++) {
		int q = type == 8 ? (int8_t)quant_of(type, i, k) : (int)quant_of(type, i, k);
		float v = (float)(type == 2 ? q - 8 : q) * scale_of(i, 0, false);

		if (type == 3)
			v += scale_of(i, 1, false);
		put_u32(g, bits_of(v));
	}
}

/* ---- tensors ---- */

struct ggml_form {
	const char *magic;
	uint32_t version;    /* 0: none */
	unsigned generation; /* 0: not aligned */
	unsigned type;       /* of matrices */
	bool exact;
};

static inline void
put_ggml_head(struct gen *g, const char *name, unsigned type, unsigned ndim, uint32_t inner,
              uint32_t outer)
{
	mark(g, "ndim"); /* the marks of the first tensor are found first */
	put_u32(g, ndim);
	mark(g, "name_bytes");
	put_u32(g, (uint32_t)strlen(name));
	mark(g, "type");
	put_u32(g, type);
	mark(g, "dims");
	if (ndim > 0)
		put_u32(g, inner);
	if (ndim > 1)
		put_u32(g, outer);
	mark(g, "name");
	put_text(g, name);
}

static inline void
put_ggml_matrix(struct gen *g, const struct ggml_form *f, const char *name, uint32_t inner,
                uint32_t outer)
{
	unsigned i;

	put_ggml_head(g, name, f->type, 2, inner, outer);
	if (memcmp(f->magic, "tjgg", 4) == 0)
		put_align(g, 32);
	for (i = 0; i < inner / BLOCK * outer; i++)
		put_block(g, f->type, f->generation, i, f->exact);
}

static inline void
put_ggml_vector(struct gen *g, const struct ggml_form *f, const char *name, uint32_t n)
{
	uint32_t i;

	put_ggml_head(g, name, 0, 1, n, 0);
	if (memcmp(f->magic, "tjgg", 4) == 0 && f->generation)
		put_align(g, 32);
	for (i = 0; i < n; i++)
		put_u32(g, bits_of((float)i));
}

/* ---- models ---- */

static inline void
put_word(struct gen *g, const char *word, bool scored)
{
	put_u32(g, (uint32_t)strlen(word));
	put_text(g, word);
	if (scored)
		put_u32(g, bits_of(-1.5f));
}

static inline void
made_llama(struct gen *g, const struct ggml_form *f)
{
	static const char *const words[VOCAB] = { "?", "", "", "\n", " a b" };
	static const char *const square[] = { "wq", "wk", "wv", "wo" };
	char name[64];
	unsigned i;

	put_text(g, f->magic);
	mark(g, "version");
	if (f->version)
		put_u32(g, f->version);
	mark(g, "n_vocab");
	put_u32(g, VOCAB);
	mark(g, "n_embd");
	put_u32(g, EMBD);
	put_u32(g, 256);
	mark(g, "n_head");
	put_u32(g, 2);
	mark(g, "n_layer");
	put_u32(g, 1);
	put_u32(g, 16);
	put_u32(g, f->type);
	mark(g, "words");
	for (i = 0; i < VOCAB; i++)
		put_word(g, words[i], f->version > 0);
	mark(g, "tensors");
	put_ggml_matrix(g, f, "tok_embeddings.weight", EMBD, VOCAB);
	put_ggml_vector(g, f, "norm.weight", EMBD);
	put_ggml_matrix(g, f, "output.weight", EMBD, VOCAB);
	for (i = 0; i < 4; i++) {
		snprintf(name, sizeof name, "layers.0.attention.%s.weight", square[i]);
		put_ggml_matrix(g, f, name, EMBD, i == 1 || i == 2 ? EMBD / 2 : EMBD);
	}
	put_ggml_vector(g, f, "layers.0.attention_norm.weight", EMBD);
	put_ggml_matrix(g, f, "layers.0.feed_forward.w1.weight", EMBD, 2 * EMBD);
	put_ggml_matrix(g, f, "layers.0.feed_forward.w2.weight", 2 * EMBD, EMBD);
	put_ggml_matrix(g, f, "layers.0.feed_forward.w3.weight", EMBD, 2 * EMBD);
	put_ggml_vector(g, f, "layers.0.ffn_norm.weight", EMBD);
}

static inline void
made_rwkv(struct gen *g, uint32_t version, unsigned type, unsigned number)
{
	const struct ggml_form f = { "fmgg", version, 3, type, true };
	unsigned i;

	put_text(g, "fmgg");
	put_u32(g, version);
	mark(g, "header");
	put_u32(g, VOCAB);
	put_u32(g, EMBD);
	put_u32(g, 1);
	put_u32(g, number);
	put_ggml_vector(g, &f, "blocks.0.ln1.weight", EMBD);
	put_ggml_head(g, "head.weight", number, 2, EMBD, VOCAB);
	for (i = 0; i < VOCAB; i++)
		put_block(g, type, 3, i, true);
}

static inline void
made_whisper(struct gen *g)
{
	static const uint32_t header[] = { 7, 1500, 384, 6, 4, 448, 384, 6, 4, 2, 1 };
	static const uint32_t shape[] = { 2, 3 };
	const struct ggml_form f = { "lmgg", 0, 1, 2, true };
	size_t i;

	put_text(g, "lmgg");
	mark(g, "header");
	for (i = 0; i < 10; i++)
		put_u32(g, header[i]);
	mark(g, "ftype");
	put_u32(g, header[10]);
	mark(g, "mels");
	for (i = 0; i < 2; i++)
		put_u32(g, shape[i]);
	for (i = 0; i < 6; i++)
		put_u32(g, bits_of((float)i / 4));
	mark(g, "words");
	put_u32(g, 2);
	put_word(g, "!", false);
	put_word(g, " \n\xc3", false);
	put_ggml_vector(g, &f, "encoder.positional_embedding", 8);
	put_ggml_matrix(g, &f, "decoder.token_embedding.weight", EMBD, 2);
}

static inline void
made_silero(struct gen *g)
{
	static const uint32_t header[] = { 6, 2, 0, 512, 64, 1, 129, 128, 3, 128, 64, 32, 1 };
	const struct ggml_form f = { "lmgg", 0, 3, 2, true };
	size_t i;

	put_text(g, "lmgg");
	mark(g, "type_bytes");
	put_u32(g, 10);
	put_text(g, "silero-16k");
	for (i = 0; i < 13; i++) {
		if (i == 5)
			mark(g, "layers");
		put_u32(g, header[i]);
	}
	put_ggml_head(g, "_model.decoder.2.bias", 0, 0, 0, 0);
	put_u32(g, bits_of(2.5f));
	put_ggml_vector(g, &f, "_model.decoder.rnn.bias_ih", 4);
}

/* A program that --arch names: its numbers, whether the vocabulary has a count and scores. */
static inline void
made_of(struct gen *g, const struct ggml_form *f, const uint32_t *header, size_t n, bool counted,
        bool scored)
{
	size_t i;

	put_text(g, f->magic);
	for (i = 0; i < n; i++)
		put_u32(g, header[i]);
	if (counted)
		put_u32(g, 2);
	put_word(g, "a", scored);
	put_word(g, " b", scored);
	put_ggml_vector(g, f, "ln_f.weight", 8);
}

static inline void
made_ggml(struct gen *g, const uint32_t *header, size_t n, bool counted, bool scored)
{
	static const struct ggml_form f = { "lmgg", 0, 1, 2, true };

	made_of(g, &f, header, n, counted, scored);
}

#endif
