/* train: models that learn: the forward pass of a decoder, its gradient, and the optimizer.
 *
 * Families: decoders like LLaMA (RMS norms, rotary positions of both layouts, grouped queries, SwiGLU,
 * an output that may be the embeddings, biases, norms of queries and keys) and GPT-2 (layer norms,
 * learned positions, fused QKV, GELU in the tanh form). train_open refuses everything else by its name.
 *
 * All values are single precision. A batch is `rows` texts of `length` tokens each, one behind
 * the other, so position p of text r is token number r × length + p. Attention is causal within a
 * text. Logits are of all positions: [rows × length][vocabulary].
 *
 * Bytes do not depend on the number of threads or the level of the CPU: each sum has one order
 * (kernels/training.h), and threads divide results, not sums. Cosines, sines and powers of positions
 * are series of this room; of the C library come only, in double precision, the logarithm in yarn and
 * the powers in the factors of a LLaMA 3 folder.
 *
 * The life of a model that learns:
 *
 *	train_open or train_new       parameters
 *	train_init                    initial values, if it starts from nothing
 *	train_work_open               memory for batches of one shape
 *	train_backward                adds a batch's gradient to the parameters'; as often as wanted
 *	train_update                  a step of AdamW; gradients are zero again
 *	train_loss                    validation
 *	train_source                  the model as a source, for a sink
 */
#ifndef TRAIN_TRAIN_H
#define TRAIN_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/hyper.h"
#include "core/err.h"
#include "model/flow.h"
#include "model/model.h"
#include "model/weights.h"

/* ---- a model ---- */

/* A parameter: rows × columns values; a vector has one row. Rows of a matrix are its outputs,
 * whatever the file says. The four arrays have `count` = rows × columns values, and lie at `at` of the
 * model's arrays. */
struct train_param {
	char *name;          /* as in the plan, with ".weight" or ".bias" */
	enum role role;
	size_t layer;        /* 0 for roles that a model has once */
	size_t rows, columns, count, at;
	size_t tensor;       /* its number in the plan */
	bool turned;         /* the plan has it transposed */
	bool decays;         /* weight decay applies: matrices, not norms and biases */
};

struct train_model {
	struct hyper hyper;
	struct model plan;   /* of the result: tensors in F32. Keys may be changed or added, tensors not */
	struct train_param *params;
	size_t param_count;

	/* Of all parameters, `total` values each. Between parameters are zeros, so that each begins at a
	 * multiple of 64 bytes. A checkpoint is value, first, second and the number of the step; gradients
	 * are zero between steps. gradient, first and second are NULL in a frozen model. */
	size_t total;
	float *value, *gradient;
	float *first, *second; /* AdamW's averages of the gradient and of its square */

	/* Private. */
	struct train_layer *layers;
	struct train_ends *ends;
	const uint8_t **tensors;     /* of the plan, if they are not parameters: their bytes, else NULL */
	struct weights_blob *blobs;  /* of the plan */
	float *factors;              /* of rotary frequencies, or NULL */
	void *memory;
};

enum {
	TRAIN_FROZEN = 1 << 0, /* a teacher: no gradient, no state */
};

/* A model with the values of w, of any type that can be decoded, in GGUF form or that of a model
 * folder; the plan has the form of w. w outlives the model. ERR_FORMAT names what cannot be trained;
 * ERR_CORRUPT a tensor that is missing or has another shape; ERR_MEMORY. 0, or -1 with e filled;
 * train_close is due in any case. */
int train_open(struct train_model *m, const struct weights *w, unsigned flags, struct err *e);

/* A model from nothing, in GGUF form. */
struct train_config {
	const char *family;      /* general.architecture: "llama", "qwen2", "qwen3", "gpt2" */
	uint64_t layers, width, heads, kv_heads, ff; /* kv_heads: 0: as heads; ff: 0: 4 × width for gpt2,
	                          * 8/3 × width rounded up to a multiple of 32 for others */
	uint64_t head;           /* values of a head; 0: width / heads */
	uint64_t context, vocabulary; /* vocabulary: 0: that of `words` */
	bool tied;               /* the output is the embeddings; always so in gpt2 */
	double rope_base, eps;   /* 0: 10000, 1e-5 */
	const char *name;        /* general.name, or NULL */
	/* The model whose tokenizer it gets (keys tokenizer.* of GGUF), which outlives the new one; or
	 * NULL. */
	const struct weights *words;
};

/* Values are zero until train_init. ERR_USAGE for numbers that do not fit together (heads that do not
 * divide the width, 0 layers, …); ERR_FORMAT if `words` has no tokens as keys of GGUF; ERR_MEMORY. */
int train_new(struct train_model *m, const struct train_config *c, struct err *e);
void train_close(struct train_model *m);

/* Initial values, and zero state. Norms are 1, biases 0, others normal with a deviation of 0.02,
 * matrices that write to the residual stream (o, down) of 0.02 / √(2 layers), as GPT-2 has it. Value
 * number i of a tensor follows from the seed, the tensor's name and i only (core/philox.h). */
void train_init(struct train_model *m, uint64_t seed);

