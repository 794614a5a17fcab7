/* The tensors of a GGUF model as a model folder has them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/tensors/origin_read.h"
#include "adapt/tensors/tensors_back.h"
#include "core/mem.h"
#include "core/num.h"
#include "kernels/kernel.h"

/* ---- rules ---- */

/* The number of dimensions that GGUF gives a tensor of this rule. */
static unsigned
dims_of(const struct backward *f, const struct arch_rule *r, bool bias)
{
	uint64_t dims[TENSOR_DIMS], stack;
	unsigned n = tensors_asked(&f->p->sizes, r, bias, dims, &stack);

	if (shape_stacks(rule_shape(r)))
		n++;
	if (!bias && (r->change == CHANGE_K_B || r->change == CHANGE_V_B))
		return 3;
	return !bias && r->change == CHANGE_SQUEEZE ? n - 1 : n;
}

/* Whether a rule of folders is for this tensor. */
static bool
fits(const struct backward *f, const struct arch_rule *r, enum role role, bool bias,
     const struct tensor *t)
{
	if (r->role != role || r->flags & (RULE_PACKED | RULE_GREEK | RULE_UNUSED) ||
	    !rule_shape(r))
		return false;
	if (bias ? !(r->flags & (RULE_BIAS | RULE_AS_BIAS)) : r->flags & RULE_AS_BIAS)
		return false;
	return dims_of(f, r, bias) == tensor_ndim(t);
}

static bool
is_rope(const char *name)
{
	return strcmp(name, "rope_freqs.weight") == 0 ||
	       strcmp(name, "rope_factors_long.weight") == 0 ||
	       strcmp(name, "rope_factors_short.weight") == 0;
}

static bool
is_blocks(const struct tensor *t)
{
	return tensor_type(t)->items > 1 || !dtype_sized(tensor_type(t));
}

static int
refuse_blocks(struct backward *f, const struct tensor *t)
{
	err_set(f->e, ERR_FORMAT, tensor_name(t), "has type %s, which model folders do not have",
	        tensor_type(t)->name);
	return err_hint(f->e, "apr-quant bf16 before apr-adapt decodes it");
}

static int
match_source(struct backward *f, size_t source)
{
	const struct tensor *t = f->s->plan->tensors[source];
	const struct arch_rule *r;
	struct match m;
	struct back back;
	size_t i;

	if (is_rope(tensor_name(t))) {
		f->p->dropped++;
		return 0;
	}
	if (is_blocks(t) && strcmp(tensor_type(t)->name, "MXFP4") != 0)
		return refuse_blocks(f, t);
	if (!match_find(f->s->arch, ARCH_GGUF, tensor_name(t), 0, &m)) {
		if (is_blocks(t))
			return refuse_blocks(f, t);
		return f->o->relaxed ? tensors_pass(f->p, t, source, source, f->e)
		                     : tensors_unknown(f->s, tensor_name(t), f->e);
	}
	for (i = 0; (r = arch_rule(f->s->arch, i)); i++)
		if (fits(f, r, m.rule->role, m.bias, t))
			break;
	if (!r)
		return err_set(f->e, ERR_INVALID, tensor_name(t), "ArchitectureMismatch: %s models "
		               "have no such tensor of %u dimensions", f->s->arch->folder,
		               tensor_ndim(t));
	back = (struct back){ r, source, i, m.block, m.bias };
	if (is_blocks(t) && !tensors_is_mxfp4(f, &back))
		return refuse_blocks(f, t);
	if (mem_grow(&f->list, &f->cap, f->count + 1, sizeof *f->list) < 0)
		return err_memory(f->e);
	f->list[f->count++] = back;
	return 0;
}

static int
by_role(const void *a, const void *b)
{
	const struct back *x = a, *y = b;

	if (x->rule->role != y->rule->role)
		return x->rule->role < y->rule->role ? -1 : 1;
	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return (int)x->bias - (int)y->bias;
}

const struct back *
tensors_find_back(const struct backward *f, enum role role, uint64_t block, bool bias)
{
	const struct arch_rule r = { .role = role };
	const struct back key = { .rule = &r, .block = block, .bias = bias };

	return bsearch(&key, f->list, f->count, sizeof *f->list, by_role);
}

/* ---- types ---- */

/* The type of a target: what the record says, else that of its source. */
static const struct dtype *
type_of(const struct backward *f, const char *name, const char *template,
        const struct dtype *from)
{
	const char *type = origin_lookup(f->origin, "types", name, template);
	const struct dtype *t;

	if (!type && json_member_text(f->origin, "dtype", &type) < 0)
		return from;
	t = dtype_by_name(type);
	return t && kernel_encodes(t) && t->items == 1 && !t->head ? t : from;
}

