/* flow: a pull whose files are read while they arrive.
 *
 * A thread runs the pull, which fills the cache as ever; one reader has the bytes of each file
 * as soon as they are in its incomplete file. It reads in any order, but waits for what comes
 * late: files come one after the other, their pieces in order. Only the beginning of a file,
 * its header, comes before its turn.
 */
#ifndef HUB_FLOW_H
#define HUB_FLOW_H

#include "hub/pull.h"

struct flow {
	struct pull *pull;
	struct watch *watches; /* one for each file */
	pthread_t thread;
	bool ended;
	struct err e;          /* of pull_run */
};

/* Starts the thread. The pull is open, and is the flow's from now on. Files of unknown size are
 * awaited, so that all sizes are known then. */
int flow_start(struct flow *f, struct pull *p, struct err *e);

/* Whether file i is in the cache, or has come. */
bool flow_has(struct flow *f, size_t i);

/* Reads at least one of n bytes of file i at this offset, which lies in it. *got: their
 * number. 0, or -1 with e filled. */
int flow_read(struct flow *f, size_t i, uint64_t at, uint64_t n, void *to, uint64_t *got,
              struct err *e);

/* Waits for the whole of file i. Its descriptor, owned by the flow, or -1 with e filled. */
int flow_whole(struct flow *f, size_t i, struct err *e);

/* Waits for all files, whose digests then hold. 0, or -1 with e filled. */
int flow_end(struct flow *f, struct err *e);

#endif
