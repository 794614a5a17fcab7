/* The metadata of .apr files as existing software writes it: members with nearly the names of a
 * config.json, and tensors with the names of either GGUF or a model folder.
 */
#include <string.h>

#include "arch/hyper.h"
#include "core/json.h"

/* Their names, and those of config.json. */
static const struct { const char *theirs, *config; } members[] = {
	{ "hidden_size", "hidden_size" }, { "num_layers", "num_hidden_layers" },
	{ "num_heads", "num_attention_heads" }, { "num_kv_heads", "num_key_value_heads" },
	{ "vocab_size", "vocab_size" }, { "intermediate_size", "intermediate_size" },
	{ "max_position_embeddings", "max_position_embeddings" },
	{ "rope_theta", "rope_theta" }, { "rms_norm_eps", "rms_norm_eps" },
	{ "head_dim", "head_dim" }, { "num_experts", "num_experts" },
	{ "num_experts_per_tok", "num_experts_per_tok" },
	{ "moe_intermediate_size", "moe_intermediate_size" },
	{ "rope_scaling", "rope_scaling" }, { "sliding_window", "sliding_window" },
	{ "hidden_act", "hidden_act" },
};

/* A member's value, as a new reference; NULL if it is absent or not JSON. */
static json_t *
member(const struct weights *w, const char *name)
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

/* The architecture as config.json calls it. */
static json_t *
model_type(const struct weights *w)
{
	json_t *j = member(w, "hf_model_type");
	const struct arch *a;

	if (!json_is_string(j)) {
		json_decref(j);
		j = member(w, "architecture");
	}
	a = json_is_string(j) ? arch_by_name(json_string_value(j)) : NULL;
	if (a && a->folder)
		json_string_set(j, a->folder);
	return j;
}

static bool
has_tensor(const struct weights *w, const char *name)
{
	size_t i;

	for (i = 0; i < w->plan->tensor_count; i++)
		if (strcmp(tensor_name(w->plan->tensors[i]), name) == 0)
			return true;
	return false;
}

/* rope_type says how rope pairs values: 0, neighbours; 2, halves. If it is missing and the
 * architecture pairs neighbours in GGUF and halves in folders, the order of rows is
 * unknown. */
static int
read_turn(struct hyper *h, const struct weights *w, struct err *e)
{
	json_t *j = member(w, "rope_type");
	bool said = json_is_integer(j);
	json_int_t type = json_integer_value(j);

	json_decref(j);
	h->halves = said ? type == 2 : (h->arch->flags & ARCH_HALVES) != 0;
	if (said ? type == 0 || type == 2 : h->halves || (h->arch->flags & ARCH_POSITIONS))
		return 0;
	return err_set(e, ERR_FORMAT, w->name, "does not say how positions turn its heads: "
	               "rope_type is %s", said ? "neither 0 nor 2" : "missing");
}

int
hyper_apr(struct hyper *h, const struct weights *w, struct err *e)
{
	json_t *o = json_object(), *j;
	size_t i;
	int r = -1;

	if (!o)
		return err_memory(e);
	for (i = 0; i < sizeof members / sizeof *members; i++)
		if ((j = member(w, members[i].theirs)))
			json_object_set_new(o, members[i].config, j);
	if ((j = model_type(w)))
		json_object_set_new(o, "model_type", j);
	h->folder = !has_tensor(w, "token_embd.weight");
	r = hyper_config(h, w, o, e);
	if (r == 0)
		r = read_turn(h, w, e);
	json_decref(o);
	return r;
}
