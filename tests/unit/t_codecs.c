#include "test.h"

#include <string.h>

#include "codecs/codec.h"
#include "core/le.h"

static void
die(const char *what)
{
	printf("Bail out! %s\n", what);
	exit(1);
}

/* ---- data ---- */

enum kind { ZEROS, HALVES, NOISE };

/* n bytes: all zero; halves as weights have them, with a byte that varies and one
 * that hardly does; or none that a codec can predict. */
static uint8_t *
make(enum kind kind, size_t n)
{
	uint8_t *p = calloc(n + 1, 1);
	uint64_t x = 88172645463325252;
	size_t i;

	if (!p)
		die("memory");
	for (i = 0; kind != ZEROS && i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		p[i] = (uint8_t)(x >> 32);
		if (kind == HALVES && i % 2 == 1)
			p[i] = (uint8_t)(0x3c + (p[i] & 3 ? 0 : p[i] >> 7 << 7));
	}
	return p;
}

/* ---- both ways ---- */

/* In pieces of the given size (0: of ever another one). */
static void
pack(struct encoder *x, const uint8_t *p, size_t n, size_t piece, struct buf *out)
{
	struct err e = ERR_INIT;
	size_t part, i = 0;

	buf_clear(out);
	if (encoder_begin(x, n, out, &e) < 0)
		die(e.fact);
	for (; n > 0; p += part, n -= part) {
		part = piece ? piece : ++i * 977 % 300000;
		if (part > n)
			part = n;
		if (encoder_put(x, p, part, out, &e) < 0)
			die(e.fact);
	}
}

/* Appends the output to out. Returns the error, or ERR_NONE. */
static enum err_code
unpack(struct decoder *x, const struct buf *packed, size_t size, size_t piece,
       struct buf *out, struct err *e)
{
	const uint8_t *in = packed->p, *got;
	size_t n = 0, left = packed->n, got_n;
	int r = decoder_begin(x, packed->n, size, packed->p,
	                      packed->n < CODEC_HEAD ? packed->n : CODEC_HEAD, "t", e);

	buf_clear(out);
	while (r == 0) {
		if (n == 0) {
			n = left < piece ? left : piece;
			left -= n;
		}
		r = decoder_step(x, &in, &n, &got, &got_n, e);
		buf_put(out, got, r == 0 ? got_n : 0);
		if (out->n > size)
			die("more came out than was announced");
	}
	if ((r < 0) != (e->code != ERR_NONE))
		die("status and fault differ");
	return e->code;
}

static void
test_round_trips(void)
{
	static const size_t sizes[] = { 0, 1, 2, 63, 64, 255, 256, 65535, 65536, 65537,
		CODEC_PIECE - 1, CODEC_PIECE, CODEC_PIECE + 1, 1000000, 5 * CODEC_PIECE };
	struct buf packed = { 0 }, again = { 0 }, back = { 0 };
	struct err e = ERR_INIT;
	const struct codec *c;
	unsigned row;

	for (row = 0; (c = codec_row(row)); row++) {
		struct encoder *x = encoder_new(c, c->usual, &e);
		struct decoder *y = decoder_new(c, 0, &e);
		enum kind kind;

		if (!x || !y)
			die(e.fact);
		for (kind = ZEROS; kind <= NOISE; kind++) {
			size_t i, bad = 0, other = 0, grown = 0, best = 0;

			for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
				size_t n = sizes[i];
				uint8_t *p = make(kind, n);

				pack(x, p, n, n ? n : 1, &packed);
				bad += unpack(y, &packed, n, SIZE_MAX, &back, &e) || back.n != n ||
				       (n && memcmp(back.p, p, n));
				bad += unpack(y, &packed, n, 1, &back, &e) || back.n != n ||
				       (n && memcmp(back.p, p, n));
				pack(x, p, n, 0, &again);
				other += packed.n != again.n || memcmp(packed.p, again.p, again.n);
				grown += packed.n > n + n / 8192 + 40;
				if (n == 1000000)
					best = packed.n;
				bad += !codec_plausible(c, packed.n, n);
				free(p);
			}
			test_ok(!bad && !other, "%s: kind %d comes back, whatever the pieces "
			        "(%zu lost, %zu other bytes: %s)", c->name, kind, bad, other, e.fact);
			test_ok(!grown && (kind != ZEROS || best < 5000) &&
			        (kind != HALVES || row == 0 || best < 700000),
			        "%s: a million of kind %d are %zu bytes", c->name, kind, best);
		}
		encoder_free(x);
		decoder_free(y);
	}
	buf_free(&packed);
	buf_free(&again);
	buf_free(&back);
}

