/* derivation: the memory that deriving a key from a passphrase may take in this thread. */
#ifndef CRYPTO_DERIVATION_H
#define CRYPTO_DERIVATION_H

#include <stdint.h>

/* From now on at most this many bytes; 0: what the derivation itself allows. */
void derivation_limit(uint64_t bytes);

/* The limit, or 0. */
uint64_t derivation_allows(void);

#endif