/* ---- targets ---- */

struct tensors_row *
tensors_new_target(struct backward *f, const struct back *b, uint64_t expert, unsigned ndim,
           const uint64_t *dims)
{
	const struct tensor *t = back_tensor(f, b);
	char name[MATCH_NAME], template[MATCH_NAME];
	const char *old;
	struct tensors_row *row;

	match_name(b->rule, ARCH_FOLDER, b->bias, b->block, expert, name);
	match_template(b->rule, ARCH_FOLDER, b->bias, template);
	if (tensors_prove_shape(&f->p->sizes, b->rule, b->bias, tensor_name(t), ndim, dims,
	                        "its keys ask", f->e) < 0)
		return NULL;
	old = origin_lookup(f->origin, "names", name, template);
	if (old) {
		const struct arch_rule as = { .name = old, .flags = RULE_BARE };
		char given[MATCH_NAME];

		match_name(&as, ARCH_FOLDER, false, b->block, expert, given);
		row = tensors_add(f->p, tensor_new(given, strlen(given), type_of(f, name, template,
		                  tensor_type(t)), ndim, dims, TENSOR_OWN_SIZE, f->s->w.name, f->e),
		                  f->e);
	} else {
		row = tensors_add(f->p, tensor_new(name, strlen(name), type_of(f, name, template,
		                  tensor_type(t)), ndim, dims, TENSOR_OWN_SIZE, f->s->w.name, f->e),
		                  f->e);
	}
	if (!row)
		return NULL;
	row->from = tensor_type(t);
	row->last = b->source;
	row->about = b->source;
	row->rank = b->index;
	return row;
}

/* Each of the tensors that GGUF stacks. */
static int
add_stack(struct backward *f, const struct back *b)
{
	const struct tensor *t = back_tensor(f, b);
	uint64_t each = tensor_items(t) / tensor_dims(t)[0], i;
	struct tensors_row *row;

	for (i = 0; i < tensor_dims(t)[0]; i++) {
		row = tensors_new_target(f, b, i, tensor_ndim(t) - 1, tensor_dims(t) + 1);
		if (!row || tensors_add_piece(row, move_run(b->source, i * each, each), f->e) < 0)
			return -1;
	}
	return 0;
}

int
tensors_mismatch(struct backward *f, const struct back *b, const char *what)
{
	return err_set(f->e, ERR_INVALID, tensor_name(back_tensor(f, b)),
	               "ArchitectureMismatch: %s", what);
}

static uint64_t
heads_of(const struct backward *f, const struct back *b)
{
	return sizes_get(&f->p->sizes, b->rule->change == CHANGE_PAIRS_Q ? 'H' : 'G');
}

static int
add_pairs(struct backward *f, const struct back *b)
{
	const struct tensor *t = back_tensor(f, b);
	uint64_t heads = heads_of(f, b), rows = tensor_dims(t)[0], row, half;
	struct tensors_row *to;

	if (heads == 0 || rows % (heads * 2))
		return tensors_mismatch(f, b, "its rows do not divide by the number of heads");
	row = tensor_items(t) / rows;
	half = rows / heads / 2;
	to = tensors_new_target(f, b, 0, tensor_ndim(t), tensor_dims(t));
	return to ? tensors_add_piece(to, (struct move_piece){ .source = b->source, .n = 4,
		.count = { heads, 2, half, row }, .stride = { 2 * half * row, row, 2 * row, 1 } },
		f->e) : -1;
}

static int
add_turned(struct backward *f, const struct back *b)
{
	const struct tensor *t = back_tensor(f, b);
	unsigned n = tensor_ndim(t);
	uint64_t dims[TENSOR_DIMS], rows = tensor_dims(t)[n - 2], columns = tensor_dims(t)[n - 1];
	struct tensors_row *to;

	memcpy(dims, tensor_dims(t), n * sizeof *dims);
	dims[n - 2] = columns;
	dims[n - 1] = rows;
	to = tensors_new_target(f, b, 0, n, dims);
	return to ? tensors_add_piece(to, (struct move_piece){ .source = b->source, .n = 3,
		.count = { tensor_items(t) / (rows * columns), columns, rows },
		.stride = { rows * columns, 1, columns } }, f->e) : -1;
}

static int
add_part(struct backward *f, struct tensors_row *to, size_t source, uint64_t base, uint64_t n)
{
	struct move_piece p = move_run(source, base, n);

	p.step = n;
	return tensors_add_piece(to, p, f->e);
}

