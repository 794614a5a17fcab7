#include "formats/apr2/apr2_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/crc32.h"
#include "core/le.h"
#include "core/num.h"

static int
check_flags(struct apr2_source *s)
{
	uint32_t flags = s->header.flags;
	struct reader *r = &s->reader;

	if (flags & APR2_SHARDED && !s->is_shard) {
		err_set(r->err, ERR_FORMAT, r->name, "is one of several files, and the others "
		        "cannot be found");
		return err_hint(r->err, "give the path of the manifest that names them, "
		                "NAME.apr.json");
	}
	if (flags & ~APR2_FLAGS)
		oddities_add(&s->odd, ODD_FLAGS, "flags", 8, flags & ~APR2_FLAGS);
	if (flags & ~APR2_FLAGS)
		return apr2_warn(s, "the flags 0x%" PRIx32 " have no known meaning",
		            flags & ~APR2_FLAGS);
	return 0;
}

static int
check_sections(struct apr2_source *s)
{
	const struct apr2_header *h = &s->header;
	struct reader *r = &s->reader;
	uint64_t meta_end = (uint64_t)h->meta_at + h->meta_bytes;
	uint64_t index_end = (uint64_t)h->index_at + h->index_bytes;

	if (h->meta_bytes > APR2_METADATA_MAX)
		return reader_fail(r, ERR_CORRUPT, "metadata of %" PRIu32
		                   " bytes exceeds 256 MiB", h->meta_bytes);
	if (h->index_bytes < APR2_INDEX_HEAD)
		return reader_fail(r, ERR_CORRUPT, "an index of %" PRIu32
		                   " bytes has no room for its header", h->index_bytes);
	if (head_follows(r, "metadata", APR2_HEADER, h->meta_at) < 0 ||
	    head_follows(r, "index", meta_end, h->index_at) < 0)
		return -1;
	/* Frames of any length may come before the data. */
	if (h->data_at < index_end)
		return reader_fail(r, ERR_CORRUPT, "the data begins at byte %" PRIu32
		                   ", but the index ends at %" PRIu64, h->data_at, index_end);
	if (r->end != READER_UNKNOWN && r->end < (uint64_t)h->data_at + APR2_FOOTER)
		return reader_fail(r, ERR_CORRUPT, "the file has %" PRIu64 " bytes, but its "
		                   "data begins at byte %" PRIu32 ": it was cut short",
		                   r->end, h->data_at);
	return 0;
}

static int
read_header(struct apr2_source *s)
{
	struct reader *r = &s->reader;
	struct apr2_header *h = &s->header;
	const uint8_t *p;

	r->crc_on = true;
	p = reader_take(r, APR2_HEADER);
	if (!p)
		return -1;
	if (memcmp(p, "APR2", 4) != 0)
		return err_set(r->err, ERR_FORMAT, r->name, "is not an APR2 file");
	h->major = le16(p + 4);
	h->minor = le16(p + 6);
	h->flags = le32(p + 8);
	h->meta_at = le32(p + 12);
	h->meta_bytes = le32(p + 16);
	h->index_at = le32(p + 20);
	h->index_bytes = le32(p + 24);
	h->data_at = le32(p + 28);
	if (h->major != APR2_MAJOR)
		return err_set(r->err, ERR_VERSION, r->name, "is APR version %" PRIu16 ".%"
		               PRIu16 ", but only 2.x is read here", h->major, h->minor);
	return check_flags(s) < 0 ? -1 : check_sections(s);
}

/* The specification defines no layout for the flag ENCRYPTED: only files whose metadata
 * announces an SKEY frame are read. */
static int
check_sealed(struct apr2_source *s)
{
	bool marked = s->header.flags & APR2_ENCRYPTED;

	if (marked && !s->plan.sealed)
		return err_set(s->reader.err, ERR_FORMAT, s->reader.name, "is an encrypted APR2 "
		               "file of a form that is not known");
	if (s->plan.sealed && s->header.flags & APR2_SHARDED)
		return err_set(s->reader.err, ERR_FORMAT, s->reader.name, "is sealed and one of "
		               "several files, which is not read here");
	return s->plan.sealed && !marked
	           ? apr2_warn(s, "is not marked as encrypted, but it is sealed") : 0;
}

