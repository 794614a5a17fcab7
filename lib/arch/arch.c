#include "arch/arch.h"

#include <string.h>

/* ---- rules: groups that architectures share ---- */

#define END { ROLES, NULL, NULL, CHANGE_NONE, 0 }
#define RULE(role) { role, NULL, NULL, CHANGE_NONE, 0 }
#define MAYBE(role) { role, NULL, NULL, CHANGE_NONE, RULE_OPTIONAL }
#define LINEAR(role) { role, NULL, NULL, CHANGE_NONE, RULE_BIAS }
#define NAMED(role, name, flags) { role, name, NULL, CHANGE_NONE, flags }
#define UNUSED(name) { ROLES, name, NULL, CHANGE_NONE, RULE_UNUSED | RULE_OPTIONAL | RULE_BARE }
#define GROUP(name) static const struct arch_rule name[]

/* Most decoders: embeddings, and a head that may be the embeddings. */
GROUP(ends) = { RULE(ROLE_EMBED), RULE(ROLE_OUT_NORM), MAYBE(ROLE_OUT), END };
GROUP(ends_bias) = {
	RULE(ROLE_EMBED), LINEAR(ROLE_OUT_NORM),
	{ ROLE_OUT, NULL, NULL, CHANGE_NONE, RULE_OPTIONAL | RULE_BIAS }, END
};
/* The head is always the embeddings. */
GROUP(ends_tied) = { RULE(ROLE_EMBED), UNUSED("lm_head.weight"), END };

GROUP(norms) = { RULE(ROLE_ATTN_NORM), RULE(ROLE_FFN_NORM), END };
GROUP(norms_bias) = { LINEAR(ROLE_ATTN_NORM), LINEAR(ROLE_FFN_NORM), END };
GROUP(norms_plus_one) = {
	{ ROLE_ATTN_NORM, NULL, NULL, CHANGE_PLUS_ONE, RULE_BIAS },
	{ ROLE_FFN_NORM, NULL, NULL, CHANGE_PLUS_ONE, RULE_BIAS },
	{ ROLE_OUT_NORM, NULL, NULL, CHANGE_PLUS_ONE, RULE_BIAS }, END
};

GROUP(attention) = {
	LINEAR(ROLE_Q), LINEAR(ROLE_K), LINEAR(ROLE_V), LINEAR(ROLE_O), END
};
/* Folders rotate value i with i + K/2, GGUF 2i with 2i + 1. */
GROUP(attention_pairs) = {
	{ ROLE_Q, NULL, NULL, CHANGE_PAIRS_Q, RULE_BIAS },
	{ ROLE_K, NULL, NULL, CHANGE_PAIRS_K, RULE_BIAS },
	LINEAR(ROLE_V), LINEAR(ROLE_O), END
};
GROUP(qk_norms) = { RULE(ROLE_Q_NORM), RULE(ROLE_K_NORM), END };

GROUP(gated) = { LINEAR(ROLE_GATE), LINEAR(ROLE_UP), LINEAR(ROLE_DOWN), END };
/* Some blocks may have experts, the others do not. */
#define MAYBE_LINEAR(role) { role, NULL, NULL, CHANGE_NONE, RULE_OPTIONAL | RULE_BIAS }
GROUP(gated_maybe) = {
	MAYBE_LINEAR(ROLE_GATE), MAYBE_LINEAR(ROLE_UP), MAYBE_LINEAR(ROLE_DOWN), END
};
GROUP(experts_maybe) = {
	MAYBE(ROLE_ROUTER), MAYBE(ROLE_DOWN_EXPS), MAYBE(ROLE_GATE_EXPS), MAYBE(ROLE_UP_EXPS),
	END
};

/* ---- rules of single architectures ---- */

GROUP(mixtral) = {
	NAMED(ROLE_ROUTER, "model.layers.#.block_sparse_moe.gate", 0),
	NAMED(ROLE_GATE_EXPS, "model.layers.#.block_sparse_moe.experts.*.w1", 0),
	NAMED(ROLE_DOWN_EXPS, "model.layers.#.block_sparse_moe.experts.*.w2", 0),
	NAMED(ROLE_UP_EXPS, "model.layers.#.block_sparse_moe.experts.*.w3", 0), END
};

