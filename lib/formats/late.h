/* late: parts that come with or after the data, but belong in the header, where the writer
 * leaves room for them. Records and signatures need an output that can seek; for other values,
 * the writer can complete the file elsewhere and then copy it to a pipe.
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

/* An unlinked file, which is completed here and then copied to an output that cannot seek. */
struct late_file {
	struct out out;
	int fd; /* -1: not open */
};

/* Create the file; copy everything that was put to f->out; close the file, if it is open. 0
 * or -1. */
int late_file_open(struct late_file *f, struct err *e);
int late_file_copy(struct late_file *f, struct out *to, struct err *e);
void late_file_close(struct late_file *f);

#endif
