#include <inttypes.h>
#include <stdlib.h>

#include "adapt/packed/packed_kind.h"
#include "adapt/packed/packed_work.h"
#include "core/le.h"
#include "core/mem.h"

#define TILE 32 /* columns of a turned weight that are read at once */

/* Sizes below are those of parts of proved tensors in memory, or were proved to follow from
 * them, so that they do not overflow. */

/* ---- integers in words, lowest bits first; zero points are packed along the rows ---- */

static int
check_shape(const struct packed *p, const struct packed_reader *in, struct err *e)
{
	const uint64_t *dims = tensor_dims(p->tensor);
	uint8_t b[16];

	if (packed_get(p, in, PACKED_SHAPE, 0, b, sizeof b, e) < 0)
		return -1;
	if (le64(b) == dims[0] && le64(b + 8) == dims[1])
		return 0;
	return err_set(e, ERR_CORRUPT, tensor_name(p->from[PACKED_SHAPE]),
	               "says %" PRIu64 "x%" PRIu64 ", but the weight is %" PRIu64 "x%" PRIu64,
	               le64(b), le64(b + 8), dims[0], dims[1]);
}

/* The zero points of each group of some rows. */
static int
get_zeros(const struct packed *p, const struct packed_reader *in, struct packed_work *w,
          uint64_t first, size_t rows, struct err *e)
{
	unsigned in_word = 32 / p->bits, shift;
	uint32_t mask = (UINT32_C(1) << p->bits) - 1, *words = NULL;
	size_t groups = (size_t)p->groups, r, g;
	uint64_t from = first / in_word, last = (first + rows - 1) / in_word;

	for (r = 0; r < rows * groups; r++)
		w->zero[r] = (int32_t)p->zero;
	if (!p->from[PACKED_ZERO])
		return 0;
	words = mem_array((size_t)(last - from + 1) * groups, sizeof *words);
	if (!words)
		return err_memory(e);
	if (packed_get_words(p, in, PACKED_ZERO, from * groups, words,
	              (size_t)(last - from + 1) * groups, e) < 0) {
		free(words);
		return -1;
	}
	for (r = 0; r < rows; r++) {
		shift = (unsigned)((first + r) % in_word) * p->bits;
		for (g = 0; g < groups; g++)
			w->zero[r * groups + g] = (int32_t)(words[((first + r) / in_word - from) * groups +
			                                          g] >> shift & mask);
	}
	free(words);
	return 0;
}

static void
decode_words(const struct packed *p, const struct packed_work *w, const uint32_t *words, size_t r,
             float *dst)
{
	uint32_t mask = (UINT32_C(1) << p->bits) - 1;
	unsigned in_word = 32 / p->bits;
	size_t n = (size_t)tensor_row(p->tensor), at = r * (size_t)p->groups, i;
	const float *scale = w->scale + (p->step[1] == 1 ? at : 0);

	for (i = 0; i < n; i++) {
		int32_t code = (int32_t)(words[i / in_word] >> i % in_word * p->bits & mask);

		dst[i] = (float)(code - w->zero[at + w->group[i]]) * scale[w->group[i]];
	}
}

static int
rows_words(const struct packed *p, const struct packed_reader *in, uint64_t first,
           size_t rows, float *dst, struct err *e)
{
	size_t words = (size_t)tensor_row(p->from[PACKED_WEIGHT]), groups = (size_t)p->groups, r;
	size_t scales = p->step[1] == 1 ? rows * groups : groups;
	struct packed_work w = { .bytes = mem_array(rows * words, 4), .scale = mem_array(scales, 4),
		.zero = mem_array(rows * groups, 4) };
	uint32_t *packed = (uint32_t *)(void *)w.bytes;
	int status = -1;

	if (!w.bytes || !w.scale || !w.zero) {
		err_memory(e);
		goto end;
	}
	if (check_shape(p, in, e) < 0 || packed_get_groups(p, in, &w, e) < 0 ||
	    packed_get_scales(p, in, p->step[1] == 1 ? first * groups : 0, w.scale, scales, e) < 0 ||
	    get_zeros(p, in, &w, first, rows, e) < 0 ||
	    packed_get_words(p, in, PACKED_WEIGHT, first * words, packed, rows * words, e) < 0)
		goto end;
	for (r = 0; r < rows; r++)
		decode_words(p, &w, packed + r * words, r, dst + r * tensor_row(p->tensor));
	status = 0;
end:
	packed_work_free(&w);
	return status;
}

