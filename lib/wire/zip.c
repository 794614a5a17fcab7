#include "wire/zip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/crc32.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"

#define LOCAL 0x04034b50u
#define CENTRAL 0x02014b50u
#define DESCRIPTOR 0x08074b50u
#define END 0x06054b50u
#define END_64 0x06064b50u
#define LOCATOR 0x07064b50u

#define LOCAL_BYTES 30
#define CENTRAL_BYTES 46
#define END_BYTES 22
#define END_64_BYTES 56
#define LOCATOR_BYTES 20

#define FLAG_ENCRYPTED 0x2041u /* encrypted, strongly encrypted, local header masked */
#define FLAG_PATCH 0x0020u
#define FLAG_LATE 0x0008u      /* sizes follow the member */
#define EXTRA_64 0x0001
#define SMALL UINT32_MAX       /* a number that stands in the zip64 extra field */

/* The numbers of a header, of either kind. */
struct head {
	uint16_t flags, method, name_bytes, extra_bytes;
	uint32_t crc;
	uint64_t stored, bytes, at;
};

struct directory {
	uint64_t at, bytes, count;
	uint64_t end; /* offset of the first end record */
};

static int
corrupt(const struct zip *z, struct err *e, const char *what)
{
	return err_set(e, ERR_CORRUPT, z->where, "is a zip archive that %s", what);
}

static int
bad_entry(const struct zip *z, const struct zip_entry *x, enum err_code code, struct err *e,
          const char *what)
{
	return err_set(e, code, z->where, "is a zip archive whose member %.*s %s",
	               (int)num_min(x->name_bytes, 200), x->name, what);
}

/* ---- the end ---- */

/* The offset of the end record: the last one, and the only one whose comment reaches the end of
 * the archive. */
static int
find_end(const struct zip *z, uint64_t *at, struct err *e)
{
	uint64_t most = num_min(z->n, END_BYTES + UINT16_MAX), back;
	size_t found = 0;

	for (back = END_BYTES; back <= most; back++) {
		const uint8_t *p = z->p + z->n - back;

		if (*p != 'P' || le32(p) != END || le16(p + 20) != back - END_BYTES)
			continue;
		*at = z->n - back;
		found++;
	}
	if (found == 0)
		return corrupt(z, e, "has no end record: it is not whole");
	return found == 1 ? 0 : corrupt(z, e, "could end at more than one place");
}

/* Take the numbers of the zip64 end record in front of the end record. */
static int
read_end_64(struct zip *z, struct directory *d, const uint8_t *end, struct err *e)
{
	const uint8_t *locator = end - LOCATOR_BYTES, *p;
	uint64_t at = le64(locator + 8), room = d->end - LOCATOR_BYTES;

	if (at > room || room - at < END_64_BYTES || le32(z->p + at) != END_64)
		return corrupt(z, e, "has no zip64 end record where its locator says");
	p = z->p + at;
	if (le64(p + 4) != room - at - 12)
		return corrupt(z, e, "has a zip64 end record of the wrong size");
	if (le32(locator + 4) != 0 || le32(locator + 16) > 1 || le32(p + 16) != 0 ||
	    le32(p + 20) != 0)
		return err_set(e, ERR_FORMAT, z->where, "is one file of a zip archive in several");
	if (le64(p + 24) != le64(p + 32))
		return corrupt(z, e, "contradicts itself about the number of its members");
	if ((le16(end + 10) != UINT16_MAX && le16(end + 10) != le64(p + 32)) ||
	    (le32(end + 12) != SMALL && le32(end + 12) != le64(p + 40)) ||
	    (le32(end + 16) != SMALL && le32(end + 16) != le64(p + 48)))
		return corrupt(z, e, "has two end records that differ");
	*d = (struct directory){ .count = le64(p + 32), .bytes = le64(p + 40),
		.at = le64(p + 48), .end = at };
	z->is_64 = true;
	return 0;
}

