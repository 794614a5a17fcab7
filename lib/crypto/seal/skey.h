/* skey: the head of an SKEY frame, which says who can open a sealed model.
 *
 *     {"version":2,"salt":"64",
 *      "stanzas":[{"type":"x25519","key":"64","commitment":"64","wrapped":"96"},…],
 *      "mac":"64"}
 *
 * A number stands for that many lower-case hexadecimal digits. The model is sealed
 * under a data key of 32 bytes. Each stanza holds the data key, wrapped: AES-256-GCM of
 * the 32 bytes with a nonce of zeros, and the tag, 48 bytes in all.
 *
 * HKDF-SHA256 gives 64 bytes for a stanza: the wrapping key, and the commitment. Salt:
 * that of the head. Info: a domain and SHA-256 of a context (hkdf_context, crypto/kdf.h).
 *
 *     x25519    key: the public half of a pair made for this stanza alone. HKDF takes
 *               the X25519 shared secret of this pair and the recipient; domain
 *               "apr2 seal 2 x25519"; context: both public halves, 64 bytes
 *     argon2id  "salt":"32","memory":262144,"passes":3 in place of key. HKDF takes 32
 *               bytes of Argon2id of a password, memory in KiB, one lane; domain
 *               "apr2 seal 2 argon2id"; context: the stanza's salt, memory and passes
 *               (8 bytes each, little-endian). It is the only stanza
 *
 * A reader compares the commitment before it decrypts anything: with AES-GCM alone, an
 * attacker can make a ciphertext that opens under several keys. Stanzas of unknown types
 * are skipped, so that types can be added. A stanza does not name its recipient.
 *
 * mac is the last member, and ends the head as shown. It is HMAC-SHA256 under HKDF-SHA256
 * of the data key (the salt above; domain "apr2 seal 2 mac", empty context), over SHA-256
 * of (numbers: 8 bytes, little-endian; text: its length and its bytes; crypto/content.h):
 *
 *     domain "apr2 seal 2"
 *     SHA-256 of the bytes of the head, up to and including "mac":"
 *     the content's components metadata and licence
 *     number of side files; of each, in their order: text name, text type, size
 *     number of tensors; of each, in their order: text name, text dtype, number of
 *     dimensions, dimensions, size
 *     number of prov frames; the size of each one's head; number of signatures
 *
 * A head may have an outer signature, for readers without a key. Then it ends in
 *
 *     "mac":"64","key":"16","signature":"128"}
 *
 * key is the id of a signing key as in crypto/signature.h. signature is Ed25519ph
 * (crypto/keys.h) over: domain "apr2 seal 2 signature", the 32 bytes of the public key, the
 * SHA-256 that is the input of the mac, the mac.
 *
 * The mac binds everything that stays readable, and stanzas of unknown types, to the sealed
 * items. Whoever opens a seal knows the data key and can make another mac, but not another
 * signature. Neither covers the sealed bytes themselves; a signature inside the seal
 * does.
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
#include "crypto/digest.h"
#include "crypto/kdf.h"
#include "crypto/keys.h"
#include "crypto/seal/identity.h"
#include "model/model.h"

#define SKEY_DATA 32
#define SKEY_SALT 32
#define SKEY_WRAPPED (SKEY_DATA + AEAD_TAG)
#define SKEY_COMMITMENT 32
#define SKEY_STANZAS IDENTITY_MOST
#define SKEY_HEAD ((size_t)1 << 20) /* maximum bytes of a head */

struct stanza {
	bool password;                /* argon2id; otherwise x25519 */
	uint8_t key[AGREE_BYTES];     /* x25519 */
	uint8_t salt[ARGON2ID_SALT];  /* argon2id */
	struct argon2id_cost cost;
	uint8_t commitment[SKEY_COMMITMENT];
	uint8_t wrapped[SKEY_WRAPPED];
};

struct skey {
	uint8_t salt[SKEY_SALT];
	struct stanza stanzas[SKEY_STANZAS]; /* of known types */
	size_t n;
	size_t unknown;                      /* stanzas of other types */
	struct digest head;                  /* of its text up to the mac's digits */
	uint8_t mac[HMAC_BYTES];
	bool has_outer;                      /* there is an outer signature */
	uint8_t outer_key[KEY_ID_BYTES];
	uint8_t outer[KEY_SIGNATURE_BYTES];
};

/* The keys to open a model with: identities, or a password (which may be empty; NULL p:
 * none). */
struct openers {
	struct identities identities;
	struct secret password;
};
void openers_free(struct openers *o);

/* Append a stanza to s, whose salt is set. pair is the secret half of the stanza's own pair,
 * used for nothing else; salt is that of the password. Both are random, except in tests.
 * 0 or -1. */
int skey_add_recipient(struct skey *s, const uint8_t data[SKEY_DATA],
                       const uint8_t recipient[AGREE_BYTES],
                       const uint8_t pair[AGREE_BYTES], struct err *e);
int skey_add_password(struct skey *s, const uint8_t data[SKEY_DATA],
                      const void *password, size_t n, const uint8_t salt[ARGON2ID_SALT],
                      struct argon2id_cost cost, struct err *e);

/* The data key: 0, or -1 with E005 if nothing in o opens it. A wrong passphrase, a wrong
 * identity and a changed stanza have the same message. */
int skey_open(const struct skey *s, const struct openers *o, uint8_t data[SKEY_DATA],
              const char *where, struct err *e);

/* Fill s->head when all stanzas are there. skey_parse fills it for a head that is read. */
int skey_hash_head(struct skey *s, struct err *e);

/* The digest that the mac and the outer signature cover: of s, whose head is hashed, a plan,
 * and the components metadata and licence of its content. 0 or -1. */
int skey_digest(const struct skey *s, const struct model *m, const struct components *c,
                struct digest *d, struct err *e);

/* The mac over d. s->mac is not used. 0 or -1. */
int skey_mac(const struct skey *s, const uint8_t data[SKEY_DATA], const struct digest *d,
             uint8_t mac[HMAC_BYTES], struct err *e);

/* Sign d and s->mac, which is final. 0 or -1. */
int skey_sign(struct skey *s, const struct digest *d, const struct key_secret *k,
              struct err *e);
/* True if s has an outer signature that is valid for d under this key. */
bool skey_verify(const struct skey *s, const struct digest *d, const struct key_public *k);

/* Append the head as text to b. Its length depends only on the stanzas and has_outer. */
int skey_write(const struct skey *s, struct buf *b, struct err *e);

/* Read a head. E003: another version; E002: any other fault. */
int skey_parse(const void *head, size_t n, struct skey *s, const char *where,
               struct err *e);

#endif
