#include "adapt/packed/packed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/packed/packed_kind.h"
#include "core/mem.h"
#include "core/num.h"

/* Tensors of no use in another form: scales of activations and of caches. */
static const char *const unused[] = {
	".input_scale", ".activation_scale", "_activation_scale", ".qscale_act",
	".input_zero_point", ".input_scale_ub", ".output_scale",
	".q_scale", ".k_scale", ".v_scale", ".kv_scale", ".prob_scale",
};

struct finder {
	const struct model *plan;
	const struct packed_kind *kinds;
	struct packed_config config;
	struct packed_list *out;
	size_t *by_name;
	struct buf name; /* of the tensor that is looked for */
	struct err *e;
};

/* ---- names ---- */

/* The bytes of name before this end, or SIZE_MAX. */
static size_t
base_of(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && strcmp(name + n - m, end) == 0 ? n - m : SIZE_MAX;
}

/* The first n bytes of a name, and an end. Valid until the next call; NULL with e filled. */
static const char *
compose(struct finder *f, const char *name, size_t n, const char *end)
{
	const char *text;

	buf_clear(&f->name);
	buf_put(&f->name, name, n);
	buf_text(&f->name, end);
	text = buf_string(&f->name);
	if (!text)
		err_memory(f->e);
	return text;
}

