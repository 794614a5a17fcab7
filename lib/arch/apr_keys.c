#include "arch/apr_keys.h"

#include <stdio.h>

#include "arch/arch.h"

static const struct apr_key rows[] = {
	{ "hidden_size", "hidden_dim", "hidden_size", "embedding_length" },
	{ "num_layers", "n_layers", "num_hidden_layers", "block_count" },
	{ "num_heads", "n_heads", "num_attention_heads", "attention.head_count" },
	{ "num_kv_heads", "n_kv_heads", "num_key_value_heads", "attention.head_count_kv" },
	{ "context_length", "max_position_embeddings", "max_position_embeddings",
	  "context_length" },
	{ "intermediate_size", "ffn_dim", "intermediate_size", "feed_forward_length" },
	{ "vocab_size", "n_vocab", "vocab_size", "vocab_size" },
	{ "rope_theta", NULL, "rope_theta", "rope.freq_base" },
	{ "rms_norm_eps", "norm_eps", "rms_norm_eps", "attention.layer_norm_rms_epsilon" },
	{ "layer_norm_eps", NULL, "layer_norm_eps", "attention.layer_norm_epsilon" },
	{ "head_dim", NULL, "head_dim", "attention.key_length" },
	{ "num_experts", NULL, "num_experts", "expert_count" },
	{ "num_experts_per_tok", NULL, "num_experts_per_tok", "expert_used_count" },
	{ "moe_intermediate_size", NULL, "moe_intermediate_size", "expert_feed_forward_length" },
	{ "sliding_window", NULL, "sliding_window", "attention.sliding_window" },
	{ "rope_scaling", NULL, "rope_scaling", NULL },
	{ "hidden_act", NULL, "hidden_act", NULL },
};

const struct apr_key *
apr_key_row(size_t index)
{
	return index < sizeof rows / sizeof *rows ? &rows[index] : NULL;
}

json_t *
apr_key_value(const struct weights *w, const char *name)
{
	struct err ignored = ERR_INIT;
	struct value_type t;
	size_t n;
	const uint8_t *p = weights_value(w, name, &t, &n);

	if (!p || t.depth != 0)
		return NULL;
	return t.leaf == VALUE_JSON ? json_parse_any(p, n, ERR_CORRUPT, name, &ignored)
	                            : value_to_json(t, p, n);
}

/* The architecture as config.json calls it: the member model_type of version 2 may also be
 * what the model is for ("transformer_lm"), so the architecture comes first. */
static json_t *
model_type(const struct weights *w)
{
	static const char *const names[] = { "hf_model_type", "architecture", "model_type" };
	json_t *j = NULL, *name;
	const struct arch *a;
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names && !json_is_string(j); i++) {
		json_decref(j);
		j = apr_key_value(w, names[i]);
		if (json_is_object(j) && (name = json_incref(json_object_get(j, "name")))) {
			json_decref(j);
			j = name;
		}
	}
	a = json_is_string(j) ? arch_by_name(json_string_value(j)) : NULL;
	if (a && a->folder)
		json_string_set(j, a->folder);
	return j;
}

/* Labels, an object or an array, as config.json has them. */
static int
put_labels(json_t *o, const struct weights *w)
{
	json_t *labels = apr_key_value(w, "labels"), *by_number = labels, *v;
	char number[24];
	size_t i;
	int r = 0;

	if (json_is_array(labels)) {
		by_number = json_object();
		json_array_foreach(labels, i, v) {
			snprintf(number, sizeof number, "%zu", i);
			r |= json_object_set(by_number, number, v);
		}
		json_decref(labels);
	}
	if (r == 0 && json_is_object(by_number))
		r = json_object_set(o, "id2label", by_number);
	json_decref(by_number);
	return r;
}

json_t *
apr_config(const struct weights *w, struct err *e)
{
	json_t *o = json_object(), *j;
	size_t i;
	int r = o ? 0 : -1;

	for (i = 0; r == 0 && i < sizeof rows / sizeof *rows; i++) {
		j = apr_key_value(w, rows[i].apr);
		if (!j && rows[i].other)
			j = apr_key_value(w, rows[i].other);
		if (j)
			r = json_object_set_new(o, rows[i].config, j);
	}
	if (r == 0 && (j = model_type(w)))
		r = json_object_set_new(o, "model_type", j);
	if (r == 0 && put_labels(o, w) == 0)
		return o;
	json_decref(o);
	err_memory(e);
	return NULL;
}
