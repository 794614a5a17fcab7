/* hyper: the hyper-parameters of a model, from the keys of a GGUF file, the config.json of a
 * model folder, or the metadata of an .apr file. They are only claims until infer/net.c has
 * compared them with the tensors.
 */
#ifndef ARCH_HYPER_H
#define ARCH_HYPER_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "arch/rope.h"
#include "core/err.h"
#include "core/json.h"
#include "model/weights.h"

/* GELU in the tanh form, in the exact form, and in the tanh form as GGML computes it for GGUF
 * files: from a table for x rounded to half precision. */
enum act { ACT_SILU, ACT_GELU_TANH, ACT_GELU_ERF, ACT_GELU_HALF, ACT_RELU_SQUARED };

#define HYPER_HEAD 1024 /* the most values of a head */

struct hyper {
	const struct arch *arch;
	bool packed;             /* config.json says that the weights are quantized */
	bool folder;             /* names and the order of rows are those of a model folder */
	bool halves;             /* rope pairs values as ARCH_HALVES says */
	bool rotary;             /* positions are rotary, else learned */
	bool layer_norm;         /* norms are layer norms, else RMS norms */
	float embed_scale, residual_scale, logit_scale; /* factors of embeddings, of what is added
	                          * to the residual, and of logits */
	uint64_t layers;         /* at most the number of tensors */
	uint64_t width;          /* hidden size, "embedding length" */
	uint64_t heads, kv_heads; /* kv_heads divides heads */
	uint64_t head_k, head_v; /* values of a head: of queries and keys, of values */
	uint64_t context;        /* positions that the model was made for */
	uint64_t vocabulary, ff; /* 0: not stated */
	uint64_t experts, experts_used, ff_expert, ff_shared; /* 0: none, or not stated */
	float eps;               /* of norms */
	enum act act;
	bool parallel, sum_to_one;
	bool post_only;          /* norms stand behind sublayers only */
	uint64_t skip_rope;      /* every skip_rope-th block has no rotary positions; 0: all have */
	float expert_scale;      /* factor of the experts' weights */
	float attn_cap, logit_cap; /* soft caps; 0: none */
	float score_scale;       /* factor of queries times keys */

	uint64_t window;         /* 0: none */
	bool window_ignored;     /* the model states a window that is not applied */
	uint8_t *windowed;       /* for each block: 1 if attention has that window */

	struct rope rope, rope_window; /* of blocks without and with a window */
	float *factors;          /* memory of rope.factors from config.json, or NULL */
	float *factors_long;     /* longrope: those for contexts beyond rope.original, or NULL */
};

/* Read the hyper-parameters in the form that the model has. 0, or -1 with e filled; hyper_free
 * is due in any case. */
int hyper_read(struct hyper *h, const struct weights *w, struct err *e);
void hyper_free(struct hyper *h);

/* The forms: keys of GGUF, config.json, and metadata as existing software writes it to .apr
 * files. */
int hyper_gguf(struct hyper *h, const struct weights *w, struct err *e);
int hyper_folder(struct hyper *h, const struct weights *w, struct err *e);
int hyper_apr(struct hyper *h, const struct weights *w, struct err *e);

/* From the members of a config.json. */
int hyper_config(struct hyper *h, const struct weights *w, const json_t *o,
                 struct err *e);

/* The last step of each form: resolve what the architecture's flags say, prove what does not
 * need tensors, and make h->windowed. period as in struct arch. */
int hyper_finish(struct hyper *h, const struct weights *w, uint64_t period,
                 struct err *e);

/* ERR_FORMAT if the architecture is not supported (a is NULL; the hint lists those that are), or
 * if inference lacks something for it. 0 or -1. */
int hyper_runs(const struct weights *w, const char *name, const struct arch *a, struct err *e);

#endif
