#include "quant/recode.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"

/* Whole rows of one matrix in a piece, as many as fit. */
static uint64_t
weighted_piece(struct recode *r, const struct tensor *t)
{
	const struct dtype *from = tensor_type(t);
	uint64_t row = tensor_row(t) / from->items * from->bytes, rows;
	unsigned n = tensor_ndim(t);

	r->columns = (size_t)tensor_row(t);
	r->matrix = row * (n > 1 ? tensor_dims(t)[n - 2] : 1);
	r->left = 0;
	rows = RECODE_VALUES / tensor_row(t);
	return num_min(r->matrix, row * (rows ? rows : 1));
}

static void
next_matrix(struct recode *r)
{
	convert_weigh(&r->convert, r->importance, r->columns);
	r->importance += r->columns;
	r->left = r->matrix;
}

int
recode_begin(struct recode *r, const struct tensor *t, const struct dtype *to,
             const struct recode_options *o, struct err *e)
{
	const struct dtype *from = tensor_type(t);
	uint64_t x_bytes, y_bytes;

	r->stats = (struct convert_stats){ 0 };
	r->x_fill = 0;
	r->importance = NULL;
	if (convert_open(&r->convert, tensor_name(t), from, to, o->jobs, o->check, e) < 0)
		return -1;
	if (from == to)
		return 0;
	x_bytes = num_min(tensor_bytes(t), (uint64_t)RECODE_VALUES / from->items * from->bytes);
	if (o->importance && tensor_bytes(t) > 0 &&
	    convert_weigh(&r->convert, o->importance, (size_t)tensor_row(t))) {
		r->importance = o->importance;
		x_bytes = weighted_piece(r, t);
	}
	if (convert_size(&r->convert, x_bytes, &y_bytes, e) < 0)
		return -1;
	r->x_piece = (size_t)x_bytes;
	if (mem_grow(&r->x, &r->x_cap, r->x_piece, 1) < 0 ||
	    mem_grow(&r->y, &r->y_cap, (size_t)y_bytes, 1) < 0)
		return err_memory(e);
	return 0;
}

static int
convert_piece(struct recode *r, struct sink *sink, struct err *e)
{
	uint64_t y_bytes;

	if (r->x_fill == 0)
		return 0;
	if (convert_size(&r->convert, r->x_fill, &y_bytes, e) < 0 ||
	    convert_run(&r->convert, r->x, r->x_fill, r->y, y_bytes, &r->stats, e) < 0)
		return -1;
	r->x_fill = 0;
	return sink ? sink_write(sink, r->y, (size_t)y_bytes, e) : 0;
}

int
recode_add(struct recode *r, const uint8_t *p, size_t n, struct sink *sink,
           struct err *e)
{
	if (r->convert.from == r->convert.to)
		return sink ? sink_write(sink, p, n, e) : 0;
	while (n > 0) {
		size_t part = (size_t)num_min(n, r->x_piece - r->x_fill);

		/* A matrix has weights of its own: no piece goes beyond its end. */
		if (r->importance && r->left == 0)
			next_matrix(r);
		if (r->importance)
			part = (size_t)num_min(part, r->left);
		memcpy(r->x + r->x_fill, p, part);
		r->x_fill += part;
		p += part;
		n -= part;
		if (r->importance)
			r->left -= part;
		if ((r->x_fill == r->x_piece || (r->importance && r->left == 0)) &&
		    convert_piece(r, sink, e) < 0)
			return -1;
	}
	return 0;
}

int
recode_end(struct recode *r, struct sink *sink, struct err *e)
{
	return r->convert.from == r->convert.to ? 0 : convert_piece(r, sink, e);
}

void
recode_free(struct recode *r)
{
	free(r->x);
	free(r->y);
	*r = (struct recode){ 0 };
}
