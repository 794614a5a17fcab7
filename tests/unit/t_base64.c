#include "test.h"

#include <string.h>

#include "core/base64.h"

/* RFC 4648, section 10. */
static const struct {
	const char *bytes, *text;
} vectors[] = {
	{ "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" }, { "foobar", "Zm9vYmFy" },
};

static const char *const bad[] = { "A", "AA", "AAA", "A===", "====", "=AAA", "AA=A",
	"AAA==", "AA===", "AA==AAAA", "AA=", "AB==", "AAB=", "AA A", "AA-_", "AAA\n",
	"AA\xc3\xa9" };

/* Decodes in pieces of this many characters. */
static int
decode(const char *text, size_t piece, struct buf *b)
{
	struct base64_reader r = { 0 };
	size_t n = strlen(text), part;

	buf_clear(b);
	for (; n > 0; text += part, n -= part) {
		part = n < piece ? n : piece;
		if (base64_add(&r, text, part, b) < 0)
			return -1;
	}
	return base64_end(&r);
}

int
main(void)
{
	struct buf b = { 0 }, back = { 0 };
	uint8_t all[768];
	uint64_t length;
	size_t i, n, piece;
	int good = 1;

	for (i = 0; i < sizeof vectors / sizeof *vectors; i++) {
		n = strlen(vectors[i].bytes);
		buf_clear(&b);
		base64_put(&b, vectors[i].bytes, n);
		test_ok(b.n == strlen(vectors[i].text) &&
		        memcmp(vectors[i].text, b.n ? (char *)b.p : "", b.n) == 0 &&
		        base64_length(n, &length) == 0 && length == b.n,
		        "RFC 4648: \"%s\"", vectors[i].bytes);
		test_ok(decode(vectors[i].text, 1, &back) == 0 && back.n == n &&
		        memcmp(vectors[i].bytes, n ? (char *)back.p : "", n) == 0,
		        "RFC 4648: \"%s\"", vectors[i].text);
	}
	for (i = 0; i < sizeof bad / sizeof *bad; i++)
		test_ok(decode(bad[i], 1, &back) < 0 && decode(bad[i], 99, &back) < 0,
		        "no base64: \"%s\"", i == 15 ? "a line end" : bad[i]);

	for (i = 0; i < sizeof all; i++)
		all[i] = (uint8_t)(i * 167 + (i >> 8));
	for (n = 0; n <= sizeof all; n++) {
		buf_clear(&b);
		base64_put(&b, all, n);
		good &= base64_length(n, &length) == 0 && length == b.n && buf_string(&b);
		for (piece = 1; piece < 9; piece++)
			good &= decode((char *)b.p, piece, &back) == 0 && back.n == n &&
			        (n == 0 || memcmp(back.p, all, n) == 0);
	}
	test_ok(good, "0 to %zu bytes there and back, in pieces of 1 to 8", sizeof all);
	test_ok(base64_length(UINT64_MAX, &length) < 0, "a length that overflows");
	buf_free(&b);
	buf_free(&back);
	return test_done();
}
