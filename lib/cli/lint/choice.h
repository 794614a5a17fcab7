/* choice: the rules that apr-lint judges by: all, without those that options and the
 * configuration switch off. */
#ifndef CLI_LINT_CHOICE_H
#define CLI_LINT_CHOICE_H

#include "check/policy.h"
#include "report/findings.h"

struct choice_row {
	struct findings_rule shown;     /* its rule, and why it is not judged */
	const struct lint_rule *lint;   /* NULL: of the policy */
};

struct choice {
	struct choice_row *rows;
	size_t count;
	enum finding_level fails;       /* the lowest level with exit status 1; FINDING_LEVELS: none */
	bool chosen;                    /* fails comes from the command line */
};

#define CHOICE_CONFIG ((size_t)1 << 20) /* maximum bytes of a configuration */

/* All rules. 0, or -1 with E008. */
int choice_open(struct choice *c, struct err *e);
void choice_free(struct choice *c);

/* Switch rules off: those of a list "ID,ID", or all others. An ID may contain * and ?; one that
 * fits no rule is an error with the given code, with the nearest ID as its hint. where: NULL, or
 * the file. NULL as list is ignored. 0 or -1. */
int choice_off(struct choice *c, const char *list, enum err_code code, const char *where,
               struct err *e);
int choice_only(struct choice *c, const char *list, enum err_code code, const char *where,
                struct err *e);

/* "info", "warning", "error" or "never". 0, or -1 with the error of this code. */
int choice_fails(struct choice *c, const char *word, enum err_code code, const char *where,
                 struct err *e);

/* The n bytes of a configuration: an object with the members off and only, lists of IDs, and
 * fail_on, which a choice on the command line overrides. Other members, and any error, are
 * ERR_CORRUPT. 0 or -1. */
int choice_config(struct choice *c, const void *text, size_t n, const char *where,
                  struct err *e);

/* Whether a rule is on; NULL in a row's shown.skipped says the same. */
#define CHOICE_OFF "switched off"

/* Appends the list of rules: a line or an object of JSON for each. */
void choice_put(struct buf *b, const struct choice *c, bool json);

#endif
