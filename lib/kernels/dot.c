#include "kernels/dot.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "kernels/common/grids.h"
#include "kernels/common/rows.h"
#include "kernels/kernel.h"

/* Values that are decoded, or normalized, at a time; rows of weights that many
 * activations are multiplied by before others are read. */
enum { PIECE = 256, PANEL = 16 };

/* Rows that are decoded at a time for many activations. */
enum { HIGH = 64 };

static const struct dot_level *level;
static atomic_size_t ahead;

/* What is known of a type; looked up by name but once. */
struct known {
	const struct dtype *type;
	const struct form *form;
	const struct activation *activation; /* NULL: no arithmetic */
	dot_rows *rows;
	const struct dot_many *many;
	const struct dot_packing *packing;
};
static struct known known[64];
static size_t known_count;
static dot_rows *float_rows; /* of F32, or NULL */

const struct dot_level *
dot_level_now(void)
{
	return level;
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
	return level ? level->attend : &attend_ref;
}

static const struct form *
form_of(const struct dtype *t)
{
	const struct form *f;
	size_t i;

	for (i = 0; (f = form_row(i)) != NULL; i++)
		if (!strcmp(f->dtype, t->name))
			return f;
	return NULL;
}

/* Types that may be multiplied as integers of 16 bits. */
static const char *const words[] = { "F16", "BF16", "F8_E4M3", "F8_E5M2" };

static struct known
look_up(const struct dtype *t)
{
	const struct dot_fast *d;
	const struct dot_many *m;
	const struct dot_packing *p = level ? level->packings : NULL;
	struct known k = { .type = t, .form = form_of(t) };
	int i;

	for (i = 0; level && i < DOT_LISTS; i++) {
		for (d = level->dots[i]; d && d->dtype && !k.rows; d++)
			k.rows = strcmp(d->dtype, t->name) ? NULL : d->rows;
		for (m = level->many[i]; m && m->dtype && !k.many; m++)
			k.many = strcmp(m->dtype, t->name) ? NULL : m;
	}
	for (; p && p->dtype && !k.packing; p++)
		k.packing = strcmp(p->dtype, t->name) ? NULL : p;
	k.activation = !kernel_decodes(t) ? NULL : k.form ? k.form->activation : &activation_f32;
	for (i = 0; i < (int)(sizeof words / sizeof words[0]); i++)
		if (!strcmp(words[i], t->name))
			k.activation = &activation_i16;
	return k;
}

static struct known
known_of(const struct dtype *t)
{
	size_t i;

	for (i = 0; i < known_count; i++)
		if (known[i].type == t)
			return known[i];
	return look_up(t);
}

void
dot_use(const struct dot_level *l)
{
	const struct dtype *t;

	level = l;
	grids_begin();
	known_count = 0;
	while (known_count < sizeof known / sizeof known[0] &&
	       (t = dtype_row((unsigned)known_count)) != NULL)
		known[known_count++] = look_up(t);
	float_rows = known_of(dtype_by_name("F32")).rows;
}

const struct activation *
dot_activation(const struct dtype *t, size_t columns)
{
	return dtype_fills(t, columns) ? known_of(t).activation : NULL;
}

/* ---- activations ---- */

static void
quantize(const struct activation *form, const float *x, uint8_t *row, size_t n, size_t at,
         size_t count)
{
	const struct quantize_fast *q = level ? level->quantizers : NULL;

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

/* Four sums side by side, so that a vector can hold them, added in this order. */
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

/* The products of pieces of count rows. */
static void
floats(float (*w)[PIECE], size_t count, const float *a, size_t n, float *y)
{
	size_t i;

	if (float_rows)
		float_rows((const uint8_t *)w, sizeof w[0], count, (const uint8_t *)a, n, y);
	for (i = 0; !float_rows && i < count; i++)
		y[i] = dot_f32_ref(w[i], a, n);
}

/* A PIECE, or what is left, of the columns of rows from first on, from column at on: their
 * values. Blocks of types of our own need not begin where a row does. Returns how many
 * columns. */
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

/* Rows whose values are decoded, up to PANEL of them, and multiplied as F32. */
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

/* The same of up to HIGH rows with all activations, by the panels of F32. */
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
		level->add_f32((const uint8_t *)values, sizeof values[0], count,
		               a + at * sizeof(float), bytes, many, run, y, leading);
	}
}

/* One row of activations. */
static void
rows(const struct dot_weights *w, const struct known *k, size_t first, size_t count,
     const uint8_t *a, float *y)
{
	const uint8_t *data;
	size_t part, stride;

	if (!k->rows && !k->form) {
		for (; count > 0; count -= part, first += part, y += part) {
			part = count < PANEL ? count : PANEL;
			decoded_rows(w, first, part, (const float *)(const void *)a, y);
		}
		return;
	}
	stride = dtype_span(w->type, w->columns);
	data = w->data + first * stride;
	if (k->rows)
		k->rows(data, stride, count, a, w->columns, y);
	for (; !k->rows && count > 0; count--, data += stride)
		*y++ = dot_row_ref(k->form, data, a, w->columns);
}

static void
packed_product(const struct dot_weights *w, const struct known *k, size_t first, size_t count,
               const uint8_t *a, size_t many, float *y, size_t leading)
{
	size_t stride = dtype_span(w->type, w->columns), bytes = k->activation->bytes(w->columns), j;
	const uint8_t *data = w->data + first * stride;

	if (many >= DOT_MANY)
		k->packing->panels(data, stride, count, a, bytes, many, w->columns, y, leading);
	for (j = 0; many < DOT_MANY && j < many; j++)
		k->packing->rows(data, stride, count, a + j * bytes, w->columns, y + j * leading);
}

void
dot_product(const struct dot_weights *w, size_t first, size_t count, const uint8_t *a,
            size_t many, float *y, size_t leading)
{
	const struct known k = known_of(w->type);
	size_t bytes = k.activation->bytes(w->columns), end = first + count, i, j, part, stride;

	if (w->packed) {
		packed_product(w, &k, first, count, a, many, y, leading);
		return;
	}
	if (k.many && many >= DOT_MANY) {
		stride = dtype_span(w->type, w->columns);
		k.many->panels(w->data + first * stride, stride, count, a, bytes, many,
		                 w->columns, y, leading);
		return;
	}
	if (!k.form && many >= DOT_MANY && level && level->add_f32) {
		for (i = first; i < end; i += part) {
			part = end - i < HIGH ? end - i : HIGH;
			decoded_panel(w, i, part, a, bytes, many, y + (i - first), leading);
		}
		return;
	}
	for (i = first; i < end; i += part) {
		part = many == 1 || end - i < PANEL ? end - i : PANEL;
		for (j = 0; j < many; j++)
			rows(w, &k, i, part, a + j * bytes, y + j * leading + (i - first));
	}
}

/* ---- packing ---- */

bool
dot_packs(const struct dtype *t, size_t rows, size_t columns)
{
	return known_of(t).packing && rows % DOT_PACKED == 0 && columns % LARGE == 0;
}

void
dot_pack(const struct dot_weights *w, size_t first, size_t count, uint8_t *to)
{
	const struct dot_packing *p = known_of(w->type).packing;
	size_t stride = dtype_span(w->type, w->columns), i;

	for (i = first; i < first + count; i += DOT_PACKED, to += DOT_PACKED * stride)
		p->pack(w->data + i * stride, stride, w->columns, to);
}
