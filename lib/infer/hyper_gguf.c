/* The keys of GGUF: ARCHITECTURE.NAME. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "infer/hyper.h"

struct keys {
	struct hyper *h;
	const struct weights *w;
	struct err *e;
	bool failed;
	char key[256];
};

/* The key's value, or NULL. k->key is its full name. */
static const uint8_t *
find(struct keys *k, const char *name, struct value_type *type, size_t *n)
{
	snprintf(k->key, sizeof k->key, "%s.%s", k->h->arch->name, name);
	return weights_value(k->w, k->key, type, n);
}

static void
wrong(struct keys *k)
{
	if (!k->failed)
		err_set(k->e, ERR_CORRUPT, k->w->name, "key %s has a value that cannot be",
		        k->key);
	k->failed = true;
}

static bool
get_u64(struct keys *k, const char *name, uint64_t *v)
{
	struct value_type t;
	size_t n;
	const uint8_t *p = find(k, name, &t, &n);

	if (!p)
		return false;
	if (value_u64(t, p, n, v) < 0)
		wrong(k);
	return true;
}

static void
need_u64(struct keys *k, const char *name, uint64_t *v)
{
	if (get_u64(k, name, v) || k->failed)
		return;
	err_set(k->e, ERR_CORRUPT, k->w->name, "key %s is missing", k->key);
	k->failed = true;
}

static bool
get_float(struct keys *k, const char *name, double *v)
{
	struct value_type t;
	uint64_t bits, whole;
	uint32_t word;
	float single;
	size_t n;
	const uint8_t *p = find(k, name, &t, &n);

	if (!p)
		return false;
	if (t.depth == 0 && t.leaf == VALUE_F32 && n == 4) {
		word = le32(p);
		memcpy(&single, &word, sizeof single);
		*v = (double)single;
	} else if (t.depth == 0 && t.leaf == VALUE_F64 && n == 8) {
		bits = le64(p);
		memcpy(v, &bits, sizeof *v);
	} else if (value_u64(t, p, n, &whole) == 0) {
		*v = (double)whole;
	} else {
		wrong(k);
	}
	return true;
}

static void
get_single(struct keys *k, const char *name, float *v)
{
	double d;

	if (get_float(k, name, &d))
		*v = (float)d;
}

static bool
get_bool(struct keys *k, const char *name, bool *v)
{
	struct value_type t;
	size_t n;
	const uint8_t *p = find(k, name, &t, &n);

	if (!p)
		return false;
	if (t.depth == 0 && t.leaf == VALUE_BOOL && n == 1)
		*v = *p != 0;
	else
		wrong(k);
	return true;
}

/* Something that would change the result, and that is not done here. */
static void
refuse(struct keys *k, const char *name, const char *what)
{
	struct value_type t;
	size_t n;

	if (k->failed || !find(k, name, &t, &n))
		return;
	err_set(k->e, ERR_FORMAT, k->w->name, "%s (key %s) is not known here", what, k->key);
	k->failed = true;
}

/* Which blocks have a window: a period, or a truth of each block. */
static void
read_pattern(struct keys *k, uint64_t *period)
{
	struct hyper *h = k->h;
	struct value_type t;
	size_t n;
	const uint8_t *p = find(k, "attention.sliding_window_pattern", &t, &n);

	if (!p)
		return;
	if (t.depth == 0) {
		get_u64(k, "attention.sliding_window_pattern", period);
		return;
	}
	/* u32 type, u64 count, the truths */
	if (t.depth != 1 || t.leaf != VALUE_BOOL || n < 12 || le64(p + 4) != h->layers ||
	    n - 12 != h->layers || h->layers > k->w->plan->tensor_count) {
		wrong(k);
		return;
	}
	h->windowed = mem_array(h->layers, 1);
	if (!h->windowed) {
		k->failed = true;
		err_memory(k->e);
		return;
	}
	memcpy(h->windowed, p + 12, h->layers);
}

static void
read_scaling(struct keys *k)
{
	struct rope *r = &k->h->rope;
	double factor = 0, length = 1, ext;
	struct value_type t;
	const char *type = "linear";
	size_t n = 6, bytes;
	const uint8_t *p = find(k, "rope.scaling.type", &t, &bytes);

	if (p && !(type = value_string(t, p, bytes, &n))) {
		wrong(k);
		return;
	}
	if (!get_float(k, "rope.scaling.factor", &factor))
		get_float(k, "rope.scale_linear", &factor);
	get_float(k, "rope.scaling.attn_factor", &length);
	r->original = (double)k->h->context;
	get_float(k, "rope.scaling.original_context_length", &r->original);
	r->factor = factor == 0 ? 1 : factor;
	r->length = length;
	refuse(k, "rope.scaling.yarn_log_multiplier", "a multiplier of yarn");
	refuse(k, "rope.scaling.alpha", "dynamic rope scaling");
	if (n == 4 && memcmp(type, "none", n) == 0) {
		r->factor = 1;
	} else if (n == 4 && memcmp(type, "yarn", n) == 0) {
		r->yarn = true;
		if (get_float(k, "rope.scaling.yarn_ext_factor", &ext) && ext >= 0)
			r->extrapolation = ext;
		get_float(k, "rope.scaling.yarn_beta_fast", &r->fast);
		get_float(k, "rope.scaling.yarn_beta_slow", &r->slow);
		refuse(k, "rope.scaling.yarn_attn_factor", "another length of yarn");
		r->length *= rope_yarn_length(r->factor);
	} else if (!(n == 6 && memcmp(type, "linear", n) == 0) &&
	           !(n == 8 && memcmp(type, "longrope", n) == 0) && !k->failed) {
		k->failed = true;
		err_set(k->e, ERR_FORMAT, k->w->name,
		        "rope scaling %.*s is not known here", (int)(n < 40 ? n : 40), type);
		err_hint(k->e, "known are none, linear, yarn, longrope");
	}
}

