/* sealing: what seals and messages are made of, by apr-stream(5) and apr-seal(1) and with
 * no code of lib/, for the generators.
 */
#ifndef GEN_SEALING_H
#define GEN_SEALING_H

#include <openssl/evp.h>
#include <sodium.h>

#include "gen.h"

enum { KEY = 32, TAG = 16, CHUNK = 1048576 };

_Noreturn static inline void
stop(const char *why)
{
	fprintf(stderr, "sealing: %s\n", why);
	exit(1);
}

static inline void
sha256(const void *p, size_t n, uint8_t out[KEY])
{
	crypto_hash_sha256(out, p, n);
}

static inline void
hmac(const uint8_t *key, size_t key_n, const struct gen *g, uint8_t out[KEY])
{
	crypto_auth_hmacsha256_state s;

	crypto_auth_hmacsha256_init(&s, key, key_n);
	crypto_auth_hmacsha256_update(&s, g->p, g->n);
	crypto_auth_hmacsha256_final(&s, out);
}

/* RFC 5869 by hand, at most 64 bytes; info: domain, NUL, SHA-256 of the context. */
static inline void
derive(const uint8_t *salt, size_t salt_n, const uint8_t *ikm, size_t ikm_n,
       const char *name, const struct gen *context, uint8_t *out, size_t n)
{
	static const uint8_t zeros[KEY];
	uint8_t prk[KEY], t[2][KEY], hash[KEY];
	struct gen g = { 0 };
	unsigned i;

	put(&g, ikm, ikm_n);
	hmac(salt_n ? salt : zeros, salt_n ? salt_n : KEY, &g, prk);
	sha256(context->p, context->n, hash);
	for (i = 0; i < 2; i++) {
		g.n = 0;
		if (i)
			put(&g, t[0], KEY);
		put(&g, name, strlen(name) + 1);
		put(&g, hash, KEY);
		put_u8(&g, (uint8_t)(i + 1));
		hmac(prk, KEY, &g, t[i]);
	}
	memcpy(out, t, n);
	gen_free(&g);
}

/* AES-256-GCM of n bytes; open: 0 if the tag does not hold. */
static inline int
gcm(int seal, const uint8_t *key, const uint8_t *nonce, const void *aad, size_t aad_n,
    const uint8_t *in, size_t n, uint8_t *out, uint8_t *tag)
{
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	int part, ok = EVP_CipherInit_ex(c, EVP_aes_256_gcm(), NULL, key, nonce, seal);

	if (ok && aad_n)
		ok = EVP_CipherUpdate(c, NULL, &part, aad, (int)aad_n);
	if (ok && n)
		ok = EVP_CipherUpdate(c, out, &part, in, (int)n);
	if (ok && !seal)
		ok = EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, TAG, tag);
	if (ok)
		ok = EVP_CipherFinal_ex(c, out + n, &part);
	if (ok && seal)
		ok = EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, TAG, tag);
	EVP_CIPHER_CTX_free(c);
	return ok;
}

static inline void
from_hex(const char *text, uint8_t *out, size_t n)
{
	size_t got;

	if (!text || sodium_hex2bin(out, n, text, strlen(text), NULL, &got, NULL) || got != n)
		stop("a member does not have its number of hexadecimal digits");
}

/* 64 bytes of keys for the stanza, from an identity or a word. */
static inline void
identity_keys(const uint8_t *seal_salt, const uint8_t *pair, const uint8_t *secret,
              uint8_t keys[2 * KEY])
{
	uint8_t shared[KEY], public[KEY];
	struct gen context = { 0 };

	crypto_scalarmult_base(public, secret);
	if (crypto_scalarmult(shared, secret, pair) < 0)
		stop("nothing is agreed");
	put(&context, pair, KEY);
	put(&context, public, KEY);
	derive(seal_salt, KEY, shared, KEY, "apr2 seal 2 x25519", &context, keys, 2 * KEY);
	gen_free(&context);
}

static inline void
word_keys(const uint8_t *seal_salt, const uint8_t *salt, uint64_t memory, uint64_t passes,
          const char *word, uint8_t keys[2 * KEY])
{
	uint8_t stretched[KEY];
	struct gen context = { 0 };

	if (crypto_pwhash(stretched, KEY, word, strlen(word), salt, passes,
	                  (size_t)memory * 1024, crypto_pwhash_ALG_ARGON2ID13) < 0)
		stop("Argon2id");
	put(&context, salt, 16);
	put_u64(&context, memory);
	put_u64(&context, passes);
	derive(seal_salt, KEY, stretched, KEY, "apr2 seal 2 argon2id", &context, keys, 2 * KEY);
	gen_free(&context);
}

enum { MESSAGE_HEAD = 72 };

static inline void
message_keys(const uint8_t *secret, const uint8_t *other, const uint8_t *head,
             const uint8_t *recipient, const uint8_t *answer, uint8_t keys[2 * KEY])
{
	uint8_t ikm[2 * KEY];
	struct gen context = { 0 };

	if (crypto_scalarmult(ikm, secret, other) < 0)
		stop("nothing is agreed");
	if (answer)
		memcpy(ikm + KEY, answer, KEY);
	put(&context, head, 40);
	put(&context, recipient, KEY);
	derive(NULL, 0, ikm, answer ? 2 * KEY : KEY, "apr message 2", &context, keys, 2 * KEY);
	gen_free(&context);
}

#endif
