/* Adapters in GGUF, as llama.cpp reads them. */
#include <math.h>
#include <string.h>

#include "core/le.h"
#include "lora/lora_parts.h"

/* alpha; 0 without the key, and the scale is then 1. */
static int
read_alpha(const struct lora *l, float *alpha, struct err *e)
{
	struct value_type type;
	size_t n;
	const uint8_t *p = weights_value(l->w, "adapter.lora.alpha", &type, &n);

	*alpha = 0;
	if (!p)
		return 0;
	if (type.depth != 0 || type.leaf != VALUE_F32)
		return err_set(e, ERR_CORRUPT, l->w->name, "adapter.lora.alpha is not a float32");
	*alpha = le_f32(p);
	return isfinite(*alpha) ? 0
		: err_set(e, ERR_CORRUPT, l->w->name, "adapter.lora.alpha is not finite");
}

static int
take(struct lora *l, size_t i, struct err *e)
{
	const char *name = tensor_name(l->w->plan->tensors[i]);
	size_t n = strlen(name);
	struct lora_part *p;

	if (lora_cut(name, &n, ".lora_a")) {
		if (!(p = lora_part(l, name, n, "", e)))
			return -1;
		p->a = i;
		p->embedding = p->a_turned = strcmp(p->name, "token_embd.weight") == 0;
		return 0;
	}
	if (lora_cut(name, &n, ".lora_b")) {
		if (!(p = lora_part(l, name, n, "", e)))
			return -1;
		p->b = i;
		return 0;
	}
	if (tensor_ndim(l->w->plan->tensors[i]) == 1)
		return lora_add_whole(l, name, n, "", i, e);
	return err_set(e, ERR_FORMAT, name, "is not a tensor of an adapter");
}

int
lora_read_gguf(struct lora *l, const size_t *by_name, float scale, struct err *e)
{
	const char *kind = model_text(l->w->plan, "adapter.type");
	float alpha;
	size_t i;

	if (!kind || strcmp(kind, "lora") != 0)
		return err_set(e, ERR_FORMAT, l->w->name, "is an adapter of another kind: %s",
		               kind ? kind : "its adapter.type is not text");
	l->arch = model_text(l->w->plan, "general.architecture");
	if (read_alpha(l, &alpha, e) < 0)
		return -1;
	for (i = 0; i < l->w->plan->tensor_count; i++)
		if (take(l, by_name[i], e) < 0)
			return -1;
	for (i = 0; i < l->part_count; i++) {
		const struct lora_part *p = &l->parts[i];
		uint64_t rank = p->b == SIZE_MAX ? 1
			: tensor_row(l->w->plan->tensors[p->b]);

		l->parts[i].scale = alpha == 0 ? scale : scale * alpha / (float)rank;
	}
	return 0;
}
