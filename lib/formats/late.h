/* late: records and signatures, which come after the data and stand before it, in room
 * that a writer has kept for them.
 */
#ifndef FORMATS_LATE_H
#define FORMATS_LATE_H

#include "core/buf.h"
#include "core/out.h"
#include "model/flow.h"

/* Refuse now a model with records or signatures, where the output cannot be patched.
 * where: "the header of a safetensors file". 0 or -1. */
int late_refuse(const struct out *o, const struct model *m, const char *where,
                struct err *e);

/* Head and body of one of them, gathered in b. 0 or -1. */
int late_begin(struct buf *b, const struct item *item, struct err *e);
int late_add(struct buf *b, const uint8_t *p, size_t n, struct err *e);

/* ... as base64 into its room: length bytes of o from an offset. crc: of these, where
 * not NULL. 0 or -1. */
int late_put(struct out *o, const struct buf *b, uint64_t at, uint64_t length,
             uint32_t *crc, struct err *e);

#endif