static int
read_end(struct zip *z, struct directory *d, struct err *e)
{
	const uint8_t *p;
	uint64_t sum;

	*d = (struct directory){ 0 };
	if (find_end(z, &d->end, e) < 0)
		return -1;
	p = z->p + d->end;
	if (d->end >= LOCATOR_BYTES && le32(p - LOCATOR_BYTES) == LOCATOR) {
		if (read_end_64(z, d, p, e) < 0)
			return -1;
	} else {
		if (le16(p + 4) || le16(p + 6))
			return err_set(e, ERR_FORMAT, z->where,
			               "is one file of a zip archive in several");
		if (le16(p + 8) != le16(p + 10))
			return corrupt(z, e, "contradicts itself about the number of its members");
		d->count = le16(p + 10);
		d->bytes = le32(p + 12);
		d->at = le32(p + 16);
	}
	if (num_add(d->at, d->bytes, &sum) < 0 || sum != d->end)
		return corrupt(z, e, "has a directory that does not end at its end record");
	if (d->count > ZIP_ENTRIES || d->bytes > ZIP_DIRECTORY)
		return err_set(e, ERR_CORRUPT, z->where, "is a zip archive with %" PRIu64
		               " members, at most %u are read", d->count, ZIP_ENTRIES);
	return d->bytes / CENTRAL_BYTES >= d->count
	           ? 0 : corrupt(z, e, "has a directory too small for its members");
}

/* ---- headers ---- */

/* The extra field with this id, or NULL; *n is its length. */
static const uint8_t *
extra_find(const uint8_t *p, size_t bytes, uint16_t id, size_t *n)
{
	for (; bytes >= 4; p += 4 + *n, bytes -= 4 + *n) {
		*n = le16(p + 2);
		if (*n > bytes - 4)
			return NULL;
		if (le16(p) == id)
			return p + 4;
	}
	return NULL;
}

/* Replace a number that is too large for its header by the next one of the extra field. */
static int
take_64(uint64_t *v, const uint8_t **p, size_t *n)
{
	if (*v != SMALL)
		return 0;
	if (*n < 8)
		return -1;
	*v = le64(*p);
	*p += 8;
	*n -= 8;
	return 0;
}

/* has_at: the header has an offset too. */
static int
take_extra(struct head *h, const uint8_t *extra, bool has_at)
{
	size_t n = 0;
	const uint8_t *p = extra_find(extra, h->extra_bytes, EXTRA_64, &n);

	if (!p)
		n = 0;
	if (take_64(&h->bytes, &p, &n) < 0 || take_64(&h->stored, &p, &n) < 0)
		return -1;
	return has_at ? take_64(&h->at, &p, &n) : 0;
}

/* Read the header of the directory at *p, which ends at end, and move behind it. */
static int
read_central(struct zip *z, const uint8_t **from, const uint8_t *end, struct zip_entry *x,
             struct head *h, struct err *e)
{
	const uint8_t *p = *from;
	size_t left = (size_t)(end - p), bytes;

	if (left < CENTRAL_BYTES || le32(p) != CENTRAL)
		return corrupt(z, e, "has a damaged directory");
	*h = (struct head){ .flags = le16(p + 8), .method = le16(p + 10), .crc = le32(p + 16),
		.stored = le32(p + 20), .bytes = le32(p + 24), .name_bytes = le16(p + 28),
		.extra_bytes = le16(p + 30), .at = le32(p + 42) };
	bytes = (size_t)CENTRAL_BYTES + h->name_bytes + h->extra_bytes + le16(p + 32);
	if (bytes > left)
		return corrupt(z, e, "has a damaged directory");
	*x = (struct zip_entry){ .name = (const char *)p + CENTRAL_BYTES,
		.name_bytes = h->name_bytes, .crc = h->crc, .deflated = h->method == 8 };
	if (x->name_bytes == 0 || x->name_bytes > ZIP_NAME ||
	    !text_utf8(x->name, x->name_bytes, false))
		return corrupt(z, e, "has a member whose name is not text");
	if (le16(p + 34) != 0)
		return bad_entry(z, x, ERR_FORMAT, e, "lies in another file");
	if (take_extra(h, p + CENTRAL_BYTES + h->name_bytes, true) < 0)
		return bad_entry(z, x, ERR_CORRUPT, e, "lacks its sizes in 64 bits");
	x->head = h->at;
	x->stored = h->stored;
	x->bytes = h->bytes;
	*from = p + bytes;
	return 0;
}