/* For each group: its queries, a key and a value. */
static int
add_qkv(struct backward *f, const struct back *b)
{
	const struct tensor *t = back_tensor(f, b);
	uint64_t groups = heads_of(f, b), h = sizes_get(&f->p->sizes, 'H'), head, all;
	struct tensors_row *to;

	if (groups == 0 || h % groups || tensor_dims(t)[0] % (h + 2 * groups))
		return tensors_mismatch(f, b, "its rows do not divide by the number of heads");
	all = tensor_items(t);
	head = all / (h + 2 * groups);
	to = tensors_new_target(f, b, 0, tensor_ndim(t), tensor_dims(t));
	if (!to)
		return -1;
	to->move.repeat = groups;
	if (add_part(f, to, b->source, 0, h / groups * head) < 0 ||
	    add_part(f, to, b->source, h * head, head) < 0)
		return -1;
	return add_part(f, to, b->source, (h + groups) * head, head);
}

/* Keys of each head, turned back, and its values. */
static int
add_latent(struct backward *f, const struct back *k)
{
	const struct back *v = tensors_find_back(f, ROLE_V_B, k->block, false);
	const uint64_t *kd = tensor_dims(back_tensor(f, k)), *vd;
	struct tensors_row *to;
	uint64_t dims[2];

	if (!v)
		return tensors_mismatch(f, k, "the tensor attn_v_b of its block is missing");
	vd = tensor_dims(back_tensor(f, v));
	if (vd[0] != kd[0] || vd[2] != kd[1] ||
	    tensor_type(back_tensor(f, v)) != tensor_type(back_tensor(f, k)))
		return tensors_mismatch(f, k, "attn_v_b of its block has another shape or type");
	dims[0] = kd[0] * (kd[2] + vd[1]);
	dims[1] = kd[1];
	to = tensors_new_target(f, k, 0, 2, dims);
	if (!to)
		return -1;
	to->move.repeat = kd[0];
	if (v->source > to->last)
		to->last = v->source;
	if (tensors_add_piece(to, (struct move_piece){ .source = k->source, .n = 2,
	                      .step = kd[1] * kd[2], .count = { kd[2], kd[1] },
	                      .stride = { 1, kd[2] } }, f->e) < 0)
		return -1;
	return add_part(f, to, v->source, 0, vd[1] * vd[2]);
}

/* Columns of gate and up in turn. */
static int
add_woven(struct backward *f, const struct back *b)
{
	const struct back *up = tensors_find_back(f, ROLE_UP_EXPS, b->block, b->bias), *one[2] = { b, up };
	const struct tensor *t = back_tensor(f, b);
	unsigned n = tensor_ndim(t), i;
	uint64_t dims[TENSOR_DIMS], rows = n > 2 ? tensor_dims(t)[n - 2] : tensor_dims(t)[n - 1];
	uint64_t columns = n > 2 ? tensor_dims(t)[n - 1] : 1;
	struct tensors_row *to;

	if (!up || tensor_ndim(back_tensor(f, up)) != n ||
	    memcmp(tensor_dims(back_tensor(f, up)), tensor_dims(t), n * sizeof *dims) != 0 ||
	    tensor_type(back_tensor(f, up)) != tensor_type(t))
		return tensors_mismatch(f, b, "gate and up of its block have other shapes or types");
	dims[0] = tensor_dims(t)[0];
	dims[n - 2] = n > 2 ? columns : dims[0];
	dims[n - 1] = rows * 2;
	to = tensors_new_target(f, b, 0, n, dims);
	if (!to)
		return -1;
	to->move.weave = true;
	if (up->source > to->last)
		to->last = up->source;
	for (i = 0; i < 2; i++)
		if (tensors_add_piece(to, (struct move_piece){ .source = one[i]->source, .n = 3,
		                      .count = { tensor_items(t) / (rows * columns), columns, rows },
		                      .stride = { rows * columns, 1, columns } }, f->e) < 0)
			return -1;
	return 0;
}

/* The first rows, which GGUF does not have: those of the record, or zeros. */
static int
add_skipped(struct backward *f, const struct back *b)
{
	const struct tensor *t = back_tensor(f, b);
	uint64_t dims[2] = { tensor_dims(t)[0] + sizes_get(&f->p->sizes, 'O'),
		tensor_dims(t)[1] };
	uint64_t n = sizes_get(&f->p->sizes, 'O') * dims[1];
	const char *text = json_string_value(json_object_get(f->origin, "rows"));
	struct tensors_row *to = tensors_new_target(f, b, 0, 2, dims);
	uint8_t *bytes = NULL;
	size_t got = 0, source;

	if (!to)
		return -1;
	if (text && !(bytes = origin_bytes(text, &got, f->e)))
		return -1;
	if (got != n * to->from->bytes) {
		free(bytes);
		bytes = NULL;
	}
	if (tensors_add_memory(f->p, bytes, (size_t)n * to->from->bytes, &source, f->e) < 0 ||
	    tensors_add_piece(to, move_run(source, 0, n), f->e) < 0)
		return -1;
	return tensors_add_piece(to, move_run(b->source, 0, tensor_items(t)), f->e);
}

