/* verdict: the signatures of a model, kept as they pass, and whether one of them is by a
 * key that is trusted, holds, and says what was asked for. All zero is one that has seen
 * nothing.
 */
#ifndef REPORT_VERDICT_H
#define REPORT_VERDICT_H

#include "core/json.h"
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

/* Send the frame that held, as the only one of a model. 0 or -1. */
int verdict_send(const struct verdict *v, struct sink *sink, struct err *e);

/* Tell a person which signature held for the model of that name: whose, with the whole
 * key, for what root, and what the signer says. Or as an object on standard output. */
void verdict_tell(const struct verdict *v, const char *name, const struct digest *root,
                  enum signature_scope scope);
int verdict_print(const struct verdict *v, const char *name, const struct digest *root,
                  enum signature_scope scope, struct err *e);

/* The name of a file as JSON: escaped if it is not text. */
json_t *verdict_file_name(const char *path);

void verdict_free(struct verdict *v);

#endif
