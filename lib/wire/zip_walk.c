#include "wire/zip_walk.h"

#include <string.h>

#include "core/le.h"
#include "core/num.h"

#define LOCAL 0x04034b50u
#define CENTRAL 0x02014b50u
#define END 0x06054b50u
#define END_64 0x06064b50u
#define LOCATOR 0x07064b50u
#define LOCAL_BYTES 30
#define CENTRAL_BYTES 46
#define END_BYTES 22
#define LOCATOR_BYTES 20
#define END_64_BYTES 56
#define FLAG_LATE 8u
#define MEMBERS (1u << 18)

/* The stored size in a zip64 extra field; skip: the bytes before it there. */
static uint64_t
size_64(const uint8_t *extra, size_t n, size_t skip)
{
	while (n >= 4) {
		size_t bytes = le16(extra + 2);

		if (bytes > n - 4)
			break;
		if (le16(extra) == 1 && bytes >= skip + 8)
			return le64(extra + 4 + skip);
		extra += 4 + bytes;
		n -= 4 + bytes;
	}
	return UINT32_MAX;
}

/* ---- by local headers ---- */

/* Adds the member at the reader's place and moves behind it. NULL, or what is wrong. */
static const char *
local_member(struct reader *r, zip_part part, void *ctx)
{
	uint64_t at = reader_tell(r), bytes, all;
	size_t n, name, extra;
	const uint8_t *p = reader_peek(r, LOCAL_BYTES + 2 * UINT16_MAX, &n);

	if (!p || n < LOCAL_BYTES)
		return "the file ends in the header of a member";
	name = le16(p + 26);
	extra = le16(p + 28);
	if (n < LOCAL_BYTES + name + extra)
		return "the file ends in the header of a member";
	bytes = le32(p + 18);
	if (bytes == UINT32_MAX)
		bytes = size_64(p + LOCAL_BYTES + name, extra, 8);
	if (num_add(bytes, LOCAL_BYTES + name + extra, &all) < 0)
		return "a member has an impossible size";
	part(ctx, at, all, "member", p + LOCAL_BYTES, name);
	if (bytes == 0 && le16(p + 6) & FLAG_LATE)
		return "the size of a member stands behind it, and the directory is missing";
	if (all > reader_left(r))
		return "a member ends after the file, and the directory is missing";
	reader_skip(r, all);
	return NULL;
}

static const char *
walk_local(struct reader *r, zip_part part, void *ctx)
{
	const char *wrong = NULL;
	unsigned i;
	size_t n;

	reader_seek(r, 0);
	for (i = 0; !wrong && i < MEMBERS; i++) {
		const uint8_t *p = reader_peek(r, 4, &n);

		if (!p || n < 4 || le32(p) != LOCAL)
			return "the directory, which ends the archive, is missing";
		wrong = local_member(r, part, ctx);
	}
	return wrong;
}

/* ---- by the directory ---- */

/* The offset of the last end record; UINT64_MAX: none. */
static uint64_t
find_end(struct reader *r, uint64_t *directory)
{
	uint64_t back = num_min(r->end, END_BYTES + UINT16_MAX + LOCATOR_BYTES), from;
	const uint8_t *p;
	size_t n, i;

	from = r->end - back;
	if (reader_seek(r, from) < 0 || !(p = reader_peek(r, (size_t)back, &n)) || n < END_BYTES)
		return UINT64_MAX;
	for (i = n - END_BYTES + 1; i-- > 0;)
		if (le32(p + i) == END) {
			*directory = le32(p + i + 16);
			if (i >= LOCATOR_BYTES && le32(p + i - LOCATOR_BYTES) == LOCATOR)
				*directory = le64(p + i - LOCATOR_BYTES + 8);
			return from + i;
		}
	return UINT64_MAX;
}

/* Follows the locator of zip64 to the directory. */
static int
find_directory(struct reader *r, uint64_t end, uint64_t *directory)
{
	const uint8_t *p;
	size_t n;

	if (*directory >= end || reader_seek(r, *directory) < 0)
		return -1;
	p = reader_peek(r, END_64_BYTES, &n);
	if (p && n == END_64_BYTES && le32(p) == END_64)
		*directory = le64(p + 48);
	return *directory < end && reader_seek(r, *directory) == 0 ? 0 : -1;
}

/* The bytes of the local header at an offset, without changing the place; 30 if there is
 * none. */
static uint64_t
local_bytes(struct reader *r, uint64_t at)
{
	uint64_t back = reader_tell(r), bytes = LOCAL_BYTES;
	const uint8_t *p;
	size_t n;

	if (at < r->end && reader_seek(r, at) == 0 && (p = reader_peek(r, LOCAL_BYTES, &n)) &&
	    n == LOCAL_BYTES && le32(p) == LOCAL)
		bytes += (uint64_t)le16(p + 26) + le16(p + 28);
	reader_seek(r, back);
	return bytes;
}

static const char *
central_member(struct reader *r, zip_part part, void *ctx)
{
	uint8_t name[UINT16_MAX];
	uint64_t stored, at, all;
	size_t n, name_bytes, extra;
	const uint8_t *p = reader_peek(r, CENTRAL_BYTES + 2 * UINT16_MAX, &n);

	if (!p || n < CENTRAL_BYTES || le32(p) != CENTRAL)
		return "the directory breaks";
	name_bytes = le16(p + 28);
	extra = le16(p + 30);
	if (n < CENTRAL_BYTES + name_bytes + extra)
		return "the directory breaks";
	stored = le32(p + 20);
	at = le32(p + 42);
	if (stored == UINT32_MAX)
		stored = size_64(p + CENTRAL_BYTES + name_bytes, extra,
		                 le32(p + 24) == UINT32_MAX ? 8 : 0);
	if (at == UINT32_MAX)
		at = size_64(p + CENTRAL_BYTES + name_bytes, extra,
		             (le32(p + 24) == UINT32_MAX ? 8 : 0) +
		                 (le32(p + 20) == UINT32_MAX ? 8 : 0));
	memcpy(name, p + CENTRAL_BYTES, name_bytes);
	all = CENTRAL_BYTES + name_bytes + extra + le16(p + 32);
	if (num_add(stored, local_bytes(r, at), &stored) < 0)
		stored = UINT64_MAX;
	part(ctx, at, stored, "member", name, name_bytes);
	return reader_skip(r, all) < 0 ? "the directory breaks" : NULL;
}

const char *
zip_walk(struct reader *r, zip_part part, void *ctx)
{
	uint64_t directory = 0, end = find_end(r, &directory);
	const char *wrong = NULL;
	uint64_t from = directory;
	unsigned i;

	if (end == UINT64_MAX)
		return walk_local(r, part, ctx);
	if (find_directory(r, end, &directory) < 0) {
		reader_seek(r, end);
		return "the end record does not lead to a directory";
	}
	from = directory;
	for (i = 0; !wrong && i < MEMBERS && reader_tell(r) < end; i++) {
		size_t n;
		const uint8_t *p = reader_peek(r, 4, &n);

		if (p && n == 4 && (le32(p) == END_64 || le32(p) == END))
			break;
		wrong = central_member(r, part, ctx);
	}
	part(ctx, from, reader_tell(r) - from, "directory", NULL, 0);
	if (!wrong)
		part(ctx, reader_tell(r), r->end - reader_tell(r), "end records", NULL, 0);
	return wrong;
}