static int
add_plain(struct backward *f, const struct back *b)
{
	const struct tensor *t = back_tensor(f, b);
	uint64_t dims[TENSOR_DIMS] = { 0 };
	unsigned n = tensor_ndim(t);
	struct tensors_row *row;

	memcpy(dims, tensor_dims(t), n * sizeof *dims);
	if (b->rule->change == CHANGE_SQUEEZE && !b->bias) {
		dims[2] = dims[1];
		dims[1] = 1;
		n = 3;
	}
	row = tensors_new_target(f, b, 0, n, dims);
	if (!row)
		return -1;
	if (b->rule->change == CHANGE_PLUS_ONE && !b->bias)
		row->math = MATH_MINUS_ONE;
	if (b->rule->change == CHANGE_NEG_EXP)
		row->math = MATH_LOG_NEG;
	return tensors_add_piece(row, move_run(b->source, 0, tensor_items(t)), f->e);
}

static int
add_target(struct backward *f, const struct back *b)
{
	if (tensor_items(back_tensor(f, b)) == 0)
		return tensors_mismatch(f, b, "it has no values");
	if (is_blocks(back_tensor(f, b)))
		return tensors_add_mxfp4(f, b);
	if (shape_stacks(rule_shape(b->rule)))
		return add_stack(f, b);
	switch (b->rule->change) {
	case CHANGE_PAIRS_Q:
	case CHANGE_PAIRS_K:
		return add_pairs(f, b);
	case CHANGE_TURN:
		return b->bias ? add_plain(f, b) : add_turned(f, b);
	case CHANGE_QKV:
		return add_qkv(f, b);
	case CHANGE_K_B:
		return add_latent(f, b);
	case CHANGE_EVEN:
		return add_woven(f, b);
	case CHANGE_V_B:
	case CHANGE_ODD:
		return 0; /* with its partner */
	case CHANGE_SKIP_ROWS:
		return add_skipped(f, b);
	case CHANGE_NONE:
	case CHANGE_PLUS_ONE:
	case CHANGE_NEG_EXP:
	case CHANGE_SQUEEZE:
		break;
	}
	return add_plain(f, b);
}

/* ---- the whole ---- */

static bool
has_role(const void *ctx, enum role role, uint64_t block)
{
	return tensors_find_back(ctx, role, block, false) ||
	       tensors_find_back(ctx, role, block, true);
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(tensor_name(((const struct tensors_row *)a)->t),
	              tensor_name(((const struct tensors_row *)b)->t));
}

static int
by_source(const void *a, const void *b)
{
	const struct tensors_row *x = a, *y = b;

	if (x->last != y->last)
		return x->last < y->last ? -1 : 1;
	return by_name(a, b);
}

static int
run(struct backward *f)
{
	size_t i;

	for (i = 0; i < f->s->plan->tensor_count; i++)
		if (match_source(f, i) < 0)
			return -1;
	qsort(f->list, f->count, sizeof *f->list, by_role);
	if (tensors_prove_whole(f->s->arch, &f->p->sizes, 0, ARCH_GGUF, has_role, f, f->e) < 0)
		return -1;
	for (i = 0; i < f->count; i++)
		if (add_target(f, &f->list[i]) < 0)
			return -1;
	if (tensors_restore(f) < 0)
		return -1;
	qsort(f->p->rows, f->p->count, sizeof *f->p->rows, by_name);
	for (i = 1; i < f->p->count; i++)
		if (by_name(&f->p->rows[i - 1], &f->p->rows[i]) == 0)
			return err_set(f->e, ERR_INVALID, tensor_name(f->p->rows[i].t),
			               "two tensors of the model get this name");
	if (!f->o->anywhere)
		qsort(f->p->rows, f->p->count, sizeof *f->p->rows, by_source);
	return 0;
}

int
tensors_to_folder(struct tensors *p, const struct subject *s, const json_t *origin,
                  const struct tensors_options *o, struct err *e)
{
	struct backward f = { .p = p, .s = s, .o = o, .origin = origin, .e = e };
	int r;

	*p = (struct tensors){ .sources = s->plan->tensor_count, .tied = SIZE_MAX,
		.embed = SIZE_MAX };
	r = sizes_keys(&p->sizes, &s->w, s->arch->name, e);
	if (r == 0)
		r = run(&f);
	free(f.list);
	return r;
}
