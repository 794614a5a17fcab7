/* gguf: the fields of a GGUF file, for the generators. The layout is described
 * in the format's own words, not in those of lib/formats.
 */
#ifndef GEN_GGUF_H
#define GEN_GGUF_H

#include "gen.h"

enum { U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 };
enum { T_F32 = 0, T_F16 = 1, T_Q4_0 = 2, T_Q8_0 = 8, T_I8 = 24, T_F64 = 28 };

/* Version 1 has 32 bits where later ones have 64: lengths, counts, dimensions. */
static uint32_t gguf_version = 3;

static inline void
put_size(struct gen *g, uint64_t n)
{
	put_number(g, n, gguf_version == 1 ? 4 : 8);
}

static inline void
put_string_n(struct gen *g, const void *s, size_t n)
{
	put_size(g, n);
	put(g, s, n);
}

static inline void
put_string(struct gen *g, const char *s)
{
	put_string_n(g, s, strlen(s));
}

static inline void
put_header(struct gen *g, uint64_t tensors, uint64_t keys)
{
	mark(g, "magic");
	put_text(g, "GGUF");
	mark(g, "version");
	put_u32(g, gguf_version);
	mark(g, "tensors");
	put_size(g, tensors);
	mark(g, "keys");
	put_size(g, keys);
}

/* A key and the type of its value, which follows. */
static inline void
put_key(struct gen *g, const char *key, uint32_t type)
{
	put_string(g, key);
	put_u32(g, type);
}

static inline void
put_array_head(struct gen *g, uint32_t item, uint64_t count)
{
	put_u32(g, item);
	put_size(g, count);
}

static inline void
put_key_u32(struct gen *g, const char *key, uint32_t v)
{
	put_key(g, key, U32);
	put_u32(g, v);
}

static inline void
put_key_string(struct gen *g, const char *key, const char *v)
{
	put_key(g, key, STRING);
	put_string(g, v);
}

/* An index entry. ne: innermost first, ended by -1. */
static inline void
put_tensor(struct gen *g, const char *name, const int64_t *ne, uint32_t type,
           uint64_t offset)
{
	uint32_t n = 0;

	put_string(g, name);
	while (ne[n] >= 0)
		n++;
	put_u32(g, n);
	for (n = 0; ne[n] >= 0; n++)
		put_size(g, (uint64_t)ne[n]);
	put_u32(g, type);
	put_u64(g, offset);
}

#define NE(...) (const int64_t[]){ __VA_ARGS__, -1 }
#define SCALAR (const int64_t[]){ -1 }

#endif
