#include "arch/arch.h"

#include <string.h>

/* ---- names ---- */

static const struct {
	const char *gguf, *folder; /* the names that most architectures use */
} names[ROLES] = {
	[ROLE_EMBED] = { "token_embd", "model.embed_tokens" },
	[ROLE_POSITIONS] = { "position_embd", NULL },
	[ROLE_OUT_NORM] = { "output_norm", "model.norm" },
	[ROLE_OUT] = { "output", "lm_head" },
	[ROLE_ROPE_FREQS] = { "rope_freqs", NULL },
	[ROLE_ROPE_LONG] = { "rope_factors_long", NULL },
	[ROLE_ROPE_SHORT] = { "rope_factors_short", NULL },
	[ROLE_ATTN_NORM] = { "blk.#.attn_norm", "model.layers.#.input_layernorm" },
	[ROLE_Q] = { "blk.#.attn_q", "model.layers.#.self_attn.q_proj" },
	[ROLE_K] = { "blk.#.attn_k", "model.layers.#.self_attn.k_proj" },
	[ROLE_V] = { "blk.#.attn_v", "model.layers.#.self_attn.v_proj" },
	[ROLE_QKV] = { "blk.#.attn_qkv", "model.layers.#.self_attn.qkv_proj" },
	[ROLE_O] = { "blk.#.attn_output", "model.layers.#.self_attn.o_proj" },
	[ROLE_Q_NORM] = { "blk.#.attn_q_norm", "model.layers.#.self_attn.q_norm" },
	[ROLE_K_NORM] = { "blk.#.attn_k_norm", "model.layers.#.self_attn.k_norm" },
	[ROLE_ATTN_POST] = { "blk.#.post_attention_norm",
	                     "model.layers.#.post_attention_layernorm" },
	[ROLE_FFN_NORM] = { "blk.#.ffn_norm", "model.layers.#.post_attention_layernorm" },
	[ROLE_GATE] = { "blk.#.ffn_gate", "model.layers.#.mlp.gate_proj" },
	[ROLE_UP] = { "blk.#.ffn_up", "model.layers.#.mlp.up_proj" },
	[ROLE_DOWN] = { "blk.#.ffn_down", "model.layers.#.mlp.down_proj" },
	[ROLE_FFN_POST] = { "blk.#.post_ffw_norm",
	                    "model.layers.#.post_feedforward_layernorm" },
	[ROLE_ROUTER] = { "blk.#.ffn_gate_inp", "model.layers.#.mlp.gate" },
	[ROLE_GATE_EXPS] = { "blk.#.ffn_gate_exps",
	                     "model.layers.#.mlp.experts.*.gate_proj" },
	[ROLE_UP_EXPS] = { "blk.#.ffn_up_exps", "model.layers.#.mlp.experts.*.up_proj" },
	[ROLE_DOWN_EXPS] = { "blk.#.ffn_down_exps",
	                     "model.layers.#.mlp.experts.*.down_proj" },
	[ROLE_SHARED_ROUTER] = { "blk.#.ffn_gate_inp_shexp",
	                         "model.layers.#.mlp.shared_expert_gate" },
	[ROLE_SHARED_GATE] = { "blk.#.ffn_gate_shexp",
	                       "model.layers.#.mlp.shared_expert.gate_proj" },
	[ROLE_SHARED_UP] = { "blk.#.ffn_up_shexp",
	                     "model.layers.#.mlp.shared_expert.up_proj" },
	[ROLE_SHARED_DOWN] = { "blk.#.ffn_down_shexp",
	                       "model.layers.#.mlp.shared_expert.down_proj" },
};

static const struct arch_name mixtral_names[] = {
	{ ROLE_ROUTER, "model.layers.#.block_sparse_moe.gate" },
	{ ROLE_GATE_EXPS, "model.layers.#.block_sparse_moe.experts.*.w1" },
	{ ROLE_DOWN_EXPS, "model.layers.#.block_sparse_moe.experts.*.w2" },
	{ ROLE_UP_EXPS, "model.layers.#.block_sparse_moe.experts.*.w3" },
	{ ROLES, NULL },
};

