/* Known answers of the primitives: RFC 7748, 5869, 4231, NIST's GCM, Argon2id. */
#include <stdint.h>
#include <string.h>

#include "crypto/aead.h"
#include "crypto/agree.h"
#include "crypto/kdf.h"
#include "test.h"

#define MOST 128

struct hex {
	uint8_t p[MOST];
	size_t n;
};

static struct hex
hex(const char *s)
{
	struct hex h = { .n = strlen(s) / 2 };
	size_t i;
	unsigned byte;

	for (i = 0; i < h.n && i < MOST && sscanf(s + 2 * i, "%2x", &byte) == 1; i++)
		h.p[i] = (uint8_t)byte;
	return h;
}

static int
is(const uint8_t *p, const char *s)
{
	struct hex h = hex(s);

	return memcmp(p, h.p, h.n) == 0;
}

/* ---- X25519 ---- */

static void
rfc7748(void)
{
	static const struct {
		const char *scalar, *u, *out;
	} once[] = {
		{ "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
		  "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
		  "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552" },
		{ "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
		  "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
		  "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957" },
		{ "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
		  "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
		  "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742" },
	};
	struct err e = ERR_INIT;
	struct hex k = hex("0900000000000000000000000000000000000000000000000000000000000000");
	uint8_t u[AGREE_BYTES], r[AGREE_BYTES];
	size_t i;

	for (i = 0; i < sizeof once / sizeof *once; i++) {
		struct hex s = hex(once[i].scalar), p = hex(once[i].u);

		test_ok(agree(s.p, p.p, r, &e) == 0 && is(r, once[i].out), "RFC 7748, %zu", i);
	}
	test_ok(agree_public(hex(once[2].scalar).p, r, &e) == 0 &&
	        is(r, "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"),
	        "RFC 7748: a public half");
	memcpy(u, k.p, sizeof u);
	for (i = 1; i <= 1000; i++) {
		agree(k.p, u, r, &e);
		memcpy(u, k.p, sizeof u);
		memcpy(k.p, r, sizeof r);
		if (i == 1)
			test_ok(is(k.p, "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"),
			        "RFC 7748, iterated once");
	}
	test_ok(e.code == ERR_NONE &&
	        is(k.p, "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51"),
	        "RFC 7748, a thousand times");
}