/* The parameter of that name, or NULL. */
const struct train_param *train_find(const struct train_model *m, const char *name);

/* Bytes that a model needs for `total` values: 4 arrays, or 1 if frozen. UINT64_MAX on overflow. */
uint64_t train_model_bytes(uint64_t total, unsigned flags);

/* The model as a source that a sink can take: plan, side files, tensors in F32; tensors that
 * are not parameters as they were. Records, signatures and a licence do not follow. m and the weights that
 * it was opened from must not change meanwhile. Free it by source_close. NULL with e filled. */
struct source *train_source(struct train_model *m, struct err *e);

/* ---- batches ---- */

#define TRAIN_IGNORE UINT32_MAX /* a target that does not count */

struct train_batch {
	const uint32_t *tokens;  /* rows × length, each below the vocabulary */
	const uint32_t *targets; /* rows × length: the token after each, or TRAIN_IGNORE */
	size_t rows, length;
};

/* What is learnt. At a position that counts, with the model's logits z, the teacher's y, the target t and
 * T = temperature, the loss is
 *
 *	(1 - alpha) × hard + alpha × soft
 *	hard = -ln softmax(z)[t]
 *	soft = T² × Σ p ln(p / q),  p = softmax(y / T), q = softmax(z / T)
 *
 * (Hinton, Vinyals, Dean: Distilling the Knowledge in a Neural Network, 2015). */
struct train_goal {
	double alpha;            /* 0: without a teacher; at most 1 */
	double temperature;      /* above 0; 1 if alpha is 0 */
	struct train_work *teacher; /* of a model with the same vocabulary, opened for the same rows and
	                          * length (TRAIN_FORWARD is enough); or NULL */
	const float *logits;     /* the teacher's, if there is no `teacher`: [rows × length][vocabulary] */
	uint64_t counted;        /* gradients are of the sum of losses divided by this: the positions that
	                          * count in all batches of a step. 0: those of this batch */
};

/* Sums over the positions that count. The mean of hard is the logarithm of the perplexity. */
struct train_loss {
	double hard, soft, total; /* soft is 0 without a teacher; total = the mixture above */
	uint64_t counted;
};

/* Memory for batches of at most rows × length tokens. */
struct train_work;

enum {
	TRAIN_FORWARD = 1 << 0, /* for train_loss and train_logits only, in much less memory */
};

/* jobs: threads. limit: bytes, 0: none; ERR_MEMORY with the figure if more are needed, before any is
 * taken. ERR_INVALID if the model has fewer positions than length. m outlives the result; its values
 * may change between calls. NULL with e filled. */
struct train_work *train_work_open(struct train_model *m, size_t rows, size_t length, unsigned flags,
                                   unsigned jobs, uint64_t limit, struct err *e);
void train_work_close(struct train_work *w);

/* The bytes that train_work_open takes. UINT64_MAX on overflow. */
uint64_t train_work_bytes(struct train_model *m, size_t rows, size_t length, unsigned flags,
                          unsigned jobs);

/* Forward and backward: adds the gradient of the mean loss to that of the parameters. ERR_INVALID if a
 * token is not below the vocabulary, the batch is larger than the work, or the teacher does not fit. */
int train_backward(struct train_work *w, const struct train_batch *b, const struct train_goal *g,
                   struct train_loss *loss, struct err *e);

/* The loss alone. g may be NULL: hard only. */
int train_loss(struct train_work *w, const struct train_batch *b, const struct train_goal *g,
               struct train_loss *loss, struct err *e);

/* The logits of a batch (targets are not used): [rows × length][vocabulary]. */
int train_logits(struct train_work *w, const struct train_batch *b, float *logits, struct err *e);

/* ---- steps ---- */

/* AdamW (Loshchilov and Hutter: Decoupled Weight Decay Regularization, 2019), for step t = 1, 2, …:
 *
 *	g = gradient × min(1, clip / |gradient of all parameters|)
 *	first  = beta1 × first + (1 - beta1) × g
 *	second = beta2 × second + (1 - beta2) × g²
 *	value -= rate × (first / (1 - beta1^t) / (√(second / (1 - beta2^t)) + eps) + decay × value)
 *
 * where decay is 0 for parameters that do not decay. */
struct train_adam {
	double rate, beta1, beta2, eps, decay;
	double clip;              /* 0: none */
};
#define TRAIN_ADAM { .rate = 1e-3, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .decay = 0.1, .clip = 1 }

/* One step, number t from 1 on; gradients become zero. *norm is the length of the gradient before
 * clipping; may be NULL. ERR_INVALID, and nothing changes, if it is not finite. */
int train_update(struct train_model *m, const struct train_adam *a, uint64_t t, unsigned jobs,
                 double *norm, struct err *e);

/* The rate of step t of `steps` (both from 1 on): rises in a line over the first `warm` steps to
 * `rate`, then falls along half a cosine to `lowest` at the last step. */
double train_rate(double rate, double lowest, uint64_t warm, uint64_t steps, uint64_t t);

/* Makes gradients zero, without a step. */
void train_clear(struct train_model *m);

#endif
