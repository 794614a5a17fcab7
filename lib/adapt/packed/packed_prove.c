#include "adapt/packed/packed_kind.h"

#include <inttypes.h>
#include <string.h>

#include "core/num.h"

/* ---- types ---- */

static bool
is_type(const struct tensor *t, const char *type)
{
	return strcmp(tensor_type(t)->name, type) == 0;
}

static int
need_type(const struct packed *p, enum packed_part part, const char *type, struct err *e)
{
	const struct tensor *t = p->from[part];

	if (!t || is_type(t, type))
		return 0;
	return err_set(e, ERR_CORRUPT, tensor_name(t), "is %s, not %s", tensor_type(t)->name, type);
}

static int
need_scale(const struct packed *p, struct err *e)
{
	static const char *const types[] = { "F32", "F16", "BF16", "F8_E8M0" };
	const struct tensor *t = p->from[PACKED_SCALE];
	size_t i;

	for (i = 0; i < sizeof types / sizeof *types; i++)
		if (is_type(t, types[i]))
			return 0;
	return err_set(e, ERR_CORRUPT, tensor_name(t), "is %s, which is not a type of scales",
	               tensor_type(t)->name);
}

/* ---- shapes ---- */

static int
wrong_shape(const struct tensor *t, const struct tensor *of, struct err *e)
{
	char a[TENSOR_SHAPE_TEXT], b[TENSOR_SHAPE_TEXT];

	return err_set(e, ERR_CORRUPT, tensor_name(t), "has shape %s, which does not fit %s of %s",
	               tensor_shape_text(t, a), tensor_name(of), tensor_shape_text(of, b));
}

static int
need_ndim(const struct tensor *t, unsigned ndim, struct err *e)
{
	if (tensor_ndim(t) == ndim)
		return 0;
	return err_set(e, ERR_CORRUPT, tensor_name(t), "has %u dimensions, not %u",
	               tensor_ndim(t), ndim);
}

/* A part, if it exists, must be a × b. */
static int
need_shape(const struct packed *p, enum packed_part part, uint64_t a, uint64_t b,
           struct err *e)
{
	const struct tensor *t = p->from[part];

	if (!t || (tensor_ndim(t) == 2 && tensor_dims(t)[0] == a && tensor_dims(t)[1] == b))
		return 0;
	return wrong_shape(t, p->from[PACKED_WEIGHT], e);
}

/* A part, if it exists, must have one axis of n values. */
static int
need_length(const struct packed *p, enum packed_part part, uint64_t n, struct err *e)
{
	const struct tensor *t = p->from[part];

	if (!t || (tensor_ndim(t) == 1 && tensor_dims(t)[0] == n))
		return 0;
	return wrong_shape(t, p->from[PACKED_WEIGHT], e);
}

static uint64_t
divide_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

/* Groups of `size` columns (0: one of all) in a row. At least one, even if it is empty. */
static uint64_t
groups_of(uint64_t columns, uint64_t size)
{
	uint64_t n = size ? divide_up(columns, size) : 1;

	return n ? n : 1;
}

/* The words of 32 bits that items of `bits` bits fill. -1 if a rest remains. */
static int
words_of(uint64_t items, unsigned bits, uint64_t *words)
{
	uint64_t all;

	if (num_mul(items, bits, &all) < 0 || all % 32 != 0)
		return -1;
	*words = all / 32;
	return 0;
}

/* ---- scales ---- */

/* The values along one axis that share a scale: there are n values and s scales. */
static int
axis_step(uint64_t n, uint64_t s, uint64_t block, uint64_t *step)
{
	if (block > 0) {
		*step = block;
		return s == divide_up(n, block) ? 0 : -1;
	}
	*step = s == n || n == 0 ? 1 : n;
	return s == n || s == 1 ? 0 : -1;
}

/* How a scale is spread over the axes: one value; blocks along the last two; else each axis
 * that it has, from the first one on, is one or as long as the weight's. */
static int
spread(struct packed *p, const struct packed_shape *s, unsigned ndim, const uint64_t *dims)
{
	const struct tensor *t = p->from[PACKED_SCALE];
	bool blocks = s->config->block[0] > 0, one = tensor_items(t) == 1;
	unsigned i, n = tensor_ndim(t), ahead = 3 - ndim;
	uint64_t scales, block;

	if (!one && (n > ndim || (blocks && (n != ndim || ndim < 2))))
		return -1;
	for (i = 0; i < ndim; i++) {
		scales = one || i >= n ? 1 : tensor_dims(t)[i];
		block = !one && blocks && i + 2 >= ndim ? s->config->block[i + 2 - ndim] : 0;
		if (axis_step(dims[i], scales, block, &p->step[ahead + i]) < 0)
			return -1;
		if (i + 1 == ndim)
			p->groups = scales;
	}
	return 0;
}

