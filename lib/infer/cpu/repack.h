/* repack: matrices laid out anew for the vector unit (kernels/dot.h), in memory of large
 * pages, which is faster to read than a mapped file.
 */
#ifndef CPU_REPACK_H
#define CPU_REPACK_H

#include "core/map.h"
#include "infer/ops.h"

/* Move the matrices that lie in the weights into one mapping, *to: packed if their type can be
 * packed, else copied. The memory of the weights is given back on the way (model/weights.h),
 * except that of tables, so afterwards only tables and small vectors may be read there. 0, or
 * -1 if memory runs out; then nothing has changed. */
int repack(const struct device_options *o, struct map *to, struct err *e);

#endif
