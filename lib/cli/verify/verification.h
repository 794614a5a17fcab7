/* verification: the hooks of a flow that verifies the signature of a model's content, and
 * sends on only what the signature covers.
 */
#ifndef CLI_VERIFY_VERIFICATION_H
#define CLI_VERIFY_VERIFICATION_H

#include "core/buf.h"
#include "crypto/authentic.h"
#include "crypto/trusted.h"
#include "crypto/verdict.h"
#include "crypto/witness.h"

/* The caller sets the first group of members; the rest is initially all zero. */
struct verification {
	const struct trusted *keys;
	const struct verdict_wants *wants;
	unsigned jobs;       /* threads that hash */
	bool bytes_signed;   /* an APR version 1 file with a signature over its bytes */

	/* Results of verification_run: */
	bool sealed;                /* the model is sealed, and */
	struct authentic_seal seal; /* this signature is valid; otherwise */
	struct verdict verdict;     /* this one, over */
	struct witness witness;     /* this content */

	/* During the run: */
	struct model plan;
	const char *name;    /* of the source */
	struct buf dropped;  /* unsigned members of the plan's source */
};

/* Reads source to its end, verifies it, and sends it to sink unless sink is NULL. The
 * sink gets its end only if the signature is valid. If the model is sealed, the outer
 * signature is verified and nothing is sent. 0, or -1 with E006 or an error of the source
 * or sink. */
int verification_run(struct verification *v, struct source *source, struct sink *sink,
                     bool progress, struct err *e);

/* Discards the results, so that the model can be read again. Also frees. */
void verification_reset(struct verification *v);

#endif
