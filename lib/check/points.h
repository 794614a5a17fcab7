/* points: the list of 100 points (section 11 of the specification of version 2), as one table.
 *
 * A point that a model can fail has a rule here, and a finding of that rule fails it. A point
 * about tools is held by a test whose name carries its number. A point that only a trace, a run
 * of audio or a tool yet to come can tell is named so, with the tool.
 */
#ifndef CHECK_POINTS_H
#define CHECK_POINTS_H

#include "check/finding.h"
#include "check/survey.h"

#define POINTS 100

enum point_held {
	POINT_RULE,  /* judged on each model */
	POINT_TEST,  /* a test of the tools; where: its file, below tests/ */
	POINT_LATER  /* where: the tool that will hold it, and why not this one */
};

/* The categories of section 4.4, a second view of the same points. */
enum point_view { VIEW_STRUCTURE, VIEW_SECURITY, VIEW_WEIGHTS, VIEW_METADATA, POINT_VIEWS };

struct point {
	struct rule rule;       /* id: "CHECK-028" */
	const char *name;       /* short, for --only: "norm-mean" */
	enum point_held held;
	enum point_view view;   /* of rules */
	const char *where;      /* tests, tools: see above; rules: their tests */
	const char *formats;    /* containers whose models can fail it, separated by spaces;
	                         * NULL: all */
	/* NULL if the point applies to this model, else the reason why not. NULL: it applies
	 * to all models of these formats. */
	const char *(*lacks)(const struct survey *s);
};

/* Point n, 1 to 100. */
const struct point *point_row(unsigned n);
const struct rule *point_rule(unsigned n);
/* The number of the point that a rule belongs to, or 0. */
unsigned point_number(const struct rule *r);

/* 'A' to 'D' of a point, and the name of a category: "physics". */
char point_category(unsigned n);
const char *point_category_name(char category);
const char *point_view_name(enum point_view view);

/* Set set[n] for each point of a list: numbers ("26"), ranges ("1-25"), identifiers
 * ("CHECK-026") and short names ("nan"), separated by commas. The names checksum, nan, zero and
 * shapes stand for what the options --checksum, --nan-check (26 and 27), --zero-check and
 * --shapes of the specification check. 0, or -1 with ERR_USAGE. */
int points_pick(const char *list, bool set[POINTS + 1], struct err *e);

/* Why the point is not judged for this model, or NULL if it is. */
const char *point_lacks(unsigned n, const struct survey *s);

#endif