/* The bytes do not depend on what was encoded before, or begun and given up. */
static void
test_independence(void)
{
	uint8_t *a = make(HALVES, 300000), *b = make(NOISE, 100000);
	struct buf first = { 0 }, second = { 0 };
	struct err e = ERR_INIT;
	const struct codec *c;
	unsigned row;
	int level;

	for (row = 0; (c = codec_row(row)); row++)
		for (level = c->low; level <= c->high; level++) {
			struct encoder *x = encoder_new(c, level, &e);

			if (!x)
				die(e.fact);
			pack(x, a, 300000, 4096, &first);
			pack(x, b, 100000, 4096, &second);
			if (encoder_begin(x, 500000, &second, &e) < 0 ||
			    encoder_put(x, b, 99999, &second, &e) < 0)
				die(e.fact);
			pack(x, a, 300000, 65536, &second);
			test_ok(first.n == second.n && memcmp(first.p, second.p, first.n) == 0,
			        "%s:%d is the same after other data, %zu bytes", c->name, level,
			        first.n);
			encoder_free(x);
		}
	free(a);
	free(b);
	buf_free(&first);
	buf_free(&second);
}

/* ---- faults ---- */

static void
test_levels(void)
{
	static const struct {
		const char *text;
		const struct codec *codec;
		int level;
		const char *fact;
	} rows[] = {
		{ "lz4", &codec_lz4, 0, "" },
		{ "zstd", &codec_zstd, 3, "" },
		{ "zstd:1", &codec_zstd, 1, "" },
		{ "zstd:19", &codec_zstd, 19, "" },
		{ "zstd:20", NULL, 0, "levels from 1 to 19, not 20" },
		{ "zstd:0", NULL, 0, "levels from 1 to 19" },
		{ "zstd:", NULL, 0, "levels from 1 to 19" },
		{ "zstd:-1", NULL, 0, "levels from 1 to 19" },
		{ "zstd:3x", NULL, 0, "levels from 1 to 19" },
		{ "lz4:9", NULL, 0, "lz4 has no levels" },
		{ "gzip", NULL, 0, "no compression gzip" },
		{ "zst", NULL, 0, "no compression zst" },
		{ "ZSTD", NULL, 0, "no compression ZSTD" },
		{ "", NULL, 0, "no compression" },
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct err e = ERR_INIT;
		const struct codec *c = NULL;
		int level = -1, r = codec_parse(rows[i].text, &c, &level, &e);

		test_ok(rows[i].codec ? r == 0 && c == rows[i].codec && level == rows[i].level
		                      : r < 0 && e.code == ERR_USAGE &&
		                        strstr(e.fact, rows[i].fact),
		        "-z '%s': %s", rows[i].text, e.fact);
	}
}

/* Every cut and every flipped bit is found, or leaves what comes out as long as it
 * was (a codec cannot know more without a checksum; the container has one). */
static void
test_damage(void)
{
	uint8_t *p = make(HALVES, 3000);
	struct buf packed = { 0 }, back = { 0 };
	const struct codec *c;
	unsigned row;

	for (row = 0; (c = codec_row(row)); row++) {
		struct err e = ERR_INIT;
		struct encoder *x = encoder_new(c, c->usual, &e);
		struct decoder *y = decoder_new(c, 0, &e);
		size_t i, passed = 0, longer = 0, other = 0;

		if (!x || !y)
			die(e.fact);
		pack(x, p, 3000, 3000, &packed);
		for (i = 0; i < packed.n; i++) {
			struct buf cut = { .p = packed.p, .n = i };

			e = (struct err)ERR_INIT;
			passed += unpack(y, &cut, 3000, 7, &back, &e) != ERR_CORRUPT;
		}
		test_ok(passed == 0, "%s: a cut at every byte, %zu pass", c->name, passed);
		for (i = 0; i < 8 * packed.n; i++) {
			packed.p[i / 8] ^= (uint8_t)(1 << i % 8);
			e = (struct err)ERR_INIT;
			unpack(y, &packed, 3000, 1000, &back, &e);
			longer += e.code == ERR_NONE && back.n != 3000;
			other += e.code != ERR_NONE && e.code != ERR_CORRUPT &&
			         e.code != ERR_CHECKSUM && e.code != ERR_MEMORY &&
			         e.code != ERR_FORMAT;
			packed.p[i / 8] ^= (uint8_t)(1 << i % 8);
		}
		test_ok(longer == 0 && other == 0, "%s: every bit, %zu of other length, %zu "
		        "odd faults", c->name, longer, other);
		buf_put(&packed, "x", 1);
		e = (struct err)ERR_INIT;
		test_ok(unpack(y, &packed, 3000, 1000, &back, &e) == ERR_CORRUPT &&
		        strstr(e.fact, "1 bytes are stored after its"), "%s: %s", c->name, e.fact);
		packed.n--;
		e = (struct err)ERR_INIT;
		test_ok(unpack(y, &packed, 2999, 1000, &back, &e) == ERR_CORRUPT &&
		        strstr(e.fact, "says that it stands for 3000 bytes, not 2999"), "%s: %s",
		        c->name, e.fact);
		e = (struct err)ERR_INIT;
		test_ok(unpack(y, &packed, 3000, 1000, &back, &e) == ERR_NONE,
		        "%s: good again after all that (%s)", c->name, e.fact);
		encoder_free(x);
		decoder_free(y);
	}
	free(p);
	buf_free(&packed);
	buf_free(&back);
}

