/* hessians: sums of x xᵀ over the activations of a text, for --by sparsegpt (prune/update.h).
 *
 * They are found when the result asks for them: the text is computed with the model, as it was, again
 * whenever memory has no sum for a matrix, and then as many as fit into HESSIANS_BYTES are found at
 * once.
 */
#ifndef CLI_PRUNE_HESSIANS_H
#define CLI_PRUNE_HESSIANS_H

#include "cli/prune/measure.h"
#include "infer/watch.h"

#define HESSIANS_BYTES ((uint64_t)1 << 30) /* unless a single one has more */

/* All zero is closed. */
struct hessians {
	struct measure measure;
	const struct prune_plan *plan;
	unsigned jobs;
	struct hessian {
		struct linear_id id[WATCHED]; /* matrices with the same input */
		size_t count;
		double *h;
		size_t n;
	} *all;
	size_t count, cap;
	uint64_t bytes;
	enum { LINEAR_NEW, LINEAR_FOUND, LINEAR_LEFT } *state; /* of each block and role, in a run */
	bool *used;               /* tensors of the plan whose sum has been given */
	const char *asked;
	struct err *e;
};

/* Open the model, and let the plan ask for sums. The plan must outlive it, and its result is read
 * before hessians_close. 0 or -1; hessians_close in any case. */
int hessians_open(struct hessians *h, struct prune_plan *plan, const struct prune_asked *a, unsigned jobs,
                  struct err *e);
void hessians_close(struct hessians *h);

#endif
