/* origin: what of a plan's source may go on from a model that was verified.
 *
 * source is about the first container, and no signature covers it. Members that are known
 * here, of the form in which our readers write them, only choose between files that mean
 * the same, and stay. All others go: what packing would write as metadata, as names of
 * tensors' types, or as anything else that a program could read of the model.
 */
#ifndef CRYPTO_ORIGIN_H
#define CRYPTO_ORIGIN_H

#include "core/buf.h"
#include "model/model.h"

/* Drop them from m->source, and append their names to dropped (", " between them, not
 * terminated). 0 or -1 (E008). */
int origin_prune(struct model *m, struct buf *dropped, struct err *e);

#endif
