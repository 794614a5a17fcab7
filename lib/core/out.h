/* out: the one output that cannot leave a broken file.
 *
 * A named output is written under no name (O_TMPFILE; where the file system
 * lacks that, under a temporary one), synced and given its final name only by
 * out_finish. If standard output is an empty regular file that is not being
 * appended to, it is treated alike: the first bytes are held back and written
 * last, and failure truncates it to nothing. A signal that ends the process
 * undoes the output first. Anything else (pipe, device) is just written to.
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
#define OUT_LONG (1u << 15) /* a piece so long is written from where it lies */
#define OUT_HELD 4 /* bytes of standard output's head that are written last */

struct out {
	const char *name;   /* for messages */
	const char *path;   /* final name, or NULL for a descriptor */
	struct place *place; /* where it gets its name, and its number there */
	size_t file;
	struct err *err;    /* not owned */
	int fd;
	bool force, sync, seekable, holds, failed, done;
	bool staged, nameless, owns; /* owns: fd, though it has no path */
	uint8_t held[OUT_HELD];
	uint8_t *window;
	size_t fill;
	uint64_t start;     /* offset of window[0] */
	uint32_t crc;       /* over the bytes put while crc_on, patches not included */
	bool crc_on;
};

struct out_options {
	const char *path;   /* NULL or "-": standard output */
	bool force;         /* an existing file may be replaced */
	bool no_sync;       /* name the file without waiting for the disk: a crash may
	                     * leave less under the name than was written */
	bool terminal_ok;   /* text: a terminal is a fine place */
	mode_t mode;        /* of a new file, less the umask; 0: 0666 */
	struct place *stage; /* the file is one of several that get their names together:
	                     * it is named in the stage, and path is for messages */
	int input;          /* descriptor that is read from, or -1: never replaced; of
	                     * a folder: nor is a file in it that may belong to the model */
	const char *from;   /* the path by which input was given, or NULL */
};

/* Open the output. Refused with ERR_USAGE: an existing file without force, the
 * input itself, binary to a terminal. Returns 0 or -1 with err filled. */
int out_open(struct out *o, const struct out_options *options, struct err *err);

/* Refuse now what out_open would refuse: for outputs that are opened later. */
int out_refuse(const struct out_options *options, struct err *err);

/* Write over memory-backed tests and pipes: take fd as it is, no special care. */
int out_fd(struct out *o, int fd, const char *name, struct err *err);

/* Refuse now what would not fit later: bytes is the size the output will have.
 * Nothing is checked where the space is not known. */
int out_reserve(struct out *o, uint64_t bytes);

int out_put(struct out *o, const void *p, size_t n);
int out_zeros(struct out *o, uint64_t n);
int out_fill(struct out *o, uint8_t byte, uint64_t n);

/* Put bytes without copying them, where o is a pipe: some of the next max of a file from
 * an offset, or of a pipe from which they are still to be read (core/pipe.h). How many,
 * at least 1; 0 where that cannot be done; -1 with err filled. */
ssize_t out_send(struct out *o, int file, uint64_t offset, size_t max);
ssize_t out_tee(struct out *o, int pipe, size_t max);

/* Bytes put so far: the offset of the next. */
uint64_t out_tell(const struct out *o);

/* Overwrite bytes already put; seekable outputs only. */
int out_patch(struct out *o, uint64_t offset, const void *p, size_t n);

/* Push everything put so far to the descriptor. */
int out_flush(struct out *o);

/* All is put: write and sync it, and free the window. Only out_patch, out_finish
 * and out_abandon may follow. For outputs that get their names together. */
int out_settle(struct out *o);

/* Give the file its name. The last thing that can fail. Frees o. */
int out_finish(struct out *o);

/* Undo: no partial file under a final name, standard output emptied. Does
 * nothing after out_finish. Frees o. */
void out_abandon(struct out *o);

#endif
