/* part: a piece of an open file, read as a file of its own.
 *
 * A part has a handle: a descriptor that can be duplicated and has the size of the piece.
 * core/reader.h, core/range.h and core/map.h read the piece in its place. Code that reads a handle
 * by itself fails with EBADF; without /proc it gets zeros.
 *
 * Functions may be called by several threads.
 */
#ifndef CORE_PART_H
#define CORE_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PARTS 64 /* different pieces in a process */

struct part {
	int fd;      /* the file */
	uint64_t at; /* the offset of the piece in it */
	uint64_t bytes;
};

/* A handle, owned by the caller, of n bytes of the file fd from this offset on; fd stays the caller's
 * too. A piece of a file takes one of the PARTS, however often it is opened. -1 with errno. */
int part_open(int fd, uint64_t at, uint64_t n);

/* Whether fd is a handle; *p is then its piece. */
bool part_of(int fd, struct part *p);

/* As pread(2), of a part or of any other file. */
ssize_t part_pread(int fd, void *to, size_t n, uint64_t at);

#endif
