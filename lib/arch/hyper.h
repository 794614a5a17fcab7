/* hyper: the numbers of a model that its tensors alone do not tell, as a GGUF file's
 * keys or a model folder's config.json say them. Nothing here is believed until
 * infer/net.c has held it against the tensors.
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

/* GELU in its tanh form, in its exact one, and in the tanh form as GGML computes it for
 * GGUF files: from a table of halves, to which x is rounded. */
enum act { ACT_SILU, ACT_GELU_TANH, ACT_GELU_ERF, ACT_GELU_HALF };

struct hyper {
	const struct arch *arch;
	bool folder;             /* names are those of a model folder, and so are rows */
	bool halves;             /* rope pairs values as ARCH_HALVES says */
	bool rotary;             /* positions are rotary, else learned */
	bool layer_norm;         /* norms are layer norms, else RMS norms */
	float embed_scale;       /* embeddings are multiplied by it */
	uint64_t layers;         /* at most as many as there are tensors */
	uint64_t width;          /* of x, "embedding length" */
	uint64_t heads, kv_heads; /* kv_heads divides heads */
	uint64_t head_k, head_v; /* values of a head: queries and keys, values */
	uint64_t context;        /* positions the model was made for */
	uint64_t vocabulary, ff; /* where they are said, else 0 */
	uint64_t experts, experts_used, ff_expert, ff_shared; /* 0: none, or not said */
	float eps;               /* of norms */
	enum act act;
	bool parallel, sum_to_one;
	float expert_scale;      /* of the weights of experts */
	float attn_cap, logit_cap; /* soft caps: 0 for none */
	float score_scale;       /* of queries times keys */

	uint64_t window;         /* 0: none */
	bool window_ignored;     /* the model states a window that is not applied */
	uint8_t *windowed;       /* for each block: 1 if attention has that window */

	struct rope rope, rope_window; /* of blocks without and with a window */
	float *factors;          /* rope.factors, if they are of config.json */
	float *factors_long;     /* of longrope: the one for texts beyond rope.original */
};

/* Read the hyper-parameters in the form that the model has. 0, or -1 with e filled; hyper_free
 * is due in any case. */
int hyper_read(struct hyper *h, const struct weights *w, struct err *e);
void hyper_free(struct hyper *h);

/* The forms: keys of GGUF; config.json; members of the metadata as the .apr files of
 * existing software have them. */
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

/* ERR_FORMAT that names an architecture and those that are known. */
int hyper_unknown(const struct weights *w, const char *name, struct err *e);

#endif
