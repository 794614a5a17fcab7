#include "infer/bind.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "kernels/kernel.h"
#include "model/low_rank.h"

void *
bind_make(struct bind *b, size_t n, size_t size)
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

const struct tensor *
bind_tensor(const struct bind *b, size_t i)
{
	return b->w->plan->tensors[i];
}

const char *
bind_name(const struct bind *b, enum role role, size_t block, size_t expert,
          const char *ending, char name[FIND_NAME])
{
	return find_name(&b->find, role, block, expert, ending, name);
}

size_t
bind_find(const struct bind *b, enum role role, size_t block, size_t expert,
          const char *ending, char name[FIND_NAME])
{
	size_t i = find_tensor(&b->find, role, block, expert, ending, name);

	if (i != SIZE_MAX)
		b->used[i] = true;
	return i;
}

int
bind_missing(const struct bind *b, const char *name)
{
	return find_missing(b->w->plan, b->w->name, name, b->e);
}

/* ---- vectors ---- */

/* The n values of tensor i, plus add each. */
static const float *
vector_of(struct bind *b, size_t i, uint64_t n, float add)
{
	const struct tensor *t = bind_tensor(b, i);
	const struct dtype *type = tensor_type(t);
	const uint8_t *data = b->w->tensors[i];
	float *v;
	size_t k;

	if (tensor_items(t) != n || tensor_row(t) != n) {
		char shape[TENSOR_SHAPE_TEXT];

		err_set(b->e, ERR_CORRUPT, tensor_name(t), "has shape %s, where %" PRIu64
		        " values are expected", tensor_shape_text(t, shape), n);
		return NULL;
	}
	if (!kernel_decodes(type)) {
		err_set(b->e, ERR_FORMAT, tensor_name(t), "%s cannot be computed", type->name);
		return NULL;
	}
	v = bind_make(b, n, sizeof *v);
	if (!v)
		return NULL;
	kernel_decode(type, data, data + type->head, v, n);
	for (k = 0; k < n; k++)
		v[k] += add;
	return v;
}

const float *
bind_vector(struct bind *b, enum role role, size_t block, const char *ending, uint64_t n,
            float add)
{
	char name[FIND_NAME];
	size_t i = bind_find(b, role, block, 0, ending, name);

	return i == SIZE_MAX ? NULL : vector_of(b, i, n, add);
}

static bool
is_feed_forward(enum role role)
{
	return role == ROLE_GATE || role == ROLE_UP || role == ROLE_DOWN;
}

const float *
bind_scale(struct bind *b, enum role role, size_t block, uint64_t n)
{
	char name[FIND_NAME];

	if (b->h->folder)
		return NULL;
	bind_find(b, role, block, 0, ".input_scale", name);
	if ((b->h->arch->flags & ARCH_FF_UNSCALED) && is_feed_forward(role)) {
		bind_find(b, role, block, 0, ".scale", name);
		return NULL;
	}
	return bind_vector(b, role, block, ".scale", n, 0);
}

/* llama.cpp applies the scale of a feed-forward layer to its bias too. */
static int
scale_bias(struct bind *b, struct linear *l)
{
	float *bias = bind_make(b, l->w.rows, sizeof *bias);
	size_t i;

	for (i = 0; bias && i < l->w.rows; i++)
		bias[i] = l->bias[i] * *l->scale;
	l->bias = bias;
	return bias ? 0 : -1;
}

int
bind_norm(struct bind *b, struct norm *to, enum role role, size_t block, uint64_t n)
{
	bool plus = b->h->folder && (b->h->arch->flags & ARCH_PLUS_ONE);
	char name[FIND_NAME];

	to->layer = b->h->layer_norm;
	to->eps = b->h->eps;
	to->weight = bind_vector(b, role, block, ".weight", n, plus ? 1 : 0);
	to->bias = bind_vector(b, role, block, ".bias", n, 0);
	if (!to->weight && b->e->code == ERR_NONE) {
		bind_name(b, role, block, 0, ".weight", name);
		bind_missing(b, name);
	}
	return b->e->code == ERR_NONE ? 0 : -1;
}

