/* Values that are made of others: quantized, palettized and sparse ones. */
#include <inttypes.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "imports/coreml/coreml_program.h"

static int
wrong(const struct coreml *s, const char *name, const char *what)
{
	return err_set(s->import.err, ERR_CORRUPT, name, "%s", what);
}

int
coreml_too_deep(const struct coreml *s, const char *name)
{
	return err_set(s->import.err, ERR_CORRUPT, name, "is made of values that are made of others, "
	               "more than %d times", COREML_MADE);
}

/* An operand that must exist, and may be sparse. */
static int
need_any(const struct coreml *s, const char *name, const struct coreml_operands *x, const char *which,
     const struct coreml_value **v)
{
	if (x->find(x, which, v) < 0)
		return -1;
	if (!*v)
		return err_set(s->import.err, ERR_CORRUPT, name, "is made without %s", which);
	if ((*v)->type->bits == 8 && (*v)->type->kind == COREML_FLOAT)
		return err_set(s->import.err, ERR_FORMAT, name, "is made of floats of 8 bits, which are "
		               "not read");
	return 0;
}

/* An operand that must exist. */
static int
need(const struct coreml *s, const char *name, const struct coreml_operands *x, const char *which,
     const struct coreml_value **v)
{
	return need_any(s, name, x, which, v) < 0 ? -1 : !(*v)->dense ? 0 :
	       wrong(s, name, "is made of sparse values as if they were dense");
}

/* Take the depth from the operands. */
static int
set_depth(const struct coreml *s, const char *name, struct coreml_value *v)
{
	const struct coreml_value *of[3] = { v->data, v->scale, v->offset };
	size_t i;

	for (i = 0; i < 3; i++)
		if (of[i] && of[i]->depth >= v->depth)
			v->depth = of[i]->depth + 1;
	return v->depth > COREML_MADE ? coreml_too_deep(s, name) : 0;
}

static void
take_shape(struct coreml_value *v, const struct coreml_value *from)
{
	v->ndim = from->ndim;
	memcpy(v->dims, from->dims, sizeof v->dims);
	v->items = from->items;
}

/* ---- scales ---- */

/* The number of value i's scale in a grid with these dimensions. */
static uint64_t
in_grid(const struct coreml_value *v, const uint64_t *grid, uint64_t i)
{
	uint64_t at = 0, stride = 1, place;
	unsigned m;

	for (m = v->ndim; m-- > 0; i /= v->dims[m]) {
		place = i % v->dims[m] / (v->dims[m] / grid[m]);
		at += place * stride;
		stride *= grid[m];
	}
	return at;
}

static float
scaled_at(const struct coreml_value *v, uint64_t i)
{
	float f;

	if (v->hole && v->hole(v, i))
		return 0;
	f = v->data->at(v->data, i);
	if (v->offset)
		f -= v->offset->at(v->offset, in_grid(v, v->offsets, i));
	return f * v->scale->at(v->scale, in_grid(v, v->scales, i));
}

/* Copy the dimensions of a grid; each must divide that of the values. */
static int
take_grid(struct coreml *s, const char *name, const struct coreml_value *v,
          const struct coreml_value *grid, uint64_t *to)
{
	unsigned m;

	if (grid->ndim != v->ndim)
		return wrong(s, name, "has scales with another number of dimensions");
	for (m = 0; m < v->ndim; m++) {
		to[m] = grid->dims[m];
		if (to[m] == 0 || v->dims[m] % to[m])
			return wrong(s, name, "has a number of scales that does not divide its values");
	}
	return 0;
}

/* The same for one scale, or one for each step along an axis. */
static int
take_axis(struct coreml *s, const char *name, const struct coreml_value *v,
          const struct coreml_value *grid, unsigned axis, uint64_t *to)
{
	unsigned m;

	for (m = 0; m < v->ndim; m++)
		to[m] = 1;
	if (grid->ndim > 1 || (grid->ndim == 1 && grid->items != 1 && grid->items != v->dims[axis]))
		return wrong(s, name, "has a number of scales that is not that of its axis");
	if (grid->items > 1)
		to[axis] = grid->items;
	return grid->items ? 0 : wrong(s, name, "has no scale");
}

