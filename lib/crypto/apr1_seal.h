/* apr1_seal: encryption of the payload of an APR version 1 file. AES-256-GCM with a random
 * nonce of 12 bytes; the tag of 16 bytes follows the ciphertext.
 *
 *     0  password     salt 16, nonce 12, ciphertext, tag
 *     1  recipient    public half of a pair made for this file 32, first 8 bytes of the
 *                     recipient's public key (of its SHA-256: read too), nonce 12,
 *                     ciphertext, tag
 *     2  recipients   public half 32, u16 count; for each: first 8 bytes of the public
 *                     key, wrapped 48; commitment 32, nonce 12, ciphertext, tag
 *
 * Mode 0: the key is Argon2id of the password and the salt, 19456 KiB, 2 passes, 1 lane.
 * Mode 1: the key is HKDF-SHA256 of the X25519 shared secret, without salt, info
 * "apr-v1-encrypt". Both are those of existing software, which authenticates nothing else.
 *
 * Mode 2 is defined here; the specification has only its name. The data key is 32 random
 * bytes. HKDF-SHA256 of it, without salt, info "apr-v1-encrypt payload", gives 64 bytes:
 * the key, and the commitment to it. wrapped is the data key and its tag, encrypted with a
 * nonce of zeros under HKDF-SHA256 of the shared secret, salt: the public half and the
 * recipient's (64 bytes), info "apr-v1-encrypt wrap". Everything before the nonce is
 * additional authenticated data.
 */
#ifndef CRYPTO_APR1_SEAL_H
#define CRYPTO_APR1_SEAL_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/spool.h"
#include "crypto/agree.h"

enum apr1_seal_mode { APR1_PASSWORD, APR1_RECIPIENT, APR1_RECIPIENTS };

/* Who can open it: a password, or recipients. chance is the source of random bytes; NULL is
 * the system (crypto/kdf.h). Tests that compare bytes set it. */
struct apr1_sealing {
	const uint8_t *password; /* NULL: recipients */
	size_t password_bytes;
	const uint8_t *keys;     /* public halves, concatenated */
	size_t key_count;        /* at least 1 */
	int (*chance)(void *p, size_t n, struct err *e);
};

enum apr1_seal_mode apr1_sealing_mode(const struct apr1_sealing *s);

/* The bytes that sealing adds to a payload. */
uint64_t apr1_sealing_extra(const struct apr1_sealing *s);

/* Seal n bytes into an empty spool. 0, or -1 with E008 or E007. */
int apr1_seal(const struct apr1_sealing *s, const uint8_t *p, size_t n, struct spool *to,
              struct err *e);

/* The keys to try: a password, secret halves, or both. */
struct apr1_opening {
	const uint8_t *password; /* NULL: none */
	size_t password_bytes;
	const uint8_t *secrets;
	size_t secret_count;
};

/* Open n bytes into an empty spool. Existing software writes mode 0 for a recipient too, so
 * the keys given decide what is tried. The contents of the spool are valid only if this
 * returns 0. Otherwise -1: E005 for a wrong key or a changed byte. */
int apr1_unseal(const struct apr1_opening *o, unsigned mode, const uint8_t *p, size_t n,
                struct spool *to, const char *name, struct err *e);

#endif
