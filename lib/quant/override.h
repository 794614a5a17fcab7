/* override: a user's own types for some tensors, which come before any rule of a mixture.
 * Names and order of precedence are llama-quantize's.
 */
#ifndef QUANT_OVERRIDE_H
#define QUANT_OVERRIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"
#include "core/pattern.h"
#include "model/dtype.h"

struct override_rule {
	char *text;            /* as given: "REGEX=TYPE" */
	char *regex;
	struct pattern pattern;
	const struct dtype *type;
	size_t decided;        /* tensors matched so far */
};

/* All zero is empty. */
struct overrides {
	bool leave_output;                /* the output matrix is not changed */
	const struct dtype *output;       /* its type, or NULL */
	const struct dtype *embedding;    /* the token embedding's, or NULL */
	size_t left, outputs, embeddings; /* tensors that each of these three has decided so far */
	struct override_rule *rules;      /* the first that matches decides */
	size_t n, cap;
};

/* Append "REGEX=TYPE"; the type is behind the last "=". ERR_USAGE if
 * text is not such a rule. */
int override_add(struct overrides *o, const char *text, struct err *e);

/* Append the rules of a file, one a line; empty lines are skipped. */
int override_read(struct overrides *o, const char *path, struct err *e);

/* The rule for a name, or NULL. If a pattern takes too long, *fault is
 * set to -1. */
const struct override_rule *override_find(struct overrides *o, const char *name,
                                          int *fault, struct err *e);

/* 0 if every rule and every type has decided something; else ERR_USAGE names one that
 * has not. */
int override_all_used(const struct overrides *o, struct err *e);

void override_free(struct overrides *o);

#endif
