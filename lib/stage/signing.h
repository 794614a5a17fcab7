/* signing: the hooks of a flow that signs the content of a model. */
#ifndef STAGE_SIGNING_H
#define STAGE_SIGNING_H

#include "crypto/signature.h"
#include "crypto/witness.h"
#include "model/flow.h"

/* The caller sets the first group of members; the rest is initially all zero. */
struct signing {
	const struct key_secret *key;
	const struct statement *says;
	void (*note)(const char *text); /* receives notes for the user; or NULL */
	unsigned jobs;        /* threads that hash */

	/* As the model flows: */
	struct witness witness;
	struct model plan;    /* the signed model, which the witness reads */
	uint64_t signatures;  /* number of signatures that the model had before */
};

/* Fill f with the hooks; what s points to outlives the flow. Call signing_free afterwards. */
void signing_hooks(struct signing *s, struct flow *f);
void signing_free(struct signing *s);

#endif
