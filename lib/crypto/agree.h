/* agree: a secret that two keys have in common: X25519 (RFC 7748). The seam:
 * agree.c alone knows which library computes it.
 *
 * The public half of a key may come from anybody. Secret halves and what is agreed
 * lie in memory as crypto/secret.h describes.
 */
#ifndef CRYPTO_AGREE_H
#define CRYPTO_AGREE_H

#include <stdint.h>

#include "core/err.h"

#define AGREE_BYTES 32 /* of either half, and of what is agreed */

/* A new secret half by chance, and its public half: 0, or -1 with E008. */
int agree_new(uint8_t secret[AGREE_BYTES], uint8_t public[AGREE_BYTES], struct err *e);

/* The public half of a secret half. 0, or -1 with E008. */
int agree_public(const uint8_t secret[AGREE_BYTES], uint8_t public[AGREE_BYTES],
                 struct err *e);

/* What secret has in common with another's public half. A public half with which
 * every secret agrees on zeros is refused: E005, nothing is released. 0 or -1. */
int agree(const uint8_t secret[AGREE_BYTES], const uint8_t public[AGREE_BYTES],
          uint8_t out[AGREE_BYTES], struct err *e);

#endif
