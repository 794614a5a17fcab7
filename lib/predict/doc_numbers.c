/* Lists of numbers: most of the bytes of a model. */
#include <string.h>

#include "predict/decimal.h"
#include "predict/doc_parts.h"

/* Reads the number at *p, mostly a small one without a fraction, and before a comma. */
static inline double
quick_number(const char **p, const char *end)
{
	const char *s = *p, *stop = end - s > 9 ? s + 9 : end;
	unsigned v = 0, c = 0;

	for (; s < stop && (c = (unsigned char)*s - (unsigned)'0') < 10; s++)
		v = v * 10 + c;
	if (s == *p || s == stop || (*s != ',' && *s != ']'))
		return decimal_read(p, end);
	*p = s;
	return v;
}

/* Reads items as long as they are numbers with at most one space in front. */
static void
json_numbers(struct doc *d, struct buf *doubles)
{
	const char *p = (const char *)d->p, *end = (const char *)d->end, *from;
	double some[64];
	size_t n = 0;

	for (;;) {
		p += p < end && *p == ' ';
		from = p;
		some[n] = quick_number(&p, end);
		if (p == from || p == end || (*p != ',' && *p != ']'))
			break;
		d->p = (const uint8_t *)p;
		d->stack[d->depth - 1].any = true;
		if (++n == sizeof some / sizeof *some) {
			buf_put(doubles, some, sizeof some);
			n = 0;
		}
		if (*p++ == ']')
			break;
	}
	buf_put(doubles, some, n * sizeof *some);
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
	for (i = 0; i < n && x->type != 'd' && x->type != 'l'; i++)
		to[i] = doc_binary_number(d, x->type);
	if (x->type == 'd' || x->type == 'l')
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
