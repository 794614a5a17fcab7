/* Predictions as an array of NumPy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "predict/rows/batch_put.h"

#define DIGITS 18 /* of an integer that surely fits into 64 bits */

enum kind { FLOATS, DOUBLES, NUMBERS, LEAVES, TEXTS };

static bool
is_integer(const char *text)
{
	size_t n;

	text += *text == '-';
	n = strspn(text, "0123456789");
	return n > 0 && n <= DIGITS && !text[n];
}

/* The characters of a text in UTF-8. */
static size_t
characters(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* What the answers are; *width: characters of the longest text. */
static enum kind
kind_of(const struct batch *b, size_t *width)
{
	const struct predictor *m = b->m;
	bool integers = true;
	size_t i, n;

	*width = 0;
	if (b->what == BATCH_LEAF)
		return LEAVES;
	if (b->what != BATCH_PREDICTION || m->task == PREDICT_VALUE)
		return m->single ? FLOATS : DOUBLES;
	for (i = 0; m->labels && i < m->label_count; i++) {
		integers &= is_integer(m->labels[i]);
		n = characters(m->labels[i]);
		*width = n > *width ? n : *width;
	}
	return integers ? NUMBERS : TEXTS;
}

void
batch_npy_header(struct batch *b, struct buf *o)
{
	static const char *const types[] = { "<f4", "<f8", "<i8", "<u4" };
	uint64_t dims[2] = { b->rows.count, batch_columns(b) };
	char text[32];

	b->npy_kind = kind_of(b, &b->npy_width);
	snprintf(text, sizeof text, "<U%zu", b->npy_width);
	npy_head(o, b->npy_kind == TEXTS ? text : types[b->npy_kind], dims[1] > 1 ? 2 : 1, dims);
}

/* The characters of a label in 32 bits each, and zeros up to the width. */
static void
put_characters(struct buf *o, const char *text, size_t width)
{
	size_t n = strlen(text), left = width;
	uint32_t c;

	while (n > 0 && left > 0) {
		size_t some = text_character(text, n, &c);

		if (some == 0) {
			c = 0xfffd;
			some = 1;
		}
		buf_u32(o, c);
		text += some;
		n -= some;
		left--;
	}
	buf_zeros(o, 4 * left);
}

static void
put_value(struct buf *o, enum kind kind, double v)
{
	union { uint64_t u; double d; } full = { .d = v };
	union { uint32_t u; float f; } single = { .f = (float)v };

	if (kind == FLOATS)
		buf_u32(o, single.u);
	else
		buf_u64(o, full.u);
}

static void
put_label(const struct batch *b, struct buf *o, size_t k)
{
	const char *text = b->m->labels ? b->m->labels[k] : NULL;

	if (b->npy_kind == TEXTS)
		put_characters(o, text, b->npy_width);
	else
		buf_u64(o, text ? (uint64_t)strtoll(text, NULL, 10) : k);
}

void
batch_npy_row(const struct batch *b, struct buf *o, const double *scores, const uint32_t *leaves,
              double *linked)
{
	size_t k, n = batch_columns(b);
	enum kind kind = (enum kind)b->npy_kind;
	const double *v = b->what == BATCH_CONTRIB ? scores : linked;

	if (kind == NUMBERS || kind == TEXTS) {
		put_label(b, o, predict_label(b->m, scores));
		return;
	}
	if (b->what == BATCH_RAW)
		predict_raw(b->m, scores, linked);
	else if (v == linked && kind != LEAVES)
		predict_link(b->m, scores, linked);
	for (k = 0; k < n; k++)
		if (kind == LEAVES)
			buf_u32(o, leaves[k]);
		else
			put_value(o, kind, v[k]);
}