GROUP(shared_expert) = {
	RULE(ROLE_SHARED_ROUTER), RULE(ROLE_SHARED_GATE), RULE(ROLE_SHARED_UP),
	RULE(ROLE_SHARED_DOWN), END
};

GROUP(phi3) = {
	LINEAR(ROLE_QKV), LINEAR(ROLE_O),
	{ ROLE_UP, "model.layers.#.mlp.gate_up_proj", "F+F W", CHANGE_NONE, RULE_BIAS },
	LINEAR(ROLE_DOWN), END
};

GROUP(gemma) = {
	{ ROLE_OUT_NORM, NULL, NULL, CHANGE_PLUS_ONE, 0 },
	{ ROLE_ATTN_NORM, NULL, NULL, CHANGE_PLUS_ONE, 0 },
	{ ROLE_ATTN_POST, NULL, NULL, CHANGE_PLUS_ONE, 0 },
	{ ROLE_FFN_NORM, "model.layers.#.pre_feedforward_layernorm", NULL, CHANGE_PLUS_ONE, 0 },
	{ ROLE_FFN_POST, NULL, NULL, CHANGE_PLUS_ONE, 0 }, END
};
GROUP(gemma3) = {
	{ ROLE_Q_NORM, NULL, NULL, CHANGE_PLUS_ONE, 0 },
	{ ROLE_K_NORM, NULL, NULL, CHANGE_PLUS_ONE, 0 }, END
};

GROUP(gpt2) = {
	NAMED(ROLE_EMBED, "transformer.wte", 0),
	NAMED(ROLE_POSITIONS, "transformer.wpe", 0),
	NAMED(ROLE_OUT_NORM, "transformer.ln_f", RULE_BIAS),
	NAMED(ROLE_OUT, "lm_head", RULE_OPTIONAL),
	NAMED(ROLE_ATTN_NORM, "transformer.h.#.ln_1", RULE_BIAS),
	{ ROLE_QKV, "transformer.h.#.attn.c_attn", "W H*K+G*K+G*U", CHANGE_TURN, RULE_BIAS },
	{ ROLE_O, "transformer.h.#.attn.c_proj", "H*U W", CHANGE_TURN, RULE_BIAS },
	NAMED(ROLE_FFN_NORM, "transformer.h.#.ln_2", RULE_BIAS),
	{ ROLE_UP, "transformer.h.#.mlp.c_fc", "W F", CHANGE_TURN, RULE_BIAS },
	{ ROLE_DOWN, "transformer.h.#.mlp.c_proj", "F W", CHANGE_TURN, RULE_BIAS }, END
};

GROUP(gptneox) = {
	NAMED(ROLE_EMBED, "gpt_neox.embed_in", 0),
	NAMED(ROLE_OUT_NORM, "gpt_neox.final_layer_norm", RULE_BIAS),
	NAMED(ROLE_OUT, "embed_out", RULE_OPTIONAL),
	NAMED(ROLE_ATTN_NORM, "gpt_neox.layers.#.input_layernorm", RULE_BIAS),
	{ ROLE_QKV, "gpt_neox.layers.#.attention.query_key_value", NULL, CHANGE_QKV, RULE_BIAS },
	NAMED(ROLE_O, "gpt_neox.layers.#.attention.dense", RULE_BIAS),
	NAMED(ROLE_FFN_NORM, "gpt_neox.layers.#.post_attention_layernorm", RULE_BIAS),
	NAMED(ROLE_UP, "gpt_neox.layers.#.mlp.dense_h_to_4h", RULE_BIAS),
	NAMED(ROLE_DOWN, "gpt_neox.layers.#.mlp.dense_4h_to_h", RULE_BIAS), END
};

GROUP(olmo2) = {
	{ ROLE_Q_NORM, NULL, "H*K", CHANGE_NONE, 0 },
	{ ROLE_K_NORM, NULL, "G*K", CHANGE_NONE, 0 },
	RULE(ROLE_ATTN_POST), RULE(ROLE_FFN_POST), END
};

