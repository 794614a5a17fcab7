/* findings_parts: what the forms of a report of findings (findings.h) share. */
#ifndef REPORT_FINDINGS_PARTS_H
#define REPORT_FINDINGS_PARTS_H

#include "report/findings.h"

#define FINDINGS_TEXT_MOST 4096 /* bytes of an object or a fact in a report */

/* The n-th rule of a report. */
const struct findings_rule *findings_rule_at(const struct findings_report *r, size_t n);

/* Sets b to text that JSON can carry: invalid UTF-8 replaced, and cut if it is very long.
 * Returns it, terminated, or "" without memory. */
const char *findings_clean(struct buf *b, const char *text);

/* The text as JSON; null for NULL. A new reference. */
json_t *findings_json_text(const char *text);

/* Sets b to "OBJECT: FACT" of a finding, or "FACT", escaped for a terminal. */
const char *findings_line(struct buf *b, const struct finding *x);

void findings_put_sarif(struct buf *b, const struct findings *f,
                        const struct findings_report *r);
void findings_put_junit(struct buf *b, const struct findings *f,
                        const struct findings_report *r);

#endif
