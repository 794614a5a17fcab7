#include "report/memory.h"

#include <stdio.h>
#include <string.h>

#include "arch/hyper.h"
#include "arch/subject.h"
#include "core/num.h"
#include "infer/ops.h"

static int
add_cache(json_t *o, const struct hyper *h, uint64_t context, uint64_t tensors, struct err *e)
{
	static const char *const names[] = { [CACHE_F16] = "cache_bytes",
		[CACHE_F32] = "cache_bytes_f32", [CACHE_Q8_0] = "cache_bytes_q8_0" };
	struct cache_shape shape = { h->layers, h->kv_heads, context, h->head_k, h->head_v,
		CACHE_F16 };
	struct cache_size size;
	uint64_t all = tensors;
	int r = json_object_set_new(o, "context", json_from_u64(context)), i;

	for (i = 0; i < 3; i++) {
		shape.type = (enum cache_type)i;
		if (cache_size(&shape, &size) < 0 ||
		    (i == CACHE_F16 && num_add(tensors, size.bytes, &all) < 0))
			return err_set(e, ERR_MEMORY, NULL, "the cache is larger than any memory");
		r |= json_object_set_new(o, names[i], json_from_u64(size.bytes));
	}
	r |= json_object_set_new(o, "memory_bytes", json_from_u64(all));
	return r < 0 ? err_memory(e) : 0;
}

int
memory_add(json_t *o, struct source *s, uint64_t context, struct err *e)
{
	struct subject subject = { .plan = NULL };
	struct hyper h = { .layers = 0 };
	struct item item;
	bool more;
	int r = subject_read(&subject, s, NULL, &item, &more, e);

	if (r == 0)
		r = hyper_read(&h, &subject.w, e);
	if (r == 0)
		r = add_cache(o, &h, context ? context : h.context,
		              model_tensor_bytes(s->plan), e);
	hyper_free(&h);
	subject_close(&subject);
	return r;
}

/* ---- types ---- */

#define TYPES 64

static const struct dtype *
main_type(const struct model *m)
{
	struct { const struct dtype *type; uint64_t bytes; } of[TYPES];
	size_t i, k, n = 0, best = 0;

	for (i = 0; i < m->tensor_count; i++) {
		const struct dtype *t = tensor_type(m->tensors[i]);

		for (k = 0; k < n && of[k].type != t; k++)
			;
		if (k == TYPES)
			continue;
		if (k == n) {
			of[n].type = t;
			of[n++].bytes = 0;
		}
		of[k].bytes += tensor_bytes(m->tensors[i]);
	}
	for (k = 1; k < n; k++)
		if (of[k].bytes > of[best].bytes)
			best = k;
	return n ? of[best].type : NULL;
}

int
memory_types(json_t *o, const struct model *m, struct err *e)
{
	const struct meta *k = model_find(m, "apr.quantization.original_types");
	const struct dtype *t = main_type(m);
	int r = json_object_set_new(o, "type", t ? json_string(t->name) : json_null());

	if (t && dtype_sized(t)) {
		r |= json_object_set_new(o, "block_values", json_integer(t->items));
		r |= json_object_set_new(o, "block_bytes", json_integer(t->bytes));
	}
	r |= json_object_set_new(o, "bits_per_weight", json_real(model_bits_per_weight(m)));
	r |= json_object_set_new(o, "original", k && k->wire
	                         ? value_to_json(k->type, k->wire, k->wire_bytes) : json_null());
	return r < 0 ? err_memory(e) : 0;
}
