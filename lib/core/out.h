/* out: output that never leaves a broken file.
 *
 * A named output is written to an unnamed file (O_TMPFILE; on file systems without it, a
 * file with a temporary name). Only out_finish syncs it and gives it its final name. If
 * standard output is an empty regular file, not opened for appending, its first bytes are
 * held back and written last, and an error truncates it to nothing. A signal that ends a
 * tool undoes the output first (core/signals.h). Pipes and devices are simply written to.
 */
#ifndef CORE_OUT_H
#define CORE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"
#include "core/place.h"

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define OUT_WINDOW (1u << 20)
#else
#define OUT_WINDOW 1000u /* a fuzzer's inputs are small */
#endif
#define OUT_LONG (1u << 15) /* a piece of this size is written without a copy */
#define OUT_HELD 4 /* first bytes of standard output that are written last */

/* Takes the bytes of an output in place of a file. Both functions return 0, or -1 if that
 * fails; end may be NULL. */
struct out_taker {
	int (*write)(void *ctx, uint64_t at, const void *p, size_t n);
	int (*end)(void *ctx, uint64_t bytes); /* the output is complete */
	void *ctx;
	bool appends; /* write gets bytes in their order, each once: the output cannot seek */
};

struct out {
	const char *name;   /* for messages */
	const struct out_taker *to; /* NULL: the descriptor */
	const char *path;   /* final name, or NULL for a descriptor */
	struct place *place; /* where the file gets its name, */
	size_t file;         /* and its number there */
	struct err *err;    /* not owned */
	int fd;
	bool force, sync, seekable, holds, failed, done;
	bool has_hole;       /* the file may end in a hole, and must get its length */
	bool staged, nameless, owns; /* owns: closes fd although there is no path */
	const char *stage_name; /* its name in the stage; NULL: the last part of path */
	uint8_t held[OUT_HELD];
	uint8_t *window;
	size_t fill;
	uint64_t start;     /* offset of window[0] */
	uint32_t crc;       /* over the bytes put while crc_on, patches not included */
	bool crc_on;
};

struct out_options {
	const struct out_taker *to; /* not NULL: takes the bytes, and outlives the output */
	const char *path;   /* NULL or "-": standard output */
	bool force;         /* an existing file may be replaced */
	bool no_sync;       /* name the file without waiting for the disk; after a crash
	                     * the file may be incomplete */
	bool terminal_ok;   /* the output is text and may go to a terminal */
	mode_t mode;        /* of a new file, less the umask; 0: 0666 */
	struct place *stage; /* for one of several files that get their names together: it
	                     * is named in the stage, and path is for messages only */
	int input;          /* descriptor of the input, or -1: it is never replaced; if it
	                     * is a folder, no file in it that may belong to the model */
	const char *from;   /* the path by which input was given, or NULL */
};

/* Opens the output. Returns 0, or -1 with err filled: ERR_USAGE for an existing file
 * without force, for the input itself, and for binary data to a terminal. */
int out_open(struct out *o, const struct out_options *options, struct err *err);

/* The checks of out_open, for an output that is opened later. */
int out_refuse(const struct out_options *options, struct err *err);

/* Writes to fd, a pipe or a test's file, without temporary names or checks. */
int out_fd(struct out *o, int fd, const char *name, struct err *err);

/* Fails if an output of this many bytes does not fit on the disk. Does nothing if the free
 * space is unknown. */
int out_reserve(struct out *o, uint64_t bytes);

int out_put(struct out *o, const void *p, size_t n);
int out_zeros(struct out *o, uint64_t n);
/* Puts n zeros. A regular file gets a hole, which takes no space on the disk. */
int out_hole(struct out *o, uint64_t n);
int out_fill(struct out *o, uint8_t byte, uint64_t n);

/* If o is a pipe, puts up to max bytes without copying them: from an offset of a file, or
 * from a pipe, where they remain to be read (core/pipe.h). Returns the number of bytes,
 * at least 1; 0 if that is impossible here; -1 with err filled. */
ssize_t out_send(struct out *o, int file, uint64_t offset, size_t max);
ssize_t out_tee(struct out *o, int pipe, size_t max);

/* The number of bytes put so far, which is the offset of the next one. */
uint64_t out_tell(const struct out *o);

/* Overwrites bytes that were put before; only for seekable outputs. */
int out_patch(struct out *o, uint64_t offset, const void *p, size_t n);

/* Writes everything put so far to the descriptor. */
int out_flush(struct out *o);

/* For outputs that get their names together: writes and syncs everything, and frees the
 * window. Only out_patch, out_finish and out_abandon may follow. */
int out_settle(struct out *o);

/* Gives the file its name, which is the last step that can fail. Frees o. */
int out_finish(struct out *o);

/* Undoes the output: removes a temporary file, truncates standard output. Does nothing
 * after out_finish. Frees o. */
void out_abandon(struct out *o);

#endif
