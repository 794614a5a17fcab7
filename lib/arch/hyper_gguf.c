/* Hyper-parameters from the keys of GGUF, ARCHITECTURE.NAME. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arch/hyper.h"
#include "arch/neutral.h"
#include "core/le.h"
#include "core/mem.h"

struct keys {
	struct hyper *h;
	const struct weights *w;
	struct err *e;
	bool failed;
	char key[256];
};

static void
wrong(struct keys *k)
{
	if (!k->failed)
		err_set(k->e, ERR_CORRUPT, k->w->name, "key %s has an invalid value",
		        k->key);
	k->failed = true;
}

/* The value of a key, or NULL. Its full name is left in k->key. */
static const uint8_t *
find(struct keys *k, const char *name, struct value_type *type, size_t *n)
{
	const uint8_t *p;

	snprintf(k->key, sizeof k->key, "%s.%s", k->h->arch->name, name);
	p = weights_value(k->w, k->key, type, n);
	if (!p && model_find(k->w->plan, k->key))
		wrong(k); /* it was too long to be loaded */
	return p;
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

/* A number that llama.cpp keeps for each block: the key has one value, or an array with a value
 * for each block; these must all be equal. */
static bool
get_each(struct keys *k, const char *name, uint64_t *v)
{
	struct value_type t, one;
	const uint8_t *p;
	size_t n, size, i;
	uint64_t item;

	p = find(k, name, &t, &n);
	if (!p || t.depth != 1)
		return get_u64(k, name, v);
	one = (struct value_type){ 0, t.leaf };
	size = value_leaf_bytes(t.leaf);
	if (size == 0 || n < 12 || k->h->layers == 0 || le64(p + 4) != k->h->layers ||
	    (n - 12) / size != k->h->layers) {
		wrong(k);
		return true;
	}
	for (i = 0, p += 12; !k->failed && i < k->h->layers; i++, p += size) {
		if (value_u64(one, p, size, &item) < 0) {
			wrong(k);
		} else if (i > 0 && item != *v) {
			err_set(k->e, ERR_FORMAT, k->w->name,
			        "blocks that differ (key %s) are not supported", k->key);
			k->failed = true;
		}
		*v = item;
	}
	return true;
}

static bool
get_float(struct keys *k, const char *name, double *v)
{
	struct value_type t;
	uint64_t whole;
	size_t n;
	const uint8_t *p = find(k, name, &t, &n);

	if (!p)
		return false;
	if (t.depth == 0 && t.leaf == VALUE_F32 && n == 4) {
		*v = (double)le_f32(p);
	} else if (t.depth == 0 && t.leaf == VALUE_F64 && n == 8) {
		*v = le_f64(p);
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

/* Refuse a key whose value is not neutral: it would change the result in a way that is not
 * supported. */
static void
refuse(struct keys *k, const struct neutral *row)
{
	struct value_type t;
	size_t n;
	const uint8_t *p = find(k, row->key, &t, &n);
	int holds = p ? neutral_holds(row, t, p, n) : 1;

	if (holds < 0)
		wrong(k);
	if (k->failed || holds > 0)
		return;
	err_set(k->e, ERR_FORMAT, k->w->name, "%s (key %s) is not supported", row->what, k->key);
	k->failed = true;
}

/* Which blocks have a window: a period, or a bool for each block. */
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
	/* u32 type, u64 count, the bools */
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
	double factor = 0, length = 1, ext = -1;
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
	get_float(k, "rope.scaling.yarn_ext_factor", &ext);
	if (n == 4 && memcmp(type, "none", n) == 0) {
		r->factor = 1;
	} else if (n == 4 && memcmp(type, "yarn", n) == 0) {
		r->yarn = true;
		if (ext >= 0)
			r->extrapolation = ext;
		get_float(k, "rope.scaling.yarn_beta_fast", &r->fast);
		get_float(k, "rope.scaling.yarn_beta_slow", &r->slow);
		r->length *= rope_yarn_length(r->factor);
	} else if (!(n == 6 && memcmp(type, "linear", n) == 0) &&
	           !(n == 8 && memcmp(type, "longrope", n) == 0) && !k->failed) {
		k->failed = true;
		err_set(k->e, ERR_FORMAT, k->w->name,
		        "rope scaling %.*s is not supported", (int)(n < 40 ? n : 40), type);
		err_hint(k->e, "supported: none, linear, yarn, longrope");
	}
	if (!r->yarn)
		refuse(k, &(struct neutral){ "rope.scaling.yarn_ext_factor", NEUTRAL_REAL, -1, 0,
		                             "yarn without its name" });
}

/* The soft caps of scores and logits. */
static void
read_caps(struct keys *k)
{
	struct hyper *h = k->h;
	uint32_t flags = h->arch->flags;

	if (flags & ARCH_CAP_SCORES) {
		h->attn_cap = 50;
		get_single(k, "attn_logit_softcapping", &h->attn_cap);
	} else {
		refuse(k, &(struct neutral){ "attn_logit_softcapping", NEUTRAL_REAL, 50, 0,
		                             "a cap of scores" });
	}
	if (flags & (ARCH_CAP_LOGITS | ARCH_MAY_CAP)) {
		h->logit_cap = flags & ARCH_CAP_LOGITS ? 30 : 0;
		get_single(k, "final_logit_softcapping", &h->logit_cap);
	} else {
		refuse(k, &(struct neutral){ "final_logit_softcapping", NEUTRAL_REAL, 30, 0,
		                             "a cap of logits" });
	}
}

/* Experts. llama.cpp saves a false expert_weights_norm for every model, so it means nothing. */
static void
read_experts(struct keys *k)
{
	struct hyper *h = k->h;
	bool norm = false;

	get_u64(k, "expert_count", &h->experts);
	get_u64(k, "expert_used_count", &h->experts_used);
	get_u64(k, "expert_feed_forward_length", &h->ff_expert);
	get_u64(k, "expert_shared_feed_forward_length", &h->ff_shared);
	get_single(k, "expert_weights_scale", &h->expert_scale);
	if (h->expert_scale == 0)
		h->expert_scale = 1;
	get_bool(k, "expert_weights_norm", &norm);
	h->sum_to_one = norm || h->arch->flags & ARCH_SUM_TO_ONE;
}

/* Windows, and the rotary positions of blocks that have one. */
static uint64_t
read_windows(struct keys *k)
{
	struct hyper *h = k->h;
	uint64_t period = h->arch->period;
	double whole_k = (double)h->head_k, whole_v = (double)h->head_v;

	h->window = h->arch->window;
	get_u64(k, "attention.sliding_window", &h->window);
	if (h->window && !(h->arch->flags & ARCH_NO_WINDOW))
		read_pattern(k, &period);
	h->rope_window = h->rope;
	if (h->arch->flags & ARCH_LOCAL_ROPE) {
		h->rope_window.base = 10000;
		h->rope_window.factor = 1;
	}
	get_float(k, "rope.freq_base_swa", &h->rope_window.base);
	get_u64(k, "rope.dimension_count_swa", &h->rope_window.rot);
	refuse(k, &(struct neutral){ "attention.key_length_swa", NEUTRAL_WHOLE, whole_k, 0,
	                             "heads of another width in blocks with a window" });
	refuse(k, &(struct neutral){ "attention.value_length_swa", NEUTRAL_WHOLE, whole_v, 0,
	                             "heads of another width in blocks with a window" });
	return period;
}

/* Factors of embeddings, residuals and logits. llama.cpp saves 0 for those that it does not
 * know. */
static void
read_multipliers(struct keys *k)
{
	struct hyper *h = k->h;
	float *factors[] = { &h->embed_scale, &h->residual_scale, &h->logit_scale };
	size_t i;

	get_single(k, "embedding_scale", &h->embed_scale);
	get_single(k, "residual_scale", &h->residual_scale);
	get_single(k, "logit_scale", &h->logit_scale);
	for (i = 0; i < 3; i++)
		if (*factors[i] == 0)
			*factors[i] = 1;
	if (h->arch->flags & ARCH_MULTIPLIERS)
		h->logit_scale = 1 / h->logit_scale;
}

/* Whether the architecture has this key, although others do not. */
static bool
has_key(const struct keys *k, const char *name)
{
	uint32_t flags = k->h->arch->flags;

	if (strcmp(name, "logit_scale") == 0)
		return flags & (ARCH_MULTIPLIERS | ARCH_LOGIT_SCALE);
	return (flags & ARCH_MULTIPLIERS) && (strcmp(name, "embedding_scale") == 0 ||
	                                      strcmp(name, "residual_scale") == 0);
}

/* Refuse all other keys that would make another model. */
static void
refuse_variants(struct keys *k)
{
	const struct neutral *row;
	size_t i;

	for (i = 0; !k->failed && (row = neutral_row(i)); i++)
		if (!has_key(k, row->key))
			refuse(k, row);
	if (!(k->h->arch->flags & (ARCH_PARALLEL | ARCH_ONE_NORM)))
		refuse(k, &(struct neutral){ "use_parallel_residual", NEUTRAL_TRUTH, 0, 0,
		                             "parallel residuals" });
	get_single(k, "attention.scale", &k->h->score_scale);
}

int
hyper_gguf(struct hyper *h, const struct weights *w, struct err *e)
{
	struct keys k = { .h = h, .w = w, .e = e };
	const char *name = model_text(w->plan, "general.architecture");
	uint64_t period, n;

	if (!name)
		return err_set(e, ERR_CORRUPT, w->name, "general.architecture is not a string");
	h->arch = arch_by_name(name);
	if (hyper_runs(w, name, h->arch, e) < 0)
		return -1;
	h->halves = h->arch->flags & ARCH_HALVES;
	need_u64(&k, "block_count", &h->layers);
	need_u64(&k, "embedding_length", &h->width);
	need_u64(&k, "context_length", &h->context);
	if (!get_each(&k, "attention.head_count", &h->heads))
		need_u64(&k, "attention.head_count", &h->heads);
	h->kv_heads = h->heads;
	get_each(&k, "attention.head_count_kv", &h->kv_heads);
	get_each(&k, "feed_forward_length", &h->ff);
	get_u64(&k, "vocab_size", &h->vocabulary);
	h->head_k = h->heads ? h->width / h->heads : 0;
	if (!get_u64(&k, "attention.key_length", &h->head_k) && h->heads && !k.failed &&
	    h->width % h->heads != 0)
		return err_set(e, ERR_CORRUPT, w->name, "a hidden size of %" PRIu64
		               " does not divide by %" PRIu64 " heads", h->width, h->heads);
	h->head_v = h->heads ? h->width / h->heads : 0;
	get_u64(&k, "attention.value_length", &h->head_v);
	get_single(&k, h->arch->flags & ARCH_LAYER_NORM ? "attention.layer_norm_epsilon"
	                                               : "attention.layer_norm_rms_epsilon",
	           &h->eps);
	if (!k.failed && !model_find(w->plan, k.key))
		return err_set(e, ERR_CORRUPT, w->name, "key %s is missing", k.key);
	read_experts(&k);
	read_caps(&k);
	h->act = h->arch->flags & ARCH_GELU ? ACT_GELU_HALF :
	         h->arch->flags & ARCH_GATED ? ACT_SILU : ACT_RELU_SQUARED;
	if (h->arch->flags & ARCH_PARALLEL && !get_bool(&k, "use_parallel_residual",
	                                                &h->parallel))
		h->parallel = true;
	h->rope.rot = h->head_k;
	if (get_u64(&k, "rope.dimension_count", &n))
		h->rope.rot = n;
	get_float(&k, "rope.freq_base", &h->rope.base);
	read_scaling(&k);
	if (h->arch->flags & (ARCH_MULTIPLIERS | ARCH_LOGIT_SCALE))
		read_multipliers(&k);
	period = read_windows(&k);
	refuse_variants(&k);
	return k.failed ? -1 : hyper_finish(h, w, period, e);
}
