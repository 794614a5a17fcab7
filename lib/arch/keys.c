#include "arch/keys.h"

#include <string.h>

#include "arch/keys_rows.h"

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
	{ "llama", "LlamaForCausalLM", keys_llama, NULL, ALL_HEADS WIDTH
	  "max_position_embeddings = 2048; rms_norm_eps = 1e-06; rope_theta = 10000",
	  SILU THETA "attention_bias = ?blk.0.attn_q.bias; mlp_bias = ?blk.0.ffn_up.bias; "
	  "pretraining_tp = 1", NULL, 0 },
	{ "mistral", "MistralForCausalLM", keys_llama, NULL, ALL_HEADS WIDTH
	  "rms_norm_eps = 1e-06; rope_theta = 10000", SILU THETA "sliding_window = null",
	  "?sliding_window", 0 },
	{ "mixtral", "MixtralForCausalLM", keys_llama, NULL,
	  "rms_norm_eps = 1e-05; rope_theta = 1000000; num_local_experts = 8; "
	  "num_experts_per_tok = 2", SILU "rope_theta = rope.freq_base | 1000000.0; "
	  "sliding_window = null; output_router_logits = false; router_aux_loss_coef = 0.001",
	  "?sliding_window", 0 },
	{ "qwen2", "Qwen2ForCausalLM", keys_qwen, NULL, "rms_norm_eps = 1e-06; rope_theta = 10000",
	  SILU THETA "use_sliding_window = false; sliding_window = null; "
	  "max_window_layers = block_count", "use_sliding_window!0", 1 },
	{ "qwen3", "Qwen3ForCausalLM", keys_qwen, NULL,
	  "head_dim = 128; rms_norm_eps = 1e-06; rope_theta = 10000",
	  SILU THETA "attention_bias = ?blk.0.attn_q.bias; use_sliding_window = false; "
	  "sliding_window = null; max_window_layers = block_count", "use_sliding_window!0", 1 },
	{ "qwen2_moe", "Qwen2MoeForCausalLM", keys_qwen_experts, "num_experts",
	  "rms_norm_eps = 1e-06; rope_theta = 10000", SILU THETA
	  "use_sliding_window = false; sliding_window = null; max_window_layers = block_count; "
	  "decoder_sparse_step = 1; mlp_only_layers = []; "
	  "norm_topk_prob = expert_weights_norm | false; output_router_logits = false; "
	  "router_aux_loss_coef = 0.001", "use_sliding_window!0", 0 },
	{ "qwen3_moe", "Qwen3MoeForCausalLM", keys_qwen_experts, "num_experts",
	  "rms_norm_eps = 1e-06; rope_theta = 10000", SILU THETA
	  "attention_bias = ?blk.0.attn_q.bias; use_sliding_window = false; "
	  "sliding_window = null; max_window_layers = block_count; decoder_sparse_step = 1; "
	  "mlp_only_layers = []; norm_topk_prob = true; output_router_logits = false; "
	  "router_aux_loss_coef = 0.001", "use_sliding_window!0", 0 },
	{ "phi3", "Phi3ForCausalLM", keys_phi3, NULL,
	  ALL_HEADS "rms_norm_eps = 1e-05; rope_theta = 10000; "
	  "original_max_position_embeddings = 4096", SILU THETA
	  "attention_bias = ?blk.0.attn_qkv.bias; embd_pdrop = 0.0; resid_pdrop = 0.0; "
	  "original_max_position_embeddings = rope.scaling.original_context_length; "
	  "partial_rotary_factor = rope.dimension_count * attention.head_count : "
	  "embedding_length", NULL, 0 },
	{ "gemma2", "Gemma2ForCausalLM", keys_gemma2, NULL, GEMMA_DEFAULTS
	  "attn_logit_softcapping = 50.0; final_logit_softcapping = 30.0; sliding_window = 4096",
	  GEMMA "cache_implementation = 'hybrid'", NULL, 2 },
	{ "gemma3_text", "Gemma3ForCausalLM", keys_gemma3, NULL,
	  "max_position_embeddings = 131072; num_attention_heads = 8; num_key_value_heads = 4; "
	  "rms_norm_eps = 1e-06; head_dim = 256; rope_theta = 1000000; "
	  "rope_local_base_freq = 10000; sliding_window = 4096", GEMMA
	  "rope_theta = rope.freq_base | 1000000.0; "
	  "rope_local_base_freq = rope.freq_base_swa | 10000.0; "
	  "attn_logit_softcapping = null; cache_implementation = 'hybrid'", NULL, 6 },
	{ "gpt2", "GPT2LMHeadModel", keys_gpt2, NULL, "layer_norm_epsilon = 1e-05",
	  "activation_function = 'gelu_new'; n_positions = context_length; attn_pdrop = 0.1; "
	  "embd_pdrop = 0.1; resid_pdrop = 0.1; initializer_range = 0.02; use_cache = true",
	  NULL, 0 },
	{ "gpt_neox", "GPTNeoXForCausalLM", keys_gptneox, NULL,
	  "layer_norm_eps = 1e-05; rotary_pct = 0.25",
	  "hidden_act = 'gelu'; initializer_range = 0.02; use_cache = true; "
	  "attention_bias = ?blk.0.attn_qkv.bias; "
	  "rotary_emb_base = rope.freq_base | 10000; "
	  "rotary_pct = rope.dimension_count * attention.head_count : embedding_length", NULL, 0 },
	{ "smollm3", "SmolLM3ForCausalLM", keys_llama, NULL,
	  "num_key_value_heads = 4; rms_norm_eps = 1e-06; rope_theta = 2000000",
	  SILU "rope_theta = rope.freq_base | 2000000.0; no_rope_layer_interval = 4; "
	  "attention_bias = ?blk.0.attn_q.bias; mlp_bias = ?blk.0.ffn_up.bias; "
	  "use_sliding_window = false; sliding_window = null; max_window_layers = block_count; "
	  "pretraining_tp = 1", "use_sliding_window!0; no_rope_layer_interval!4", 1 },
	{ "olmo2", "Olmo2ForCausalLM", keys_olmo2, NULL,
	  ALL_HEADS "rms_norm_eps = 1e-05; rope_theta = 10000", SILU THETA
	  "attention_bias = ?blk.0.attn_q.bias", NULL, 0 },
	{ "olmo3", "Olmo3ForCausalLM", keys_olmo2, NULL,
	  ALL_HEADS "rms_norm_eps = 1e-05; rope_theta = 10000", SILU THETA
	  "attention_bias = ?blk.0.attn_q.bias", NULL, 4 },
	{ "granite", "GraniteForCausalLM", keys_granite, NULL,
	  ALL_HEADS "rms_norm_eps = 1e-06; rope_theta = 10000; attention_multiplier = 1.0; "
	  "embedding_multiplier = 1.0; residual_multiplier = 1.0; logits_scaling = 1.0",
	  SILU THETA "attention_bias = ?blk.0.attn_q.bias; mlp_bias = ?blk.0.ffn_up.bias",
	  NULL, 0 },
	{ "deepseek_v2", "DeepseekV2ForCausalLM", keys_deepseek, "n_routed_experts scoring_func",
	  "rms_norm_eps = 1e-06; kv_lora_rank = 512; rope_theta = 10000", DEEPSEEK
	  "topk_method = 'greedy'", NULL, 0 },
	{ "deepseek_v3", "DeepseekV3ForCausalLM", keys_deepseek, "n_routed_experts scoring_func",
	  "rms_norm_eps = 1e-06; kv_lora_rank = 512; rope_theta = 10000; "
	  "scoring_func = 'sigmoid'", DEEPSEEK "topk_method = 'noaux_tc'", NULL, 0 },
	{ "gpt_oss", "GptOssForCausalLM", keys_gptoss, NULL,
	  "rms_norm_eps = 1e-05; head_dim = 64; rope_theta = 150000; sliding_window = 128",
	  SILU "rope_theta = rope.freq_base | 150000.0; "
	  "attention_bias = ?blk.0.attn_q.bias; rope_scaling.truncate = false; "
	  "initial_context_length = rope.scaling.original_context_length; "
	  "experts_per_token = expert_used_count; swiglu_limit = 7.0; "
	  "output_router_logits = false; router_aux_loss_coef = 0.9", NULL, 2 },
	{ "bert", "BertModel", keys_bert, NULL, "layer_norm_eps = 1e-12; "
	  "max_position_embeddings = 512", BERT, NULL, 0 },
	{ "roberta", "RobertaModel", keys_roberta, NULL, "layer_norm_eps = 1e-12; pad_token_id = 1",
	  BERT "max_position_embeddings = context_length + 1 + tokenizer.ggml.padding_token_id | "
	  "context_length + 2; pad_token_id = tokenizer.ggml.padding_token_id | 1", NULL, 0 },
	{ "xlm-roberta", "XLMRobertaModel", keys_roberta, NULL,
	  "layer_norm_eps = 1e-12; pad_token_id = 1",
	  BERT "max_position_embeddings = context_length + 1 + tokenizer.ggml.padding_token_id | "
	  "context_length + 2; pad_token_id = tokenizer.ggml.padding_token_id | 1", NULL, 0 },
	{ "t5", "T5ForConditionalGeneration", keys_t5, NULL,
	  "layer_norm_epsilon = 1e-06; relative_attention_num_buckets = 32; "
	  "decoder_start_token_id = pad_token_id | 0",
	  "is_encoder_decoder = true; feed_forward_proj = 'relu'; "
	  "feed_forward_proj = 'gated-gelu' if ?enc.blk.0.ffn_gate.weight!0; "
	  "dropout_rate = 0.1; initializer_factor = 1.0; "
	  "relative_attention_max_distance = 128; use_cache = true; "
	  "num_decoder_layers = decoder_block_count | block_count", NULL, 0 },
	{ "phi", "PhiForCausalLM", keys_phi2, NULL,
	  "layer_norm_eps = 1e-05; partial_rotary_factor = 0.5",
	  "hidden_act = 'gelu_new'; attention_dropout = 0.0; embd_pdrop = 0.0; "
	  "resid_pdrop = 0.0; initializer_range = 0.02; use_cache = true; "
	  "qk_layernorm = ?blk.0.attn_q_norm.weight; " THETA
	  "partial_rotary_factor = rope.dimension_count * attention.head_count : "
	  "embedding_length", NULL, 0 },
	{ "stablelm", "StableLmForCausalLM", keys_stablelm, NULL,
	  ALL_HEADS "layer_norm_eps = 1e-05; partial_rotary_factor = 0.25",
	  SILU THETA "use_qkv_bias = ?blk.0.attn_q.bias; "
	  "qk_layernorm = ?blk.0.attn_q_norm.weight; hidden_dropout = 0.0; "
	  "partial_rotary_factor = rope.dimension_count * attention.head_count : "
	  "embedding_length", NULL, 0 },
	{ "starcoder2", "Starcoder2ForCausalLM", keys_common, "norm_epsilon",
	  "num_key_value_heads = 2; norm_epsilon = 1e-05; rope_theta = 10000",
	  THETA "hidden_act = 'gelu_pytorch_tanh'; attention_dropout = 0.0; "
	  "residual_dropout = 0.0; embedding_dropout = 0.0; initializer_range = 0.02; "
	  "use_bias = ?blk.0.attn_q.bias; use_cache = true; sliding_window = null",
	  "?sliding_window", 0 },
	{ "falcon", "FalconForCausalLM", keys_falcon, NULL, "layer_norm_epsilon = 1e-05; "
	  "new_decoder_architecture = false; multi_query = true",
	  "alibi = false; attention_dropout = 0.0; hidden_dropout = 0.0; "
	  "initializer_range = 0.02; use_cache = true; parallel_attn = true; "
	  "bias = ?blk.0.attn_qkv.bias; new_decoder_architecture = ?blk.0.attn_norm_2.weight; "
	  "multi_query = true; " THETA, "alibi!0", 0 },
	{ "cohere", "CohereForCausalLM", keys_cohere, "max_position_embeddings",
	  ALL_HEADS "layer_norm_eps = 1e-05; rope_theta = 10000; logit_scale = 0.0625",
	  SILU THETA "attention_bias = ?blk.0.attn_q.bias; "
	  "use_qk_norm = ?blk.0.attn_q_norm.weight", NULL, 0 },
	{ "nemotron", "NemotronForCausalLM", keys_nemotron, NULL, ALL_HEADS WIDTH
	  "norm_eps = 1e-05; rope_theta = 10000; partial_rotary_factor = 0.5", THETA
	  "hidden_act = 'relu2'; attention_dropout = 0.0; initializer_range = 0.0134; "
	  "use_cache = true; attention_bias = ?blk.0.attn_q.bias; mlp_bias = ?blk.0.ffn_up.bias; "
	  "partial_rotary_factor = rope.dimension_count * attention.head_count : "
	  "embedding_length", NULL, 0 },
	{ "mamba", "MambaForCausalLM", keys_mamba, NULL, NULL,
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
