/* lint: rules about the quality and the safety of a model, each a row of a table. They judge a
 * survey; only its part before the tensors needs to be filled (survey_head). No rule
 * reads the value of a tensor.
 *
 * LINT-* are practices: names, metadata, tokenizer, layout. SEC-* are signs of danger. A finding
 * proves nothing about the intent of an author, and a model without one is not proved safe.
 *
 * Sources: version 2 of the format, sections 4.11, 5.4 and 10.8; GGUF's description of its keys;
 * what loaders of llama.cpp warn about; public reports on unsafe model files.
 */
#ifndef CHECK_LINT_H
#define CHECK_LINT_H

#include "check/finding.h"
#include "check/survey.h"

/* Where a tensor lies in its file, if the container says so. */
struct lint_place {
	uint64_t offset;  /* LINT_NOWHERE: not known, or not in one piece */
	bool packed;      /* compressed */
};
#define LINT_NOWHERE UINT64_MAX

struct lint {
	const struct survey *s;
	struct findings *to;
	const json_t *card;     /* check/card.h; an object */
	const struct lint_place *places; /* one for each tensor of the plan; NULL: not known */
	int fd;                 /* the file of the model, for bytes outside tensors; -1: none */
	bool edits;             /* apr-meta can change the header in place */
};

/* A rule. judge adds its findings. NULL: it was judged; else why it does not apply. */
struct lint_rule {
	struct rule rule;
	const char *(*judge)(const struct lint *l, const struct rule *r);
};

/* The rules by index; NULL past the last. Those of apr-lint come first, then those about
 * security. */
const struct lint_rule *lint_rule(size_t index);
const struct lint_rule *security_rule(size_t index);

/* All rules about security, as a family of judge.h, except about bytes that belong to nothing:
 * two of the 100 points are about them. 0, or -1 with e. */
int security_judge(const struct survey *s, struct findings *f, struct err *e);

/* Whether a licence, as models name it, forbids commercial use. */
bool licence_noncommercial(const char *name);

#endif