/* ---- matrices ---- */

static int
shape_is(const struct bind *b, const struct tensor *t, uint64_t rows, uint64_t columns)
{
	char shape[TENSOR_SHAPE_TEXT];

	return err_set(b->e, ERR_CORRUPT, tensor_name(t), "has shape %s, where %" PRIu64
	               "x%" PRIu64 " is expected", tensor_shape_text(t, shape), rows, columns);
}

int
bind_expand(struct bind *b, struct matrix *m, bool turn)
{
	size_t r, c, n = m->rows * m->columns;
	float *all = bind_make(b, n, sizeof *all), *row;

	if (!all)
		return -1;
	kernel_decode(m->type, m->head, m->data, all, n);
	m->type = dtype_by_name("F32");
	m->head = NULL;
	m->data = (const uint8_t *)all;
	if (!turn)
		return 0;
	row = bind_make(b, n, sizeof *row);
	if (!row)
		return -1;
	for (r = 0; r < m->rows; r++)
		for (c = 0; c < m->columns; c++)
			row[c * m->rows + r] = all[r * m->columns + c];
	m->data = (const uint8_t *)row;
	r = m->rows;
	m->rows = m->columns;
	m->columns = r;
	/* The matrix before it was transposed is no longer needed. */
	free(b->net->made[b->net->made_count - 2]);
	b->net->made[b->net->made_count - 2] = row;
	b->net->made_count--;
	b->net->made_bytes -= (uint64_t)n * sizeof *row;
	return 0;
}

/* Values of plain types are moved; blocks are decoded first. */
static int
transpose(struct bind *b, struct matrix *m)
{
	size_t size = m->type->bytes, r, c;
	uint8_t *to;

	if (m->type->items != 1 || m->type->whole)
		return bind_expand(b, m, true);
	to = bind_make(b, m->rows * m->columns, size);
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

int
bind_usable(struct bind *b, const struct matrix *m, const struct tensor *t)
{
	if (b->ops->multiplies(m->type, m->columns))
		return 0;
	return err_set(b->e, ERR_FORMAT, tensor_name(t), "%s cannot be multiplied",
	               m->type->name);
}

int
bind_matrix(struct bind *b, size_t i, uint64_t rows, uint64_t columns, bool turned,
            struct matrix *m)
{
	const struct tensor *t = bind_tensor(b, i);
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
	                      (size_t)d[1], false, NULL };
	if (turned && transpose(b, m) < 0)
		return -1;
	/* If blocks run across rows, a row can begin inside a block. */
	if (m->columns % m->type->items != 0 && bind_expand(b, m, false) < 0)
		return -1;
	return bind_usable(b, m, t);
}

static bool
is_turned(const struct bind *b, enum role role)
{
	return b->h->folder && (b->h->arch->flags & ARCH_CONV1D) && role != ROLE_EMBED &&
	       role != ROLE_POSITIONS && role != ROLE_OUT;
}

/* The matrices that an adapter adds to a layer, as layers of F32. */
static struct low *
make_low(struct bind *b, const uint8_t *left, const uint8_t *right, const struct linear *of,
         size_t rank)
{
	const struct dtype *f32 = dtype_by_name("F32");
	struct low *low = bind_make(b, 1, sizeof *low);

	if (!low)
		return NULL;
	low->a = (struct linear){ .w = { f32, NULL, right, rank, of->w.columns, false, NULL },
		.id = of->id };
	low->b = (struct linear){ .w = { f32, NULL, left, of->w.rows, rank, false, NULL },
		.id = of->id };
	return low;
}

/* What adapters add to tensor i, which is the matrix of a layer. Tables of tokens are not layers. */
static int
bind_low(struct bind *b, struct linear *to, size_t i)
{
	size_t k;

	for (k = 0; k < b->low_count && b->low[k].tensor != i; k++)
		;
	if (k == b->low_count || to->id.role == ROLE_EMBED || to->id.role == ROLE_POSITIONS)
		return 0;
	if (b->low[k].rows != to->w.rows || b->low[k].columns != to->w.columns)
		return err_set(b->e, ERR_INVALID, tensor_name(bind_tensor(b, i)),
		               "the adapter has another shape");
	b->low_used[k] = true;
	to->low = make_low(b, (const uint8_t *)b->low[k].left, (const uint8_t *)b->low[k].right,
	                   to, b->low[k].rank);
	return to->low ? 0 : -1;
}

