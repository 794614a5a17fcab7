/* filters: the mel filter bank of a model of speech: a matrix that turns the bins of a spectrum
 * into bands.
 */
#ifndef REPORT_FILTERS_H
#define REPORT_FILTERS_H

#include <stdbool.h>

#include "core/buf.h"
#include "core/err.h"
#include "model/flow.h"

#define FILTERS_MOST ((size_t)1 << 20) /* values that are read; more is ERR_MEMORY */

struct filters {
	char from[256];      /* the tensor, key or side file that holds it, escaped */
	size_t bands, bins;
	double *value;       /* bands x bins: all bins of band 0 first */
};

/* Read the filters of a source at its first item, from the first of these:
 *
 *     a key     mel_filterbank, with mel_filterbank_shape
 *     a file    preprocessor_config.json, member mel_filters
 *     a tensor  with two dimensions and "mel_filter" in its name, such as audio.mel_filterbank of
 *               whisper.cpp
 *
 * A bank has fewer bands than bins, so a matrix with more rows than columns is transposed
 * (preprocessor_config.json has either). Other tensors are not wanted from the source. 0, or -1
 * with e filled: ERR_NO if there are none. filters_free is due in any case. */
int filters_read(struct filters *f, struct source *s, struct err *e);
void filters_free(struct filters *f);

/* Appends a heading. */
void filters_put_head(struct buf *b, const struct filters *f);

/* Appends the line of a band: its number, its first and last bin that is not zero, the largest
 * value, and a plot whose columns are groups of bins; with json, an object with band, first, last
 * (null if all are zero) and values, and with the member model unless that is NULL. */
void filters_put(struct buf *b, const struct filters *f, size_t band, bool json,
                 const char *model);

#endif
