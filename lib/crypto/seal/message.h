/* message: a short text sealed for a model's owner, or for the user who asked. It is the
 * protocol "x25519-aes256gcm-v1" of APR 1.3.0, section 4.1.4, which does not define a layout:
 *
 *     4         "APRM"
 *     1         2, the version
 *     1         flags: 1 asks for an answer, 2 is an answer
 *     2         0
 *    32         the public half of a pair made for this message alone
 *    32         the commitment
 *     n + 16    AES-256-GCM of the words, and its tag; if it asks for an answer, the reply
 *               key and the answer secret, 64 bytes, come before the words. The 72 bytes
 *               in front are additional authenticated data; the nonce is zeros
 *
 * HKDF-SHA256 gives 64 bytes: the key, and the commitment, which a reader compares before
 * it decrypts. Its input is the X25519 shared secret of the pair and the recipient, in an
 * answer followed by the question's answer secret. No salt; domain "apr message 2";
 * context: the first 40 bytes and the recipient's public half (hkdf_context,
 * crypto/kdf.h).
 *
 * A question carries the public half of a reply pair and an answer secret. The answer
 * secret never leaves the two sides, so that only someone who opened the question can make
 * an answer that opens. An identity with an answer secret opens answers only.
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
#define MESSAGE_WORDS ((size_t)4 << 20) /* maximum bytes */
#define MESSAGE_HEAD 72
#define MESSAGE_REPLY (2 * AGREE_BYTES)
#define MESSAGE_BYTES (MESSAGE_HEAD + MESSAGE_REPLY + MESSAGE_WORDS + AEAD_TAG)

/* Append n bytes to b, sealed. reply is the recipient of the answer, with its secret; NULL
 * asks for no answer. pair is the secret half of the message's own pair, random except in
 * tests. More than MESSAGE_WORDS is ERR_USAGE. 0 or -1. */
int message_seal(const struct addressee *to, const struct addressee *reply,
                 const uint8_t pair[AGREE_BYTES], const void *words, size_t n,
                 struct buf *b, struct err *e);

/* Open a message of n bytes: the words and, if *asks, the recipient of the answer. Both are
 * allocated here; the caller frees them even on failure. E001: not a message; E003: another
 * version; E002: too short or too long; E005: no identity opens it. A wrong key and a
 * changed byte have the same message. */
int message_open(const struct identities *i, const uint8_t *p, size_t n,
                 struct secret *words, bool *asks, struct addressee *reply,
                 const char *where, struct err *e);

#endif
