/* arch: the differences between architectures, as rows of data. The forward pass
 * (infer/decoder.h) is the same for all of them.
 *
 * Sources: keys and names of GGUF files as llama.cpp writes them, those of model folders as the
 * transformers library writes them, and the papers for their meaning.
 */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The purpose of a tensor. Each may have a bias beside its weight, and in GGUF a scale. */
enum role {
	/* one in a model */
	ROLE_EMBED, ROLE_POSITIONS, ROLE_TOKEN_TYPES, ROLE_EMBED_NORM, ROLE_OUT_NORM, ROLE_OUT,
	ROLE_ROPE_FREQS,
	/* one in each block */
	ROLE_ROPE_LONG, ROLE_ROPE_SHORT,
	ROLE_ATTN_NORM, ROLE_ATTN_NORM2, ROLE_Q, ROLE_K, ROLE_V, ROLE_QKV, ROLE_O, ROLE_Q_NORM,
	ROLE_K_NORM, ROLE_ATTN_POST, ROLE_ATTN_OUT_NORM, ROLE_SINKS,
	ROLE_FFN_NORM, ROLE_GATE, ROLE_UP, ROLE_DOWN, ROLE_FFN_POST, ROLE_LAYER_OUT_NORM,
	/* latent attention */
	ROLE_Q_A, ROLE_Q_A_NORM, ROLE_Q_B, ROLE_KV_A, ROLE_KV_A_NORM, ROLE_K_B, ROLE_V_B,
	/* one in each block with experts; EXPS: of all experts, or of one */
	ROLE_ROUTER, ROLE_EXP_PROBS, ROLE_GATE_EXPS, ROLE_UP_EXPS, ROLE_DOWN_EXPS,
	ROLE_SHARED_ROUTER, ROLE_SHARED_GATE, ROLE_SHARED_UP, ROLE_SHARED_DOWN,
	/* a model of states */
	ROLE_SSM_IN, ROLE_SSM_CONV, ROLE_SSM_X, ROLE_SSM_DT, ROLE_SSM_A, ROLE_SSM_D, ROLE_SSM_OUT,
	/* an encoder beside a decoder */
	ROLE_ENC_OUT_NORM, ROLE_ENC_NORM, ROLE_ENC_Q, ROLE_ENC_K, ROLE_ENC_V, ROLE_ENC_O,
	ROLE_ENC_BIAS, ROLE_ENC_FFN_NORM, ROLE_ENC_GATE, ROLE_ENC_UP, ROLE_ENC_DOWN,
	ROLE_DEC_OUT_NORM, ROLE_DEC_NORM, ROLE_DEC_Q, ROLE_DEC_K, ROLE_DEC_V, ROLE_DEC_O,
	ROLE_DEC_BIAS, ROLE_CROSS_NORM, ROLE_CROSS_Q, ROLE_CROSS_K, ROLE_CROSS_V, ROLE_CROSS_O,
	ROLE_DEC_FFN_NORM, ROLE_DEC_GATE, ROLE_DEC_UP, ROLE_DEC_DOWN,
	ROLES
};

enum {
	ARCH_LAYER_NORM = 1 << 0,   /* (x - mean)/deviation, not x/rms */
	ARCH_HALVES = 1 << 1,       /* rope pairs value i with i + rot/2; else 2i with 2i + 1 */
	ARCH_POSITIONS = 1 << 2,    /* learned positions instead of rope */
	ARCH_GELU = 1 << 3,         /* GELU, tanh form; else SiLU */
	ARCH_GATED = 1 << 4,        /* down(act(gate x) * up x), else down(act(up x)), where act
	                             * without ARCH_GELU is the square of ReLU */
	ARCH_GATE_IN_UP = 1 << 5,   /* gate and up are rows of one tensor, the gate first */
	ARCH_QK_NORM = 1 << 6,      /* queries and keys have a norm, over each head */
	ARCH_POST_NORMS = 1 << 7,   /* attention and feed-forward end with a norm */
	ARCH_EMBED_SCALE = 1 << 8,  /* embeddings are multiplied by sqrt(width) */
	ARCH_PARALLEL = 1 << 9,     /* attention and feed-forward may have the same input */
	ARCH_EXPERTS = 1 << 10,     /* may have experts */
	ARCH_ONLY_EXPERTS = 1 << 11, /* must have them */
	ARCH_SUM_TO_ONE = 1 << 12,  /* weights of the chosen experts are scaled to sum 1 */
	ARCH_SHARED = 1 << 13,      /* one more expert, with a gate, for every token */
	ARCH_WIDE_HEADS = 1 << 14,  /* models of "wide" blocks scale scores as if a head had
	                             * width/heads values */
	ARCH_NO_WINDOW = 1 << 15,   /* models state a window that is not used (see apr-run(1)) */
	ARCH_CAP_SCORES = 1 << 16,  /* GGUF: scores have a soft cap, 50 without a key */
	ARCH_CAP_LOGITS = 1 << 17,  /* GGUF: logits have a soft cap, 30 without a key */
	ARCH_MAY_CAP = 1 << 18,     /* GGUF: logits have a soft cap if there is a key */
	ARCH_FF_UNSCALED = 1 << 19, /* GGUF: scales of the feed-forward are not used */
	ARCH_LOCAL_ROPE = 1 << 20,  /* blocks with a window have a rope of their own: unscaled,
	                             * base 10000 without a key */

	ARCH_MULTIPLIERS = 1 << 21, /* embeddings and residuals are multiplied, logits divided */
	ARCH_ONE_NORM = 1 << 22,    /* blocks without a norm of the feed-forward: its input is that
	                             * of attention. Only with ARCH_LAYER_NORM */
	ARCH_NO_GGUF = 1 << 23,     /* llama.cpp has no such architecture */