GROUP(latent) = {
	{ ROLE_Q, NULL, "H*N+H*R W", CHANGE_NONE, RULE_OPTIONAL },
	MAYBE_LINEAR(ROLE_Q_A), MAYBE(ROLE_Q_A_NORM), MAYBE(ROLE_Q_B),
	LINEAR(ROLE_KV_A), RULE(ROLE_KV_A_NORM),
	{ ROLE_K_B, NULL, NULL, CHANGE_K_B, 0 },
	{ ROLE_V_B, NULL, NULL, CHANGE_V_B, 0 },
	LINEAR(ROLE_O), END
};
GROUP(deepseek) = {
	NAMED(ROLE_EXP_PROBS, NULL, RULE_OPTIONAL | RULE_BARE | RULE_AS_BIAS),
	NAMED(ROLE_SHARED_GATE, "model.layers.#.mlp.shared_experts.gate_proj", RULE_OPTIONAL),
	NAMED(ROLE_SHARED_UP, "model.layers.#.mlp.shared_experts.up_proj", RULE_OPTIONAL),
	NAMED(ROLE_SHARED_DOWN, "model.layers.#.mlp.shared_experts.down_proj", RULE_OPTIONAL),
	END
};

/* Experts of gpt-oss in MXFP4 are unpacked to gate_proj and up_proj (adapt/packed/packed.h). */
#define OSS "model.layers.#.mlp.experts."
GROUP(gpt_oss) = {
	RULE(ROLE_ATTN_POST),
	NAMED(ROLE_SINKS, NULL, RULE_BARE),
	NAMED(ROLE_ROUTER, "model.layers.#.mlp.router", RULE_BIAS),
	{ ROLE_DOWN_EXPS, OSS "down_proj", "E W X", CHANGE_NONE, RULE_PACKED },
	{ ROLE_DOWN_EXPS, OSS "down_proj", "E X W", CHANGE_TURN, RULE_OPTIONAL | RULE_BARE },
	{ ROLE_DOWN_EXPS, OSS "down_proj_bias", "E W", CHANGE_NONE,
	  RULE_OPTIONAL | RULE_BARE | RULE_AS_BIAS },
	{ ROLE_GATE_EXPS, OSS "gate_proj", "E X W", CHANGE_NONE, RULE_PACKED },
	{ ROLE_GATE_EXPS, OSS "gate_up_proj", "E W X+X", CHANGE_EVEN, RULE_OPTIONAL | RULE_BARE },
	{ ROLE_GATE_EXPS, OSS "gate_up_proj_bias", "E X+X", CHANGE_EVEN,
	  RULE_OPTIONAL | RULE_BARE | RULE_AS_BIAS },
	{ ROLE_UP_EXPS, OSS "up_proj", "E X W", CHANGE_NONE, RULE_PACKED },
	{ ROLE_UP_EXPS, OSS "gate_up_proj", "E W X+X", CHANGE_ODD, RULE_OPTIONAL | RULE_BARE },
	{ ROLE_UP_EXPS, OSS "gate_up_proj_bias", "E X+X", CHANGE_ODD,
	  RULE_OPTIONAL | RULE_BARE | RULE_AS_BIAS }, END
};

