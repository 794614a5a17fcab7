/* thin: matrices that a file stores without their zeros, kept so in memory (kernels/thin.h).
 *
 * Products with fewer than DOT_MANY rows of activations use them as they are. For more, some rows at
 * a time are expanded and multiplied as the dense matrix is, with the same bits.
 */
#ifndef CPU_THIN_H
#define CPU_THIN_H

#include "core/map.h"
#include "infer/ops.h"
#include "kernels/thin.h"

struct thin_set {
	struct thin *of;
	size_t count;
	struct map map;      /* of all matrices */
	struct map dense;    /* room for the rows that are expanded at a time */
	unsigned threads;
};

/* Make the matrices thin that lie in tensors with a sparse form (model/sparse.h), if the level in use
 * gains from it. The memory of the weights is given back, except that of tables, as by repack. 0, or
 * -1 if memory runs out; then no matrix has changed. thin_close is due in any case. */
int thin_open(struct thin_set *s, const struct device_options *o, struct err *e);
void thin_close(struct thin_set *s);

/* Expand rows of m, which is thin, from first on: a dense matrix in s->dense, with as many rows as fit
 * there. */
struct matrix thin_expand(struct thin_set *s, const struct matrix *m, size_t first);

#endif
