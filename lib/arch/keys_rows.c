#include "arch/keys_rows.h"

#define KEY(key, type, value) { key, type, value, NULL, NULL }
#define WHEN(key, type, value, when) { key, type, value, when, NULL }
#define SCALED(key, type, value, scaling) { key, type, value, NULL, scaling }
#define END { NULL, 0, NULL, NULL, NULL },

/* ---- keys that most architectures have ---- */

static const struct arch_key counts[] = {
	KEY("block_count", KEY_U32, "!num_hidden_layers | n_layers | n_layer | num_layers"),
	KEY("context_length", KEY_U32,
	    "max_position_embeddings | n_ctx | n_positions | max_length | "
	    "max_sequence_length | model_max_length"),
	KEY("embedding_length", KEY_U32, "!hidden_size | n_embd | dim"),
	KEY("feed_forward_length", KEY_EACH, "intermediate_size | n_inner | hidden_dim"),
	KEY("attention.head_count", KEY_EACH, "!num_attention_heads | n_head | n_heads"),
	END
};

static const struct arch_key shared_heads[] = {
	KEY("attention.head_count_kv", KEY_EACH, "num_key_value_heads | n_kv_heads"),
	WHEN("attention.causal", KEY_BOOL, "is_causal", "is_causal!1"),
	END
};

static const struct arch_key rope[] = {
	SCALED("rope.scaling.type", KEY_TEXT, "'linear'", "linear"),
	SCALED("rope.scaling.type", KEY_TEXT, "'yarn'", "yarn"),
	SCALED("rope.scaling.type", KEY_TEXT, "'longrope'", "longrope su"),
	SCALED("rope.scaling.factor", KEY_F32, "!@factor", "linear yarn"),
	SCALED("rope.scaling.original_context_length", KEY_U32,
	    "!@original_max_position_embeddings | max_position_embeddings", "yarn"),
	SCALED("rope.scaling.yarn_ext_factor", KEY_F32, "@extrapolation_factor", "yarn"),
	SCALED("rope.scaling.yarn_attn_factor", KEY_F32,
	    "@attention_factor | @attn_factor", "yarn"),
	SCALED("rope.scaling.yarn_beta_fast", KEY_F32, "@beta_fast", "yarn"),
	SCALED("rope.scaling.yarn_beta_slow", KEY_F32, "@beta_slow", "yarn"),
	KEY("rope.freq_base", KEY_F32, "@rope_theta"),
	KEY("rope.freq_base_swa", KEY_F32, "@local_theta"),
	END
};

static const struct arch_key norms[] = {
	KEY("attention.layer_norm_rms_epsilon", KEY_F32, "rms_norm_eps | norm_eps"),
	KEY("attention.layer_norm_epsilon", KEY_F32,
	    "layer_norm_eps | layer_norm_epsilon | norm_epsilon"),
	END
};

static const struct arch_key experts[] = {
	KEY("expert_count", KEY_U32, "num_local_experts | num_experts | n_routed_experts"),
	KEY("expert_used_count", KEY_U32,
	    "num_experts_per_tok | num_experts_per_token | top_k_experts"),
	KEY("expert_group_count", KEY_U32, "n_group"),
	KEY("expert_group_used_count", KEY_U32, "topk_group"),
	KEY("expert_gating_func", KEY_GATING,
	    "score_function | scoring_func | score_func | moe_router_activation | "
	    "moe_router_activation_func | expert_selection_fn"),
	END
};

static const struct arch_key head[] = {
	KEY("attention.key_length", KEY_U32, "head_dim"),
	KEY("attention.value_length", KEY_U32, "head_dim"),
	END
};

static const struct arch_key file[] = {
	KEY("general.file_type", KEY_FILE, NULL),
	END
};

/* Readers assume 10000, and the converter writes no base for some architectures. */
static const struct arch_key base[] = {
	WHEN("rope.freq_base", KEY_F32, "@rope_theta", "@rope_theta!10000"),
	END
};

