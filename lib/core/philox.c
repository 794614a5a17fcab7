#include "core/philox.h"

#include <string.h>

#define ROUNDS 10
#define MULTIPLY_0 UINT64_C(0xD2511F53)
#define MULTIPLY_1 UINT64_C(0xCD9E8D57)
#define WEYL_0 0x9E3779B9u
#define WEYL_1 0xBB67AE85u

void
philox_block(uint64_t key, const uint32_t counter[4], uint32_t to[4])
{
	uint32_t a = counter[0], b = counter[1], c = counter[2], d = counter[3];
	uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
	unsigned i;

	for (i = 0; i < ROUNDS; i++) {
		uint64_t p = MULTIPLY_0 * a, q = MULTIPLY_1 * c;

		a = (uint32_t)(q >> 32) ^ b ^ k0;
		c = (uint32_t)(p >> 32) ^ d ^ k1;
		b = (uint32_t)q;
		d = (uint32_t)p;
		k0 += WEYL_0;
		k1 += WEYL_1;
	}
	to[0] = a;
	to[1] = b;
	to[2] = c;
	to[3] = d;
}

void
philox_fill(uint64_t key, uint64_t from, uint32_t *to, size_t n)
{
	uint64_t block = from / 4;
	uint32_t word[4];
	size_t i, k;

	for (i = 0; i < n; i += k, block++) {
		const uint32_t counter[4] = { (uint32_t)block, (uint32_t)(block >> 32), 0, 0 };

		k = n - i < 4 ? n - i : 4;
		philox_block(key, counter, word);
		memcpy(to + i, word, k * sizeof *to);
	}
}

static uint64_t
fnv(uint64_t hash, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	size_t i;

	for (i = 0; i < n; i++)
		hash = (hash ^ p[i]) * UINT64_C(0x100000001B3);
	return hash;
}

static uint64_t
fnv_number(uint64_t hash, uint64_t v)
{
	uint8_t bytes[8];
	unsigned i;

	for (i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(v >> 8 * i);
	return fnv(hash, bytes, sizeof bytes);
}

uint64_t
philox_key(uint64_t seed, const char *name, uint64_t number)
{
	uint64_t h = fnv_number(fnv_number(UINT64_C(0xCBF29CE484222325), seed), number);

	h = fnv(h, name, strlen(name));
	h = (h ^ h >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	h = (h ^ h >> 27) * UINT64_C(0x94D049BB133111EB);
	return h ^ h >> 31;
}
