/* message: a few words sealed for a model's owner, or for who asked; the protocol
 * "x25519-aes256gcm-v1" of APR 1.3.0, section 4.1.4, whose layout is ours:
 *
 *     4         "APRM"
 *     1         1, the version
 *     1         1 if a reply key is inside, else 0
 *     2         0
 *    32         the public half of a pair made for this message alone
 *     n + 16    AES-256-GCM of the reply key (32 bytes, if there is one) and the words,
 *               and its tag. The 40 bytes before are bound as further data; the nonce
 *               is zeros; the key is HKDF-SHA256 of what pair and recipient agree on,
 *               salt: the public halves of both (64 bytes), info: the protocol's name
 *
 * The reply key is the public half of a pair that the sender keeps for the answer. It is
 * known to the two of them, so that an answer under it is by who could open the question.
 */
#ifndef CRYPTO_SEAL_MESSAGE_H
#define CRYPTO_SEAL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "crypto/aead.h"
#include "crypto/seal/identity.h"

#define MESSAGE_PROTOCOL "x25519-aes256gcm-v1"
#define MESSAGE_WORDS ((size_t)4 << 20) /* bytes, at most */
#define MESSAGE_HEAD 40
#define MESSAGE_BYTES (MESSAGE_HEAD + AGREE_BYTES + MESSAGE_WORDS + AEAD_TAG)

/* Seal n bytes, and a reply key (NULL: none), appended to b. pair: the secret half of the
 * message's own pair, by chance, but in tests. More than MESSAGE_WORDS is ERR_USAGE. 0 or
 * -1. */
int message_seal(const uint8_t recipient[AGREE_BYTES], const uint8_t *reply,
                 const uint8_t pair[AGREE_BYTES], const void *words, size_t n,
                 struct buf *b, struct err *e);

/* Open a message of n bytes: words, allocated here, to be freed in every case, and the
 * reply key, if *has_reply. E001: no message, E003: of another version, E002: too short or
 * too long, E005: no identity opens it. */
int message_open(const struct identities *i, const uint8_t *p, size_t n,
                 struct secret *words, bool *has_reply, uint8_t reply[AGREE_BYTES],
                 const char *where, struct err *e);

#endif
