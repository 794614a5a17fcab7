/* Changes of tensors, as pieces of their sources. */
#include <string.h>

#include "adapt/tensors/tensors_parts.h"
#include "core/num.h"

static int
refuse(const struct tensor *t, const char *what, struct err *e)
{
	return err_set(e, ERR_INVALID, tensor_name(t), "ArchitectureMismatch: %s", what);
}

static uint64_t
last(const struct tensor *t, unsigned back)
{
	unsigned n = tensor_ndim(t);

	return back < n ? tensor_dims(t)[n - 1 - back] : 1;
}

/* Values of a row: of all dimensions except the first. */
static uint64_t
row_values(const struct tensor *t)
{
	return tensor_ndim(t) && tensor_dims(t)[0] ? tensor_items(t) / tensor_dims(t)[0] : 1;
}

static uint64_t
first(const struct tensor *t)
{
	return tensor_ndim(t) ? tensor_dims(t)[0] : 1;
}

static uint64_t
heads_of(const struct view *v)
{
	return sizes_get(v->sizes, v->change == CHANGE_PAIRS_Q ? 'H' :
	                           v->change == CHANGE_K_B || v->change == CHANGE_V_B ? 'H' : 'G');
}

/* ---- shapes ---- */

static int
shape_heads(const struct view *v, const struct tensor *t, uint64_t parts, struct err *e)
{
	uint64_t heads = heads_of(v), all;

	if (heads == 0)
		return refuse(t, "the number of heads is not known", e);
	if (num_mul(heads, parts, &all) < 0 || first(t) == 0 || first(t) % all)
		return refuse(t, "its rows do not divide by the number of heads", e);
	return 0;
}

static int
shape_latent(struct view *v, const struct tensor *t, struct err *e)
{
	uint64_t n = sizes_get(v->sizes, 'N'), u = sizes_get(v->sizes, 'U'), l = row_values(t), all;
	uint64_t heads = heads_of(v);

	if (heads == 0 || n == 0 || u == 0 || num_mul(heads, n + u, &all) < 0 || all != first(t))
		return refuse(t, "its rows are not those of all heads", e);
	v->ndim = 3;
	v->dims[0] = heads;
	v->dims[1] = v->change == CHANGE_K_B ? l : u;
	v->dims[2] = v->change == CHANGE_K_B ? n : l;
	return 0;
}

static int
shape_half(struct view *v, const struct tensor *t, struct err *e)
{
	unsigned n = v->ndim;

	if (n < 2 || v->dims[n - 1] % 2)
		return refuse(t, "it cannot be split in two", e);
	v->dims[n - 1] /= 2;
	if (n > 2) {
		uint64_t rows = v->dims[n - 1];

		v->dims[n - 1] = v->dims[n - 2];
		v->dims[n - 2] = rows;
	}
	return 0;
}

static void
squeeze(struct view *v)
{
	unsigned i, n = 0;

	for (i = 0; i < v->ndim; i++)
		if (v->dims[i] != 1)
			v->dims[n++] = v->dims[i];
	v->ndim = n;
}

static int
shape_change(struct view *v, const struct tensor *t, struct err *e)
{
	unsigned n = v->ndim;
	uint64_t rows;

	switch (v->change) {
	case CHANGE_PAIRS_Q:
	case CHANGE_PAIRS_K:
		return shape_heads(v, t, 2, e);
	case CHANGE_QKV:
		if (heads_of(v) == 0 || sizes_get(v->sizes, 'H') % heads_of(v))
			return refuse(t, "the number of heads is not known", e);
		return shape_heads(v, t, sizes_get(v->sizes, 'H') / heads_of(v) + 2, e);
	case CHANGE_TURN:
		if (v->bias)
			return 0;
		if (n < 2)
			return refuse(t, "it is not a matrix", e);
		rows = v->dims[n - 2];
		v->dims[n - 2] = v->dims[n - 1];
		v->dims[n - 1] = rows;
		return 0;
	case CHANGE_K_B:
	case CHANGE_V_B:
		return shape_latent(v, t, e);
	case CHANGE_EVEN:
	case CHANGE_ODD:
		return shape_half(v, t, e);
	case CHANGE_SQUEEZE:
		squeeze(v);
		return 0;
	case CHANGE_SKIP_ROWS:
		if (v->dims[0] <= sizes_get(v->sizes, 'O'))
			return refuse(t, "it has too few rows", e);
		v->dims[0] -= sizes_get(v->sizes, 'O');
		return 0;
	case CHANGE_NONE:
	case CHANGE_PLUS_ONE:
	case CHANGE_NEG_EXP:
		break;
	}
	return 0;
}

