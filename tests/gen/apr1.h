/* apr1: writes APR version 1 files for the generators: metadata, payload, and the data
 * after it. Sizes and checksum are computed last, so that they are right unless a row
 * changes them.
 */
#ifndef GEN_APR1_H
#define GEN_APR1_H

#include "stream.h"

struct apr1 {
	unsigned minor, type, compression, flags, byte22;
	uint32_t plain;      /* uncompressed size; 0: that of the payload */
	struct gen meta, payload, behind, file;
};

/* ---- MessagePack ---- */

static inline void
mp_map(struct gen *g, unsigned n)
{
	if (n < 16) {
		put_u8(g, (uint8_t)(0x80 | n));
	} else {
		put_u8(g, 0xde);
		put_u8(g, (uint8_t)(n >> 8));
		put_u8(g, (uint8_t)n);
	}
}

static inline void
mp_array(struct gen *g, unsigned n)
{
	put_u8(g, (uint8_t)(0x90 | n));
}

static inline void
mp_text(struct gen *g, const char *s)
{
	size_t n = strlen(s);

	if (n < 32) {
		put_u8(g, (uint8_t)(0xa0 | n));
	} else if (n < 256) {
		put_u8(g, 0xd9);
		put_u8(g, (uint8_t)n);
	} else {
		put_u8(g, 0xda);
		put_u8(g, (uint8_t)(n >> 8));
		put_u8(g, (uint8_t)n);
	}
	put(g, s, n);
}

static inline void
mp_pair(struct gen *g, const char *key, const char *value)
{
	mp_text(g, key);
	mp_text(g, value);
}

/* The two members that existing software always writes. */
static inline void
mp_usual(struct gen *g, unsigned more)
{
	mp_map(g, 2 + more);
	mp_pair(g, "created_at", "1764278947");
	mp_pair(g, "aprender_version", "0.11.0");
}

/* ---- bincode ---- */

static inline void
put_f32(struct gen *g, float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof bits);
	put_u32(g, bits);
}

static inline void
put_floats(struct gen *g, unsigned n, float first)
{
	unsigned i;

	put_u64(g, n);
	for (i = 0; i < n; i++)
		put_f32(g, first + (float)i / 8);
}

static inline void
put_words(struct gen *g, unsigned n, unsigned first)
{
	unsigned i;

	put_u64(g, n);
	for (i = 0; i < n; i++)
		put_u64(g, first + i);
}

static inline void
put_string(struct gen *g, const char *s)
{
	put_u64(g, strlen(s));
	put_text(g, s);
}

/* ---- the file ---- */

/* Writes the file without its checksum. */
static inline void
apr1_assemble(struct apr1 *m)
{
	struct gen *g = &m->file;

	mark(g, "magic");
	put_text(g, "APRN");
	mark(g, "major");
	put_u8(g, 1);
	mark(g, "minor");
	put_u8(g, (uint8_t)m->minor);
	mark(g, "type");
	put_number(g, m->type, 2);
	mark(g, "metadata_size");
	put_u32(g, (uint32_t)m->meta.n);
	mark(g, "payload_size");
	put_u32(g, (uint32_t)m->payload.n);
	mark(g, "plain_size");
	put_u32(g, m->plain ? m->plain : (uint32_t)m->payload.n);
	mark(g, "compression");
	put_u8(g, (uint8_t)m->compression);
	mark(g, "flags");
	put_u8(g, (uint8_t)m->flags);
	mark(g, "byte22");
	put_u8(g, (uint8_t)m->byte22);
	mark(g, "zeros");
	put_fill(g, 0, 9);
	mark(g, "metadata");
	put(g, m->meta.p, m->meta.n);
	mark(g, "payload");
	put(g, m->payload.p, m->payload.n);
	mark(g, "behind");
	put(g, m->behind.p, m->behind.n);
	mark(g, "end");
}

static inline void
apr1_checksum(struct apr1 *m)
{
	uint32_t crc = crc32_of(m->file.p, m->file.n);

	mark(&m->file, "crc");
	put_u32(&m->file, crc);
	mark(&m->file, "after");
}

static inline void
apr1_free(struct apr1 *m)
{
	gen_free(&m->meta);
	gen_free(&m->payload);
	gen_free(&m->behind);
	gen_free(&m->file);
	*m = (struct apr1){ 0 };
}

/* Writes a licence block in which every field has another value. */
static inline void
put_licence(struct gen *g, const char *terms)
{
	put_ramp(g, 16);
	put_fill(g, 0xab, 32);
	put_u64(g, 1700000000);
	put_u64(g, 1800000000);
	put_u8(g, 3);
	put_number(g, 5, 2);
	put_u32(g, 1000);
	put_u32(g, (uint32_t)strlen(terms));
	put_text(g, terms);
}

/* FNV-1a of 64 bits, from its definition. */
static inline uint64_t
fnv1a(const char *s)
{
	uint64_t h = 14695981039346656037u;

	for (; *s; s++) {
		h ^= (uint8_t)*s;
		h *= 1099511628211u;
	}
	return h;
}

/* One entry of the tensor index; the offset is that in the file. */
static inline void
put_aligned(struct gen *g, const char *name, uint8_t type, uint8_t ndim, const uint32_t *dims,
            const uint32_t *strides, uint8_t hint, uint64_t offset, uint64_t bytes)
{
	unsigned i;

	put_u64(g, fnv1a(name));
	put_u8(g, type);
	put_u8(g, ndim);
	for (i = 0; i < ndim; i++)
		put_u32(g, dims[i]);
	for (i = 0; i < ndim; i++)
		put_u32(g, strides[i]);
	put_u8(g, 64);
	put_u8(g, hint);
	put_u64(g, offset);
	put_u64(g, bytes);
}

#endif
