/* pruned: a pruned model as a source: side files, licence and records as they were, tensors computed
 * as they are read.
 */
#ifndef PRUNE_PRUNED_H
#define PRUNE_PRUNED_H

#include "model/flow.h"
#include "prune/plan.h"

/* The plan stays the caller's and must outlive the source. NULL with e filled. */
struct source *pruned_source(struct prune_plan *p, unsigned jobs, struct err *e);

#endif
