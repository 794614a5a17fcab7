/* kdf: keys from keys (HKDF), from passwords (Argon2id), and from random numbers; and a
 * keyed digest. Only kdf.c includes the libraries.
 *
 * Inputs and outputs are secrets; the caller takes care of their memory (crypto/secret.h).
 */
#ifndef CRYPTO_KDF_H
#define CRYPTO_KDF_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

/* HKDF-SHA256 (RFC 5869), extract and expand. Salt and info may be empty (NULL, 0).
 * The output is at most 255 × 32 bytes. 0, or -1 with E008. */
int hkdf_sha256(const void *salt, size_t salt_bytes, const void *key, size_t key_bytes,
                const void *info, size_t info_bytes, uint8_t *out, size_t n,
                struct err *e);

/* The same with the info of seals and messages: the domain as text, a NUL, and SHA-256 of
 * the context, which may have any length or be empty. Different domains never share an
 * info. */
int hkdf_context(const uint8_t *salt, size_t salt_bytes, const uint8_t *key,
                 size_t key_bytes, const char *domain, const void *context,
                 size_t context_bytes, uint8_t *out, size_t n, struct err *e);

#define HMAC_BYTES 32

/* HMAC-SHA256 (RFC 2104) of n bytes. 0, or -1 with E008. */
int hmac_sha256(const void *key, size_t key_bytes, const void *p, size_t n,
                uint8_t out[HMAC_BYTES], struct err *e);

/* Argon2id, version 1.3 (RFC 9106), without secret and associated data. The library
 * supports one lane only. crypto/derivation.h limits its memory further. */
#define ARGON2ID_SALT 16

struct argon2id_cost {
	uint32_t memory; /* KiB, at least 8 */
	uint32_t passes; /* at least 1 */
};
/* The cost of a passphrase seal. A small machine can afford it; it lies between the two
 * recommendations of RFC 9106, section 4: 2 GiB and 64 MiB. */
#define ARGON2ID_COST ((struct argon2id_cost){ 262144, 3 })
/* The cost that APR version 1 prescribes: OWASP's minimum for passwords. */
#define ARGON2ID_COST_APR1 ((struct argon2id_cost){ 19456, 2 })
/* The maximum that a file may ask of its reader. */
#define ARGON2ID_MOST ((struct argon2id_cost){ 262144, 16 })

/* n bytes, 16 to 64, from a password. A cost above ARGON2ID_MOST is E008, so that a file
 * cannot exhaust its reader; a cost below the algorithm's minimum is E002. 0 or -1. */
int argon2id(const void *password, size_t password_bytes,
             const uint8_t salt[ARGON2ID_SALT], struct argon2id_cost cost, uint8_t *out,
             size_t n, struct err *e);

/* n bytes from the system's generator, or from the source that random_from has set: for keys, salts,
 * nonces. 0, or -1 with E008; or with E007 if that source fails. */
int random_bytes(void *p, size_t n, struct err *e);

/* Another generator: fill returns 0, or -1. fill NULL: the system's. Call it before any other thread
 * needs random bytes. */
struct random_source {
	int (*fill)(void *ctx, void *p, size_t n);
	void *ctx;
};
void random_from(const struct random_source *from);

/* True if n bytes are the same. The time depends only on n. */
int bytes_equal(const void *a, const void *b, size_t n);

#endif
