/* ranges: bytes of remote files, fetched ahead of their reader by several threads.
 *
 * The reader asks for bytes at an offset. They come from pieces of RANGES_PIECE bytes at most
 * in a window of memory. A piece is fetched by one request:
 *
 *   * on demand, if nothing is known: 64 KiB, and four times as many whenever the reader goes
 *     on where the last piece ended, up to RANGES_STEP; exactly what it says it will read, if
 *     that is more;
 *   * ahead of the reader, along the ranges that were announced by ranges_want, and nothing
 *     between or behind them. Ranges that nearly meet become one.
 *
 * Bytes of a file that arrive without a gap from its beginning are also shown to `seen`, in
 * order: for its digest.
 */
#ifndef HUB_RANGES_H
#define HUB_RANGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define RANGES_PIECE (4u << 20)
#define RANGES_PIECES 8
#define RANGES_AHEAD 6 /* pieces ahead of the reader; the others are for demands */
#define RANGES_WINDOW ((size_t)RANGES_PIECES * RANGES_PIECE)
#define RANGES_FIRST (64u << 10)
#define RANGES_STEP (768u << 10)
#define RANGES_NEAR (16u << 10) /* bytes between ranges that are fetched with them, */
#define RANGES_SLACK (192u << 10) /* at most this many in all */
#define RANGES_WORKERS 4

struct ranges;

/* Where the bytes of a request go. */
struct ranges_sink {
	int (*data)(void *ctx, const void *p, size_t n, struct err *e);
	int (*again)(void *ctx, struct err *e); /* the bytes so far are void */
	void *ctx;
	const atomic_bool *stop; /* becomes true when nobody wants them any more */
};

struct ranges_ops {
	/* Fetches the bytes [from, to) of a file. Called by several threads, each with its own
	 * number below RANGES_WORKERS. 0, or -1 with e filled. */
	int (*fetch)(void *ctx, unsigned worker, uint32_t file, uint64_t from, uint64_t to,
	             const struct ranges_sink *sink, struct err *e);
	/* Bytes of a file in order, from its beginning on. Called by one thread. */
	void (*seen)(void *ctx, uint32_t file, const void *p, size_t n);
};

/* window: RANGES_WINDOW bytes, not owned. NULL with e filled. */
struct ranges *ranges_open(uint8_t *window, const struct ranges_ops *ops, void *ctx,
                           struct err *e);

/* Stops all requests and threads. r may be NULL. */
void ranges_close(struct ranges *r);

/* Adds a file with this many bytes and returns its number, which counts from 0; or -1. */
int64_t ranges_add(struct ranges *r, uint64_t bytes);

/* Bytes at the beginning of a file, which were not fetched by this module. At most RANGES_FIRST. */
void ranges_give(struct ranges *r, uint32_t file, const void *p, size_t n);

/* Bytes of this file that the reader will read after those announced before. n 0: that was all,
 * and fetching may begin. */
int ranges_want(struct ranges *r, uint32_t file, uint64_t at, uint64_t n, struct err *e);

/* Waits for bytes at this offset, which lies in the file. *where: their offset in the window;
 * *got: their number, 1 to n. They stay there until the next call. more: at least n; what the
 * reader will read from there on. 0, or -1 with e filled. */
int ranges_read(struct ranges *r, uint32_t file, uint64_t at, uint64_t n, uint64_t more,
                uint64_t *where, uint64_t *got, struct err *e);

/* After the last read: true if all bytes of the file were shown to `seen`. If few are left,
 * they are fetched for it. */
bool ranges_all_seen(struct ranges *r, uint32_t file, struct err *e);

#endif
