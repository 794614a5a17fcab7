/* The config.json of a model folder, as the transformers library reads it. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arch/hyper.h"
#include "core/json.h"
#include "core/mem.h"

struct config {
	struct hyper *h;
	const struct weights *w;
	struct err *e;
	const json_t *o;
	bool failed;
};

static int
fail(struct config *c, enum err_code code, const char *what, const char *name)
{
	if (!c->failed)
		err_set(c->e, code, c->w->name, "config.json: %s %s", name, what);
	c->failed = true;
	return -1;
}

/* A member that is missing or null leaves *v unchanged. Some members have two names. */
static bool
get_u64(struct config *c, const char *name, const char *other, uint64_t *v)
{
	const json_t *j = json_object_get(c->o, name);

	if (!j || json_is_null(j))
		j = other ? json_object_get(c->o, other) : NULL;
	if (!j || json_is_null(j))
		return false;
	if (json_value_u64(j, v) < 0)
		fail(c, ERR_CORRUPT, "has an invalid value", name);
	return true;
}

static void
need_u64(struct config *c, const char *name, const char *other, uint64_t *v)
{
	if (!get_u64(c, name, other, v) && !c->failed)
		fail(c, ERR_CORRUPT, "is missing", name);
}

static bool
get_float(struct config *c, const json_t *o, const char *name, double *v)
{
	const json_t *j = json_object_get(o, name);

	if (!j || json_is_null(j))
		return false;
	if (!json_is_number(j))
		fail(c, ERR_CORRUPT, "has an invalid value", name);
	else
		*v = json_number_value(j);
	return true;
}

static bool
get_single(struct config *c, const char *name, float *v)
{
	double d = 0;

	if (!get_float(c, c->o, name, &d))
		return false;
	*v = (float)d;
	return true;
}

/* Whether a member is there and neither false nor null. */
static bool
is_set(const struct config *c, const char *name)
{
	const json_t *j = json_object_get(c->o, name);

	return j && !json_is_null(j) && !json_is_false(j);
}

static void
read_act(struct config *c)
{
	static const struct { const char *name; enum act act; } acts[] = {
		{ "silu", ACT_SILU }, { "swish", ACT_SILU }, { "gelu", ACT_GELU_ERF },
		{ "gelu_new", ACT_GELU_TANH }, { "gelu_pytorch_tanh", ACT_GELU_TANH },
		{ "gelu_fast", ACT_GELU_TANH }, { "relu2", ACT_RELU_SQUARED },
	};
	static const char *const members[] = { "hidden_activation", "hidden_act",
		"activation_function" };
	const char *name;
	size_t i;

	c->h->act = c->h->arch->flags & ARCH_GELU ? ACT_GELU_TANH :
	            c->h->arch->flags & ARCH_GATED ? ACT_SILU : ACT_RELU_SQUARED;
	for (i = 0; i < 3; i++)
		if (json_member_text(c->o, members[i], &name) == 0)
			break;
	/* In files of Gemma, "gelu" has always meant the tanh form. */
	if (i == 3 || (c->h->arch->flags & ARCH_PLUS_ONE))
		return;
	for (i = 0; i < sizeof acts / sizeof *acts; i++)
		if (strcmp(acts[i].name, name) == 0) {
			c->h->act = acts[i].act;
			return;
		}
	fail(c, ERR_FORMAT, "is an unsupported activation", name);
}

/* A list of rot/2 divisors, or NULL. */
static float *
read_factors(struct config *c, const json_t *o, const char *name)
{
	const json_t *list = json_object_get(o, name);
	size_t i, n = c->h->rope.rot / 2;
	float *f;

	if (!json_is_array(list) || json_array_size(list) != n) {
		fail(c, ERR_CORRUPT, "is not a list of one factor for each pair of rotary dimensions",
		     name);
		return NULL;
	}
	f = mem_array(n, sizeof *f);
	if (!f) {
		c->failed = true;
		err_memory(c->e);
		return NULL;
	}
	for (i = 0; i < n; i++) {
		f[i] = (float)json_number_value(json_array_get(list, i));
		if (!(f[i] > 0) || !isfinite(f[i]))
			fail(c, ERR_CORRUPT, "holds an invalid factor", name);
	}
	return f;
}

