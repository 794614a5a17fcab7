/* frame: the layout of everything in a stream, and of frames inside containers.
 * Little-endian:
 *
 *     1.  4 bytes   kind: four ASCII letters. If the first is upper case, a reader that
 *                   does not know the kind must stop; otherwise it passes the frame on
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
#define FRAME_OVERHEAD 24 /* all fields except head and body */
#define FRAME_HEAD_MAX (256u << 20)

struct frame {
	char kind[5];
	struct buf head;    /* owned; reused from frame to frame */
	uint64_t body_bytes;
	uint64_t left;      /* bytes of the body not yet read */
	uint32_t crc;       /* of the body so far */
	bool ended;         /* the body and its CRC have been read */
};

/* Reads fields 1 to 5 into f and replaces its head. Returns 0, or -1 with the reader's err
 * filled: E001 for an invalid kind, E002 for truncation, E004 for a wrong CRC. */
int frame_begin(struct reader *r, struct frame *f);

/* frame_head_is: whether the head is the same JSON value as expected: 1, 0, or -1 if it is
 * not JSON. frame_head_json: 0 if it is JSON, else -1. */
int frame_head_is(struct reader *r, const struct frame *f, const struct buf *expected);
int frame_head_json(struct reader *r, const struct frame *f);

/* The next n bytes of the body, at most READER_WINDOW, valid until the next call. NULL if it
 * has fewer. */
const uint8_t *frame_take(struct reader *r, struct frame *f, size_t n);

/* Reads some bytes of the body. *n is 0 after its end, once the CRC is verified. */
int frame_read(struct reader *r, struct frame *f, const uint8_t **p, size_t *n);

/* The same, and also puts the bytes to o (see reader_share). */
int frame_share(struct reader *r, struct frame *f, struct out *o, const uint8_t **p,
                size_t *n);

/* Reads to the end of the body. */
int frame_skip(struct reader *r, struct frame *f);

/* Appends the whole body to b. */
int frame_body(struct reader *r, struct frame *f, struct buf *b);

void frame_free(struct frame *f);

/* Adds the frames from the reader's place up to end to an outline, as far as they follow each
 * other. */
struct outline;
void frames_outline(struct reader *r, struct outline *o, uint64_t end);

/* Write a frame: frame_put writes fields 1 to 5, frame_write field 6, frame_end field
 * 7. */
int frame_put(struct out *o, const char kind[5], const void *head, size_t head_bytes,
              uint64_t body_bytes);
int frame_write(struct out *o, uint32_t *crc, const void *p, size_t n);
int frame_end(struct out *o, uint32_t crc);

/* Appends fields 1 to 5 to b. */
void frame_build(struct buf *b, const char kind[5], const void *head, size_t head_bytes,
                 uint64_t body_bytes);

/* Sets *bytes to the size of a whole frame. 0, or -1 on overflow. */
int frame_size(uint64_t head_bytes, uint64_t body_bytes, uint64_t *bytes);

#endif
