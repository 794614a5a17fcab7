/* repack: a net's matrices laid out anew for the vector unit (kernels/dot.h), in
 * memory of large pages, which is read faster than what a file is mapped to.
 */
#ifndef CPU_REPACK_H
#define CPU_REPACK_H

#include "core/map.h"
#include "infer/net.h"

/* Pack what can be, copy the rest but for matrices that were made, and let go of the
 * weights' own memory as it goes (model/weights.h): nothing but embeddings and small
 * vectors is read there afterwards. to: the new memory, to be closed after the net. 0, or
 * -1 where memory cannot be had, and nothing has changed. */
int repack(struct net *net, const struct weights *w, unsigned threads, struct map *to,
           struct err *e);

#endif