static const struct arch_key vocabulary[] = {
	KEY("vocab_size", KEY_U32, "!vocab_size"),
	END
};

static const struct arch_key pooling[] = {
	KEY("pooling_type", KEY_POOLING, NULL),
	END
};

/* ---- keys of few architectures ---- */

/* Not one name, so that head_dim does not come from this key. */
static const struct arch_key llama_rope[] = {
	KEY("rope.dimension_count", KEY_U32,
	    "head_dim * 1 | hidden_size / num_attention_heads"),
	END
};

static const struct arch_key expert_sizes[] = {
	KEY("expert_feed_forward_length", KEY_U32, "moe_intermediate_size"),
	KEY("expert_shared_feed_forward_length", KEY_U32, "shared_expert_intermediate_size"),
	END
};

static const struct arch_key gemma2_keys[] = {
	KEY("context_length", KEY_U32, "!max_position_embeddings"),
	KEY("embedding_length", KEY_U32, "!hidden_size"),
	KEY("block_count", KEY_U32, "!num_hidden_layers"),
	KEY("feed_forward_length", KEY_U32, "!intermediate_size"),
	KEY("attention.head_count", KEY_U32, "!num_attention_heads"),
	KEY("attention.head_count_kv", KEY_U32, "num_key_value_heads | num_attention_heads"),
	KEY("attention.layer_norm_rms_epsilon", KEY_F32, "!rms_norm_eps"),
	KEY("attention.key_length", KEY_U32, "!head_dim"),
	KEY("attention.value_length", KEY_U32, "!head_dim"),
	KEY("general.file_type", KEY_FILE, NULL),
	KEY("attn_logit_softcapping", KEY_F32, "attn_logit_softcapping"),
	KEY("final_logit_softcapping", KEY_F32, "final_logit_softcapping"),
	KEY("attention.sliding_window", KEY_U32, "!sliding_window"),
	END
};

static const struct arch_key gemma3_window[] = {
	WHEN("final_logit_softcapping", KEY_F32,
	    "final_logit_softcapping", "final_logit_softcapping!0"),
	WHEN("attention.sliding_window", KEY_U32,
	    "!sliding_window", "sliding_window_pattern!1"),
	WHEN("attention.sliding_window", KEY_U32,
	    "!sliding_window", "-sliding_window_pattern"),
	END
};

static const struct arch_key phi3_keys[] = {
	KEY("context_length", KEY_U32, "!max_position_embeddings | n_positions"),
	KEY("rope.scaling.original_context_length", KEY_U32,
	    "!@original_max_position_embeddings"),
	KEY("embedding_length", KEY_U32, "!hidden_size | n_embd"),
	KEY("feed_forward_length", KEY_U32, "!intermediate_size"),
	KEY("block_count", KEY_U32, "!num_hidden_layers"),
	KEY("attention.head_count", KEY_U32, "!num_attention_heads | n_head"),
	KEY("attention.head_count_kv", KEY_U32, "!num_key_value_heads | n_head_kv"),
	KEY("attention.layer_norm_rms_epsilon", KEY_F32, "!rms_norm_eps"),
	KEY("rope.dimension_count", KEY_U32,
	    "@partial_rotary_factor * hidden_size / num_attention_heads | hidden_size / "
	    "num_attention_heads"),
	KEY("rope.freq_base", KEY_F32, "!@rope_theta"),
	KEY("general.file_type", KEY_FILE, NULL),
	KEY("attention.sliding_window", KEY_U32, "sliding_window | 0"),
	END
};

static const struct arch_key gpt2_keys[] = {
	KEY("block_count", KEY_U32, "!n_layer | num_hidden_layers"),
	KEY("context_length", KEY_U32, "!n_ctx | n_positions"),
	KEY("embedding_length", KEY_U32, "!n_embd | hidden_size"),
	KEY("feed_forward_length", KEY_U32, "n_inner | 4 * n_embd"),
	KEY("attention.head_count", KEY_U32, "!n_head | num_attention_heads"),
	KEY("attention.layer_norm_epsilon", KEY_F32, "!layer_norm_epsilon"),
	KEY("general.file_type", KEY_FILE, NULL),
	END
};

