/* LLaMA, Mistral, Mixtral, SmolLM3, Granite, Phi-3, DeepSeek, gpt-oss: RMS norms, no biases in most.
 * Other decoders use these rows for what they have in common. */
#include "arch/normal/rows.h"

/* Means of norms grow with depth; those of the first blocks are near 0. */
#define RMS(role) STRICT(role, NORMAL_MEAN, 0.001, 10, -1, 10, "facts")
#define MATRIX(role) WEIGHT(role, NORMAL_STD, 0.001, 1, "measured: 0.018 to 0.28")

const struct normal normal_llama[] = {
	RMS(ROLE_ATTN_NORM), RMS(ROLE_FFN_NORM), RMS(ROLE_OUT_NORM), RMS(ROLE_Q_NORM),
	RMS(ROLE_K_NORM), RMS(ROLE_ATTN_POST), RMS(ROLE_FFN_POST), RMS(ROLE_Q_A_NORM),
	RMS(ROLE_KV_A_NORM),

	/* 0.036 × 16 and 0.308 × 8 on the models at hand */
	WEIGHT(ROLE_EMBED, NORMAL_LENGTH, 0.05, 5, "measured: 0.58 to 2.5"),
	WEIGHT(ROLE_EMBED, NORMAL_STD, 0.0005, 0.8, "v2 11, point 30, and measured: 0.31"),
	WEIGHT(ROLE_OUT, NORMAL_LENGTH, 0.05, 8, "measured: 1.5 to 2.5"),

	MATRIX(ROLE_Q), MATRIX(ROLE_K), MATRIX(ROLE_V), MATRIX(ROLE_QKV), MATRIX(ROLE_O),
	MATRIX(ROLE_GATE), MATRIX(ROLE_UP), MATRIX(ROLE_DOWN), MATRIX(ROLE_GATE_EXPS),
	MATRIX(ROLE_UP_EXPS), MATRIX(ROLE_DOWN_EXPS),

	/* factors of frequencies: 1, or up to the factor of the context */
	WEIGHT(ROLE_ROPE_FREQS, NORMAL_MIN, 1e-3, 1e3, "formula"),
	WEIGHT(ROLE_ROPE_FREQS, NORMAL_MAX, 1e-3, 1e3, "formula"),
	WEIGHT(ROLE_ROPE_LONG, NORMAL_MIN, 1e-3, 1e3, "formula"),
	WEIGHT(ROLE_ROPE_LONG, NORMAL_MAX, 1e-3, 1e3, "formula"),
	WEIGHT(ROLE_ROPE_SHORT, NORMAL_MIN, 1e-3, 1e3, "formula"),
	WEIGHT(ROLE_ROPE_SHORT, NORMAL_MAX, 1e-3, 1e3, "formula"),
	NORMAL_END
};
