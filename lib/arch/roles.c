/* The names and shapes of roles that most architectures use. */
#include "arch/arch.h"

#include <string.h>

static const struct {
	const char *gguf, *folder, *shape;
} names[ROLES] = {
	[ROLE_EMBED] = { "token_embd", "model.embed_tokens", "V W" },
	[ROLE_POSITIONS] = { "position_embd", NULL, "P W" },
	[ROLE_TOKEN_TYPES] = { "token_types", NULL, "T W" },
	[ROLE_EMBED_NORM] = { "token_embd_norm", NULL, "W" },
	[ROLE_OUT_NORM] = { "output_norm", "model.norm", "W" },
	[ROLE_OUT] = { "output", "lm_head", "V W" },
	[ROLE_ROPE_FREQS] = { "rope_freqs", NULL, NULL },
	[ROLE_ROPE_LONG] = { "rope_factors_long", NULL, NULL },
	[ROLE_ROPE_SHORT] = { "rope_factors_short", NULL, NULL },

	[ROLE_ATTN_NORM] = { "blk.#.attn_norm", "model.layers.#.input_layernorm", "W" },
	[ROLE_ATTN_NORM2] = { "blk.#.attn_norm_2", NULL, "W" },
	[ROLE_Q] = { "blk.#.attn_q", "model.layers.#.self_attn.q_proj", "H*K W" },
	[ROLE_K] = { "blk.#.attn_k", "model.layers.#.self_attn.k_proj", "G*K W" },
	[ROLE_V] = { "blk.#.attn_v", "model.layers.#.self_attn.v_proj", "G*U W" },
	[ROLE_QKV] = { "blk.#.attn_qkv", "model.layers.#.self_attn.qkv_proj", "H*K+G*K+G*U W" },
	[ROLE_O] = { "blk.#.attn_output", "model.layers.#.self_attn.o_proj", "W H*U" },
	[ROLE_Q_NORM] = { "blk.#.attn_q_norm", "model.layers.#.self_attn.q_norm", "K" },
	[ROLE_K_NORM] = { "blk.#.attn_k_norm", "model.layers.#.self_attn.k_norm", "K" },
	[ROLE_ATTN_POST] = { "blk.#.post_attention_norm",
	                     "model.layers.#.post_attention_layernorm", "W" },
	[ROLE_ATTN_OUT_NORM] = { "blk.#.attn_output_norm", NULL, "W" },
	[ROLE_SINKS] = { "blk.#.attn_sinks", "model.layers.#.self_attn.sinks", "H" },

	[ROLE_FFN_NORM] = { "blk.#.ffn_norm", "model.layers.#.post_attention_layernorm", "W" },
	[ROLE_GATE] = { "blk.#.ffn_gate", "model.layers.#.mlp.gate_proj", "F W" },
	[ROLE_UP] = { "blk.#.ffn_up", "model.layers.#.mlp.up_proj", "F W" },
	[ROLE_DOWN] = { "blk.#.ffn_down", "model.layers.#.mlp.down_proj", "W F" },
	[ROLE_FFN_POST] = { "blk.#.post_ffw_norm",
	                    "model.layers.#.post_feedforward_layernorm", "W" },
	[ROLE_LAYER_OUT_NORM] = { "blk.#.layer_output_norm", NULL, "W" },

	[ROLE_Q_A] = { "blk.#.attn_q_a", "model.layers.#.self_attn.q_a_proj", "Q W" },
	[ROLE_Q_A_NORM] = { "blk.#.attn_q_a_norm", "model.layers.#.self_attn.q_a_layernorm", "Q" },
	[ROLE_Q_B] = { "blk.#.attn_q_b", "model.layers.#.self_attn.q_b_proj", "H*N+H*R Q" },
	[ROLE_KV_A] = { "blk.#.attn_kv_a_mqa",
	                "model.layers.#.self_attn.kv_a_proj_with_mqa", "L+R W" },
	[ROLE_KV_A_NORM] = { "blk.#.attn_kv_a_norm",
	                     "model.layers.#.self_attn.kv_a_layernorm", "L" },
	[ROLE_K_B] = { "blk.#.attn_k_b", "model.layers.#.self_attn.kv_b_proj", "H*N+H*U L" },
	[ROLE_V_B] = { "blk.#.attn_v_b", "model.layers.#.self_attn.kv_b_proj", "H*N+H*U L" },

	[ROLE_ROUTER] = { "blk.#.ffn_gate_inp", "model.layers.#.mlp.gate", "E W" },
	[ROLE_EXP_PROBS] = { "blk.#.exp_probs_b",
	                     "model.layers.#.mlp.gate.e_score_correction_bias", "E" },
	[ROLE_GATE_EXPS] = { "blk.#.ffn_gate_exps",
	                     "model.layers.#.mlp.experts.*.gate_proj", "E|X W" },
	[ROLE_UP_EXPS] = { "blk.#.ffn_up_exps", "model.layers.#.mlp.experts.*.up_proj", "E|X W" },
	[ROLE_DOWN_EXPS] = { "blk.#.ffn_down_exps",
	                     "model.layers.#.mlp.experts.*.down_proj", "E|W X" },
	[ROLE_SHARED_ROUTER] = { "blk.#.ffn_gate_inp_shexp",
	                         "model.layers.#.mlp.shared_expert_gate", "1 W" },
	[ROLE_SHARED_GATE] = { "blk.#.ffn_gate_shexp",
	                       "model.layers.#.mlp.shared_expert.gate_proj", "S W" },
	[ROLE_SHARED_UP] = { "blk.#.ffn_up_shexp",
	                     "model.layers.#.mlp.shared_expert.up_proj", "S W" },
	[ROLE_SHARED_DOWN] = { "blk.#.ffn_down_shexp",
	                       "model.layers.#.mlp.shared_expert.down_proj", "W S" },

	[ROLE_SSM_IN] = { "blk.#.ssm_in", "backbone.layers.#.mixer.in_proj", "M+M W" },
	[ROLE_SSM_CONV] = { "blk.#.ssm_conv1d", "backbone.layers.#.mixer.conv1d", "M 1 C" },
	[ROLE_SSM_X] = { "blk.#.ssm_x", "backbone.layers.#.mixer.x_proj", "D+Z+Z M" },
	[ROLE_SSM_DT] = { "blk.#.ssm_dt", "backbone.layers.#.mixer.dt_proj", "M D" },
	[ROLE_SSM_A] = { "blk.#.ssm_a", "backbone.layers.#.mixer.A_log", "M Z" },
	[ROLE_SSM_D] = { "blk.#.ssm_d", "backbone.layers.#.mixer.D", "M" },
	[ROLE_SSM_OUT] = { "blk.#.ssm_out", "backbone.layers.#.mixer.out_proj", "W M" },

	[ROLE_ENC_OUT_NORM] = { "enc.output_norm", "encoder.final_layer_norm", "W" },
	[ROLE_ENC_NORM] = { "enc.blk.#.attn_norm", "encoder.block.#.layer.0.layer_norm", "W" },
	[ROLE_ENC_Q] = { "enc.blk.#.attn_q", "encoder.block.#.layer.0.SelfAttention.q", "H*K W" },
	[ROLE_ENC_K] = { "enc.blk.#.attn_k", "encoder.block.#.layer.0.SelfAttention.k", "H*K W" },
	[ROLE_ENC_V] = { "enc.blk.#.attn_v", "encoder.block.#.layer.0.SelfAttention.v", "H*K W" },
	[ROLE_ENC_O] = { "enc.blk.#.attn_o", "encoder.block.#.layer.0.SelfAttention.o", "W H*K" },
	[ROLE_ENC_BIAS] = { "enc.blk.#.attn_rel_b",
	                    "encoder.block.#.layer.0.SelfAttention.relative_attention_bias",
	                    "J H" },
	[ROLE_ENC_FFN_NORM] = { "enc.blk.#.ffn_norm", "encoder.block.#.layer.1.layer_norm", "W" },
	[ROLE_ENC_GATE] = { "enc.blk.#.ffn_gate",
	                    "encoder.block.#.layer.1.DenseReluDense.wi_0", "F W" },
	[ROLE_ENC_UP] = { "enc.blk.#.ffn_up",
	                  "encoder.block.#.layer.1.DenseReluDense.wi_1", "F W" },
	[ROLE_ENC_DOWN] = { "enc.blk.#.ffn_down",
	                    "encoder.block.#.layer.1.DenseReluDense.wo", "W F" },

	[ROLE_DEC_OUT_NORM] = { "dec.output_norm", "decoder.final_layer_norm", "W" },
	[ROLE_DEC_NORM] = { "dec.blk.#.attn_norm", "decoder.block.#.layer.0.layer_norm", "W" },
	[ROLE_DEC_Q] = { "dec.blk.#.attn_q", "decoder.block.#.layer.0.SelfAttention.q", "H*K W" },
	[ROLE_DEC_K] = { "dec.blk.#.attn_k", "decoder.block.#.layer.0.SelfAttention.k", "H*K W" },
	[ROLE_DEC_V] = { "dec.blk.#.attn_v", "decoder.block.#.layer.0.SelfAttention.v", "H*K W" },
	[ROLE_DEC_O] = { "dec.blk.#.attn_o", "decoder.block.#.layer.0.SelfAttention.o", "W H*K" },
	[ROLE_DEC_BIAS] = { "dec.blk.#.attn_rel_b",
	                    "decoder.block.#.layer.0.SelfAttention.relative_attention_bias",
	                    "J H" },
	[ROLE_CROSS_NORM] = { "dec.blk.#.cross_attn_norm",
	                      "decoder.block.#.layer.1.layer_norm", "W" },
	[ROLE_CROSS_Q] = { "dec.blk.#.cross_attn_q",
	                   "decoder.block.#.layer.1.EncDecAttention.q", "H*K W" },
	[ROLE_CROSS_K] = { "dec.blk.#.cross_attn_k",
	                   "decoder.block.#.layer.1.EncDecAttention.k", "H*K W" },
	[ROLE_CROSS_V] = { "dec.blk.#.cross_attn_v",
	                   "decoder.block.#.layer.1.EncDecAttention.v", "H*K W" },
	[ROLE_CROSS_O] = { "dec.blk.#.cross_attn_o",
	                   "decoder.block.#.layer.1.EncDecAttention.o", "W H*K" },
	[ROLE_DEC_FFN_NORM] = { "dec.blk.#.ffn_norm", "decoder.block.#.layer.2.layer_norm", "W" },
	[ROLE_DEC_GATE] = { "dec.blk.#.ffn_gate",
	                    "decoder.block.#.layer.2.DenseReluDense.wi_0", "F W" },
	[ROLE_DEC_UP] = { "dec.blk.#.ffn_up",
	                  "decoder.block.#.layer.2.DenseReluDense.wi_1", "F W" },
	[ROLE_DEC_DOWN] = { "dec.blk.#.ffn_down",
	                    "decoder.block.#.layer.2.DenseReluDense.wo", "W F" },
};

const char *
role_name(enum role role, enum arch_form form)
{
	if (role == ROLES)
		return NULL;
	return form == ARCH_GGUF ? names[role].gguf :
	       form == ARCH_FOLDER ? names[role].folder : NULL;
}

const char *
rule_name(const struct arch_rule *r)
{
	return r->name ? r->name : names[r->role].folder;
}

const char *
rule_shape(const struct arch_rule *r)
{
	return r->shape || r->role == ROLES ? r->shape : names[r->role].shape;
}
