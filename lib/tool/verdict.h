/* verdict: the signatures of a model, kept as they pass, and whether one of them is by a
 * key that is trusted and holds. All zero is one that has seen nothing.
 */
#ifndef TOOL_VERDICT_H
#define TOOL_VERDICT_H

#include "crypto/signature.h"
#include "model/flow.h"
#include "tool/trusted.h"

struct verdict {
	struct verdict_frame *frames;
	size_t n, cap;
	char by[KEY_ID_TEXT]; /* whose signature held */
};

/* A sign frame begins; some bytes of its body. 0 or -1. */
int verdict_sign(struct verdict *v, const struct item *in, struct err *e);
int verdict_add(struct verdict *v, const uint8_t *p, size_t n, struct err *e);

/* All of the content c has passed, and at least one frame. One signature by a trusted key
 * is enough. 0; or -1 and E006: what is wrong with the first that is by one, or who has
 * signed. */
int verdict_give(struct verdict *v, const struct content *c, const struct trusted *keys,
                 enum signature_scope scope, struct err *e);
void verdict_free(struct verdict *v);

#endif
