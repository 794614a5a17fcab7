/* agree: a secret shared by two key pairs: X25519 (RFC 7748). Only agree.c includes the
 * library.
 *
 * A public half may come from anybody. Secret halves and shared secrets are kept in memory
 * as crypto/secret.h describes.
 */
#ifndef CRYPTO_AGREE_H
#define CRYPTO_AGREE_H

#include <stdint.h>

#include "core/err.h"

#define AGREE_BYTES 32 /* of either half, and of the shared secret */

/* A new random secret half and its public half: 0, or -1 with E008. */
int agree_new(uint8_t secret[AGREE_BYTES], uint8_t public[AGREE_BYTES], struct err *e);

/* The public half of a secret half. 0, or -1 with E008. */
int agree_public(const uint8_t secret[AGREE_BYTES], uint8_t public[AGREE_BYTES],
                 struct err *e);

/* The secret shared with another's public half. A public half of small order, which gives
 * zeros with every secret, is refused: E005, and nothing is released. 0 or -1. */
int agree(const uint8_t secret[AGREE_BYTES], const uint8_t public[AGREE_BYTES],
          uint8_t out[AGREE_BYTES], struct err *e);

#endif
