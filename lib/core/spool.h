/* spool: bytes set aside until they are wanted: in memory up to SPOOL_MEMORY,
 * beyond that in an unlinked file in $TMPDIR (default /var/tmp, a disk). A secret spool
 * stays in memory, all of it: what a key protects is not written to a disk in clear.
 */
#ifndef CORE_SPOOL_H
#define CORE_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define SPOOL_MEMORY (16u << 20)
#else
#define SPOOL_MEMORY 2048u /* a fuzzer's inputs are small */
#endif

struct spool {
	struct buf memory;
	bool secret;      /* set by the owner, while it is empty: it never has a file */
	bool has_file;
	int fd;           /* the file, once there is one */
	uint64_t bytes;   /* in all */
	uint64_t spilled; /* of them in the file; the rest is in memory */
	uint8_t *view;    /* the file, mapped; NULL: it is not */
	uint64_t viewed;  /* bytes of it */
};

/* All zero is an empty spool. Append; read n bytes from offset at (they must
 * have been appended). 0, or -1 with e filled. */
int spool_put(struct spool *s, const void *p, size_t n, struct err *e);
int spool_get(struct spool *s, uint64_t at, void *p, size_t n, struct err *e);

/* All of it in one piece, to read, until spool_free; nothing may be put after that.
 * What lies in the file is mapped: it has no name, so nobody can make it shorter.
 * 0, or -1 with e filled. */
int spool_view(struct spool *s, const uint8_t **p, struct err *e);

/* Room for n bytes in one piece of an empty spool, which then holds them: to be filled
 * by the caller, until spool_free. NULL with e filled: there is no space. */
uint8_t *spool_room(struct spool *s, uint64_t n, struct err *e);
void spool_free(struct spool *s);

/* Where such files lie. */
const char *spool_folder(void);

/* The file alone: unlinked, for reading and writing. A descriptor, or -1. */
int spool_file(struct err *e);

#endif
