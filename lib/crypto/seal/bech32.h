/* bech32: keys as text that a person can copy (BIP 173, without its limit of 90
 * characters): a name, "1", the bytes in groups of five bits, and six characters of
 * checksum.
 */
#ifndef CRYPTO_SEAL_BECH32_H
#define CRYPTO_SEAL_BECH32_H

#include <stddef.h>
#include <stdint.h>

/* Decode n characters into 32 bytes. The text must begin with name (lower case) and "1", and
 * be all lower case or all upper case. 0, or -1 for any other text. It uses only the stack,
 * and wipes what it used. */
#define BECH32_BYTES 32
int bech32_read(const char *text, size_t n, const char *name, uint8_t out[BECH32_BYTES]);

/* Encode 32 bytes in lower case, terminated: a name of at most 16 characters, and 59
 * more. */
#define BECH32_TEXT 80
void bech32_write(const char *name, const uint8_t in[BECH32_BYTES], char dst[BECH32_TEXT]);

#endif
