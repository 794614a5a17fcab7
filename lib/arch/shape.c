#include "arch/shape.h"

#include <stdio.h>
#include <string.h>

#include "core/num.h"

#define NAMES 4

/* Members of config.json in order of preference, and the key of GGUF after the name of the
 * architecture. */
static const struct {
	char letter;
	const char *config[NAMES], *key;
} table[] = {
	{ 'A', { "num_decoder_layers" }, "decoder_block_count" },
	{ 'B', { "num_hidden_layers", "n_layer", "num_layers" }, "block_count" },
	{ 'C', { "conv_kernel", "d_conv" }, "ssm.conv_kernel" },
	{ 'D', { "time_step_rank", "dt_rank" }, "ssm.time_step_rank" },
	{ 'E', { "num_local_experts", "num_experts", "n_routed_experts" }, "expert_count" },
	{ 'F', { "intermediate_size", "n_inner", "d_ff", "ffn_hidden_size" },
	  "feed_forward_length" },
	{ 'G', { "num_key_value_heads", "num_kv_heads", "n_head_kv" },
	  "attention.head_count_kv" },
	{ 'H', { "num_attention_heads", "n_head", "num_heads" }, "attention.head_count" },
	{ 'J', { "relative_attention_num_buckets" }, "attention.relative_buckets_count" },
	{ 'K', { "head_dim", "d_kv" }, "attention.key_length" },
	{ 'L', { "kv_lora_rank" }, "attention.kv_lora_rank" },
	{ 'M', { "intermediate_size", "d_inner" }, "ssm.inner_size" },
	{ 'N', { "qk_nope_head_dim" }, NULL },
	{ 'P', { "max_position_embeddings", "n_positions", "n_ctx" }, "context_length" },
	{ 'Q', { "q_lora_rank" }, "attention.q_lora_rank" },
	{ 'R', { "qk_rope_head_dim" }, "rope.dimension_count" },
	{ 'S', { "shared_expert_intermediate_size" }, "expert_shared_feed_forward_length" },
	{ 'T', { "type_vocab_size" }, NULL },
	{ 'U', { "v_head_dim" }, "attention.value_length_mla" },
	{ 'V', { "vocab_size" }, NULL },
	{ 'W', { "hidden_size", "n_embd", "d_model" }, "embedding_length" },
	{ 'X', { "moe_intermediate_size" }, "expert_feed_forward_length" },
	{ 'Y', { "n_shared_experts" }, "expert_shared_count" },
	{ 'Z', { "state_size", "d_state" }, "ssm.state_size" },
};

#define ROWS (sizeof table / sizeof *table)
#define AT(letter) s->of[(letter) - 'A']

/* A sum or product in which an unknown part makes the whole unknown. */
static uint64_t
product(uint64_t a, uint64_t b)
{
	uint64_t c;

	return num_mul(a, b, &c) < 0 ? 0 : c;
}

static uint64_t
sum(uint64_t a, uint64_t b)
{
	uint64_t c;

	return !a || !b || num_add(a, b, &c) < 0 ? 0 : c;
}

static void
set_default(uint64_t *to, uint64_t value)
{
	if (*to == 0)
		*to = value;
}

/* What follows from the others where nothing states it. */
static void
finish(struct sizes *s)
{
	set_default(&AT('G'), AT('H'));
	if (AT('H') && AT('W') % AT('H') == 0)
		set_default(&AT('K'), AT('W') / AT('H'));
	set_default(&AT('U'), AT('K'));
	set_default(&AT('X'), AT('F'));
	set_default(&AT('S'), product(AT('X'), AT('Y')));
	set_default(&AT('A'), AT('B'));
}

int
sizes_config(struct sizes *s, const json_t *config, struct err *e)
{
	const json_t *v;
	uint64_t pad = 0;
	size_t i, k;

	*s = (struct sizes){ 0 };
	for (i = 0; i < ROWS; i++)
		for (k = 0; k < NAMES && table[i].config[k] && !AT(table[i].letter); k++) {
			v = json_object_get(config, table[i].config[k]);
			if (!v || !json_is_number(v))
				continue;
			if (json_value_u64(v, &AT(table[i].letter)) < 0 ||
			    AT(table[i].letter) > UINT32_MAX)
				return err_set(e, ERR_CORRUPT, "config.json", "%s has an invalid value",
				               table[i].config[k]);
		}
	/* Falcon: one key for all heads, unless the newer layout says otherwise. */
	if (json_is_true(json_object_get(config, "multi_query")) &&
	    !json_is_true(json_object_get(config, "new_decoder_architecture")))
		AT('G') = 1;
	if ((v = json_object_get(config, "pad_token_id")) && json_value_u64(v, &pad) == 0 &&
	    pad < UINT32_MAX)
		AT('O') = pad + 1;
	finish(s);
	return 0;
}

int
sizes_keys(struct sizes *s, const struct weights *w, const char *arch, struct err *e)
{
	char key[512];
	uint64_t n;
	size_t i;

	*s = (struct sizes){ 0 };
	for (i = 0; i < ROWS; i++) {
		if (!table[i].key ||
		    snprintf(key, sizeof key, "%s.%s", arch, table[i].key) >= (int)sizeof key ||
		    model_u64(w->plan, key, &AT(table[i].letter)) < 0)
			continue;
		if (AT(table[i].letter) > UINT32_MAX)
			return err_set(e, ERR_CORRUPT, w->name, "key %s has an invalid value", key);
	}
	snprintf(key, sizeof key, "%.400s.attention.key_length_mla", arch);
	if (model_u64(w->plan, key, &n) == 0 && n > AT('R'))
		AT('N') = n - AT('R');
	if (model_u64(w->plan, "tokenizer.ggml.padding_token_id", &n) == 0 && n < UINT32_MAX)
		AT('O') = n + 1;
	snprintf(key, sizeof key, "%.400s.attention.value_length", arch);
	if (!AT('U') && model_u64(w->plan, key, &n) == 0 && n <= UINT32_MAX)
		AT('U') = n;
	finish(s);
	return 0;
}

/* One sum of products; *p stops at the space or "|" after it. */
static uint64_t
one_sum(const char **p, const struct sizes *s)
{
	uint64_t all = 0, part = 1;
	bool known = true, first = true;

	for (;; (*p)++) {
		char c = **p;

		if (c >= '0' && c <= '9') {
			part = product(part, (uint64_t)(c - '0'));
		} else if (c >= 'A' && c <= 'Z') {
			part = product(part, AT(c));
		} else if (c != '*') {
			known = known && part;
			all = first ? part : sum(all, part);
			first = false;
			part = 1;
			if (c != '+')
				return known ? all : 0;
		}
	}
}

unsigned
shape_dims(const char *shape, const struct sizes *s, uint64_t dims[TENSOR_DIMS],
           uint64_t *stack)
{
	unsigned n = 0;

	*stack = 1;
	while (*shape && n < TENSOR_DIMS) {
		uint64_t v = one_sum(&shape, s);

		if (*shape == '|')
			*stack = v;
		else
			dims[n++] = v;
		if (*shape)
			shape++;
	}
	return n;
}

bool
shape_stacks(const char *shape)
{
	return strchr(shape, '|') != NULL;
}