const struct packed_kind packed_words[] = {
	{ ".weight_packed", PACKED_WEIGHT,
	  { { ".weight_scale", PACKED_SCALE, false }, { ".weight_shape", PACKED_SHAPE, false },
	    { ".weight_zero_point", PACKED_ZERO, true }, { ".weight_g_idx", PACKED_INDEX, true } },
	  ".weight", "F32", PACKED_LAST, 0, 1, packed_prove_words, rows_words },
	{ 0 }
};

/* ---- turned weights: a row of the source is a column of the weight ---- */

/* The number of `bits` bits at bit `at` of a row of words. */
static int32_t
bits_at(const uint32_t *words, size_t at, unsigned bits)
{
	uint64_t two = words[at / 32];

	if (at % 32 + bits > 32)
		two |= (uint64_t)words[at / 32 + 1] << 32;
	return (int32_t)(two >> at % 32 & ((1u << bits) - 1));
}

/* The bit in a row of words at which AWQ stores column i: of eight, the even ones first. */
static size_t
awq_bit(size_t i)
{
	static const uint8_t place[8] = { 0, 4, 1, 5, 2, 6, 3, 7 };

	return i / 8 * 32 + place[i % 8] * 4u;
}

/* The scales and zero points of some rows, row after row. */
static int
get_turned_groups(const struct packed *p, const struct packed_reader *in, struct packed_work *w,
                  uint64_t first, size_t rows, size_t (*bit)(size_t i), struct err *e)
{
	uint64_t all = tensor_row(p->from[PACKED_ZERO]), wide = tensor_row(p->from[PACKED_SCALE]);
	uint64_t from = first * p->bits / 32, to = ((first + rows) * p->bits + 31) / 32;
	size_t groups = (size_t)p->groups, g, r, n;
	uint32_t *words;
	float *scale;
	int status = -1;

	if (bit) {
		from = first / 8;
		to = (first + rows + 7) / 8;
	}
	n = (size_t)(to - from);
	words = mem_array(n, sizeof *words);
	scale = mem_array(rows, sizeof *scale);
	if (!words || !scale)
		err_memory(e);
	for (g = 0; words && scale && g < groups; g++) {
		if (packed_get_scales(p, in, g * wide + first, scale, rows, e) < 0 ||
		    packed_get_words(p, in, PACKED_ZERO, g * all + from, words, n, e) < 0)
			goto end;
		for (r = 0; r < rows; r++) {
			size_t at = bit ? bit((size_t)first + r) : ((size_t)first + r) * p->bits;

			w->scale[r * groups + g] = scale[r];
			w->zero[r * groups + g] = bits_at(words, at - (size_t)from * 32, p->bits) +
			                          (int32_t)p->zero;
		}
	}
	status = words && scale ? 0 : -1;
end:
	free(words);
	free(scale);
	return status;
}

/* Memory for some rows, and what does not depend on columns. */
static int
begin_turned(const struct packed *p, const struct packed_reader *in, struct packed_work *w,
             uint64_t first, size_t rows, size_t (*bit)(size_t i), struct err *e)
{
	size_t groups = (size_t)p->groups;

	w->bytes = mem_array(rows + 16, TILE);
	w->scale = mem_array(rows * groups, 4);
	w->zero = mem_array(rows * groups, 4);
	if (!w->bytes || !w->scale || !w->zero)
		return err_memory(e);
	if (packed_get_groups(p, in, w, e) < 0)
		return -1;
	return get_turned_groups(p, in, w, first, rows, bit, e);
}

/* Values of one row: its scales and zero points, and the place of the tile's first column. */
struct line {
	const float *scale;
	const int32_t *zero;
	const uint32_t *group;
	float *to;
};

