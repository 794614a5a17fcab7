/* asked: what the command line of apr-lint asks for, and its answer. */
#ifndef CLI_LINT_ASKED_H
#define CLI_LINT_ASKED_H

#include "cli/lint/choice.h"

struct asked {
	bool list, json, sarif, junit, all;
	const char *off, *only, *config, *policy, *fails, *trusted;
	enum findings_form form; /* set by asked_check */
};

/* Checks the options, and chooses the rules by them. 0, or -1 with ERR_USAGE. */
int asked_check(struct asked *o, struct choice *c, struct err *e);

/* Reads configuration and policy. 0 or -1. */
int asked_read(const struct asked *o, struct choice *c, struct policy *p, struct err *e);

/* Prints the list of rules. 0 or -1. */
int asked_rules(const struct asked *o, const struct choice *c, struct err *e);

/* Prints the report on the model at path. plan: of the model, or NULL. error: the model could not
 * be read, or NULL. 0 or -1. */
int asked_report(const struct asked *o, const struct choice *c, const struct findings *f,
                 const char *path, const struct model *plan, const struct err *error,
                 struct err *e);

/* ERR_NO if there are findings at the level of the choice or above. 0 or -1. */
int asked_verdict(const struct choice *c, const struct findings *f, const char *path,
                  struct err *e);

#endif
