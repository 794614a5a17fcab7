/* What stands for OpenSSL in the WebAssembly module (lib/crypto/portable): published vectors, and the same
 * bytes as libcrypto and libsodium for random input in pieces of any size. Both are linked here: the
 * functions of the module under names of their own. */
#include <sodium.h>
#include <stdbool.h>
#include <string.h>

#include "crypto/aead.h"
#include "crypto/digest.h"
#include "crypto/kdf.h"
#include "crypto/secret.h"
#include "test.h"

#define PORTABLE(f) __typeof__(f) portable_##f
PORTABLE(aead_key);
PORTABLE(aead_begin);
PORTABLE(aead_add);
PORTABLE(aead_tag);
PORTABLE(aead_check);
PORTABLE(aead_free);
PORTABLE(aead_seal);
PORTABLE(aead_open);
PORTABLE(hkdf_sha256);
PORTABLE(sha256_start);
PORTABLE(sha256_add);
PORTABLE(sha256_finish);
PORTABLE(sha256_abandon);
PORTABLE(sha256_of);
PORTABLE(sha1_start);
PORTABLE(sha1_add);
PORTABLE(sha1_finish);
PORTABLE(sha1_abandon);
extern struct randombytes_implementation portable_random;

#define aead_key portable_aead_key
#define aead_begin portable_aead_begin
#define aead_add portable_aead_add
#define aead_tag portable_aead_tag
#define aead_check portable_aead_check
#define aead_free portable_aead_free
#define aead_seal portable_aead_seal
#define aead_open portable_aead_open
#define hkdf_sha256 portable_hkdf_sha256
#define sha256_start portable_sha256_start
#define sha256_add portable_sha256_add
#define sha256_finish portable_sha256_finish
#define sha256_abandon portable_sha256_abandon
#define sha256_of portable_sha256_of
#define sha1_start portable_sha1_start
#define sha1_add portable_sha1_add
#define sha1_finish portable_sha1_finish
#define sha1_abandon portable_sha1_abandon
#define randombytes_sysrandom_implementation portable_random

#include "crypto/portable/aead.c"
static const uint64_t longest = MOST;
#undef MOST
#include "crypto/aead_whole.c"
#include "crypto/portable/digest.c"
#include "crypto/portable/hkdf.c"
#include "crypto/portable/random.c"

#undef aead_key
#undef aead_begin
#undef aead_add
#undef aead_tag
#undef aead_check
#undef aead_free
#undef aead_seal
#undef aead_open
#undef hkdf_sha256
#undef sha256_start
#undef sha256_add
#undef sha256_finish
#undef sha256_abandon
#undef sha256_of
#undef sha1_start
#undef sha1_add
#undef sha1_finish
#undef sha1_abandon

/* ---- two of each ---- */

static const struct cipher {
	const char *name;
	__typeof__(aead_key) *key;
	__typeof__(aead_begin) *begin;
	__typeof__(aead_add) *add;
	__typeof__(aead_tag) *tag;
	__typeof__(aead_check) *check;
	__typeof__(aead_free) *free;
	__typeof__(aead_seal) *seal;
	__typeof__(aead_open) *open;
} ciphers[] = {
	{ "portable", portable_aead_key, portable_aead_begin, portable_aead_add, portable_aead_tag,
	  portable_aead_check, portable_aead_free, portable_aead_seal, portable_aead_open },
	{ "libcrypto", aead_key, aead_begin, aead_add, aead_tag, aead_check, aead_free, aead_seal,
	  aead_open },
};

