/* t_snappy: parts of each kind, and damaged ones; CRC-32C of known texts. */
#include "test.h"

#include <string.h>

#include "core/crc32c.h"
#include "wire/snappy.h"

#define SIXTY "0123456789012345678901234567890123456789012345678901234567890123456789"

/* A compressed text and its result; NULL: it is refused. */
static const struct {
	const char *about, *p;
	size_t n;
	const char *result;
} cases[] = {
#define ROW(ABOUT, P, RESULT) { ABOUT, P, sizeof P - 1, RESULT }
	ROW("nothing", "\0", ""),
	ROW("a literal", "\5\x10hello", "hello"),
	ROW("a literal whose length follows in 1 byte", "\x46\xf0\x45" SIXTY, SIXTY),
	ROW("in 2 bytes", "\x46\xf4\x45\0" SIXTY, SIXTY),
	ROW("in 3 bytes", "\x46\xf8\x45\0\0" SIXTY, SIXTY),
	ROW("in 4 bytes", "\x46\xfc\x45\0\0\0" SIXTY, SIXTY),
	ROW("a copy with a distance of 11 bits", "\x08\x0c" "abcd\1\4", "abcdabcd"),
	ROW("a copy with a distance of 16 bits", "\7\x0c" "abcd\x0a\4\0", "abcdabc"),
	ROW("a copy with a distance of 32 bits", "\7\x0c" "abcd\x0b\3\0\0\0", "abcdbcd"),
	ROW("a copy of itself", "\x0a\0a\x15\1", "aaaaaaaaaa"),
	ROW("a distance of zero", "\5\0a\1\0", NULL),
	ROW("a distance before the beginning", "\5\0a\1\2", NULL),
	ROW("a literal beyond the input", "\5\x10hell", NULL),
	ROW("a literal beyond the result", "\4\x10hello", NULL),
	ROW("a copy beyond the result", "\4\0a\1\1", NULL),
	ROW("a result that is too short", "\6\x10hello", NULL),
	ROW("a distance cut short", "\5\0a\1", NULL),
	ROW("a length cut short", "\x46\xf4\x45", NULL),
	ROW("no size", "\x80", NULL),
	ROW("a size of more than 32 bits", "\xff\xff\xff\xff\x7f\0a", NULL),
	ROW("a size that cannot be", "\xff\xff\xff\x0f\0a", NULL),
#undef ROW
};

static void
parts_are_decoded(void)
{
	uint8_t to[128];
	uint64_t bytes;
	size_t i;
	int r;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		const uint8_t *p = (const uint8_t *)cases[i].p;

		r = snappy_bytes(p, cases[i].n, &bytes);
		if (r == 0 && bytes <= sizeof to)
			r = snappy_decode(p, cases[i].n, to, bytes);
		if (cases[i].result)
			test_ok(r == 0 && bytes == strlen(cases[i].result) &&
			        memcmp(to, cases[i].result, (size_t)bytes) == 0, "%s", cases[i].about);
		else
			test_ok(r < 0, "%s", cases[i].about);
	}
}

/* RFC 3720, B.4, and the check value of the polynomial. */
static void
checksums_are_known(void)
{
	uint8_t bytes[32] = { 0 };
	uint32_t crc;
	size_t i;

	test_ok(crc32c_add(0, "123456789", 9) == 0xe3069283, "nine digits");
	test_ok(crc32c_add(0, bytes, 32) == 0x8a9136aa, "32 zeros");
	memset(bytes, 0xff, 32);
	test_ok(crc32c_add(0, bytes, 32) == 0x62a8ab43, "32 ones");
	for (i = 0; i < 32; i++)
		bytes[i] = (uint8_t)i;
	crc = crc32c_add(0, bytes, 32);
	test_ok(crc == 0x46dd794e, "rising bytes");
	for (i = 0; i <= 32; i++)
		if (crc32c_add(crc32c_add(0, bytes, i), bytes + i, 32 - i) != crc)
			break;
	test_ok(i == 33, "in two pieces");
	test_ok(crc32c_mask(0) == 0xa282ead8, "masked");
}

int
main(void)
{
	parts_are_decoded();
	checksums_are_known();
	return test_done();
}
