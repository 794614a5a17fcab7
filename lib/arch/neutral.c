#include "arch/neutral.h"

#include <stdbool.h>

#include "core/le.h"

#define WHOLE NEUTRAL_WHOLE
#define REAL NEUTRAL_REAL
#define TRUTH NEUTRAL_TRUTH
#define WHOLES NEUTRAL_WHOLES
#define REALS NEUTRAL_REALS

static const struct neutral rows[] = {
	/* rotary positions */
	{ "rope.scaling.yarn_log_multiplier", REAL, 0, 0, "a multiplier of yarn" },
	{ "rope.scaling.yarn_attn_factor", REAL, 1, 1, "another length of yarn" },
	{ "rope.scaling.alpha", REAL, 0, 1, "dynamic rope scaling" },
	{ "rope.dimension_sections", WHOLES, 0, 0, "positions of several dimensions" },

	/* attention */
	{ "attention.causal", TRUTH, 1, 1, "attention to later tokens" },
	{ "attention.key_length_mla", WHOLE, 0, 0, "latent attention" },
	{ "attention.value_length_mla", WHOLE, 0, 0, "latent attention" },
	{ "attention.q_lora_rank", WHOLE, 0, 0, "latent attention" },
	{ "attention.kv_lora_rank", WHOLE, 0, 0, "latent attention" },
	{ "attention.clamp_kqv", REAL, 0, 0, "clamping of queries and keys" },
	{ "attention.max_alibi_bias", REAL, 0, 0, "a bias by distance" },
	{ "attention.relative_buckets_count", WHOLE, 0, 0, "a bias by distance" },
	{ "attention.output_scale", REAL, 0, 1, "a scale of attention's output" },
	{ "attention.value_scale", REAL, 0, 1, "a scale of values" },
	{ "attention.temperature_length", WHOLE, 0, 0, "a temperature of attention" },
	{ "attention.temperature_scale", REAL, 0, 0, "a temperature of attention" },
	{ "attention.group_norm_groups", WHOLE, 0, 0, "norms of groups" },
	{ "attention.recurrent_layers", WHOLES, 0, 0, "recurrent blocks" },
	{ "attention.indexer.head_count", WHOLE, 0, 0, "sparse attention" },
	{ "attention.indexer.key_length", WHOLE, 0, 0, "sparse attention" },
	{ "attention.indexer.top_k", WHOLE, 0, 0, "sparse attention" },
	{ "attention.indexer.block_size", WHOLE, 0, 0, "sparse attention" },
	{ "attention.indexer.local_blocks", WHOLE, 0, 0, "sparse attention" },
	{ "attention.indexer.types", WHOLES, 0, 0, "sparse attention" },
	{ "attention.decay_lora_rank", WHOLE, 0, 0, "decay of attention" },
	{ "attention.iclr_lora_rank", WHOLE, 0, 0, "a rate of learning in context" },
	{ "attention.value_residual_mix_lora_rank", WHOLE, 0, 0, "a mixture of values" },
	{ "attention.gate_lora_rank", WHOLE, 0, 0, "a gate of attention" },

	/* scales */
	{ "residual_scale", REAL, 0, 1, "a scale of residuals" },
	{ "embedding_scale", REAL, 0, 1, "a scale of embeddings" },
	{ "logit_scale", REAL, 0, 1, "a scale of logits" },
	{ "router_logit_softcapping", REAL, 30, 0, "a cap of the router" },

	/* feed-forward and experts */
	{ "leading_dense_block_count", WHOLE, 0, 0, "blocks without experts" },
	{ "moe_every_n_layers", WHOLE, 0, 1, "blocks without experts" },
	{ "interleave_moe_layer_step", WHOLE, 0, 1, "blocks without experts" },
	{ "expert_shared_count", WHOLE, 0, 0, "a number of shared experts" },
	{ "expert_group_count", WHOLE, 0, 1, "groups of experts" },
	{ "expert_group_used_count", WHOLE, 0, 1, "groups of experts" },
	{ "expert_group_scale", REAL, 0.05F, 1, "groups of experts" },
	{ "experts_per_group", WHOLE, 0, 1, "groups of experts" },
	{ "expert_chunk_feed_forward_length", WHOLE, 0, 0, "experts in chunks" },
	{ "expert_gating_func", WHOLE, 0, 1, "a choice of experts other than softmax" },
	{ "swiglu_clamp_exp", REALS, 0, 0, "clamping of experts" },
	{ "swiglu_clamp_shexp", REALS, 0, 0, "clamping of shared experts" },

	/* blocks of other kinds */
	{ "embedding_length_out", WHOLE, 0, 0, "another width of the output" },
	{ "nextn_predict_layers", WHOLE, 0, 0, "blocks that predict later tokens" },
	{ "n_deepstack_layers", WHOLE, 0, 0, "images between blocks" },
	{ "deepstack_mapping", WHOLES, -1, -1, "images between blocks" },
	{ "decoder_block_count", WHOLE, 0, 0, "an encoder and a decoder" },
	{ "swin_norm", TRUTH, 0, 0, "norms of another order" },
	{ "rescale_every_n_layers", WHOLE, 0, 0, "scaling between blocks" },
	{ "time_mix_extra_dim", WHOLE, 0, 0, "a mixture over time" },
	{ "time_decay_extra_dim", WHOLE, 0, 0, "decay over time" },
	{ "token_shift_count", WHOLE, 2, 0, "shifted tokens" },
	{ "wkv.head_size", WHOLE, 0, 0, "recurrent blocks" },
	{ "ssm.inner_size", WHOLE, 0, 0, "a model of states" },
	{ "ssm.conv_kernel", WHOLE, 0, 0, "a model of states" },
	{ "ssm.state_size", WHOLE, 0, 0, "a model of states" },
	{ "ssm.time_step_rank", WHOLE, 0, 0, "a model of states" },
	{ "ssm.group_count", WHOLE, 0, 0, "a model of states" },
	{ "ssm.dt_b_c_rms", TRUTH, 0, 0, "a model of states" },
	{ "kda.head_dim", WHOLE, 0, 0, "linear attention" },
	{ "shortconv.l_cache", WHOLE, 0, 0, "convolutions" },
	{ "posnet.embedding_length", WHOLE, 0, 0, "convolutions" },
	{ "posnet.block_count", WHOLE, 0, 0, "convolutions" },
	{ "convnext.embedding_length", WHOLE, 0, 0, "convolutions" },
	{ "convnext.block_count", WHOLE, 0, 0, "convolutions" },
};