static int
check_method(const struct zip *z, const struct zip_entry *x, const struct head *h,
             struct err *e)
{
	uint64_t most;

	if (h->flags & FLAG_ENCRYPTED)
		return bad_entry(z, x, ERR_FORMAT, e, "is encrypted");
	if (h->flags & FLAG_PATCH || (h->method != 0 && h->method != 8))
		return bad_entry(z, x, ERR_FORMAT, e, "is compressed by a method that is not read");
	if (!x->deflated)
		return x->stored == x->bytes
		           ? 0 : bad_entry(z, x, ERR_CORRUPT, e, "is stored with two sizes");
	if (num_mul(x->stored, ZIP_RATIO, &most) == 0 && x->bytes > most)
		return bad_entry(z, x, ERR_CORRUPT, e, "is larger than deflate can make it");
	return 0;
}

/* Compare the sizes behind a member with the directory, if they are there: some writers set the
 * flag and leave them out. */
static int
check_descriptor(const struct zip *z, const struct zip_entry *x, uint64_t limit, struct err *e)
{
	uint64_t at = x->offset + x->stored;
	const uint8_t *p = z->p + at;

	if (z->map && limit - at >= 16)
		map_look(z->map, p);
	if (limit - at < 16 || le32(p) != DESCRIPTOR)
		return 0;
	if (le32(p + 4) == x->crc && le32(p + 8) == (uint32_t)x->stored &&
	    le32(p + 12) == (uint32_t)x->bytes)
		return 0;
	if (le32(p + 4) == x->crc && limit - at >= 24 && le64(p + 8) == x->stored &&
	    le64(p + 16) == x->bytes)
		return 0;
	return bad_entry(z, x, ERR_CORRUPT, e, "has other sizes behind it than in the directory");
}

/* Compare the local header with that of the directory, and find the content. limit: the offset of
 * the directory. */
static int
read_local(const struct zip *z, struct zip_entry *x, const struct head *h, uint64_t limit,
           struct err *e)
{
	bool there = x->head <= limit && limit - x->head >= LOCAL_BYTES, late;
	const uint8_t *p = there ? z->p + x->head : NULL;
	struct head l;

	if (there && z->map)
		map_look(z->map, p);
	if (!there || le32(p) != LOCAL)
		return bad_entry(z, x, ERR_CORRUPT, e, "has no header where the directory says");
	l = (struct head){ .flags = le16(p + 6), .method = le16(p + 8), .crc = le32(p + 14),
		.stored = le32(p + 18), .bytes = le32(p + 22), .name_bytes = le16(p + 26),
		.extra_bytes = le16(p + 28) };
	x->offset = x->head + LOCAL_BYTES + l.name_bytes + l.extra_bytes;
	if (x->offset > limit || x->stored > limit - x->offset)
		return bad_entry(z, x, ERR_CORRUPT, e, "does not lie before the directory");
	if (l.name_bytes != x->name_bytes || memcmp(p + LOCAL_BYTES, x->name, x->name_bytes) != 0)
		return bad_entry(z, x, ERR_CORRUPT, e, "has another name in its own header");
	if (l.method != h->method || l.flags != h->flags)
		return bad_entry(z, x, ERR_CORRUPT, e,
		                 "has another method or other flags in its own header");
	if (take_extra(&l, p + LOCAL_BYTES + l.name_bytes, false) < 0)
		return bad_entry(z, x, ERR_CORRUPT, e, "lacks its sizes in 64 bits");
	late = l.flags & FLAG_LATE;
	if ((l.stored != x->stored || l.bytes != x->bytes) && !(late && !l.stored && !l.bytes))
		return bad_entry(z, x, ERR_CORRUPT, e, "has another size in its own header");
	if (l.crc != x->crc && !(late && !l.crc))
		return bad_entry(z, x, ERR_CORRUPT, e, "has another CRC-32 in its own header");
	return late ? check_descriptor(z, x, limit, e) : 0;
}

