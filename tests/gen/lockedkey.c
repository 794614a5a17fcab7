/* lockedkey: a pair of signing keys in minisign's format, the secret one under a
 * passphrase that costs little to try, where apr-keygen and minisign take a
 * gibibyte and seconds. The same bytes for the same passphrase.
 *
 *     lockedkey PASSPHRASE NAME        writes NAME and NAME.pub
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#define COST 32768, ((size_t)1 << 24) /* scrypt's limits */

static int
write_text(const char *path, const char *comment, const uint8_t *p, size_t n)
{
	char text[512];
	FILE *f = fopen(path, "w");

	if (!f)
		return -1;
	sodium_bin2base64(text, sizeof text, p, n, sodium_base64_VARIANT_ORIGINAL);
	fprintf(f, "untrusted comment: %s\n%s\n", comment, text);
	return fclose(f);
}

static uint8_t *
put(uint8_t *to, const void *p, size_t n)
{
	memcpy(to, p, n);
	return to + n;
}

static uint8_t *
put_u64(uint8_t *to, uint64_t v)
{
	unsigned i;

	for (i = 0; i < 8; i++)
		*to++ = (uint8_t)(v >> 8 * i);
	return to;
}

int
main(int argc, char **argv)
{
	static const uint8_t id[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	uint8_t seed[32], salt[32], public[32], both[64], checked[74], sum[32], mask[104];
	uint8_t secret[158], plain[42], *at;
	char path[4096];
	size_t i;

	if (argc != 3 || sodium_init() < 0)
		return 2;
	memset(seed, 0x5e, sizeof seed);
	memset(salt, 0x5a, sizeof salt);
	crypto_sign_seed_keypair(public, both, seed);

	at = put(checked, "Ed", 2);
	at = put(at, id, sizeof id);
	put(at, both, sizeof both);
	crypto_generichash(sum, sizeof sum, checked, sizeof checked, NULL, 0);
	if (crypto_pwhash_scryptsalsa208sha256(mask, sizeof mask, argv[1], strlen(argv[1]),
	                                       salt, COST) != 0)
		return 1;

	at = put(secret, "EdScB2", 6);
	at = put(at, salt, sizeof salt);
	at = put_u64(at, 32768);
	at = put_u64(at, 1 << 24);
	at = put(at, id, sizeof id);
	at = put(at, both, sizeof both);
	at = put(at, sum, sizeof sum);
	for (i = 0; i < sizeof mask; i++)
		secret[54 + i] ^= mask[i];

	at = put(plain, "Ed", 2);
	at = put(at, id, sizeof id);
	put(at, public, sizeof public);
	snprintf(path, sizeof path, "%s.pub", argv[2]);
	return write_text(argv[2], "locked at little cost", secret, sizeof secret) < 0 ||
	       write_text(path, "public", plain, sizeof plain) < 0;
}
