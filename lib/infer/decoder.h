/* decoder: the forward pass of a decoder: one stack of layers, each with causal self-attention
 * over a cache and then a feed-forward network or a mixture of experts. Shapes are written as
 * in infer/ops.h: x[n × width] has a row for each of n tokens.
 *
 * Sources: Vaswani and others, "Attention Is All You Need", 2017; later additions: RMS norm
 * (Zhang and Sennrich, 2019), grouped queries (Ainslie and others, 2023), rotary positions (Su
 * and others, 2021), gated feed-forward (Shazeer, 2020), experts (Jiang and others, "Mixtral",
 * 2024), soft caps and windows ("Gemma 2", 2024).
 */
#ifndef INFER_DECODER_H
#define INFER_DECODER_H

#include "infer/net.h"
#include "infer/ops.h"

/* The buffers of a pass over up to batch tokens, allocated once, for any sequence. */
struct pass {
	const struct net *net;
	const struct ops *ops;
	struct device *device;   /* not owned */
	size_t n, position;      /* tokens of this pass; the position of the first */

	/* Memory of the device. */
	struct values x, h, y;   /* batch × width: the residual stream, x normed, a result */
	struct values q, k, v, a; /* batch × heads × head_k, kv_heads × head_k,
	                          * kv_heads × head_v, heads × head_v */
	struct values gate, up;  /* batch × the largest ff */
	struct rotation full, local; /* of layers without and with a window */
	struct values router;    /* batch × experts */
	struct values low, delta; /* batch × the largest rank of an adapter; and × its rows */
	struct values logit_delta; /* as logits, if there is an adapter for them */
	struct values rows, out; /* batch × width: the tokens of one expert, and its results */
	struct values logits;    /* one row of the vocabulary for each of logit_rows tokens */
	struct values memory;    /* all of these */

	/* Memory of the host. */
	float *angles;           /* batch × rot/2: cosines or sines */
	float *probability;      /* batch × experts */
	uint32_t *chosen;        /* batch × experts_used, ascending */
	float *weight;           /* batch × experts_used: of the chosen experts */
	uint32_t *row;           /* batch: the tokens of one expert, */
	float *row_weight;       /* batch: and its weight for each */

	size_t logit_rows;       /* rows of logits at a time */
	infer_watcher *watcher;  /* or NULL, and what it gets */
	void *watch_ctx;
	infer_block_watcher *block_watcher; /* or NULL */
	void *block_ctx;
	float *watched;          /* batch × the most columns; a copy of an input */
	uint64_t bytes;          /* of all memory */
};

/* Bytes of buffers for each token of a batch. */
uint64_t pass_bytes(const struct net *net);

/* 0, or -1 if memory runs out; pass_free is due in any case. */
int pass_open(struct pass *p, const struct net *net, const struct ops *ops,
                 struct device *device, size_t batch, size_t logit_rows, struct err *e);
void pass_free(struct pass *p);

/* Run n tokens of the vocabulary, the first at position, through all layers. The cache holds
 * the keys and values of the positions before, and keeps those of these. */
void pass_run(struct pass *p, struct cache *cache, const uint32_t *tokens, size_t n,
                 size_t position);

/* Compute the logits of tokens first to first + n - 1 of the last run, n being at most
 * logit_rows; then read row i of them, which has a value for each token of the vocabulary. */
void pass_logits(struct pass *p, size_t first, size_t n);
void pass_read(struct pass *p, size_t i, float *logits);

/* Tell the watcher the input of layers. pass_linear does so before their products. */
void pass_watch(const struct pass *p, const struct input *in, const struct linear_id *ids,
                size_t count);
void pass_linear(const struct pass *p, const struct input *in, const struct product *to,
                 size_t count);

/* y[n × width] = down(act(gate x) × up x), or down(act(up x)). y may lie where x does. */
void pass_feed_forward(struct pass *p, const struct feed_forward *f,
                          const struct input *in, struct values y);

/* infer/experts.c: y = the mixture of the experts of a layer, of h. */
void pass_experts(struct pass *p, const struct block *b);

#endif
