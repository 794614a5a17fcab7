/* seal: models are sealed by a sink in front of another sink, and opened by a source behind
 * another source.
 *
 * Both hold back the items before the first tensor (crypto/seal/held.h) until the mac
 * (crypto/seal/skey.h) is made or checked. Before that, the sink sends no byte and the
 * source gives none.
 *
 * The seal does not authenticate frames that the plan does not announce, nor unknown
 * members of the plan: the sink drops such frames, the source drops both.
 */
#ifndef CRYPTO_SEAL_SEAL_H
#define CRYPTO_SEAL_SEAL_H

#include "crypto/seal/chunk.h"
#include "crypto/seal/skey.h"
#include "model/flow.h"

/* A sink that seals for inner, which the caller owns and which outlives it. skey has a salt
 * and all stanzas of the data key; its mac is made here. data is copied into memory as
 * crypto/secret.h describes. signer makes the outer signature, and outlives the sink; NULL
 * for none. Returns NULL with e filled on failure. */
struct sink *seal_sink(struct sink *inner, const struct skey *skey,
                       const uint8_t data[SKEY_DATA], const struct key_secret *signer,
                       struct err *e);

/* Read a sealed source up to its first tensor, without a key: s gets the head of SKEY, d the
 * digest that the outer signature signs. The first tensor and all items before it are
 * consumed. 1 if there may be more items, 0 at the end of source, or -1: E001 if the model
 * is not sealed, E002 if it is damaged. */
int seal_peek(struct source *inner, struct skey *s, struct digest *d, struct err *e);

/* A source that opens inner, which the caller owns and which outlives it, with one of the
 * openers. Its plan is the plan before sealing. E001: not sealed; E005: no key opens it, or
 * the mac is wrong. Returns NULL with e filled on failure. */
struct source *seal_source(struct source *inner, const struct openers *o,
                           void (*note)(const char *), struct err *e);

#endif