/* The converter writes no general.file_type for this architecture. */
static const struct arch_key gptneox_keys[] = {
	KEY("context_length", KEY_U32, "!max_position_embeddings"),
	KEY("embedding_length", KEY_U32, "!hidden_size"),
	KEY("block_count", KEY_U32, "!num_hidden_layers"),
	KEY("feed_forward_length", KEY_U32, "!intermediate_size"),
	KEY("rope.dimension_count", KEY_U32,
	    "hidden_size / num_attention_heads * @partial_rotary_factor / 1"),
	KEY("attention.head_count", KEY_U32, "!num_attention_heads"),
	KEY("use_parallel_residual", KEY_BOOL, "use_parallel_residual | true"),
	KEY("attention.layer_norm_epsilon", KEY_F32, "!layer_norm_eps"),
	END
};

static const struct arch_key bert_keys[] = {
	KEY("attention.causal", KEY_BOOL, "false"),
	KEY("pooling_type", KEY_POOLING, NULL),
	KEY("classifier.output_labels", KEY_LABELS, "id2label"),
	END
};

/* The first rows of the positions belong to padding. */
static const struct arch_key roberta_counts[] = {
	KEY("block_count", KEY_U32, "!num_hidden_layers"),
	KEY("context_length", KEY_U32, "!max_position_embeddings - 1 - pad_token_id"),
	KEY("embedding_length", KEY_U32, "!hidden_size"),
	KEY("feed_forward_length", KEY_U32, "intermediate_size"),
	KEY("attention.head_count", KEY_U32, "!num_attention_heads"),
	END
};

static const struct arch_key olmo2_window[] = {
	KEY("attention.sliding_window", KEY_U32, "sliding_window"),
	WHEN("attention.sliding_window_pattern", KEY_BLOCKS,
	    "layer_types | 4", "?sliding_window"),
	END
};

static const struct arch_key granite_keys[] = {
	KEY("rope.dimension_count", KEY_U32, "hidden_size / num_attention_heads"),
	WHEN("attention.scale", KEY_F32, "attention_multiplier", "attention_multiplier!0"),
	WHEN("embedding_scale", KEY_F32, "embedding_multiplier", "embedding_multiplier!0"),
	WHEN("residual_scale", KEY_F32, "residual_multiplier", "residual_multiplier!0"),
	WHEN("logit_scale", KEY_F32, "logits_scaling", "logits_scaling!0"),
	END
};

/* The latent attention of these models has one head of keys and values in GGUF. */
static const struct arch_key deepseek_heads[] = {
	KEY("attention.head_count_kv", KEY_U32, "1"),
	END
};

static const struct arch_key deepseek_lengths[] = {
	KEY("attention.key_length", KEY_U32, "!kv_lora_rank + qk_rope_head_dim"),
	KEY("attention.value_length", KEY_U32, "!kv_lora_rank"),
	END
};

static const struct arch_key deepseek_keys[] = {
	WHEN("leading_dense_block_count", KEY_U32,
	    "first_k_dense_replace | 0", "?n_routed_experts"),
	WHEN("leading_dense_block_count", KEY_U32,
	    "first_k_dense_replace | num_hidden_layers", "-n_routed_experts"),
	KEY("vocab_size", KEY_U32, "!vocab_size"),
	KEY("attention.q_lora_rank", KEY_U32, "q_lora_rank"),
	KEY("attention.kv_lora_rank", KEY_U32, "!kv_lora_rank"),
	KEY("attention.key_length_mla", KEY_U32, "!qk_nope_head_dim + qk_rope_head_dim"),
	KEY("attention.value_length_mla", KEY_U32, "!v_head_dim"),
	KEY("expert_feed_forward_length", KEY_U32,
	    "!moe_intermediate_size | intermediate_size"),
	KEY("expert_shared_count", KEY_U32, "n_shared_experts | 0"),
	KEY("expert_weights_scale", KEY_F32, "routed_scaling_factor"),
	WHEN("expert_weights_norm", KEY_BOOL, "norm_topk_prob", "norm_topk_prob!0"),
	KEY("rope.dimension_count", KEY_U32, "!qk_rope_head_dim"),
	KEY("rope.scaling.yarn_log_multiplier", KEY_F32, "0.1 * @mscale_all_dim"),
	END
};

