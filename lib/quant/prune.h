/* prune: some blocks of a model left out, and the rest numbered anew.
 *
 * A tensor belongs to block N by "blk.N." in its name. What is left is renamed to
 * close the gaps, and ARCHITECTURE.block_count is what is left; so are the lists in the
 * metadata that have an item for each block. Names and meaning are llama-quantize's, which
 * leaves these lists as they are; a block that is not there is a fault here.
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

/* Lower the block_count of m, at the end of its keys, and shorten each list of the
 * architecture that has an item for each block. ERR_INVALID if it has less blocks. */
int prune_keys(const struct prune *p, struct model *m, struct err *e);

/* Let the entries of an importance matrix follow: each will be found by the new name
 * of its tensor, and what went by none. 0 or E008. */
int prune_imatrix(const struct prune *p, struct imatrix *x, struct err *e);

/* A key of m that is or may be such a list, and that prune_keys leaves as it is: a list of
 * lists, or one that lies in a blob. NULL: there is none. m: before prune_keys. */
const char *prune_list(const struct prune *p, const struct model *m);

void prune_free(struct prune *p);

#endif
