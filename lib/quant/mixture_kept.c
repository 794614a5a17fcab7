#include <string.h>

#include "model/low_rank.h"
#include "quant/mixture.h"

/* Matrices that are kept because of their name: small and sensitive ones. */
static const struct {
	const char *part; /* found anywhere in the name */
	const char *rule;
} kept_names[] = {
	{ "_norm.weight", "norm" },

	{ "ffn_gate_inp.weight", "expert router" },
	{ "ffn_gate_tid2eid.weight", "expert router" },

	{ ".position_embd", "position embedding" },
	{ "sam.pos_embd", "position embedding" },
	{ ".rel_pos", "position embedding" },
	{ "attn_rel_b.weight", "position bias" },

	{ "altup", "small matrix" },
	{ "laurel", "small matrix" },
	{ "per_layer_model_proj", "small matrix" },
	{ "indexer.k_proj.weight", "small matrix" },
	{ "indexer.q_proj.weight", "small matrix" },

	{ "ssm_conv1d", "convolution" },
	{ "shortconv.conv.weight", "convolution" },

	{ "time_mix_first.weight", "time mixing" },
	{ "time_mix_w0.weight", "time mixing" },
	{ "time_mix_w1.weight", "time mixing" },
	{ "time_mix_w2.weight", "time mixing" },
	{ "time_mix_v0.weight", "time mixing" },
	{ "time_mix_v1.weight", "time mixing" },
	{ "time_mix_v2.weight", "time mixing" },
	{ "time_mix_a0.weight", "time mixing" },
	{ "time_mix_a1.weight", "time mixing" },
	{ "time_mix_a2.weight", "time mixing" },
	{ "time_mix_g1.weight", "time mixing" },
	{ "time_mix_g2.weight", "time mixing" },
	{ "time_mix_decay_w1.weight", "time mixing" },
	{ "time_mix_decay_w2.weight", "time mixing" },
	{ "time_mix_lerp_fused.weight", "time mixing" },

	{ "sam.neck.", "image or audio part" },
	{ "sam.net_", "image or audio part" },
	{ ".patch_embd", "image or audio part" },
	{ ".patch_merger", "image or audio part" },
	{ "a.rvq.codebook", "image or audio part" },
	{ "mm.a.code_embd", "image or audio part" },
};

static bool
ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && !strcmp(s + n - k, end);
}

/* Types whose values are weights. Integers, booleans and complex numbers are not, whatever
 * the name of the tensor is. */
static bool
holds_weights(const struct dtype *t)
{
	return t->quantized || !dtype_sized(t) || t->name[0] == 'F' ||
	       !strcmp(t->name, "BF16");
}

/* The number of dimensions without outer ones of length 1, which GGML does not count
 * either. */
static unsigned
real_dimensions(const struct tensor *t)
{
	const uint64_t *dims = tensor_dims(t);
	unsigned n = tensor_ndim(t);

	while (n > 1 && *dims == 1) {
		dims++;
		n--;
	}
	return n;
}

const char *
mixture_kept(const struct tensor *t, const char *name)
{
	size_t i;

	if (!holds_weights(tensor_type(t)))
		return "not a weight type";
	if (real_dimensions(t) < 2)
		return "one dimension";
	if (!ends_with(name, "weight") && !ends_with(name, "weight" LOWRANK_LEFT) &&
	    !ends_with(name, "weight" LOWRANK_RIGHT))
		return "not a weight";
	if (!strcmp(name, "position_embd.weight"))
		return "position embedding";
	if (!strcmp(name, "token_types.weight"))
		return "token types";
	for (i = 0; i < sizeof kept_names / sizeof *kept_names; i++)
		if (strstr(name, kept_names[i].part))
			return kept_names[i].rule;
	return NULL;
}
