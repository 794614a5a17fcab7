/* gather: a model that flows by, kept, so that it can be computed at the end: its bytes go into a
 * spool, which is mapped then.
 */
#ifndef LOAD_GATHER_H
#define LOAD_GATHER_H

#include "core/spool.h"
#include "model/flow.h"
#include "model/weights.h"

struct gather {
	struct weights weights;  /* complete after gather_finish; valid as long as the plan */
	struct spool spool;
	uint64_t *tensors, *blobs; /* where each begins in the spool */
	bool *kept;              /* blobs */
};

/* plan: of the source, which outlives the gather. 0 or -1; gather_free in any case. */
int gather_begin(struct gather *g, const struct source *source, struct err *e);
void gather_free(struct gather *g);

/* What a flow's hooks get. placed: the tensor's bytes are at item->place of the file of this
 * name. 0 or -1. */
int gather_item(struct gather *g, const struct item *item, struct err *e);
int gather_data(struct gather *g, const struct item *item, const uint8_t *p, size_t n,
                struct err *e);
int gather_placed(struct gather *g, const struct item *item, const char *name, struct err *e);

/* All has come. 0 or -1. */
int gather_finish(struct gather *g, struct err *e);

#endif
