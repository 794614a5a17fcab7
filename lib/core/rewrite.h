/* rewrite: replaces the first bytes of a file by as many others: all of them or none.
 *
 * The changed range is written by one system call, so a process that ends between two system
 * calls leaves the old bytes or the new ones. A kernel that ends a process inside that call, or
 * a machine that loses power, may leave a mixture. Against that, a journal with the old and the
 * new bytes lies beside the file meanwhile, under the name .NAME.apr-meta: the next
 * rewrite_open completes what it finds half done.
 *
 *     "APRMETA1", u64 offset of the range, u64 its length n, u64 size of the file,
 *     n old bytes, n new bytes, u32 CRC-32 of all before it
 *
 * A journal counts only if each sector of the range is as in its old or in its new bytes.
 * A lock (flock) keeps a second process out.
 */
#ifndef CORE_REWRITE_H
#define CORE_REWRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

#define REWRITE_SUFFIX ".apr-meta"

struct rewrite {
	const char *name;  /* for messages; not owned */
	int fd;            /* of the file, for reading and writing, or -1 */
	int dir;           /* of its folder */
	char journal[256 + sizeof REWRITE_SUFFIX];
	bool completed;    /* rewrite_open has completed an interrupted one */
};

/* Opens the regular file at path, through links, and locks it. Completes an interrupted
 * rewriting; if the file or the journal cannot be read for that, both stay, and that is an
 * error. 0, or -1 with ERR_IO. Call rewrite_close in either case. */
int rewrite_open(struct rewrite *w, const char *path, struct err *e);

/* Makes the first n bytes those of the file `from`, which has n bytes; the file must have at
 * least as many. On an error, the file has its old bytes, or the journal stays and the message
 * says so. 0 or -1. */
int rewrite_head(struct rewrite *w, int from, uint64_t n, struct err *e);

void rewrite_close(struct rewrite *w);

#endif
