/* fuzz_codecs: properties of every codec. The first four bytes choose the codec, the
 * announced size, and the pieces in which the rest arrives. The rest is
 *
 *     1. a frame: refused, or decoded to as many bytes as were announced, with
 *        the same answer whatever the pieces;
 *     2. plain bytes: they come back from the frame that is made of them, which
 *        is the same whatever the pieces.
 */
#include "fuzz.h"

#include "core/le.h"

#define MOST (1u << 20) /* bytes that a frame may stand for here */

/* All bytes that come out, as a CRC; the fault is in e. */
static uint32_t
decode(const struct codec *c, const uint8_t *p, size_t n, uint64_t size, size_t piece,
       struct err *e)
{
	struct decoder *x = decoder_new(c, 1 << 20, e);
	const uint8_t *out;
	uint64_t all = 0;
	uint32_t crc = 0;
	size_t part = 0, out_n;
	int r;

	must(x);
	r = decoder_begin(x, n, size, p, n < CODEC_HEAD ? n : CODEC_HEAD, "t", e);
	while (r == 0) {
		if (part == 0)
			part = n < piece ? n : piece;
		n -= part;
		r = decoder_step(x, &p, &part, &out, &out_n, e);
		n += part;
		if (r < 0)
			break;
		all += out_n;
		crc = crc32_add(crc, out, out_n);
		must(all <= size && (r == 0 || (out_n == 0 && all == size && n == 0)));
	}
	must((r < 0) == (e->code != ERR_NONE));
	decoder_free(x);
	return crc;
}

static void
as_frame(const struct codec *c, const uint8_t *p, size_t n, uint64_t size, size_t piece)
{
	struct err e = ERR_INIT, whole = ERR_INIT;
	uint32_t crc;

	if (!codec_plausible(c, n, size) || size > MOST)
		size = n;
	crc = decode(c, p, n, size, piece, &e);
	must(decode(c, p, n, size, SIZE_MAX, &whole) == crc || e.code != ERR_NONE);
	must((e.code == ERR_NONE) == (whole.code == ERR_NONE));
	if (e.code != ERR_NONE)
		fuzz_refused(&e, false);
}

static void
encode(struct encoder *x, const uint8_t *p, size_t n, size_t piece, struct buf *out)
{
	struct err e = ERR_INIT;
	size_t part;

	must(encoder_begin(x, n, out, &e) == 0);
	for (; n > 0; p += part, n -= part) {
		part = n < piece ? n : piece;
		must(encoder_put(x, p, part, out, &e) == 0);
	}
}

static void
as_plain(const struct codec *c, int level, const uint8_t *p, size_t n, size_t piece)
{
	struct err e = ERR_INIT;
	struct buf first = { 0 }, second = { 0 };
	struct encoder *x = encoder_new(c, level, &e);

	must(x);
	encode(x, p, n, piece, &first);
	encode(x, p, n, n + 1, &second);
	must(first.n == second.n && memcmp(first.p, second.p, first.n) == 0);
	must(codec_plausible(c, first.n, n));
	must(decode(c, first.p, first.n, n, piece, &e) == crc32_add(0, p, n));
	must_say(e.code == ERR_NONE, &e);
	encoder_free(x);
	buf_free(&first);
	buf_free(&second);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct codec *c;
	size_t piece;

	if (size < 4)
		return 0;
	c = codec_row(data[0] & 1);
	piece = (size_t)data[1] + 1;
	if (data[0] & 2)
		as_plain(c, c->high ? 1 + data[2] % 5 : 0, data + 4, size - 4, piece);
	else
		as_frame(c, data + 4, size - 4, le16(data + 2), piece);
	return 0;
}
