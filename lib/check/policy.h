/* policy: a team's rules for the models that it accepts, from a JSON file.
 *
 * All members are optional; others are errors.
 *
 *     licenses            list of text: the licence must be one of these
 *     denied_licenses     list of text: and none of these
 *     architectures       list of text
 *     types               list of text: names of tensor types, "Q4_K"
 *     formats             list of text: names of containers, "gguf"
 *     signers             list of text: public keys, as the second line of minisign's files
 *     require_signature   true: a signature by one of the signers, or, without them, by a key of
 *                         the folder of trusted keys, holds
 *     max_bytes           number of bytes of the file, or text with a unit: "8GiB"
 *     max_parameters      a number
 *     required_keys       list of text: keys of the metadata
 *     templates           false: no chat template is accepted
 *     version             1
 *
 * In texts of the first five lists, * stands for any characters, ? for one; case does not matter.
 */
#ifndef CHECK_POLICY_H
#define CHECK_POLICY_H

#include "check/lint.h"
#include "core/json.h"
#include "crypto/trusted.h"

#define POLICY_BYTES ((size_t)1 << 20) /* maximum size of the file */

struct policy {
	json_t *o;                /* the file, checked; NULL: no policy */
	uint64_t max_bytes, max_parameters; /* UINT64_MAX: no limit */
	bool require_signature;
	bool no_templates;
	struct trusted signers;   /* the keys of signers */
};

/* Reads n bytes of a policy; name: the file, for messages. Any error in it is ERR_CORRUPT. 0, or
 * -1; policy_free is due in any case. */
int policy_parse(struct policy *p, const void *text, size_t n, const char *name, struct err *e);
int policy_read(struct policy *p, const char *path, struct err *e); /* of a file */
void policy_free(struct policy *p);

/* One of these keys must have signed the model: those of the policy, or the others if it only
 * asks for a signature. NULL: no signature is required. */
const struct trusted *policy_keys(const struct policy *p, const struct trusted *others);

/* The rules by index, NULL past the last, and whether a policy has this one: NULL, or why not. */
const struct rule *policy_rule(size_t index);
const char *policy_lacks(const struct policy *p, const struct rule *r);
bool policy_is_rule(const struct rule *r);

/* Adds findings of a rule that policy_lacks does not exclude. verdict: why no signature holds, or
 * an error that is ERR_NONE if one does. */
void policy_judge(const struct policy *p, const struct lint *l, const struct rule *r,
                  const struct err *verdict);

/* Adds findings of all rules of the policy. 0, or -1 if memory ran out. */
int policy_judge_all(const struct policy *p, const struct survey *s, struct findings *f,
                     const struct err *verdict, struct err *e);

#endif
