/* flax: parameters of Flax, token by token as MessagePack. */
#ifndef GEN_FLAX_H
#define GEN_FLAX_H

#include "gen.h"

/* Big-endian, of this many bytes. */
static inline void
put_big(struct gen *g, uint64_t v, unsigned width)
{
	while (width-- > 0)
		put_u8(g, (uint8_t)(v >> 8 * width));
}

static inline void
put_map(struct gen *g, unsigned keys)
{
	put_u8(g, (uint8_t)(0x80 | keys));
}

static inline void
put_word(struct gen *g, const char *text)
{
	put_u8(g, (uint8_t)(0xa0 | strlen(text)));
	put_text(g, text);
}

/* The bytes of an array: shape is "2x3", or "". */
static inline void
put_array_bytes(struct gen *g, const char *shape, const char *type, const void *p, size_t n)
{
	struct gen dims = { 0 };
	unsigned rank = 0;
	char *end;

	for (; *shape; shape = *end ? end + 1 : end, rank++) {
		put_u8(&dims, 0xcd);
		put_big(&dims, strtoull(shape, &end, 10), 2);
	}
	put_u8(g, 0x93);
	put_u8(g, (uint8_t)(0x90 | rank));
	put(g, dims.p, dims.n);
	put_word(g, type);
	put_u8(g, 0xc4);
	put_u8(g, (uint8_t)n);
	put(g, p, n);
	gen_free(&dims);
}

/* A value of an application. */
static inline void
put_ext(struct gen *g, uint8_t type, struct gen *body)
{
	put_u8(g, 0xc7);
	put_u8(g, (uint8_t)body->n);
	put_u8(g, type);
	put(g, body->p, body->n);
	gen_free(body);
}

static inline void
put_array(struct gen *g, const char *name, const char *shape, const char *type, const void *p,
          size_t n)
{
	struct gen body = { 0 };

	put_word(g, name);
	put_array_bytes(&body, shape, type, p, n);
	put_ext(g, 1, &body);
}

/* The three members of a chunked array of two chunks, the second one first. */
static inline void
put_chunked(struct gen *g, const char *name, const char *shape, const char *type, const void *p,
            size_t first, size_t second, unsigned width)
{
	char items[32], key[32];
	unsigned rank = 1, i;
	const char *c;
	char *end;

	put_word(g, name);
	put_map(g, 3);
	put_u8(g, 0xd9);
	put_u8(g, 25);
	put_text(g, "__msgpack_chunked_array__");
	put_u8(g, 0xc3);
	for (c = shape; *c; c++)
		rank += *c == 'x';
	put_word(g, "shape");
	put_map(g, rank);
	for (i = 0; i < rank; i++, shape = *end ? end + 1 : end) {
		snprintf(key, sizeof key, "%u", i);
		put_word(g, key);
		put_u8(g, (uint8_t)strtoul(shape, &end, 10));
	}
	put_word(g, "chunks");
	put_map(g, 2);
	snprintf(items, sizeof items, "%zu", second / width);
	put_array(g, "1", items, type, (const char *)p + first, second);
	snprintf(items, sizeof items, "%zu", first / width);
	put_array(g, "0", items, type, p, first);
}

#endif