static void
read_longrope(struct config *c, const json_t *o)
{
	struct hyper *h = c->h;
	struct rope *r = &h->rope;
	double factor;

	h->factors = read_factors(c, o, "short_factor");
	h->factors_long = read_factors(c, o, "long_factor");
	r->factors = h->factors;
	factor = (double)h->context / r->original;
	get_float(c, o, "factor", &factor);
	r->length = factor > 1 ? sqrt(1 + log(factor) / log(r->original)) : 1;
	get_float(c, o, "attention_factor", &r->length);
}

static void
read_llama3(struct config *c, const json_t *o)
{
	struct rope *r = &c->h->rope;
	double low = 1, high = 4, factor = 8;

	get_float(c, o, "factor", &factor);
	get_float(c, o, "low_freq_factor", &low);
	get_float(c, o, "high_freq_factor", &high);
	if (!(factor > 0) || !(high > low)) {
		fail(c, ERR_CORRUPT, "is invalid", "rope_scaling");
		return;
	}
	c->h->factors = mem_array(r->rot / 2, sizeof *c->h->factors);
	if (!c->h->factors) {
		c->failed = true;
		err_memory(c->e);
		return;
	}
	rope_llama3(r, factor, low, high, r->original, c->h->factors);
	r->factors = c->h->factors;
}

static void
read_yarn(struct config *c, const json_t *o)
{
	struct rope *r = &c->h->rope;

	r->yarn = true;
	get_float(c, o, "factor", &r->factor);
	get_float(c, o, "beta_fast", &r->fast);
	get_float(c, o, "beta_slow", &r->slow);
	r->length = rope_yarn_length(r->factor);
	get_float(c, o, "attention_factor", &r->length);
	if (json_object_get(o, "mscale") || json_object_get(o, "mscale_all_dim") ||
	    json_is_false(json_object_get(o, "truncate")))
		fail(c, ERR_FORMAT, "has an unsupported form of yarn", "rope_scaling");
}

static void
read_scaling(struct config *c)
{
	const json_t *o = json_object_get(c->o, "rope_scaling");
	struct rope *r = &c->h->rope;
	const char *type = "default";
	uint64_t original = c->h->context;

	if (!o || json_is_null(o))
		return;
	if (json_member_text(o, "rope_type", &type) < 0)
		json_member_text(o, "type", &type);
	get_u64(c, "original_max_position_embeddings", NULL, &original);
	r->original = (double)original;
	get_float(c, o, "original_max_position_embeddings", &r->original);
	if (r->rot == 0 || r->rot > 65536 || !(r->original > 1))
		fail(c, ERR_CORRUPT, "is invalid", "rope_scaling");
	else if (strcmp(type, "linear") == 0)
		get_float(c, o, "factor", &r->factor);
	else if (strcmp(type, "llama3") == 0)
		read_llama3(c, o);
	else if (strcmp(type, "yarn") == 0)
		read_yarn(c, o);
	else if (strcmp(type, "longrope") == 0 || strcmp(type, "su") == 0)
		read_longrope(c, o);
	else if (strcmp(type, "default") != 0)
		fail(c, ERR_FORMAT, "is an unsupported rope scaling", type);
}

