/* authentic: checks that the holder of a trusted key signed a model, for tools that use a
 * model's metadata without passing the model on.
 */
#ifndef CRYPTO_AUTHENTIC_H
#define CRYPTO_AUTHENTIC_H

#include "crypto/digest.h"
#include "crypto/trusted.h"
#include "model/flow.h"

/* A valid outer signature: its key, and what it covers (crypto/seal/skey.h). */
struct authentic_seal {
	const struct trusted_key *by;
	struct digest digest;
};

/* Read source to its end, and require a signature over all of its content by one of the
 * keys. 0, or -1 with E006 if there is none, or with a fault of the source. */
int authentic_content(struct source *source, const struct trusted *keys, struct err *e);

/* Read the start of a sealed source, and require an outer signature by one of the keys. It
 * covers the metadata, the licence, the list of tensors and the list of those who can open
 * the model, but not the sealed bytes. 1, or 0 if source has no more items; -1 with E006. */
int authentic_outer(struct source *source, const struct trusted *keys,
                    struct authentic_seal *a, struct err *e);

/* The same, and read source to its end, so that a truncated model is refused. 0 or -1. */
int authentic_sealed(struct source *source, const struct trusted *keys,
                     struct authentic_seal *a, struct err *e);

#endif