/* An axis, which may count from the end. */
static int
read_axis(struct coreml *s, const char *name, const struct coreml_value *axis, unsigned ndim,
          unsigned *to)
{
	int64_t a = axis->at == coreml_stored && axis->items == 1 && axis->type->kind != COREML_FLOAT
	            ? coreml_integer(axis, 0) : INT64_MAX;

	if (a < 0 && a >= -(int64_t)ndim)
		a += ndim;
	if (a < 0 || a >= (int64_t)ndim)
		return wrong(s, name, "has an axis that is not one of its dimensions");
	*to = (unsigned)a;
	return 0;
}

static int
affine(struct coreml *s, const char *name, const struct coreml_operands *x, struct coreml_value *v)
{
	const struct coreml_value *axis;
	unsigned a;

	if (need(s, name, x, "quantized_data", &v->data) < 0 || need(s, name, x, "scale", &v->scale) < 0 ||
	    need(s, name, x, "zero_point", &v->offset) < 0 || need(s, name, x, "axis", &axis) < 0)
		return -1;
	take_shape(v, v->data);
	v->at = scaled_at;
	v->type = v->scale->type;
	if (read_axis(s, name, axis, v->ndim, &a) < 0 ||
	    take_axis(s, name, v, v->scale, a, v->scales) < 0)
		return -1;
	return take_axis(s, name, v, v->offset, a, v->offsets);
}

/* Scales and offsets of blocks of v->data. */
static int
take_blocks(struct coreml *s, const char *name, const struct coreml_operands *x,
            struct coreml_value *v)
{
	if (need(s, name, x, "scale", &v->scale) < 0 || x->find(x, "offset", &v->offset) < 0 ||
	    (v->offset && need(s, name, x, "offset", &v->offset) < 0))
		return -1;
	take_shape(v, v->data);
	v->at = scaled_at;
	v->type = v->scale->type;
	if (take_grid(s, name, v, v->scale, v->scales) < 0)
		return -1;
	return v->offset ? take_grid(s, name, v, v->offset, v->offsets) : 0;
}

static int
blockwise(struct coreml *s, const char *name, const struct coreml_operands *x,
          struct coreml_value *v)
{
	return need(s, name, x, "data", &v->data) < 0 ? -1 : take_blocks(s, name, x, v);
}

/* ---- tables ---- */

/* The place of value i's index; *table: the number of its table; *inside: its place in a vector. */
static uint64_t
index_of(const struct coreml_value *v, uint64_t i, uint64_t *table, uint64_t *inside)
{
	uint64_t index = 0, stride = 1, tables = 1, place, size;
	unsigned m;

	*table = *inside = 0;
	for (m = v->ndim; m-- > 0;) {
		place = i % v->dims[m];
		i /= v->dims[m];
		size = v->dims[m];
		if (m == v->axis) {
			*inside = place % v->vector;
			place /= v->vector;
			size /= v->vector;
		}
		index += place * stride;
		stride *= size;
		*table += place / (size / v->scales[m]) * tables;
		tables *= v->scales[m];
	}
	return index;
}

static float
looked_up(const struct coreml_value *v, uint64_t i)
{
	uint64_t table, inside, index = index_of(v, i, &table, &inside);

	if (v->data->hole && v->data->hole(v->data, index))
		return 0;
	index = v->data->at == coreml_stored ? (uint64_t)coreml_integer(v->data, index)
	                                     : (uint64_t)v->data->at(v->data, index);
	return v->scale->at(v->scale, (table * v->palettes + index) * v->vector + inside);
}

/* Take the shape from an operand of whole numbers, as iOS 16 states it. */
static int
read_shape(struct coreml *s, const char *name, const struct coreml_value *shape,
           struct coreml_value *v)
{
	int64_t size;

	if (shape->at != coreml_stored || shape->type->kind == COREML_FLOAT ||
	    shape->items > TENSOR_DIMS)
		return wrong(s, name, "has a shape that is not a list of whole numbers");
	v->items = 1;
	for (v->ndim = 0; v->ndim < shape->items; v->ndim++) {
		size = coreml_integer(shape, v->ndim);
		if (size < 0 || num_mul(v->items, (uint64_t)size, &v->items) < 0)
			return wrong(s, name, "has a shape of too many values");
		v->dims[v->ndim] = (uint64_t)size;
	}
	return 0;
}