#define BERT "encoder.layer.#."
#define GREEK (RULE_OPTIONAL | RULE_BIAS | RULE_GREEK)
GROUP(bert) = {
	NAMED(ROLE_EMBED, "embeddings.word_embeddings", 0),
	NAMED(ROLE_TOKEN_TYPES, "embeddings.token_type_embeddings", RULE_OPTIONAL),
	NAMED(ROLE_EMBED_NORM, "embeddings.LayerNorm", RULE_BIAS),
	NAMED(ROLE_EMBED_NORM, "embeddings.LayerNorm", GREEK),
	NAMED(ROLE_Q, BERT "attention.self.query", RULE_BIAS),
	NAMED(ROLE_K, BERT "attention.self.key", RULE_BIAS),
	NAMED(ROLE_V, BERT "attention.self.value", RULE_BIAS),
	NAMED(ROLE_O, BERT "attention.output.dense", RULE_BIAS),
	NAMED(ROLE_ATTN_OUT_NORM, BERT "attention.output.LayerNorm", RULE_BIAS),
	NAMED(ROLE_ATTN_OUT_NORM, BERT "attention.output.LayerNorm", GREEK),
	NAMED(ROLE_UP, BERT "intermediate.dense", RULE_BIAS),
	NAMED(ROLE_DOWN, BERT "output.dense", RULE_BIAS),
	NAMED(ROLE_LAYER_OUT_NORM, BERT "output.LayerNorm", RULE_BIAS),
	NAMED(ROLE_LAYER_OUT_NORM, BERT "output.LayerNorm", GREEK),
	UNUSED("pooler.dense.weight"), UNUSED("pooler.dense.bias"),
	UNUSED("embeddings.position_ids"), UNUSED("cls.predictions.bias"),
	UNUSED("cls.predictions.decoder.weight"), UNUSED("cls.predictions.decoder.bias"),
	UNUSED("cls.predictions.transform.dense.weight"),
	UNUSED("cls.predictions.transform.dense.bias"),
	UNUSED("cls.predictions.transform.LayerNorm.weight"),
	UNUSED("cls.predictions.transform.LayerNorm.bias"),
	UNUSED("cls.predictions.transform.LayerNorm.gamma"),
	UNUSED("cls.predictions.transform.LayerNorm.beta"),
	UNUSED("cls.seq_relationship.weight"), UNUSED("cls.seq_relationship.bias"),
	UNUSED("lm_head.bias"), UNUSED("lm_head.dense.weight"), UNUSED("lm_head.dense.bias"),
	UNUSED("lm_head.layer_norm.weight"), UNUSED("lm_head.layer_norm.bias"),
	UNUSED("lm_head.decoder.weight"), UNUSED("lm_head.decoder.bias"), END
};
GROUP(bert_positions) = {
	NAMED(ROLE_POSITIONS, "embeddings.position_embeddings", 0), END
};
GROUP(roberta_positions) = {
	/* keys of GGUF do not count the skipped rows */
	{ ROLE_POSITIONS, "embeddings.position_embeddings", "0 W", CHANGE_SKIP_ROWS, 0 }, END
};

#define T5_UP(role, name) NAMED(role, name, RULE_OPTIONAL)
GROUP(t5) = {
	NAMED(ROLE_EMBED, "shared", 0),
	NAMED(ROLE_OUT, "lm_head", RULE_OPTIONAL),
	UNUSED("encoder.embed_tokens.weight"), UNUSED("decoder.embed_tokens.weight"),
	RULE(ROLE_ENC_OUT_NORM), RULE(ROLE_ENC_NORM), RULE(ROLE_ENC_Q), RULE(ROLE_ENC_K),
	RULE(ROLE_ENC_V), RULE(ROLE_ENC_O), MAYBE(ROLE_ENC_BIAS), RULE(ROLE_ENC_FFN_NORM),
	MAYBE(ROLE_ENC_GATE), RULE(ROLE_ENC_UP), RULE(ROLE_ENC_DOWN),
	T5_UP(ROLE_ENC_UP, "encoder.block.#.layer.1.DenseReluDense.wi"),
	RULE(ROLE_DEC_OUT_NORM), RULE(ROLE_DEC_NORM), RULE(ROLE_DEC_Q), RULE(ROLE_DEC_K),
	RULE(ROLE_DEC_V), RULE(ROLE_DEC_O), MAYBE(ROLE_DEC_BIAS), RULE(ROLE_CROSS_NORM),
	RULE(ROLE_CROSS_Q), RULE(ROLE_CROSS_K), RULE(ROLE_CROSS_V), RULE(ROLE_CROSS_O),
	RULE(ROLE_DEC_FFN_NORM), MAYBE(ROLE_DEC_GATE), RULE(ROLE_DEC_UP), RULE(ROLE_DEC_DOWN),
	T5_UP(ROLE_DEC_UP, "decoder.block.#.layer.2.DenseReluDense.wi"),
	UNUSED("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"), END
};

