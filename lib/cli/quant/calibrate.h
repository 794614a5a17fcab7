/* calibrate: --calibration: how much each column matters, measured with a text by an apr-imatrix beside
 * the tool, which reads the model first.
 *
 * A model from a pipe is therefore spooled; the descriptor 0 becomes the spool.
 */
#ifndef CLI_QUANT_CALIBRATE_H
#define CLI_QUANT_CALIBRATE_H

#include <sys/types.h>

#include "cli/tool.h"
#include "quant/imatrix.h"
#include "quant/recipe.h"

struct calibrate {
	const char *path;     /* --calibration; NULL: none */
	const char *method;
	double percentile;
	uint64_t samples;     /* at most; 0: all */
	struct calibration record; /* complete after calibrate_read */

	/* Private. */
	char share[32], count[24], jobs[24];
	const char *run[20];
	bool piped;           /* standard input is the model, from this offset on */
	off_t start;
};

/* Rows of the tool's option table. */
#define OPT_CALIBRATE(c) \
	TEXT(0, "calibration", "FILE", &(c)->path, \
	     "weight columns by their activations with the text of FILE"), \
	TEXT(0, "calibration-method", "METHOD", &(c)->method, \
	     "mse (the default), minmax or percentile"), \
	DECIMAL(0, "calibration-percentile", "P", &(c)->percentile, 50, 100, \
	        "of that method, in percent (default: 99.9)"), \
	NUMBER(0, "calibration-samples", "N", &(c)->samples, 1, UINT32_MAX, \
	       "use only the first N parts of 512 tokens")

/* Check the options, and read the text. trusted: a signature that is required, or NULL. 0, or -1 with
 * e filled: ERR_USAGE, ERR_INVALID for an empty text, ERR_CORRUPT for one that is not UTF-8. */
int calibrate_check(struct calibrate *c, const char *trusted, struct err *e);

/* Prepare the measurement (input_prepare) of the model at path (NULL or "-": standard input), which
 * can then still be read. Nothing without --calibration. 0 or -1. */
int calibrate_prepare(struct calibrate *c, const char *path, unsigned jobs, struct err *e);

/* Measure. Enters the sandbox. 0 or -1; imatrix_free in any case. */
int calibrate_read(struct calibrate *c, struct imatrix *m, struct err *e);

#endif
