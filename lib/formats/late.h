/* late: records and signatures. They come after the data, but belong into the header, where
 * the writer leaves room for them.
 */
#ifndef FORMATS_LATE_H
#define FORMATS_LATE_H

#include "core/buf.h"
#include "core/out.h"
#include "model/flow.h"

/* Refuse a model with records or signatures if the output cannot seek (ERR_USAGE).
 * where: "the header of a safetensors file". 0 or -1. */
int late_refuse(const struct out *o, const struct model *m, const char *where,
                struct err *e);

/* Collect the head and body of one of them in b. 0 or -1. */
int late_begin(struct buf *b, const struct item *item, struct err *e);
int late_add(struct buf *b, const uint8_t *p, size_t n, struct err *e);

/* Write b as base64 into its room: length bytes of o from offset at on. crc: receives the
 * CRC-32 of these bytes, unless NULL. 0 or -1. */
int late_put(struct out *o, const struct buf *b, uint64_t at, uint64_t length,
             uint32_t *crc, struct err *e);

#endif
