#include "lora/lora.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "kernels/kernel.h"
#include "lora/lora_parts.h"

bool
lora_cut(const char *s, size_t *n, const char *ending)
{
	size_t k = strlen(ending);

	if (*n <= k || memcmp(s + *n - k, ending, k) != 0)
		return false;
	*n -= k;
	return true;
}

/* A new text of n bytes at s and ending, or NULL. */
static char *
joined(const char *s, size_t n, const char *ending)
{
	size_t k = strlen(ending);
	char *to = mem_array(n + k + 1, 1);

	if (to) {
		memcpy(to, s, n);
		memcpy(to + n, ending, k);
	}
	return to;
}

/* Tensors come in the order of their names, so those of a part follow each other. */
struct lora_part *
lora_part(struct lora *l, const char *s, size_t n, const char *ending, struct err *e)
{
	struct lora_part *p = l->part_count ? &l->parts[l->part_count - 1] : NULL;
	size_t k = p ? strlen(p->name) : 0;

	if (p && lora_cut(p->name, &k, ending) && k == n && memcmp(p->name, s, n) == 0)
		return p;
	if (mem_grow(&l->parts, &l->part_cap, l->part_count + 1, sizeof *l->parts) < 0) {
		err_memory(e);
		return NULL;
	}
	p = &l->parts[l->part_count];
	*p = (struct lora_part){ .name = joined(s, n, ending), .a = SIZE_MAX, .b = SIZE_MAX,
		.magnitude = SIZE_MAX };
	if (!p->name) {
		err_memory(e);
		return NULL;
	}
	l->part_count++;
	return p;
}

int
lora_add_whole(struct lora *l, const char *s, size_t n, const char *ending, size_t i,
               struct err *e)
{
	char *name = joined(s, n, ending);

	if (!name || mem_grow(&l->wholes, &l->whole_cap, l->whole_count + 1,
	                      sizeof *l->wholes) < 0) {
		free(name);
		return err_memory(e);
	}
	l->wholes[l->whole_count++] = (struct lora_whole){ name, i };
	return 0;
}

static int
misfit(const struct lora *l, const struct lora_part *p, const char *what, struct err *e)
{
	return err_set(e, ERR_CORRUPT, l->w->name, "%s: %s", p->name, what);
}

/* Compare the shapes of A and B, and take rank, inputs and outputs from them. */
static int
prove(const struct lora *l, struct lora_part *p, struct err *e)
{
	const struct tensor *a, *b, *m;
	uint64_t n;

	if (p->a == SIZE_MAX || p->b == SIZE_MAX)
		return misfit(l, p, p->a == SIZE_MAX ? "has a B without an A" : "has an A without a B",
		              e);
	a = l->w->plan->tensors[p->a];
	b = l->w->plan->tensors[p->b];
	m = p->magnitude == SIZE_MAX ? NULL : l->w->plan->tensors[p->magnitude];
	if (tensor_ndim(a) != 2 || tensor_ndim(b) != 2)
		return misfit(l, p, "its A and B are not matrices", e);
	p->rank = tensor_dims(a)[p->a_turned];
	p->inputs = tensor_dims(a)[!p->a_turned];
	p->outputs = tensor_dims(b)[0];
	if (p->rank == 0 || p->rank != tensor_dims(b)[1])
		return misfit(l, p, "its A and B have different ranks", e);
	if (num_mul(p->rank, p->inputs, &n) < 0 || num_mul(p->rank, p->outputs, &n) < 0 ||
	    p->inputs == 0 || p->outputs == 0)
		return misfit(l, p, "is empty", e);
	if (m && tensor_items(m) != p->outputs)
		return misfit(l, p, "has not one magnitude for each output", e);
	if (!kernel_decodes(tensor_type(a)) || !kernel_decodes(tensor_type(b)) ||
	    (m && !kernel_decodes(tensor_type(m))))
		return err_set(e, ERR_FORMAT, l->w->name, "%s: %s cannot be computed", p->name,
		               tensor_type(kernel_decodes(tensor_type(a)) ? b : a)->name);
	return 0;
}

int
lora_read(struct lora *l, const struct weights *w, float scale, struct err *e)
{
	bool gguf = model_find(w->plan, "adapter.type") != NULL;
	size_t *by_name, i;
	int r;

	*l = (struct lora){ .w = w, .form = gguf ? ARCH_GGUF : ARCH_FOLDER };
	by_name = model_tensors_by_name(w->plan, e);
	if (!by_name)
		return -1;
	r = gguf ? lora_read_gguf(l, by_name, scale, e) : lora_read_peft(l, by_name, scale, e);
	free(by_name);
	for (i = 0; r == 0 && i < l->part_count; i++)
		r = prove(l, &l->parts[i], e);
	if (r == 0 && l->part_count + l->whole_count == 0)
		return err_set(e, ERR_FORMAT, w->name, "has no tensor of an adapter");
	return r;
}

void
lora_free(struct lora *l)
{
	size_t i;

	for (i = 0; i < l->part_count; i++)
		free(l->parts[i].name);
	for (i = 0; i < l->whole_count; i++)
		free(l->wholes[i].name);
	free(l->parts);
	free(l->wholes);
	*l = (struct lora){ 0 };
}
