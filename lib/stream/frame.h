/* frame: the one shape of everything in a stream, and of the frames that lie
 * inside containers. Little-endian:
 *
 *     1.  4 bytes   kind: four ASCII letters. First letter upper case: a reader
 *                   that does not know it must stop; lower case: passed on
 *     2.  u32       head_len, at most 256 MiB
 *     3.  u64       body_len
 *     4.  head_len  head: one JSON object, UTF-8
 *     5.  u32       CRC-32 of fields 1 to 4
 *     6.  body_len  body
 *     7.  u32       CRC-32 of the body
 */
#ifndef STREAM_FRAME_H
#define STREAM_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/num.h"
#include "core/out.h"
#include "core/reader.h"

#define FRAME_PREFIX 16
#define FRAME_OVERHEAD 24 /* all but head and body */
#define FRAME_HEAD_MAX (256u << 20)

struct frame {
	char kind[5];
	struct buf head;    /* owned; reused from frame to frame */
	uint64_t body_bytes;
	uint64_t left;      /* of the body */
	uint32_t crc;       /* of the body so far */
	bool ended;         /* the body has been read, and its CRC */
};

/* Read fields 1 to 5 into f, whose head is replaced. 0, or -1 with the reader's
 * err filled: E001 for a kind that is no kind, E002 truncation, E004 CRC. */
int frame_begin(struct reader *r, struct frame *f);

/* Is the head what is expected, in this or any other JSON spelling? 1, 0, or -1 where it is
 * no JSON. json: is it any at all? 0 or -1. */
int frame_head_is(struct reader *r, const struct frame *f, const struct buf *expected);
int frame_head_json(struct reader *r, const struct frame *f);

/* Some bytes of the body; *n = 0 once it has ended and its CRC held. */
int frame_read(struct reader *r, struct frame *f, const uint8_t **p, size_t *n);

/* The same, and these bytes have been put to o (reader_share). */
int frame_share(struct reader *r, struct frame *f, struct out *o, const uint8_t **p,
                size_t *n);

/* Read on to the end of the body. */
int frame_skip(struct reader *r, struct frame *f);

/* The whole body appended to b. */
int frame_body(struct reader *r, struct frame *f, struct buf *b);

void frame_free(struct frame *f);

/* Write fields 1 to 5; fields 6 and 7 follow by frame_write and frame_end. */
int frame_put(struct out *o, const char kind[5], const void *head, size_t head_bytes,
              uint64_t body_bytes);
int frame_write(struct out *o, uint32_t *crc, const void *p, size_t n);
int frame_end(struct out *o, uint32_t crc);

/* Fields 1 to 5 appended to b. */
void frame_build(struct buf *b, const char kind[5], const void *head, size_t head_bytes,
                 uint64_t body_bytes);

/* The bytes of a whole frame; -1 on overflow. */
int frame_size(uint64_t head_bytes, uint64_t body_bytes, uint64_t *bytes);

#endif