/* Stored bytes as values of `bits` bits in a shape: a new value of the source. */
static const struct coreml_value *
as_bits(struct coreml *s, const char *name, const struct coreml_value *bytes,
        const struct coreml_value *shape, unsigned bits)
{
	struct coreml_value *v;

	if (bytes->at != coreml_stored || bytes->type->bits != 8 || !coreml_type_of_bits(bits)) {
		wrong(s, name, "has indices or a mask that are not packed in bytes");
		return NULL;
	}
	v = coreml_value_new(s);
	if (!v)
		return NULL;
	v->p = bytes->p;
	v->map = bytes->map;
	v->at = coreml_stored;
	v->type = coreml_type_of_bits(bits);
	if (read_shape(s, name, shape, v) < 0 || coreml_prove_size(s, name, v, bytes->items) < 0)
		return NULL;
	return v;
}

static unsigned
log_of(uint64_t n)
{
	unsigned bits = 0;

	while (bits < 16 && (uint64_t)1 << bits < n)
		bits++;
	return bits;
}

/* The table and indices of iOS 16: a list of values, and bytes. */
static int
take_list(struct coreml *s, const char *name, const struct coreml_value *shape,
          struct coreml_value *v)
{
	unsigned m;

	v->data = as_bits(s, name, v->data, shape, log_of(v->scale->items));
	if (!v->data)
		return -1;
	take_shape(v, v->data);
	v->palettes = v->scale->items;
	v->vector = 1;
	for (m = 0; m < v->ndim; m++)
		v->scales[m] = 1;
	return 0;
}

/* The tables of iOS 18: [blocks..., values, numbers of a value]. */
static int
take_tables(struct coreml *s, const char *name, const struct coreml_operands *x,
            struct coreml_value *v)
{
	const struct coreml_value *axis;
	unsigned m;

	take_shape(v, v->data);
	if (v->scale->ndim != v->ndim + 2 || v->ndim == 0)
		return wrong(s, name, "has a table whose shape does not fit its indices");
	for (m = 0; m < v->ndim; m++) {
		v->scales[m] = v->scale->dims[m];
		if (v->scales[m] == 0 || v->dims[m] % v->scales[m])
			return wrong(s, name, "has a number of tables that does not divide its values");
	}
	v->palettes = v->scale->dims[v->ndim];
	v->vector = v->scale->dims[v->ndim + 1];
	if (x->find(x, "vector_axis", &axis) < 0)
		return -1;
	if (!axis && v->vector == 1)
		return 0;
	if (!axis || v->vector == 0)
		return wrong(s, name, "has a table of vectors without an axis");
	if (read_axis(s, name, axis, v->ndim, &v->axis) < 0)
		return -1;
	if (num_mul(v->dims[v->axis], v->vector, &v->dims[v->axis]) < 0 ||
	    num_mul(v->items, v->vector, &v->items) < 0)
		return wrong(s, name, "has a shape of too many values");
	return 0;
}

/* True if the indices are whole numbers of as many bits as the table needs. */
static int
check_table(const struct coreml *s, const char *name, const struct coreml_value *v)
{
	if (v->data->type->kind != COREML_UNSIGNED || v->data->type->bits > 8 ||
	    v->palettes != (uint64_t)1 << v->data->type->bits)
		return wrong(s, name, "has a table of another size than its bits");
	return 0;
}

static int
table(struct coreml *s, const char *name, const struct coreml_operands *x, struct coreml_value *v)
{
	const struct coreml_value *shape;

	if (need(s, name, x, "indices", &v->data) < 0 || need(s, name, x, "lut", &v->scale) < 0 ||
	    x->find(x, "shape", &shape) < 0)
		return -1;
	v->at = looked_up;
	v->type = v->scale->type;
	if ((shape ? take_list(s, name, shape, v) : take_tables(s, name, x, v)) < 0)
		return -1;
	if (v->data->at != coreml_stored)
		return wrong(s, name, "has indices that are made of other values");
	return check_table(s, name, v);
}

