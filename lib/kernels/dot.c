#include "kernels/dot.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "kernels/common/grids.h"
#include "kernels/common/products.h"
#include "kernels/kernel.h"
#include "kernels/level.h"

/* Values that are decoded, or normalized, at a time; and rows of weights that meet all
 * activations before other rows are read. */
enum { PIECE = 256, PANEL = 16 };

/* Rows that are decoded at a time for many activations. */
enum { HIGH = 64 };

static const struct products *in_use;
static atomic_size_t ahead;

/* What was chosen for a type of weights; looked up by name once. */
struct choice {
	const struct dtype *type;
	const struct unpacking *unpacking;
	const struct activation *activation; /* NULL: the type has no arithmetic */
	dot_rows *rows;                      /* NULL: plain C */
	dot_panels *panels;
	const struct packing *packing;
};
static struct choice chosen[64];
static size_t chosen_count;
static dot_rows *f32_rows; /* of F32, or NULL */

const struct products *
dot_now(void)
{
	return in_use;
}

void
dot_ahead(size_t bytes)
{
	atomic_store_explicit(&ahead, bytes, memory_order_relaxed);
}

size_t
dot_ahead_now(void)
{
	return atomic_load_explicit(&ahead, memory_order_relaxed);
}

const struct attend *
attend_now(void)
{
	return in_use ? in_use->attend : LEVEL_PLAIN(&attend_ref);
}

static const struct unpacking *
unpacking_of(const struct dtype *t)
{
	const struct unpacking *u;
	size_t i;

	for (i = 0; (u = unpacking_row(i)) != NULL; i++)
		if (!strcmp(u->dtype, t->name))
			return u;
	return NULL;
}

/* The form of activations for a type: I16 for types that may be multiplied as integers of
 * 16 bits, that of the blocks for block types, F32 for others. */
static const struct activation *
activation_of(const struct dtype *t, const struct unpacking *u)
{
	static const char *const as_i16[] = { "F16", "BF16", "F8_E4M3", "F8_E5M2" };
	size_t i;

	for (i = 0; i < sizeof as_i16 / sizeof as_i16[0]; i++)
		if (!strcmp(as_i16[i], t->name))
			return &activation_i16;
	if (!kernel_decodes(t))
		return NULL;
	return u ? u->activation : &activation_f32;
}

static struct choice
look_up(const struct dtype *t)
{
	const struct type_products *d = in_use ? in_use->types : NULL;
	const struct packing *p = in_use ? in_use->packings : NULL;
	struct choice c = { .type = t, .unpacking = unpacking_of(t) };

	c.activation = activation_of(t, c.unpacking);
	for (; d && d->dtype; d++)
		if (!strcmp(d->dtype, t->name)) {
			c.rows = d->rows;
			c.panels = d->panels;
		}
	for (; p && p->dtype; p++)
		if (!strcmp(p->dtype, t->name))
			c.packing = p;
	return c;
}

static struct choice
choice_of(const struct dtype *t)
{
	size_t i;

	for (i = 0; i < chosen_count; i++)
		if (chosen[i].type == t)
			return chosen[i];
	return look_up(t);
}

void
dot_use(const struct products *p)
{
	const struct dtype *t;

	in_use = p;
	grids_begin();
	chosen_count = 0;
	while (chosen_count < sizeof chosen / sizeof chosen[0] &&
	       (t = dtype_row((unsigned)chosen_count)) != NULL)
		chosen[chosen_count++] = look_up(t);
	f32_rows = choice_of(dtype_by_name("F32")).rows;
}

const struct activation *
dot_activation(const struct dtype *t, size_t columns)
{
	return dtype_fills(t, columns) ? choice_of(t).activation : NULL;
}

/* ---- activations ---- */

static void
quantize(const struct activation *form, const float *x, uint8_t *row, size_t n, size_t at,
         size_t count)
{
	const struct quantizer *q = in_use ? in_use->quantizers : NULL;

	for (; q && q->form; q++)
		if (q->form == form) {
			q->quantize(x, row, n, at, count);
			return;
		}
	form->quantize(x, row, n, at, count);
}

void
dot_quantize(const struct activation *form, const float *x, uint8_t *row, size_t n)
{
	quantize(form, x, row, n, 0, n);
}

/* Four partial sums fit a vector; they are added in this order. */
float
dot_rms(const float *x, size_t n, float epsilon)
{
	double sum[4] = { 0 };
	size_t i;

	for (i = 0; i + 4 <= n; i += 4) {
		sum[0] += (double)x[i] * x[i];
		sum[1] += (double)x[i + 1] * x[i + 1];
		sum[2] += (double)x[i + 2] * x[i + 2];
		sum[3] += (double)x[i + 3] * x[i + 3];
	}
	for (; i < n; i++)
		sum[0] += (double)x[i] * x[i];
	sum[0] += sum[1] + (sum[2] + sum[3]);
	return 1.0f / sqrtf((float)(sum[0] / (double)n) + epsilon);
}

void
dot_rms_quantize(const struct activation *form, const float *x, const float *weight,
                 float epsilon, uint8_t *row, size_t n)
{
	float r = dot_rms(x, n, epsilon), piece[PIECE];
	size_t at, count, i;

	for (at = 0; at < n; at += count) {
		count = n - at < PIECE ? n - at : PIECE;
		for (i = 0; i < count; i++)
			piece[i] = x[at + i] * r * weight[at + i];
		quantize(form, piece, row, n, at, count);
	}
}

/* ---- products ---- */

/* The products of count rows; w has a piece of each. */
static void
floats(float (*w)[PIECE], size_t count, const float *a, size_t n, float *y)
{
	size_t i;

	if (f32_rows)
		f32_rows((const uint8_t *)w, sizeof w[0], count, (const uint8_t *)a, n, y);
	for (i = 0; !f32_rows && i < count; i++)
		y[i] = dot_f32_ref(w[i], a, n);
}

