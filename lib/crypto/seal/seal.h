/* seal: a model on its way into a seal, and out of it: a sink that seals what it is
 * given for another sink, and a source that opens what another source gives.
 *
 * Both hold back the first items (crypto/seal/held.h) until the mac (crypto/seal/skey.h)
 * can be made or checked: up to the first tensor. The sink sends no byte before that, nor
 * does the source give any.
 *
 * Frames that no plan announces, and members of a plan that are not known, are bound by
 * nothing: the sink drops the frames, the source both.
 */
#ifndef CRYPTO_SEAL_SEAL_H
#define CRYPTO_SEAL_SEAL_H

#include "crypto/seal/chunk.h"
#include "crypto/seal/skey.h"
#include "model/flow.h"

/* A sink that seals for inner, which stays the caller's and outlives it. skey: with a salt
 * and all stanzas of the data key; its mac is made here. data is copied into memory as
 * crypto/secret.h describes. signer makes the outer signature, and outlives the sink; NULL:
 * there is none. NULL with e filled. */
struct sink *seal_sink(struct sink *inner, const struct skey *skey,
                       const uint8_t data[SKEY_DATA], const struct key_secret *signer,
                       struct err *e);

/* Read the start of a sealed source, up to its first tensor, without a key: the head of
 * SKEY into s, and what its outer signature is made over into d. The first tensor and all
 * before it are used up. 1 if there may be more items, 0 at the end of source, or -1: E001
 * if the model is not sealed, E002. */
int seal_peek(struct source *inner, struct skey *s, struct digest *d, struct err *e);

/* A source that opens inner, which stays the caller's and outlives it, with one of the
 * openers. Its plan is that of before it was sealed. What is not sealed is E001, nothing
 * that opens it, or a seal that does not hold, E005. NULL with e filled. */
struct source *seal_source(struct source *inner, const struct openers *o,
                           void (*note)(const char *), struct err *e);

#endif
