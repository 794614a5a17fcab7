#include "arch/hyper.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/mem.h"

/* ERR_FORMAT: the architecture is not supported; the hint lists those that are. -1. */
static int
unknown(const struct weights *w, const char *name, struct err *e)
{
	struct buf list = { 0 };
	const struct arch *a;
	size_t i;

	for (i = 0; (a = arch_row(i)); i++)
		if (!a->missing)
			buf_printf(&list, "%s%s", i ? ", " : "",
			           arch_by_name(a->name) == a ? a->name : a->folder);
	err_set(e, ERR_FORMAT, w->name, "architecture %s is not supported", name);
	if (buf_string(&list))
		err_hint(e, "supported: %s", buf_string(&list));
	buf_free(&list);
	return -1;
}

int
hyper_runs(const struct weights *w, const char *name, const struct arch *a, struct err *e)
{
	if (!a)
		return unknown(w, name, e);
	if (a->missing)
		return err_set(e, ERR_FORMAT, w->name, "architecture %s is not supported: it needs %s",
		               name, a->missing);
	return 0;
}

int
hyper_read(struct hyper *h, const struct weights *w, struct err *e)
{
	size_t n;

	*h = (struct hyper){
		.expert_scale = 1, .embed_scale = 1, .residual_scale = 1, .logit_scale = 1,
		.rope = { .base = 10000, .factor = 1, .length = 1, .extrapolation = 1,
		          .fast = 32, .slow = 1 },
	};
	if (model_find(w->plan, "general.architecture"))
		return hyper_gguf(h, w, e);
	if (weights_file(w, "config.json", &n))
		return hyper_folder(h, w, e);
	if (model_find(w->plan, "architecture") && model_find(w->plan, "hidden_size"))
		return hyper_apr(h, w, e);
	err_set(e, ERR_FORMAT, w->name, "does not say which architecture it has");
	return err_hint(e, "the key general.architecture, or config.json beside the tensors, "
	                "is needed");
}

void
hyper_free(struct hyper *h)
{
	free(h->windowed);
	free(h->factors);
	free(h->factors_long);
	h->windowed = NULL;
	h->factors = h->factors_long = NULL;
}

/* A count is 0 or too large. */
static int
refuse(const struct weights *w, struct err *e, const char *what, uint64_t n)
{
	return err_set(e, ERR_CORRUPT, w->name, "%s: %" PRIu64, what, n);
}

static int
prove_counts(const struct hyper *h, const struct weights *w, struct err *e)
{
	if (h->layers == 0 || h->layers > w->plan->tensor_count)
		return refuse(w, e, "the number of blocks is invalid", h->layers);
	if (h->width == 0 || h->width > UINT32_MAX)
		return refuse(w, e, "the hidden size is invalid", h->width);
	if (h->context == 0 || h->context > UINT32_MAX)
		return refuse(w, e, "the context length is invalid", h->context);
	if (h->heads == 0 || h->heads > h->width)
		return refuse(w, e, "the number of heads is invalid", h->heads);
	if (h->kv_heads == 0 || h->heads % h->kv_heads != 0)
		return err_set(e, ERR_CORRUPT, w->name, "%" PRIu64 " heads do not share %"
		               PRIu64 " keys and values evenly", h->heads, h->kv_heads);
	if (h->head_k == 0 || h->head_k > HYPER_HEAD)
		return refuse(w, e, "the width of a head is invalid", h->head_k);
	if (h->head_v == 0 || h->head_v > HYPER_HEAD)
		return refuse(w, e, "the width of a head is invalid", h->head_v);
	if (h->experts > w->plan->tensor_count * 1024 || h->experts > UINT16_MAX ||
	    h->experts_used > h->experts || (h->experts && !h->experts_used))
		return err_set(e, ERR_CORRUPT, w->name, "of %" PRIu64 " experts, %" PRIu64
		               " cannot be used", h->experts, h->experts_used);
	if ((h->arch->flags & ARCH_ONLY_EXPERTS) && h->experts == 0)
		return err_set(e, ERR_CORRUPT, w->name, "has no experts, which its architecture needs");
	if (h->experts && !(h->arch->flags & ARCH_EXPERTS))
		return err_set(e, ERR_FORMAT, w->name, "has experts, which its architecture "
		               "does not have here");
	return 0;
}

static bool
positive(double x)
{
	return isfinite(x) && x > 0;
}

static int
prove_rope(const struct hyper *h, const struct rope *r, const struct weights *w,
           struct err *e)
{
	if (!h->rotary)
		return 0;
	if (r->rot == 0 || r->rot % 2 != 0 || r->rot > h->head_k)
		return refuse(w, e, "the number of rotary dimensions is invalid", r->rot);
	if (!positive(r->base) || r->base == 1 || !positive(r->factor) ||
	    !positive(r->length) || !positive(r->fast) || !positive(r->slow) ||
	    !isfinite(r->extrapolation) || (r->yarn && !positive(r->original)))
		return err_set(e, ERR_CORRUPT, w->name,
		               "a parameter of its rotary positions is invalid");
	return 0;
}

static int
prove_floats(const struct hyper *h, const struct weights *w, struct err *e)
{
	if (!positive(h->score_scale) || !isfinite(h->eps) || h->eps < 0 ||
	    !isfinite(h->attn_cap) || h->attn_cap < 0 || !isfinite(h->logit_cap) ||
	    h->logit_cap < 0 || !positive(h->expert_scale) || !positive(h->embed_scale) ||
	    !positive(h->residual_scale) || !positive(h->logit_scale))
		return err_set(e, ERR_CORRUPT, w->name,
		               "a scale, cap or epsilon is negative or not a number");
	return 0;
}

int
hyper_finish(struct hyper *h, const struct weights *w, uint64_t period, struct err *e)
{
	const struct arch *a = h->arch;
	uint64_t i;

	h->rotary = !(a->flags & ARCH_POSITIONS);
	h->layer_norm = (a->flags & ARCH_LAYER_NORM) != 0;
	h->window_ignored = (a->flags & ARCH_NO_WINDOW) != 0;
	if (a->flags & ARCH_EMBED_SCALE)
		h->embed_scale = sqrtf((float)h->width);
	h->post_only = (a->flags & ARCH_POST_ONLY) != 0;
	h->skip_rope = a->flags & ARCH_SKIP_ROPE ? 4 : 0;
	if (h->post_only) { /* only blocks without a window scale positions */
		h->rope_window.factor = h->rope_window.length = 1;
		h->rope_window.yarn = false;
	}
	if (h->score_scale == 0 && h->head_k && h->heads)
		h->score_scale = (float)(1 / sqrt((double)(arch_scales_wide(a, h->layers)
			? h->width / h->heads : h->head_k)));
	if (prove_counts(h, w, e) < 0 || prove_rope(h, &h->rope, w, e) < 0 ||
	    prove_rope(h, &h->rope_window, w, e) < 0 || prove_floats(h, w, e) < 0)
		return -1;
	if (h->windowed)
		return 0;
	h->windowed = mem_array(h->layers, 1);
	if (!h->windowed)
		return err_memory(e);
	for (i = 0; h->window && !h->window_ignored && i < h->layers; i++)
		h->windowed[i] = period == 0 || i % period != period - 1;
	return 0;
}
