#include "arch/keys.h"

#include <string.h>

/* ---- keys that most architectures have ---- */

static const struct arch_key counts[] = {
	{ "block_count", KEY_U32, "!num_hidden_layers | n_layers | n_layer | num_layers",
	  NULL, NULL },
	{ "context_length", KEY_U32, "max_position_embeddings | n_ctx | n_positions | "
	  "max_length | max_sequence_length | model_max_length", NULL, NULL },
	{ "embedding_length", KEY_U32, "!hidden_size | n_embd | dim", NULL, NULL },
	{ "feed_forward_length", KEY_EACH, "intermediate_size | n_inner | hidden_dim", NULL, NULL },
	{ "attention.head_count", KEY_EACH, "!num_attention_heads | n_head | n_heads", NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key shared_heads[] = {
	{ "attention.head_count_kv", KEY_EACH, "num_key_value_heads | n_kv_heads", NULL, NULL },
	{ "attention.causal", KEY_BOOL, "is_causal", "is_causal!1", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key rope[] = {
	{ "rope.scaling.type", KEY_TEXT, "'linear'", NULL, "linear" },
	{ "rope.scaling.type", KEY_TEXT, "'yarn'", NULL, "yarn" },
	{ "rope.scaling.type", KEY_TEXT, "'longrope'", NULL, "longrope su" },
	{ "rope.scaling.factor", KEY_F32, "!@factor", NULL, "linear yarn" },
	{ "rope.scaling.original_context_length", KEY_U32,
	  "!@original_max_position_embeddings | max_position_embeddings", NULL, "yarn" },
	{ "rope.scaling.yarn_ext_factor", KEY_F32, "@extrapolation_factor", NULL, "yarn" },
	{ "rope.scaling.yarn_attn_factor", KEY_F32, "@attention_factor | @attn_factor", NULL,
	  "yarn" },
	{ "rope.scaling.yarn_beta_fast", KEY_F32, "@beta_fast", NULL, "yarn" },
	{ "rope.scaling.yarn_beta_slow", KEY_F32, "@beta_slow", NULL, "yarn" },
	{ "rope.freq_base", KEY_F32, "@rope_theta", NULL, NULL },
	{ "rope.freq_base_swa", KEY_F32, "@local_theta", NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key norms[] = {
	{ "attention.layer_norm_rms_epsilon", KEY_F32, "rms_norm_eps | norm_eps", NULL, NULL },
	{ "attention.layer_norm_epsilon", KEY_F32,
	  "layer_norm_eps | layer_norm_epsilon | norm_epsilon", NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key experts[] = {
	{ "expert_count", KEY_U32, "num_local_experts | num_experts | n_routed_experts",
	  NULL, NULL },
	{ "expert_used_count", KEY_U32,
	  "num_experts_per_tok | num_experts_per_token | top_k_experts", NULL, NULL },
	{ "expert_group_count", KEY_U32, "n_group", NULL, NULL },
	{ "expert_group_used_count", KEY_U32, "topk_group", NULL, NULL },
	{ "expert_gating_func", KEY_GATING, "score_function | scoring_func | score_func | "
	  "moe_router_activation | moe_router_activation_func | expert_selection_fn", NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key head[] = {
	{ "attention.key_length", KEY_U32, "head_dim", NULL, NULL },
	{ "attention.value_length", KEY_U32, "head_dim", NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key file[] = {
	{ "general.file_type", KEY_FILE, NULL, NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

/* Readers assume 10000, and the converter writes no base for some architectures. */
static const struct arch_key base[] = {
	{ "rope.freq_base", KEY_F32, "@rope_theta", "@rope_theta!10000", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key vocabulary[] = {
	{ "vocab_size", KEY_U32, "!vocab_size", NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key pooling[] = {
	{ "pooling_type", KEY_POOLING, NULL, NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

/* ---- keys of few architectures ---- */

/* Not one name, so that head_dim does not come from this key. */
static const struct arch_key llama_rope[] = {
	{ "rope.dimension_count", KEY_U32, "head_dim * 1 | hidden_size / num_attention_heads",
	  NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key expert_sizes[] = {
	{ "expert_feed_forward_length", KEY_U32, "moe_intermediate_size", NULL, NULL },
	{ "expert_shared_feed_forward_length", KEY_U32, "shared_expert_intermediate_size",
	  NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key gemma2_keys[] = {
	{ "context_length", KEY_U32, "!max_position_embeddings", NULL, NULL },
	{ "embedding_length", KEY_U32, "!hidden_size", NULL, NULL },
	{ "block_count", KEY_U32, "!num_hidden_layers", NULL, NULL },
	{ "feed_forward_length", KEY_U32, "!intermediate_size", NULL, NULL },
	{ "attention.head_count", KEY_U32, "!num_attention_heads", NULL, NULL },
	{ "attention.head_count_kv", KEY_U32, "num_key_value_heads | num_attention_heads",
	  NULL, NULL },
	{ "attention.layer_norm_rms_epsilon", KEY_F32, "!rms_norm_eps", NULL, NULL },
	{ "attention.key_length", KEY_U32, "!head_dim", NULL, NULL },
	{ "attention.value_length", KEY_U32, "!head_dim", NULL, NULL },
	{ "general.file_type", KEY_FILE, NULL, NULL, NULL },
	{ "attn_logit_softcapping", KEY_F32, "attn_logit_softcapping", NULL, NULL },
	{ "final_logit_softcapping", KEY_F32, "final_logit_softcapping", NULL, NULL },
	{ "attention.sliding_window", KEY_U32, "!sliding_window", NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key gemma3_window[] = {
	{ "final_logit_softcapping", KEY_F32, "final_logit_softcapping",
	  "final_logit_softcapping!0", NULL },
	{ "attention.sliding_window", KEY_U32, "!sliding_window", "sliding_window_pattern!1", NULL },
	{ "attention.sliding_window", KEY_U32, "!sliding_window", "-sliding_window_pattern", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key phi3_keys[] = {
	{ "context_length", KEY_U32, "!max_position_embeddings | n_positions", NULL, NULL },
	{ "rope.scaling.original_context_length", KEY_U32,
	  "!@original_max_position_embeddings", NULL, NULL },
	{ "embedding_length", KEY_U32, "!hidden_size | n_embd", NULL, NULL },
	{ "feed_forward_length", KEY_U32, "!intermediate_size", NULL, NULL },
	{ "block_count", KEY_U32, "!num_hidden_layers", NULL, NULL },
	{ "attention.head_count", KEY_U32, "!num_attention_heads | n_head", NULL, NULL },
	{ "attention.head_count_kv", KEY_U32, "!num_key_value_heads | n_head_kv", NULL, NULL },
	{ "attention.layer_norm_rms_epsilon", KEY_F32, "!rms_norm_eps", NULL, NULL },
	{ "rope.dimension_count", KEY_U32,
	  "@partial_rotary_factor * hidden_size / num_attention_heads | "
	  "hidden_size / num_attention_heads", NULL, NULL },
	{ "rope.freq_base", KEY_F32, "!@rope_theta", NULL, NULL },
	{ "general.file_type", KEY_FILE, NULL, NULL, NULL },
	{ "attention.sliding_window", KEY_U32, "sliding_window | 0", NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key gpt2_keys[] = {
	{ "block_count", KEY_U32, "!n_layer | num_hidden_layers", NULL, NULL },
	{ "context_length", KEY_U32, "!n_ctx | n_positions", NULL, NULL },
	{ "embedding_length", KEY_U32, "!n_embd | hidden_size", NULL, NULL },
	{ "feed_forward_length", KEY_U32, "n_inner | 4 * n_embd", NULL, NULL },
	{ "attention.head_count", KEY_U32, "!n_head | num_attention_heads", NULL, NULL },
	{ "attention.layer_norm_epsilon", KEY_F32, "!layer_norm_epsilon", NULL, NULL },
	{ "general.file_type", KEY_FILE, NULL, NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

/* The converter writes no general.file_type for this architecture. */
static const struct arch_key gptneox_keys[] = {
	{ "context_length", KEY_U32, "!max_position_embeddings", NULL, NULL },
	{ "embedding_length", KEY_U32, "!hidden_size", NULL, NULL },
	{ "block_count", KEY_U32, "!num_hidden_layers", NULL, NULL },
	{ "feed_forward_length", KEY_U32, "!intermediate_size", NULL, NULL },
	{ "rope.dimension_count", KEY_U32,
	  "hidden_size / num_attention_heads * @partial_rotary_factor / 1", NULL, NULL },
	{ "attention.head_count", KEY_U32, "!num_attention_heads", NULL, NULL },
	{ "use_parallel_residual", KEY_BOOL, "use_parallel_residual | true", NULL, NULL },
	{ "attention.layer_norm_epsilon", KEY_F32, "!layer_norm_eps", NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key bert_keys[] = {
	{ "attention.causal", KEY_BOOL, "false", NULL, NULL },
	{ "pooling_type", KEY_POOLING, NULL, NULL, NULL },
	{ "classifier.output_labels", KEY_LABELS, "id2label", NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

/* The first rows of the positions belong to padding. */
static const struct arch_key roberta_counts[] = {
	{ "block_count", KEY_U32, "!num_hidden_layers", NULL, NULL },
	{ "context_length", KEY_U32, "!max_position_embeddings - 1 - pad_token_id", NULL, NULL },
	{ "embedding_length", KEY_U32, "!hidden_size", NULL, NULL },
	{ "feed_forward_length", KEY_U32, "intermediate_size", NULL, NULL },
	{ "attention.head_count", KEY_U32, "!num_attention_heads", NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key olmo2_window[] = {
	{ "attention.sliding_window", KEY_U32, "sliding_window", NULL, NULL },
	{ "attention.sliding_window_pattern", KEY_BLOCKS, "layer_types | 4", "?sliding_window",
	  NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key granite_keys[] = {
	{ "rope.dimension_count", KEY_U32, "hidden_size / num_attention_heads", NULL, NULL },
	{ "attention.scale", KEY_F32, "attention_multiplier", "attention_multiplier!0", NULL },
	{ "embedding_scale", KEY_F32, "embedding_multiplier", "embedding_multiplier!0", NULL },
	{ "residual_scale", KEY_F32, "residual_multiplier", "residual_multiplier!0", NULL },
	{ "logit_scale", KEY_F32, "logits_scaling", "logits_scaling!0", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

/* The latent attention of these models has one head of keys and values in GGUF. */
static const struct arch_key deepseek_heads[] = {
	{ "attention.head_count_kv", KEY_U32, "1", NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key deepseek_lengths[] = {
	{ "attention.key_length", KEY_U32, "!kv_lora_rank + qk_rope_head_dim", NULL, NULL },
	{ "attention.value_length", KEY_U32, "!kv_lora_rank", NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key deepseek_keys[] = {
	{ "leading_dense_block_count", KEY_U32, "first_k_dense_replace | 0", "?n_routed_experts",
	  NULL },
	{ "leading_dense_block_count", KEY_U32, "first_k_dense_replace | num_hidden_layers",
	  "-n_routed_experts", NULL },
	{ "vocab_size", KEY_U32, "!vocab_size", NULL, NULL },
	{ "attention.q_lora_rank", KEY_U32, "q_lora_rank", NULL, NULL },
	{ "attention.kv_lora_rank", KEY_U32, "!kv_lora_rank", NULL, NULL },
	{ "attention.key_length_mla", KEY_U32, "!qk_nope_head_dim + qk_rope_head_dim", NULL, NULL },
	{ "attention.value_length_mla", KEY_U32, "!v_head_dim", NULL, NULL },
	{ "expert_feed_forward_length", KEY_U32, "!moe_intermediate_size | intermediate_size",
	  NULL, NULL },
	{ "expert_shared_count", KEY_U32, "n_shared_experts | 0", NULL, NULL },
	{ "expert_weights_scale", KEY_F32, "routed_scaling_factor", NULL, NULL },
	{ "expert_weights_norm", KEY_BOOL, "norm_topk_prob", "norm_topk_prob!0", NULL },
	{ "rope.dimension_count", KEY_U32, "!qk_rope_head_dim", NULL, NULL },
	{ "rope.scaling.yarn_log_multiplier", KEY_F32, "0.1 * @mscale_all_dim", NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key gptoss_keys[] = {
	{ "attention.sliding_window", KEY_U32, "!sliding_window", NULL, NULL },
	{ "expert_feed_forward_length", KEY_U32, "!intermediate_size", NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key t5_keys[] = {
	{ "context_length", KEY_U32, "n_positions | 512", NULL, NULL },
	{ "embedding_length", KEY_U32, "!d_model", NULL, NULL },
	{ "feed_forward_length", KEY_U32, "!d_ff", NULL, NULL },
	{ "block_count", KEY_U32, "!num_layers | num_hidden_layers", NULL, NULL },
	{ "decoder_block_count", KEY_U32, "num_decoder_layers", NULL, NULL },
	{ "attention.head_count", KEY_U32, "!num_heads", NULL, NULL },
	{ "attention.key_length", KEY_U32, "!d_kv", NULL, NULL },
	{ "attention.value_length", KEY_U32, "!d_kv", NULL, NULL },
	{ "attention.layer_norm_epsilon", KEY_F32, "!layer_norm_epsilon", NULL, NULL },
	{ "attention.relative_buckets_count", KEY_U32, "!relative_attention_num_buckets",
	  NULL, NULL },
	{ "attention.layer_norm_rms_epsilon", KEY_F32, "!layer_norm_epsilon", NULL, NULL },
	{ "decoder_start_token_id", KEY_U32, "decoder_start_token_id | pad_token_id", NULL, NULL },
	{ "general.file_type", KEY_FILE, NULL, NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key phi2_keys[] = {
	{ "context_length", KEY_U32, "!max_position_embeddings | n_positions", NULL, NULL },
	{ "embedding_length", KEY_U32, "!hidden_size | n_embd", NULL, NULL },
	{ "feed_forward_length", KEY_U32, "intermediate_size | 4 * hidden_size", NULL, NULL },
	{ "block_count", KEY_U32, "!num_hidden_layers | n_layer", NULL, NULL },
	{ "attention.head_count", KEY_U32, "!num_attention_heads | n_head", NULL, NULL },
	{ "attention.head_count_kv", KEY_U32, "num_key_value_heads | num_attention_heads | n_head",
	  NULL, NULL },
	{ "attention.layer_norm_epsilon", KEY_F32, "!layer_norm_eps | layer_norm_epsilon",
	  NULL, NULL },
	{ "rope.dimension_count", KEY_U32,
	  "!@partial_rotary_factor * hidden_size / num_attention_heads", NULL, NULL },
	{ "general.file_type", KEY_FILE, NULL, NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key stablelm_keys[] = {
	{ "context_length", KEY_U32, "!max_position_embeddings", NULL, NULL },
	{ "embedding_length", KEY_U32, "!hidden_size", NULL, NULL },
	{ "block_count", KEY_U32, "!num_hidden_layers", NULL, NULL },
	{ "feed_forward_length", KEY_U32, "!intermediate_size", NULL, NULL },
	{ "rope.dimension_count", KEY_U32,
	  "hidden_size / num_attention_heads * @partial_rotary_factor / 1", NULL, NULL },
	{ "attention.head_count", KEY_U32, "!num_attention_heads", NULL, NULL },
	{ "attention.head_count_kv", KEY_U32, "!num_key_value_heads", NULL, NULL },
	{ "use_parallel_residual", KEY_BOOL, "use_parallel_residual | true", NULL, NULL },
	{ "attention.layer_norm_epsilon", KEY_F32, "!layer_norm_eps | norm_eps", NULL, NULL },
	{ "general.file_type", KEY_FILE, NULL, NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key falcon_keys[] = {
	{ "context_length", KEY_U32, "2048", NULL, NULL },
	{ "tensor_data_layout", KEY_TEXT, "'jploski'", NULL, NULL },
	{ "embedding_length", KEY_U32, "!hidden_size", NULL, NULL },
	{ "feed_forward_length", KEY_U32, "ffn_hidden_size | 4 * hidden_size", NULL, NULL },
	{ "block_count", KEY_U32, "!num_hidden_layers | n_layer", NULL, NULL },
	{ "attention.head_count", KEY_U32, "!num_attention_heads | n_head", NULL, NULL },
	{ "attention.head_count_kv", KEY_U32, "!num_kv_heads | n_head_kv",
	  "new_decoder_architecture!0", NULL },
	{ "attention.head_count_kv", KEY_U32, "n_head_kv | 1",
	  "new_decoder_architecture!1 & multi_query!0", NULL },
	{ "attention.head_count_kv", KEY_U32, "num_attention_heads * 1",
	  "new_decoder_architecture!1 & multi_query!1", NULL },
	{ "attention.layer_norm_epsilon", KEY_F32, "!layer_norm_epsilon", NULL, NULL },
	{ "general.file_type", KEY_FILE, NULL, NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key cohere_counts[] = {
	{ "block_count", KEY_U32, "!num_hidden_layers", NULL, NULL },
	{ "context_length", KEY_U32, "!model_max_length | max_position_embeddings", NULL, NULL },
	{ "embedding_length", KEY_U32, "!hidden_size", NULL, NULL },
	{ "feed_forward_length", KEY_U32, "!intermediate_size", NULL, NULL },
	{ "attention.head_count", KEY_U32, "!num_attention_heads", NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key cohere_keys[] = {
	{ "logit_scale", KEY_F32, "!logit_scale", NULL, NULL },
	{ "rope.scaling.type", KEY_TEXT, "'none'", NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key nemotron_norm[] = {
	{ "attention.layer_norm_rms_epsilon", KEY_F32, "norm_eps | rms_norm_eps", NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key nemotron_keys[] = {
	{ "attention.layer_norm_epsilon", KEY_F32, "!norm_eps | layer_norm_eps | "
	  "layer_norm_epsilon | norm_epsilon", NULL, NULL },
	{ "rope.dimension_count", KEY_U32,
	  "!@partial_rotary_factor * hidden_size / num_attention_heads", NULL, NULL },
	{ "rope.scaling.type", KEY_TEXT, "'none'", "-@factor", NULL },
	{ "rope.scaling.type", KEY_TEXT, "'linear'", "?@factor", NULL },
	{ "rope.scaling.factor", KEY_F32, "@factor", NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

static const struct arch_key mamba_keys[] = {
	{ "context_length", KEY_U32, "1048576", NULL, NULL },
	{ "embedding_length", KEY_U32, "!hidden_size | d_model", NULL, NULL },
	{ "feed_forward_length", KEY_U32, "0", NULL, NULL },
	{ "attention.head_count", KEY_U32, "0", NULL, NULL },
	{ "block_count", KEY_U32, "!num_hidden_layers | n_layer", NULL, NULL },
	{ "ssm.conv_kernel", KEY_U32, "conv_kernel | d_conv | 4", NULL, NULL },
	{ "ssm.inner_size", KEY_U32,
	  "!intermediate_size | d_inner | 2 * hidden_size | 2 * d_model", NULL, NULL },
	{ "ssm.state_size", KEY_U32, "state_size | d_state | 16", NULL, NULL },
	{ "ssm.time_step_rank", KEY_U32, "!time_step_rank | dt_rank | hidden_size + 15 / 16 | "
	  "d_model + 15 / 16", NULL, NULL },
	{ "attention.layer_norm_rms_epsilon", KEY_F32,
	  "layer_norm_epsilon | rms_norm_eps | 1e-05", NULL, NULL },
	{ "ssm.dt_b_c_rms", KEY_BOOL, "false", NULL, NULL },
	{ "general.file_type", KEY_FILE, NULL, NULL, NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

/* ---- lists ---- */

#define LIST(name, ...) \
	static const struct arch_key *const name[] = { __VA_ARGS__, NULL }
#define COMMON counts, shared_heads, rope, norms, experts, head, file

LIST(common, COMMON);
LIST(llama, COMMON, vocabulary, llama_rope);
LIST(qwen, COMMON, pooling);
LIST(qwen_experts, COMMON, expert_sizes);
LIST(gemma2, gemma2_keys, base);
LIST(gemma3, COMMON, gemma3_window);
LIST(phi3, phi3_keys);
LIST(gpt2, gpt2_keys);
LIST(gptneox, gptneox_keys, base);
LIST(bert, counts, rope, norms, experts, head, file, bert_keys);
LIST(roberta, roberta_counts, rope, norms, experts, head, file, bert_keys);
LIST(olmo2, COMMON, olmo2_window);
LIST(granite, counts, shared_heads, rope, norms, experts, file, vocabulary, granite_keys);
LIST(deepseek, counts, deepseek_heads, rope, norms, experts, deepseek_lengths, file,
     deepseek_keys);
LIST(gptoss, COMMON, gptoss_keys);
LIST(t5, t5_keys);
LIST(phi2, phi2_keys, base);
LIST(stablelm, stablelm_keys, base);
LIST(falcon, falcon_keys, base);
LIST(cohere, cohere_counts, shared_heads, rope, norms, experts, head, file, cohere_keys);
LIST(nemotron, counts, shared_heads, rope, nemotron_norm, experts, head, file, vocabulary,
     nemotron_keys);
LIST(mamba, mamba_keys);

/* ---- classes ---- */

#define SILU "hidden_act = 'silu'; attention_dropout = 0.0; initializer_range = 0.02; " \
	"use_cache = true; "
#define ALL_HEADS "num_key_value_heads = num_attention_heads; "
#define WIDTH "head_dim = hidden_size / num_attention_heads; "
#define THETA "rope_theta = rope.freq_base | 10000.0; "
#define GEMMA "hidden_act = 'gelu_pytorch_tanh'; hidden_activation = 'gelu_pytorch_tanh'; " \
	"attention_bias = ?blk.0.attn_q.bias; attention_dropout = 0.0; " \
	"initializer_range = 0.02; use_cache = true; " THETA
#define GEMMA_DEFAULTS "max_position_embeddings = 8192; rms_norm_eps = 1e-06; " \
	"head_dim = 256; rope_theta = 10000; "
#define BERT "hidden_act = 'gelu'; attention_probs_dropout_prob = 0.1; " \
	"hidden_dropout_prob = 0.1; classifier_dropout = null; initializer_range = 0.02; " \
	"position_embedding_type = 'absolute'; use_cache = true; " \
	"type_vocab_size = tokenizer.ggml.token_type_count | 2; "
#define DEEPSEEK SILU THETA \
	"attention_bias = ?blk.0.attn_q_a.bias; " \
	"num_key_value_heads = attention.head_count; " \
	"q_lora_rank = attention.q_lora_rank | null; " \
	"qk_rope_head_dim = rope.dimension_count; " \
	"qk_nope_head_dim = attention.key_length_mla - rope.dimension_count | " \
	"attention.key_length - rope.dimension_count; " \
	"v_head_dim = attention.value_length_mla | attention.value_length; " \
	"norm_topk_prob = expert_weights_norm | false; moe_layer_freq = 1; " \
	"n_group = expert_group_count | 1; topk_group = expert_group_used_count | 1; " \
	"routed_scaling_factor = expert_weights_scale | 1.0; " \
	"rope_scaling.mscale = 10 * rope.scaling.yarn_log_multiplier; " \
	"rope_scaling.mscale_all_dim = 10 * rope.scaling.yarn_log_multiplier; "

static const struct arch_class classes[] = {
	{ "llama", "LlamaForCausalLM", llama, NULL, ALL_HEADS WIDTH
	  "max_position_embeddings = 2048; rms_norm_eps = 1e-06; rope_theta = 10000",
	  SILU THETA "attention_bias = ?blk.0.attn_q.bias; mlp_bias = ?blk.0.ffn_up.bias; "
	  "pretraining_tp = 1", NULL, 0 },
	{ "mistral", "MistralForCausalLM", llama, NULL, ALL_HEADS WIDTH
	  "rms_norm_eps = 1e-06; rope_theta = 10000", SILU THETA "sliding_window = null",
	  "?sliding_window", 0 },
	{ "mixtral", "MixtralForCausalLM", llama, NULL,
	  "rms_norm_eps = 1e-05; rope_theta = 1000000; num_local_experts = 8; "
	  "num_experts_per_tok = 2", SILU "rope_theta = rope.freq_base | 1000000.0; "
	  "sliding_window = null; output_router_logits = false; router_aux_loss_coef = 0.001",
	  "?sliding_window", 0 },
	{ "qwen2", "Qwen2ForCausalLM", qwen, NULL, "rms_norm_eps = 1e-06; rope_theta = 10000",
	  SILU THETA "use_sliding_window = false; sliding_window = null; "
	  "max_window_layers = block_count", "use_sliding_window!0", 1 },
	{ "qwen3", "Qwen3ForCausalLM", qwen, NULL,
	  "head_dim = 128; rms_norm_eps = 1e-06; rope_theta = 10000",
	  SILU THETA "attention_bias = ?blk.0.attn_q.bias; use_sliding_window = false; "
	  "sliding_window = null; max_window_layers = block_count", "use_sliding_window!0", 1 },
	{ "qwen2_moe", "Qwen2MoeForCausalLM", qwen_experts, "num_experts",
	  "rms_norm_eps = 1e-06; rope_theta = 10000", SILU THETA
	  "use_sliding_window = false; sliding_window = null; max_window_layers = block_count; "
	  "decoder_sparse_step = 1; mlp_only_layers = []; "
	  "norm_topk_prob = expert_weights_norm | false; output_router_logits = false; "
	  "router_aux_loss_coef = 0.001", "use_sliding_window!0", 0 },
	{ "qwen3_moe", "Qwen3MoeForCausalLM", qwen_experts, "num_experts",
	  "rms_norm_eps = 1e-06; rope_theta = 10000", SILU THETA
	  "attention_bias = ?blk.0.attn_q.bias; use_sliding_window = false; "
	  "sliding_window = null; max_window_layers = block_count; decoder_sparse_step = 1; "
	  "mlp_only_layers = []; norm_topk_prob = true; output_router_logits = false; "
	  "router_aux_loss_coef = 0.001", "use_sliding_window!0", 0 },
	{ "phi3", "Phi3ForCausalLM", phi3, NULL,
	  ALL_HEADS "rms_norm_eps = 1e-05; rope_theta = 10000; "
	  "original_max_position_embeddings = 4096", SILU THETA
	  "attention_bias = ?blk.0.attn_qkv.bias; embd_pdrop = 0.0; resid_pdrop = 0.0; "
	  "original_max_position_embeddings = rope.scaling.original_context_length; "
	  "partial_rotary_factor = rope.dimension_count * attention.head_count : "
	  "embedding_length", NULL, 0 },
	{ "gemma2", "Gemma2ForCausalLM", gemma2, NULL, GEMMA_DEFAULTS
	  "attn_logit_softcapping = 50.0; final_logit_softcapping = 30.0; sliding_window = 4096",
	  GEMMA "cache_implementation = 'hybrid'", NULL, 2 },
	{ "gemma3_text", "Gemma3ForCausalLM", gemma3, NULL,
	  "max_position_embeddings = 131072; num_attention_heads = 8; num_key_value_heads = 4; "
	  "rms_norm_eps = 1e-06; head_dim = 256; rope_theta = 1000000; "
	  "rope_local_base_freq = 10000; sliding_window = 4096", GEMMA
	  "rope_theta = rope.freq_base | 1000000.0; "
	  "rope_local_base_freq = rope.freq_base_swa | 10000.0; "
	  "attn_logit_softcapping = null; cache_implementation = 'hybrid'", NULL, 6 },
	{ "gpt2", "GPT2LMHeadModel", gpt2, NULL, "layer_norm_epsilon = 1e-05",
	  "activation_function = 'gelu_new'; n_positions = context_length; attn_pdrop = 0.1; "
	  "embd_pdrop = 0.1; resid_pdrop = 0.1; initializer_range = 0.02; use_cache = true",
	  NULL, 0 },
	{ "gpt_neox", "GPTNeoXForCausalLM", gptneox, NULL,
	  "layer_norm_eps = 1e-05; rotary_pct = 0.25",
	  "hidden_act = 'gelu'; initializer_range = 0.02; use_cache = true; "
	  "attention_bias = ?blk.0.attn_qkv.bias; "
	  "rotary_emb_base = rope.freq_base | 10000; "
	  "rotary_pct = rope.dimension_count * attention.head_count : embedding_length", NULL, 0 },
	{ "smollm3", "SmolLM3ForCausalLM", llama, NULL,
	  "num_key_value_heads = 4; rms_norm_eps = 1e-06; rope_theta = 2000000",
	  SILU "rope_theta = rope.freq_base | 2000000.0; no_rope_layer_interval = 4; "
	  "attention_bias = ?blk.0.attn_q.bias; mlp_bias = ?blk.0.ffn_up.bias; "
	  "use_sliding_window = false; sliding_window = null; max_window_layers = block_count; "
	  "pretraining_tp = 1", "use_sliding_window!0; no_rope_layer_interval!4", 1 },
	{ "olmo2", "Olmo2ForCausalLM", olmo2, NULL,
	  ALL_HEADS "rms_norm_eps = 1e-05; rope_theta = 10000", SILU THETA
	  "attention_bias = ?blk.0.attn_q.bias", NULL, 0 },
	{ "olmo3", "Olmo3ForCausalLM", olmo2, NULL,
	  ALL_HEADS "rms_norm_eps = 1e-05; rope_theta = 10000", SILU THETA
	  "attention_bias = ?blk.0.attn_q.bias", NULL, 4 },
	{ "granite", "GraniteForCausalLM", granite, NULL,
	  ALL_HEADS "rms_norm_eps = 1e-06; rope_theta = 10000; attention_multiplier = 1.0; "
	  "embedding_multiplier = 1.0; residual_multiplier = 1.0; logits_scaling = 1.0",
	  SILU THETA "attention_bias = ?blk.0.attn_q.bias; mlp_bias = ?blk.0.ffn_up.bias",
	  NULL, 0 },
	{ "deepseek_v2", "DeepseekV2ForCausalLM", deepseek, "n_routed_experts scoring_func",
	  "rms_norm_eps = 1e-06; kv_lora_rank = 512; rope_theta = 10000", DEEPSEEK
	  "topk_method = 'greedy'", NULL, 0 },
	{ "deepseek_v3", "DeepseekV3ForCausalLM", deepseek, "n_routed_experts scoring_func",
	  "rms_norm_eps = 1e-06; kv_lora_rank = 512; rope_theta = 10000; "
	  "scoring_func = 'sigmoid'", DEEPSEEK "topk_method = 'noaux_tc'", NULL, 0 },
	{ "gpt_oss", "GptOssForCausalLM", gptoss, NULL,
	  "rms_norm_eps = 1e-05; head_dim = 64; rope_theta = 150000; sliding_window = 128",
	  SILU "rope_theta = rope.freq_base | 150000.0; "
	  "attention_bias = ?blk.0.attn_q.bias; rope_scaling.truncate = false; "
	  "initial_context_length = rope.scaling.original_context_length; "
	  "experts_per_token = expert_used_count; swiglu_limit = 7.0; "
	  "output_router_logits = false; router_aux_loss_coef = 0.9", NULL, 2 },
	{ "bert", "BertModel", bert, NULL, "layer_norm_eps = 1e-12; "
	  "max_position_embeddings = 512", BERT, NULL, 0 },
	{ "roberta", "RobertaModel", roberta, NULL, "layer_norm_eps = 1e-12; pad_token_id = 1",
	  BERT "max_position_embeddings = context_length + 1 + tokenizer.ggml.padding_token_id | "
	  "context_length + 2; pad_token_id = tokenizer.ggml.padding_token_id | 1", NULL, 0 },
	{ "xlm-roberta", "XLMRobertaModel", roberta, NULL,
	  "layer_norm_eps = 1e-12; pad_token_id = 1",
	  BERT "max_position_embeddings = context_length + 1 + tokenizer.ggml.padding_token_id | "
	  "context_length + 2; pad_token_id = tokenizer.ggml.padding_token_id | 1", NULL, 0 },
	{ "t5", "T5ForConditionalGeneration", t5, NULL,
	  "layer_norm_epsilon = 1e-06; relative_attention_num_buckets = 32; "
	  "decoder_start_token_id = pad_token_id | 0",
	  "is_encoder_decoder = true; feed_forward_proj = 'relu'; "
	  "feed_forward_proj = 'gated-gelu' if ?enc.blk.0.ffn_gate.weight!0; dropout_rate = 0.1; initializer_factor = 1.0; "
	  "relative_attention_max_distance = 128; use_cache = true; "
	  "num_decoder_layers = decoder_block_count | block_count", NULL, 0 },
	{ "phi", "PhiForCausalLM", phi2, NULL,
	  "layer_norm_eps = 1e-05; partial_rotary_factor = 0.5",
	  "hidden_act = 'gelu_new'; attention_dropout = 0.0; embd_pdrop = 0.0; "
	  "resid_pdrop = 0.0; initializer_range = 0.02; use_cache = true; "
	  "qk_layernorm = ?blk.0.attn_q_norm.weight; " THETA
	  "partial_rotary_factor = rope.dimension_count * attention.head_count : "
	  "embedding_length", NULL, 0 },
	{ "stablelm", "StableLmForCausalLM", stablelm, NULL,
	  ALL_HEADS "layer_norm_eps = 1e-05; partial_rotary_factor = 0.25",
	  SILU THETA "use_qkv_bias = ?blk.0.attn_q.bias; "
	  "qk_layernorm = ?blk.0.attn_q_norm.weight; hidden_dropout = 0.0; "
	  "partial_rotary_factor = rope.dimension_count * attention.head_count : "
	  "embedding_length", NULL, 0 },
	{ "starcoder2", "Starcoder2ForCausalLM", common, "norm_epsilon",
	  "num_key_value_heads = 2; norm_epsilon = 1e-05; rope_theta = 10000",
	  THETA "hidden_act = 'gelu_pytorch_tanh'; attention_dropout = 0.0; "
	  "residual_dropout = 0.0; embedding_dropout = 0.0; initializer_range = 0.02; "
	  "use_bias = ?blk.0.attn_q.bias; use_cache = true; sliding_window = null",
	  "?sliding_window", 0 },
	{ "falcon", "FalconForCausalLM", falcon, NULL, "layer_norm_epsilon = 1e-05; "
	  "new_decoder_architecture = false; multi_query = true",
	  "alibi = false; attention_dropout = 0.0; hidden_dropout = 0.0; "
	  "initializer_range = 0.02; use_cache = true; parallel_attn = true; "
	  "bias = ?blk.0.attn_qkv.bias; new_decoder_architecture = ?blk.0.attn_norm_2.weight; "
	  "multi_query = true; " THETA, "alibi!0", 0 },
	{ "cohere", "CohereForCausalLM", cohere, "max_position_embeddings",
	  ALL_HEADS "layer_norm_eps = 1e-05; rope_theta = 10000; logit_scale = 0.0625",
	  SILU THETA "attention_bias = ?blk.0.attn_q.bias; "
	  "use_qk_norm = ?blk.0.attn_q_norm.weight", NULL, 0 },
	{ "nemotron", "NemotronForCausalLM", nemotron, NULL, ALL_HEADS WIDTH
	  "norm_eps = 1e-05; rope_theta = 10000; partial_rotary_factor = 0.5", THETA
	  "hidden_act = 'relu2'; attention_dropout = 0.0; initializer_range = 0.0134; "
	  "use_cache = true; attention_bias = ?blk.0.attn_q.bias; mlp_bias = ?blk.0.ffn_up.bias; "
	  "partial_rotary_factor = rope.dimension_count * attention.head_count : "
	  "embedding_length", NULL, 0 },
	{ "mamba", "MambaForCausalLM", mamba, NULL, NULL,
	  "hidden_act = 'silu'; expand = 2; initializer_range = 0.1; use_cache = true; "
	  "residual_in_fp32 = true; rescale_prenorm_residual = false; time_step_floor = 0.0001; "
	  "time_step_max = 0.1; time_step_min = 0.001; time_step_scale = 1.0; "
	  "time_step_init_scheme = 'random'; use_bias = ?blk.0.ssm_in.bias; "
	  "use_conv_bias = ?blk.0.ssm_conv1d.bias", NULL, 0 },
};

const struct arch_class *
arch_class(const char *model_type)
{
	size_t i;

	for (i = 0; i < sizeof classes / sizeof *classes; i++)
		if (strcmp(classes[i].model_type, model_type) == 0)
			return &classes[i];
	return NULL;
}

const struct arch_moved arch_moved[] = {
	{ "rope_theta", "rope_theta | global_rope_theta | rope_global_theta | "
	  "rope_theta_global | rotary_emb_base" },
	{ "local_theta", "rope_local_base_freq | local_rope_theta | rope_local_theta | "
	  "rope_theta_local | swa_rope_theta" },
	{ "partial_rotary_factor", "partial_rotary_factor | rotary_pct | rope_pct | rope_percent" },
	{ "original_max_position_embeddings", "original_max_position_embeddings" },
	{ "factor", "factor" },
	{ NULL, NULL },
};

const struct arch_choice arch_choices[] = {
	{ "llama", "expert_count!0", "mixtral" },
	{ "olmo2", "?attention.sliding_window_pattern", "olmo3" },
	{ "bert", "tokenizer.ggml.model=gpt2", "roberta" },
	{ "bert", "tokenizer.ggml.model=t5", "xlm-roberta" },
	{ "deepseek2", "expert_gating_func!1", "deepseek_v3" },
	{ NULL, NULL, NULL },
};
