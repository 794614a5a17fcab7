/* tensors_back: what the files share that make the tensors of a model folder from those of GGUF. */
#ifndef ADAPT_TENSORS_BACK_H
#define ADAPT_TENSORS_BACK_H

#include "adapt/tensors/tensors_parts.h"

/* A source and its rule. */
struct back {
	const struct arch_rule *rule;
	size_t source, index; /* of the rule */
	uint64_t block;
	bool bias;
};

struct backward {
	struct tensors *p;
	const struct subject *s;
	const struct tensors_options *o;
	const json_t *origin;
	struct err *e;
	struct back *list;
	size_t count, cap;
};

static inline const struct tensor *
back_tensor(const struct backward *f, const struct back *b)
{
	return f->s->plan->tensors[b->source];
}

/* The source of a role, or NULL. */
const struct back *tensors_find_back(const struct backward *f, enum role role, uint64_t block,
                                     bool bias);

/* Append a target of this shape, without pieces, under the name that rule and record give. Its
 * row, or NULL. */
struct tensors_row *tensors_new_target(struct backward *f, const struct back *b,
                                       uint64_t expert, unsigned ndim,
                                       const uint64_t *dims);

/* Experts in MXFP4, as folders of gpt-oss have them: blocks and scales. tensors_is_mxfp4: whether
 * a tensor is in MXFP4 and its rule allows that. tensors_add_mxfp4: append them; up goes with
 * its gate. 0 or -1. */
bool tensors_is_mxfp4(const struct backward *f, const struct back *b);
int tensors_add_mxfp4(struct backward *f, const struct back *b);

/* ERR_INVALID (ArchitectureMismatch) for the tensor of b. -1. */
int tensors_mismatch(struct backward *f, const struct back *b, const char *what);

/* Append the tensors that only the record has: a tied head, buffers, exact values. 0 or -1. */
int tensors_restore(struct backward *f);

#endif
