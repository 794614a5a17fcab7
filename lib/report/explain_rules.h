/* explain_rules: the rules that judge a model (check/finding.h), as words that can be
 * explained.
 */
#ifndef REPORT_EXPLAIN_RULES_H
#define REPORT_EXPLAIN_RULES_H

#include "check/finding.h"
#include "core/json.h"

/* All rules by index, and the tool that applies each; NULL past the last. */
const struct rule *explain_rule(size_t index, const char **tool);

/* The explanation of the rule with this id, a new reference, or NULL. APR-028
 * is CHECK-028. */
json_t *explain_rule_word(const char *word);

#endif