static int
read_metadata(struct apr2_source *s)
{
	const struct apr2_header *h = &s->header;
	struct reader *r = &s->reader;

	if (reader_skip(r, h->meta_at - reader_tell(r)) < 0 ||
	    head_metadata(r, h->meta_bytes, &s->meta.kept) < 0 ||
	    apr2_meta_read(&s->meta, &s->plan, r->name, h->meta_at, r->err) < 0 ||
	    check_sealed(s) < 0)
		return -1;
	if (s->meta.missing && s->meta.foreign)
		return apr2_warn(s, "its metadata lacks the required member %s", s->meta.missing);
	return 0;
}

int
apr2_read_head(struct apr2_source *s)
{
	return read_header(s) < 0 ? -1 : read_metadata(s);
}

/* Describe the first container in source, if the file does not. */
int
apr2_fill_source(struct apr2_source *s)
{
	struct model *m = &s->plan;
	struct err *e = s->reader.err;
	char version[16];

	if (s->meta.foreign) {
		snprintf(version, sizeof version, "2.%u", s->header.minor);
		if (model_source_set(m, "format", json_string(format_apr2.name), e) < 0 ||
		    model_source_set(m, "version", json_string(version), e) < 0)
			return -1;
		return model_source_set(m, "alignment", json_integer(s->alignment), e);
	}
	if (s->alignment == 32)
		return model_source_set(m, APR2_ALIGNMENT_MEMBER, json_integer(32), e);
	return 0;
}

/* ---- description ---- */

/* The CRC in a footer at the very end of the file, and the CRC of the whole file. */
static bool
stored_crc(struct apr2_source *s, uint32_t *crc, uint32_t *all)
{
	uint8_t p[APR2_FOOTER];

	if (!head_last(&s->reader, p, sizeof p) || !apr2_is_footer(p) ||
	    le64(p + 8) != s->reader.end)
		return false;
	*crc = le32(p);
	*all = crc32_add(*crc, p, sizeof p);
	return true;
}

bool
apr2_file_crc(struct source *source, uint32_t *crc, uint32_t *all, uint64_t *bytes)
{
	struct apr2_source *s = (struct apr2_source *)source;

	*bytes = s->reader.end;
	return stored_crc(s, crc, all);
}

/* The number of tensors for each codec: {"zstd":20}. */
static json_t *
count_codecs(const struct apr2_source *s)
{
	json_t *o = json_object();
	size_t i;

	for (i = 0; o && i < s->entry_count; i++) {
		const struct codec *c = s->entries[i].codec;
		json_int_t n = c ? json_integer_value(json_object_get(o, c->name)) : 0;

		if (c && json_object_set_new(o, c->name, json_integer(n + 1)) < 0) {
			json_decref(o);
			return NULL;
		}
	}
	return o;
}

json_t *
apr2_describe(struct source *source, struct err *e)
{
	struct apr2_source *s = (struct apr2_source *)source;
	const struct apr2_header *h = &s->header;
	char version[16];
	uint32_t crc = 0, all;
	bool ends = stored_crc(s, &crc, &all);
	json_t *o, *codecs;
	int r = 0;

	if (!ends && s->reader.seekable && !s->reader.failed &&
	    apr2_warn(s, "does not end with its footer: bytes follow it, or are missing") < 0)
		return NULL;
	snprintf(version, sizeof version, "%u.%u", h->major, h->minor);
	o = json_pack("{s:s,s:s,s:s,s:o}", "format", format_apr2.name, "title",
	              format_apr2.title, "version", version, "flags", head_flags(h->flags, APR2_FLAGS, apr2_flag));
	r |= json_object_set_new(o, "metadata_bytes", json_from_u64(h->meta_bytes));
	if (s->meta.reserve)
		r |= json_object_set_new(o, "reserve", json_from_u64(s->meta.reserve));
	r |= json_object_set_new(o, "index_bytes", json_from_u64(h->index_bytes));
	r |= json_object_set_new(o, "data_offset", json_from_u64(h->data_at));
	r |= json_object_set_new(o, "data_bytes", json_from_u64(s->data_bytes));
	r |= json_object_set_new(o, "alignment", json_from_u64(s->alignment));
	codecs = count_codecs(s);
	if (!codecs || json_object_size(codecs) > 0)
		r |= json_object_set(o, "compression", codecs);
	json_decref(codecs);
	r |= json_object_set_new(o, "checksum", ends ? head_crc(crc) : json_null());
	r |= json_object_set_new(o, "checksum_verified", json_false());
	if (r == 0 && !s->reader.failed)
		return o;
	json_decref(o);
	if (!s->reader.failed)
		err_memory(e);
	return NULL;
}
