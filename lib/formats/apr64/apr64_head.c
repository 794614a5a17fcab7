#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/crc32.h"
#include "core/le.h"
#include "core/num.h"
#include "formats/apr64/apr64_reader.h"

/* ---- the kind of file ---- */

/* The CRC of the header without its CRC field. */
static uint32_t
header_crc(const uint8_t *p)
{
	return crc32_add(crc32_add(0, p, 40), p + 44, APR64_HEADER - 44);
}

static int
refuse(struct reader *r, const char *what, const char *hint)
{
	err_set(r->err, ERR_FORMAT, r->name, "is %s, which is not read here", what);
	return err_hint(r->err, "%s", hint);
}

/* The files of several programs begin with "APR\0" and have nothing else in common: refuse
 * each by its name. */
static int
refuse_relatives(struct reader *r)
{
	size_t n;
	const uint8_t *p = reader_peek(r, APR64_HEADER, &n);
	bool sound;

	if (!p)
		return -1;
	if (n < 6 || memcmp(p, "APR\0", 4) != 0)
		return 0;
	if (n >= 12 && le32(p + 4) == 1 && le32(p + 8) == 0x54535000)
		return refuse(r, "a model of aprender-tsp, which plans routes (magic APR\\0, type "
		              "TSP)", "it holds the parameters of a search, and no tensors");
	sound = n >= APR64_HEADER && le32(p + 40) == header_crc(p);
	if (!sound && n >= 13 && p[4] <= 2 &&
	    (memcmp(p + 9, p[4] == 2 ? "\x28\xb5\x2f\xfd" : "APR1", 4) == 0 || p[4] == 1))
		return refuse(r, "an APR1 file inside a wrapper (magic APR\\0), as AprWriter wrote "
		              "them early in 2026", "import the model again from where it came");
	if (p[4] == 2 ? p[5] != 0 && !sound && n >= APR64_HEADER : !sound)
		return refuse(r, "no APR of version 2, but another file of that family (magic "
		              "APR\\0)", "the program that wrote it may export safetensors or GGUF");
	return 0;
}

/* realizar can read a file in which all bytes after the header are compressed together, but no
 * program writes one. Upstream's writer only sets the flag. */
static int
check_compressed(struct apr64_source *s)
{
	size_t n;
	const uint8_t *p = reader_peek(&s->reader, 1, &n);

	if (!p)
		return -1;
	if (n == 1 && *p != '{')
		return refuse(&s->reader, "an APR file that is compressed as a whole",
		              "the program that wrote it can write it uncompressed");
	return apr64_warn(s, "is marked as compressed, but is not");
}

static int
check_flags(struct apr64_source *s)
{
	struct reader *r = &s->reader;
	uint16_t flags = s->header.flags;

	if (flags & APR64_ENCRYPTED)
		return refuse(r, "an encrypted APR file", "decrypt it with the program that wrote "
		              "it");
	if (flags & APR64_COLUMN_MAJOR)
		return refuse(r, "an APR file whose tensors lie in columns",
		              "import the model again: such files are no longer written");
	if (flags & (APR64_LZ4 | APR64_ZSTD) && check_compressed(s) < 0)
		return -1;
	if (flags & APR64_SHARDED &&
	    apr64_warn(s, "is marked as one of several shards: the others are not read") < 0)
		return -1;
	if (flags & ~APR64_FLAGS)
		oddities_add(&s->odd, ODD_FLAGS, "flags", 6, flags & ~APR64_FLAGS);
	if (flags & ~APR64_FLAGS)
		return apr64_warn(s, "the flags 0x%x have no known meaning",
		                  (unsigned)(flags & ~APR64_FLAGS));
	return 0;
}

static int
check_parts(struct apr64_source *s)
{
	const struct apr64_header *h = &s->header;
	struct reader *r = &s->reader;

	if (h->meta_bytes > APR64_METADATA_MAX)
		return reader_fail(r, ERR_CORRUPT, "metadata of %" PRIu32
		                   " bytes exceeds 256 MiB", h->meta_bytes);
	if (h->meta_at != APR64_HEADER)
		return reader_fail(r, ERR_CORRUPT, "the metadata begins at byte %" PRIu64
		                   " instead of 64", h->meta_at);
	if (head_follows(r, "index", h->meta_at + h->meta_bytes, h->index_at) < 0)
		return -1;
	if (h->data_at < h->index_at)
		return reader_fail(r, ERR_CORRUPT, "the data begins at byte %" PRIu64
		                   ", but the index at %" PRIu64, h->data_at, h->index_at);
	if (r->end != READER_UNKNOWN && r->end < h->data_at)
		return reader_fail(r, ERR_CORRUPT, "the file has %" PRIu64 " bytes, but its "
		                   "data begins at byte %" PRIu64 ": it was cut short",
		                   r->end, h->data_at);
	if (h->count > (h->data_at - h->index_at) / (APR64_ENTRY + 1))
		return reader_fail(r, ERR_CORRUPT, "an index of %" PRIu32 " tensors does not fit "
		                   "into its %" PRIu64 " bytes", h->count,
		                   h->data_at - h->index_at);
	return 0;
}

