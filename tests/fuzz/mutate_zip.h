/* mutate_zip: an archive whose members are described again after a change. */
#ifndef MUTATE_ZIP_H
#define MUTATE_ZIP_H

#include "mutate.h"
#include "wire/zip.h"

#define MEMBERS 16

static void
mutate_zip_header(struct buf *b, const struct zip_entry *x, uint32_t magic, uint32_t at, size_t n,
                  uint32_t crc)
{
	bool central = magic == 0x02014b50;

	buf_u32(b, magic);
	if (central)
		buf_u16(b, 20);
	buf_u16(b, 20);
	buf_u16(b, 0);
	buf_u16(b, x->deflated ? 8 : 0);
	buf_u32(b, 0);
	buf_u32(b, crc);
	buf_u32(b, (uint32_t)n);
	buf_u32(b, (uint32_t)(x->deflated ? x->bytes : n));
	buf_u16(b, (uint16_t)x->name_bytes);
	buf_u16(b, 0);
	if (central) {
		buf_zeros(b, 10);
		buf_u32(b, at);
	}
	buf_put(b, x->name, x->name_bytes);
}

/* Write the archive again, with one member changed by this function, which gets the seed without
 * the choice of the member. */
static void
mutate_zip(struct buf *b, const struct zip *z, unsigned seed,
           void (*change)(struct buf *content, const struct zip_entry *x, unsigned seed))
{
	size_t i, n = z->count < MEMBERS ? z->count : MEMBERS;
	struct buf directory = { 0 };

	for (i = 0; i < n; i++) {
		const struct zip_entry *x = &z->entries[i];
		struct buf content = { 0 };
				uint32_t at = (uint32_t)b->n, crc = x->crc;

		buf_put(&content, z->p + x->offset, (size_t)x->stored);
		if (i == seed % n)
			change(&content, x, seed / MEMBERS);
		if (!x->deflated)
			crc = crc32_add(0, content.p, content.n);
		mutate_zip_header(b, x, 0x04034b50, at, content.n, crc);
		buf_put(b, content.p, content.n);
		mutate_zip_header(&directory, x, 0x02014b50, at, content.n, crc);
		buf_free(&content);
	}
	i = b->n;
	buf_put(b, directory.p, directory.n);
	buf_u32(b, 0x06054b50);
	buf_u32(b, 0);
	buf_u16(b, (uint16_t)n);
	buf_u16(b, (uint16_t)n);
	buf_u32(b, (uint32_t)directory.n);
	buf_u32(b, (uint32_t)i);
	buf_u16(b, 0);
	buf_free(&directory);
}

#endif