/* Frames made by hand, from the formats' texts. */

/* zstd: no content size, a window of 128 KiB, blocks of one byte each repeated. */
static void
zstd_zeros(struct buf *b, uint8_t window, unsigned blocks, uint32_t each)
{
	buf_clear(b);
	buf_put(b, "\x28\xb5\x2f\xfd\0", 5);
	buf_u8(b, window);
	for (; blocks > 0; blocks--) {
		uint32_t head = each << 3 | 1 << 1 | (blocks == 1);

		buf_u8(b, (uint8_t)head);
		buf_u8(b, (uint8_t)(head >> 8));
		buf_u8(b, (uint8_t)(head >> 16));
		buf_u8(b, 0);
	}
}

/* lz4: no content size, blocks of up to 64 KiB as they are. bd: the descriptor
 * and its header checksum. */
static void
lz4_plain(struct buf *b, const char *descriptor, unsigned blocks, uint32_t each)
{
	buf_clear(b);
	buf_put(b, "\x04\x22\x4d\x18", 4);
	buf_put(b, descriptor, 3);
	for (; blocks > 0; blocks--) {
		buf_u32(b, each | 0x80000000);
		buf_zeros(b, each);
	}
	buf_u32(b, 0);
}

static void
test_bombs(void)
{
	struct buf b = { 0 }, back = { 0 };
	struct err e = ERR_INIT;
	struct decoder *z = decoder_new(&codec_zstd, 0, &e), *l = decoder_new(&codec_lz4, 0, &e);
	struct decoder *small = decoder_new(&codec_zstd, 1 << 20, &e);

	if (!z || !l || !small)
		die(e.fact);
	zstd_zeros(&b, 7 << 3, 100, 1 << 17);
	test_ok(unpack(z, &b, 100u << 17, 50, &back, &e) == ERR_NONE && back.n == 100u << 17,
	        "400 bytes of zstd for 12.5 MiB (%s)", e.fact);
	test_ok(codec_plausible(&codec_zstd, b.n, back.n) &&
	        !codec_plausible(&codec_zstd, 400, (100u << 17) + 1) &&
	        !codec_plausible(&codec_zstd, 0, 1) &&
	        codec_plausible(&codec_zstd, INT64_MAX, UINT64_MAX) &&
	        !codec_plausible(&codec_zstd, UINT64_MAX, 1) &&
	        !codec_plausible(&codec_lz4, 1000, 255001), "no more than that is possible");
	test_ok(unpack(z, &b, 1000, 50, &back, &e) == ERR_CORRUPT && back.n == 0 &&
	        strstr(e.fact, "more than 1000 bytes"), "a zstd bomb: %s", e.fact);
	e = (struct err)ERR_INIT;
	test_ok(unpack(z, &b, (100u << 17) + 1, 50, &back, &e) == ERR_CORRUPT &&
	        strstr(e.fact, "holds 13107200 bytes, not 13107201"), "too short: %s", e.fact);
	e = (struct err)ERR_INIT;
	zstd_zeros(&b, 15 << 3, 1, 5);
	test_ok(unpack(z, &b, 5, 50, &back, &e) == ERR_NONE, "a window of 32 MiB (%s)",
	        e.fact);
	test_ok(unpack(small, &b, 5, 50, &back, &e) == ERR_MEMORY &&
	        strstr(e.fact, "a window of 32.0 MiB, over the limit of 1.0 MiB") &&
	        strstr(e.hint, "--max-memory"), "%s; %s", e.fact, e.hint);
	e = (struct err)ERR_INIT;
	zstd_zeros(&b, 15 << 3 | 1, 1, 5);
	test_ok(unpack(z, &b, 5, 50, &back, &e) == ERR_MEMORY, "an eighth more: %s", e.fact);
	e = (struct err)ERR_INIT;
	zstd_zeros(&b, 0xff, 1, 5);
	test_ok(unpack(z, &b, 5, 50, &back, &e) == ERR_MEMORY, "the widest: %s", e.fact);
	e = (struct err)ERR_INIT;
	zstd_zeros(&b, 7 << 3, 1, 5);
	b.p[4] |= 1;
	test_ok(unpack(z, &b, 5, 50, &back, &e) == ERR_FORMAT, "%s", e.fact);
	e = (struct err)ERR_INIT;
	buf_clear(&b);
	buf_put(&b, "\x50\x2a\x4d\x18\1\0\0\0x\x28\xb5\x2f\xfd\0\x38\1\0\0", 18);
	test_ok(unpack(z, &b, 0, 50, &back, &e) == ERR_CORRUPT &&
	        strstr(e.fact, "are not a zstd frame"), "one to be skipped: %s", e.fact);
	e = (struct err)ERR_INIT;
	test_ok(unpack(l, &b, 0, 50, &back, &e) == ERR_CORRUPT &&
	        strstr(e.fact, "are not a lz4 frame"), "and for lz4: %s", e.fact);

	/* Blocks of 64 KiB, independent: FLG 0x60, BD 0x40, checksum 0x82. */
	e = (struct err)ERR_INIT;
	lz4_plain(&b, "\x60\x40\x82", 3, 60000);
	test_ok(unpack(l, &b, 180000, 50000, &back, &e) == ERR_NONE && back.n == 180000,
	        "lz4 by hand (%s)", e.fact);
	test_ok(unpack(l, &b, 170000, 50000, &back, &e) == ERR_CORRUPT && back.n <= 170000 &&
	        strstr(e.fact, "more than 170000 bytes"), "an lz4 bomb: %s", e.fact);
	e = (struct err)ERR_INIT;
	test_ok(unpack(l, &b, 190000, 50000, &back, &e) == ERR_CORRUPT &&
	        strstr(e.fact, "holds 180000 bytes, not 190000"), "too short: %s", e.fact);
	decoder_free(z);
	decoder_free(l);
	decoder_free(small);
	buf_free(&b);
	buf_free(&back);
}

