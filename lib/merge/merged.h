/* merged: the result of a merge as a source: side files, licence and metadata of the reference, and
 * tensors that are computed as they are read.
 */
#ifndef MERGE_MERGED_H
#define MERGE_MERGED_H

#include "merge/plan.h"
#include "model/flow.h"

/* The plan and its inputs stay the caller's and must outlive the source. NULL with e filled. */
struct source *merged_source(struct merge_plan *p, unsigned jobs, struct err *e);

#endif
