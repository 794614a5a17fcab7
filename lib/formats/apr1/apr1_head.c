#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codecs/lz4_block.h"
#include "core/crc32.h"
#include "core/le.h"
#include "core/num.h"
#include "formats/apr1/apr1_index.h"

int
apr1_fail(struct apr1_source *s, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_vset(s->reader.err, code, s->reader.name, fmt, ap);
	va_end(ap);
	return -1;
}

int
apr1_warn(struct apr1_source *s, const char *fmt, ...)
{
	char fact[512], text[640];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(fact, sizeof fact, fmt, ap);
	va_end(ap);
	if (s->options.strict)
		return apr1_fail(s, ERR_CORRUPT, "%s", fact);
	snprintf(text, sizeof text, "%.120s: %s", s->reader.name, fact);
	if (s->source.note)
		s->source.note(text);
	return 0;
}

/* ---- the header ---- */

static int
check_header(struct apr1_source *s)
{
	struct apr1_header *h = &s->header;
	const char *type = apr1_type_name(h->type);
	const char *asked = format_chosen(&s->options, &apr1_options[APR1_EXPECT]);

	if (h->major != 1)
		return apr1_fail(s, ERR_VERSION, "UnsupportedVersion: is APRN version %u.%u, read "
		                 "is version 1", h->major, h->minor);
	if (!type)
		return apr1_fail(s, ERR_FORMAT, "InvalidFormat: model type 0x%04x does not exist",
		                 h->type);
	if (!apr1_compression(h->compression))
		return apr1_fail(s, ERR_FORMAT, "InvalidFormat: compression %u does not exist",
		                 h->compression);
	if (asked && apr1_type_number(asked) < 0)
		return apr1_type_unknown(asked, s->reader.err);
	if (asked && apr1_type_number(asked) != h->type)
		return apr1_fail(s, ERR_INVALID, "ModelTypeMismatch: its model type is %s, not "
		                 "%.60s", type, asked);
	if (h->flags & APR1_ENCRYPTED && h->mode > 2)
		return apr1_fail(s, ERR_FORMAT, "InvalidFormat: encryption mode %u does not exist",
		                 h->mode);
	if (h->flags & APR1_TRUENO && h->compression)
		return apr1_fail(s, ERR_FORMAT, "InvalidFormat: TRUENO_NATIVE and compression "
		                 "exclude each other");
	if (h->meta_bytes > APR1_METADATA_MAX)
		return apr1_fail(s, ERR_FORMAT, "InvalidFormat: metadata of %" PRIu32
		                 " bytes exceeds %u MiB", h->meta_bytes, APR1_METADATA_MAX >> 20);
	if (!h->compression && !(h->flags & APR1_ENCRYPTED) &&
	    h->payload_bytes != h->plain_bytes)
		return apr1_fail(s, ERR_FORMAT, "InvalidFormat: the payload has %" PRIu32 " bytes, "
		                 "uncompressed %" PRIu32 ", though nothing is compressed",
		                 h->payload_bytes, h->plain_bytes);
	return 0;
}

static int
warn_header(struct apr1_source *s)
{
	struct apr1_header *h = &s->header;

	if (h->flags & ~APR1_FLAGS)
		oddities_add(&s->odd, ODD_FLAGS, "flags", 21, h->flags & ~APR1_FLAGS);
	if (h->reserved)
		oddities_add(&s->odd, ODD_RESERVED, "header", 0, 1);
	if (h->flags & ~APR1_FLAGS && apr1_warn(s, "flag 0x80 has no meaning") < 0)
		return -1;
	if (!(h->flags & APR1_ENCRYPTED) && h->mode > 100 &&
	    apr1_warn(s, "its score is %u, at most 100 has a meaning", h->mode) < 0)
		return -1;
	if (h->reserved && apr1_warn(s, "reserved bytes of the header are not zero") < 0)
		return -1;
	return 0;
}

int
apr1_read_header(struct apr1_source *s)
{
	struct apr1_header *h = &s->header;
	const uint8_t *p;
	size_t i, n;

	s->base = reader_tell(&s->reader);
	p = reader_peek(&s->reader, APR1_HEADER, &n);
	if (!p)
		return -1;
	if (n < APR1_HEADER)
		return reader_fail(&s->reader, ERR_CORRUPT, "it ends here, in its header of %u "
		                   "bytes: it was cut short", APR1_HEADER);
	*h = (struct apr1_header){ .major = p[4], .minor = p[5], .type = le16(p + 6),
		.meta_bytes = le32(p + 8), .payload_bytes = le32(p + 12),
		.plain_bytes = le32(p + 16), .compression = p[20], .flags = p[21],
		.mode = p[22] };
	for (i = 23; i < APR1_HEADER; i++)
		h->reserved |= p[i] != 0;
	return check_header(s);
}

