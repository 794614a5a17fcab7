/* The sealed payloads of APR version 1, byte by byte: what the layouts of man apr1(5) are
 * with given keys and given chance, put together here with the libraries alone; and that
 * nothing else opens.
 */
#include <openssl/evp.h>
#include <sodium.h>
#include <stdint.h>
#include <string.h>

#include "crypto/apr1_seal.h"
#include "test.h"

static const uint8_t text[] = "nothing that is secret, and it is long enough";
#define TEXT (sizeof text - 1)
#define PASSWORD ((const uint8_t *)"correct horse")
#define PASSWORD_BYTES 13
#define ROOM 1024

/* ---- another hand ---- */

/* Chance that is known: 1, 2, 3 and so on since the last reset. */
static uint8_t next_byte;

static int
chance(void *p, size_t n, struct err *e)
{
	uint8_t *to = p;

	(void)e;
	while (n-- > 0)
		*to++ = ++next_byte;
	return 0;
}

static void
same_chance(uint8_t *p, size_t n)
{
	chance(p, n, NULL);
}

static void
hkdf(const uint8_t *salt, size_t salt_n, const uint8_t *key, const char *info, uint8_t *out,
     size_t blocks)
{
	uint8_t prk[32], block[32 + 64 + 1], zeros[32] = { 0 };
	crypto_auth_hmacsha256_state h;
	size_t i, n = 0;

	crypto_auth_hmacsha256_init(&h, salt ? salt : zeros, salt ? salt_n : sizeof zeros);
	crypto_auth_hmacsha256_update(&h, key, 32);
	crypto_auth_hmacsha256_final(&h, prk);
	for (i = 1; i <= blocks; i++) {
		memcpy(block + n, info, strlen(info));
		block[n + strlen(info)] = (uint8_t)i;
		crypto_auth_hmacsha256_init(&h, prk, sizeof prk);
		crypto_auth_hmacsha256_update(&h, block, n + strlen(info) + 1);
		crypto_auth_hmacsha256_final(&h, out + 32 * (i - 1));
		memcpy(block, out + 32 * (i - 1), 32);
		n = 32;
	}
}

/* Ciphertext and tag at out. */
static void
gcm(const uint8_t *key, const uint8_t *nonce, const uint8_t *aad, size_t aad_n,
    const uint8_t *p, size_t n, uint8_t *out)
{
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	int got;

	EVP_EncryptInit_ex(c, EVP_aes_256_gcm(), NULL, key, nonce);
	if (aad_n)
		EVP_EncryptUpdate(c, NULL, &got, aad, (int)aad_n);
	EVP_EncryptUpdate(c, out, &got, p, (int)n);
	EVP_EncryptFinal_ex(c, out + n, &got);
	EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, 16, out + n);
	EVP_CIPHER_CTX_free(c);
}

struct pair {
	uint8_t secret[32], public[32];
};

static struct pair
pair(uint8_t fill)
{
	struct pair p;

	memset(p.secret, fill, sizeof p.secret);
	crypto_scalarmult_base(p.public, p.secret);
	return p;
}

static size_t
want_password(uint8_t *out)
{
	uint8_t key[32];

	same_chance(out, 16);
	if (crypto_pwhash(key, sizeof key, (const char *)PASSWORD, PASSWORD_BYTES, out, 2,
	                  19456u << 10, crypto_pwhash_ALG_ARGON2ID13) != 0)
		abort();
	same_chance(out + 16, 12);
	gcm(key, out + 16, NULL, 0, text, TEXT, out + 28);
	return 28 + TEXT + 16;
}

static size_t
want_recipient(uint8_t *out, const struct pair *to)
{
	uint8_t own[32], agreed[32], key[32];

	same_chance(own, sizeof own);
	crypto_scalarmult_base(out, own);
	if (crypto_scalarmult(agreed, own, to->public) != 0)
		abort();
	memcpy(out + 32, to->public, 8);
	hkdf(NULL, 0, agreed, "apr-v1-encrypt", key, 1);
	same_chance(out + 40, 12);
	gcm(key, out + 40, NULL, 0, text, TEXT, out + 52);
	return 52 + TEXT + 16;
}