/* ---- sparse ---- */

static unsigned
bits_of(uint8_t byte, unsigned below)
{
	return (unsigned)__builtin_popcount(byte & ((1u << below) - 1));
}

static float
sparse_at(const struct coreml_value *v, uint64_t i)
{
	const uint8_t *mask = v->data->p;
	uint64_t at, byte;

	if (!(mask[i / 8] >> i % 8 & 1))
		return 0;
	at = v->counts[i / COREML_STEP];
	for (byte = i / COREML_STEP * (COREML_STEP / 8); byte < i / 8; byte++)
		at += bits_of(mask[byte], 8);
	return v->scale->at(v->scale, at + bits_of(mask[i / 8], (unsigned)(i % 8)));
}

/* Count the bits of the mask, which must be as many as there are values. */
static int
count_bits(struct coreml *s, const char *name, struct coreml_value *v)
{
	uint64_t i, bytes = v->items / 8 + (v->items % 8 != 0), set = 0;

	v->counts = mem_array((size_t)(v->items / COREML_STEP + 1), sizeof *v->counts);
	if (!v->counts)
		return err_memory(s->import.err);
	for (i = 0; i < bytes; i++) {
		if (i % (COREML_STEP / 8) == 0)
			v->counts[i / (COREML_STEP / 8)] = set;
		set += bits_of(v->data->p[i], 8);
	}
	if (set != v->scale->items)
		return wrong(s, name, "has another number of values than of bits in its mask");
	if (v->items % 8 && v->data->p[bytes - 1] >> v->items % 8)
		return wrong(s, name, "has bits behind the end of its mask");
	return 0;
}

/* Values of a list, v->scale, where the mask v->data has a bit. */
static int
take_mask(struct coreml *s, const char *name, struct coreml_value *v)
{
	if (v->data->at != coreml_stored || v->data->type->bits != 1)
		return wrong(s, name, "has a mask of another type than one bit");
	take_shape(v, v->data);
	v->at = sparse_at;
	v->type = v->scale->type;
	v->mask = v->data->p;
	return count_bits(s, name, v);
}

/* What an operation with two outputs makes dense: a mask must be the other output, or the same bits.
 * NULL: another one. */
static const struct coreml_value *
joined(const struct coreml *s, const char *name, const struct coreml_value *mask,
       const struct coreml_value *list)
{
	if (list->mask == (mask->dense ? mask->mask : mask->p))
		return list->dense;
	wrong(s, name, "has sparse values with the mask of others");
	return NULL;
}

/* A copy of v that is dense, without what v owns. */
static void
become(struct coreml_value *v, const struct coreml_value *dense)
{
	struct coreml_value *next = v->next;

	*v = *dense;
	v->next = next;
}

static int
sparse(struct coreml *s, const char *name, const struct coreml_operands *x, struct coreml_value *v)
{
	const struct coreml_value *shape, *dense;

	if (need_any(s, name, x, "mask", &v->data) < 0 ||
	    need_any(s, name, x, "nonzero_data", &v->scale) < 0 || x->find(x, "shape", &shape) < 0)
		return -1;
	if (v->scale->dense) {
		dense = joined(s, name, v->data, v->scale);
		if (dense)
			become(v, dense);
		return dense ? 0 : -1;
	}
	if (shape && !(v->data = as_bits(s, name, v->data, shape, 1)))
		return -1;
	return take_mask(s, name, v);
}

/* ---- sparse values that stay sparse ---- */

static bool
mask_hole(const struct coreml_value *v, uint64_t i)
{
	return !(v->mask[i / 8] >> i % 8 & 1);
}

static bool
scaled_hole(const struct coreml_value *v, uint64_t i)
{
	return v->data->hole(v->data, i);
}

static bool
table_hole(const struct coreml_value *v, uint64_t i)
{
	uint64_t table, inside;

	return v->data->hole(v->data, index_of(v, i, &table, &inside));
}

/* The values that an operation with two outputs changes, as if they were dense: a new value of the
 * source, or NULL. */
