/* stream: the pipe format, as a source and as a sink. man/apr-stream.5 is the
 * contract; stream/frame.h the shape of a frame, stream/plan.h the first head.
 *
 * Order: APRS, SKEY?, blob*, lice?, TENS*, prov*, sign*, DONE, end of file.
 */
#ifndef STREAM_STREAM_H
#define STREAM_STREAM_H

#include "core/out.h"
#include "core/reader.h"
#include "model/flow.h"

/* Take over an opened reader at the first byte of a stream and read its plan.
 * name: for messages; must outlive the source. NULL with e filled; the reader
 * is closed either way, in the end. */
struct source *stream_source(struct reader *r, struct err *e);

/* In the place of a TENS frame, from an apr-unpack to the tool that started it: head as
 * there; body: u64, the offset at which the tensor lies in the file that both have open.
 * A source takes such frames once it has been lent that file, whose descriptor stays the
 * caller's; a sink sends them where its places are set. */
#define STREAM_PLACE "PLAC"
void stream_lend(struct source *s, int fd);

/* A sink that writes a stream to o, which is taken over: finished by end,
 * abandoned by close if that did not happen. NULL with e filled (memory). */
struct sink *stream_sink(struct out *o, struct err *e);

#endif
