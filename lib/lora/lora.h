/* lora: adapters of low rank. An adapter holds two small matrices for each weight that it changes,
 * B of outputs × rank and A of rank × inputs; the weight W of outputs × inputs becomes
 * W + scale × B A.
 *
 * Sources: Hu and others, "LoRA" (2021); Kalajdzievski, "rsLoRA" (2023), whose scale is
 * alpha / sqrt(rank), not alpha / rank; Liu and others, "DoRA" (2024), where each row of the result
 * gets the length that a vector of magnitudes states. Names of tensors and members of
 * adapter_config.json are those of the PEFT library; names and keys in GGUF are those that
 * llama.cpp reads.
 */
#ifndef LORA_LORA_H
#define LORA_LORA_H

#include <stdbool.h>
#include <stddef.h>

#include "arch/arch.h"
#include "core/err.h"
#include "model/weights.h"

/* What an adapter adds to one weight. */
struct lora_part {
	char *name;        /* of the weight, in the form of the adapter, with ".weight" */
	size_t a, b;       /* tensors of the adapter */
	size_t magnitude;  /* outputs values of DoRA; SIZE_MAX: none */
	bool embedding;    /* the weight has a row for each input: a table of tokens */
	bool a_turned;     /* A is stored as inputs × rank, as GGUF does for such a table */
	uint64_t rank, inputs, outputs;
	float scale;       /* that of the adapter times the user's */
};

/* A tensor of the adapter that replaces one of the model. */
struct lora_whole {
	char *name;        /* of that of the model, in the form of the adapter */
	size_t tensor;     /* of the adapter */
};

struct lora {
	const struct weights *w;
	enum arch_form form;        /* ARCH_FOLDER or ARCH_GGUF */
	const char *arch;           /* GGUF: the architecture that it states, or NULL */
	bool turned;                /* the weights are stored as inputs × outputs (fan_in_fan_out) */
	struct lora_part *parts;    /* in the order of names */
	size_t part_count, part_cap;
	struct lora_whole *wholes;
	size_t whole_count, whole_cap;
};

/* Read what tensors and keys of w say: an adapter in GGUF, or the folder of one for PEFT, with
 * adapter_config.json. w must outlive the adapter, and no value of it is decoded yet. scale: the
 * user's factor. 0, or -1 with e filled: ERR_FORMAT for a kind of adapter that is not known,
 * ERR_CORRUPT for parts that do not fit each other. lora_free is due in any case. */
int lora_read(struct lora *l, const struct weights *w, float scale, struct err *e);
void lora_free(struct lora *l);

#endif