int
packed_prove_scaled(struct packed *p, struct packed_shape *s)
{
	const struct tensor *w = p->from[PACKED_WEIGHT], *scale = p->from[PACKED_SCALE];
	const struct tensor *zero = p->from[PACKED_ZERO];
	unsigned i;

	if (!(s->config->integers ? is_type(w, "I8") :
	      is_type(w, "F8_E4M3") || is_type(w, "F8_E5M2")))
		return err_set(s->e, ERR_CORRUPT, tensor_name(w), "is %s, not %s",
		               tensor_type(w)->name, s->config->integers ? "I8" : "F8");
	if (need_scale(p, s->e) < 0 || need_type(p, PACKED_ZERO, "I8", s->e) < 0)
		return -1;
	s->ndim = tensor_ndim(w);
	if (s->ndim < 1 || s->ndim > 3)
		return err_set(s->e, ERR_CORRUPT, tensor_name(w), "has %u dimensions, not 1 to 3",
		               s->ndim);
	memcpy(s->dims, tensor_dims(w), s->ndim * sizeof *s->dims);
	for (i = 0; i < 3; i++)
		p->step[i] = 1;
	if (spread(p, s, s->ndim, s->dims) < 0)
		return wrong_shape(scale, w, s->e);
	if (zero && (tensor_ndim(zero) != tensor_ndim(scale) ||
	             memcmp(tensor_dims(zero), tensor_dims(scale),
	                    tensor_ndim(scale) * sizeof *s->dims) != 0))
		return wrong_shape(zero, scale, s->e);
	p->scratch = tensor_row(w) + 12 * p->groups;
	return 0;
}

/* ---- integers in words ---- */

int
packed_prove_words(struct packed *p, struct packed_shape *s)
{
	const struct tensor *w = p->from[PACKED_WEIGHT], *scale = p->from[PACKED_SCALE];
	uint64_t in_word = 32 / p->bits, columns, words;

	if (need_type(p, PACKED_WEIGHT, "I32", s->e) < 0 || need_scale(p, s->e) < 0 ||
	    need_type(p, PACKED_ZERO, "I32", s->e) < 0 ||
	    need_type(p, PACKED_INDEX, "I32", s->e) < 0 ||
	    need_type(p, PACKED_SHAPE, "I64", s->e) < 0 || need_ndim(w, 2, s->e) < 0)
		return -1;
	s->ndim = 2;
	s->dims[0] = tensor_dims(w)[0];
	words = tensor_dims(w)[1];
	if (num_mul(words, in_word, &columns) < 0)
		return wrong_shape(w, scale, s->e);
	p->groups = 1;
	if (s->config->group > 0) {
		if (tensor_ndim(scale) != 2 ||
		    num_mul(tensor_dims(scale)[1], s->config->group, &columns) < 0 ||
		    divide_up(columns, in_word) != words)
			return wrong_shape(scale, w, s->e);
		p->groups = tensor_dims(scale)[1];
	}
	s->dims[1] = columns;
	p->step[2] = s->config->group > 0 ? s->config->group : columns ? columns : 1;
	p->step[1] = tensor_items(scale) == 1 ? s->dims[0] : 1;
	if ((p->step[1] == 1 || p->groups != 1) &&
	    need_shape(p, PACKED_SCALE, s->dims[0], p->groups, s->e) < 0)
		return -1;
	if (need_shape(p, PACKED_ZERO, divide_up(s->dims[0], in_word), p->groups, s->e) < 0 ||
	    need_length(p, PACKED_INDEX, columns, s->e) < 0 ||
	    need_length(p, PACKED_SHAPE, 2, s->e) < 0)
		return -1;
	p->scratch = 4 * words + 12 * p->groups;
	return 0;
}

