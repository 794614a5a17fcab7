/* forward: the pass through a transformer, a function for each kind of layer. Shapes
 * are written as in the code: x[n × width] is n rows, one for each token, of width
 * values each.
 *
 * Source: Vaswani and others, "Attention Is All You Need", 2017, and for what came
 * later: RMS-norm (Zhang and Sennrich, 2019), grouped queries (Ainslie and others, 2023),
 * gated feed-forward (Shazeer, 2020), experts (Jiang and others, "Mixtral", 2024), soft
 * caps and windows ("Gemma 2", 2024).
 */
#ifndef INFER_FORWARD_H
#define INFER_FORWARD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "infer/cpu/cache.h"
#include "infer/net.h"

#define PASS_PARTS 64 /* of the positions that a token sees, at most */

/* What a pass over up to batch tokens needs, allocated once. */
struct pass {
	const struct net *net;
	struct cache *cache;
	unsigned threads;
	struct inputs in;      /* what linear layers are applied to */
	size_t n, position;    /* tokens of this pass, and where the first stands */

	float *x, *h, *y;      /* batch × width: the stream, a normed one, a result */
	float *q, *k, *v, *a;  /* batch × heads × head_k, kv_heads × head_k,
	                        * kv_heads × head_v, heads × head_v */
	float *gate, *up;      /* batch × the widest ff */
	float *max, *sum;      /* batch × heads: of the scores so far */
	float *cosines, *sines, *cosines_window, *sines_window; /* batch × rot/2 */

	/* Experts: */
	float *probability;    /* batch × experts */
	uint32_t *chosen;      /* batch × experts used, ascending */
	float *weight;         /* of each chosen */
	uint32_t *row;         /* 2 × batch: tokens of one expert, and which choice of
	                        * theirs it is */
	float *rows, *out;     /* batch × width: their rows, and results */

	/* Of one token, what attention to each part of the positions came to: */
	float *part_a;         /* PASS_PARTS × heads × head_v */
	float *part_max, *part_sum; /* PASS_PARTS × heads */
	atomic_uint *done;     /* heads: parts that are done, zero between tokens */

	struct map memory;     /* all of it */
};

/* Bytes that one token more takes in a pass. */
uint64_t pass_bytes(const struct net *net);

/* 0, or -1 (memory). pass_free is due in any case. */
int pass_open(struct pass *p, const struct net *net, size_t batch, struct err *e);
void pass_free(struct pass *p);

/* x = embeddings of tokens, which are all in the vocabulary, through all blocks. */
void pass_run(struct pass *p, const uint32_t *tokens, size_t n, size_t position);

/* Logits [n × vocabulary] of the tokens first to first + n of the last run. */
void pass_logits(struct pass *p, size_t first, size_t n, float *logits);

/* The layers, also for tests. y may be x. */
void norm_rms(const float *x, const struct norm *w, size_t width, float eps, float *y);
void norm_layer(const float *x, const struct norm *w, size_t width, float eps, float *y);
float act_apply(enum act act, float x);

/* infer/cpu/attention.c: a = softmax(q kᵀ · scale) v over the cache, for all tokens. */
void attention(struct pass *p, size_t block);

/* infer/experts.c: y = feed-forward of h, by the experts chosen for each token. */
void experts(struct pass *p, const struct block *b);

/* Let the next layers be applied to x[n × columns], until it changes. */
void pass_see(struct pass *p, const float *x, size_t n, size_t columns);

/* y[n × rows] = W x + b of the x that was seen last. */
void linear_apply(struct pass *p, const struct linear *l, float *y);

/* y[n × width] = down(act(gate x) * up x) of it; y may be x. */
void feed_forward(struct pass *p, const struct feed_forward *f, float *y);

#endif
