/* The tensors of a model folder as GGUF has them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/match.h"
#include "adapt/tensors/tensors.h"
#include "adapt/tensors/tensors_parts.h"
#include "arch/match.h"
#include "core/mem.h"
#include "core/num.h"
#include "kernels/kernel.h"

/* A source and a rule that applies to it. */
struct use {
	struct match match;
	size_t source, position;
};

struct forward {
	struct tensors *p;
	const struct subject *s;
	const struct tensors_options *o;
	struct err *e;
	size_t *position; /* of each source of the plan in the order */
	struct use *uses;
	size_t count, cap;
	uint64_t blocks;  /* that were seen */
};

/* ---- matching ---- */

static int
fail(struct forward *f, const char *name, const char *what)
{
	return err_set(f->e, ERR_INVALID, name, "%s", what);
}

/* Add a use for each rule that a source matches. Returns how many, or -1. */
static int
add_uses(struct forward *f, size_t source, size_t position)
{
	const char *name = tensor_name(tensors_source(f->p, f->s, source));
	struct match m;
	size_t from = 0;
	int n = 0;

	for (; match_find(f->s->arch, ARCH_FOLDER, name, from, &m); from = m.index + 1, n++) {
		uint64_t blocks = tensors_blocks(&f->p->sizes, m.rule);

		if (m.rule->flags & RULE_UNUSED || (blocks && m.block >= blocks)) {
			f->p->dropped += n == 0;
			continue;
		}
		/* A rule that comes later may repeat an earlier one. */
		if (f->count > 0 && f->uses[f->count - 1].source == source &&
		    f->uses[f->count - 1].match.rule->role == m.rule->role)
			continue;
		if (mem_grow(&f->uses, &f->cap, f->count + 1, sizeof *f->uses) < 0)
			return err_memory(f->e);
		f->uses[f->count++] = (struct use){ m, source, position };
	}
	return n;
}

/* Whether a tensor is of a block after the stated ones, which predicts later tokens. */
static bool
is_later(const struct forward *f, const char *name)
{
	unsigned long long block;
	uint64_t blocks = sizes_get(&f->p->sizes, 'B');

	return blocks && sscanf(name, "model.layers.%9llu.", &block) == 1 && block >= blocks;
}

/* A tensor without a rule: dropped, passed, or an error. */
static int
without_rule(struct forward *f, size_t source)
{
	const struct tensor *t = tensors_source(f->p, f->s, source);

	if (arch_is_apart(tensor_name(t), ARCH_FOLDER) || is_later(f, tensor_name(t))) {
		f->p->dropped++;
		return 0;
	}
	return f->o->relaxed ? tensors_pass(f->p, t, source, f->position[source], f->e)
	                     : tensors_unknown(f->s, tensor_name(t), f->e);
}

/* ---- the order of the sources ---- */

struct named {
	const struct subject *s;
	size_t file;
	size_t index;
};

static int
by_file_and_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return strcmp(tensor_name(x->s->plan->tensors[x->index]),
	              tensor_name(y->s->plan->tensors[y->index]));
}

/* The number of tensors in file i of the folder that the source was; all of them where the
 * source does not say. */
static uint64_t
tensors_in_file(const struct model *m, size_t i)
{
	const json_t *rows = json_object_get(m->source, "shards");
	uint64_t n;

	return json_member_u64(json_array_get(rows, i), "tensors", &n) < 0 ? UINT64_MAX : n;
}

/* Find each source's position: the order of the files, and of the names in a file, if the
 * sources can be read in any order. list: indexes in that order. */
static int
order_sources(struct forward *f, struct named *list)
{
	size_t i, file = 0, n = f->s->plan->tensor_count;
	uint64_t left = tensors_in_file(f->s->plan, 0);

	for (i = 0; i < n; i++) {
		while (left == 0)
			left = tensors_in_file(f->s->plan, ++file);
		left--;
		list[i] = (struct named){ f->s, file, i };
	}
	if (f->o->anywhere)
		qsort(list, n, sizeof *list, by_file_and_name);
	f->position = mem_array(n, sizeof *f->position);
	if (!f->position)
		return err_memory(f->e);
	for (i = 0; i < n; i++)
		f->position[list[i].index] = i;
	return 0;
}

