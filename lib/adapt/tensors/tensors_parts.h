/* tensors_parts: what the files of tensors.h share. */
#ifndef ADAPT_TENSORS_PARTS_H
#define ADAPT_TENSORS_PARTS_H

#include "adapt/tensors/tensors.h"
#include "arch/match.h"

/* The shape that a rule asks for in folders, of weight or bias. Returns the number of
 * dimensions; stack as in shape_dims. */
unsigned tensors_asked(const struct sizes *sizes, const struct arch_rule *rule, bool bias,
                       uint64_t dims[TENSOR_DIMS], uint64_t *stack);

/* Compare a shape of a folder with that: ERR_INVALID (ArchitectureMismatch) for tensor name;
 * where: what asks for it. 0 or -1. */
int tensors_prove_shape(const struct sizes *sizes, const struct arch_rule *rule, bool bias,
                        const char *name, unsigned ndim, const uint64_t *dims,
                        const char *where, struct err *e);

/* ERR_INVALID: a tensor without a rule. -1. */
int tensors_unknown(const struct subject *s, const char *name, struct err *e);

/* Append a source as a target, unchanged, at this position of the order. 0 or -1. */
int tensors_pass(struct tensors *p, const struct tensor *t, size_t source, size_t position,
                 struct err *e);

/* The number of blocks that a rule's tensors have by the hyper-parameters; 0: not known. */
uint64_t tensors_blocks(const struct sizes *sizes, const struct arch_rule *rule);

/* Prove that the model has each tensor that its rules require; has says whether it has one of
 * that role. blocks: their number if the hyper-parameters do not state it. form: of the names
 * in messages. 0 or -1 with ERR_INVALID. */
int tensors_prove_whole(const struct arch *arch, const struct sizes *sizes, uint64_t blocks,
                        enum arch_form form,
                        bool (*has)(const void *ctx, enum role role, uint64_t block),
                        const void *ctx, struct err *e);

/* A change of a tensor from its form in folders to that in GGUF. */
struct view {
	enum arch_change change;
	bool bias;
	const struct sizes *sizes;

	unsigned ndim;              /* view_shape: of the result */
	uint64_t dims[TENSOR_DIMS];
};

/* Find the result's shape; stack: number of tensors that become one, 0: they are not
 * stacked. ERR_INVALID if the shape of t does not allow the change. 0 or -1. */
int view_shape(struct view *v, const struct tensor *t, uint64_t stack, struct err *e);

/* Append the pieces of a source with descriptor t. ERR_FORMAT if that would cut blocks of a
 * quantized type. 0 or -1. */
int view_add(const struct view *v, struct tensors_row *row, const struct tensor *t,
             size_t source, struct err *e);

/* Append rope_freqs or rope_factors_long and _short, if the configuration asks for them. */
int tensors_add_rope(struct tensors *p, const struct subject *s, struct err *e);

#endif
