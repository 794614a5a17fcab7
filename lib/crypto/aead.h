/* aead: AES-256-GCM (NIST SP 800-38D), the cipher of everything that is sealed.
 *
 * Nonces have 96 bits, tags 128. A nonce must be used only once with a key: a second use
 * reveals plaintext and lets others forge tags. Only aead.c includes the library.
 *
 * A struct aead serves one thread at a time and one message after the other.
 * Plaintext from aead_add must have no lasting effect before aead_check accepts the tag.
 * aead_open has the whole message, and releases nothing before the tag is checked.
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

/* Set the key. a is all zero, or has had another key. 0, or -1 with E008. */
int aead_key(struct aead *a, const uint8_t key[AEAD_KEY], struct err *e);

/* Encrypt a whole message of n bytes into n bytes of ciphertext and a tag. out may be in.
 * aad: additional bytes that are authenticated but not encrypted; may be NULL. 0, or -1
 * with E008. */
int aead_seal(struct aead *a, const uint8_t nonce[AEAD_NONCE], const void *aad,
              size_t aad_bytes, const uint8_t *in, size_t n, uint8_t *out,
              uint8_t tag[AEAD_TAG], struct err *e);

/* Decrypt. A wrong tag is -1 with E005 ("cannot be opened …"), and zeros in out. what names
 * the message. */
int aead_open(struct aead *a, const uint8_t nonce[AEAD_NONCE], const void *aad,
              size_t aad_bytes, const uint8_t *in, size_t n, uint8_t *out,
              const uint8_t tag[AEAD_TAG], const char *what, struct err *e);

/* The same for a message in pieces of any size: begin, add, then make or check the tag.
 * Each returns 0 or -1. A message of more than 2^36 - 32 bytes, the limit of GCM, is
 * E008. */
enum aead_way { AEAD_SEAL, AEAD_OPEN };
int aead_begin(struct aead *a, enum aead_way way, const uint8_t nonce[AEAD_NONCE],
               const void *aad, size_t aad_bytes, struct err *e);
int aead_add(struct aead *a, const uint8_t *in, size_t n, uint8_t *out, struct err *e);
int aead_tag(struct aead *a, uint8_t tag[AEAD_TAG], struct err *e);
int aead_check(struct aead *a, const uint8_t tag[AEAD_TAG], const char *what,
               struct err *e);

/* Wipe the key. a may be all zero. */
void aead_free(struct aead *a);

#endif
