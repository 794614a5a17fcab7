/* judge: all families of rules over one survey. */
#ifndef CHECK_JUDGE_H
#define CHECK_JUDGE_H

#include "check/survey.h"

/* Runs every family. If the model could not be read to its end, only those about the file
 * around it. 0, or -1 if memory ran out. */
int judge_all(const struct survey *s, struct findings *f, struct err *e);

/* What the statistics of a model that is known to be good say instead of the ranges of the
 * architecture: drops the findings of these ranges, and compares. After judge_all. */
int judge_reference(const struct survey *s, const struct survey *reference, struct findings *f,
                    struct err *e);

/* The families of this room. */
int shapes_judge(const struct survey *s, struct findings *f, struct err *e);
int tokens_judge(const struct survey *s, struct findings *f, struct err *e);
int classic_judge(const struct survey *s, struct findings *f, struct err *e);

/* Rules beyond the 100 points: row n of all families, or NULL past the last. */
const struct rule *judge_extra(size_t n);
extern const struct rule shapes_rules[], tokens_rules[], classic_rules[]; /* up to a rule without id */

#endif
