/* arch: what makes one architecture differ from another, as rows of data. The forward
 * pass (infer/forward.c) is the same for all.
 *
 * Sources: the keys and names of GGUF files as llama.cpp writes them; those of model
 * folders as the transformers library does; the papers for what they mean.
 */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H

#include <stddef.h>
#include <stdint.h>

/* What a tensor is for. Each may have a bias beside its weight, and in GGUF a scale. */
enum role {
	/* one each */
	ROLE_EMBED, ROLE_POSITIONS, ROLE_OUT_NORM, ROLE_OUT, ROLE_ROPE_FREQS,
	/* of each block */
	ROLE_ROPE_LONG, ROLE_ROPE_SHORT,
	ROLE_ATTN_NORM, ROLE_Q, ROLE_K, ROLE_V, ROLE_QKV, ROLE_O, ROLE_Q_NORM, ROLE_K_NORM,
	ROLE_ATTN_POST,
	ROLE_FFN_NORM, ROLE_GATE, ROLE_UP, ROLE_DOWN, ROLE_FFN_POST,
	/* of each block with experts; the "exps" of all experts, or of one */
	ROLE_ROUTER, ROLE_GATE_EXPS, ROLE_UP_EXPS, ROLE_DOWN_EXPS,
	ROLE_SHARED_ROUTER, ROLE_SHARED_GATE, ROLE_SHARED_UP, ROLE_SHARED_DOWN,
	ROLES
};

enum {
	ARCH_LAYER_NORM = 1 << 0,   /* (x - mean)/deviation, not x/rms */
	ARCH_HALVES = 1 << 1,       /* rope turns i with i + rot/2, not 2i with 2i + 1 */
	ARCH_POSITIONS = 1 << 2,    /* learned positions, and no rope */
	ARCH_GELU = 1 << 3,         /* tanh form, where SiLU is else */
	ARCH_GATED = 1 << 4,        /* down(act(gate x) * up x), else down(act(up x)) */
	ARCH_GATE_IN_UP = 1 << 5,   /* both are rows of one tensor, the gate first */
	ARCH_QK_NORM = 1 << 6,      /* queries and keys are normed, each head by itself */
	ARCH_POST_NORMS = 1 << 7,   /* attention and feed-forward are normed at their end */
	ARCH_EMBED_SCALE = 1 << 8,  /* embeddings are multiplied by the root of the width */
	ARCH_PARALLEL = 1 << 9,     /* attention and feed-forward may see the same x */
	ARCH_EXPERTS = 1 << 10,     /* may have experts */
	ARCH_ONLY_EXPERTS = 1 << 11, /* must have them */
	ARCH_SUM_TO_ONE = 1 << 12,  /* weights of the chosen experts are made to */
	ARCH_SHARED = 1 << 13,      /* one expert more, for all tokens, with a gate */
	ARCH_WIDE_HEADS = 1 << 14,  /* at "wide" blocks, scores are scaled as if heads
	                             * were width/heads wide */
	ARCH_NO_WINDOW = 1 << 15,   /* a window is stated and not used (see apr-run(1)) */
	ARCH_CAP_SCORES = 1 << 16,  /* GGUF: scores have a soft cap, 50 if no key says another */
	ARCH_CAP_LOGITS = 1 << 17,  /* GGUF: logits have one, 30 if no key says another */
	ARCH_MAY_CAP = 1 << 18,     /* GGUF: logits have one if a key says so */
	ARCH_FF_UNSCALED = 1 << 19, /* GGUF: scales of the feed-forward are not used */
	ARCH_LOCAL_ROPE = 1 << 20,  /* blocks with a window have a rope of their own, unscaled and
	                             * of base 10000 if nothing else is said */

	/* In model folders only. */
	ARCH_PLUS_ONE = 1 << 24,    /* norms store their weight less one */
	ARCH_CONV1D = 1 << 25,      /* matrices of blocks are stored in, out */
	ARCH_MIXED_QKV = 1 << 26    /* query, key and value of each head after another */
};

/* A name in a model folder that is not the common one. */
struct arch_name {
	enum role role;
	const char *name;
};

struct arch {
	const char *name;   /* general.architecture; NULL: of model folders alone */
	const char *folder; /* model_type in config.json; NULL: none */
	uint32_t flags;
	uint64_t window;    /* tokens that attention looks back, where no key says; 0: all */
	uint64_t period;    /* of so many blocks the last has no window; 0: all have one */
	uint64_t wide;      /* see ARCH_WIDE_HEADS */
	const struct arch_name *names; /* ended by a row without name, or NULL */
};

/* By what a file says; NULL if there is none. By index; NULL past the last. */
const struct arch *arch_by_name(const char *name);
const struct arch *arch_by_folder(const char *model_type);
const struct arch *arch_row(size_t index);

/* The name of a role's tensor without ".weight": "#" stands for the number of the block,
 * "*" for that of the expert. NULL where the form has none. */
const char *arch_tensor(const struct arch *a, int folder, enum role role);

/* Tensors that have no part in logits: in model folders, what holds no weights; in GGUF, the
 * head of a classifier. */
int arch_is_apart(const char *name, int folder);

#endif
