/* verdict: collects the signatures of a model as they pass, and decides if one of them is
 * valid, by a trusted key, and has the statement wanted. Initially all zero.
 */
#ifndef CRYPTO_VERDICT_H
#define CRYPTO_VERDICT_H

#include "crypto/signature.h"
#include "crypto/trusted.h"
#include "model/flow.h"

/* What the statement of a signature must say; NULL: anything. */
struct verdict_wants {
	enum signature_scope scope;
	const char *name;       /* exactly this name */
	const char *not_before; /* this date or a later one */
};

struct verdict {
	struct verdict_frame *frames;
	size_t n, cap;
	/* The valid signature and its key, once there is one. */
	size_t held;
	const struct trusted_key *by;
};

/* Begin a sign frame; add bytes of its body. 0 or -1. */
int verdict_sign(struct verdict *v, const struct item *in, struct err *e);
int verdict_add(struct verdict *v, const uint8_t *p, size_t n, struct err *e);

/* Decide, after all of the content c and at least one frame. One signature by a trusted key
 * is enough. Every key with the id of a signature is tried, because the maker of a key
 * chooses its id. 0, or -1 with E006: the fault of the first signature by a trusted key, or
 * the keys that signed. */
int verdict_give(struct verdict *v, const struct content *c, const struct trusted *keys,
                 const struct verdict_wants *wants, struct err *e);

/* Send the valid frame as the only one of the model; a note of the sink counts the others.
 * 0 or -1. */
int verdict_send(const struct verdict *v, struct sink *sink, struct err *e);

/* The valid signature, after verdict_give returned 0. */
const struct signature *verdict_signature(const struct verdict *v);

void verdict_free(struct verdict *v);

#endif