/* GPTQ and AWQ have one row for each input: the weight is turned. groups: of `columns`. */
static int
prove_turned(struct packed *p, struct packed_shape *s, uint64_t rows, uint64_t columns)
{
	const struct tensor *w = p->from[PACKED_WEIGHT];
	uint64_t words;

	s->ndim = 2;
	s->dims[0] = rows;
	s->dims[1] = columns;
	p->groups = groups_of(columns, s->config->group);
	p->step[1] = 1;
	p->step[2] = s->config->group ? s->config->group : columns ? columns : 1;
	if (words_of(rows, p->bits, &words) < 0)
		return wrong_shape(w, p->from[PACKED_ZERO], s->e);
	if (need_shape(p, PACKED_SCALE, p->groups, rows, s->e) < 0 ||
	    need_shape(p, PACKED_ZERO, p->groups, words, s->e) < 0 ||
	    need_length(p, PACKED_INDEX, columns, s->e) < 0)
		return -1;
	p->scratch = 12 * p->groups + 48;
	return 0;
}

static int
turned_types(const struct packed *p, struct err *e)
{
	if (need_type(p, PACKED_WEIGHT, "I32", e) < 0 || need_scale(p, e) < 0 ||
	    need_type(p, PACKED_ZERO, "I32", e) < 0 || need_type(p, PACKED_INDEX, "I32", e) < 0)
		return -1;
	return need_ndim(p->from[PACKED_WEIGHT], 2, e);
}

int
packed_prove_gptq(struct packed *p, struct packed_shape *s)
{
	const struct tensor *w = p->from[PACKED_WEIGHT];
	uint64_t bits;

	if (turned_types(p, s->e) < 0)
		return -1;
	if (num_mul(tensor_dims(w)[0], 32, &bits) < 0 || bits % p->bits != 0)
		return err_set(s->e, ERR_CORRUPT, tensor_name(w),
		               "does not have whole columns of %u bits", p->bits);
	return prove_turned(p, s, tensor_dims(w)[1], bits / p->bits);
}

int
packed_prove_awq(struct packed *p, struct packed_shape *s)
{
	const struct tensor *w = p->from[PACKED_WEIGHT];
	uint64_t rows;

	if (turned_types(p, s->e) < 0)
		return -1;
	if (num_mul(tensor_dims(w)[1], 8, &rows) < 0)
		return wrong_shape(w, p->from[PACKED_SCALE], s->e);
	return prove_turned(p, s, rows, tensor_dims(w)[0]);
}

/* ---- ternary, MXFP4 ---- */

int
packed_prove_ternary(struct packed *p, struct packed_shape *s)
{
	const struct tensor *w = p->from[PACKED_WEIGHT], *scale = p->from[PACKED_SCALE];

	if (need_type(p, PACKED_WEIGHT, "U8", s->e) < 0 || need_scale(p, s->e) < 0 ||
	    need_ndim(w, 2, s->e) < 0)
		return -1;
	if (tensor_items(scale) != 1)
		return wrong_shape(scale, w, s->e);
	s->ndim = 2;
	s->dims[1] = tensor_dims(w)[1];
	p->groups = 1;
	p->scratch = s->dims[1];
	return num_mul(tensor_dims(w)[0], 4, &s->dims[0]) < 0 ? wrong_shape(w, scale, s->e) : 0;
}

int
packed_prove_mxfp4(struct packed *p, struct packed_shape *s)
{
	const struct tensor *w = p->from[PACKED_WEIGHT], *scale = p->from[PACKED_SCALE];
	const uint64_t *d;

	if (need_type(p, PACKED_WEIGHT, "U8", s->e) < 0 ||
	    need_type(p, PACKED_SCALE, "U8", s->e) < 0 || need_ndim(w, 4, s->e) < 0)
		return -1;
	d = tensor_dims(w);
	if (d[3] != 16 || d[1] % p->kind->of != 0)
		return err_set(s->e, ERR_CORRUPT, tensor_name(w), "is not blocks of 16 bytes in %s",
		               p->kind->of == 2 ? "pairs of rows" : "rows");
	if (tensor_ndim(scale) != 3 || memcmp(tensor_dims(scale), d, 3 * sizeof *d) != 0)
		return wrong_shape(scale, w, s->e);
	s->ndim = 3;
	s->dims[0] = d[0];
	s->dims[1] = d[1] / p->kind->of;
	p->groups = d[2];
	p->scratch = 17 * p->kind->of * d[2] + 17 * d[2];
	return num_mul(d[2], 32, &s->dims[2]) < 0 ? wrong_shape(w, scale, s->e) : 0;
}