/* ---- the file ---- */

/* The size of the file by its header, without a licence block. */
static uint64_t
announced(const struct apr1_header *h)
{
	return (uint64_t)APR1_HEADER + h->meta_bytes + h->payload_bytes +
	       (h->flags & APR1_SIGNED ? APR1_SIGNATURE : 0) + APR1_FOOTER;
}

/* True for a bundle of another program, which has the same magic but no checksum. */
static bool
is_bundle(const struct apr1_source *s, uint64_t n)
{
	const struct apr1_header *h = &s->header;

	return n == (uint64_t)APR1_HEADER + h->meta_bytes && !h->payload_bytes &&
	       !h->plain_bytes && !h->compression && !h->mode && !h->reserved;
}

static int
wrong_length(struct apr1_source *s, uint64_t n)
{
	uint64_t want = announced(&s->header);

	if (is_bundle(s, n))
		return apr1_fail(s, ERR_FORMAT, "InvalidFormat: is a bundle of apr-cookbook, which "
		                 "has the magic of APR version 1 and is not read here");
	if (n < want)
		return apr1_fail(s, ERR_CORRUPT, "ends after %" PRIu64 " bytes, its header "
		                 "announces %" PRIu64 ": it was cut short", n, want);
	return apr1_fail(s, ERR_CORRUPT, "has bytes after its end: its header announces %"
	                 PRIu64, want);
}

static int
check_crc(struct apr1_source *s)
{
	uint32_t crc = 0, stored = le32(s->p + s->n - APR1_FOOTER);
	uint64_t at = 0, end = s->n - APR1_FOOTER, part;

	for (; at < end; at += part) {
		part = num_min(end - at, 1u << 24);
		crc = crc32_add(crc, s->p + at, (size_t)part);
	}
	if (crc32_same(crc, stored))
		return 0;
	return apr1_fail(s, ERR_CHECKSUM, "ChecksumMismatch: its CRC is 0x%08" PRIx32
	                 ", stored is 0x%08" PRIx32, crc, stored);
}

/* Find the parts of a file whose checksum is right. */
static int
find_parts(struct apr1_source *s)
{
	const struct apr1_header *h = &s->header;
	const uint8_t *p = s->p + APR1_HEADER + h->meta_bytes;

	s->stored = p;
	p += h->payload_bytes;
	if (h->flags & APR1_SIGNED) {
		s->signature = p;
		p += APR1_SIGNATURE;
	}
	s->licence_bytes = s->n - APR1_FOOTER - (uint64_t)(p - s->p);
	if (s->licence_bytes && !apr1_is_licence(p, s->licence_bytes))
		return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: its licence block of %" PRIu64
		                 " bytes does not end where it says", s->licence_bytes);
	if (s->licence_bytes)
		s->licence = p;
	return 0;
}

static int
check_signature(struct apr1_source *s)
{
	struct vault *v = s->options.vault;
	uint64_t n = (uint64_t)APR1_HEADER + s->header.meta_bytes + s->header.payload_bytes;

	if (!s->signature) {
		if (!v || !v->trusts)
			return 0;
		apr1_fail(s, ERR_SIGNATURE, "SignatureInvalid: it is not signed");
		return err_hint(s->reader.err, "a signature over the content, which apr-sign "
		                "makes, is checked by apr-verify");
	}
	if (s->options.closed)
		return 0;
	if (!v || !v->check) {
		apr1_fail(s, ERR_SIGNATURE, "SignatureInvalid: it is signed, and nothing here can "
		          "check that");
		return err_hint(s->reader.err, "apr-unpack does");
	}
	return v->check(v, s->p, (size_t)n, s->signature, s->signature + VAULT_SIGNATURE,
	                s->reader.name, s->reader.err);
}

int
apr1_read_at(struct apr1_source *s, uint64_t at, uint64_t n, struct spool *spool,
             const uint8_t **to)
{
	struct reader *r = &s->reader;
	const uint8_t *p;
	size_t got;

	spool_free(spool);
	if (reader_seek(r, s->base + at) < 0)
		return -1;
	while (n > spool->bytes)
		if (!(p = reader_some(r, n - spool->bytes, &got)) ||
		    spool_put(spool, p, got, r->err) < 0)
			return -1;
	return spool_view(spool, to, r->err);
}