/* Any numbers, the same in each run. */
static uint32_t
any(uint32_t below)
{
	static uint64_t state = 0x9e3779b97f4a7c15u;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

static void
any_bytes(uint8_t *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = (uint8_t)any(256);
}

/* The bytes of hexadecimal digits; their number. */
static size_t
bytes_of(const char *hex, uint8_t *out)
{
	size_t n = 0;

	sodium_hex2bin(out, 512, hex, strlen(hex), NULL, &n, NULL);
	return n;
}

static bool
is(const uint8_t *p, size_t n, const char *hex)
{
	uint8_t want[512];

	return bytes_of(hex, want) == n && memcmp(p, want, n) == 0;
}

/* ---- AES-256-GCM ---- */

/* Test cases 13 to 16 of the paper that NIST made SP 800-38D of. */
#define KEY_0 "0000000000000000000000000000000000000000000000000000000000000000"
#define KEY_F "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"
#define TEXT_60 "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72" \
	"1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
#define SEALED_60 "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa" \
	"8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
static const struct {
	const char *key, *nonce, *aad, *text, *sealed, *tag;
} gcm[] = {
	{ KEY_0, "000000000000000000000000", "", "", "", "530f8afbc74536b9a963b4f1c4cb738b" },
	{ KEY_0, "000000000000000000000000", "", "00000000000000000000000000000000",
	  "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919" },
	{ KEY_F, "cafebabefacedbaddecaf888", "", TEXT_60 "1aafd255", SEALED_60 "898015ad",
	  "b094dac5d93471bdec1a502270e3cc6c" },
	{ KEY_F, "cafebabefacedbaddecaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2", TEXT_60,
	  SEALED_60, "76fc6ece0f4e1768cddf8853bb2d551b" },
};

static void
gcm_vectors(const struct cipher *c)
{
	uint8_t key[512], nonce[512], aad[512], text[512], out[512], tag[AEAD_TAG];
	struct err e = ERR_INIT;
	struct aead a = { 0 };
	size_t i, n, more;

	for (i = 0; i < sizeof gcm / sizeof *gcm; i++) {
		bytes_of(gcm[i].key, key);
		bytes_of(gcm[i].nonce, nonce);
		more = bytes_of(gcm[i].aad, aad);
		n = bytes_of(gcm[i].text, text);
		test_ok(c->key(&a, key, &e) == 0 &&
		        c->seal(&a, nonce, aad, more, text, n, out, tag, &e) == 0 &&
		        is(out, n, gcm[i].sealed) && is(tag, AEAD_TAG, gcm[i].tag),
		        "%s: test case %zu of GCM", c->name, 13 + i);
		test_ok(c->open(&a, nonce, aad, more, out, n, out, tag, "m", &e) == 0 &&
		        is(out, n, gcm[i].text), "%s: test case %zu opens in place", c->name, 13 + i);
	}
	c->free(&a);
	c->free(&a);
}

struct message {
	uint8_t key[AEAD_KEY], nonce[AEAD_NONCE], aad[300];
	uint8_t in[40000], out[40000], tag[AEAD_TAG];
	size_t n, aad_bytes;
};

static void
any_message(struct message *m, size_t round)
{
	static const uint32_t most[] = { 2, 17, 66, 1025, 40000 };

	any_bytes(m->key, sizeof m->key);
	any_bytes(m->nonce, sizeof m->nonce);
	m->n = any(most[round % 5]);
	m->aad_bytes = any(most[round % 3] * 4);
	any_bytes(m->aad, m->aad_bytes);
	any_bytes(m->in, m->n);
}

/* The message in pieces, some of them empty, in place or into other memory. */
static bool
in_pieces(const struct cipher *c, enum aead_way way, const struct message *m, const uint8_t *in, bool in_place,
          uint8_t *out, uint8_t tag[AEAD_TAG])
{
	uint32_t most = 1 + any(any(2) ? 40 : 9000);
	struct err e = ERR_INIT;
	struct aead a = { 0 };
	size_t at, part;
	bool good;

	if (in_place)
		memcpy(out, in, m->n);
	good = c->key(&a, m->key, &e) == 0 && c->begin(&a, way, m->nonce, m->aad, m->aad_bytes, &e) == 0;
	for (at = 0; good && at < m->n; at += part) {
		part = any(most + 1);
		part = part < m->n - at ? part : m->n - at;
		good = c->add(&a, in_place ? out + at : in + at, part, out + at, &e) == 0;
	}
	good = good && (way == AEAD_SEAL ? c->tag(&a, tag, &e) : c->check(&a, tag, "m", &e)) == 0;
	c->free(&a);
	return good;
}

/* Each seals what the other opens, with the same bytes. */
static void
gcm_agree(void)
{
	static struct message m;
	static uint8_t out[2][sizeof m.in], back[sizeof m.in];
	uint8_t tag[2][AEAD_TAG];
	size_t round, i, wrong = 0;

	for (round = 0; round < 400; round++) {
		any_message(&m, round);
		for (i = 0; i < 2; i++)
			wrong += !in_pieces(&ciphers[i], AEAD_SEAL, &m, m.in, any(2), out[i], tag[i]);
		wrong += memcmp(out[0], out[1], m.n) != 0 || memcmp(tag[0], tag[1], AEAD_TAG) != 0;
		for (i = 0; i < 2; i++)
			wrong += !in_pieces(&ciphers[i], AEAD_OPEN, &m, out[1 - i], any(2), back, tag[1 - i]) ||
			         memcmp(back, m.in, m.n) != 0;
	}
	test_ok(wrong == 0, "400 messages of any sizes, in pieces, both ways: %zu faults", wrong);
}

/* A message that differs in one place is not opened, and nothing of it is released. */
static bool
refused(const struct cipher *c, const struct message *m)
{
	static uint8_t out[sizeof m->out];
	struct err e = ERR_INIT;
	struct aead a = { 0 };
	bool good;

	memset(out, 1, sizeof out);
	good = c->key(&a, m->key, &e) == 0 &&
	       c->open(&a, m->nonce, m->aad, m->aad_bytes, m->out, m->n, out, m->tag, "m", &e) < 0 &&
	       e.code == ERR_DECRYPT && (m->n == 0 || sodium_is_zero(out, m->n)) && out[m->n] == 1;
	c->free(&a);
	return good;
}

static void
gcm_wrong(const struct cipher *c)
{
	static struct message m;
	struct err e = ERR_INIT;
	struct aead a = { 0 };
	size_t i, round, opened = 0, tried = 0;

	for (round = 0; round < 20; round++) {
		any_message(&m, round % 4);
		m.n++;
		m.aad_bytes++;
		c->key(&a, m.key, &e);
		c->seal(&a, m.nonce, m.aad, m.aad_bytes, m.in, m.n, m.out, m.tag, &e);
		for (i = 0; i < 128; i++, tried++) { /* each bit of the tag */
			m.tag[i / 8] ^= (uint8_t)(1 << i % 8);
			opened += !refused(c, &m);
			m.tag[i / 8] ^= (uint8_t)(1 << i % 8);
		}
#define CHANGED(place) (place ^= 4, opened += !refused(c, &m), place ^= 4, tried++)
		for (i = 0; i < m.n; i += 1 + m.n / 16)
			CHANGED(m.out[i]);
		CHANGED(m.aad[any((uint32_t)m.aad_bytes)]);
		CHANGED(m.nonce[any(AEAD_NONCE)]);
		CHANGED(m.key[any(AEAD_KEY)]);
#undef CHANGED
		m.n--; /* truncated, then a byte less of what is authenticated */
		opened += !refused(c, &m);
		m.n++;
		m.aad_bytes--;
		opened += !refused(c, &m);
		tried += 2;
	}
	c->free(&a);
	test_ok(e.code == ERR_NONE && opened == 0, "%s: %zu of %zu changed messages open, or leave something",
	        c->name, opened, tried);
}

static void
gcm_limit(void)
{
	static const uint8_t key[AEAD_KEY], nonce[AEAD_NONCE];
	uint8_t byte = 0;
	struct err e = ERR_INIT, f = ERR_INIT;
	struct aead a = { 0 };

	portable_aead_key(&a, key, &e);
	portable_aead_begin(&a, AEAD_SEAL, nonce, NULL, 0, &e);
	portable_aead_add(&a, &byte, 1, &byte, &e);
	test_ok(longest == 68719476704u && e.code == ERR_NONE &&
	        portable_aead_add(&a, &byte, (size_t)longest, &byte, &f) < 0 && f.code == ERR_MEMORY,
	        "a message may have 2^36 - 32 bytes");
	portable_aead_free(&a);
}

/* ---- HKDF ---- */

static const struct {
	uint8_t key, key_step, key_bytes, salt, salt_bytes, info, info_bytes;
	const char *out;
} rfc5869[] = {
	{ 0x0b, 0, 22, 0, 13, 0xf0, 10,
	  "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865" },
	{ 0, 1, 80, 0x60, 80, 0xb0, 80,
	  "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09"
	  "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87" },
	{ 0x0b, 0, 22, 0, 0, 0, 0,
	  "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8" },
};

/* Appendix A of RFC 5869, the cases with SHA-256. */
static void
hkdf_vectors(void)
{
	uint8_t key[80], salt[80], info[80], out[82];
	struct err e = ERR_INIT;
	size_t i, k, n;

	for (i = 0; i < sizeof rfc5869 / sizeof *rfc5869; i++) {
		for (k = 0; k < 80; k++) {
			key[k] = (uint8_t)(rfc5869[i].key + k * rfc5869[i].key_step);
			salt[k] = (uint8_t)(rfc5869[i].salt + k);
			info[k] = (uint8_t)(rfc5869[i].info + k);
		}
		n = strlen(rfc5869[i].out) / 2;
		test_ok(portable_hkdf_sha256(salt, rfc5869[i].salt_bytes, key, rfc5869[i].key_bytes, info,
		                             rfc5869[i].info_bytes, out, n, &e) == 0 &&
		        is(out, n, rfc5869[i].out), "test case %zu of RFC 5869", i + 1);
	}
}

static void
hkdf_agree(void)
{
	static uint8_t p[3][200], out[2][255 * 32 + 1];
	struct err e = ERR_INIT, f = ERR_INIT;
	size_t i, k, n, bytes[3], wrong = 0;

	for (i = 0; i < 200; i++) {
		for (k = 0; k < 3; k++) {
			bytes[k] = any(any(4) ? 200 : 2);
			any_bytes(p[k], bytes[k]);
		}
		n = i == 0 ? 255 * 32 : 1 + any(any(4) ? 100 : 8160);
		wrong += hkdf_sha256(p[0], bytes[0], p[1], bytes[1], p[2], bytes[2], out[0], n, &e) < 0 ||
		         portable_hkdf_sha256(bytes[0] ? p[0] : NULL, bytes[0], p[1], bytes[1],
		                              bytes[2] ? p[2] : NULL, bytes[2], out[1], n, &e) < 0 ||
		         memcmp(out[0], out[1], n) != 0;
	}
	test_ok(wrong == 0, "200 derived keys of any sizes: %zu differ", wrong);
	test_ok(hkdf_sha256(p[0], 9, p[1], 9, p[2], 9, out[0], 8161, &e) < 0 &&
	        portable_hkdf_sha256(p[0], 9, p[1], 9, p[2], 9, out[1], 8161, &f) < 0 &&
	        e.code == f.code, "more than 255 hashes are refused by both");
}

/* ---- hashes ---- */

static void
hash_in_pieces(const uint8_t *p, size_t n, size_t most, uint8_t sha256[DIGEST_BYTES], uint8_t sha1[SHA1_BYTES],
               struct err *e)
{
	struct digest d = { { 0 } };
	struct sha256 h;
	struct sha1 s;
	size_t at, part;

	portable_sha256_start(&h);
	portable_sha1_start(&s);
	for (at = 0; at < n; at += part) {
		part = any((uint32_t)most + 1);
		part = part < n - at ? part : n - at;
		portable_sha256_add(&h, p + at, part);
		portable_sha1_add(&s, p + at, part);
	}
	portable_sha256_finish(&h, &d, e);
	portable_sha1_finish(&s, sha1, e);
	memcpy(sha256, d.b, DIGEST_BYTES);
}

/* The examples of FIPS 180. */
static void
hash_vectors(void)
{
	static const struct {
		const char *text, *sha256, *sha1;
	} fips180[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		  "da39a3ee5e6b4b0d3255bfef95601890afd80709" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		  "a9993e364706816aba3e25717850c26c9cd0d89d" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
		  "84983e441c3bd26ebaae4aa1f95129e5e54670f1" },
		{ NULL, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
		  "34aa973cd4c4daa4f61eeb2bdbad27316534016f" },
	};
	uint8_t *million = malloc(1000000), sha256[DIGEST_BYTES], sha1[SHA1_BYTES];
	struct err e = ERR_INIT;
	size_t i;

	memset(million, 'a', 1000000);
	for (i = 0; i < sizeof fips180 / sizeof *fips180; i++) {
		const char *text = fips180[i].text;

		hash_in_pieces(text ? (const uint8_t *)text : million, text ? strlen(text) : 1000000,
		               text ? 7 : 9999, sha256, sha1, &e);
		test_ok(e.code == ERR_NONE && is(sha256, sizeof sha256, fips180[i].sha256) &&
		        is(sha1, sizeof sha1, fips180[i].sha1), "FIPS 180: %s", text ? text : "a million a");
	}
	free(million);
}