static const struct arch_name phi3_names[] = {
	{ ROLE_UP, "model.layers.#.mlp.gate_up_proj" },
	{ ROLES, NULL },
};

static const struct arch_name gemma_names[] = {
	{ ROLE_FFN_NORM, "model.layers.#.pre_feedforward_layernorm" },
	{ ROLES, NULL },
};

static const struct arch_name gpt2_names[] = {
	{ ROLE_EMBED, "transformer.wte" },
	{ ROLE_POSITIONS, "transformer.wpe" },
	{ ROLE_OUT_NORM, "transformer.ln_f" },
	{ ROLE_ATTN_NORM, "transformer.h.#.ln_1" },
	{ ROLE_QKV, "transformer.h.#.attn.c_attn" },
	{ ROLE_O, "transformer.h.#.attn.c_proj" },
	{ ROLE_FFN_NORM, "transformer.h.#.ln_2" },
	{ ROLE_UP, "transformer.h.#.mlp.c_fc" },
	{ ROLE_DOWN, "transformer.h.#.mlp.c_proj" },
	{ ROLES, NULL },
};

static const struct arch_name gptneox_names[] = {
	{ ROLE_EMBED, "gpt_neox.embed_in" },
	{ ROLE_OUT_NORM, "gpt_neox.final_layer_norm" },
	{ ROLE_OUT, "embed_out" },
	{ ROLE_ATTN_NORM, "gpt_neox.layers.#.input_layernorm" },
	{ ROLE_QKV, "gpt_neox.layers.#.attention.query_key_value" },
	{ ROLE_O, "gpt_neox.layers.#.attention.dense" },
	{ ROLE_FFN_NORM, "gpt_neox.layers.#.post_attention_layernorm" },
	{ ROLE_UP, "gpt_neox.layers.#.mlp.dense_h_to_4h" },
	{ ROLE_DOWN, "gpt_neox.layers.#.mlp.dense_4h_to_h" },
	{ ROLES, NULL },
};

/* ---- rows ---- */

#define GEMMA (ARCH_HALVES | ARCH_GELU | ARCH_GATED | ARCH_POST_NORMS | \
	ARCH_EMBED_SCALE | ARCH_WIDE_HEADS | ARCH_PLUS_ONE)