static struct line
line_of(const struct packed *p, const struct packed_work *w, size_t r, size_t column, float *dst)
{
	size_t at = r * (size_t)p->groups;

	return (struct line){ w->scale + at, w->zero + at, w->group + column,
		dst + r * tensor_row(p->tensor) + column };
}

static inline void
put_value(const struct line *l, size_t i, int32_t code)
{
	uint32_t g = l->group[i];

	l->to[i] = l->scale[g] * (float)(code - l->zero[g]);
}

/* Columns from `column` on; each group of 32 columns is p->bits rows of words. */
static int
tile_gptq(const struct packed *p, const struct packed_reader *in, const struct packed_work *w,
          uint64_t first, size_t rows, size_t column, size_t columns, float *dst,
          struct err *e)
{
	uint32_t *words = (uint32_t *)(void *)w->bytes, of[TILE];
	size_t wide = (size_t)tensor_row(p->from[PACKED_WEIGHT]), n = columns * p->bits / 32;
	unsigned bits = p->bits;
	struct line l;
	size_t i, r;

	for (i = 0; i < n; i++)
		if (packed_get_words(p, in, PACKED_WEIGHT, (column * p->bits / 32 + i) * wide + first,
		              words + i * rows, rows, e) < 0)
			return -1;
	for (r = 0; r < rows; r++) {
		for (i = 0; i < n; i++)
			of[i] = words[i * rows + r];
		l = line_of(p, w, r, column, dst);
		for (i = 0; i < columns; i++)
			put_value(&l, i, bits_at(of, i * bits, bits));
	}
	return 0;
}

static int
tile_awq(const struct packed *p, const struct packed_reader *in, const struct packed_work *w,
         uint64_t first, size_t rows, size_t column, size_t columns, float *dst,
         struct err *e)
{
	uint32_t *words = (uint32_t *)(void *)w->bytes;
	size_t wide = (size_t)tensor_row(p->from[PACKED_WEIGHT]), from = (size_t)first / 8;
	size_t n = ((size_t)first + rows + 7) / 8 - from, i, r;

	for (i = 0; i < columns; i++)
		if (packed_get_words(p, in, PACKED_WEIGHT, (column + i) * wide + from, words + i * n, n,
		              e) < 0)
			return -1;
	for (r = 0; r < rows; r++) {
		size_t at = awq_bit((size_t)first + r) - from * 32;
		struct line l = line_of(p, w, r, column, dst);

		for (i = 0; i < columns; i++)
			put_value(&l, i, (int32_t)(words[i * n + at / 32] >> at % 32 & 15));
	}
	return 0;
}

static int
rows_turned(const struct packed *p, const struct packed_reader *in, uint64_t first,
            size_t rows, float *dst, struct err *e)
{
	bool awq = p->kind == packed_awq;
	size_t n = (size_t)tensor_row(p->tensor), column, columns;
	struct packed_work w = { 0 };
	int r = begin_turned(p, in, &w, first, rows, awq ? awq_bit : NULL, e);

	for (column = 0; column < n && r == 0; column += columns) {
		columns = n - column < TILE ? n - column : TILE;
		r = (awq ? tile_awq : tile_gptq)(p, in, &w, first, rows, column, columns, dst, e);
	}
	packed_work_free(&w);
	return r;
}

const struct packed_kind packed_gptq[] = {
	{ ".qweight", PACKED_WEIGHT,
	  { { ".scales", PACKED_SCALE, false }, { ".qzeros", PACKED_ZERO, false },
	    { ".g_idx", PACKED_INDEX, true } },
	  ".weight", "F32", PACKED_LAST, 0, 1, packed_prove_gptq, rows_turned },
	{ 0 }
};

const struct packed_kind packed_awq[] = {
	{ ".qweight", PACKED_WEIGHT,
	  { { ".scales", PACKED_SCALE, false }, { ".qzeros", PACKED_ZERO, false } },
	  ".weight", "F32", PACKED_LAST, 0, 1, packed_prove_awq, rows_turned },
	{ 0 }
};