static void
hashes_agree(void)
{
	static uint8_t p[5000];
	uint8_t want[DIGEST_BYTES], sha256[DIGEST_BYTES], sha1[2][SHA1_BYTES];
	struct err e = ERR_INIT;
	struct digest whole;
	struct sha1 s;
	size_t n, wrong = 0;

	any_bytes(p, sizeof p);
	for (n = 0; n < sizeof p; n += n < 300 ? 1 : 97) {
		crypto_hash_sha256(want, p, n);
		sha1_start(&s);
		sha1_add(&s, p, n);
		sha1_finish(&s, sha1[0], &e);
		hash_in_pieces(p, n, 1 + n % 130, sha256, sha1[1], &e);
		portable_sha256_of(n ? p : NULL, n, &whole);
		wrong += memcmp(want, sha256, sizeof want) != 0 || memcmp(want, whole.b, sizeof want) != 0 ||
		         memcmp(sha1[0], sha1[1], SHA1_BYTES) != 0;
	}
	test_ok(e.code == ERR_NONE && wrong == 0, "hashes of 0 to 5000 bytes in pieces: %zu differ", wrong);
}

static void
hash_given_up(void)
{
	struct err e = ERR_INIT, f = ERR_INIT;
	uint8_t out[SHA1_BYTES];
	struct sha256 h;
	struct digest d;
	struct sha1 s;

	portable_sha256_start(&h);
	portable_sha256_abandon(&h);
	portable_sha256_add(&h, "x", 1);
	portable_sha1_start(&s);
	portable_sha1_abandon(&s);
	portable_sha1_add(&s, "x", 1);
	test_ok(portable_sha256_finish(&h, &d, &e) < 0 && e.code == ERR_MEMORY &&
	        portable_sha1_finish(&s, out, &f) < 0 && f.code == ERR_MEMORY,
	        "a failure in between is not lost");
}

