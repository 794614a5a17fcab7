/* packed: model folders whose weights are quantized in a way that GGUF does not have.
 *
 * config.json says how (quantization_config); a weight is then two or more tensors of the
 * folder. packed_find lists the weights that result, and packed_rows computes their values.
 *
 *     method               tensors beside the weight     a value
 *     fp8, fbgemm_fp8,     _scale_inv or _scale          weight * scale
 *     modelopt (FP8)
 *     compressed-tensors   _scale, _zero_point           (weight - zero) * scale
 *     gptq                 qzeros, scales, g_idx         (weight - zero - 1) * scale; in
 *                                                        gptq_v2 without the 1
 *     awq                  qzeros, scales                (weight - zero) * scale
 *     bitnet               _scale                        weight / scale
 *     mxfp4                _scales                       weight * 2^(scale - 127)
 *
 * Values are computed in F32 from integers, which are exact, and scales in F32.
 *
 * Sources: the formats as compressed-tensors, AutoGPTQ, AutoAWQ and the transformers library
 * write them; the order of operations of llama.cpp's converter.
 */
#ifndef ADAPT_PACKED_H
#define ADAPT_PACKED_H

#include "arch/subject.h"

/* The place of a weight in the order of llama.cpp's converter. */
enum packed_place {
	PACKED_FIRST, /* before all tensors of the folder */
	PACKED_HERE,  /* in the place of the source tensor `at` */
	PACKED_LAST   /* after all others, in the order of the source tensors `at` */
};

enum packed_part {
	PACKED_WEIGHT, PACKED_SCALE, PACKED_ZERO,
	PACKED_INDEX, /* the group of each column */
	PACKED_SHAPE, /* rows and columns, as numbers */
	PACKED_PARTS
};

/* A weight that is made from several tensors of the source. */
struct packed {
	/* Its name in a folder that is not packed, dimensions, and type: F32, or MXFP4 if
	 * packed_blocks can give its blocks. The fused gate_up_proj of gpt-oss is two weights,
	 * experts.gate_proj.weight and experts.up_proj.weight, expert × out × in. */
	struct tensor *tensor;
	enum packed_place place;
	size_t at;                 /* index in the plan of the source */
	size_t part[PACKED_PARTS]; /* the tensors that it reads, or SIZE_MAX */

	/* For packed_rows only. */
	const struct tensor *from[PACKED_PARTS]; /* NULL: none */
	const struct packed_kind *kind;
	unsigned bits;             /* of an integer */
	uint64_t zero;             /* what is added to zero points, or stands for them */
	uint64_t groups;           /* scales of a row */
	uint64_t step[3];          /* values along each of the last axes that share a scale */
	uint64_t scratch;          /* bytes of memory for each row of the result */
};

struct packed_list {
	struct packed *p; /* in the order of the source's plan */
	size_t count, cap;
	bool *consumed;   /* one per tensor of the plan: it is part of a weight, or has no use
	                   * in another form (scales of activations and caches) */
};

/* Random access to the source: n bytes of tensor `tensor` of its plan. 0 or -1. */
struct packed_reader {
	int (*read)(void *ctx, size_t tensor, uint64_t offset, uint8_t *dst, size_t n,
	            struct err *e);
	void *ctx;
};

/* Find the packed weights of a model folder; the list is empty if it has none. Shapes and
 * types of all tensors are proved against each other. A method that is not known is
 * ERR_FORMAT; members of the configuration and tensors that are missing, odd or contradict
 * each other are ERR_CORRUPT with the name. s->plan must outlive the list; packed_free is
 * due in any case. 0 or -1. */
int packed_find(const struct subject *s, struct packed_list *out, struct err *e);
void packed_free(struct packed_list *list);

/* Compute rows of the last dimension: tensor_row values each, of the weight's
 * tensor_items / tensor_row rows. Takes 4 MiB of memory, or what one row needs, and is fastest
 * with many rows. Numbers in the source that are out of range (groups, shapes, codes) are
 * ERR_CORRUPT. Several threads may work on one weight. 0 or -1. */
int packed_rows(const struct packed *p, const struct packed_reader *in, uint64_t first,
                uint64_t rows, float *dst, struct err *e);

/* The values of n blocks of MXFP4, 16 bytes each, from their order in GGML to that in folders. */
void packed_pairs(const uint8_t *blocks, size_t n, uint8_t *dst);

/* The same rows as blocks of a weight whose type is MXFP4. */
int packed_blocks(const struct packed *p, const struct packed_reader *in, uint64_t first,
                  uint64_t rows, uint8_t *dst, struct err *e);

#endif
