/* Lists of numbers: most of the bytes of a model. */
#include <string.h>

#include "core/le.h"
#include "predict/decimal.h"
#include "predict/doc_parts.h"

/* Four digits with a comma behind each: at p, before end. */
static inline bool
quick_four(const char *p, const char *end, double to[4])
{
	uint64_t v;
	unsigned i;

	if (end - p < 8)
		return false;
	v = le64((const uint8_t *)p) ^ 0x2c302c302c302c30u;
	if ((v & 0xfff0fff0fff0fff0u) || ((v + 0x0006000600060006u) & 0x0010001000100010u))
		return false;
	for (i = 0; i < 4; i++)
		to[i] = (double)(int)(v >> 16 * i & 15);
	return true;
}

#define SOME 64

/* Reads items as long as they are numbers with at most one space in front. The document is then at the
 * comma or bracket behind the last of them. */
static void
json_numbers(struct doc *d, struct buf *doubles)
{
	const char *p = (const char *)d->p, *end = memchr(p, ']', (size_t)(d->end - d->p)), *last = NULL;
	const struct rows_numbers *level;
	double *to;
	size_t n;

	if (!end)
		return;
	level = (const char *)d->end - end < ROWS_NUMBERS_SLACK ? &rows_numbers_plain : d->numbers;
	while (p && (to = (double *)(void *)buf_room(doubles, SOME * sizeof *to))) {
		for (n = 0; n < SOME && quick_four(p, end, to + n); n += 4)
			p += 8;
		n = n ? n : level->integers(&p, end, ',', to, SOME);
		n = n ? n : level->read(&p, end, ',', true, to, SOME);
		if (n == 0)
			break;
		doubles->n += n * sizeof *to;
		last = p ? p - 1 : end;
	}
	if (last)
		d->p = (const uint8_t *)last;
	d->stack[d->depth - 1].any |= last != NULL;
}

static uint32_t
big32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void
spread_floats(double *to, const uint8_t *p, size_t n)
{
	union { uint32_t u; float f; } v;
	size_t i;

	for (i = 0; i < n; i++) {
		v.u = big32(p + 4 * i);
		to[i] = (double)v.f;
	}
}

static void
spread_integers(double *to, const uint8_t *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		to[i] = (int32_t)big32(p + 4 * i);
}

static void
spread_bytes(double *to, const uint8_t *p, size_t n, bool is_signed)
{
	size_t i;

	for (i = 0; i < n; i++)
		to[i] = is_signed ? (double)(int8_t)p[i] : (double)p[i];
}

/* Reads all items of an array with a type. */
static void
binary_numbers(struct doc *d, struct buf *doubles)
{
	struct doc_level *x = &d->stack[d->depth - 1];
	size_t i, n = (size_t)x->left, width = doc_width(x->type);
	double *to;

	if (n > (size_t)(d->end - d->p) / width)
		doc_fail(d, "the file ends inside a number");
	to = d->failed ? NULL : (double *)(void *)buf_room(doubles, n * sizeof *to);
	if (!to)
		return;
	if (x->type == 'd')
		spread_floats(to, d->p, n);
	else if (x->type == 'l')
		spread_integers(to, d->p, n);
	else if (width == 1)
		spread_bytes(to, d->p, n, x->type == 'i');
	for (i = 0; i < n && width > 1 && x->type != 'd' && x->type != 'l'; i++)
		to[i] = doc_binary_number(d, x->type);
	if (width == 1 || x->type == 'd' || x->type == 'l')
		d->p += n * width;
	doubles->n += n * sizeof *to;
	x->left = 0;
}

void
doc_numbers(struct doc *d, struct buf *doubles)
{
	const struct doc_level *x = &d->stack[d->depth];
	double v;

	if (!doc_array(d))
		return;
	if (!d->binary)
		json_numbers(d, doubles);
	else if (x->counted && x->type != 'C' && doc_width(x->type))
		binary_numbers(d, doubles);
	while (doc_item(d)) {
		v = doc_number(d);
		buf_put(doubles, &v, sizeof v);
	}
	if (!buf_ok(doubles) && !d->failed) {
		err_memory(d->err);
		d->failed = true;
	}
}