static size_t
want_recipients(uint8_t *out, const struct pair *to, size_t n)
{
	uint8_t own[32], data[32], agreed[32], salt[64], wrap[32], both[64], zeros[12] = { 0 };
	uint8_t *p = out + 34;
	size_t i;

	same_chance(own, sizeof own);
	crypto_scalarmult_base(out, own);
	same_chance(data, sizeof data);
	hkdf(NULL, 0, data, "apr-v1-encrypt payload", both, 2);
	out[32] = (uint8_t)n;
	out[33] = 0;
	for (i = 0; i < n; i++, p += 56) {
		if (crypto_scalarmult(agreed, own, to[i].public) != 0)
			abort();
		memcpy(salt, out, 32);
		memcpy(salt + 32, to[i].public, 32);
		hkdf(salt, sizeof salt, agreed, "apr-v1-encrypt wrap", wrap, 1);
		memcpy(p, to[i].public, 8);
		gcm(wrap, zeros, NULL, 0, data, sizeof data, p + 8);
	}
	memcpy(p, both + 32, 32);
	p += 32;
	same_chance(p, 12);
	gcm(both, p, out, (size_t)(p - out), text, TEXT, p + 12);
	return (size_t)(p - out) + 12 + TEXT + 16;
}

/* ---- ours ---- */

/* Does it open to the text? */
static int
opens(const struct apr1_opening *o, unsigned mode, const uint8_t *p, size_t n,
      enum err_code *code)
{
	struct err e = ERR_INIT;
	struct spool to = { 0 };
	const uint8_t *q;
	int r = apr1_unseal(o, mode, p, n, &to, "file", &e) == 0 &&
	        spool_view(&to, &q, &e) == 0 && to.bytes == TEXT && memcmp(q, text, TEXT) == 0;

	*code = e.code;
	spool_free(&to);
	return r;
}

/* Every byte, every length: nothing opens. */
static void
nothing_else(const char *what, const struct apr1_opening *o, unsigned mode, const uint8_t *p,
             size_t n, size_t step)
{
	uint8_t copy[ROOM];
	enum err_code code;
	size_t i, bad = 0;

	for (i = 0; i < n; i += step) {
		memcpy(copy, p, n);
		copy[i] ^= (uint8_t)(1 << i % 8);
		bad += opens(o, mode, copy, n, &code) ||
		       (code != ERR_DECRYPT && code != ERR_CORRUPT);
		bad += opens(o, mode, p, i, &code) ||
		       (code != ERR_DECRYPT && code != ERR_CORRUPT);
	}
	test_ok(bad == 0, "%s: no changed byte, and no shorter payload, opens", what);
}

static void
compare(const char *what, const struct apr1_sealing *s, const uint8_t *want, size_t want_n,
        unsigned mode)
{
	struct err e = ERR_INIT;
	struct spool to = { 0 };
	const uint8_t *p;

	next_byte = 0;
	test_ok(apr1_seal(s, text, TEXT, &to, &e) == 0 && spool_view(&to, &p, &e) == 0 &&
	        to.bytes == want_n && memcmp(p, want, want_n) == 0,
	        "%s: the bytes are those of the layout", what);
	test_ok(apr1_sealing_extra(s) == want_n - TEXT &&
	        (unsigned)apr1_sealing_mode(s) == mode, "%s: its mode and length are foreseen",
	        what);
	spool_free(&to);
}

