/* score: the verdict on each of the 100 points, and what they sum to.
 *
 * The score is the share of points that pass among those that apply to the model and were
 * chosen, scaled to 100 and rounded down. A warning does not pass. Words: EXCELLENT from 90,
 * GOOD from 75, FAIR from 60, POOR below.
 */
#ifndef CHECK_SCORE_H
#define CHECK_SCORE_H

#include "check/points.h"

enum verdict {
	VERDICT_PASS, VERDICT_WARN, VERDICT_FAIL,
	VERDICT_NONE  /* it does not apply; why says so */
};

struct score_part {
	unsigned passed, applicable;
};

struct score {
	enum verdict verdict[POINTS + 1]; /* by number; [0] is unused */
	const char *why[POINTS + 1];
	struct score_part all, category[4], view[POINT_VIEWS];
	unsigned percent;   /* 0 if no point applies */
	const char *word;
};

/* s may lack a source (the reader refused the file): then only points with a finding apply.
 * chosen: the points of this run. */
void score_of(struct score *to, const struct survey *s, const struct findings *f,
              const bool chosen[POINTS + 1]);

const char *verdict_name(enum verdict v); /* "pass", "warn", "fail", "n/a" */
const char *score_word(unsigned percent);

#endif