/* GGUF has no form of Whisper, so its tensors have no roles. */
#define SPEECH(name) { ROLES, name, NULL, CHANGE_NONE, 0 }
#define SPEECH_BIAS(name) { ROLES, name, NULL, CHANGE_NONE, RULE_BIAS }
#define WHISPER_LAYER(part, attention) \
	SPEECH_BIAS(part attention "_layer_norm"), SPEECH_BIAS(part attention ".q_proj"), \
	SPEECH(part attention ".k_proj"), SPEECH_BIAS(part attention ".v_proj"), \
	SPEECH_BIAS(part attention ".out_proj")
#define WHISPER_ENDS(part) \
	SPEECH_BIAS(part "fc1"), SPEECH_BIAS(part "fc2"), SPEECH_BIAS(part "final_layer_norm")
#define ENCODER "model.encoder."
#define DECODER "model.decoder."
GROUP(whisper) = {
	SPEECH_BIAS(ENCODER "conv1"), SPEECH_BIAS(ENCODER "conv2"),
	SPEECH(ENCODER "embed_positions"), SPEECH_BIAS(ENCODER "layer_norm"),
	WHISPER_LAYER(ENCODER "layers.#.", "self_attn"), WHISPER_ENDS(ENCODER "layers.#."),
	SPEECH(DECODER "embed_tokens"), SPEECH(DECODER "embed_positions"),
	SPEECH_BIAS(DECODER "layer_norm"),
	WHISPER_LAYER(DECODER "layers.#.", "self_attn"),
	WHISPER_LAYER(DECODER "layers.#.", "encoder_attn"), WHISPER_ENDS(DECODER "layers.#."),
	{ ROLES, "proj_out", NULL, CHANGE_NONE, RULE_OPTIONAL }, END
};

GROUP(phi2) = {
	NAMED(ROLE_OUT_NORM, "model.final_layernorm", RULE_BIAS),
	LINEAR(ROLE_ATTN_NORM),
	NAMED(ROLE_O, "model.layers.#.self_attn.dense", RULE_BIAS),
	NAMED(ROLE_UP, "model.layers.#.mlp.fc1", RULE_BIAS),
	NAMED(ROLE_DOWN, "model.layers.#.mlp.fc2", RULE_BIAS), END
};

GROUP(stablelm) = {
	MAYBE(ROLE_Q_NORM), MAYBE(ROLE_K_NORM),
	{ ROLE_FFN_NORM, NULL, NULL, CHANGE_NONE, RULE_OPTIONAL | RULE_BIAS },
	{ ROLE_Q_NORM, "model.layers.#.self_attn.q_layernorm.norms.*", "H|K", CHANGE_NONE,
	  RULE_OPTIONAL },
	{ ROLE_K_NORM, "model.layers.#.self_attn.k_layernorm.norms.*", "G|K", CHANGE_NONE,
	  RULE_OPTIONAL }, END
};

GROUP(starcoder2) = {
	NAMED(ROLE_UP, "model.layers.#.mlp.c_fc", RULE_BIAS),
	NAMED(ROLE_DOWN, "model.layers.#.mlp.c_proj", RULE_BIAS), END
};

GROUP(falcon) = {
	NAMED(ROLE_EMBED, "transformer.word_embeddings", 0),
	NAMED(ROLE_OUT_NORM, "transformer.ln_f", RULE_BIAS),
	NAMED(ROLE_OUT, "lm_head", RULE_OPTIONAL),
	NAMED(ROLE_ATTN_NORM, "transformer.h.#.input_layernorm", RULE_BIAS),
	NAMED(ROLE_ATTN_NORM, "transformer.h.#.ln_mlp", RULE_BIAS | RULE_OPTIONAL),
	NAMED(ROLE_ATTN_NORM2, "transformer.h.#.ln_attn", RULE_BIAS | RULE_OPTIONAL),
	{ ROLE_QKV, "transformer.h.#.self_attention.query_key_value", NULL, CHANGE_QKV,
	  RULE_BIAS },
	NAMED(ROLE_O, "transformer.h.#.self_attention.dense", RULE_BIAS),
	NAMED(ROLE_UP, "transformer.h.#.mlp.dense_h_to_4h", RULE_BIAS),
	NAMED(ROLE_DOWN, "transformer.h.#.mlp.dense_4h_to_h", RULE_BIAS), END
};

