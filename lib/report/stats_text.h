/* stats_text: statistics of tensors as text and as JSON. */
#ifndef REPORT_STATS_TEXT_H
#define REPORT_STATS_TEXT_H

#include <stdbool.h>

#include "core/buf.h"
#include "model/tensor.h"
#include "report/table.h"
#include "stats/histogram.h"
#include "stats/stats.h"

/* Appends the names of the columns; table: their widths. */
void stats_put_head(struct buf *b, const struct table *table);

/* Appends a line about one tensor, or a JSON object. s NULL: its type cannot be decoded.
 * h NULL: without a distribution. model: its member "model", or NULL. */
void stats_put(struct buf *b, const struct tensor *t, const struct stats *s,
               const struct table *table);
void stats_put_json(struct buf *b, const struct tensor *t, const struct stats *s,
                    const struct histogram *h, const char *model);

/* Appends the distribution of one tensor's values, one bin per line. */
void stats_put_histogram(struct buf *b, const struct tensor *t, const struct stats *s,
                         const struct histogram *h);

/* Sets b to "NAME: 3 of 256 codes are -128, the first at [0,5]: ..." if s has such codes
 * (stats/codes.h), else to an empty text. Returns 0, or -1 with E008. */
int stats_below_text(const struct tensor *t, const struct stats *s, struct buf *b,
                     struct err *e);

/* Writes the position in t of the value with this index, such as "[3,14]". Returns
 * dst. */
#define STATS_PLACE_TEXT 192
char *stats_place_text(const struct tensor *t, uint64_t index,
                       char dst[STATS_PLACE_TEXT]);

#endif