static const struct arch_key gptoss_keys[] = {
	KEY("attention.sliding_window", KEY_U32, "!sliding_window"),
	KEY("expert_feed_forward_length", KEY_U32, "!intermediate_size"),
	END
};

static const struct arch_key t5_keys[] = {
	KEY("context_length", KEY_U32, "n_positions | 512"),
	KEY("embedding_length", KEY_U32, "!d_model"),
	KEY("feed_forward_length", KEY_U32, "!d_ff"),
	KEY("block_count", KEY_U32, "!num_layers | num_hidden_layers"),
	KEY("decoder_block_count", KEY_U32, "num_decoder_layers"),
	KEY("attention.head_count", KEY_U32, "!num_heads"),
	KEY("attention.key_length", KEY_U32, "!d_kv"),
	KEY("attention.value_length", KEY_U32, "!d_kv"),
	KEY("attention.layer_norm_epsilon", KEY_F32, "!layer_norm_epsilon"),
	KEY("attention.relative_buckets_count", KEY_U32, "!relative_attention_num_buckets"),
	KEY("attention.layer_norm_rms_epsilon", KEY_F32, "!layer_norm_epsilon"),
	KEY("decoder_start_token_id", KEY_U32, "decoder_start_token_id | pad_token_id"),
	KEY("general.file_type", KEY_FILE, NULL),
	END
};

static const struct arch_key phi2_keys[] = {
	KEY("context_length", KEY_U32, "!max_position_embeddings | n_positions"),
	KEY("embedding_length", KEY_U32, "!hidden_size | n_embd"),
	KEY("feed_forward_length", KEY_U32, "intermediate_size | 4 * hidden_size"),
	KEY("block_count", KEY_U32, "!num_hidden_layers | n_layer"),
	KEY("attention.head_count", KEY_U32, "!num_attention_heads | n_head"),
	KEY("attention.head_count_kv", KEY_U32,
	    "num_key_value_heads | num_attention_heads | n_head"),
	KEY("attention.layer_norm_epsilon", KEY_F32, "!layer_norm_eps | layer_norm_epsilon"),
	KEY("rope.dimension_count", KEY_U32,
	    "!@partial_rotary_factor * hidden_size / num_attention_heads"),
	KEY("general.file_type", KEY_FILE, NULL),
	END
};

static const struct arch_key stablelm_keys[] = {
	KEY("context_length", KEY_U32, "!max_position_embeddings"),
	KEY("embedding_length", KEY_U32, "!hidden_size"),
	KEY("block_count", KEY_U32, "!num_hidden_layers"),
	KEY("feed_forward_length", KEY_U32, "!intermediate_size"),
	KEY("rope.dimension_count", KEY_U32,
	    "hidden_size / num_attention_heads * @partial_rotary_factor / 1"),
	KEY("attention.head_count", KEY_U32, "!num_attention_heads"),
	KEY("attention.head_count_kv", KEY_U32, "!num_key_value_heads"),
	KEY("use_parallel_residual", KEY_BOOL, "use_parallel_residual | true"),
	KEY("attention.layer_norm_epsilon", KEY_F32, "!layer_norm_eps | norm_eps"),
	KEY("general.file_type", KEY_FILE, NULL),
	END
};