GROUP(cohere) = {
	RULE(ROLE_ATTN_NORM),
	{ ROLE_Q_NORM, NULL, "H K", CHANGE_NONE, RULE_OPTIONAL },
	{ ROLE_K_NORM, NULL, "G K", CHANGE_NONE, RULE_OPTIONAL },
	RULE(ROLE_OUT_NORM), END
};

GROUP(ungated) = { LINEAR(ROLE_UP), LINEAR(ROLE_DOWN), END };

GROUP(mamba) = {
	NAMED(ROLE_EMBED, "backbone.embeddings", 0),
	NAMED(ROLE_OUT_NORM, "backbone.norm_f", 0),
	NAMED(ROLE_OUT, "lm_head", RULE_OPTIONAL | RULE_IF_TIED),
	NAMED(ROLE_ATTN_NORM, "backbone.layers.#.norm", 0),
	LINEAR(ROLE_SSM_IN), LINEAR(ROLE_SSM_X), LINEAR(ROLE_SSM_DT), LINEAR(ROLE_SSM_OUT),
	{ ROLE_SSM_CONV, NULL, NULL, CHANGE_SQUEEZE, RULE_BIAS },
	{ ROLE_SSM_A, NULL, NULL, CHANGE_NEG_EXP, RULE_BARE | RULE_PLAIN },
	NAMED(ROLE_SSM_D, NULL, RULE_BARE | RULE_PLAIN), END
};

/* ---- lists of groups ---- */

#define LIST(name, ...) \
	static const struct arch_rule *const name[] = { __VA_ARGS__, NULL }

LIST(llama_rules, ends, norms, attention_pairs, gated);
LIST(mixtral_rules, ends, norms, attention_pairs, mixtral);
LIST(qwen2_rules, ends, norms, attention, gated);
LIST(qwen3_rules, ends, norms, attention, qk_norms, gated);
LIST(qwen2moe_rules, ends, norms, attention, experts_maybe, shared_expert, gated_maybe);
LIST(qwen3moe_rules, ends, norms, attention, qk_norms, experts_maybe, gated_maybe);
LIST(phi3_rules, ends, norms, phi3);
LIST(gemma2_rules, ends_tied, gemma, attention, gated);
LIST(gemma3_rules, ends_tied, gemma, gemma3, attention, gated);
LIST(gpt2_rules, gpt2);
LIST(gptneox_rules, gptneox);
LIST(olmo2_rules, ends, olmo2, attention, gated);
LIST(deepseek_rules, ends, norms, latent, gated_maybe, experts_maybe, deepseek);
static const struct arch_rule oss_norm[] = { RULE(ROLE_ATTN_NORM), END };
LIST(gpt_oss_rules, ends, oss_norm, attention, gpt_oss);
LIST(bert_rules, bert, bert_positions);
LIST(roberta_rules, bert, roberta_positions);
LIST(t5_rules, t5);
LIST(phi2_rules, phi2, ends_bias, attention);
LIST(stablelm_rules, ends_bias, stablelm, norms_bias, attention, gated);
LIST(starcoder2_rules, ends_bias, norms_bias, attention, starcoder2);
LIST(falcon_rules, falcon);
LIST(cohere_rules, ends_tied, cohere, attention, gated);
LIST(nemotron_rules, norms_plus_one, ends_bias, attention, ungated);
LIST(mamba_rules, mamba);
LIST(whisper_rules, whisper);

/* ---- rows ---- */

#define GEMMA (ARCH_HALVES | ARCH_GELU | ARCH_GATED | ARCH_POST_NORMS | \
	ARCH_EMBED_SCALE | ARCH_WIDE_HEADS | ARCH_PLUS_ONE)

