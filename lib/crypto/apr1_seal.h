/* apr1_seal: how the payload of an APR version 1 file is sealed. AES-256-GCM with a
 * nonce of 12 bytes by chance; the tag of 16 bytes is behind the ciphertext.
 *
 *     0  password     salt 16, nonce 12, ciphertext, tag
 *     1  recipient    public half of a pair made for this file 32, first 8 bytes of the
 *                     recipient's public key (of its SHA-256: read too), nonce 12,
 *                     ciphertext, tag
 *     2  recipients   public half 32, u16 count; for each: first 8 bytes of the public
 *                     key, wrapped 48; commitment 32, nonce 12, ciphertext, tag
 *
 * 0: the key is Argon2id of the password and the salt, 19456 KiB, 2 passes, 1 lane.
 * 1: it is HKDF-SHA256 of what is agreed by X25519, without salt, info
 * "apr-v1-encrypt". Both as existing software has them, which binds nothing else.
 *
 * 2 is ours, where the text has a name only. HKDF-SHA256 of 32 bytes by chance, the
 * data key, without salt, info "apr-v1-encrypt payload", are 64 bytes: the key, and the
 * commitment to it. wrapped: the data key and its tag under a nonce of zeros and the key
 * HKDF-SHA256 of what is agreed, salt: the public half and the recipient's (64 bytes),
 * info "apr-v1-encrypt wrap". All that comes before the nonce is bound as further data.
 */
#ifndef CRYPTO_APR1_SEAL_H
#define CRYPTO_APR1_SEAL_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/spool.h"
#include "crypto/agree.h"

enum apr1_seal_mode { APR1_PASSWORD, APR1_RECIPIENT, APR1_RECIPIENTS };

/* Who can open it: a password, or recipients. chance: where random bytes come from, NULL:
 * the system (crypto/kdf.h); for tests of bytes. */
struct apr1_sealing {
	const uint8_t *password; /* NULL: recipients */
	size_t password_bytes;
	const uint8_t *keys;     /* public halves, one after another */
	size_t key_count;        /* 1 and more */
	int (*chance)(void *p, size_t n, struct err *e);
};

enum apr1_seal_mode apr1_sealing_mode(const struct apr1_sealing *s);

/* Bytes by which a payload gets longer. */
uint64_t apr1_sealing_extra(const struct apr1_sealing *s);

/* Seal n bytes into an empty spool. 0, or -1 with E008 or E007. */
int apr1_seal(const struct apr1_sealing *s, const uint8_t *p, size_t n, struct spool *to,
              struct err *e);

/* What may open it: a password, secret halves, or both. */
struct apr1_opening {
	const uint8_t *password; /* NULL: none */
	size_t password_bytes;
	const uint8_t *secrets;
	size_t secret_count;
};

/* Open n bytes into an empty spool. Existing software writes mode 0 for a recipient too:
 * then what is there decides. Nothing in the spool may be used unless this returns 0;
 * else -1: E005 for a wrong key and for any changed byte. */
int apr1_unseal(const struct apr1_opening *o, unsigned mode, const uint8_t *p, size_t n,
                struct spool *to, const char *name, struct err *e);

#endif
