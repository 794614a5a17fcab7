/* ranges_parts: what the two halves of hub/ranges.h share: ranges.c is the reader's side,
 * ranges_work.c has the threads that fetch.
 */
#ifndef HUB_RANGES_PARTS_H
#define HUB_RANGES_PARTS_H

#include <pthread.h>

#include "hub/ranges.h"

enum piece_state { PIECE_FREE, PIECE_LOADING, PIECE_READY, PIECE_FAILED };

struct piece {
	enum piece_state state;
	uint32_t file;
	uint64_t at;      /* [at, at + n) of the file */
	size_t n, filled;
	uint64_t order;   /* along the road; 0: on demand */
	bool used;        /* the reader has passed it */
	bool dropped;     /* while loading: free it at the end */
	bool showing;     /* its bytes are being shown to `seen` */
	atomic_bool stop;
	struct err why;   /* PIECE_FAILED */
};

/* A range of the road. */
struct stretch {
	uint32_t file;
	uint64_t at, end;
};

struct ranges_file {
	uint64_t bytes;
	uint64_t shown;   /* bytes that `seen` got */
	bool broken;      /* it will not get the rest */
	uint64_t next;    /* where the last piece on demand ended, and its size */
	uint64_t step;
};

struct ranges {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	uint8_t *window;
	struct ranges_ops ops;
	void *ctx;
	struct ranges_file *files;
	size_t file_count, file_cap;
	struct piece pieces[RANGES_PIECES];
	struct piece *pinned;   /* the reader still reads it */
	struct piece *awaited;  /* the reader waits for it */
	struct stretch *road;
	size_t road_count, road_cap;
	size_t to;              /* the next piece begins in this stretch, at road_at */
	uint64_t road_at;
	uint64_t orders, slack;
	bool open;              /* the road is complete */
	unsigned jumps;
	bool asked;             /* a piece on demand waits for a worker: */
	struct stretch demand;
	bool ending;
	pthread_t threads[RANGES_WORKERS + 1];
	size_t thread_count;
};

/* The bytes of a piece. */
uint8_t *ranges_bytes(struct ranges *r, const struct piece *p);

static inline uint64_t
piece_end(const struct piece *p)
{
	return p->at + p->n;
}

/* Whether a piece holds or will hold the byte. */
static inline bool
piece_covers(const struct piece *p, uint32_t file, uint64_t at)
{
	return p->state != PIECE_FREE && !p->dropped && p->file == file && at >= p->at &&
	       at - p->at < p->n;
}

/* Starts the threads. 0, or -1 with e filled. */
int ranges_start(struct ranges *r, struct err *e);

/* Makes the piece free, or drops it if it is loading. The caller holds the mutex. */
void ranges_drop(struct ranges *r, struct piece *p);

#endif
