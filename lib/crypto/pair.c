#include "crypto/pair.h"

#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

static bool
has_shani(void)
{
#ifdef __x86_64__
	unsigned a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_1) && (c & bit_SSSE3) &&
	       __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
#else
	return false;
#endif
}

/* Two messages of which every block differs, both ways. */
static bool
agrees(void)
{
	uint8_t m[2][5 * PAIR_BLOCK];
	struct digest want[2], got[2];
	struct sha256_pair h;
	size_t i;

	for (i = 0; i < sizeof m[0]; i++) {
		m[0][i] = (uint8_t)(i * 5 + i / 7);
		m[1][i] = (uint8_t)(i * 11 + i / 5 + 1);
	}
	sha256_pair_start(&h);
	sha256_pair_add(&h, m[0], m[1], sizeof m[0]);
	sha256_pair_finish(&h, &got[0], &got[1]);
	for (i = 0; i < 2; i++)
		if (sha256_of(m[i], sizeof m[i], &want[i]) < 0 || !digest_equal(&want[i], &got[i]))
			return false;
	return true;
}

bool
sha256_pair_pays(void)
{
	static enum { UNKNOWN, NO, YES } pays;
	const char *level;

	if (pays == UNKNOWN) {
		level = getenv("APR_CPU");
		pays = (!level || strcmp(level, "ref") != 0) && has_shani() && agrees() ? YES : NO;
	}
	return pays == YES;
}

void
sha256_pair_start(struct sha256_pair *h)
{
	/* FIPS 180-4, section 5.3.3. */
	static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	memcpy(h->h[0], first, sizeof first);
	memcpy(h->h[1], first, sizeof first);
	h->bytes = 0;
}

void
sha256_pair_add(struct sha256_pair *h, const void *a, const void *b, size_t n)
{
	pair_blocks_shani(h->h, a, b, n / PAIR_BLOCK);
	h->bytes += n;
}

static void
words_put(struct digest *d, const uint32_t h[8])
{
	size_t i;

	for (i = 0; i < DIGEST_BYTES; i++)
		d->b[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}

void
sha256_pair_finish(struct sha256_pair *h, struct digest *a, struct digest *b)
{
	uint8_t end[PAIR_BLOCK] = { 0x80 };
	size_t i;

	for (i = 0; i < 8; i++)
		end[PAIR_BLOCK - 8 + i] = (uint8_t)(h->bytes * 8 >> (56 - 8 * i));
	pair_blocks_shani(h->h, end, end, 1);
	words_put(a, h->h[0]);
	words_put(b, h->h[1]);
}
