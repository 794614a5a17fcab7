/* ed25519ph: verify a signature by the formula of RFC 8032, without a library's verifier.
 * Exits 0 if it is valid, 1 if not.
 *
 *     ed25519ph KEY.pub SIGNATURE < MESSAGE     128 hexadecimal digits
 */
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <sodium.h>

#include "gen.h"

/* A scalar of SHA-512 over what is hashed: dom2(1, "") and the parts. */
static void
challenge(const uint8_t r[32], const uint8_t a[32], const uint8_t hash[64], uint8_t k[32])
{
	struct gen g = { 0 };
	uint8_t wide[64];

	put(&g, "SigEd25519 no Ed25519 collisions\1\0", 34);
	put(&g, r, 32);
	put(&g, a, 32);
	put(&g, hash, 64);
	SHA512(g.p, g.n, wide);
	crypto_core_ed25519_scalar_reduce(k, wide);
	gen_free(&g);
}

int
main(int argc, char **argv)
{
	static uint8_t message[1 << 20];
	uint8_t key[48], sig[64], hash[64], k[32], left[32], right[32];
	char line[2][256] = { "", "" };
	size_t i, n = fread(message, 1, sizeof message, stdin);
	FILE *f = argc == 3 ? fopen(argv[1], "r") : NULL;
	unsigned byte;

	if (!f || !fgets(line[0], 256, f) || !fgets(line[1], 256, f) || sodium_init() < 0 ||
	    EVP_DecodeBlock(key, (uint8_t *)line[1], 56) != 42 || strlen(argv[2]) != 128)
		gen_die("a public key and a signature are needed", argv[0]);
	fclose(f);
	for (i = 0; i < 64; i++) {
		sscanf(argv[2] + 2 * i, "%2x", &byte);
		sig[i] = (uint8_t)byte;
	}
	SHA512(message, n, hash);
	challenge(sig, key + 10, hash, k);
	/* [S]B = R + [k]A */
	if (crypto_scalarmult_ed25519_base_noclamp(left, sig + 32) != 0 ||
	    crypto_scalarmult_ed25519_noclamp(right, k, key + 10) != 0 ||
	    crypto_core_ed25519_add(right, right, sig) != 0)
		return 1;
	return memcmp(left, right, 32) != 0;
}