/* The tensor of that name, or SIZE_MAX. */
static size_t
find_name(const struct finder *f, const char *name)
{
	size_t low = 0, high = f->plan->tensor_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = strcmp(name, tensor_name(f->plan->tensors[f->by_name[mid]]));

		if (c == 0)
			return f->by_name[mid];
		if (c < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return SIZE_MAX;
}

/* ---- one weight ---- */

static void
use(struct finder *f, struct packed *p, enum packed_part part, size_t i)
{
	p->part[part] = i;
	p->from[part] = f->plan->tensors[i];
	f->out->consumed[i] = true;
}

static int
find_parts(struct finder *f, struct packed *p, size_t anchor, size_t base)
{
	const char *name = tensor_name(f->plan->tensors[anchor]), *other;
	const struct packed_end *end;
	size_t i;

	for (i = 0; i < PACKED_PARTS; i++)
		p->part[i] = SIZE_MAX;
	use(f, p, p->kind->anchor_part, anchor);
	for (end = p->kind->others; end->text; end++) {
		other = compose(f, name, base, end->text);
		if (!other)
			return -1;
		i = find_name(f, other);
		if (i != SIZE_MAX)
			use(f, p, end->part, i);
		else if (!end->optional)
			return err_set(f->e, ERR_CORRUPT, name, "tensor %s is missing beside it", other);
	}
	return 0;
}

static int
make_weight(struct finder *f, struct packed *p, size_t anchor, size_t base)
{
	struct packed_shape s = { .config = &f->config, .e = f->e };
	const char *name = tensor_name(f->plan->tensors[anchor]);

	p->bits = f->config.bits;
	p->zero = f->config.zero;
	if (find_parts(f, p, anchor, base) < 0)
		return -1;
	if (f->config.needs_zero && !p->from[PACKED_ZERO])
		return err_set(f->e, ERR_CORRUPT, name, "has no zero points beside it");
	if (p->kind->prove(p, &s) < 0)
		return -1;
	p->place = p->kind->place;
	p->at = p->place == PACKED_HERE ? p->part[PACKED_WEIGHT] : anchor;
	name = compose(f, name, base, p->kind->result);
	if (!name)
		return -1;
	p->tensor = tensor_new(name, f->name.n, dtype_by_name(p->kind->type), s.ndim, s.dims,
	                       TENSOR_OWN_SIZE, "config.json", f->e);
	return p->tensor ? 0 : -1;
}

static int
add_weight(struct finder *f, const struct packed_kind *kind, size_t anchor, size_t base)
{
	struct packed_list *out = f->out;

	if (mem_grow(&out->p, &out->cap, out->count + 1, sizeof *out->p) < 0)
		return err_memory(f->e);
	out->p[out->count] = (struct packed){ .kind = kind };
	return make_weight(f, &out->p[out->count++], anchor, base);
}

/* ---- all ---- */

static int
find_weights(struct finder *f)
{
	const struct packed_kind *k;
	size_t i, base;

	for (i = 0; i < f->plan->tensor_count; i++)
		for (k = f->kinds; k->anchor; k++) {
			base = base_of(tensor_name(f->plan->tensors[i]), k->anchor);
			if (base != SIZE_MAX && add_weight(f, k, i, base) < 0)
				return -1;
		}
	return 0;
}

/* A part of a weight without the tensor that shows the weight. */
static int
check_alone(struct finder *f, size_t i)
{
	const char *name = tensor_name(f->plan->tensors[i]);
	const struct packed_kind *k;
	const struct packed_end *end;
	size_t base;

	for (k = f->kinds; k->anchor; k++)
		for (end = k->others; end->text; end++) {
			base = base_of(name, end->text);
			if (base == SIZE_MAX || end->part == PACKED_WEIGHT)
				continue;
			if (!compose(f, name, base, k->anchor))
				return -1;
			return err_set(f->e, ERR_CORRUPT, name, "tensor %s is missing beside it",
			               (const char *)f->name.p);
		}
	return 0;
}

/* Codes without a scale. */
static int
check_scaled(const struct finder *f, size_t i)
{
	const struct tensor *t = f->plan->tensors[i];
	const char *type = tensor_type(t)->name;
	bool codes = f->kinds == packed_scaled && (strcmp(type, "F8_E4M3") == 0 ||
	             strcmp(type, "F8_E5M2") == 0 || strcmp(type, "I8") == 0);

	codes = codes || (f->kinds == packed_ternary && strcmp(type, "U8") == 0);
	if (!codes || tensor_ndim(t) < 2)
		return 0;
	return err_set(f->e, ERR_CORRUPT, tensor_name(t), "is %s and has no scale beside it", type);
}

static int
check_rest(struct finder *f)
{
	const char *name;
	size_t i, k;

	for (i = 0; i < f->plan->tensor_count; i++) {
		name = tensor_name(f->plan->tensors[i]);
		for (k = 0; k < sizeof unused / sizeof *unused; k++)
			if (base_of(name, unused[k]) != SIZE_MAX)
				f->out->consumed[i] = true;
		if (!f->out->consumed[i] && (check_alone(f, i) < 0 || check_scaled(f, i) < 0))
			return -1;
	}
	return 0;
}

static int
by_name(const void *a, const void *b)
{
	const struct packed *const *p = a, *const *q = b;

	return strcmp(tensor_name((*p)->tensor), tensor_name((*q)->tensor));
}

/* Names of weights must differ from each other, and from all tensors that remain. */
static int
check_names(const struct finder *f)
{
	const struct packed_list *out = f->out;
	const struct packed **sorted = mem_array(out->count, sizeof *sorted);
	const char *name;
	size_t i, other;
	int r = 0;

	if (!sorted)
		return err_memory(f->e);
	for (i = 0; i < out->count; i++)
		sorted[i] = &out->p[i];
	qsort(sorted, out->count, sizeof *sorted, by_name);
	for (i = 0; i < out->count && r == 0; i++) {
		name = tensor_name(sorted[i]->tensor);
		other = find_name(f, name);
		if ((i > 0 && by_name(&sorted[i - 1], &sorted[i]) == 0) ||
		    (other != SIZE_MAX && !out->consumed[other]))
			r = err_set(f->e, ERR_CORRUPT, name, "is stored in two ways");
	}
	free(sorted);
	return r;
}

int
packed_find(const struct subject *s, struct packed_list *out, struct err *e)
{
	struct finder f = { .plan = s->plan, .out = out, .e = e };
	int r = -1;

	*out = (struct packed_list){ 0 };
	out->consumed = mem_array(s->plan->tensor_count, sizeof *out->consumed);
	if (!out->consumed)
		return err_memory(e);
	if (s->form != ARCH_FOLDER)
		return 0;
	f.kinds = packed_method(s, &f.config, e);
	if (!f.kinds)
		return e->code == ERR_NONE ? 0 : -1;
	f.by_name = model_tensors_by_name(s->plan, e);
	if (f.by_name && find_weights(&f) == 0 && check_rest(&f) == 0 && check_names(&f) == 0)
		r = 0;
	free(f.by_name);
	buf_free(&f.name);
	return r;
}

void
packed_free(struct packed_list *list)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		tensor_free(list->p[i].tensor);
	free(list->p);
	free(list->consumed);
	*list = (struct packed_list){ 0 };
}