int
bind_part(struct bind *b, const struct linear *l, size_t first, size_t rows, struct linear *to)
{
	const struct low *low = l->low;

	*to = (struct linear){ matrix_rows(&l->w, first, rows), l->bias ? l->bias + first : NULL,
	                       l->scale, l->id, l->inner, NULL };
	if (!low)
		return 0;
	to->low = make_low(b, low->b.w.data + first * matrix_row_bytes(&low->b.w),
	                   low->a.w.data, to, low->b.w.columns);
	return to->low ? 0 : -1;
}

/* The tensors of a matrix that apr-lowrank has factored: 1; 0 if there are none; -1. Those of a
 * matrix that is stored transposed change places. */
static int
bind_factors(struct bind *b, struct linear *to, enum role role, size_t block, size_t expert,
             uint64_t rows, uint64_t columns)
{
	const bool turned = is_turned(b, role);
	const char *const ending[2] = { ".weight" LOWRANK_LEFT, ".weight" LOWRANK_RIGHT };
	char left[FIND_NAME], right[FIND_NAME];
	const size_t u = bind_find(b, role, block, expert, ending[turned], left);
	const size_t v = bind_find(b, role, block, expert, ending[!turned], right);
	const struct tensor *t;
	uint64_t rank;

	if (u == SIZE_MAX || v == SIZE_MAX)
		return u == v ? 0 : bind_missing(b, u == SIZE_MAX ? left : right);
	t = bind_tensor(b, u);
	rank = tensor_ndim(t) == 2 ? tensor_dims(t)[!turned] : 0;
	if (rows == 0 && tensor_ndim(t) == 2)
		rows = tensor_dims(t)[turned];
	to->inner = bind_make(b, 1, sizeof *to->inner);
	if (!to->inner || bind_matrix(b, u, rows, rank, turned, &to->w) < 0 ||
	    bind_matrix(b, v, rank, columns, turned, &to->inner->w) < 0)
		return -1;
	to->inner->id = to->id;
	return 1;
}

int
bind_weight(struct bind *b, struct linear *to, enum role role, size_t block, size_t expert,
            uint64_t rows, uint64_t columns)
{
	const bool turned = is_turned(b, role);
	char name[FIND_NAME];
	const size_t i = bind_find(b, role, block, expert, ".weight", name);

	to->id = (struct linear_id){ role, (uint32_t)block, (uint32_t)expert };
	if (i == SIZE_MAX)
		return bind_factors(b, to, role, block, expert, rows, columns);
	if (rows == 0 && tensor_ndim(bind_tensor(b, i)) == 2)
		rows = tensor_dims(bind_tensor(b, i))[turned];
	if (bind_matrix(b, i, rows, columns, turned, &to->w) < 0)
		return -1;
	return bind_low(b, to, i) < 0 ? -1 : 1;
}

int
bind_linear(struct bind *b, struct linear *to, enum role role, size_t block, uint64_t rows,
            uint64_t columns)
{
	const int r = bind_weight(b, to, role, block, 0, rows, columns);

	if (r <= 0)
		return r;
	to->bias = bind_vector(b, role, block, ".bias", to->w.rows, 0);
	to->scale = bind_scale(b, role, block, 1);
	if (to->scale && to->bias && is_feed_forward(role) && scale_bias(b, to) < 0)
		return -1;
	return b->e->code == ERR_NONE ? 1 : -1;
}

int
bind_need(struct bind *b, struct linear *to, enum role role, size_t block, uint64_t rows,
          uint64_t columns)
{
	char name[FIND_NAME];
	int r = bind_linear(b, to, role, block, rows, columns);

	if (r == 0)
		return bind_missing(b, bind_name(b, role, block, 0, ".weight", name));
	return r < 0 ? -1 : 0;
}

