/* aim: which tensors of a model an adapter changes, and how their values lie.
 *
 * Adapter and model may have different forms (arch/arch.h): names then go through the table of
 * architectures, rows of queries and keys change their order, and transposed matrices are found as
 * such.
 */
#ifndef LORA_AIM_H
#define LORA_AIM_H

#include "arch/shape.h"
#include "lora/lora.h"

/* One change of one tensor: by a part, or by a whole tensor. */
struct lora_hit {
	const struct lora *lora;
	const struct lora_part *part;   /* or NULL, */
	const struct lora_whole *whole; /* and then this */
	size_t tensor;     /* of the model */
	bool turned;       /* the model stores the weight as inputs × outputs */
	uint64_t heads;    /* 0, or the number of heads whose rows have another order: */
	bool to_pairs;     /* the model's are interleaved halves of the adapter's, else the reverse */
	size_t next;       /* of the same tensor, applied after this one; SIZE_MAX: none */
};

struct lora_aim {
	struct lora_hit *hits;
	size_t count, cap;
	size_t *first;     /* of each tensor of the model: its first hit, or SIZE_MAX */
	size_t tensors;    /* of the model that change */
};

/* What is known about the model. arch: NULL if it is not known; names must then agree. */
struct lora_base {
	const struct model *plan;
	const struct arch *arch;
	enum arch_form form;
	const struct sizes *sizes;
};

/* Add what an adapter changes, behind what earlier ones do. ERR_INVALID: the model lacks a tensor, a
 * shape differs, or a change between the forms is not supported. 0 or -1; lora_aim_free in any
 * case. */
int lora_aim_add(struct lora_aim *aim, const struct lora *l, const struct lora_base *base,
                 struct err *e);
void lora_aim_free(struct lora_aim *aim);

#endif