/* The points of small order: every secret agrees on zeros with them. */
static void
small_order(void)
{
	static const char *const points[] = {
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000000",
		"e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
		"5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	};
	uint8_t s[AGREE_BYTES], p[AGREE_BYTES], r[AGREE_BYTES], zero[AGREE_BYTES] = { 0 };
	size_t i;

	for (i = 0; i < sizeof points / sizeof *points; i++) {
		struct err e = ERR_INIT;

		memset(r, 1, sizeof r);
		agree_new(s, p, &e);
		test_ok(agree(s, hex(points[i]).p, r, &e) < 0 && e.code == ERR_DECRYPT &&
		        memcmp(r, zero, sizeof r) == 0, "point %zu of small order is refused", i);
	}
}

static void
two_sides(void)
{
	uint8_t a[AGREE_BYTES], ap[AGREE_BYTES], b[AGREE_BYTES], bp[AGREE_BYTES],
		x[AGREE_BYTES], y[AGREE_BYTES];
	struct err e = ERR_INIT;

	test_ok(agree_new(a, ap, &e) == 0 && agree_new(b, bp, &e) == 0 &&
	        !bytes_equal(a, b, sizeof a), "two keys by chance differ");
	test_ok(agree(a, bp, x, &e) == 0 && agree(b, ap, y, &e) == 0 &&
	        bytes_equal(x, y, sizeof x), "two sides agree");
}

/* ---- HKDF, HMAC ---- */

static void
rfc5869(void)
{
	struct err e = ERR_INIT;
	uint8_t ikm[80], salt[80], info[80], out[MOST];
	int i;

	memset(ikm, 0x0b, sizeof ikm);
	test_ok(hkdf_sha256(hex("000102030405060708090a0b0c").p, 13, ikm, 22,
	                    hex("f0f1f2f3f4f5f6f7f8f9").p, 10, out, 42, &e) == 0 &&
	        is(out, "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
	                "34007208d5b887185865"), "RFC 5869, A.1");
	test_ok(hkdf_sha256(NULL, 0, ikm, 22, NULL, 0, out, 42, &e) == 0 &&
	        is(out, "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
	                "9d201395faa4b61a96c8"), "RFC 5869, A.3: neither salt nor info");
	for (i = 0; i < 80; i++) {
		ikm[i] = (uint8_t)i;
		salt[i] = (uint8_t)(0x60 + i);
		info[i] = (uint8_t)(0xb0 + i);
	}
	test_ok(hkdf_sha256(salt, 80, ikm, 80, info, 80, out, 82, &e) == 0 &&
	        is(out, "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
	                "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71"
	                "cc30c58179ec3e87c14c01d5c1f3434f1d87"), "RFC 5869, A.2");
}

static void
rfc4231(void)
{
	struct err e = ERR_INIT;
	uint8_t key[20], out[HMAC_BYTES];

	memset(key, 0x0b, sizeof key);
	test_ok(hmac_sha256(key, sizeof key, "Hi There", 8, out, &e) == 0 &&
	        is(out, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
	        "RFC 4231, 1");
	test_ok(hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, out, &e) == 0 &&
	        is(out, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
	        "RFC 4231, 2");
}

/* ---- AES-256-GCM ---- */

/* Cases 13 to 16 of the description of GCM (McGrew and Viega), NIST's too. */
#define K "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"
#define ZEROS "00000000000000000000000000000000"
#define P "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72" \
	"1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
#define C "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa" \
	"8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
static const struct {
	const char *key, *iv, *aad, *in, *out, *tag;
} gcm[] = {
	{ ZEROS ZEROS, "000000000000000000000000", "", "", "",
	  "530f8afbc74536b9a963b4f1c4cb738b" },
	{ ZEROS ZEROS, "000000000000000000000000", "", ZEROS,
	  "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919" },
	{ K, "cafebabefacedbaddecaf888", "", P "1aafd255", C "898015ad",
	  "b094dac5d93471bdec1a502270e3cc6c" },
	{ K, "cafebabefacedbaddecaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2", P, C,
	  "76fc6ece0f4e1768cddf8853bb2d551b" },
};

static void
gcm_whole(struct aead *a, size_t i)
{
	struct err e = ERR_INIT;
	struct hex in = hex(gcm[i].in), aad = hex(gcm[i].aad), iv = hex(gcm[i].iv);
	uint8_t out[MOST], tag[AEAD_TAG], back[MOST];

	test_ok(aead_key(a, hex(gcm[i].key).p, &e) == 0 &&
	        aead_seal(a, iv.p, aad.p, aad.n, in.p, in.n, out, tag, &e) == 0 &&
	        is(out, gcm[i].out) && is(tag, gcm[i].tag), "GCM, case %zu", 13 + i);
	test_ok(aead_open(a, iv.p, aad.p, aad.n, out, in.n, back, tag, "x", &e) == 0 &&
	        memcmp(back, in.p, in.n) == 0, "GCM, case %zu, opened", 13 + i);
}

/* In pieces of every size, in place. */
static void
gcm_pieces(struct aead *a, size_t i)
{
	struct err e = ERR_INIT;
	struct hex in = hex(gcm[i].in), aad = hex(gcm[i].aad), iv = hex(gcm[i].iv);
	size_t step, at;
	int good = 1;

	aead_key(a, hex(gcm[i].key).p, &e);
	for (step = 1; step <= in.n; step++) {
		uint8_t out[MOST], tag[AEAD_TAG];

		memcpy(out, in.p, in.n);
		good &= aead_begin(a, AEAD_SEAL, iv.p, aad.p, aad.n, &e) == 0;
		for (at = 0; at < in.n; at += step)
			good &= aead_add(a, out + at, step < in.n - at ? step : in.n - at,
			                 out + at, &e) == 0;
		good &= aead_tag(a, tag, &e) == 0 && is(out, gcm[i].out) && is(tag, gcm[i].tag);
		good &= aead_begin(a, AEAD_OPEN, iv.p, aad.p, aad.n, &e) == 0 &&
		        aead_add(a, out, in.n, out, &e) == 0 &&
		        aead_check(a, tag, "x", &e) == 0 && memcmp(out, in.p, in.n) == 0;
	}
	test_ok(good, "GCM, case %zu, in pieces", 13 + i);
}

/* Every bit of what is opened counts, and nothing comes out. */
static void
gcm_flips(struct aead *a)
{
	struct err none = ERR_INIT;
	struct hex in = hex(P), aad = hex(gcm[3].aad), iv = hex(gcm[3].iv);
	uint8_t out[MOST], tag[AEAD_TAG], back[MOST], zero[MOST] = { 0 };
	uint8_t *parts[] = { out, tag, aad.p, iv.p };
	size_t bytes[] = { in.n, AEAD_TAG, aad.n, iv.n }, i, bit;

	aead_key(a, hex(K).p, &none);
	aead_seal(a, iv.p, aad.p, aad.n, in.p, in.n, out, tag, &none);
	for (i = 0; i < 4; i++) {
		int good = 1;

		for (bit = 0; bit < 8 * bytes[i]; bit++) {
			struct err e = ERR_INIT;

			parts[i][bit / 8] ^= (uint8_t)(1u << bit % 8);
			memset(back, 1, sizeof back);
			good &= aead_open(a, iv.p, aad.p, aad.n, out, in.n, back, tag, "it", &e) < 0 &&
			        e.code == ERR_DECRYPT && memcmp(back, zero, in.n) == 0;
			parts[i][bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		test_ok(good, "GCM: each bit of part %zu counts", i);
	}
	test_ok(aead_open(a, iv.p, aad.p, aad.n, out, in.n, back, tag, "it", &none) == 0 &&
	        none.code == ERR_NONE, "GCM: and without a change it opens");
}

/* ---- Argon2id ---- */

/* Values of the reference program of Argon2's authors (Debian's package argon2), as
 * the example of RFC 9106 has four lanes, which the library does not compute. */
static void
argon2(void)
{
	struct err e = ERR_INIT, most = ERR_INIT, least = ERR_INIT;
	uint8_t out[64];

	test_ok(argon2id("password", 8, (const uint8_t *)"somesaltsomesalt", ARGON2ID_COST_APR1,
	                 out, 32, &e) == 0 &&
	        is(out, "2b5dc4054886ec957ef59c73b661c54dd6fb274590b278f657c6d96aac8fa6d1"),
	        "Argon2id at the cost that we write");
	test_ok(argon2id("abcdefgh", 8, (const uint8_t *)"saltsaltsaltsalt",
	                 (struct argon2id_cost){ 8, 1 }, out, 16, &e) == 0 &&
	        is(out, "f4d269289aaea399556f1cb45838ece8"), "Argon2id at the least cost");
	test_ok(argon2id("correct horse battery staple", 28,
	                 (const uint8_t *)"0123456789abcdef",
	                 (struct argon2id_cost){ 65536, 3 }, out, 64, &e) == 0 &&
	        is(out, "428cb4b6c02b45095d0302fad4ea3ef94865c50a2a29196330ed9e6d7bf7c5c6"
	                "2a7c7a4f2be2c6fc12ea114ceb290c2378e66717f407b1ccd59d939091413741"),
	        "Argon2id: more memory, more passes, longer");
	test_ok(argon2id("x", 1, (const uint8_t *)"saltsaltsaltsalt",
	                 (struct argon2id_cost){ UINT32_MAX, 1 }, out, 32, &most) < 0 &&
	        most.code == ERR_MEMORY, "a cost that no file may ask for");
	test_ok(argon2id("x", 1, (const uint8_t *)"saltsaltsaltsalt",
	                 (struct argon2id_cost){ 7, 1 }, out, 32, &least) < 0 &&
	        least.code == ERR_CORRUPT, "a cost that is none");
}

int
main(void)
{
	struct aead a = { 0 };
	size_t i;

	rfc7748();
	small_order();
	two_sides();
	rfc5869();
	rfc4231();
	for (i = 0; i < sizeof gcm / sizeof *gcm; i++) {
		gcm_whole(&a, i);
		gcm_pieces(&a, i);
	}
	gcm_flips(&a);
	aead_free(&a);
	argon2();
	return test_done();
}
