/* override: a person's own types for some tensors, before any rule of a mixture.
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
	size_t decided;        /* tensors so far */
};

/* All zero is an empty one. */
struct overrides {
	bool leave_output;                /* the output matrix stays as it is */
	const struct dtype *output;       /* its type, or NULL */
	const struct dtype *embedding;    /* the token embedding's, or NULL */
	size_t left, outputs, embeddings; /* tensors that each of these three decided so far */
	struct override_rule *rules;      /* the first that matches decides */
	size_t n, cap;
};

/* Append "REGEX=TYPE"; what comes after the last "=" is the type. ERR_USAGE if
 * it is no rule. */
int override_add(struct overrides *o, const char *text, struct err *e);

/* Append the rules of a file, one a line; empty lines are passed over. */
int override_read(struct overrides *o, const char *path, struct err *e);

/* The rule for a name, NULL where there is none. A pattern that takes too long
 * is a fault: *fault is set to -1. */
const struct override_rule *override_find(struct overrides *o, const char *name,
                                          int *fault, struct err *e);

/* Every rule and every type that was given has decided something, or ERR_USAGE names one
 * that has not. */
int override_all_used(const struct overrides *o, struct err *e);

void override_free(struct overrides *o);

#endif