/* ---- random numbers ---- */

/* Every byte asked for is filled, none behind: each gets all bits of several fillings. */
static void
random_fills(void)
{
	uint8_t p[1003], seen[1003];
	size_t n, i, round, wrong = 0;

	for (n = 0; n < 1000; n += n < 5 || (n > 250 && n < 260) ? 1 : 83) {
		memset(seen, 0, sizeof seen);
		for (round = 0; round < 60; round++) {
			memset(p, 0, sizeof p);
			portable_random.buf(p + 1, n);
			for (i = 0; i < sizeof p; i++)
				seen[i] |= p[i];
		}
		for (i = 0; i < sizeof p; i++)
			wrong += seen[i] != (i > 0 && i <= n ? 0xff : 0);
	}
	test_ok(wrong == 0, "random bytes fill what was asked for: %zu do not", wrong);
	test_ok(portable_random.random() != portable_random.random() ||
	        portable_random.random() != portable_random.random(), "random words differ");
}

int
main(void)
{
	size_t i;

	if (sodium_init() < 0)
		return 1;
	for (i = 0; i < 2; i++) {
		gcm_vectors(&ciphers[i]);
		gcm_wrong(&ciphers[i]);
	}
	gcm_agree();
	gcm_limit();
	hkdf_vectors();
	hkdf_agree();
	hash_vectors();
	hashes_agree();
	hash_given_up();
	random_fills();
	return test_done();
}
