/* prune: some blocks of a model left out, and the rest numbered anew.
 *
 * A tensor belongs to block N by "blk.N." in its name. What is left is renamed to
 * close the gaps, and ARCHITECTURE.block_count is what is left. Names and meaning
 * are llama-quantize's; a block that is not there is a fault here.
 */
#ifndef QUANT_PRUNE_H
#define QUANT_PRUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "model/model.h"
#include "quant/imatrix.h"

/* All zero leaves nothing out. */
struct prune {
	uint64_t *blocks; /* ascending, each once */
	size_t n, cap;
};

/* "3,4,7". ERR_USAGE where it is no list of numbers. */
int prune_parse(struct prune *p, const char *list, struct err *e);

/* Does a tensor of this name stay? */
bool prune_keeps(const struct prune *p, const char *name);

/* Leave out and rename the tensors of m. ERR_USAGE if a block has no tensor, or none
 * is left. */
int prune_apply(const struct prune *p, struct model *m, struct err *e);

/* Lower the block_count of m, at the end of its keys. ERR_INVALID if it has less. */
int prune_count(const struct prune *p, struct model *m, struct err *e);

/* Let the entries of an importance matrix follow: each will be found by the new name
 * of its tensor, and what went by none. 0 or E008. */
int prune_imatrix(const struct prune *p, struct imatrix *x, struct err *e);

/* A key of m that lists something for each block, so that its items no longer match,
 * or NULL. m: before prune_apply. */
const char *prune_list(const struct prune *p, const struct model *m);

void prune_free(struct prune *p);

#endif
