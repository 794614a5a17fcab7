/* findings: the findings of a check (check/finding.h) as text, JSON, SARIF and JUnit.
 *
 * All functions append to a buffer. Text from the model is escaped for a terminal, and as XML
 * or JSON; bytes that are not UTF-8 become U+FFFD. A very long object or fact is cut.
 *
 * Text: a line for each finding, "LEVEL: OBJECT: FACT [ID]", below it "  fix: COMMAND" if there
 * is one, and a summary. Findings that are not shown are counted at the last line of their
 * rule: ", and 36 more".
 *
 * JSON: an object for each finding, with these members, and at the end an object of counts:
 *     id level fact             text; level: "error", "warning", "info"
 *     object fix                text or null
 *     offset                    a number or null
 *     more                      at the last object of a rule: findings that are only counted
 *     model                     the file, if there are several
 *     {"errors":0,"warnings":2,"infos":13,"rules":40}
 *
 * SARIF: the document of SARIF 2.1.0 (OASIS), with the members that GitHub documents for code
 * scanning. The level "info" is "note". A file without lines has the region startLine 1, as
 * GitHub requires a line, and byteOffset if it is known.
 *
 * JUnit: a test case for each rule, with the attributes that GitLab documents. It fails if a
 * finding has the level `fails` or a higher one; other findings are its system-out. The time is
 * 0, so that the same model gives the same report.
 */
#ifndef REPORT_FINDINGS_H
#define REPORT_FINDINGS_H

#include "check/finding.h"
#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "model/model.h"

enum findings_form { FINDINGS_TEXT, FINDINGS_JSON, FINDINGS_SARIF, FINDINGS_JUNIT };

/* A rule that was judged, or the reason why it was not. */
struct findings_rule {
	const struct rule *rule;
	const char *skipped; /* NULL: it was judged; else such as "the model has no tokenizer" */
};

/* What a report says apart from the findings. All pointers are borrowed. */
struct findings_report {
	const char *tool;      /* "apr-lint" */
	const char *about;     /* one sentence on the tool */
	const char *file;      /* the model, as the user named it; NULL: standard input */
	bool several;          /* it is one of several files: SARIF and JUnit get only its part,
	                        * which stands between findings_begin and findings_end */
	const struct findings_rule *rules; /* all rules of the tool, in order of their table */
	size_t rule_count;
	size_t rule_bytes;     /* distance between two of them; 0: sizeof *rules */
	enum finding_level fails; /* the lowest level that is a failure; FINDING_LEVELS: none */
	size_t shown;          /* text: findings of a rule at level INFO; others all are */
	const struct model *plan;  /* tells tensors, keys and files apart; may be NULL */
	json_t *properties;    /* an object of text and numbers for SARIF and JUnit, and members
	                        * of the last line of JSON; or NULL */
	const struct err *error; /* the model could not be read: why; or NULL */
};

/* f: sorted (findings_sort). */
void findings_put(struct buf *b, const struct findings *f, const struct findings_report *r,
                  enum findings_form form);

/* For several files: what stands before the first, between two, and after the last. */
const char *findings_begin(enum findings_form form);
const char *findings_between(enum findings_form form);
const char *findings_end(enum findings_form form);

#endif