static int
check_header(struct apr64_source *s, uint32_t crc)
{
	const struct apr64_header *h = &s->header;
	struct reader *r = &s->reader;

	if (h->crc == 0 && crc != 0) {
		if (apr64_warn(s, "its header has no checksum, as realizar leaves it out") < 0)
			return -1;
	} else if (!crc32_same(crc, h->crc)) {
		return err_set(r->err, ERR_CHECKSUM, r->name, "its header is damaged: its CRC is "
		               "0x%08" PRIx32 ", stored is 0x%08" PRIx32, crc, h->crc);
	}
	if (h->major != APR64_MAJOR)
		return err_set(r->err, ERR_VERSION, r->name, "is APR version %u.%u, but only "
		               "2.x is read here", h->major, h->minor);
	return check_flags(s) < 0 ? -1 : check_parts(s);
}

int
apr64_read_head(struct apr64_source *s)
{
	struct apr64_header *h = &s->header;
	struct reader *r = &s->reader;
	const uint8_t *p;

	if (refuse_relatives(r) < 0)
		return -1;
	r->crc_on = true;
	p = reader_take(r, APR64_HEADER);
	if (!p)
		return -1;
	memcpy(h->magic, p, 4);
	if (memcmp(p, "APR\0", 4) != 0 && memcmp(p, "APR2", 4) != 0)
		return err_set(r->err, ERR_FORMAT, r->name,
		               "is not an APR file with a header of 64 bytes");
	h->major = p[4];
	h->minor = p[5];
	h->flags = le16(p + 6);
	h->count = le32(p + 8);
	h->meta_at = le64(p + 12);
	h->meta_bytes = le32(p + 20);
	h->index_at = le64(p + 24);
	h->data_at = le64(p + 32);
	h->crc = le32(p + 40);
	return check_header(s, header_crc(p));
}

/* ---- description ---- */

/* The CRC-32 in a footer at the very end of the file. */
static bool
stored_crc(struct apr64_source *s, uint32_t *crc)
{
	uint64_t at = s->reader.end - APR64_FOOTER, end = s->header.data_at, up;
	uint8_t p[APR64_FOOTER];

	if (num_add(end, s->data_bytes, &end) < 0 ||
	    num_align(s->data_bytes, APR64_ALIGN, &up) < 0 ||
	    num_add(s->header.data_at, up, &up) < 0 || (at != up && at != end) ||
	    !head_last(&s->reader, p, sizeof p))
		return false;
	*crc = le32(p);
	return true;
}

json_t *
apr64_describe(struct source *source, struct err *e)
{
	struct apr64_source *s = (struct apr64_source *)source;
	const struct apr64_header *h = &s->header;
	char version[16];
	uint32_t crc;
	json_t *o;
	int r = 0;

	snprintf(version, sizeof version, "%u.%u", h->major, h->minor);
	o = json_pack("{s:s,s:s,s:s,s:s,s:o}", "format", format_apr64.name, "title",
	              format_apr64.title, "magic", h->magic[3] ? "APR2" : "APR NUL", "version",
	              version, "flags", head_flags(h->flags, APR64_FLAGS, apr64_flag));
	r |= json_object_set_new(o, "metadata_bytes", json_from_u64(h->meta_bytes));
	r |= json_object_set_new(o, "index_bytes",
	                         json_from_u64(h->data_at - h->index_at));
	r |= json_object_set_new(o, "data_offset", json_from_u64(h->data_at));
	r |= json_object_set_new(o, "data_bytes", json_from_u64(s->data_bytes));
	r |= json_object_set_new(o, "alignment", json_from_u64(s->alignment));
	r |= json_object_set_new(o, "header_checksum", h->crc ? head_crc(h->crc) : json_null());
	r |= json_object_set_new(o, "checksum", stored_crc(s, &crc) ? head_crc(crc)
	                                                            : json_null());
	r |= json_object_set_new(o, "checksum_verified", json_false());
	if (r == 0 && !s->reader.failed)
		return o;
	json_decref(o);
	if (!s->reader.failed)
		err_memory(e);
	return NULL;
}