/* Decode columns from at on, a PIECE or what is left, of the rows from first on. Blocks of
 * types without rows of whole blocks need not begin where a row does. Returns the number
 * of columns. */
static size_t
rows_decode(const struct dot_weights *w, size_t first, size_t count, size_t at,
            float (*y)[PIECE])
{
	size_t run = w->columns - at < PIECE ? w->columns - at : PIECE, begin, have, i, j, skip;
	const struct dtype *t = w->type;
	float blocks[PIECE];
	const uint8_t *x;

	for (i = 0; i < count; i++) {
		for (j = 0; j < run; j += have) {
			begin = (first + i) * w->columns + at + j;
			skip = begin % t->items;
			x = w->data + begin / t->items * t->bytes;
			have = run - j < PIECE - skip ? run - j : PIECE - skip;
			if (!skip && have % t->items == 0) {
				kernel_decode(t, w->head, x, y[i] + j, have);
				continue;
			}
			kernel_decode(t, w->head, x, blocks,
			              (skip + have + t->items - 1) / t->items * t->items);
			memcpy(y[i] + j, blocks + skip, have * sizeof *blocks);
		}
	}
	return run;
}

/* Up to PANEL rows, decoded and multiplied as F32. */
static void
decoded_rows(const struct dot_weights *w, size_t first, size_t count, const float *a, float *y)
{
	float values[PANEL][PIECE], part[PANEL];
	double sum[PANEL] = { 0 };
	size_t at, i, run;

	for (at = 0; at < w->columns; at += run) {
		run = rows_decode(w, first, count, at, values);
		floats(values, count, a + at, run, part);
		for (i = 0; i < count; i++)
			sum[i] += part[i];
	}
	for (i = 0; i < count; i++)
		y[i] = (float)sum[i];
}

/* The same for up to HIGH rows and all activations, with panels of F32. */
static void
decoded_panel(const struct dot_weights *w, size_t first, size_t count, const uint8_t *a,
              size_t bytes, size_t many, float *y, size_t leading)
{
	float values[HIGH][PIECE];
	size_t at, j, run;

	for (j = 0; j < many; j++)
		memset(y + j * leading, 0, count * sizeof *y);
	for (at = 0; at < w->columns; at += run) {
		run = rows_decode(w, first, count, at, values);
		in_use->add_f32((const uint8_t *)values, sizeof values[0], count,
		               a + at * sizeof(float), bytes, many, run, y, leading);
	}
}

/* Products with one row of activations. */
static void
rows(const struct dot_weights *w, const struct choice *c, size_t first, size_t count,
     const uint8_t *a, float *y)
{
	const uint8_t *data;
	size_t part, stride;

	if (!c->rows && !c->unpacking) {
		for (; count > 0; count -= part, first += part, y += part) {
			part = count < PANEL ? count : PANEL;
			decoded_rows(w, first, part, (const float *)(const void *)a, y);
		}
		return;
	}
	stride = dtype_span(w->type, w->columns);
	data = w->data + first * stride;
	if (c->rows)
		c->rows(data, stride, count, a, w->columns, y);
	for (; !c->rows && count > 0; count--, data += stride)
		*y++ = dot_row_ref(c->unpacking, data, a, w->columns);
}

static void
packed_product(const struct dot_weights *w, const struct choice *c, size_t first, size_t count,
               const uint8_t *a, size_t many, float *y, size_t leading)
{
	size_t stride = dtype_span(w->type, w->columns), bytes = c->activation->bytes(w->columns), j;
	const uint8_t *data = w->data + first * stride;

	if (many >= DOT_MANY)
		c->packing->panels(data, stride, count, a, bytes, many, w->columns, y, leading);
	for (j = 0; many < DOT_MANY && j < many; j++)
		c->packing->rows(data, stride, count, a + j * bytes, w->columns, y + j * leading);
}

void
dot_product(const struct dot_weights *w, size_t first, size_t count, const uint8_t *a,
            size_t many, float *y, size_t leading)
{
	const struct choice c = choice_of(w->type);
	size_t bytes = c.activation->bytes(w->columns), end = first + count, i, j, part, stride;

	if (w->packed) {
		packed_product(w, &c, first, count, a, many, y, leading);
		return;
	}
	if (c.panels && many >= DOT_MANY) {
		stride = dtype_span(w->type, w->columns);
		c.panels(w->data + first * stride, stride, count, a, bytes, many, w->columns, y,
		         leading);
		return;
	}
	if (!c.unpacking && many >= DOT_MANY && in_use && in_use->add_f32) {
		for (i = first; i < end; i += part) {
			part = end - i < HIGH ? end - i : HIGH;
			decoded_panel(w, i, part, a, bytes, many, y + (i - first), leading);
		}
		return;
	}
	for (i = first; i < end; i += part) {
		part = many == 1 || end - i < PANEL ? end - i : PANEL;
		for (j = 0; j < many; j++)
			rows(w, &c, i, part, a + j * bytes, y + j * leading + (i - first));
	}
}

/* ---- packing ---- */

bool
dot_packs(const struct dtype *t, size_t rows, size_t columns)
{
	return choice_of(t).packing && rows % DOT_PACKED == 0 && columns % LARGE == 0;
}

void
dot_pack(const struct dot_weights *w, size_t first, size_t count, uint8_t *to)
{
	const struct packing *p = choice_of(w->type).packing;
	size_t stride = dtype_span(w->type, w->columns), i;

	for (i = first; i < first + count; i += DOT_PACKED, to += DOT_PACKED * stride)
		p->pack(w->data + i * stride, stride, w->columns, to);
}