/* The position at which a packed weight can be written: after its last part, unless sources
 * can be read in any order. */
static size_t
packed_position(const struct forward *f, const struct packed *p)
{
	size_t last = f->position[p->at], k;

	for (k = 0; !f->o->anywhere && k < PACKED_PARTS; k++)
		if (p->part[k] != SIZE_MAX && f->position[p->part[k]] > last)
			last = f->position[p->part[k]];
	if (f->o->anywhere && p->place == PACKED_FIRST)
		return last;
	if (f->o->anywhere)
		last += f->s->plan->tensor_count * (p->place == PACKED_LAST ? 2 : 1);
	return last;
}

static int
match_sources(struct forward *f, const struct named *list)
{
	size_t i, n = f->s->plan->tensor_count;
	int r;

	for (i = 0; i < n; i++) {
		size_t source = list[i].index;

		if (f->p->packed.consumed && f->p->packed.consumed[source])
			continue;
		/* packed weights that come first stand before all others */
		r = add_uses(f, source, f->position[source] + (f->o->anywhere ? n : 0));
		if (r < 0 || (r == 0 && without_rule(f, source) < 0))
			return -1;
	}
	for (i = 0; i < f->p->packed.count; i++) {
		const struct packed *w = &f->p->packed.p[i];

		r = add_uses(f, n + i, packed_position(f, w));
		if (r < 0)
			return -1;
		if (r == 0)
			return tensors_unknown(f->s, tensor_name(w->tensor), f->e);
	}
	return 0;
}

/* ---- types ---- */

/* The type of matrices that --outtype auto chooses: the first that is BF16 or F16. */
static const struct dtype *
auto_type(const struct subject *s, const struct named *list)
{
	size_t i;

	for (i = 0; i < s->plan->tensor_count; i++) {
		const struct tensor *t = s->plan->tensors[list[i].index];

		if (tensors_is_half(t))
			return tensor_type(t);
	}
	return dtype_by_name("F16");
}

static bool
ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n >= k && strcmp(name + n - k, end) == 0;
}

/* The type of a tensor of GGUF whose source has type `from`; type: that of matrices. */
static const struct dtype *
target_type(const char *name, unsigned ndim, const uint64_t *dims, const struct dtype *from,
             const struct dtype *type)
{
	static const char *const always[] = { "ffn_gate_inp.weight", "ffn_gate_inp_shexp.weight",
		"position_embd.weight", "token_types.weight", "ssm_conv1d.weight",
		"shortconv.conv.weight" };
	const struct dtype *f32 = dtype_by_name("F32");
	size_t i;

	if (!kernel_decodes(from) || from->items > 1)
		return from; /* blocks stay */
	if (ndim < 2 || ends_with(name, "_norm.weight") || !ends_with(name, ".weight"))
		return f32;
	for (i = 0; i < sizeof always / sizeof *always; i++)
		if (ends_with(name, always[i]))
			return f32;
	return dtype_fills(type, dims[ndim - 1]) ? type : dtype_by_name("F16");
}

/* ---- targets ---- */

/* Compare the shape of a source with that of its rule. */
static int
prove_shape(struct forward *f, const struct use *u)
{
	const struct tensor *t = tensors_source(f->p, f->s, u->source);

	return tensors_prove_shape(&f->p->sizes, u->match.rule, u->match.bias, tensor_name(t),
	                           tensor_ndim(t), tensor_dims(t), "config.json asks", f->e);
}

/* The math of a rule, for its weight. */
static enum tensors_math
math_of(const struct match *m)
{
	if (m->rule->change == CHANGE_NEG_EXP)
		return MATH_NEG_EXP;
	return m->rule->change == CHANGE_PLUS_ONE && !m->bias ? MATH_PLUS_ONE : MATH_NONE;
}

