/* authentic: did the holder of a trusted key say what a model says? For tools that use the
 * metadata of a model without passing the model on.
 */
#ifndef CRYPTO_AUTHENTIC_H
#define CRYPTO_AUTHENTIC_H

#include "crypto/digest.h"
#include "crypto/trusted.h"
#include "model/flow.h"

/* Whose outer signature holds, and for what (crypto/seal/skey.h). */
struct authentic_seal {
	const struct trusted_key *by;
	struct digest digest;
};

/* Read source to its end: a signature over all of its content must be by one of the keys. 0;
 * or -1 with E006 if none is, and any fault of the source. */
int authentic_content(struct source *source, const struct trusted *keys, struct err *e);

/* Read the start of a sealed source: its outer signature must be by one of the keys. It
 * covers metadata, licence, the list of tensors and who can open it, and no sealed byte. 1,
 * or 0 if source has no more items; -1 with E006. */
int authentic_outer(struct source *source, const struct trusted *keys,
                    struct authentic_seal *a, struct err *e);

/* The same, and read source to its end: a model that was cut short is not one. 0 or -1. */
int authentic_sealed(struct source *source, const struct trusted *keys,
                     struct authentic_seal *a, struct err *e);

#endif
