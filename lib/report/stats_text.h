/* stats_text: statistics of tensors, told to a person or a program, on standard
 * output. */
#ifndef REPORT_STATS_TEXT_H
#define REPORT_STATS_TEXT_H

#include <stdbool.h>

#include "model/tensor.h"
#include "report/table.h"
#include "stats/histogram.h"
#include "stats/stats.h"

/* What the columns are; table: their widths. */
void stats_print_head(const struct table *table);

/* A line about one tensor; JSON: an object. s NULL: its type cannot be decoded.
 * 0, or -1 with E008. */
int stats_print(const struct tensor *t, const struct stats *s, const struct table *table,
                struct err *e);
int stats_print_json(const struct tensor *t, const struct stats *s,
                     const struct histogram *h, struct err *e);

/* The distribution of one tensor's values, a bin a line. */
void stats_print_histogram(const struct tensor *t, const struct stats *s,
                           const struct histogram *h);

/* "[3,14]": where in t the value of this index lies. Returns dst. */
#define STATS_PLACE_TEXT 192
char *stats_place_text(const struct tensor *t, uint64_t index,
                       char dst[STATS_PLACE_TEXT]);

#endif