/* GGUF files of Mistral and Mixtral say "llama", because they compute the same. */
static const struct arch rows[] = {
	{ "llama", "llama", NULL, ARCH_GATED | ARCH_EXPERTS | ARCH_SUM_TO_ONE, 0, 0, 0, "model.", llama_rules },
	{ "llama", "mistral", NULL, ARCH_GATED, 0, 0, 0, "model.", llama_rules },
	{ "llama", "mixtral", NULL, ARCH_GATED | ARCH_EXPERTS | ARCH_ONLY_EXPERTS |
	  ARCH_SUM_TO_ONE, 0, 0, 0, "model.", mixtral_rules },
	{ "qwen2", "qwen2", NULL, ARCH_GATED | ARCH_HALVES, 0, 0, 0, "model.", qwen2_rules },
	{ "qwen3", "qwen3", NULL, ARCH_GATED | ARCH_HALVES | ARCH_QK_NORM, 0, 0, 0, "model.", qwen3_rules },
	{ "qwen2moe", "qwen2_moe", NULL, ARCH_GATED | ARCH_HALVES | ARCH_EXPERTS |
	  ARCH_ONLY_EXPERTS | ARCH_SHARED, 0, 0, 0, "model.", qwen2moe_rules },
	{ "qwen3moe", "qwen3_moe", NULL, ARCH_GATED | ARCH_HALVES | ARCH_QK_NORM | ARCH_EXPERTS |
	  ARCH_ONLY_EXPERTS | ARCH_SUM_TO_ONE, 0, 0, 0, "model.", qwen3moe_rules },
	{ "phi3", "phi3", NULL, ARCH_GATED | ARCH_HALVES | ARCH_GATE_IN_UP | ARCH_NO_WINDOW,
	  0, 0, 0, "model.", phi3_rules },
	{ "gemma2", "gemma2", NULL, GEMMA | ARCH_CAP_SCORES | ARCH_CAP_LOGITS, 4096, 2, 46, "model.", gemma2_rules },
	{ "gemma3", "gemma3_text", NULL, GEMMA | ARCH_QK_NORM | ARCH_MAY_CAP | ARCH_LOCAL_ROPE,
	  0, 6, 62, "model.", gemma3_rules },
	{ "gpt2", "gpt2", NULL, ARCH_LAYER_NORM | ARCH_POSITIONS | ARCH_GELU | ARCH_FF_UNSCALED |
	  ARCH_CONV1D, 0, 0, 0, "transformer.", gpt2_rules },
	{ "gptneox", "gpt_neox", NULL, ARCH_LAYER_NORM | ARCH_HALVES | ARCH_GELU |
	  ARCH_PARALLEL | ARCH_FF_UNSCALED | ARCH_MIXED_QKV, 0, 0, 0, "gpt_neox.", gptneox_rules },

	/* without inference */
	{ "smollm3", "smollm3", NULL, ARCH_GATED | ARCH_SKIP_ROPE, 0, 0, 0, "model.", llama_rules },
	{ "olmo2", "olmo2", NULL, ARCH_GATED | ARCH_HALVES | ARCH_QK_NORM |
	  ARCH_POST_NORMS | ARCH_POST_ONLY, 0, 0, 0, "model.", olmo2_rules },
	{ "granite", "granite", NULL, ARCH_GATED | ARCH_MULTIPLIERS, 0, 0, 0, "model.", llama_rules },
	{ "deepseek2", "deepseek_v2", "latent attention", ARCH_GATED, 0, 0, 0, "model.", deepseek_rules },
	{ "deepseek2", "deepseek_v3", "latent attention", ARCH_GATED, 0, 0, 0, "model.", deepseek_rules },
	{ "gpt-oss", "gpt_oss", "attention sinks", ARCH_GATED | ARCH_HALVES, 0, 0, 0, "model.", gpt_oss_rules },
	{ "bert", "bert", "attention to later tokens", ARCH_LAYER_NORM, 0, 0, 0, "bert.", bert_rules },
	{ "bert", "roberta", "attention to later tokens", ARCH_LAYER_NORM, 0, 0, 0, "roberta.", roberta_rules },
	{ "bert", "xlm-roberta", "attention to later tokens", ARCH_LAYER_NORM, 0, 0, 0, "roberta.", roberta_rules },
	{ "t5", "t5", "an encoder and a decoder", 0, 0, 0, 0, "transformer.", t5_rules },
	{ "phi2", "phi", NULL, ARCH_LAYER_NORM | ARCH_HALVES | ARCH_GELU | ARCH_ONE_NORM, 0, 0, 0,
	  "model.", phi2_rules },
	{ "stablelm", "stablelm", NULL, ARCH_LAYER_NORM | ARCH_HALVES | ARCH_GATED | ARCH_ONE_NORM,
	  0, 0, 0, "model.", stablelm_rules },
	{ "starcoder2", "starcoder2", NULL, ARCH_LAYER_NORM | ARCH_HALVES | ARCH_GELU |
	  ARCH_NO_WINDOW, 0, 0, 0, "model.", starcoder2_rules },
	{ "falcon", "falcon", "one norm for attention and feed-forward",
	  ARCH_LAYER_NORM | ARCH_HALVES, 0, 0, 0, "transformer.", falcon_rules },
	{ "command-r", "cohere", NULL, ARCH_LAYER_NORM | ARCH_GATED | ARCH_ONE_NORM |
	  ARCH_LOGIT_SCALE | ARCH_PAIRS, 0, 0, 0, "model.", cohere_rules },
	{ "nemotron", "nemotron", NULL, ARCH_LAYER_NORM | ARCH_HALVES | ARCH_PLUS_ONE, 0, 0, 0, "model.", nemotron_rules },
	{ "mamba", "mamba", "a model of states", 0, 0, 0, 0, "backbone.", mamba_rules },
	{ "whisper", "whisper", "an encoder and a decoder of speech", ARCH_LAYER_NORM | ARCH_NO_GGUF,
	  0, 0, 0, "model.", whisper_rules },
};