/* May tensors be read one by one? Not where all bytes are needed to prove something: a
 * signature, a tag, that a signature is there, or that nothing is odd. A licence block
 * would make the file longer. */
static bool
is_part(const struct apr1_source *s)
{
	const struct format_options *o = &s->options;
	unsigned flags = s->header.flags;

	if (flags & (APR1_ENCRYPTED | APR1_SIGNED) || o->strict || (o->vault && o->vault->trusts))
		return false;
	if (!s->reader.seekable || reader_left(&s->reader) != announced(&s->header))
		return false;
	return (o->use == FORMAT_SOME && flags & APR1_STREAMING) ||
	       (o->use == FORMAT_PLACES && flags & APR1_TRUENO);
}

int
apr1_read_file(struct apr1_source *s)
{
	struct reader *r = &s->reader;
	uint64_t want = announced(&s->header), most = want;
	const uint8_t *p;
	size_t n;

	s->part = is_part(s);
	if (s->part) {
		s->n = apr1_offset_of(s, 0);
		return apr1_read_at(s, 0, s->n, &s->file, &s->p);
	}
	if (s->header.flags & APR1_LICENSED)
		most += APR1_LICENCE_MAX;
	if (reader_left(r) != READER_UNKNOWN && (reader_left(r) < want || reader_left(r) > most))
		return wrong_length(s, reader_left(r));
	while (s->file.bytes <= most && !reader_at_end(r)) {
		if (!(p = reader_some(r, most + 1 - s->file.bytes, &n)) ||
		    spool_put(&s->file, p, n, r->err) < 0)
			return -1;
		if (s->file.bytes > most)
			break;
	}
	if (r->failed)
		return -1;
	s->n = s->file.bytes;
	if (s->n < want || s->n > most)
		return wrong_length(s, s->n);
	if (spool_view(&s->file, &s->p, r->err) < 0 || check_crc(s) < 0 ||
	    warn_header(s) < 0)
		return -1;
	/* The signature is checked before the content is parsed. */
	return find_parts(s) < 0 ? -1 : check_signature(s);
}

/* ---- tag, compression ---- */

/* Check the licence block. It follows the signature, so the signed metadata has its digest. */
static int
check_licence(struct apr1_source *s)
{
	const struct apr1_entry *x = apr1_map_find(&s->custom, APR1_DIGEST);
	struct vault *v = s->options.vault;
	uint8_t digest[VAULT_DIGEST];
	char text[2 * VAULT_DIGEST + 1];
	const char *said;
	size_t i, n;

	if (!x && s->licence && v && v->trusts)
		return apr1_fail(s, ERR_SIGNATURE, "SignatureInvalid: its licence block is not "
		                 "covered by its signature");
	if (!x)
		return 0;
	said = apr1_text(x, &n);
	if (!s->licence || !said || n != 2 * VAULT_DIGEST)
		return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: its metadata has a digest of a "
		                 "licence block that is not there");
	if (!v || !v->digest)
		return 0;
	if (v->digest(v, s->licence, (size_t)s->licence_bytes, digest, s->reader.err) < 0)
		return -1;
	for (i = 0; i < VAULT_DIGEST; i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
	if (memcmp(text, said, n) == 0)
		return 0;
	return apr1_fail(s, ERR_SIGNATURE, "SignatureInvalid: the licence block is not the one "
	                 "that the metadata has the digest of");
}

static int
expand_zstd(struct apr1_source *s, const uint8_t *p, uint64_t n, uint64_t size,
            struct spool *spool)
{
	struct err *e = s->reader.err;
	struct decoder *d = decoder_new(&codec_zstd, s->options.memory, e);
	size_t left = (size_t)n, made;
	const uint8_t *out;
	int r = -1;

	if (d && decoder_begin(d, n, size, p, (size_t)num_min(n, CODEC_HEAD), s->reader.name,
	                       e) == 0) {
		do {
			r = decoder_step(d, &p, &left, &out, &made, e);
			if (r >= 0 && spool_put(spool, out, made, e) < 0)
				r = -1;
			if (r == 0 && left == 0 && made == 0)
				r = apr1_fail(s, ERR_CORRUPT, "its compressed payload ends too early");
		} while (r == 0);
	}
	decoder_free(d);
	return r < 0 ? -1 : 0;
}

/* Expand LZ4 data: a u32 with the size, then one block (not a frame). */
static int
expand_lz4(struct apr1_source *s, const uint8_t *p, uint64_t n, uint64_t size,
           struct spool *spool)
{
	uint8_t *to;

