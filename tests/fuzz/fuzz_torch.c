/* fuzz_torch: the properties of tests/fuzz/fuzz.h, for files of PyTorch.
 *
 * The mutator changes what lies in an archive and describes it again: its members with sizes and
 * CRC-32, or the opcodes of its pickle.
 */
#include "mutate.h"

#include "mutate_pickle.h"
#include "wire/zip.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_container(&format_pytorch, data, size);
}

#define MEMBERS 16

static void
put_header(struct buf *b, const struct zip_entry *x, uint32_t magic, uint32_t at, size_t n,
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

/* The archive again, with one member changed. */
static void
rewrite(struct buf *b, const struct zip *z, unsigned seed)
{
	size_t i, n = z->count < MEMBERS ? z->count : MEMBERS;
	struct buf directory = { 0 };

	for (i = 0; i < n; i++) {
		const struct zip_entry *x = &z->entries[i];
		struct buf content = { 0 };
		size_t bytes = (size_t)x->stored;
		uint32_t at = (uint32_t)b->n, crc = x->crc;

		buf_put(&content, z->p + x->offset, bytes);
		if (i == seed % n && x->name_bytes >= 4 &&
		    memcmp(x->name + x->name_bytes - 4, ".pkl", 4) == 0)
			mutate_pickle(&content, seed / 16);
		else if (i == seed % n)
			mutate_piece(&content, 0, &bytes);
		if (!x->deflated)
			crc = crc32_add(0, content.p, content.n);
		put_header(b, x, 0x04034b50, at, content.n, crc);
		buf_put(b, content.p, content.n);
		put_header(&directory, x, 0x02014b50, at, content.n, crc);
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

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct err e = ERR_INIT;
	struct buf b = { 0 };
	struct zip z;

	if (seed % 8 == 0)
		return LLVMFuzzerMutate(data, size, max);
	if (zip_open(&z, data, size, "in", &e) == 0 && z.count > 0) {
		rewrite(&b, &z, seed / 8);
	} else {
		buf_put(&b, data, size);
		mutate_pickle(&b, seed / 8);
	}
	zip_free(&z);
	return mutate_done(&b, data, size, max);
}