/* One target of n uses: one, or one for each expert. */
static int
add_target(struct forward *f, const struct use *u, size_t n)
{
	const struct tensor *t = tensors_source(f->p, f->s, u->source);
	uint64_t dims[TENSOR_DIMS], stack;
	struct view view = { .change = u->match.rule->change, .bias = u->match.bias,
		.sizes = &f->p->sizes };
	struct tensors_row *row;
	char name[MATCH_NAME];
	size_t i;

	match_name(u->match.rule, ARCH_GGUF, u->match.bias, u->match.block, 0, name);
	tensors_asked(&f->p->sizes, u->match.rule, u->match.bias, dims, &stack);
	if (shape_stacks(rule_shape(u->match.rule)))
		for (i = 0; i < n || (stack && i < stack); i++)
			if (i >= n || u[i].match.expert != i) {
				match_name(u->match.rule, ARCH_FOLDER, u->match.bias, u->match.block, i, name);
				return fail(f, name, "MissingTensor: the model has others like it");
			}
	if (view_shape(&view, t, shape_stacks(rule_shape(u->match.rule)) ? n : 0, f->e) < 0)
		return -1;
	row = tensors_add(f->p, tensor_new(name, strlen(name), target_type(name, view.ndim,
	                  view.dims, tensor_type(t), f->p->type), view.ndim, view.dims,
	                  TENSOR_OWN_SIZE, f->s->w.name, f->e), f->e);
	if (!row)
		return -1;
	row->from = tensor_type(t);
	row->rank = u->match.index;
	row->about = u->source;
	row->math = math_of(&u->match);
	for (i = 0; i < n; i++) {
		const struct tensor *one = tensors_source(f->p, f->s, u[i].source);

		if (tensor_type(one) != row->from)
			return fail(f, tensor_name(one), "has another type than the tensors that it "
			            "is stacked with");
		if (u[i].position > row->last)
			row->last = u[i].position;
		if (view_add(&view, row, one, u[i].source, f->e) < 0)
			return -1;
	}
	return 0;
}

static int
by_target(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	if (x->match.rule->role != y->match.rule->role)
		return x->match.rule->role < y->match.rule->role ? -1 : 1;
	if (x->match.block != y->match.block)
		return x->match.block < y->match.block ? -1 : 1;
	if (x->match.bias != y->match.bias)
		return x->match.bias ? 1 : -1;
	if (x->match.expert != y->match.expert)
		return x->match.expert < y->match.expert ? -1 : 1;
	return x->source < y->source ? -1 : x->source > y->source;
}

static bool
same_target(const struct use *a, const struct use *b)
{
	return a->match.rule->role == b->match.rule->role &&
	       a->match.block == b->match.block && a->match.bias == b->match.bias;
}

/* The converter writes all stacks of a block after the last of their tensors. */
static int
join_stacks(struct forward *f)
{
	size_t *of = mem_array((size_t)f->blocks + 1, sizeof *of), i;

	if (!of)
		return err_memory(f->e);
	for (i = 0; i < f->count; i++) {
		const struct use *u = &f->uses[i];

		if (strchr(rule_name(u->match.rule), '*') && u->position > of[u->match.block])
			of[u->match.block] = u->position;
	}
	for (i = 0; i < f->count; i++)
		if (strchr(rule_name(f->uses[i].match.rule), '*'))
			f->uses[i].position = of[f->uses[i].match.block];
	free(of);
	return 0;
}

static int
collision(struct forward *f, const struct use *a, const struct use *b)
{
	char name[MATCH_NAME];

	match_name(a->match.rule, ARCH_GGUF, a->match.bias, a->match.block, 0, name);
	return err_set(f->e, ERR_INVALID, tensor_name(tensors_source(f->p, f->s, a->source)),
	               "and %s both become %s",
	               tensor_name(tensors_source(f->p, f->s, b->source)), name);
}

static int
add_targets(struct forward *f)
{
	size_t i, n, k;

	for (i = 0; i < f->count; i++)
		if (f->uses[i].match.block >= f->blocks)
			f->blocks = f->uses[i].match.block + 1;
	if (f->blocks > f->count + 1)
		return err_set(f->e, ERR_INVALID, f->s->w.name, "MissingTensor: its tensors name "
		               "block %" PRIu64 ", but they are only %zu", f->blocks - 1, f->count);
	if (join_stacks(f) < 0)
		return -1;
	if (f->count > 0)
		qsort(f->uses, f->count, sizeof *f->uses, by_target);
	for (i = 0; i < f->count; i += n) {
		for (n = 1; i + n < f->count && same_target(&f->uses[i], &f->uses[i + n]); n++)
			if (f->uses[i + n].match.expert == f->uses[i + n - 1].match.expert)
				return collision(f, &f->uses[i + n - 1], &f->uses[i + n]);
		for (k = 0; k < n; k++)
			if (prove_shape(f, &f->uses[i + k]) < 0)
				return -1;
		if (add_target(f, &f->uses[i], n) < 0)
			return -1;
	}
	return 0;
}