/* The window, and which blocks have it. */
static void
read_window(struct config *c, uint64_t *period)
{
	const json_t *list = json_object_get(c->o, "layer_types");
	struct hyper *h = c->h;
	size_t i;

	h->window = h->arch->window;
	*period = h->arch->period;
	if (json_is_false(json_object_get(c->o, "use_sliding_window"))) {
		h->window = 0;
		return;
	}
	if (is_set(c, "use_sliding_window"))
		fail(c, ERR_FORMAT, "is not supported", "use_sliding_window");
	get_u64(c, "sliding_window", NULL, &h->window);
	get_u64(c, "sliding_window_pattern", "_sliding_window_pattern", period);
	if (!h->window || (h->arch->flags & ARCH_NO_WINDOW) || !json_is_array(list))
		return;
	if (json_array_size(list) != h->layers) {
		fail(c, ERR_CORRUPT, "does not have one member for each block", "layer_types");
		return;
	}
	h->windowed = mem_array(h->layers, 1);
	for (i = 0; h->windowed && i < h->layers; i++) {
		const char *type = json_string_value(json_array_get(list, i));

		h->windowed[i] = type && strcmp(type, "sliding_attention") == 0;
		if (!type || (!h->windowed[i] && strcmp(type, "full_attention") != 0))
			fail(c, ERR_FORMAT, "has an unsupported type", "layer_types");
	}
}

static void
read_attention(struct config *c)
{
	struct hyper *h = c->h;
	double part = 1, scalar;

	need_u64(c, "num_attention_heads", "n_head", &h->heads);
	h->kv_heads = h->heads;
	get_u64(c, "num_key_value_heads", NULL, &h->kv_heads);
	if (!get_u64(c, "head_dim", NULL, &h->head_k) && h->heads) {
		h->head_k = h->width / h->heads;
		if (h->width % h->heads != 0)
			fail(c, ERR_CORRUPT, "does not divide the hidden size", "num_attention_heads");
	}
	h->head_v = h->head_k;
	if (!get_float(c, c->o, "partial_rotary_factor", &part))
		get_float(c, c->o, "rotary_pct", &part);
	h->rope.rot = part >= 0 && part <= 1 ? (uint64_t)((double)h->head_k * part) : 0;
	if (!get_float(c, c->o, "rope_theta", &h->rope.base))
		get_float(c, c->o, "rotary_emb_base", &h->rope.base);
	if (get_float(c, c->o, "query_pre_attn_scalar", &scalar)) {
		h->score_scale = (float)(1 / sqrt(scalar));
		if (!(h->score_scale > 0))
			fail(c, ERR_CORRUPT, "has an invalid value",
			     "query_pre_attn_scalar");
	}
	get_single(c, "attn_logit_softcapping", &h->attn_cap);
	get_single(c, "final_logit_softcapping", &h->logit_cap);
	if (json_is_false(json_object_get(c->o, "scale_attn_weights")) ||
	    is_set(c, "scale_attn_by_inverse_layer_idx"))
		fail(c, ERR_FORMAT, "is not supported", "another scale of attention");
}

static void
read_experts(struct config *c)
{
	struct hyper *h = c->h;
	const json_t *dense = json_object_get(c->o, "mlp_only_layers");
	uint64_t step = 1;

	if (!get_u64(c, "num_local_experts", "num_experts", &h->experts))
		return;
	get_u64(c, "num_experts_per_tok", NULL, &h->experts_used);
	get_u64(c, "moe_intermediate_size", NULL, &h->ff_expert);
	get_u64(c, "shared_expert_intermediate_size", NULL, &h->ff_shared);
	get_u64(c, "decoder_sparse_step", NULL, &step);
	if (step != 1 || json_array_size(dense) > 0)
		fail(c, ERR_FORMAT, "is not supported", "blocks without experts");
	if (json_object_get(c->o, "norm_topk_prob"))
		h->sum_to_one = is_set(c, "norm_topk_prob");
}

