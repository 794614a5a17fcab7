/* net: the tensors of a model, each in its place, with shapes that were proved. From
 * here on all architectures are alike: what is fused in a file is cut into its parts,
 * what is transposed is turned round, small vectors are in single precision.
 */
#ifndef INFER_NET_H
#define INFER_NET_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "arch/hyper.h"
#include "infer/cpu/matmul.h"
#include "model/weights.h"

/* s W x + b. Without rows: there is none. */
struct linear {
	struct matrix w;
	const float *bias; /* w.rows, or NULL */
	const float *scale; /* of the whole matrix; NULL: 1 */
};

/* Without weight: there is none. */
struct norm {
	const float *weight;
	const float *bias; /* or NULL */
};

struct feed_forward {
	struct linear gate, up, down; /* width -> ff, width -> ff, ff -> width */
};

struct block {
	struct norm attn_norm, attn_post, ffn_norm, ffn_post; /* of width */
	struct norm q_norm, k_norm;     /* of head_k */
	struct linear q, k, v, o;       /* width -> heads × head_k, kv_heads × head_k,
	                                 * kv_heads × head_v; heads × head_v -> width */
	struct feed_forward ffn;        /* where there are no experts */
	struct linear router;           /* width -> experts */
	struct feed_forward *experts;
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
	size_t ff, ff_expert, ff_shared; /* the widest of each: 0 if there is none */
	struct matrix **matrices; /* all that products are made with */
	size_t matrix_count;
	size_t room;             /* bytes that inputs of a token take, of any matrix */

	/* Private: what was made, to be freed. */
	void **made;
	size_t made_count, made_cap;
	uint64_t made_bytes;
};

/* context: positions that will be used, for models that choose factors by it; 0: those
 * that net->hyper says. 0, or -1 with e filled; net_free is due in any case. */
int net_open(struct net *net, const struct weights *w, uint64_t context, struct err *e);
void net_free(struct net *net);

#endif