/* ---- proofs over all members ---- */

static int
by_offset(const void *a, const void *b)
{
	const struct zip_entry *x = a, *y = b;

	return x->head < y->head ? -1 : x->head > y->head;
}

static int
compare_names(const char *a, size_t an, const char *b, size_t bn)
{
	int r = memcmp(a, b, an < bn ? an : bn);

	return r ? r : an < bn ? -1 : an > bn;
}

static int
by_name(const void *a, const void *b)
{
	const struct zip_entry *x = a, *y = b;

	return compare_names(x->name, x->name_bytes, y->name, y->name_bytes);
}

static int
prove_entries(struct zip *z, struct err *e)
{
	struct zip_entry *x = z->entries;
	size_t i;

	if (z->count == 0)
		return 0;
	qsort(x, z->count, sizeof *x, by_offset);
	for (i = 1; i < z->count; i++)
		if (x[i].head < x[i - 1].offset + x[i - 1].stored)
			return bad_entry(z, &x[i], ERR_CORRUPT, e, "overlaps another one");
	qsort(x, z->count, sizeof *x, by_name);
	for (i = 1; i < z->count; i++)
		if (by_name(&x[i - 1], &x[i]) == 0)
			return bad_entry(z, &x[i], ERR_CORRUPT, e, "is there twice");
	return 0;
}

int
zip_open(struct zip *z, const uint8_t *p, uint64_t n, struct map *map, const char *where,
         struct err *e)
{
	struct directory d;
	const uint8_t *at;
	struct head h;
	size_t i;

	*z = (struct zip){ .p = p, .n = n, .map = map, .where = where };
	if (read_end(z, &d, e) < 0)
		return -1;
	z->entries = mem_array((size_t)d.count, sizeof *z->entries);
	if (!z->entries)
		return err_memory(e);
	z->count = (size_t)d.count;
	at = p + d.at;
	for (i = 0; i < z->count; i++)
		if (read_central(z, &at, p + d.at + d.bytes, &z->entries[i], &h, e) < 0 ||
		    check_method(z, &z->entries[i], &h, e) < 0 ||
		    read_local(z, &z->entries[i], &h, d.at, e) < 0)
			return -1;
	if (at != p + d.at + d.bytes)
		return corrupt(z, e, "has more in its directory than its members");
	return prove_entries(z, e);
}

void
zip_free(struct zip *z)
{
	free(z->entries);
	*z = (struct zip){ 0 };
}

const struct zip_entry *
zip_find(const struct zip *z, const char *name, size_t name_bytes)
{
	struct zip_entry key = { .name = name, .name_bytes = name_bytes };

	return z->count ? bsearch(&key, z->entries, z->count, sizeof key, by_name) : NULL;
}

/* ---- content ---- */

struct zip_inflate {
	const struct zip *zip;
	const struct zip_entry *entry;
	z_stream stream;
	const uint8_t *in;
	uint64_t in_left, done; /* bytes */
	uint32_t crc;
	bool ended;
	uint8_t piece[1 << 16];
};

