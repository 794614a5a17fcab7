/* skey: the head of an SKEY frame: who can open what is sealed.
 *
 *     {"version":1,"salt":"64",
 *      "stanzas":[{"type":"x25519","key":"64","wrapped":"96"},…],
 *      "mac":"64"}
 *
 * where a number stands for so many lower-case hexadecimal digits. What is sealed is
 * so under a data key of 32 bytes; each stanza holds it, wrapped: AES-256-GCM of the
 * 32 bytes, with a nonce of zeros, and the tag (48 bytes), under a key of its own:
 *
 *     x25519    key: the public half of a pair made for this stanza alone. The
 *               wrapping key is HKDF-SHA256 of what is agreed between it and the
 *               recipient, salt: this public half and the recipient's (64 bytes),
 *               info: "apr2 x25519"
 *     argon2id  "salt":"32","memory":19456,"passes":2 in place of key: the wrapping
 *               key is Argon2id of a password, memory in KiB, one lane. It is the only
 *               stanza: one password, or recipients
 *
 * A stanza does not say whose it is. The mac is HMAC-SHA256 under HKDF-SHA256 of the
 * data key (the salt above; info: "apr2 mac"), over SHA-256 of (numbers: 8 bytes,
 * little-endian; text: its length and its bytes; crypto/content.h):
 *
 *     domain "apr2 seal 1", the salt
 *     number of stanzas; of each: text type, and key and wrapped, or salt, memory,
 *     passes and wrapped
 *     the content's components metadata and licence
 *     number of side files; of each, as they come: text name, text type, size
 *     number of tensors; of each, as they come: text name, text dtype, number of
 *     dimensions, dimensions, size
 *     number of prov frames; the size of each one's head; number of signatures
 *
 * So it commits to the key, and binds all that is not sealed to what is.
 */
#ifndef CRYPTO_SEAL_SKEY_H
#define CRYPTO_SEAL_SKEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "crypto/aead.h"
#include "crypto/content.h"
#include "crypto/kdf.h"
#include "crypto/seal/identity.h"
#include "model/model.h"

#define SKEY_DATA 32
#define SKEY_SALT 32
#define SKEY_WRAPPED (SKEY_DATA + AEAD_TAG)
#define SKEY_STANZAS IDENTITY_MOST

struct stanza {
	bool password;                /* argon2id, else x25519 */
	uint8_t key[AGREE_BYTES];     /* x25519 */
	uint8_t salt[ARGON2ID_SALT];  /* argon2id */
	struct argon2id_cost cost;
	uint8_t wrapped[SKEY_WRAPPED];
};

struct skey {
	uint8_t salt[SKEY_SALT];
	struct stanza stanzas[SKEY_STANZAS];
	size_t n;
	uint8_t mac[HMAC_BYTES];
};

/* With what it may be opened: identities, or a password (which may be empty: p NULL
 * is none). */
struct openers {
	struct identities identities;
	struct secret password;
};
void openers_free(struct openers *o);

/* Append a stanza. pair: the secret half of the stanza's own pair, of which it is used
 * up; or salt: the password's: by chance, but in tests. 0 or -1. */
int skey_add_recipient(struct skey *s, const uint8_t data[SKEY_DATA],
                       const uint8_t recipient[AGREE_BYTES],
                       const uint8_t pair[AGREE_BYTES], struct err *e);
int skey_add_password(struct skey *s, const uint8_t data[SKEY_DATA],
                      const void *password, size_t n, const uint8_t salt[ARGON2ID_SALT],
                      struct argon2id_cost cost, struct err *e);

/* The data key: 0, or -1 with E005 where nothing of what is given opens it. */
int skey_open(const struct skey *s, const struct openers *o, uint8_t data[SKEY_DATA],
              const char *where, struct err *e);

/* The mac of s (its member is not looked at) over a plan and the components of its
 * content, of which metadata and licence must be known. */
int skey_mac(const struct skey *s, const uint8_t data[SKEY_DATA], const struct model *m,
             const struct components *c, uint8_t mac[HMAC_BYTES], struct err *e);

/* The head as text, appended to b; its length depends on the stanzas alone. */
int skey_write(const struct skey *s, struct buf *b, struct err *e);

/* And read again. E003 for another version, E001 for an unknown kind of stanza, else
 * E002. */
int skey_parse(const void *head, size_t n, struct skey *s, const char *where,
               struct err *e);

#endif
