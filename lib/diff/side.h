/* side: one of two models that are compared: what comes before its tensors, and where these
 * are. Files and long values go by as digests; the bytes of values, of a vocabulary, and of tensors
 * without a place in a file, stay in a spool.
 */
#ifndef DIFF_SIDE_H
#define DIFF_SIDE_H

#include "crypto/digest.h"
#include "diff/extent.h"
#include "model/flow.h"

#define SIDE_VOCABULARY "tokenizer.json"
#define SIDE_VOCABULARY_BYTES (32u << 20) /* a longer one is compared only as a file */

struct side {
	struct source *source;
	const struct model *plan;  /* of the source */
	bool *used;                /* tensors that are compared, by index; NULL: all */
	bool keeps;                /* tensors are kept for later; else `tensor` gets them */

	struct extent *tensors;    /* of the plan, if kept */
	struct side_blob {
		uint64_t at;       /* in the spool, for a value or a file that is kept */
		struct digest digest;
	} *blobs;
	struct digest licence;
	struct spool spool;
	struct sha256 hash;        /* of the item that is coming */

	/* What a side that does not keep its tensors does with them; an extent is there
	 * instead of bytes if the tensor has a place. 0 or -1. */
	int (*begin)(void *ctx, size_t tensor, struct err *e);
	int (*bytes)(void *ctx, const uint8_t *p, size_t n, struct err *e);
	int (*placed)(void *ctx, const struct extent *x, struct err *e);
	int (*end)(void *ctx, size_t tensor, struct err *e);
	void *ctx;
};

/* 0 or -1; side_close in any case. The source must outlive the side. */
int side_open(struct side *s, struct source *source, struct err *e);
void side_close(struct side *s);

/* Whether blob i of the plan is such a vocabulary, whose bytes are kept. */
bool side_keeps_file(const struct side *s, size_t i);

/* The hooks of a flow over the source. After it, the side is complete. */
void side_hooks(struct side *s, struct flow *f);

#endif
