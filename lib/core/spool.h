/* spool: bytes stored for later: up to SPOOL_MEMORY in memory, the rest in an unlinked file
 * in $TMPDIR (default /var/tmp, which is on disk). A secret spool stays entirely in memory,
 * so that decrypted data never reaches the disk.
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
	bool secret;      /* never use a file; set it while the spool is empty */
	bool has_file;
	int fd;           /* the file, if has_file */
	uint64_t bytes;   /* total */
	uint64_t spilled; /* bytes in the file; the rest is in memory */
	uint8_t *view;    /* the mapped file, or NULL */
	uint64_t viewed;  /* mapped bytes */
};

/* spool_put appends n bytes; spool_get reads n bytes, which must exist, from offset at.
 * An all-zero spool is empty. Both return 0, or -1 with e filled. */
int spool_put(struct spool *s, const void *p, size_t n, struct err *e);
/* spool_skip appends n zeros, which take no space in the file. */
int spool_skip(struct spool *s, uint64_t n, struct err *e);
int spool_get(struct spool *s, uint64_t at, void *p, size_t n, struct err *e);

/* Sets *p to all bytes in one piece, read only, until spool_free. Nothing may be put after
 * this. A file is mapped; as it has no name, nobody else can truncate it. Returns 0, or -1
 * with e filled. */
int spool_view(struct spool *s, const uint8_t **p, struct err *e);

/* Makes an empty spool hold n bytes in one piece and returns them for the caller to fill;
 * valid until spool_free. NULL with e filled if there is not enough space. */
uint8_t *spool_room(struct spool *s, uint64_t n, struct err *e);
void spool_free(struct spool *s);

/* The folder of spool files. */
const char *spool_folder(void);

/* Creates only the unlinked file, for reading and writing. A descriptor, or -1. */
int spool_file(struct err *e);

#endif
