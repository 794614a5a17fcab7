/* aead: AES-256-GCM (NIST SP 800-38D), the cipher of everything that is sealed.
 *
 * Nonces have 96 bits, tags 128; a nonce is used once with a key, or both are
 * lost. The seam: aead.c alone knows which library computes it.
 *
 * A struct aead serves one thread at a time and one message after the other.
 * Plaintext of aead_add may be used for nothing that lasts before aead_check has
 * said that the tag holds; aead_open, which has all of a message, releases nothing
 * before.
 */
#ifndef CRYPTO_AEAD_H
#define CRYPTO_AEAD_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define AEAD_KEY 32
#define AEAD_NONCE 12
#define AEAD_TAG 16

struct aead {
	void *state; /* owned; holds the key; wiped when freed */
};

/* With this key; a is all zero, or has served another key. 0, or -1 with E008. */
int aead_key(struct aead *a, const uint8_t key[AEAD_KEY], struct err *e);

/* A whole message of n bytes to n bytes of ciphertext (in place, or apart) and its
 * tag. aad: bytes that are bound, but not hidden; may be NULL. 0, or -1 with E008. */
int aead_seal(struct aead *a, const uint8_t nonce[AEAD_NONCE], const void *aad,
              size_t aad_bytes, const uint8_t *in, size_t n, uint8_t *out,
              uint8_t tag[AEAD_TAG], struct err *e);

/* And back. A tag that does not hold is -1 with E005 ("cannot be opened …"), what
 * names the message; out is then zeros. */
int aead_open(struct aead *a, const uint8_t nonce[AEAD_NONCE], const void *aad,
              size_t aad_bytes, const uint8_t *in, size_t n, uint8_t *out,
              const uint8_t tag[AEAD_TAG], const char *what, struct err *e);

/* The same for a message that comes in pieces of any size: begin, add, and then the
 * tag, made or compared. Each returns 0 or -1. A message ends at 2^36 - 32 bytes,
 * beyond which GCM is not defined: more is E008. */
enum aead_way { AEAD_SEAL, AEAD_OPEN };
int aead_begin(struct aead *a, enum aead_way way, const uint8_t nonce[AEAD_NONCE],
               const void *aad, size_t aad_bytes, struct err *e);
int aead_add(struct aead *a, const uint8_t *in, size_t n, uint8_t *out, struct err *e);
int aead_tag(struct aead *a, uint8_t tag[AEAD_TAG], struct err *e);
int aead_check(struct aead *a, const uint8_t tag[AEAD_TAG], const char *what,
               struct err *e);

/* Wipes the key. Also of an aead that is all zero. */
void aead_free(struct aead *a);

#endif
