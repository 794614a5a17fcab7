/* kdf: keys from keys (HKDF), from passwords (Argon2id), and from nothing (chance);
 * and a keyed digest. The seam: kdf.c alone knows which libraries compute them.
 *
 * What goes in and comes out are secrets: their memory is the caller's care
 * (crypto/secret.h).
 */
#ifndef CRYPTO_KDF_H
#define CRYPTO_KDF_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

/* HKDF-SHA256 (RFC 5869), extract and expand. Salt and info may be empty (NULL, 0).
 * At most 255 × 32 bytes come out. 0, or -1 with E008. */
int hkdf_sha256(const void *salt, size_t salt_bytes, const void *key, size_t key_bytes,
                const void *info, size_t info_bytes, uint8_t *out, size_t n,
                struct err *e);

/* The same with the info that seals and messages have: the domain as text, a NUL, and
 * SHA-256 of the context. A context of any length is bound, and no two domains share an
 * info. context may be empty. */
int hkdf_context(const uint8_t *salt, size_t salt_bytes, const uint8_t *key,
                 size_t key_bytes, const char *domain, const void *context,
                 size_t context_bytes, uint8_t *out, size_t n, struct err *e);

#define HMAC_BYTES 32

/* HMAC-SHA256 (RFC 2104) of n bytes. 0, or -1 with E008. */
int hmac_sha256(const void *key, size_t key_bytes, const void *p, size_t n,
                uint8_t out[HMAC_BYTES], struct err *e);

/* Argon2id, version 1.3 (RFC 9106), with one lane, which is all that the library
 * computes, without secret and associated data. */
#define ARGON2ID_SALT 16

struct argon2id_cost {
	uint32_t memory; /* KiB, 8 and more */
	uint32_t passes; /* 1 and more */
};
/* What a passphrase seal costs: between the two recommendations of RFC 9106, section 4,
 * 2 GiB and 64 MiB, in what a small machine has. */
#define ARGON2ID_COST ((struct argon2id_cost){ 262144, 3 })
/* What APR version 1 prescribes: the least of OWASP's advice for passwords. */
#define ARGON2ID_COST_APR1 ((struct argon2id_cost){ 19456, 2 })
/* What a file may ask of its reader, at most. */
#define ARGON2ID_MOST ((struct argon2id_cost){ 262144, 16 })

/* n bytes, 16 to 64, out of a password. A cost beyond ARGON2ID_MOST is E008, so that
 * no file decides what its reader spends; less than the algorithm's least is E002.
 * 0 or -1. */
int argon2id(const void *password, size_t password_bytes,
             const uint8_t salt[ARGON2ID_SALT], struct argon2id_cost cost, uint8_t *out,
             size_t n, struct err *e);

/* n bytes from the system's generator: for keys, salts, nonces. 0, or -1 with E008. */
int random_bytes(void *p, size_t n, struct err *e);

/* Are n bytes the same, in a time that depends on n alone? */
int bytes_equal(const void *a, const void *b, size_t n);

#endif