int
view_shape(struct view *v, const struct tensor *t, uint64_t stack, struct err *e)
{
	v->ndim = tensor_ndim(t);
	memcpy(v->dims, tensor_dims(t), v->ndim * sizeof *v->dims);
	if (tensor_items(t) == 0)
		return refuse(t, "it has no values", e);
	if (shape_change(v, t, e) < 0)
		return -1;
	if (stack == 0)
		return 0;
	if (v->ndim == TENSOR_DIMS)
		return refuse(t, "it has too many dimensions to be stacked", e);
	memmove(v->dims + 1, v->dims, v->ndim++ * sizeof *v->dims);
	v->dims[0] = stack;
	return 0;
}

/* ---- pieces ---- */

static struct move_piece
pairs(const struct view *v, const struct tensor *t, size_t source)
{
	uint64_t heads = heads_of(v), half = first(t) / heads / 2, row = row_values(t);

	return (struct move_piece){ .source = source, .n = 4,
		.count = { heads, half, 2, row },
		.stride = { 2 * half * row, row, half * row, 1 } };
}

static struct move_piece
turned(const struct tensor *t, size_t source)
{
	uint64_t rows = last(t, 1), columns = last(t, 0);

	return (struct move_piece){ .source = source, .n = 3,
		.count = { tensor_items(t) / (rows * columns), columns, rows },
		.stride = { rows * columns, 1, columns } };
}

/* Part of each group of rows: n values from base on. */
static struct move_piece
grouped(size_t source, uint64_t groups, uint64_t group, uint64_t base, uint64_t n)
{
	return (struct move_piece){ .source = source, .n = 2, .base = base,
		.count = { groups, n }, .stride = { group, 1 } };
}

static int
add_qkv(const struct view *v, struct tensors_row *row, const struct tensor *t, size_t source,
        struct err *e)
{
	uint64_t groups = heads_of(v), queries = sizes_get(v->sizes, 'H') / groups;
	uint64_t group = tensor_items(t) / groups, head = group / (queries + 2);

	if (tensors_add_piece(row, grouped(source, groups, group, 0, queries * head), e) < 0 ||
	    tensors_add_piece(row, grouped(source, groups, group, queries * head, head), e) < 0)
		return -1;
	return tensors_add_piece(row, grouped(source, groups, group, (queries + 1) * head, head),
	                         e);
}

static struct move_piece
latent(const struct view *v, const struct tensor *t, size_t source)
{
	uint64_t n = sizes_get(v->sizes, 'N'), u = sizes_get(v->sizes, 'U'), l = row_values(t);

	if (v->change == CHANGE_V_B)
		return grouped(source, heads_of(v), (n + u) * l, n * l, u * l);
	return (struct move_piece){ .source = source, .n = 3, .count = { heads_of(v), l, n },
		.stride = { (n + u) * l, 1, l } };
}

static struct move_piece
every_second(const struct view *v, const struct tensor *t, size_t source)
{
	uint64_t columns = last(t, 0), rows = tensor_ndim(t) > 2 ? last(t, 1) : 1;

	return (struct move_piece){ .source = source, .n = 3, .base = v->change == CHANGE_ODD,
		.count = { tensor_items(t) / (rows * columns), columns / 2, rows },
		.stride = { rows * columns, 2, columns } };
}

static struct move_piece
piece_of(const struct view *v, const struct tensor *t, size_t source)
{
	uint64_t skip;

	switch (v->change) {
	case CHANGE_PAIRS_Q:
	case CHANGE_PAIRS_K:
		return pairs(v, t, source);
	case CHANGE_TURN:
		if (!v->bias)
			return turned(t, source);
		break;
	case CHANGE_K_B:
	case CHANGE_V_B:
		return latent(v, t, source);
	case CHANGE_EVEN:
	case CHANGE_ODD:
		return every_second(v, t, source);
	case CHANGE_SKIP_ROWS:
		skip = sizes_get(v->sizes, 'O') * row_values(t);
		return move_run(source, skip, tensor_items(t) - skip);
	case CHANGE_NONE:
	case CHANGE_PLUS_ONE:
	case CHANGE_QKV:
	case CHANGE_NEG_EXP:
	case CHANGE_SQUEEZE:
		break;
	}
	return move_run(source, 0, tensor_items(t));
}

int
view_add(const struct view *v, struct tensors_row *row, const struct tensor *t, size_t source,
         struct err *e)
{
	int r = v->change == CHANGE_QKV ? add_qkv(v, row, t, source, e)
	                                : tensors_add_piece(row, piece_of(v, t, source), e);

	if (r < 0 || move_keeps_blocks(&row->move, tensor_type(t)))
		return r;
	err_set(e, ERR_FORMAT, tensor_name(t), "its values are turned, which cuts the blocks of "
	        "%s", tensor_type(t)->name);
	return err_hint(e, "apr-quant bf16 or f16 before apr-adapt decodes it");
}
