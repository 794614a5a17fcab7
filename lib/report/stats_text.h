/* stats_text: statistics of tensors as text and as JSON. */
#ifndef REPORT_STATS_TEXT_H
#define REPORT_STATS_TEXT_H

#include <stdbool.h>

#include "core/buf.h"
#include "model/tensor.h"
#include "report/table.h"
#include "stats/histogram.h"
#include "stats/stats.h"

/* Append the names of the columns; table: their widths. */
void stats_put_head(struct buf *b, const struct table *table);

/* Append a line about one tensor, or a JSON object. s NULL: its type cannot be decoded. h
 * NULL: without a distribution. model: its member "model", or NULL. */
void stats_put(struct buf *b, const struct tensor *t, const struct stats *s,
               const struct table *table);
void stats_put_json(struct buf *b, const struct tensor *t, const struct stats *s,
                    const struct histogram *h, const char *model);

/* Append the distribution of one tensor's values, a bin a line. */
void stats_put_histogram(struct buf *b, const struct tensor *t, const struct stats *s,
                         const struct histogram *h);

/* Put into b, emptied first, "NAME: 3 of 256 codes are -128, the first at [0,5]: ..." if s
 * has such codes (stats/codes.h); else b stays empty. 0, or -1 with E008. */
int stats_below_text(const struct tensor *t, const struct stats *s, struct buf *b,
                     struct err *e);

/* "[3,14]": where in t the value of this index lies. Returns dst. */
#define STATS_PLACE_TEXT 192
char *stats_place_text(const struct tensor *t, uint64_t index,
                       char dst[STATS_PLACE_TEXT]);

#endif