#define ROWS (sizeof rows / sizeof *rows)

const struct arch *
arch_row(size_t index)
{
	return index < ROWS ? &rows[index] : NULL;
}

const struct arch *
arch_by_name(const char *name)
{
	size_t i;

	for (i = 0; i < ROWS; i++)
		if (rows[i].name && strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

const struct arch *
arch_by_folder(const char *model_type)
{
	/* other names of model_types, in older files or for the whole of several parts */
	static const char *const same[][2] = {
		{ "RefinedWeb", "falcon" }, { "RefinedWebModel", "falcon" },
		{ "stablelm_epoch", "stablelm" }, { "camembert", "roberta" }, { "mt5", "t5" },
		{ "gemma3", "gemma3_text" },
	};
	size_t i;

	for (i = 0; i < sizeof same / sizeof *same; i++)
		if (strcmp(same[i][0], model_type) == 0)
			model_type = same[i][1];
	for (i = 0; i < ROWS; i++)
		if (rows[i].folder && strcmp(rows[i].folder, model_type) == 0)
			return &rows[i];
	return NULL;
}

bool
arch_scales_wide(const struct arch *a, uint64_t blocks)
{
	return (a->flags & ARCH_WIDE_HEADS) && blocks == a->wide;
}

const struct arch_rule *
arch_rule(const struct arch *a, size_t n)
{
	const struct arch_rule *const *group, *r;

	for (group = a->rules; *group; group++)
		for (r = *group; r->role != ROLES || r->name; r++)
			if (n-- == 0)
				return r;
	return NULL;
}

const char *
arch_tensor(const struct arch *a, enum arch_form form, enum role role)
{
	const struct arch_rule *r;
	size_t i;

	for (i = 0; form == ARCH_FOLDER && (r = arch_rule(a, i)); i++)
		if (r->role == role)
			return rule_name(r);
	return role_name(role, form);
}

int
arch_is_apart(const char *name, enum arch_form form)
{
	static const char *const endings[] = { ".rotary_emb.inv_freq", ".attn.bias",
		".attn.masked_bias", ".attention.bias", ".attention.masked_bias",
		".self_attn.rotary_emb.inv_freq", ".position_ids" };
	size_t i, n = strlen(name);

	if (form != ARCH_FOLDER)
		return strcmp(name, "cls.output.weight") == 0 ||
			strcmp(name, "cls.output.bias") == 0;
	for (i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t k = strlen(endings[i]);

		if (n >= k && strcmp(name + n - k, endings[i]) == 0)
			return 1;
	}
	return 0;
}
