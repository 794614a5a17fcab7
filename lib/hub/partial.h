/* partial: the record of hub/download.h in an incomplete file: which bytes it has. */
#ifndef HUB_PARTIAL_H
#define HUB_PARTIAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define PARTIAL_PIECES 4096

struct partial {
	int fd;
	bool resumes;          /* the file had bytes of an earlier process */
	uint64_t size, piece;
	size_t count;
	_Atomic uint64_t *have; /* bytes at the beginning of each piece; any thread may read it */
	uint64_t *saved;       /* the same as in the record */
	char digest[80], etag[256];
};

/* Opens or creates the file and reads its record; if that belongs to another file (size or
 * digest; ETag if there is no digest), the file begins anew. digest and etag may be "". 0 or
 * -1. */
int partial_open(struct partial *p, int folder, const char *name, uint64_t size,
                 const char *digest, const char *etag, struct err *e);

/* The range of a piece in the file. */
uint64_t partial_from(const struct partial *p, size_t i);
uint64_t partial_length(const struct partial *p, size_t i);

/* Writes bytes behind those that piece i has. 0, or -1 with errno. One thread per piece. */
int partial_put(struct partial *p, size_t i, const void *bytes, size_t n);

/* Writes the count of a piece; partial_put does it from time to time. 0, or -1 with errno. */
int partial_save(struct partial *p, size_t i);

/* Forgets all bytes. 0, or -1 with errno. */
int partial_clear(struct partial *p);

/* Bytes of the file that have arrived. */
uint64_t partial_bytes(const struct partial *p);

/* Cuts the record off; the file is then complete. sync: waits for the disk. 0 or -1. */
int partial_finish(struct partial *p, bool sync);

void partial_close(struct partial *p);

#endif
