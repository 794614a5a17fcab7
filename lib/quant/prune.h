/* prune: removes some blocks of a model and renumbers the rest.
 *
 * A tensor belongs to block N by "blk.N." in its name. The other blocks are renamed to
 * close the gaps, and ARCHITECTURE.block_count becomes their number; lists in the metadata
 * that have an item for each block are shortened. Names and meaning are llama-quantize's,
 * which leaves these lists unchanged; a block that does not exist is an error here.
 */
#ifndef QUANT_PRUNE_H
#define QUANT_PRUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "model/model.h"
#include "quant/imatrix.h"

/* All zero removes nothing. */
struct prune {
	uint64_t *blocks; /* ascending, each once */
	size_t n, cap;
};

/* "3,4,7". ERR_USAGE if text is not a list of numbers. */
int prune_parse(struct prune *p, const char *list, struct err *e);

/* True if a tensor of this name stays. */
bool prune_keeps(const struct prune *p, const char *name);

/* Remove and rename the tensors of m. ERR_USAGE if a block has no tensor, or no block
 * is left. */
int prune_apply(const struct prune *p, struct model *m, struct err *e);

/* Lower the block_count of m, at the end of its keys, and shorten each list of the
 * architecture that has an item for each block. ERR_INVALID if it has fewer blocks. */
int prune_keys(const struct prune *p, struct model *m, struct err *e);

/* Let the entries of an importance matrix follow: each gets the new name
 * of its tensor, and entries of removed tensors go. 0 or E008. */
int prune_imatrix(const struct prune *p, struct imatrix *x, struct err *e);

/* A key of m that is or may be such a list and that prune_keys cannot shorten: a list of
 * lists, or one that is in a blob. NULL if there is none. Call it before prune_keys. */
const char *prune_list(const struct prune *p, const struct model *m);

void prune_free(struct prune *p);

#endif