const struct neutral *
neutral_row(size_t index)
{
	return index < sizeof rows / sizeof *rows ? &rows[index] : NULL;
}

static bool
is_float(unsigned leaf)
{
	return leaf == VALUE_F32 || leaf == VALUE_F64;
}

static bool
fits(enum neutral_kind kind, unsigned leaf)
{
	if (value_leaf_bytes(leaf) == 0)
		return false;
	if (kind == TRUTH || kind == WHOLES)
		return leaf == VALUE_BOOL || (kind == WHOLES && !is_float(leaf));
	return leaf != VALUE_BOOL && (!is_float(leaf) || kind == REAL || kind == REALS);
}

/* A number of at most 8 bytes. Integers beyond 2^53 are rounded; none of them is neutral. */
static double
number(unsigned leaf, const uint8_t *p)
{
	switch (leaf) {
	case VALUE_U8:
	case VALUE_BOOL:
		return *p;
	case VALUE_I8:
		return (int8_t)*p;
	case VALUE_U16:
		return le16(p);
	case VALUE_I16:
		return (int16_t)le16(p);
	case VALUE_U32:
		return le32(p);
	case VALUE_I32:
		return (int32_t)le32(p);
	case VALUE_U64:
		return (double)le64(p);
	case VALUE_I64:
		return (double)(int64_t)le64(p);
	case VALUE_F32:
		return (double)le_f32(p);
	default:
		return le_f64(p);
	}
}

int
neutral_holds(const struct neutral *row, struct value_type type, const uint8_t *value,
              size_t n)
{
	bool list = row->kind == WHOLES || row->kind == REALS;
	size_t size, i;

	if (!fits(row->kind, type.leaf) || type.depth > (list ? 1 : 0))
		return -1;
	/* an array begins with u32 type and u64 count, which the reader has proved */
	if (type.depth == 1 && n < 12)
		return -1;
	size = value_leaf_bytes(type.leaf);
	for (i = type.depth == 1 ? 12 : 0; i + size <= n; i += size) {
		double v = number(type.leaf, value + i);

		if (v != row->value && v != row->other)
			return 0;
	}
	return 1;
}