static const struct coreml_value *
spread(struct coreml *s, const char *name, const struct coreml_operands *x, const char *mask,
       const char *list)
{
	const struct coreml_value *bits, *values;
	struct coreml_value *v;

	if (need_any(s, name, x, mask, &bits) < 0 || need_any(s, name, x, list, &values) < 0)
		return NULL;
	if (values->dense)
		return joined(s, name, bits, values);
	v = coreml_value_new(s);
	if (!v)
		return NULL;
	*v = (struct coreml_value){ .next = v->next, .data = bits, .scale = values, .hole = mask_hole,
		.p = bits->p, .map = bits->map };
	return take_mask(s, name, v) < 0 || set_depth(s, name, v) < 0 ? NULL : v;
}

/* Make both outputs of an operation: dense has all operands. */
static int
give_both(const struct coreml *s, const char *name, struct coreml_value *dense,
          struct coreml_value *v)
{
	if (set_depth(s, name, dense) < 0)
		return -1;
	dense->p = dense->data->p;
	dense->map = dense->data->map;
	v->dense = dense;
	v->type = dense->type;
	v->mask = dense->mask = dense->data->mask;
	v->depth = dense->depth;
	return 0;
}

static int
sparse_table(struct coreml *s, const char *name, const struct coreml_operands *x,
             struct coreml_value *v)
{
	struct coreml_value *dense = coreml_value_new(s);

	if (!dense || !(dense->data = spread(s, name, x, "indices_mask", "indices_nonzero_data")) ||
	    need(s, name, x, "lut", &dense->scale) < 0)
		return -1;
	dense->at = looked_up;
	dense->hole = table_hole;
	dense->type = dense->scale->type;
	if (take_tables(s, name, x, dense) < 0 || check_table(s, name, dense) < 0)
		return -1;
	return give_both(s, name, dense, v);
}

static int
sparse_blockwise(struct coreml *s, const char *name, const struct coreml_operands *x,
                 struct coreml_value *v)
{
	struct coreml_value *dense = coreml_value_new(s);

	if (!dense || !(dense->data = spread(s, name, x, "data_mask", "nonzero_data")) ||
	    take_blocks(s, name, x, dense) < 0)
		return -1;
	dense->hole = scaled_hole;
	return give_both(s, name, dense, v);
}

/* ---- casts ---- */

static float
cast_at(const struct coreml_value *v, uint64_t i)
{
	return v->data->at(v->data, i);
}

static int
cast(struct coreml *s, const char *name, const struct coreml_operands *x, struct coreml_value *v)
{
	if (need(s, name, x, "source_val", &v->data) < 0)
		return -1;
	take_shape(v, v->data);
	v->at = cast_at;
	v->type = coreml_type(11);
	return 0;
}

/* ---- all ---- */

static const struct {
	const char *type;
	unsigned outputs;
	int (*make)(struct coreml *s, const char *name, const struct coreml_operands *x,
	            struct coreml_value *v);
} rows[] = {
	{ "constexpr_affine_dequantize", 1, affine },
	{ "constexpr_blockwise_shift_scale", 1, blockwise },
	{ "constexpr_lut_to_dense", 1, table }, { "constexpr_sparse_to_dense", 1, sparse },
	{ "constexpr_cast", 1, cast }, { "constexpr_lut_to_sparse", 2, sparse_table },
	{ "constexpr_sparse_blockwise_shift_scale", 2, sparse_blockwise },
};
#define ROWS (sizeof rows / sizeof *rows)

static size_t
row_of(const char *type)
{
	size_t i;

	for (i = 0; i < ROWS && strcmp(rows[i].type, type) != 0; i++)
		;
	return i;
}

unsigned
coreml_constexpr_outputs(const char *type)
{
	const size_t row = row_of(type);

	return row < ROWS ? rows[row].outputs : 0;
}

int
coreml_constexpr(struct coreml *s, const char *type, const char *name,
                 const struct coreml_operands *operands, struct coreml_value *v)
{
	return rows[row_of(type)].make(s, name, operands, v) < 0 ? -1 : set_depth(s, name, v);
}
