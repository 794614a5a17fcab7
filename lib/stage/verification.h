/* verification: the hooks of a flow that verifies the signature of a model's content, and
 * sends on only what the signature covers.
 */
#ifndef STAGE_VERIFICATION_H
#define STAGE_VERIFICATION_H

#include "core/buf.h"
#include "crypto/authentic.h"
#include "crypto/trusted.h"
#include "crypto/verdict.h"
#include "crypto/witness.h"
#include "model/flow.h"

/* The caller sets the first group of members; the rest is initially all zero. */
struct verification {
	const struct trusted *keys;
	const struct verdict_wants *wants;
	void (*note)(const char *text); /* receives notes for the user; or NULL */
	unsigned jobs;       /* threads that hash */
	bool bytes_signed;   /* an APR version 1 file with a signature over its bytes */

	/* Results: */
	bool sealed;                /* the model is sealed, and */
	struct authentic_seal seal; /* this signature is valid; otherwise */
	struct verdict verdict;     /* this one, over */
	struct witness witness;     /* this content */

	/* During the run: */
	struct model plan;
	const char *name;    /* of the source */
	struct buf dropped;  /* unsigned members of the plan's source */
};

/* Fill f with the hooks that verify a model on its way to a sink, or to none, which must be those of
 * flow_run: the sink gets its end only if the signature is valid, else E006. name is that of the
 * source. */
void verification_hooks(struct verification *v, const char *name, struct flow *f);

/* Read a sealed source to its end and verify its outer signature. 0, or -1 with E006 or an
 * error of the source. */
int verification_of_seal(struct verification *v, struct source *source, struct err *e);

/* Discards the results, so that the model can be read again. Also frees. */
void verification_reset(struct verification *v);

#endif
