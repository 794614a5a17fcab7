/* witness: watches a model flow by and computes the digests of its content.
 *
 * It is told what a flow's hooks are told (model/flow.h): the plan, each item,
 * its bytes, its end. What it has seen is then a finished struct content, to be
 * signed or checked.
 */
#ifndef CRYPTO_WITNESS_H
#define CRYPTO_WITNESS_H

#include "crypto/body.h"
#include "crypto/content.h"
#include "model/flow.h"

struct witness {
	struct content content;
	const struct model *plan;
	struct body_digest body;  /* tensors and side files */
	struct sha256 value;      /* metadata values in blobs, and the licence */
	const struct meta **keys; /* of the plan's value blobs, in their order */
	bool plain;               /* the current item goes into value */
};

/* plan: the flow's, which must outlive the witness. jobs: threads that hash.
 * witness_free is called in every case. */
int witness_begin(struct witness *w, const struct model *plan, unsigned jobs,
                  struct err *e);
int witness_item(struct witness *w, const struct item *item, struct err *e);
int witness_data(struct witness *w, const struct item *item, const uint8_t *p, size_t n,
                 struct err *e);
/* The bytes of a tensor, from its place (item->place); name: of the file. */
int witness_placed(struct witness *w, const struct item *item, const char *name,
                   struct err *e);
int witness_item_end(struct witness *w, const struct item *item, struct err *e);

/* The content is complete: w->content.root is known. */
int witness_finish(struct witness *w, struct err *e);
void witness_free(struct witness *w);

#endif