/* Factors of embeddings, residuals, scores and logits. */
static void
read_multipliers(struct config *c)
{
	struct hyper *h = c->h;

	if (h->arch->flags & ARCH_LOGIT_SCALE)
		get_single(c, "logit_scale", &h->logit_scale);
	if (!(h->arch->flags & ARCH_MULTIPLIERS))
		return;
	get_single(c, "embedding_multiplier", &h->embed_scale);
	get_single(c, "residual_multiplier", &h->residual_scale);
	get_single(c, "attention_multiplier", &h->score_scale);
	get_single(c, "logits_scaling", &h->logit_scale);
	h->logit_scale = 1 / h->logit_scale;
}

/* Blocks without rotary positions must be every 4th, which is what GGUF can say. */
static void
read_no_rope(struct config *c)
{
	const json_t *list = json_object_get(c->o, "no_rope_layers");
	uint64_t step = 4;
	size_t i;

	get_u64(c, "no_rope_layer_interval", NULL, &step);
	for (i = 0; i < json_array_size(list); i++)
		if ((json_integer_value(json_array_get(list, i)) == 0) != ((i + 1) % 4 == 0))
			step = 0;
	if (step != 4)
		fail(c, ERR_FORMAT, "is not every 4th block, as it must be", "no_rope_layers");
}

static int
read_all(struct config *c, uint64_t *period)
{
	struct hyper *h = c->h;

	need_u64(c, "num_hidden_layers", "n_layer", &h->layers);
	need_u64(c, "hidden_size", "n_embd", &h->width);
	need_u64(c, "max_position_embeddings", "n_positions", &h->context);
	get_u64(c, "intermediate_size", "n_inner", &h->ff);
	get_u64(c, "vocab_size", NULL, &h->vocabulary);
	h->eps = -1;
	if (!get_single(c, "rms_norm_eps", &h->eps) && !get_single(c, "norm_eps", &h->eps) &&
	    !get_single(c, "norm_epsilon", &h->eps) &&
	    !get_single(c, "layer_norm_epsilon", &h->eps) &&
	    !get_single(c, "layer_norm_eps", &h->eps))
		fail(c, ERR_CORRUPT, "is missing", "the epsilon of norms");
	h->parallel = (h->arch->flags & ARCH_PARALLEL) &&
	              !json_is_false(json_object_get(c->o, "use_parallel_residual"));
	h->sum_to_one = h->arch->flags & ARCH_SUM_TO_ONE;
	h->packed = is_set(c, "quantization_config");
	read_act(c);
	read_attention(c);
	read_multipliers(c);
	if (h->arch->flags & ARCH_SKIP_ROPE)
		read_no_rope(c);
	read_experts(c);
	if (!c->failed && !(h->arch->flags & ARCH_POSITIONS))
		read_scaling(c);
	if (!c->failed && h->layers <= c->w->plan->tensor_count)
		read_window(c, period);
	h->rope_window = h->rope;
	if (get_float(c, c->o, "rope_local_base_freq", &h->rope_window.base))
		h->rope_window.factor = 1;
	return c->failed ? -1 : 0;
}

int
hyper_config(struct hyper *h, const struct weights *w, const json_t *o, struct err *e)
{
	struct config c = { .h = h, .w = w, .e = e, .o = o };
	uint64_t period = 0;
	const char *type;

	if (json_member_text(o, "model_type", &type) < 0)
		return err_set(e, ERR_CORRUPT, w->name, "config.json: model_type is missing");
	h->arch = arch_by_folder(type);
	if (hyper_runs(w, type, h->arch, e) < 0)
		return -1;
	h->halves = h->halves && !(h->arch->flags & ARCH_PAIRS);
	return read_all(&c, &period) < 0 ? -1 : hyper_finish(h, w, period, e);
}

int
hyper_folder(struct hyper *h, const struct weights *w, struct err *e)
{
	size_t n;
	const uint8_t *text = weights_file(w, "config.json", &n);
	json_t *o = json_parse(text, n, ERR_CORRUPT, "config.json", e);
	int r = -1;

	h->folder = h->halves = true;
	if (o)
		r = hyper_config(h, w, o, e);
	json_decref(o);
	return r;
}
