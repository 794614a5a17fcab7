/* finding: what a check found in a model, and the list of all findings.
 *
 * Everything that judges a model (the 100 points, lint, security, a team's policy) has a
 * table of rules and adds findings to one list. Reports are made of the list
 * (report/findings.h), so each of them can be text, JSON, SARIF and JUnit.
 */
#ifndef CHECK_FINDING_H
#define CHECK_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* INFO is advice and not an alarm. WARN: the model probably works, but a user should look.
 * ERROR: the model is damaged, unsafe, or does not meet the policy. */
enum finding_level { FINDING_INFO, FINDING_WARN, FINDING_ERROR, FINDING_LEVELS };

/* A rule: a row of a table, valid as long as the program runs. */
struct rule {
	const char *id;    /* stable, for scripts and reports: "APR-028", "LINT-LICENSE" */
	enum finding_level level; /* of its findings, unless they say otherwise */
	const char *claim; /* what is true of a good model, as a sentence without full stop */
	const char *why;   /* what goes wrong otherwise, and what the user can do about it */
};

struct finding {
	const struct rule *rule;
	enum finding_level level;
	char *object;      /* name of a tensor, key or file, as the model has it; NULL: the
	                    * model */
	char *fact;        /* what was found, as in messages of errors: lower case */
	char *fix;         /* a command line that mends it, or NULL */
	bool has_offset;
	uint64_t offset;   /* of the first byte concerned, in the file */
};

/* A list. All zero is empty. Failure is sticky: after an allocation fails, nothing is added and
 * findings_ok is false. */
struct findings {
	struct finding *of;
	size_t count, cap;
	struct finding_more {
		const struct rule *rule;
		size_t levels[FINDING_LEVELS]; /* its findings of each level, kept or not */
	} *more;
	size_t rules, rules_cap;
	size_t levels[FINDING_LEVELS]; /* findings of each level, kept or not */
	size_t most;       /* are kept of a rule at each level; 0: FINDINGS_KEPT */
	bool last_kept;    /* the last finding is in the list: findings_fix may change it */
	bool failed;
};

/* A list keeps this many findings of a rule at each level and only counts those beyond: a hostile
 * model of a million bad tensors does not cost memory, and many warnings do not hide an error. */
#define FINDINGS_KEPT 64

/* Adds a finding at the level of its rule, or at another one. object may be NULL. Neither is
 * escaped here: reports do that. */
void findings_add(struct findings *f, const struct rule *r, const char *object,
                  const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void findings_add_at(struct findings *f, const struct rule *r, enum finding_level level,
                     const char *object, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* The last finding gets a command line that mends it, or a place in the file. Nothing happens
 * if the last call of findings_add kept nothing. */
void findings_fix(struct findings *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void findings_offset(struct findings *f, uint64_t offset);

/* The number of findings of a rule at a level, kept or not; and at all levels. */
size_t findings_at(const struct findings *f, const struct rule *r, enum finding_level level);
size_t findings_of(const struct findings *f, const struct rule *r);

/* Keeps only the findings whose rule the function accepts. */
void findings_only(struct findings *f, bool (*wants)(const struct rule *, void *), void *ctx);

/* Sorts by level (errors first); findings of one level keep the order in which they came. */
void findings_sort(struct findings *f);

bool findings_ok(const struct findings *f);
void findings_free(struct findings *f);

const char *finding_level_name(enum finding_level level); /* "info", "warning", "error" */

#endif
