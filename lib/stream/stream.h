/* stream: the format of pipes, as a source and as a sink. man/apr-stream.5 is the
 * specification; stream/frame.h has the layout of a frame, stream/plan.h the first head.
 *
 * Order: APRS, SKEY?, blob*, lice?, (TENS | GAPS+ | SPAR+)*, prov*, sign*, DONE, end of file.
 */
#ifndef STREAM_STREAM_H
#define STREAM_STREAM_H

#include "core/out.h"
#include "core/reader.h"
#include "model/flow.h"

/* Takes over an open reader at the first byte of a stream and reads the plan. The reader's
 * name must outlive the source. Returns NULL with e filled on failure. The reader is closed
 * with the source, or on failure. */
struct source *stream_source(struct reader *r, struct err *e);

/* An apr-unpack that a tool started can send a PLAC frame in place of a TENS frame: the same
 * head; the body is a u64, the offset of the tensor, and for a file other than the first a
 * u32, the number of the file among those that both have open. A source accepts such frames after
 * stream_lend, whose array and descriptors the caller keeps owning; a sink sends them if its
 * place_of is set. */
#define STREAM_PLACE "PLAC"
#define STREAM_PLACE_BYTES 12
void stream_lend(struct source *s, const int *fds, size_t n);

/* A tensor with long runs of zeros is a sequence of GAPS frames in place of a TENS frame: each
 * has the same head; its body is a u64, a number of zeros, and the bytes that follow them. */
#define STREAM_GAPS "GAPS"
#define STREAM_GAPS_BYTES 8

/* A tensor with a sparse form is a sequence of SPAR frames in place of a TENS frame: each has the
 * same head; their bodies, none empty, are together the bytes of wire/sparse.h, cut anywhere. The
 * plan says the form. A tensor with a form may also come in any other way. */
#define STREAM_SPARSE "SPAR"

/* A sink that writes a stream to o and takes o over: its end finishes o, its close abandons
 * o if there was no end. NULL with e filled (no memory). */
struct sink *stream_sink(struct out *o, struct err *e);

#endif