/* The head of an encoder's frame. */
static void
test_heads(void)
{
	struct buf packed = { 0 };
	struct err e = ERR_INIT;
	uint8_t *p = make(ZEROS, 3 << 20);
	struct codec_frame f;
	int level;
	struct encoder *x = encoder_new(&codec_lz4, 0, &e);

	if (!x)
		die(e.fact);
	pack(x, p, 3 << 20, 1 << 20, &packed);
	test_ok(codec_lz4.look(packed.p, CODEC_HEAD, &f) == 0 && f.sized &&
	        f.bytes == 3 << 20 && f.window == 65536 && !f.dictionary &&
	        packed.p[4] == 0x68 && packed.p[5] == 0x40,
	        "lz4: independent blocks of 64 KiB, the size, no checksums");
	encoder_free(x);
	for (level = 1; level <= 19; level++) {
		x = encoder_new(&codec_zstd, level, &e);
		if (!x)
			die(e.fact);
		pack(x, p, 3 << 20, 1 << 20, &packed);
		f = (struct codec_frame){ 0 };
		test_ok(codec_zstd.look(packed.p, CODEC_HEAD, &f) == 0 && f.sized &&
		        f.bytes == 3 << 20 && f.window <= 2 << 20 && !(packed.p[4] & 4),
		        "zstd:%d: the size, a window of %u KiB, no checksum", level,
		        (unsigned)(f.window >> 10));
		encoder_free(x);
	}
	test_ok(codec_zstd.look((const uint8_t *)"\x28\xb5\x2f\xfd\xe0\1\2\3\4\5\6\7\x08", 13,
	                        &f) == 0 && f.bytes == UINT64_C(0x0807060504030201) &&
	        f.window == f.bytes, "zstd: a size of 8 bytes is the window");
	test_ok(codec_zstd.look((const uint8_t *)"\x28\xb5\x2f\xfd\x60\1\2", 7, &f) == 0 &&
	        f.bytes == 0x201 + 256, "zstd: a size of 2 bytes begins at 256");
	test_ok(codec_zstd.look((const uint8_t *)"\x28\xb5\x2f\xfd\xe0\1\2\3\4\5\6\7", 12,
	                        &f) < 0, "zstd: a head that is cut short");
	free(p);
	buf_free(&packed);
}

int
main(void)
{
	test_round_trips();
	test_independence();
	test_levels();
	test_damage();
	test_bombs();
	test_heads();
	return test_done();
}
