#include <string.h>

#include "core/le.h"
#include "core/num.h"
#include "formats/apr1/apr1_writer.h"

static uint8_t
choose_flags(const struct apr1_sink *s)
{
	const struct vault *v = s->options.vault;
	unsigned had = apr1_from(s, APR1_FROM_FLAGS, 0), flags = 0;

	/* Flags that only inform are kept if the file keeps its original form. */
	if (!s->own)
		flags |= had & (APR1_STREAMING | APR1_LICENSED | APR1_QUANTIZED | APR1_CARD);
	if (v && v->seals)
		flags |= APR1_ENCRYPTED;
	if (v && v->signs)
		flags |= APR1_SIGNED;
	if (s->chunked)
		flags |= APR1_STREAMING;
	if (s->block.n)
		flags |= APR1_LICENSED;
	if (s->aligned)
		flags |= APR1_TRUENO;
	if (s->quantized)
		flags |= APR1_QUANTIZED;
	return (uint8_t)flags;
}

static void
fill_header(const struct apr1_sink *s, uint8_t p[APR1_HEADER])
{
	const struct vault *v = s->options.vault;
	unsigned score = apr1_from(s, APR1_FROM_SCORE, 0);

	memset(p, 0, APR1_HEADER);
	memcpy(p, "APRN", 4);
	p[4] = 1;
	p[5] = !s->own ? (uint8_t)apr1_from(s, APR1_FROM_MINOR, 0) : 0;
	le16_put(p + 6, s->type);
	le32_put(p + 8, (uint32_t)s->metadata.n);
	le32_put(p + 12, (uint32_t)s->stored_bytes);
	le32_put(p + 16, (uint32_t)s->plain_bytes);
	p[20] = s->compression;
	p[21] = choose_flags(s);
	p[22] = v && v->seals ? v->mode : (uint8_t)num_min(score, 255);
}

/* Compress the payload, then encrypt it. */
static int
prepare(struct apr1_sink *s, struct err *e)
{
	uint64_t base = (uint64_t)APR1_HEADER + s->metadata.n;
	struct vault *v = s->options.vault;
	int r = s->aligned ? apr1_make_aligned(s, base, e)
	      : s->chunked ? apr1_make_chunks(s, base, e) : apr1_compress(s, e);

	if (r < 0)
		return -1;
	if (v && v->seals) {
		if (s->stored_bytes > SIZE_MAX ||
		    v->seal(v, s->stored, (size_t)s->stored_bytes, &s->sealed, e) < 0 ||
		    spool_view(&s->sealed, &s->stored, e) < 0)
			return -1;
		s->stored_bytes = s->sealed.bytes;
	}
	if (s->stored_bytes > UINT32_MAX || s->plain_bytes > UINT32_MAX)
		return apr1_too_large(s, e);
	return 0;
}

/* Sign all bytes that are written before the signature, as one message. */
static int
sign(struct apr1_sink *s, const uint8_t header[APR1_HEADER], uint8_t block[APR1_SIGNATURE],
     struct err *e)
{
	struct vault *v = s->options.vault;
	struct spool all = { 0 };
	const uint8_t *p;
	int r = -1;

	if (spool_put(&all, header, APR1_HEADER, e) == 0 &&
	    apr1_spool(&all, s->metadata.p, s->metadata.n, e) == 0 &&
	    apr1_spool(&all, s->stored, s->stored_bytes, e) == 0 &&
	    spool_view(&all, &p, e) == 0)
		r = v->sign(v, p, (size_t)all.bytes, block, block + VAULT_SIGNATURE, e);
	spool_free(&all);
	return r;
}

int
apr1_write_file(struct apr1_sink *s, struct err *e)
{
	uint8_t header[APR1_HEADER], block[APR1_SIGNATURE], footer[APR1_FOOTER];
	bool signs = s->options.vault && s->options.vault->signs;
	uint64_t left, n;
	const uint8_t *p;

	if (prepare(s, e) < 0)
		return -1;
	fill_header(s, header);
	if (signs && sign(s, header, block, e) < 0)
		return -1;
	if (out_reserve(&s->out, APR1_HEADER + s->metadata.n + s->stored_bytes +
	                (signs ? APR1_SIGNATURE : 0) + s->block.n + APR1_FOOTER) < 0 ||
	    out_put(&s->out, header, sizeof header) < 0 ||
	    out_put(&s->out, s->metadata.p, s->metadata.n) < 0)
		return -1;
	for (left = s->stored_bytes, p = s->stored; left > 0; left -= n, p += n) {
		n = num_min(left, 1u << 20);
		if (out_put(&s->out, p, (size_t)n) < 0)
			return -1;
	}
	if ((signs && out_put(&s->out, block, sizeof block) < 0) ||
	    (s->block.n && out_put(&s->out, s->block.p, s->block.n) < 0))
		return -1;
	le32_put(footer, s->out.crc);
	return out_put(&s->out, footer, sizeof footer) < 0 ? -1 : out_finish(&s->out);
}
