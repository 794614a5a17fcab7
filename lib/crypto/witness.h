/* witness: computes the digests of a model's content while the model flows by.
 *
 * It gets what a flow's hooks get (model/flow.h): the plan, each item, its bytes, its end.
 * The result is a finished struct content, to be signed or checked.
 */
#ifndef CRYPTO_WITNESS_H
#define CRYPTO_WITNESS_H

#include "crypto/body.h"
#include "crypto/content.h"
#include "model/flow.h"

/* The digest of a tensor or side file, and the entry that it belongs to. */
struct witness_body {
	struct digest digest;
	struct content_list *list;
	size_t at;
};

struct witness {
	struct content content;
	const struct model *plan;
	struct body_digest body;  /* tensors and side files */
	struct witness_body *bodies; /* of all items so far, in their order */
	size_t bodies_seen, bodies_most;
	struct sha256 value;      /* metadata values in blobs, and the licence */
	const struct meta **keys; /* of the plan's value blobs, in their order */
	bool plain;               /* the current item goes into value */
};

/* plan is the flow's, and must outlive the witness. jobs: threads that hash. Call
 * witness_free even if this fails. */
int witness_begin(struct witness *w, const struct model *plan, unsigned jobs,
                  struct err *e);
int witness_item(struct witness *w, const struct item *item, struct err *e);
int witness_data(struct witness *w, const struct item *item, const uint8_t *p, size_t n,
                 struct err *e);
/* The bytes of a tensor, from its place (item->place). name is that of the file; it and the
 * descriptor must stay until witness_finish or witness_free. */
int witness_placed(struct witness *w, const struct item *item, const char *name,
                   struct err *e);
int witness_item_end(struct witness *w, const struct item *item, struct err *e);

/* Complete the content: w->content.root is known then. */
int witness_finish(struct witness *w, struct err *e);
void witness_free(struct witness *w);

#endif
