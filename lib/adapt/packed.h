/* packed: matrices that a model folder stores in a way of its own: FP8 with scales, GPTQ, AWQ,
 * compressed-tensors, BitNet, MXFP4. A few tensors of the folder together are one matrix,
 * which this part names as an ordinary folder would, and decodes row by row.
 *
 * Sources: quantization_config in config.json, and the layouts of the programs that write it.
 */
#ifndef ADAPT_PACKED_H
#define ADAPT_PACKED_H

#include "adapt/subject.h"

struct packed_tensor {
	char *name;               /* "model.layers.0.self_attn.q_proj.weight" */
	const struct dtype *type; /* F32, or MXFP4: blocks that GGUF can keep */
	unsigned ndim;
	uint64_t dims[TENSOR_DIMS]; /* outermost first */
	size_t *sources;          /* indexes of the tensors of the plan that it reads */
	size_t source_count;
	bool first, last;         /* the converter writes it before, or after, all others */
	int method;               /* private */
	uint64_t numbers[8];      /* private: what the method needs */
};

struct packed {
	struct packed_tensor *tensors; /* in the order of their first source */
	size_t count, cap;
};

/* Find the packed matrices of a model folder. A folder without quantization_config, and without
 * tensors that look packed, has none. ERR_CORRUPT if parts are missing or disagree;
 * ERR_FORMAT if the method is not known. 0 or -1; packed_free is due in any case. */
int packed_find(struct packed *p, const struct subject *s, struct err *e);
void packed_free(struct packed *p);

/* Reads n bytes of tensor `tensor` of the plan, from offset from on. 0 or -1. */
struct packed_bytes {
	int (*read)(void *ctx, size_t tensor, uint64_t from, void *p, size_t n, struct err *e);
	void *ctx;
};

/* Decode rows (along the last dimension; all outer dimensions together count them) from
 * `first` on to dst: F32 values, or blocks of MXFP4. Uses at most 8 MiB. Threads may call it
 * at the same time if `in` allows that. 0 or -1. */
int packed_rows(const struct packed_tensor *t, const struct packed_bytes *in, uint64_t first,
                size_t rows, void *dst, struct err *e);

#endif
