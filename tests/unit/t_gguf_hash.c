/* gguf_hash: SHA-1 by its standard, UUIDs by theirs, the same in whatever pieces. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "crypto/gguf_hash.h"
#include "test.h"

static void
test_sha1(void)
{
	/* FIPS 180-2, appendix A, and the digest of nothing. */
	static const struct {
		const char *text;
		size_t times;
		uint8_t digest[SHA1_BYTES];
	} known[] = {
		{ "", 1, { 0xda, 0x39, 0xa3, 0xee, 0x5e, 0x6b, 0x4b, 0x0d, 0x32, 0x55, 0xbf, 0xef,
		           0x95, 0x60, 0x18, 0x90, 0xaf, 0xd8, 0x07, 0x09 } },
		{ "abc", 1, { 0xa9, 0x99, 0x3e, 0x36, 0x47, 0x06, 0x81, 0x6a, 0xba, 0x3e, 0x25,
		              0x71, 0x78, 0x50, 0xc2, 0x6c, 0x9c, 0xd0, 0xd8, 0x9d } },
		{ "a", 1000000, { 0x34, 0xaa, 0x97, 0x3c, 0xd4, 0xc4, 0xda, 0xa4, 0xf6, 0x1e, 0xeb,
		                  0x2b, 0xdb, 0xad, 0x27, 0x31, 0x65, 0x34, 0x01, 0x6f } },
	};
	struct err e = ERR_INIT;
	uint8_t got[SHA1_BYTES];
	struct sha1 h;
	size_t i, k;

	for (i = 0; i < sizeof known / sizeof *known; i++) {
		sha1_start(&h);
		for (k = 0; k < known[i].times; k++)
			sha1_add(&h, known[i].text, strlen(known[i].text));
		test_ok(sha1_finish(&h, got, &e) == 0 &&
		        memcmp(got, known[i].digest, sizeof got) == 0,
		        "SHA-1 of %zu times \"%s\"", known[i].times, known[i].text);
	}
	sha1_abandon(&h);
	test_ok(sha1_finish(&h, got, &e) < 0 && e.code == ERR_MEMORY,
	        "a hash that was not begun is not finished");
}

static void
hash(const uint8_t *p, size_t n, size_t piece, unsigned jobs, struct digest *tensor,
     struct digest *model, char uuid[GGUF_HASH_UUID])
{
	struct err e = ERR_INIT;
	struct gguf_hash h;
	size_t i;

	gguf_hash_start(&h, jobs);
	for (i = 0; i < 2; i++, p += n) {
		size_t left = n;

		gguf_hash_tensor(&h);
		for (; left > piece; left -= piece)
			gguf_hash_add(&h, p + (n - left), piece);
		gguf_hash_add(&h, p + (n - left), left);
		if (gguf_hash_tensor_end(&h, &tensor[i], &e) < 0)
			abort();
	}
	if (gguf_hash_finish(&h, model, uuid, &e) < 0)
		abort();
	gguf_hash_abandon(&h);
}

static void
test_pieces(void)
{
	enum { N = 300000 };
	static uint8_t p[2 * N];
	struct digest tensor[2], model, other_tensor[2], other_model, want;
	char uuid[GGUF_HASH_UUID], other_uuid[GGUF_HASH_UUID];
	unsigned jobs, wrong = 0;
	size_t i;

	for (i = 0; i < sizeof p; i++)
		p[i] = (uint8_t)(i * i >> 7);
	hash(p, N, N, 1, tensor, &model, uuid);
	sha256_of(p, N, &want);
	test_ok(digest_equal(&want, &tensor[0]), "a tensor's digest is that of its bytes");
	sha256_of(p, sizeof p, &want);
	test_ok(digest_equal(&want, &model), "the model's is that of all of them");
	test_ok(strlen(uuid) == 36 && uuid[14] == '5' && strchr("89ab", uuid[19]),
	        "a UUID of version 5: %s", uuid);
	for (jobs = 1; jobs <= 5; jobs++)
		for (i = 1000; i <= N; i *= 7) {
			hash(p, N, i, jobs, other_tensor, &other_model, other_uuid);
			wrong += memcmp(tensor, other_tensor, sizeof tensor) != 0 ||
			         !digest_equal(&model, &other_model) ||
			         strcmp(uuid, other_uuid) != 0;
		}
	test_ok(wrong == 0, "threads and pieces change nothing");
}

int
main(void)
{
	test_sha1();
	test_pieces();
	return test_done();
}
