/* witnessed: a source whose content is digested (crypto/witness.h) as another one pulls it. The
 * root is known when the source has ended.
 */
#ifndef CRYPTO_WITNESSED_H
#define CRYPTO_WITNESSED_H

#include "crypto/witness.h"

struct witnessed {
	struct source source;  /* the same items as from; the caller pulls this one */
	struct source *from;   /* not owned */
	struct witness witness;
	struct item item;      /* the current one; */
	bool open;             /* its body has not ended */
	bool ended;            /* witness.content.root is known */
};

/* jobs: threads that hash. 0 or -1; witnessed_free is due in any case. */
int witnessed_begin(struct witnessed *w, struct source *from, unsigned jobs, struct err *e);
void witnessed_free(struct witnessed *w);

#endif