static void
test_password(void)
{
	struct apr1_sealing s = { .password = PASSWORD, .password_bytes = PASSWORD_BYTES,
		.chance = chance };
	struct apr1_opening right = { .password = PASSWORD, .password_bytes = PASSWORD_BYTES };
	struct apr1_opening wrong = { .password = PASSWORD, .password_bytes = 12 };
	uint8_t want[ROOM];
	enum err_code code;
	size_t n;

	next_byte = 0;
	n = want_password(want);
	compare("password", &s, want, n, APR1_PASSWORD);
	test_ok(opens(&right, 0, want, n, &code), "password: opens");
	test_ok(!opens(&wrong, 0, want, n, &code) && code == ERR_DECRYPT,
	        "password: another one does not");
	nothing_else("password", &right, 0, want, n, 9);
}

static void
test_recipient(void)
{
	struct pair to = pair(7), other = pair(9);
	struct apr1_sealing s = { .keys = to.public, .key_count = 1, .chance = chance };
	struct apr1_opening right = { .secrets = to.secret, .secret_count = 1 };
	struct apr1_opening wrong = { .secrets = other.secret, .secret_count = 1 };
	struct apr1_opening word = { .password = PASSWORD, .password_bytes = PASSWORD_BYTES };
	uint8_t want[ROOM], digest[32];
	enum err_code code;
	size_t n;

	next_byte = 0;
	n = want_recipient(want, &to);
	compare("recipient", &s, want, n, APR1_RECIPIENT);
	test_ok(opens(&right, 1, want, n, &code), "recipient: opens");
	test_ok(opens(&right, 0, want, n, &code), "recipient: opens as mode 0, as others write it");
	test_ok(!opens(&wrong, 1, want, n, &code) && code == ERR_DECRYPT,
	        "recipient: another identity does not");
	test_ok(!opens(&word, 1, want, n, &code) && code == ERR_DECRYPT,
	        "recipient: a password does not");
	nothing_else("recipient", &right, 1, want, n, 1);
	crypto_hash_sha256(digest, to.public, 32);
	memcpy(want + 32, digest, 8);
	test_ok(opens(&right, 1, want, n, &code), "recipient: an id that is a digest is read");
	memset(want, 0, 32);
	test_ok(!opens(&right, 1, want, n, &code) && code == ERR_DECRYPT,
	        "recipient: a key that agrees with everybody is refused");
}

static void
test_recipients(void)
{
	struct pair to[3] = { pair(7), pair(9), pair(11) }, other = pair(13);
	uint8_t keys[96], want[ROOM], copy[ROOM], two[64];
	struct apr1_sealing s = { .keys = keys, .key_count = 3, .chance = chance };
	struct apr1_opening o = { .secret_count = 1 };
	enum err_code code;
	size_t i, n;

	for (i = 0; i < 3; i++)
		memcpy(keys + 32 * i, to[i].public, 32);
	next_byte = 0;
	n = want_recipients(want, to, 3);
	compare("recipients", &s, want, n, APR1_RECIPIENTS);
	for (i = 0; i < 3; i++) {
		o.secrets = to[i].secret;
		test_ok(opens(&o, 2, want, n, &code), "recipients: each opens it: %zu", i);
	}
	o.secrets = other.secret;
	test_ok(!opens(&o, 2, want, n, &code) && code == ERR_DECRYPT,
	        "recipients: another identity does not");
	memcpy(two, other.secret, 32);
	memcpy(two + 32, to[1].secret, 32);
	test_ok(opens(&(struct apr1_opening){ .secrets = two, .secret_count = 2 }, 2, want, n,
	              &code), "recipients: the second of two identities does");
	o.secrets = to[1].secret;
	nothing_else("recipients", &o, 2, want, n, 1);
	/* stanzas exchanged: each opens by itself, but they are bound in their order */
	memcpy(copy, want, n);
	memcpy(copy + 34, want + 34 + 56, 56);
	memcpy(copy + 34 + 56, want + 34, 56);
	test_ok(!opens(&o, 2, copy, n, &code) && code == ERR_DECRYPT,
	        "recipients: their order is bound");
}

int
main(void)
{
	if (sodium_init() < 0)
		return 1;
	test_password();
	test_recipient();
	test_recipients();
	return test_done();
}
