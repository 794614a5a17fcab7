/* written: the plan and the side file of an adapter that is written, in either form. */
#ifndef LORA_WRITTEN_H
#define LORA_WRITTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "core/buf.h"
#include "model/flow.h"

/* A weight that the adapter changes. */
struct lora_shape {
	const char *name;    /* of the weight, in the form of the adapter, with ".weight" */
	uint64_t rank, inputs, outputs;
	bool table;          /* of tokens: a row of the weight for each input */
};

struct lora_written {
	enum arch_form form; /* ARCH_GGUF or ARCH_FOLDER: these five are set by the caller */
	const char *arch;    /* general.architecture; NULL: GGUF does not state it */
	bool turned;         /* the base stores its weights as inputs × outputs (fan_in_fan_out) */
	double alpha;        /* the scale of a part is alpha / rank */
	const char *from;    /* file, for messages */
	struct model plan;
	struct buf config;   /* adapter_config.json; empty for GGUF */
};

/* Plan two tensors in F32 for each of n parts: first A, then B. lora_written_free in any case. 0 or
 * -1. */
int lora_written_begin(struct lora_written *w, const struct lora_shape *parts, size_t n,
                       struct err *e);

/* Plan a tensor in F32 that replaces the one of that name, behind the parts. 0 or -1. */
int lora_written_whole(struct lora_written *w, const char *name, unsigned ndim, const uint64_t *dims,
                       struct err *e);

/* Begin a sink with the plan, and give it the side file. 0 or -1. */
int lora_written_head(struct lora_written *w, struct sink *sink, struct err *e);
void lora_written_free(struct lora_written *w);

#endif