	if (n < 4 || le32(p) != size || size > LZ4_BLOCK_MOST)
		return apr1_fail(s, ERR_CORRUPT, "its %" PRIu64 " bytes of lz4 are not %" PRIu64
		                 " bytes of payload", n, size);
	to = spool_room(spool, size, s->reader.err);
	if (!to)
		return -1;
	if (lz4_block_decode(p + 4, n - 4, to, size) < 0)
		return apr1_fail(s, ERR_CORRUPT, "its lz4 block is damaged");
	return 0;
}

int
apr1_expand(struct apr1_source *s, const uint8_t *p, uint64_t n, uint64_t size,
            struct spool *spool, const uint8_t **to)
{
	bool lz4 = s->header.compression == APR1_LZ4;
	int r;

	if (!codec_plausible(lz4 ? &codec_lz4 : &codec_zstd, n, size))
		return apr1_fail(s, ERR_CORRUPT, "its %" PRIu64 " compressed bytes cannot be %"
		                 PRIu64 " bytes of payload", n, size);
	r = lz4 ? expand_lz4(s, p, n, size, spool) : expand_zstd(s, p, n, size, spool);
	return r < 0 ? -1 : spool_view(spool, to, s->reader.err);
}

static int
open_sealed(struct apr1_source *s, const uint8_t **p, uint64_t *n)
{
	struct vault *v = s->options.vault;

	if (!v || !v->open) {
		apr1_fail(s, ERR_DECRYPT, "DecryptionFailed: its payload is encrypted");
		return err_hint(s->reader.err, "apr-unpack opens it, with --identity or a "
		                "passphrase");
	}
	s->opened.secret = s->plain.secret = s->gathered.secret = s->unpacked.secret = true;
	s->parts.derived.secret = true;
	if (v->open(v, s->header.mode, *p, (size_t)*n, &s->opened, s->reader.name,
	            s->reader.err) < 0)
		return -1;
	s->decrypted = true;
	if (spool_view(&s->opened, p, s->reader.err) < 0)
		return -1;
	*n = s->opened.bytes;
	return 0;
}

/* Bytes of the payload before its tensors, or a few more. A wrong number in the file makes
 * an index that ends too early, or reads the whole payload as one. */
static int
measure_indexes(struct apr1_source *s, uint64_t *n)
{
	uint64_t start = apr1_offset_of(s, 0), all = s->header.payload_bytes;
	const uint8_t *p;

	*n = all;
	if (all < APR1_CHUNK_PLACE)
		return 0;
	if (apr1_read_at(s, start, APR1_CHUNK_PLACE, &s->opened, &p) < 0)
		return -1;
	if (!(s->header.flags & APR1_STREAMING))
		*n = num_min(all, 4 + (uint64_t)le32(p) * APR1_ALIGNED_MOST);
	else if (le32(p) > 0) /* chunks are sorted, and the first begins behind all indexes */
		*n = num_min(all, le64(p + 4) - start);
	return 0;
}

static int
open_indexes(struct apr1_source *s)
{
	if (warn_header(s) < 0 || measure_indexes(s, &s->open_bytes) < 0 ||
	    apr1_read_at(s, apr1_offset_of(s, 0), s->open_bytes, &s->opened, &s->payload) < 0)
		return -1;
	s->stored = s->payload;
	s->payload_bytes = s->header.payload_bytes;
	if (s->options.use == FORMAT_PLACES)
		return 0;
	return apr1_warn(s, "only a part of it is read, so its checksum is not verified; those of "
	                 "the chunks that are read are");
}

int
apr1_open_payload(struct apr1_source *s)
{
	const struct apr1_header *h = &s->header;
	const uint8_t *p = s->stored;
	uint64_t n = h->payload_bytes;

	if (check_licence(s) < 0)
		return -1;
	if (s->part)
		return open_indexes(s);
	if (h->flags & APR1_ENCRYPTED) {
		if (s->options.closed)
			return 0;
		if (open_sealed(s, &p, &n) < 0)
			return -1;
	}
	/* A payload in chunks is compressed chunk by chunk. */
	if (h->compression && !s->chunked) {
		if (apr1_expand(s, p, n, h->plain_bytes, &s->plain, &p) < 0)
			return -1;
		n = h->plain_bytes;
	}
	if (!h->compression && n != h->plain_bytes)
		return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: its payload has %" PRIu64
		                 " bytes, its header says %" PRIu32, n, h->plain_bytes);
	s->payload = p;
	s->payload_bytes = s->open_bytes = n;
	return 0;
}