	/* in model folders only */
	ARCH_PLUS_ONE = 1 << 24,    /* norms store weight - 1 */
	ARCH_CONV1D = 1 << 25,      /* matrices of blocks are transposed: inputs × outputs */
	ARCH_MIXED_QKV = 1 << 26,   /* QKV: query, key and value rows of one head after another */
	ARCH_PAIRS = 1 << 27,       /* rope pairs value 2i with 2i + 1, as in GGUF */

	ARCH_POST_ONLY = 1 << 28,   /* with ARCH_POST_NORMS: these are the only norms of a block,
	                             * and those of queries and keys are over all heads */
	ARCH_LOGIT_SCALE = 1 << 29, /* logits are multiplied */
	ARCH_SKIP_ROPE = 1 << 30    /* every 4th block has no rotary positions */
};

/* The forms in which programs store an architecture: GGUF files as llama.cpp reads them, model
 * folders as the transformers library writes them, and .apr files. */
enum arch_form { ARCH_GGUF, ARCH_FOLDER, ARCH_APR };

/* What happens to the values of a tensor on the way from a model folder to GGUF. The way back
 * is the inverse. */
enum arch_change {
	CHANGE_NONE,
	CHANGE_PAIRS_Q,   /* rows of each of H heads: the halves are interleaved, row by row */
	CHANGE_PAIRS_K,   /* the same for G heads */
	CHANGE_PLUS_ONE,  /* one is added to each value of the weight, not to a bias */
	CHANGE_TURN,      /* matrices are transposed; a bias is not */
	CHANGE_QKV,       /* for each of G groups: its queries, a key and a value; then all
	                   * queries, all keys, all values */
	CHANGE_K_B,       /* of each head the first N rows, transposed */
	CHANGE_V_B,       /* of each head the rows after these */
	CHANGE_EVEN,      /* columns 0, 2, 4 … as rows; of a bias, values 0, 2, 4 … */
	CHANGE_ODD,       /* columns 1, 3, 5 … */
	CHANGE_NEG_EXP,   /* x becomes -exp x */
	CHANGE_SQUEEZE,   /* dimensions of 1 are dropped */
	CHANGE_SKIP_ROWS, /* the first O rows are dropped */
};

enum {
	RULE_OPTIONAL = 1 << 0, /* models may lack it */
	RULE_BIAS = 1 << 1,     /* may have a bias */
	RULE_BARE = 1 << 2,     /* the name in folders is complete, without ".weight" */
	RULE_PLAIN = 1 << 3,    /* the name in GGUF is complete, without ".weight" */
	RULE_AS_BIAS = 1 << 4,  /* the tensor is the bias in GGUF: ".bias" */
	RULE_GREEK = 1 << 5,    /* ".gamma" and ".beta", not ".weight" and ".bias" */
	RULE_UNUSED = 1 << 6,   /* GGUF has no such tensor; role is ROLES */
	RULE_IF_TIED = 1 << 7,  /* left out of GGUF if it equals the embeddings */
	RULE_PACKED = 1 << 8,   /* no folder has this name: only packed weights get it */
};

/* The rule for a tensor. In names, "#" is the number of a block and "*" that of an expert.
 *
 * shape: dimensions in model folders, outermost first, as sums of products of
 * hyper-parameters (arch/shape.h): "H*K W". "E|X W": GGUF stacks E of these. The bias has
 * the same shape without the last dimension. A change may give GGUF another shape. */
struct arch_rule {
	enum role role;
	const char *name;   /* in model folders; NULL: the common name of the role */
	const char *shape;  /* NULL: the common shape of the role */
	enum arch_change change;
	unsigned flags;
};

struct arch {
	const char *name;   /* general.architecture; several rows may share it */
	const char *folder; /* model_type in config.json */
	const char *missing; /* what inference lacks for it; NULL: apr-run runs it */
	uint32_t flags;
	uint64_t window;    /* positions that attention sees, without a key; 0: all */
	uint64_t period;    /* every period-th block has no window; 0: all blocks have one */
	uint64_t wide;      /* see ARCH_WIDE_HEADS */
	const char *prefix; /* the first part of folder names, which some folders lack, or which
	                     * some have in addition to the name */
	const struct arch_rule *const *rules; /* groups, ended by NULL; each group is ended by a
	                     * rule without role and name */
};

/* The n-th rule, over all groups; NULL past the last. */
const struct arch_rule *arch_rule(const struct arch *a, size_t n);

/* The names of a role in all architectures, without ".weight"; NULL: the form has none (names
 * in .apr files follow from those in folders, arch/match.h). */
const char *role_name(enum role role, enum arch_form form);
/* A rule's own name and shape, or the common ones. */
const char *rule_name(const struct arch_rule *r);
const char *rule_shape(const struct arch_rule *r);

/* The row with that name (the first if several share it), that model_type, or that index;
 * NULL if there is none. */
const struct arch *arch_by_name(const char *name);
const struct arch *arch_by_folder(const char *model_type);
const struct arch *arch_row(size_t index);

/* The name of a role's tensor without ".weight": "#" stands for the block's number, "*" for the
 * expert's. NULL if the form has no such tensor. */
const char *arch_tensor(const struct arch *a, enum arch_form form, enum role role);

/* Whether a model with that many blocks scales scores as ARCH_WIDE_HEADS says. */
bool arch_scales_wide(const struct arch *a, uint64_t blocks);

/* Whether a tensor has no effect on logits: in model folders, buffers that are not weights; in
 * GGUF, the head of a classifier. */
int arch_is_apart(const char *name, enum arch_form form);

#endif
