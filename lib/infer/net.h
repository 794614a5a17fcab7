/* net: the weights of a model, each tensor proved against the shape that its role demands.
 * Tensors that a file stores fused are cut into their parts, transposed ones are turned round,
 * and small vectors become single precision.
 */
#ifndef INFER_NET_H
#define INFER_NET_H

#include <stddef.h>
#include <stdint.h>

#include "arch/hyper.h"
#include "core/err.h"
#include "infer/ops.h"
#include "model/low_rank.h"
#include "model/weights.h"

struct feed_forward {
	struct linear gate, up, down; /* width -> ff, width -> ff, ff -> width */
};

/* A layer of the stack. The parts that an architecture does not have are absent. */
struct block {
	struct norm attn_norm, attn_post, ffn_norm, ffn_post; /* of width */
	struct norm q_norm, k_norm;     /* of head_k, or of all heads */
	struct linear q, k, v, o;       /* width -> heads × head_k, kv_heads × head_k,
	                                 * kv_heads × head_v; heads × head_v -> width */
	struct feed_forward ffn;        /* absent if there are experts */
	struct linear router;           /* width -> experts */
	struct feed_forward *experts;   /* hyper.experts, or NULL */
	const float *shared_router;     /* width, or NULL */
	struct feed_forward shared;
};

struct net {
	struct hyper hyper;
	struct matrix embed;     /* vocabulary × width */
	struct matrix positions; /* context × width, or no rows */
	struct block *blocks;    /* hyper.layers */
	struct norm out_norm;
	struct linear out;       /* width -> vocabulary */
	size_t ff, ff_expert, ff_shared; /* the largest of each; 0: none */
	size_t low_rank, low_rows; /* the largest rank of a layer's adapters or factors; the largest
	                          * layer with adapters, except out; 0: none */
	struct matrix **matrices; /* the matrices of all linear layers */
	size_t matrix_count;

	/* Private: what the layer that was listed last shares with its neighbours; memory that
	 * net_free frees. */
	const struct linear *listed;
	void **made;
	size_t made_count, made_cap;
	uint64_t made_bytes;
};

/* Find the weights. low: low_count matrices that adapters add, which outlive the net; ERR_INVALID
 * if one of them is for a tensor that is not a whole layer. ops: the table that will compute with
 * them. context: positions that will be used, for models whose rotary positions depend on it; 0:
 * those of the model. 0, or -1 with e filled; net_free is due in any case. */
int net_open(struct net *net, const struct weights *w, const struct ops *ops,
             uint64_t context, const struct low_rank *low, size_t low_count, struct err *e);
void net_free(struct net *net);

#endif
