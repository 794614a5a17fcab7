/* tally: the statistics of one tensor as its bytes pass by, in constant memory. */
#ifndef STATS_TALLY_H
#define STATS_TALLY_H

#include <stdatomic.h>

#include "core/err.h"
#include "core/range.h"
#include "stats/histogram.h"
#include "stats/look.h"
#include "stats/stats.h"

#define TALLY_CHUNKS 256 /* chunks computed together */
#define TALLY_TASK 16    /* chunks read by one thread at a time */

struct tally {
	unsigned jobs;
	bool bins;            /* whether a histogram is wanted */
	struct look *look;    /* filled as well (stats/look.h); NULL: not wanted. The caller's */
	struct stats stats;   /* of the last tensor begun */
	struct histogram histogram;

	const struct dtype *type;
	uint8_t head[DTYPE_HEAD]; /* the tensor's own, where its type has one */
	size_t head_bytes;    /* bytes of it so far */
	uint64_t left;        /* values to come */
	uint8_t *held;        /* bytes of up to TALLY_CHUNKS chunks */
	size_t held_bytes, held_cap, chunk;
	struct tally_part *parts;

	const struct range *range; /* the file that held must still be read from; or NULL */
	uint64_t from;             /* offset in it */
	atomic_int fault;          /* errno + 1 if reading failed */
};

/* jobs: threads. 0, or -1 with E008; tally_free in both cases. */
int tally_open(struct tally *y, unsigned jobs, bool bins, struct err *e);

/* Begin a tensor of a type that can be decoded, with that many values; add its bytes;
 * end it, after which stats, histogram and look are complete. row: values of a row, for the
 * look (look_row), else unused. begin: 0, or -1 with E008. */
int tally_begin(struct tally *y, const struct dtype *t, uint64_t values, struct err *e);
int tally_begin_rows(struct tally *y, const struct dtype *t, uint64_t values, uint64_t row,
                     struct err *e);
void tally_add(struct tally *y, const uint8_t *p, size_t n);
void tally_end(struct tally *y);

/* In place of all tally_add: read the tensor's bytes from where they are in the file name;
 * each thread reads its own. 0 or -1. */
int tally_range(struct tally *y, const struct range *r, const char *name, struct err *e);

void tally_free(struct tally *y);

#endif
