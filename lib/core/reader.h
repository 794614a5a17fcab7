/* reader: a bounded reader with sticky errors over a file, a pipe or memory.
 *
 * Bounded: for regular files and memory it knows how many bytes are left, and refuses a
 * greater length before anything is allocated. Sticky: after the first error every getter
 * returns 0 and does nothing, so that a parser reads like its specification and checks once
 * per structure. The error is in the struct err given to reader_open, with the name of the
 * file and the byte offset.
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
#define READER_WINDOW (1u << 20)  /* maximum for reader_peek and reader_take */
#else
#define READER_WINDOW (1u << 17)
#endif
/* Bytes per read: while structures are parsed, and while bodies are passed on. A body's
 * piece is small enough to be in the cache when it is used. */
#define READER_STEP (1u << 16)
#define READER_BODY (1u << 17)

struct reader {
	const char *name;  /* for messages; not owned */
	struct err *err;   /* not owned */
	int fd;            /* -1: memory */
	bool owns_fd, seekable, eof, failed;
	bool copies;       /* reader_share cannot move pages here and copies */
	bool remote;       /* fd is a handle (core/remote.h) */
	bool part;         /* fd is a handle (core/part.h) */
	uint8_t *window;   /* holds [start, start + fill) of the input */
	size_t fill, at;
	uint64_t start;    /* offset of window[0] */
	uint64_t end;      /* length of the input, or READER_UNKNOWN */
	uint32_t crc;      /* over all bytes consumed while crc_on */
	bool crc_on;
};

/* Opens a path ("-" is standard input), or uses a descriptor that the caller keeps
 * owning. A directory is refused. Returns 0, or -1 with err filled. */
int reader_open(struct reader *r, const char *path, struct err *err);
int reader_fd(struct reader *r, int fd, const char *name, struct err *err);

/* Reads from n bytes of memory, which must outlive the reader. */
void reader_memory(struct reader *r, const void *p, size_t n, const char *name,
                   struct err *err);
void reader_close(struct reader *r);

/* The offset of the next byte; the bytes left (READER_UNKNOWN for a pipe). */
uint64_t reader_tell(const struct reader *r);
uint64_t reader_left(const struct reader *r);

/* Sets an error at the current offset. Always -1. */
int reader_fail(struct reader *r, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The next `want` bytes (at most READER_WINDOW) without consuming them. *n is their number,
 * which is less only at the end of the input. NULL after an error. */
const uint8_t *reader_peek(struct reader *r, size_t want, size_t *n);

/* Consumes exactly n bytes (at most READER_WINDOW); the result is valid until the next
 * call. NULL after an error; the end of the input is an error (E002). */
const uint8_t *reader_take(struct reader *r, size_t n);

/* Consumes between 1 and max bytes, those that are available; valid until the next call.
 * For bodies that are passed on as they arrive. */
const uint8_t *reader_some(struct reader *r, uint64_t max, size_t *n);

/* The same, and also puts the bytes to o: from a pipe or file into a pipe without a copy.
 * The next process then sees what the pages hold when it reads them, and their writer may
 * still change them. Use it only for bytes whose checksum follows them, never for bytes
 * that this process must verify. */
const uint8_t *reader_share(struct reader *r, struct out *o, uint64_t max, size_t *n);

uint8_t reader_u8(struct reader *r);
uint16_t reader_u16(struct reader *r);
uint32_t reader_u32(struct reader *r);
uint64_t reader_u64(struct reader *r);

/* Appends n bytes to b. Memory grows only as bytes arrive. */
int reader_append(struct reader *r, struct buf *b, uint64_t n);

/* Appends the content of a small file to b. ERR_CORRUPT if it has more than `most` bytes. 0 or -1. */
int reader_file(const char *path, size_t most, struct buf *b, struct err *e);

/* Appends all bytes that are left, but stops once b holds more than `most`: check b->n. */
int reader_rest(struct reader *r, struct buf *b, size_t most);

/* Skips n bytes. It seeks if the input can and the CRC is off, else it reads them. */
int reader_skip(struct reader *r, uint64_t n);

/* Zeros that a sparse file does not store (core/range.h): reader_has_gap, whether there are
 * some in the next n bytes; reader_gap consumes those that come next, at most n, and returns
 * their number, or 0. reader_holes: the bytes of the whole file that are not stored,
 * estimated. All are 0 for pipes and memory. */
bool reader_has_gap(struct reader *r, uint64_t n);
uint64_t reader_gap(struct reader *r, uint64_t n);
uint64_t reader_holes(struct reader *r);

/* Goes to an absolute offset; only for seekable inputs. */
int reader_seek(struct reader *r, uint64_t offset);

/* True at the end of the input and after an error. */
bool reader_at_end(struct reader *r);

/* Whether bytes can be read without waiting for another process. False for a file that has been read. */
bool reader_ready(const struct reader *r);

#endif
