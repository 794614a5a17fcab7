/* reader: a bounded, sticky reader over a file, a pipe or memory.
 *
 * Bounded: it knows how many bytes are left where that can be known (regular
 * files and memory) and refuses, before any allocation, a length that exceeds
 * them. Sticky: after the first fault every getter returns 0 and does nothing,
 * so that a parser reads like its specification and checks once a structure.
 * The fault lies in the struct err given at the opening, with the file's name
 * and the byte offset.
 */
#ifndef CORE_READER_H
#define CORE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/out.h"

#define READER_UNKNOWN UINT64_MAX /* length of a pipe */
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define READER_WINDOW (1u << 20)  /* bytes that reader_peek can ask for */
#else
#define READER_WINDOW (1u << 17)
#endif
/* Read at once: where structures are parsed; and where bytes are passed on, so many
 * that they are still in the cache when they are used. */
#define READER_STEP (1u << 16)
#define READER_BODY (1u << 17)

struct reader {
	const char *name;  /* for messages; not owned */
	struct err *err;   /* not owned */
	int fd;            /* -1: memory */
	bool owns_fd, seekable, eof, failed;
	bool copies;       /* reader_share has found that it cannot do without */
	uint8_t *window;   /* holds [start, start + fill) of the input */
	size_t fill, at;
	uint64_t start;    /* offset of window[0] */
	uint64_t end;      /* length of the input, or READER_UNKNOWN */
	uint32_t crc;      /* over all bytes consumed while crc_on */
	bool crc_on;
};

/* Open a path ("-" is standard input) or take a descriptor that stays the
 * caller's. A directory is refused. Return 0 or -1 with err filled. */
int reader_open(struct reader *r, const char *path, struct err *err);
int reader_fd(struct reader *r, int fd, const char *name, struct err *err);

/* Read from n bytes of memory, which must outlive the reader. */
void reader_memory(struct reader *r, const void *p, size_t n, const char *name,
                   struct err *err);
void reader_close(struct reader *r);

/* Offset of the next byte; bytes left (READER_UNKNOWN on a pipe). */
uint64_t reader_tell(const struct reader *r);
uint64_t reader_left(const struct reader *r);

/* Record a fault at the current offset. Always -1. */
int reader_fail(struct reader *r, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Up to want (at most READER_WINDOW) bytes without consuming them: *n tells
 * how many there are, fewer only at the end of the input. NULL after a fault. */
const uint8_t *reader_peek(struct reader *r, size_t want, size_t *n);

/* Exactly n bytes (at most READER_WINDOW), consumed; valid until the next
 * call. NULL after a fault; the end of the input is one (E002). */
const uint8_t *reader_take(struct reader *r, size_t n);

/* Some bytes, at least 1 and at most max, consumed; valid until the next call.
 * For bodies that are passed on as they come. */
const uint8_t *reader_some(struct reader *r, uint64_t max, size_t *n);

/* The same, and what comes has been put to o as well: from a pipe or a file into a
 * pipe without a copy through this process. Then those who read there get what the pages
 * hold by that time: whoever wrote them may have kept a hold on them. So it is for bytes
 * whose check travels behind them, and for nothing that must be proved here. */
const uint8_t *reader_share(struct reader *r, struct out *o, uint64_t max, size_t *n);

uint8_t reader_u8(struct reader *r);
uint16_t reader_u16(struct reader *r);
uint32_t reader_u32(struct reader *r);
uint64_t reader_u64(struct reader *r);

/* Append n bytes to b. Memory grows only as bytes arrive. */
int reader_append(struct reader *r, struct buf *b, uint64_t n);

/* Append all that is left; where b exceeds most by that, only some of it: see b->n. */
int reader_rest(struct reader *r, struct buf *b, size_t most);

/* Pass over n bytes (they are read, for the CRC's and the pipe's sake, unless
 * the file can seek and the CRC is off). */
int reader_skip(struct reader *r, uint64_t n);

/* Go to an absolute offset; seekable inputs only. */
int reader_seek(struct reader *r, uint64_t offset);

/* True at the end of the input (or after a fault). */
bool reader_at_end(struct reader *r);

#endif