/* GGUF files of Mistral and Mixtral say "llama", because they compute the same. */
static const struct arch rows[] = {
	{ "llama", "llama", NULL, ARCH_GATED | ARCH_EXPERTS | ARCH_SUM_TO_ONE, 0, 0, 0, NULL },
	{ "llama", "mistral", NULL, ARCH_GATED, 0, 0, 0, NULL },
	{ "llama", "mixtral", NULL, ARCH_GATED | ARCH_EXPERTS | ARCH_ONLY_EXPERTS |
	  ARCH_SUM_TO_ONE, 0, 0, 0, mixtral_names },
	{ "qwen2", "qwen2", NULL, ARCH_GATED | ARCH_HALVES, 0, 0, 0, NULL },
	{ "qwen3", "qwen3", NULL, ARCH_GATED | ARCH_HALVES | ARCH_QK_NORM, 0, 0, 0, NULL },
	{ "qwen2moe", "qwen2_moe", NULL, ARCH_GATED | ARCH_HALVES | ARCH_EXPERTS |
	  ARCH_ONLY_EXPERTS | ARCH_SHARED, 0, 0, 0, NULL },
	{ "qwen3moe", "qwen3_moe", NULL, ARCH_GATED | ARCH_HALVES | ARCH_QK_NORM | ARCH_EXPERTS |
	  ARCH_ONLY_EXPERTS | ARCH_SUM_TO_ONE, 0, 0, 0, NULL },
	{ "phi3", "phi3", NULL, ARCH_GATED | ARCH_HALVES | ARCH_GATE_IN_UP | ARCH_NO_WINDOW,
	  0, 0, 0, phi3_names },
	{ "gemma2", "gemma2", NULL, GEMMA | ARCH_CAP_SCORES | ARCH_CAP_LOGITS, 4096, 2, 46,
	  gemma_names },
	{ "gemma3", "gemma3_text", NULL, GEMMA | ARCH_QK_NORM | ARCH_MAY_CAP | ARCH_LOCAL_ROPE,
	  0, 6, 62, gemma_names },
	{ "gpt2", "gpt2", NULL, ARCH_LAYER_NORM | ARCH_POSITIONS | ARCH_GELU | ARCH_FF_UNSCALED |
	  ARCH_CONV1D, 0, 0, 0, gpt2_names },
	{ "gptneox", "gpt_neox", NULL, ARCH_LAYER_NORM | ARCH_HALVES | ARCH_GELU |
	  ARCH_PARALLEL | ARCH_FF_UNSCALED | ARCH_MIXED_QKV, 0, 0, 0, gptneox_names },

	/* without inference */
	{ "smollm3", "smollm3", "blocks without rotary positions", ARCH_GATED, 0, 0, 0, NULL },
	{ "olmo2", "olmo2", "norms after sublayers only", ARCH_GATED | ARCH_HALVES, 0, 0, 0,
	  NULL },
	{ "granite", "granite", "multipliers of embeddings and residuals", ARCH_GATED, 0, 0, 0,
	  NULL },
	{ "deepseek2", "deepseek_v2", "latent attention", ARCH_GATED, 0, 0, 0, NULL },
	{ "deepseek2", "deepseek_v3", "latent attention", ARCH_GATED, 0, 0, 0, NULL },
	{ "gpt-oss", "gpt_oss", "attention sinks", ARCH_GATED | ARCH_HALVES, 0, 0, 0, NULL },
	{ "bert", "bert", "attention to later tokens", ARCH_LAYER_NORM, 0, 0, 0, NULL },
	{ "bert", "roberta", "attention to later tokens", ARCH_LAYER_NORM, 0, 0, 0, NULL },
	{ "bert", "xlm-roberta", "attention to later tokens", ARCH_LAYER_NORM, 0, 0, 0, NULL },
	{ "t5", "t5", "an encoder and a decoder", 0, 0, 0, 0, NULL },
	{ "phi2", "phi", "one norm for attention and feed-forward",
	  ARCH_LAYER_NORM | ARCH_HALVES, 0, 0, 0, NULL },
	{ "stablelm", "stablelm", "gated feed-forward after layer norms",
	  ARCH_LAYER_NORM | ARCH_HALVES, 0, 0, 0, NULL },
	{ "starcoder2", "starcoder2", "separate queries and keys after layer norms",
	  ARCH_LAYER_NORM | ARCH_HALVES, 0, 0, 0, NULL },
	{ "falcon", "falcon", "one norm for attention and feed-forward",
	  ARCH_LAYER_NORM | ARCH_HALVES, 0, 0, 0, NULL },
	{ "command-r", "cohere", "a scale of logits", ARCH_LAYER_NORM, 0, 0, 0, NULL },
	{ "nemotron", "nemotron", "a squared activation", ARCH_LAYER_NORM | ARCH_HALVES,
	  0, 0, 0, NULL },
	{ "mamba", "mamba", "a model of states", 0, 0, 0, 0, NULL },
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
	size_t i;

	for (i = 0; i < ROWS; i++)
		if (rows[i].folder && strcmp(rows[i].folder, model_type) == 0)
			return &rows[i];
	return NULL;
}

const char *
arch_tensor(const struct arch *a, int folder, enum role role)
{
	const struct arch_name *n;

	if (!folder)
		return names[role].gguf;
	for (n = a->names; n && n->name; n++)
		if (n->role == role)
			return n->name;
	return names[role].folder;
}

int
arch_is_apart(const char *name, int folder)
{
	static const char *const ends[] = { ".rotary_emb.inv_freq", ".attn.bias",
		".attn.masked_bias", ".attention.bias", ".attention.masked_bias" };
	size_t i, n = strlen(name);

	if (!folder)
		return strcmp(name, "cls.output.weight") == 0 ||
			strcmp(name, "cls.output.bias") == 0;
	for (i = 0; i < sizeof ends / sizeof *ends; i++) {
		size_t k = strlen(ends[i]);

		if (n >= k && strcmp(name + n - k, ends[i]) == 0)
			return 1;
	}
	return 0;
}
