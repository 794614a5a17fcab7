/* apr64: writes APR files with the header of 64 bytes for the generators: text, entries,
 * data. Offsets, sizes and checksums are computed last, so that they are right unless a
 * row changes them.
 */
#ifndef GEN_APR64_H
#define GEN_APR64_H

#include "stream.h"

struct apr64 {
	const char *magic;   /* NULL: "APR\0" */
	unsigned flags, count;
	struct gen text, index, data, file;
	int no_header_crc, tight; /* tight: neither index nor data are padded */
};

static inline void
apr64_entry(struct apr64 *m, const char *name, uint8_t code, unsigned ndim,
            const uint64_t *dims, uint64_t offset, uint64_t bytes)
{
	unsigned i;

	put_number(&m->index, strlen(name), 2);
	put_text(&m->index, name);
	put_u8(&m->index, code);
	put_u8(&m->index, (uint8_t)ndim);
	for (i = 0; i < ndim; i++)
		put_u64(&m->index, dims[i]);
	put_u64(&m->index, offset);
	put_u64(&m->index, bytes);
	m->count++;
}

/* The file without its checksum at the end; the header's is not made yet. */
static inline void
apr64_assemble(struct apr64 *m)
{
	struct gen *g = &m->file;

	mark(g, "magic");
	put(g, m->magic ? m->magic : "APR\0", 4);
	mark(g, "major");
	put_u8(g, 2);
	mark(g, "minor");
	put_u8(g, 0);
	mark(g, "flags");
	put_number(g, m->flags, 2);
	mark(g, "count");
	put_u32(g, m->count);
	mark(g, "metadata_offset");
	put_u64(g, 64);
	mark(g, "metadata_size");
	put_u32(g, (uint32_t)m->text.n);
	mark(g, "index_offset");
	put_u64(g, 0);
	mark(g, "data_offset");
	put_u64(g, 0);
	mark(g, "header_crc");
	put_u32(g, 0);
	mark(g, "zeros");
	put_fill(g, 0, 20);
	mark(g, "metadata");
	put(g, m->text.p, m->text.n);
	mark(g, "metadata.end");
	put_align(g, 64);
	edit(g, &(struct edit)SET64("index_offset", g->n));
	mark(g, "index");
	put(g, m->index.p, m->index.n);
	mark(g, "index.end");
	if (!m->tight)
		put_align(g, 64);
	edit(g, &(struct edit)SET64("data_offset", g->n));
	mark(g, "data");
	put(g, m->data.p, m->data.n);
	mark(g, "data.end");
	if (!m->tight)
		put_fill(g, 0, (64 - m->data.n % 64) % 64);
}

static inline void
apr64_header_crc(struct apr64 *m)
{
	uint8_t p[60];

	memcpy(p, m->file.p, 40);
	memcpy(p + 40, m->file.p + 44, 20);
	if (!m->no_header_crc)
		edit(&m->file, &(struct edit)SET32("header_crc", crc32_of(p, sizeof p)));
}

static inline void
apr64_footer(struct apr64 *m)
{
	uint32_t crc = crc32_of(m->file.p, m->file.n);

	mark(&m->file, "footer");
	put_u32(&m->file, crc);
	mark(&m->file, "end");
}

static inline void
apr64_free(struct apr64 *m)
{
	gen_free(&m->text);
	gen_free(&m->index);
	gen_free(&m->data);
	gen_free(&m->file);
	*m = (struct apr64){ 0 };
}

/* Writes text as in a JSON string. */
static inline void
put_base64(struct gen *g, const uint8_t *p, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	                             "0123456789+/";
	size_t i, k;

	put_u8(g, '"');
	for (i = 0; i < n; i += 3) {
		uint32_t v = 0;

		for (k = 0; k < 3; k++)
			v = v << 8 | (i + k < n ? p[i + k] : 0);
		for (k = 0; k < 4; k++)
			put_u8(g, i + k > n ? '=' : (uint8_t)digits[v >> (18 - 6 * k) & 63]);
	}
	put_u8(g, '"');
}

#endif