static const struct arch_key falcon_keys[] = {
	KEY("context_length", KEY_U32, "2048"),
	KEY("tensor_data_layout", KEY_TEXT, "'jploski'"),
	KEY("embedding_length", KEY_U32, "!hidden_size"),
	KEY("feed_forward_length", KEY_U32, "ffn_hidden_size | 4 * hidden_size"),
	KEY("block_count", KEY_U32, "!num_hidden_layers | n_layer"),
	KEY("attention.head_count", KEY_U32, "!num_attention_heads | n_head"),
	WHEN("attention.head_count_kv", KEY_U32,
	    "!num_kv_heads | n_head_kv", "new_decoder_architecture!0"),
	WHEN("attention.head_count_kv", KEY_U32,
	    "n_head_kv | 1", "new_decoder_architecture!1 & multi_query!0"),
	WHEN("attention.head_count_kv", KEY_U32,
	    "num_attention_heads * 1", "new_decoder_architecture!1 & multi_query!1"),
	KEY("attention.layer_norm_epsilon", KEY_F32, "!layer_norm_epsilon"),
	KEY("general.file_type", KEY_FILE, NULL),
	END
};

static const struct arch_key cohere_counts[] = {
	KEY("block_count", KEY_U32, "!num_hidden_layers"),
	KEY("context_length", KEY_U32, "!model_max_length | max_position_embeddings"),
	KEY("embedding_length", KEY_U32, "!hidden_size"),
	KEY("feed_forward_length", KEY_U32, "!intermediate_size"),
	KEY("attention.head_count", KEY_U32, "!num_attention_heads"),
	END
};

static const struct arch_key cohere_keys[] = {
	KEY("logit_scale", KEY_F32, "!logit_scale"),
	KEY("rope.scaling.type", KEY_TEXT, "'none'"),
	END
};

static const struct arch_key nemotron_norm[] = {
	KEY("attention.layer_norm_rms_epsilon", KEY_F32, "norm_eps | rms_norm_eps"),
	END
};

static const struct arch_key nemotron_keys[] = {
	KEY("attention.layer_norm_epsilon", KEY_F32,
	    "!norm_eps | layer_norm_eps | layer_norm_epsilon | norm_epsilon"),
	KEY("rope.dimension_count", KEY_U32,
	    "!@partial_rotary_factor * hidden_size / num_attention_heads"),
	WHEN("rope.scaling.type", KEY_TEXT, "'none'", "-@factor"),
	WHEN("rope.scaling.type", KEY_TEXT, "'linear'", "?@factor"),
	KEY("rope.scaling.factor", KEY_F32, "@factor"),
	END
};

static const struct arch_key mamba_keys[] = {
	KEY("context_length", KEY_U32, "1048576"),
	KEY("embedding_length", KEY_U32, "!hidden_size | d_model"),
	KEY("feed_forward_length", KEY_U32, "0"),
	KEY("attention.head_count", KEY_U32, "0"),
	KEY("block_count", KEY_U32, "!num_hidden_layers | n_layer"),
	KEY("ssm.conv_kernel", KEY_U32, "conv_kernel | d_conv | 4"),
	KEY("ssm.inner_size", KEY_U32,
	    "!intermediate_size | d_inner | 2 * hidden_size | 2 * d_model"),
	KEY("ssm.state_size", KEY_U32, "state_size | d_state | 16"),
	KEY("ssm.time_step_rank", KEY_U32,
	    "!time_step_rank | dt_rank | hidden_size + 15 / 16 | d_model + 15 / 16"),
	KEY("attention.layer_norm_rms_epsilon", KEY_F32,
	    "layer_norm_epsilon | rms_norm_eps | 1e-05"),
	KEY("ssm.dt_b_c_rms", KEY_BOOL, "false"),
	KEY("general.file_type", KEY_FILE, NULL),
	END
};

/* ---- lists ---- */

#define LIST(name, ...) \
	const struct arch_key *const keys_##name[] = { __VA_ARGS__, NULL }
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
