#include "report/values_out.h"

#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/le.h"
#include "core/num.h"
#include "stats/values.h"

#define CHUNK 2048 /* values; a multiple of every block */

int
values_out_begin(struct values_out *v, struct err *e)
{
	const struct dtype *type = tensor_type(v->t);

	if (v->form == VALUES_BYTES)
		return 0;
	v->chunk = (size_t)CHUNK / type->items * type->bytes;
	v->held = malloc(v->chunk);
	return v->held ? 0 : err_memory(e);
}

static int
put_single(struct values_out *v, const uint8_t *x, size_t n)
{
	float y[CHUNK];
	uint8_t bytes[4 * CHUNK];
	uint32_t bits;
	size_t i;

	v->rounded += values_float(tensor_type(v->t), v->head, x, y, n);
	for (i = 0; i < n; i++) {
		memcpy(&bits, &y[i], sizeof bits);
		le32_put(bytes + 4 * i, bits);
	}
	return out_put(v->out, bytes, 4 * n);
}

/* A run of decoded values. */
struct run {
	const uint8_t *x;
	const double *y;
	size_t n;
};

/* Appends n values of one row, from value i of the run on; the first one lies in this
 * column. */
static void
put_part(struct values_out *v, struct buf *b, const struct run *run, size_t i, size_t n,
         uint64_t row, uint64_t column)
{
	uint64_t from = slice_from(&v->slice), to = slice_to(&v->slice);
	char text[VALUES_TEXT];
	size_t k;

	for (k = 0; k < n; k++, column++) {
		if (column < from || column >= to)
			continue;
		if (column > from)
			buf_text(b, " ");
		else if (v->any && slice_begins_matrix(&v->slice, v->t, row))
			buf_text(b, "\n");
		buf_text(b, values_text(tensor_type(v->t), run->x, run->y[i + k], i + k, text));
		v->any = true;
		if (column + 1 == to)
			buf_text(b, "\n");
	}
}

static int
put_lines(struct values_out *v, const uint8_t *x, size_t n, struct err *e)
{
	uint64_t width = tensor_row(v->t);
	double y[CHUNK];
	struct run run = { x, y, n };
	struct buf b = { 0 };
	size_t i, part;
	int r;

	values_double(tensor_type(v->t), v->head, x, y, n);
	for (i = 0; i < n; i += part) {
		uint64_t row = (v->at + i) / width, column = (v->at + i) % width;

		part = (size_t)num_min(n - i, width - column);
		if (slice_has_row(&v->slice, v->t, row))
			put_part(v, &b, &run, i, part, row, column);
	}
	r = buf_ok(&b) ? out_put(v->out, b.p, b.n) : err_memory(e);
	buf_free(&b);
	return r;
}

static int
put_held(struct values_out *v, struct err *e)
{
	const struct dtype *type = tensor_type(v->t);
	size_t n = v->held_bytes / type->bytes * type->items;
	int r;

	/* The last block of the tensor may have fewer values. */
	n = (size_t)num_min(n, tensor_items(v->t) - v->at);
	r = v->form == VALUES_SINGLE ? put_single(v, v->held, n)
	                             : put_lines(v, v->held, n, e);
	v->at += n;
	v->held_bytes = 0;
	return r;
}

int
values_out_add(struct values_out *v, const uint8_t *p, size_t n, struct err *e)
{
	size_t part;

	if (v->form == VALUES_BYTES)
		return out_put(v->out, p, n);
	for (; n > 0 && v->head_bytes < tensor_type(v->t)->head; n--)
		v->head[v->head_bytes++] = *p++;
	for (; n > 0; n -= part, p += part) {
		part = (size_t)num_min(n, v->chunk - v->held_bytes);
		memcpy(v->held + v->held_bytes, p, part);
		v->held_bytes += part;
		if (v->held_bytes == v->chunk && put_held(v, e) < 0)
			return -1;
	}
	return 0;
}

int
values_out_end(struct values_out *v, struct err *e)
{
	return v->held_bytes ? put_held(v, e) : 0;
}

void
values_out_free(struct values_out *v)
{
	free(v->held);
	v->held = NULL;
}
