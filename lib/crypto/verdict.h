/* verdict: the signatures of a model, kept as they pass, and whether one of them is by a
 * key that is trusted, holds, and says what was asked for. All zero is one that has seen
 * nothing.
 */
#ifndef CRYPTO_VERDICT_H
#define CRYPTO_VERDICT_H

#include "crypto/signature.h"
#include "crypto/trusted.h"
#include "model/flow.h"

/* What a signature must say to be taken; NULL: anything. */
struct verdict_wants {
	enum signature_scope scope;
	const char *name;       /* exactly this name */
	const char *not_before; /* a date, and none before this one */
};

struct verdict {
	struct verdict_frame *frames;
	size_t n, cap;
	/* Once one has held: which, and whose. */
	size_t held;
	const struct trusted_key *by;
};

/* A sign frame begins; some bytes of its body. 0 or -1. */
int verdict_sign(struct verdict *v, const struct item *in, struct err *e);
int verdict_add(struct verdict *v, const uint8_t *p, size_t n, struct err *e);

/* All of the content c has passed, and at least one frame. One signature by a trusted key
 * is enough; every key that has the id of a signature is tried, because whoever makes a
 * key chooses its id. 0; or -1 and E006: what is wrong with the first that is by one, or
 * who has signed. */
int verdict_give(struct verdict *v, const struct content *c, const struct trusted *keys,
                 const struct verdict_wants *wants, struct err *e);

/* Send the frame that held, as the only one of a model; a note of the sink counts the
 * others. 0 or -1. */
int verdict_send(const struct verdict *v, struct sink *sink, struct err *e);

/* The signature that held; verdict_give has returned 0. */
const struct signature *verdict_signature(const struct verdict *v);

void verdict_free(struct verdict *v);

#endif