struct zip_inflate *
zip_inflate_open(const struct zip *z, const struct zip_entry *x, struct err *e)
{
	struct zip_inflate *f = mem_array(1, sizeof *f);

	if (!f || inflateInit2(&f->stream, -MAX_WBITS) != Z_OK) {
		free(f);
		err_memory(e);
		return NULL;
	}
	f->zip = z;
	f->entry = x;
	f->in = z->p + x->offset;
	f->in_left = x->stored;
	return f;
}

void
zip_inflate_close(struct zip_inflate *f)
{
	if (f)
		inflateEnd(&f->stream);
	free(f);
}

static int
inflate_end(struct zip_inflate *f, struct err *e)
{
	if (f->done != f->entry->bytes || f->in_left || f->stream.avail_in)
		return bad_entry(f->zip, f->entry, ERR_CORRUPT, e,
		                 "does not have the size that the directory says");
	if (!crc32_same(f->crc, f->entry->crc))
		return bad_entry(f->zip, f->entry, ERR_CHECKSUM, e, "has a wrong CRC-32");
	return 0;
}

int
zip_inflate(struct zip_inflate *f, const uint8_t **p, size_t *n, struct err *e)
{
	z_stream *s = &f->stream;
	int r = Z_OK;

	*p = f->piece;
	*n = 0;
	s->next_out = f->piece;
	s->avail_out = sizeof f->piece;
	while (!f->ended && r == Z_OK && s->avail_out > 0) {
		if (s->avail_in == 0) {
			size_t step = (size_t)num_min(f->in_left, 1 << 20);

			s->next_in = (z_const Bytef *)(uintptr_t)f->in;
			s->avail_in = (uInt)step;
			f->in += step;
			f->in_left -= step;
		}
		r = inflate(s, Z_NO_FLUSH);
		f->ended = r == Z_STREAM_END;
	}
	if (r == Z_MEM_ERROR)
		return err_memory(e);
	*n = sizeof f->piece - s->avail_out;
	f->done += *n;
	if ((r != Z_OK && r != Z_STREAM_END) || f->done > f->entry->bytes)
		return bad_entry(f->zip, f->entry, ERR_CORRUPT, e, "is not deflated data of its size");
	f->crc = crc32_add(f->crc, f->piece, *n);
	return *n == 0 ? inflate_end(f, e) : 0;
}

static int
inflate_all(const struct zip *z, const struct zip_entry *x, struct buf *b, struct err *e)
{
	struct zip_inflate *f = zip_inflate_open(z, x, e);
	const uint8_t *p;
	size_t n = 1;
	int r = f ? 0 : -1;

	while (r == 0 && n > 0 && (r = zip_inflate(f, &p, &n, e)) == 0)
		buf_put(b, p, n);
	zip_inflate_close(f);
	return r == 0 && !buf_ok(b) ? err_memory(e) : r;
}

int
zip_prove(const struct zip *z, const struct zip_entry *x, uint32_t crc, struct err *e)
{
	return crc32_same(crc, x->crc) ? 0
	                               : bad_entry(z, x, ERR_CHECKSUM, e, "has a wrong CRC-32");
}

int
zip_check(const struct zip *z, const struct zip_entry *x, uint64_t most, struct err *e)
{
	if (x->bytes > most)
		return err_set(e, ERR_CORRUPT, z->where, "is a zip archive whose member %.*s has %"
		               PRIu64 " bytes, at most %" PRIu64 " are read",
		               (int)num_min(x->name_bytes, 200), x->name, x->bytes, most);
	if (x->deflated)
		return 0;
	return zip_prove(z, x, crc32_add(0, z->p + x->offset, (size_t)x->bytes), e);
}

int
zip_get(const struct zip *z, const struct zip_entry *x, uint64_t most, struct buf *b,
        struct err *e)
{
	if (zip_check(z, x, most, e) < 0)
		return -1;
	if (x->deflated)
		return inflate_all(z, x, b, e);
	buf_put(b, z->p + x->offset, (size_t)x->bytes);
	return buf_ok(b) ? 0 : err_memory(e);
}
