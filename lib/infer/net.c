#include "infer/net.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "kernels/kernel.h"

/* What the search for tensors shares. */
struct bind {
	struct net *net;
	const struct hyper *h;
	const struct weights *w;
	size_t *by_name;  /* tensors in the order of their names */
	bool *used;
	struct err *e;
};

static void *
make(struct bind *b, size_t n, size_t size)
{
	struct net *net = b->net;
	void *p;

	if (mem_grow(&net->made, &net->made_cap, net->made_count + 1, sizeof *net->made) < 0 ||
	    !(p = mem_array(n, size))) {
		err_memory(b->e);
		return NULL;
	}
	net->made[net->made_count++] = p;
	net->made_bytes += (uint64_t)n * size;
	return p;
}

/* ---- finding ---- */

static const struct tensor *
tensor_at(const struct bind *b, size_t i)
{
	return b->w->plan->tensors[i];
}

/* The tensor of that name, or SIZE_MAX. */
static size_t
find_name(const struct bind *b, const char *name)
{
	size_t low = 0, high = b->w->plan->tensor_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = strcmp(name, tensor_name(tensor_at(b, b->by_name[mid])));

		if (c == 0)
			return b->by_name[mid];
		if (c < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return SIZE_MAX;
}

#define NAME 128

/* The name of a role's tensor in a block, of an expert. */
static const char *
name_of(const struct bind *b, enum role role, size_t block, size_t expert,
        const char *ending, char name[NAME])
{
	const char *p = arch_tensor(b->h->arch, b->h->folder, role);
	size_t n = 0;

	if (!p)
		return NULL;
	for (; *p && n < NAME - 24; p++)
		if (*p == '#' || *p == '*')
			n += (size_t)snprintf(name + n, NAME - n, "%zu", *p == '#' ? block : expert);
		else
			name[n++] = *p;
	snprintf(name + n, NAME - n, "%s", ending);
	return name;
}

/* SIZE_MAX where there is none. A folder's names may lack the first part, which is the
 * model's own name. */
static size_t
find(const struct bind *b, enum role role, size_t block, size_t expert,
     const char *ending, char name[NAME])
{
	const char *within;
	size_t i;

	if (!name_of(b, role, block, expert, ending, name))
		return SIZE_MAX;
	i = find_name(b, name);
	within = strchr(name, '.');
	if (i == SIZE_MAX && b->h->folder && within && role != ROLE_OUT)
		i = find_name(b, within + 1);
	if (i != SIZE_MAX)
		b->used[i] = true;
	return i;
}

static int
missing(const struct bind *b, const char *name)
{
	return err_set(b->e, ERR_CORRUPT, b->w->name, "tensor %s is missing", name);
}

/* ---- vectors ---- */

/* All values of a tensor of n, with add to each. */
static const float *
vector_of(struct bind *b, size_t i, uint64_t n, float add)
{
	const struct tensor *t = tensor_at(b, i);
	const struct dtype *type = tensor_type(t);
	const uint8_t *data = b->w->tensors[i];
	float *v;
	size_t k;

	if (tensor_items(t) != n || tensor_row(t) != n) {
		char shape[TENSOR_SHAPE_TEXT];

		err_set(b->e, ERR_CORRUPT, tensor_name(t), "has shape %s, where %" PRIu64
		        " values are due", tensor_shape_text(t, shape), n);
		return NULL;
	}
	if (!kernel_decodes(type)) {
		err_set(b->e, ERR_FORMAT, tensor_name(t), "%s cannot be computed", type->name);
		return NULL;
	}
	v = make(b, n, sizeof *v);
	if (!v)
		return NULL;
	kernel_decode(type, data, data + type->head, v, n);
	for (k = 0; k < n; k++)
		v[k] += add;
	return v;
}

/* The vector of a role, or NULL where there is none or it cannot be had. */
static const float *
vector(struct bind *b, enum role role, size_t block, const char *ending, uint64_t n,
       float add)
{
	char name[NAME];
	size_t i = find(b, role, block, 0, ending, name);

	return i == SIZE_MAX ? NULL : vector_of(b, i, n, add);
}

/* A norm that must be there. */
static int
norm(struct bind *b, struct norm *to, enum role role, size_t block, uint64_t n)
{
	bool plus = b->h->folder && (b->h->arch->flags & ARCH_PLUS_ONE);
	char name[NAME];

	to->weight = vector(b, role, block, ".weight", n, plus ? 1 : 0);
	to->bias = vector(b, role, block, ".bias", n, 0);
	if (!to->weight && b->e->code == ERR_NONE) {
		name_of(b, role, block, 0, ".weight", name);
		missing(b, name);
	}
	return b->e->code == ERR_NONE ? 0 : -1;
}

/* ---- matrices ---- */

static int
shape_is(const struct bind *b, const struct tensor *t, uint64_t rows, uint64_t columns)
{
	char shape[TENSOR_SHAPE_TEXT];

	return err_set(b->e, ERR_CORRUPT, tensor_name(t), "has shape %s, where %" PRIu64
	               "x%" PRIu64 " is due", tensor_shape_text(t, shape), rows, columns);
}

/* In single precision, with the dimensions changed for each other if turn. */
static int
expand(struct bind *b, struct matrix *m, bool turn)
{
	size_t r, c, n = m->rows * m->columns;
	float *all = make(b, n, sizeof *all), *row;

	if (!all)
		return -1;
	kernel_decode(m->type, m->head, m->data, all, n);
	m->type = dtype_by_name("F32");
	m->head = NULL;
	m->data = (const uint8_t *)all;
	if (!turn)
		return 0;
	row = make(b, n, sizeof *row);
	if (!row)
		return -1;
	for (r = 0; r < m->rows; r++)
		for (c = 0; c < m->columns; c++)
			row[c * m->rows + r] = all[r * m->columns + c];
	m->data = (const uint8_t *)row;
	r = m->rows;
	m->rows = m->columns;
	m->columns = r;
	/* The first one is not needed any more. */
	free(b->net->made[b->net->made_count - 2]);
	b->net->made[b->net->made_count - 2] = row;
	b->net->made_count--;
	b->net->made_bytes -= (uint64_t)n * sizeof *row;
	return 0;
}

/* Values of plain types change places as they are; blocks are decoded first. */
static int
transpose(struct bind *b, struct matrix *m)
{
	size_t size = m->type->bytes, r, c;
	uint8_t *to;

	if (m->type->items != 1 || m->type->whole)
		return expand(b, m, true);
	to = make(b, m->rows * m->columns, size);
	if (!to)
		return -1;
	for (r = 0; r < m->rows; r++)
		for (c = 0; c < m->columns; c++)
			memcpy(to + (c * m->rows + r) * size, m->data + (r * m->columns + c) * size,
			       size);
	m->data = to;
	r = m->rows;
	m->rows = m->columns;
	m->columns = r;
	return 0;
}

/* What is to be multiplied with it needs room. */
static int
usable(struct bind *b, const struct matrix *m, const struct tensor *t)
{
	size_t n;

	if (!dot_activation(m->type, m->columns))
		return err_set(b->e, ERR_FORMAT, tensor_name(t), "%s cannot be multiplied",
		               m->type->name);
	n = matmul_room(m);
	if (n > b->net->room)
		b->net->room = n;
	return 0;
}

/* Tensor i as rows × columns, stored the other way round if turned. */
static int
matrix_of(struct bind *b, size_t i, uint64_t rows, uint64_t columns, bool turned,
          struct matrix *m)
{
	const struct tensor *t = tensor_at(b, i);
	const uint64_t *d = tensor_dims(t);
	uint64_t n;

	if (tensor_ndim(t) != 2 || d[0] != (turned ? columns : rows) ||
	    d[1] != (turned ? rows : columns) || num_mul(rows, columns, &n) < 0 || n == 0)
		return shape_is(b, t, turned ? columns : rows, turned ? rows : columns);
	if (!kernel_decodes(tensor_type(t)))
		return err_set(b->e, ERR_FORMAT, tensor_name(t), "%s cannot be computed",
		               tensor_type(t)->name);
	*m = (struct matrix){ tensor_type(t), b->w->tensors[i],
	                      b->w->tensors[i] + tensor_type(t)->head, (size_t)d[0],
	                      (size_t)d[1] };
	if (turned && transpose(b, m) < 0)
		return -1;
	/* Rows of a type that runs over the whole tensor may begin within a block. */
	if (m->columns % m->type->items != 0 && expand(b, m, false) < 0)
		return -1;
	return usable(b, m, t);
}

static bool
is_turned(const struct bind *b, enum role role)
{
	return b->h->folder && (b->h->arch->flags & ARCH_CONV1D) && role != ROLE_EMBED &&
	       role != ROLE_POSITIONS && role != ROLE_OUT;
}

/* A linear layer: 1 if it is there, 0 if not, -1. rows 0: as many as it has. */
static int
linear(struct bind *b, struct linear *to, enum role role, size_t block, uint64_t rows,
       uint64_t columns)
{
	bool turned = is_turned(b, role);
	char name[NAME];
	size_t i = find(b, role, block, 0, ".weight", name);

	if (i == SIZE_MAX)
		return 0;
	if (rows == 0 && tensor_ndim(tensor_at(b, i)) == 2)
		rows = tensor_dims(tensor_at(b, i))[turned];
	if (matrix_of(b, i, rows, columns, turned, &to->w) < 0)
		return -1;
	to->bias = vector(b, role, block, ".bias", rows, 0);
	return b->e->code == ERR_NONE ? 1 : -1;
}

static int
need(struct bind *b, struct linear *to, enum role role, size_t block, uint64_t rows,
     uint64_t columns)
{
	char name[NAME];
	int r = linear(b, to, role, block, rows, columns);

	if (r == 0)
		return missing(b, name_of(b, role, block, 0, ".weight", name));
	return r < 0 ? -1 : 0;
}

static struct linear
part(const struct linear *of, size_t first, size_t rows)
{
	return (struct linear){ matrix_rows(&of->w, first, rows),
	                        of->bias ? of->bias + first : NULL };
}

/* ---- attention ---- */

/* Rows of the query, key and value of each head after another: put all queries first,
 * then keys, then values. */
static int
unmix(struct bind *b, struct linear *qkv)
{
	const struct hyper *h = b->h;
	size_t bytes = matrix_row_bytes(&qkv->w), head = h->head_k, i, k, r;
	uint8_t *to = make(b, qkv->w.rows, bytes);
	float *bias = make(b, qkv->w.rows, sizeof *bias);

	if (!to || !bias)
		return -1;
	for (i = 0; i < h->heads; i++)
		for (k = 0; k < 3; k++)
			for (r = 0; r < head; r++) {
				size_t from = (i * 3 + k) * head + r;
				size_t at = (k * h->heads + i) * head + r;

				memcpy(to + at * bytes, qkv->w.data + from * bytes, bytes);
				if (qkv->bias)
					bias[at] = qkv->bias[from];
			}
	qkv->w.data = to;
	if (qkv->bias)
		qkv->bias = bias;
	return 0;
}

static int
bind_attention(struct bind *b, struct block *k, size_t i)
{
	const struct hyper *h = b->h;
	size_t nq = h->heads * h->head_k, nk = h->kv_heads * h->head_k;
	size_t nv = h->kv_heads * h->head_v;
	struct linear qkv = { 0 };
	int r = linear(b, &qkv, ROLE_QKV, i, nq + nk + nv, h->width);

	if (r < 0)
		return -1;
	if (r > 0 && h->folder && (h->arch->flags & ARCH_MIXED_QKV)) {
		if (nq != nk || nq != nv)
			return err_set(b->e, ERR_FORMAT, b->w->name,
			               "queries that share keys are not known here");
		if (unmix(b, &qkv) < 0)
			return -1;
	}
	if (r > 0) {
		k->q = part(&qkv, 0, nq);
		k->k = part(&qkv, nq, nk);
		k->v = part(&qkv, nq + nk, nv);
	} else if (need(b, &k->q, ROLE_Q, i, nq, h->width) < 0 ||
	           need(b, &k->k, ROLE_K, i, nk, h->width) < 0 ||
	           need(b, &k->v, ROLE_V, i, nv, h->width) < 0) {
		return -1;
	}
	if ((h->arch->flags & ARCH_QK_NORM) &&
	    (norm(b, &k->q_norm, ROLE_Q_NORM, i, h->head_k) < 0 ||
	     norm(b, &k->k_norm, ROLE_K_NORM, i, h->head_k) < 0))
		return -1;
	return need(b, &k->o, ROLE_O, i, h->width, h->heads * h->head_v);
}

/* ---- feed-forward ---- */

static size_t
larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* ff: 0 if it is not said. */
static int
bind_dense(struct bind *b, struct feed_forward *f, size_t i, const enum role role[3],
           uint64_t ff)
{
	const struct hyper *h = b->h;

	if ((h->arch->flags & ARCH_GATE_IN_UP) && role[1] == ROLE_UP) {
		struct linear both = { 0 };

		if (need(b, &both, ROLE_UP, i, ff * 2, h->width) < 0)
			return -1;
		if (both.w.rows % 2 != 0)
			return missing(b, "half of the rows of a gate");
		ff = both.w.rows / 2;
		f->gate = part(&both, 0, ff);
		f->up = part(&both, ff, ff);
	} else {
		if (need(b, &f->up, role[1], i, ff, h->width) < 0)
			return -1;
		ff = f->up.w.rows;
		if ((h->arch->flags & ARCH_GATED) &&
		    need(b, &f->gate, role[0], i, ff, h->width) < 0)
			return -1;
	}
	return need(b, &f->down, role[2], i, h->width, ff);
}

/* One tensor of all experts: rows and columns of each. */
static int
bind_stacked(struct bind *b, enum role role, size_t block, uint64_t rows,
             uint64_t columns, struct matrix *to)
{
	char name[NAME];
	size_t i = find(b, role, block, 0, ".weight", name);
	const struct tensor *t;
	const uint64_t *d;

	if (i == SIZE_MAX)
		return missing(b, name);
	t = tensor_at(b, i);
	d = tensor_dims(t);
	if (tensor_ndim(t) != 3 || d[0] != b->h->experts || (rows && d[1] != rows) ||
	    (columns && d[2] != columns) || d[1] == 0 || d[2] == 0)
		return err_set(b->e, ERR_CORRUPT, tensor_name(t), "has a shape that is not that "
		               "of %" PRIu64 " experts", b->h->experts);
	*to = (struct matrix){ tensor_type(t), b->w->tensors[i],
	                       b->w->tensors[i] + tensor_type(t)->head,
	                       (size_t)(d[0] * d[1]), (size_t)d[2] };
	if (!kernel_decodes(to->type))
		return err_set(b->e, ERR_FORMAT, tensor_name(t), "%s cannot be computed",
		               to->type->name);
	if (to->columns % to->type->items != 0 && expand(b, to, false) < 0)
		return -1;
	return usable(b, to, t);
}

static int
bind_stacks(struct bind *b, struct block *k, size_t i)
{
	const struct hyper *h = b->h;
	struct matrix gate, up, down;
	size_t x, ff;

	if (bind_stacked(b, ROLE_GATE_EXPS, i, h->ff_expert, h->width, &gate) < 0)
		return -1;
	ff = gate.rows / h->experts;
	if (bind_stacked(b, ROLE_UP_EXPS, i, ff, h->width, &up) < 0 ||
	    bind_stacked(b, ROLE_DOWN_EXPS, i, h->width, ff, &down) < 0)
		return -1;
	for (x = 0; x < h->experts; x++) {
		k->experts[x].gate.w = matrix_rows(&gate, x * ff, ff);
		k->experts[x].up.w = matrix_rows(&up, x * ff, ff);
		k->experts[x].down.w = matrix_rows(&down, x * h->width, h->width);
	}
	return 0;
}

/* A tensor of each expert. */
static int
bind_single(struct bind *b, struct feed_forward *f, size_t block, size_t x)
{
	static const enum role roles[3] = { ROLE_GATE_EXPS, ROLE_UP_EXPS, ROLE_DOWN_EXPS };
	struct matrix *to[3] = { &f->gate.w, &f->up.w, &f->down.w };
	const struct hyper *h = b->h;
	uint64_t ff = h->ff_expert ? h->ff_expert : h->ff;
	char name[NAME];
	size_t k, i;

	for (k = 0; k < 3; k++) {
		i = find(b, roles[k], block, x, ".weight", name);
		if (i == SIZE_MAX)
			return missing(b, name);
		if (matrix_of(b, i, k < 2 ? ff : h->width, k < 2 ? h->width : ff, false,
		              to[k]) < 0)
			return -1;
	}
	return 0;
}

static int
bind_experts(struct bind *b, struct block *k, size_t i)
{
	static const enum role shared[3] = { ROLE_SHARED_GATE, ROLE_SHARED_UP,
		ROLE_SHARED_DOWN };
	const struct hyper *h = b->h;
	char name[NAME];
	size_t x;

	if (need(b, &k->router, ROLE_ROUTER, i, h->experts, h->width) < 0)
		return -1;
	k->experts = make(b, h->experts, sizeof *k->experts);
	if (!k->experts)
		return -1;
	if (!h->folder && bind_stacks(b, k, i) < 0)
		return -1;
	for (x = 0; h->folder && x < h->experts; x++)
		if (bind_single(b, &k->experts[x], i, x) < 0)
			return -1;
	b->net->ff_expert = larger(b->net->ff_expert, k->experts[0].up.w.rows);
	if (!(h->arch->flags & ARCH_SHARED))
		return 0;
	k->shared_router = vector(b, ROLE_SHARED_ROUTER, i, ".weight", h->width, 0);
	if (!k->shared_router)
		return b->e->code == ERR_NONE
			? missing(b, name_of(b, ROLE_SHARED_ROUTER, i, 0, ".weight", name)) : -1;
	if (bind_dense(b, &k->shared, i, shared, h->ff_shared) < 0)
		return -1;
	b->net->ff_shared = larger(b->net->ff_shared, k->shared.up.w.rows);
	return 0;
}

/* ---- blocks, and what is beside them ---- */

static int
bind_block(struct bind *b, struct block *k, size_t i)
{
	static const enum role dense[3] = { ROLE_GATE, ROLE_UP, ROLE_DOWN };
	const struct hyper *h = b->h;

	if (norm(b, &k->attn_norm, ROLE_ATTN_NORM, i, h->width) < 0 ||
	    bind_attention(b, k, i) < 0 || norm(b, &k->ffn_norm, ROLE_FFN_NORM, i, h->width) < 0)
		return -1;
	if ((h->arch->flags & ARCH_POST_NORMS) &&
	    (norm(b, &k->attn_post, ROLE_ATTN_POST, i, h->width) < 0 ||
	     norm(b, &k->ffn_post, ROLE_FFN_POST, i, h->width) < 0))
		return -1;
	if (h->experts)
		return bind_experts(b, k, i);
	if (bind_dense(b, &k->ffn, i, dense, h->ff) < 0)
		return -1;
	b->net->ff = larger(b->net->ff, k->ffn.up.w.rows);
	return 0;
}

static int
bind_ends(struct bind *b)
{
	struct hyper *h = &b->net->hyper;
	struct linear embed = { 0 }, positions = { 0 };
	int r;

	if (need(b, &embed, ROLE_EMBED, 0, h->vocabulary, h->width) < 0)
		return -1;
	b->net->embed = embed.w;
	h->vocabulary = embed.w.rows;
	if (h->vocabulary > UINT32_MAX)
		return err_set(b->e, ERR_CORRUPT, b->w->name, "has too many tokens");
	if (h->arch->flags & ARCH_POSITIONS) {
		if (need(b, &positions, ROLE_POSITIONS, 0, 0, h->width) < 0)
			return -1;
		b->net->positions = positions.w;
		if (positions.w.rows < h->context)
			return err_set(b->e, ERR_CORRUPT, b->w->name, "a context of %" PRIu64
			               " has only %zu positions", h->context, positions.w.rows);
	}
	if (norm(b, &b->net->out_norm, ROLE_OUT_NORM, 0, h->width) < 0)
		return -1;
	r = linear(b, &b->net->out, ROLE_OUT, 0, h->vocabulary, h->width);
	if (r == 0)
		b->net->out = (struct linear){ .w = embed.w };
	return r < 0 ? -1 : 0;
}

/* Factors of frequencies that are tensors. */
static int
bind_rope(struct bind *b, uint64_t context)
{
	struct hyper *h = &b->net->hyper;
	uint64_t n = h->rope.rot / 2;
	const float *all = vector(b, ROLE_ROPE_FREQS, 0, ".weight", n, 0);
	const float *longer = vector(b, ROLE_ROPE_LONG, 0, ".weight", n, 0);
	const float *shorter = vector(b, ROLE_ROPE_SHORT, 0, ".weight", n, 0);
	bool beyond = (double)(context ? context : h->context) > h->rope.original;
	uint64_t i;

	if (b->e->code != ERR_NONE)
		return -1;
	if (h->factors_long)
		longer = h->factors_long;
	if (h->factors)
		shorter = h->factors;
	if (all)
		h->rope.factors = all;
	else if (longer && shorter)
		h->rope.factors = beyond ? longer : shorter;
	else if (longer && !shorter)
		return missing(b, "rope_factors_short.weight");
	for (i = 0; h->rope.factors && i < n; i++)
		if (!(h->rope.factors[i] > 0) || h->rope.factors[i] > 1e30f)
			return err_set(b->e, ERR_CORRUPT, b->w->name,
			               "a factor of its rotary positions cannot be right");
	if (h->rope.factors && !h->rope_window.factors && h->arch->period != 6)
		h->rope_window.factors = h->rope.factors;
	return 0;
}

/* What was not asked for would have changed the result. */
static int
prove_used(const struct bind *b)
{
	size_t i;

	for (i = 0; i < b->w->plan->tensor_count; i++) {
		const char *name = tensor_name(tensor_at(b, i));

		if (!b->used[i] && !(b->h->folder && arch_is_constant(name)))
			return err_set(b->e, ERR_FORMAT, name, "is a tensor that a %s model has "
			               "no place for here", b->h->arch->name ? b->h->arch->name
			               : b->h->arch->folder);
	}
	return 0;
}

int
net_open(struct net *net, const struct weights *w, uint64_t context, struct err *e)
{
	struct bind b = { .net = net, .w = w, .e = e };
	size_t i;
	int r = -1;

	*net = (struct net){ 0 };
	if (hyper_read(&net->hyper, w, e) < 0)
		return -1;
	b.h = &net->hyper;
	b.by_name = model_tensors_by_name(w->plan, e);
	b.used = mem_array(w->plan->tensor_count, sizeof *b.used);
	if (!b.by_name || !b.used) {
		err_memory(e);
		goto end;
	}
	if (bind_ends(&b) < 0 || bind_rope(&b, context) < 0)
		goto end;
	net->blocks = make(&b, net->hyper.layers, sizeof *net->blocks);
	if (!net->blocks)
		goto end;
	for (i = 0; i < net->hyper.layers; i++)
		if (bind_block(&b, &net->blocks[i], i) < 0)
			goto end;
	r = prove_used(&b);
end:
	free(b.by_name);
	free(b.used);
	return r;
}

void
net_free(struct net *net)
{
	size_t i;

	for (i = 0; i < net->made_count; i++)
		free(net->made[i]);
	free(net->made);
	hyper_free(&net->hyper);
	*net = (struct net){ 0 };
}
