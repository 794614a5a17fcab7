/* check_text: the verdicts of the 100 points (check/score.h) as text and JSON, the list of the
 * points, and a line for each tensor. Bytes in a buffer, with names escaped. */
#ifndef REPORT_CHECK_TEXT_H
#define REPORT_CHECK_TEXT_H

#include "check/score.h"
#include "core/buf.h"

/* A line for each point that was judged: number, name, verdict, claim. all: also for those that
 * do not apply, with the reason. */
void check_put_points(struct buf *b, const struct score *c, bool all);

/* Three lines: passed of applicable in the four categories of the list, in those of section
 * 4.4, and the score with its word. */
void check_put_score(struct buf *b, const struct score *c);

/* An object for each point: point, id, name, verdict, and why if it does not apply. */
void check_json_points(struct buf *b, const struct score *c, const char *model);

/* Text and numbers for reports in other forms: score, word, passed, applicable, and those of the
 * categories. A new reference, or NULL. */
json_t *check_properties(const struct score *c);

/* The list of the points: number, name, category, held, where, claim. */
void check_put_list(struct buf *b, bool json);

/* "PASS NAME: mean ..., std ..." or "FAIL NAME: FACT [ID]", a line for each tensor. A finding at
 * level WARN or above fails a tensor; f must have kept all. */
void check_put_tensors(struct buf *b, const struct survey *s, const struct findings *f);

#endif
