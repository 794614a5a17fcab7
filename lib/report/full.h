/* full: all keys of a model with their whole values, which may be larger than memory should hold
 * as text. So the text is given away in pieces.
 */
#ifndef REPORT_FULL_H
#define REPORT_FULL_H

#include "core/buf.h"
#include "core/err.h"
#include "model/weights.h"

/* Receives the text so far and empties it. 0, or -1 with e filled. */
typedef int full_flush(struct buf *b, struct err *e);

/* Append all keys of w, whose long values must be in its blobs (subject_read_blobs): a heading
 * and a line for each key with its type and its value as JSON. 0, or -1 with e filled. */
int full_put(struct buf *b, const struct weights *w, full_flush *flush, struct err *e);

/* The same as JSON: [[key,type,value],...]. */
int full_json(struct buf *b, const struct weights *w, full_flush *flush, struct err *e);

#endif