/* ---- a head that is the embeddings ---- */

static struct use *
find_role(const struct forward *f, enum role role)
{
	size_t i;

	for (i = 0; i < f->count; i++)
		if (f->uses[i].match.rule->role == role && !f->uses[i].match.bias)
			return &f->uses[i];
	return NULL;
}

/* Leave out the head if it equals the embeddings. Where they cannot be compared, the
 * configuration decides. A packed head stays. */
static int
drop_tied(struct forward *f)
{
	struct use *head = find_role(f, ROLE_OUT), *embed = find_role(f, ROLE_EMBED);
	const json_t *tied = json_object_get(f->s->config, "tie_word_embeddings");
	int same;

	if (!head || !embed || !(head->match.rule->flags & RULE_IF_TIED) ||
	    head->source >= f->p->sources || embed->source >= f->p->sources ||
	    tensor_bytes(f->s->plan->tensors[head->source]) !=
	    tensor_bytes(f->s->plan->tensors[embed->source]))
		return 0;
	same = f->o->equal ? f->o->equal(f->o->ctx, head->source, embed->source, f->e)
	                   : !json_is_false(tied);
	if (same <= 0)
		return same;
	f->p->tied_claim = !f->o->equal;
	f->p->tied = head->source;
	f->p->embed = embed->source;
	f->p->dropped++;
	*head = f->uses[--f->count];
	return 0;
}

/* ---- what is missing ---- */

static bool
has_role(const void *ctx, enum role role, uint64_t block)
{
	const struct forward *f = ctx;
	size_t low = 0, high = f->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct match *m = &f->uses[mid].match;

		if (m->rule->role == role && m->block == block)
			return true;
		if (m->rule->role < role || (m->rule->role == role && m->block < block))
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

/* ---- the whole ---- */

static int
by_place(const void *a, const void *b)
{
	const struct tensors_row *x = a, *y = b;

	if (!x->made != !y->made)
		return x->made ? -1 : 1;
	if (x->last != y->last)
		return x->last < y->last ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp(tensor_name(x->t), tensor_name(y->t));
}

static int
prove_types(struct forward *f)
{
	size_t i;

	for (i = 0; i < f->p->count; i++) {
		const struct tensors_row *row = &f->p->rows[i];
		const char *name;

		if (row->made || row->from == tensor_type(row->t))
			continue;
		name = tensor_name(tensors_source(f->p, f->s, row->about));
		if (!kernel_decodes(row->from))
			return err_set(f->e, ERR_FORMAT, name, "type %s cannot be converted",
			               row->from->name);
	}
	return 0;
}

static int
run(struct forward *f, struct named *list)
{
	if (order_sources(f, list) < 0)
		return -1;
	f->p->type = f->o->type ? f->o->type : auto_type(f->s, list);
	if (match_sources(f, list) < 0 || drop_tied(f) < 0 || add_targets(f) < 0 ||
	    tensors_prove_whole(f->s->arch, &f->p->sizes, f->blocks, ARCH_FOLDER, has_role, f,
	                        f->e) < 0 ||
	    tensors_add_rope(f->p, f->s, f->e) < 0 || prove_types(f) < 0)
		return -1;
	qsort(f->p->rows, f->p->count, sizeof *f->p->rows, by_place);
	return 0;
}

int
tensors_to_gguf(struct tensors *p, const struct subject *s, const struct tensors_options *o,
                struct err *e)
{
	struct forward f = { .p = p, .s = s, .o = o, .e = e };
	struct named *list = mem_array(s->plan->tensor_count, sizeof *list);
	int r = -1;

	*p = (struct tensors){ .sources = s->plan->tensor_count, .tied = SIZE_MAX,
		.embed = SIZE_MAX };
	if (!list)
		err_memory(e);
	else if (sizes_config(&p->sizes, s->config, e) == 0 && packed_find(s, &p->packed, e) == 0)
		r = run(&f, list);
	free(list);
	free(f.position);
	free(f.uses);
	return r;
}
