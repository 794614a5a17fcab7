/* batch: rows in, predictions out, in the order of the rows, by several threads and in memory that
 * does not depend on the number of rows.
 */
#ifndef PREDICT_BATCH_H
#define PREDICT_BATCH_H

#include "core/reader.h"
#include "predict/rows/rows.h"

#define BATCH_LINE (64u << 20) /* bytes of a line, at most */

enum batch_what {
	BATCH_PREDICTION, /* label, value, number of a cluster */
	BATCH_PROBA,      /* a probability for each class */
	BATCH_RAW,        /* scores before the link */
	BATCH_CONTRIB,    /* what each feature adds to each score (contrib.h, begun by the caller) */
	BATCH_LEAF        /* the leaf that each tree leads to, as its library counts them */
};

struct batch {
	struct predictor *m;
	struct rows rows;    /* m, where, form, skip, one_based are set by the caller */
	enum batch_what what;
	int header;          /* as in rows_begin */
	unsigned jobs;
	int (*put)(void *ctx, const uint8_t *p, size_t n, struct err *e); /* the output */
	void *ctx;

	/* Private. */
	unsigned npy_kind; /* of the values of predictions as an array */
	size_t npy_width;
};

/* Whether the model can answer this. 0, or -1 with ERR_USAGE. */
int batch_allows(const struct predictor *m, enum batch_what what, struct err *e);

/* The number of rows, at most FOREST_BLOCK of n, that are computed at once if there is a block for each
 * of this many threads. */
size_t batch_rows(const struct predictor *m, enum batch_what what, size_t n, unsigned jobs);

/* Reads rows to the end of r. The predictions of all rows before a wrong one are put. 0, or -1
 * with e filled. rows_free is due in any case. */
int batch_run(struct batch *b, struct reader *r, struct err *e);

#endif
