/* origin: the members of a plan's source that may be kept after verification.
 *
 * source describes the first container, and signatures do not cover it. Members that are
 * known here, and have the form that our readers write, are kept: they only choose between
 * files with the same meaning. All others are dropped, since packing would write them as
 * metadata, as names of tensor types, or as something else that programs read.
 */
#ifndef CRYPTO_ORIGIN_H
#define CRYPTO_ORIGIN_H

#include "core/buf.h"
#include "model/model.h"

/* Drop them from m->source, and append their names to dropped (", " between them, not
 * terminated). 0 or -1 (E008). */
int origin_prune(struct model *m, struct buf *dropped, struct err *e);

#endif