/* LLaMA's windows of other forms, experts chosen in other ways, … */
static void
refuse_variants(struct keys *k)
{
	uint64_t n;

	refuse(k, "attention.key_length_mla", "latent attention");
	refuse(k, "attention.clamp_kqv", "clamping of queries and keys");
	refuse(k, "attention.max_alibi_bias", "a bias by distance");
	refuse(k, "residual_scale", "a scale of residuals");
	refuse(k, "embedding_scale", "a scale of embeddings");
	refuse(k, "logit_scale", "a scale of logits");
	refuse(k, "attention.scale", "another scale of attention");
	refuse(k, "expert_shared_count", "a number of shared experts");
	if (get_u64(k, "expert_gating_func", &n) && n > 1 && !k->failed) {
		k->failed = true;
		err_set(k->e, ERR_FORMAT, k->w->name,
		        "a choice of experts other than softmax is not known here");
	}
}

int
hyper_gguf(struct hyper *h, const struct weights *w, struct err *e)
{
	struct keys k = { .h = h, .w = w, .e = e };
	const char *name = model_text(w->plan, "general.architecture");
	uint64_t period, n;
	double base;

	if (!name)
		return err_set(e, ERR_CORRUPT, w->name, "general.architecture is no text");
	h->arch = arch_by_name(name);
	if (!h->arch)
		return hyper_unknown(w, name, e);
	h->halves = h->arch->flags & ARCH_HALVES;
	need_u64(&k, "block_count", &h->layers);
	need_u64(&k, "embedding_length", &h->width);
	need_u64(&k, "context_length", &h->context);
	need_u64(&k, "attention.head_count", &h->heads);
	h->kv_heads = h->heads;
	get_u64(&k, "attention.head_count_kv", &h->kv_heads);
	get_u64(&k, "feed_forward_length", &h->ff);
	get_u64(&k, "vocab_size", &h->vocabulary);
	h->head_k = h->heads ? h->width / h->heads : 0;
	if (!get_u64(&k, "attention.key_length", &h->head_k) && h->heads && !k.failed &&
	    h->width % h->heads != 0)
		return err_set(e, ERR_CORRUPT, w->name, "a width of %" PRIu64
		               " does not divide by %" PRIu64 " heads", h->width, h->heads);
	h->head_v = h->heads ? h->width / h->heads : 0;
	get_u64(&k, "attention.value_length", &h->head_v);
	get_single(&k, h->arch->flags & ARCH_LAYER_NORM ? "attention.layer_norm_epsilon"
	                                               : "attention.layer_norm_rms_epsilon",
	           &h->eps);
	if (!k.failed && !model_find(w->plan, k.key))
		return err_set(e, ERR_CORRUPT, w->name, "key %s is missing", k.key);
	get_u64(&k, "expert_count", &h->experts);
	get_u64(&k, "expert_used_count", &h->experts_used);
	get_u64(&k, "expert_feed_forward_length", &h->ff_expert);
	get_u64(&k, "expert_shared_feed_forward_length", &h->ff_shared);
	get_single(&k, "expert_weights_scale", &h->expert_scale);
	if (h->expert_scale == 0)
		h->expert_scale = 1;
	get_single(&k, "attn_logit_softcapping", &h->attn_cap);
	get_single(&k, "final_logit_softcapping", &h->logit_cap);
	h->act = h->arch->flags & ARCH_GELU ? ACT_GELU_HALF : ACT_SILU;
	h->sum_to_one = h->arch->flags & ARCH_SUM_TO_ONE;
	get_bool(&k, "expert_weights_norm", &h->sum_to_one);
	if (h->arch->flags & ARCH_PARALLEL && !get_bool(&k, "use_parallel_residual",
	                                                &h->parallel))
		h->parallel = true;
	h->rope.rot = h->head_k;
	if (get_u64(&k, "rope.dimension_count", &n))
		h->rope.rot = n;
	get_float(&k, "rope.freq_base", &h->rope.base);
	read_scaling(&k);
	refuse_variants(&k);
	h->window = h->arch->window;
	period = h->arch->period;
	get_u64(&k, "attention.sliding_window", &h->window);
	if (h->window && !(h->arch->flags & ARCH_NO_WINDOW))
		read_pattern(&k, &period);
	/* Windows are of gemma: its blocks with one are not scaled. */
	h->rope_window = h->rope;
	if (h->arch->period == 6) {
		h->rope_window.base = 10000;
		h->rope_window.factor = 1;
	}
	if (get_float(&k, "rope.freq_base_swa", &base))
		h->rope_window.base = base;
	return k.failed ? -1 : hyper_finish(h, w, period, e);
}
