/* apr2_parts: APR2 files that are built part by part, from the specification alone, and
 * what reading them says.
 */
#ifndef TEST_APR2_PARTS_H
#define TEST_APR2_PARTS_H

#include "apr2_models.h"
#include "core/crc32.h"

/* Where the parts of the last file lie. */
static struct {
	size_t meta, index, entry[4], data, end, foot;
} at;

static inline void
put_entry(struct buf *b, const char *name, unsigned code, unsigned ndim,
          const uint64_t *dims, uint64_t offset, uint64_t size)
{
	unsigned i;

	buf_u16(b, (uint16_t)strlen(name));
	buf_text(b, name);
	buf_u8(b, (uint8_t)code);
	buf_u8(b, (uint8_t)ndim);
	for (i = 0; i < ndim; i++)
		buf_u64(b, dims[i]);
	buf_u64(b, offset);
	buf_u64(b, size);
	buf_u64(b, 0);
	buf_u32(b, 0);
}

static inline void
pad_to(struct buf *b, size_t boundary)
{
	while (b->n % boundary)
		buf_u8(b, 0);
}

/* A footer that holds. */
static inline void
close_file(struct buf *b)
{
	at.foot = b->n;
	buf_u32(b, crc32_add(0, b->p, b->n));
	buf_text(b, "2RPA");
	buf_u64(b, b->n + 8);
}

/* The metadata that follows from a plan without keys, and from the tensor b of
 * make_file. */
#define QUANTIZED "\"quantization\":{\"method\":\"Q8_0\",\"bits_per_weight\":8.5},"
#define DERIVED "\"apr_version\":\"2.0.0\",\"model_type\":\"unknown\"," \
	"\"architecture\":{\"name\":\"unknown\"},\"source_format\":\"unknown\","

static const char spec_json[] = "{\"apr_version\":\"2.0.0\",\"model_type\":\"whisper\","
	"\"architecture\":{\"n_mels\": 80},\"mel_filterbank\":[0.0, 1e-5],"
	"\"text\":\"a\\u00e9\"}";

/* Four tensors: a F32 [2,3], b Q8_0 by its older code, c empty, d a scalar.
 * The footer follows after padding to footer_boundary. */
static inline void
make_file(struct buf *b, const char *json, size_t footer_boundary)
{
	static const uint64_t a[] = { 2, 3 }, q[] = { 32 }, none[] = { 0 };
	size_t i;

	buf_clear(b);
	buf_zeros(b, 32);
	at.meta = b->n;
	buf_text(b, json);
	at.index = b->n;
	buf_u32(b, 4);
	buf_u32(b, 0);
	at.entry[0] = b->n;
	put_entry(b, "a", 0, 2, a, 0, 24);
	at.entry[1] = b->n;
	put_entry(b, "b", 10, 1, q, 64, 34);
	at.entry[2] = b->n;
	put_entry(b, "c", 7, 1, none, 128, 0);
	at.entry[3] = b->n;
	put_entry(b, "d", 2, 0, NULL, 128, 2);
	at.data = b->n;
	pad_to(b, 64);
	memcpy(b->p, "APR2", 4);
	le16_put(b->p + 4, 2);
	le32_put(b->p + 8, APR2_ALIGNED_64 | APR2_QUANTIZED);
	le32_put(b->p + 12, (uint32_t)at.meta);
	le32_put(b->p + 16, (uint32_t)(at.index - at.meta));
	le32_put(b->p + 20, (uint32_t)at.index);
	le32_put(b->p + 24, (uint32_t)(at.data - at.index));
	le32_put(b->p + 28, (uint32_t)b->n);
	at.data = b->n;
	for (i = 0; i < 130; i++)
		buf_u8(b, i < 24 || (i >= 64 && i < 98) || i >= 128 ? (uint8_t)i : 0);
	at.end = b->n;
	pad_to(b, footer_boundary);
	close_file(b);
}

/* The file's CRC put right after a change. */
static inline void
repair(struct buf *b)
{
	le32_put(b->p + at.foot, crc32_add(0, b->p, at.foot));
}

/* Read a file to its end, from memory or from a pipe. */
static inline enum err_code
outcome(const struct buf *file, bool from_pipe, const struct format_options *o,
        struct err *e)
{
	struct buf out = { 0 };
	struct source *s;

	*e = (struct err)ERR_INIT;
	s = from_pipe ? open_pipe(file, o, e) : open_memory(file, true, o, e);
	convert(s, false, &no_options, &out, e);
	buf_free(&out);
	return e->code;
}

#endif
