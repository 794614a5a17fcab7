/* coreml: models of Core ML, field by field as protocol buffers. */
#ifndef GEN_COREML_H
#define GEN_COREML_H

#include "gen.h"

/* A message that is being written; its length is known at the end. */
static inline void
put_varint(struct gen *g, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		put_u8(g, (uint8_t)(v | 0x80));
	put_u8(g, (uint8_t)v);
}

static inline void
put_int(struct gen *g, uint32_t field, uint64_t v)
{
	put_varint(g, (uint64_t)field << 3);
	put_varint(g, v);
}

static inline void
put_bytes(struct gen *g, uint32_t field, const void *p, size_t n)
{
	put_varint(g, (uint64_t)field << 3 | 2);
	put_varint(g, n);
	put(g, p, n);
}

/* Add a message to another one, and start again. */
static inline void
put_message(struct gen *g, uint32_t field, struct gen *message)
{
	put_bytes(g, field, message->p, message->n);
	gen_free(message);
}

static inline void
put_floats(struct gen *g, uint32_t field, const float *f, size_t n)
{
	put_bytes(g, field, f, 4 * n);
}

/* A layer: name, number, its message. */
static inline void
put_layer(struct gen *network, const char *name, uint32_t number, struct gen *body)
{
	struct gen layer = { 0 };

	put_bytes(&layer, 1, name, strlen(name));
	put_message(&layer, number, body);
	put_message(network, 1, &layer);
}

/* A model around one message of a type. */
static inline void
put_model(struct gen *g, uint32_t type, struct gen *body)
{
	struct gen description = { 0 }, metadata = { 0 }, input = { 0 }, user = { 0 };

	put_int(g, 1, 4);
	put_bytes(&input, 1, "x", 1);
	put_message(&description, 1, &input);
	put_bytes(&metadata, 3, "A. Author", 9);
	put_bytes(&user, 1, "k", 1);
	put_bytes(&user, 2, "v", 1);
	put_message(&metadata, 100, &user);
	put_message(&description, 100, &metadata);
	put_message(g, 2, &description);
	put_message(g, type, body);
}

/* ---- weights in each form, of the values 1 to n, or codes for them ---- */

static inline void
put_plain(struct gen *w, size_t n)
{
	float f[64];
	size_t i;

	for (i = 0; i < n; i++)
		f[i] = (float)(i + 1);
	put_floats(w, 1, f, n);
}

/* Values i % 2^bits, packed with the first one in the highest bits. */
static inline void
put_bits(struct gen *w, uint32_t field, unsigned bits, size_t n)
{
	uint8_t raw[64] = { 0 };
	size_t i;
	unsigned k;

	for (i = 0; i < n; i++)
		for (k = 0; k < bits; k++)
			if (i % (1u << bits) >> (bits - 1 - k) & 1)
				raw[(i * bits + k) / 8] |= (uint8_t)(0x80 >> (i * bits + k) % 8);
	put_bytes(w, field, raw, (n * bits + 7) / 8);
}

static inline void
put_linear(struct gen *w, unsigned bits, const float *scales, const float *biases, size_t n)
{
	struct gen coding = { 0 }, linear = { 0 };

	put_int(&coding, 1, bits);
	put_floats(&linear, 1, scales, n);
	if (biases)
		put_floats(&linear, 2, biases, n);
	put_message(&coding, 101, &linear);
	put_message(w, 40, &coding);
}

static inline void
put_table(struct gen *w, unsigned bits, const float *table, size_t n)
{
	struct gen coding = { 0 }, lookup = { 0 };

	put_int(&coding, 1, bits);
	put_floats(&lookup, 1, table, n);
	put_message(&coding, 102, &lookup);
	put_message(w, 40, &coding);
}

/* An inner product of 3 inputs and 2 outputs around such weights. */
static inline void
put_dense(struct gen *network, const char *name, struct gen *weights)
{
	struct gen body = { 0 };

	put_int(&body, 1, 3);
	put_int(&body, 2, 2);
	put_message(&body, 20, weights);
	put_layer(network, name, 140, &body);
}

#endif
