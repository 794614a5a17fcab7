/* fuzz_zip: what is asked of the reader of zip directories.
 *
 *     1. An archive is read, or refused with a message that a terminal can show.
 *     2. The members lie inside the archive, apart from each other; names are text and unique;
 *        each is found by its name, and lies where its local header says.
 *     3. Content has its size, whether it is read at once or in pieces.
 */
#include "mutate.h"

#include "wire/zip.h"

static void
check_content(const struct zip *z, const struct zip_entry *x)
{
	struct err e = ERR_INIT, e2 = ERR_INIT;
	struct buf b = { 0 }, pieces = { 0 };
	struct zip_inflate *f;
	const uint8_t *p;
	size_t n = 1;
	int r = zip_get(z, x, 1 << 20, &b, &e), r2 = 0;

	if (r < 0)
		fuzz_refused(&e, false);
	else
		must(b.n == x->bytes);
	if (x->deflated && x->bytes <= 1 << 20) {
		f = zip_inflate_open(z, x, &e2);
		must(f);
		while (r2 == 0 && n > 0) {
			r2 = zip_inflate(f, &p, &n, &e2);
			if (r2 == 0)
				buf_put(&pieces, p, n);
		}
		zip_inflate_close(f);
		must(r == r2 && (r < 0 || (pieces.n == b.n && (b.n == 0 ||
		     memcmp(pieces.p, b.p, b.n) == 0))));
	}
	buf_free(&b);
	buf_free(&pieces);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	struct zip z;
	size_t i, k;

	if (zip_open(&z, data, size, NULL, "in", &e) < 0) {
		must(e.code != ERR_NONE);
		fuzz_refused(&e, false);
		zip_free(&z);
		return 0;
	}
	for (i = 0; i < z.count; i++) {
		const struct zip_entry *x = &z.entries[i];

		must(x->head < size && x->offset <= size && x->stored <= size - x->offset);
		must(x->head + 30 + x->name_bytes <= x->offset);
		must(memcmp(data + x->head + 30, x->name, x->name_bytes) == 0);
		must(text_utf8(x->name, x->name_bytes, false));
		must(zip_find(&z, x->name, x->name_bytes) == x);
		for (k = 0; k < i && i < 64; k++)
			must(z.entries[k].head >= x->offset + x->stored ||
			     x->head >= z.entries[k].offset + z.entries[k].stored);
		if (i < 64)
			check_content(&z, x);
	}
	zip_free(&z);
	return 0;
}

/* Where these bytes begin for the n-th time, or size. */
static size_t
find_magic(const uint8_t *data, size_t size, uint32_t magic, unsigned n)
{
	size_t i, found = size;

	for (i = 0; i + 4 <= size; i++)
		if (data[i] == 'P' && le32(data + i) == magic) {
			found = i;
			if (n-- == 0)
				break;
		}
	return found;
}

/* A number in a local header and in that of the directory, or in the end, set to a value that
 * counts. Both sides get the same value more often than not. */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	static const struct { uint8_t local, central, width; } fields[] = { { 6, 8, 2 },
		{ 8, 10, 2 }, { 14, 16, 4 }, { 18, 20, 4 }, { 22, 24, 4 }, { 26, 28, 2 }, { 28, 30, 2 },
		{ 0, 32, 2 }, { 0, 42, 4 } };
	static const uint32_t values[] = { 0, 1, 8, 9, 0xffff, 0xffffffff, 0x7fffffff };
	unsigned which = seed / 4 % 4, f = seed / 16 % 9;
	size_t local, central;
	uint32_t v;

	if (seed % 4 == 0 || size < 22)
		return LLVMFuzzerMutate(data, size, max);
	local = find_magic(data, size, 0x04034b50, which);
	central = find_magic(data, size, 0x02014b50, which);
	if (central + 46 > size || local + 30 > size)
		return LLVMFuzzerMutate(data, size, max);
	v = le32(data + central + fields[f].central);
	v = seed / 256 % 2 ? v + (seed / 512 % 16) - 8 : values[seed / 512 % 7];
	if (seed % 4 < 3)
		memcpy(data + central + fields[f].central, &v, fields[f].width);
	if (seed % 4 > 1 && fields[f].local)
		memcpy(data + local + fields[f].local, &v, fields[f].width);
	return size;
}
