/* watch: the bytes of a download for a reader that does not wait for its end.
 *
 * The threads of a download (hub/download.h) tell a watch which bytes its incomplete file has;
 * one reader waits for bytes there and reads them from the file. If bytes that were read turn
 * out to be void, as the file has changed on the server, every later read fails.
 */
#ifndef HUB_WATCH_H
#define HUB_WATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "hub/partial.h"

struct watch {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	const char *label;          /* for messages */
	uint64_t size;              /* of the file */
	bool cached;                /* the cache had it before */
	_Atomic uint64_t awaited;   /* offset that the reader waits for, or 0 */

	/* With the mutex. */
	int fd;                     /* the file, or -1 */
	const struct partial *part; /* while a download runs */
	uint64_t head;              /* else: bytes at the beginning that are there */
	uint64_t read_to;           /* the reader has had bytes up to here */
	bool busy;                  /* a thread works on the file */
	bool done;                  /* all bytes are there, verified */
	bool headless;              /* its beginning cannot come before its turn */
	bool voided;
	struct err e;               /* it cannot come */
};

void watch_open(struct watch *w, const char *label, uint64_t size);

/* ---- for the threads of a download; w may be NULL ---- */

/* The incomplete file, after partial_open and before partial_close. */
void watch_attach(struct watch *w, const struct partial *p);
void watch_detach(struct watch *w);

/* Piece i has got bytes. */
void watch_arrived(struct watch *w, const struct partial *p, size_t i);

/* Whether the reader has had bytes, so that a file that begins anew is of no use to it. */
bool watch_is_read(struct watch *w);

/* All bytes are void; the file begins anew. */
void watch_void(struct watch *w);

/* ---- for those who fetch files; w may be NULL ---- */

/* Waits until nobody works on the file, and begins to. False if it is done. */
bool watch_take(struct watch *w);

/* The same without waiting, and not if the file has failed or is headless. */
bool watch_try(struct watch *w);

/* Ends the work: r 0 and a path if the file is complete there, r 0 and NULL if it is not, -1
 * and e if it cannot come. */
void watch_give(struct watch *w, int r, const char *at, const struct err *e);

/* No thread will work on the file any more. */
void watch_fail(struct watch *w, const struct err *e);

/* ---- for the reader ---- */

/* Waits for bytes at this offset of the file; *got: their number, 1 to n. 1 if they are there;
 * 0 if nobody works on the file and its beginning may be asked for (never if `patient`); -1
 * with e filled. */
int watch_await(struct watch *w, uint64_t at, uint64_t n, bool patient, uint64_t *got,
                struct err *e);

/* Fails if bytes that were read have turned out to be void. 0, or -1 with e filled. */
int watch_check(struct watch *w, struct err *e);

/* Waits until the file is complete. Its descriptor, which stays the watch's; or -1. */
int watch_whole(struct watch *w, struct err *e);

/* Reads bytes that are there. 0, or -1 with e filled. */
int watch_read(struct watch *w, uint64_t at, void *to, uint64_t n, struct err *e);

#endif
