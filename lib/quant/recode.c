#include "quant/recode.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"

/* The number of whole rows of one matrix that fit a piece. */
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
	r->head_fill = 0;
	r->most = 0;
	spool_free(&r->spool);
	if (convert_open(&r->convert, tensor_name(t), from, to, o->jobs, o->check, e) < 0)
		return -1;
	if (from == to)
		return 0;
	r->to_come = tensor_bytes(t) - (tensor_bytes(t) ? from->head : 0);
	r->padding = r->to_come / from->bytes * from->items - tensor_items(t);
	x_bytes = num_min(r->to_come, (uint64_t)RECODE_VALUES / from->items * from->bytes);
	r->convert.clips = o->clips;
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

	if (convert_size(&r->convert, r->x_fill, &y_bytes, e) < 0 ||
	    convert_run(&r->convert, r->x, r->x_fill, r->y, y_bytes, &r->stats, e) < 0)
		return -1;
	return sink ? sink_write(sink, r->y, (size_t)y_bytes, e) : 0;
}

/* A whole piece is held: convert it. */
static int
piece(struct recode *r, struct sink *sink, struct err *e)
{
	int status = 0;

	if (r->x_fill == 0)
		return 0;
	if (r->to_come == 0)
		r->convert.padding = r->padding;
	if (!r->convert.whole) {
		status = convert_piece(r, sink, e);
	} else {
		r->most = convert_most(&r->convert, r->x, r->x_fill, r->most);
		status = spool_put(&r->spool, r->x, r->x_fill, e);
	}
	r->x_fill = 0;
	return status;
}

static int
add_body(struct recode *r, const uint8_t *p, size_t n, struct sink *sink, struct err *e)
{
	while (n > 0) {
		size_t part = (size_t)num_min(n, r->x_piece - r->x_fill);

		/* Each matrix has its own importance: no piece goes beyond its end. */
		if (r->importance && r->left == 0)
			next_matrix(r);
		if (r->importance)
			part = (size_t)num_min(part, r->left);
		memcpy(r->x + r->x_fill, p, part);
		r->x_fill += part;
		r->to_come -= part;
		p += part;
		n -= part;
		if (r->importance)
			r->left -= part;
		if ((r->x_fill == r->x_piece || (r->importance && r->left == 0)) &&
		    piece(r, sink, e) < 0)
			return -1;
	}
	return 0;
}

int
recode_add(struct recode *r, const uint8_t *p, size_t n, struct sink *sink,
           struct err *e)
{
	if (r->convert.from == r->convert.to)
		return sink ? sink_write(sink, p, n, e) : 0;
	for (; n > 0 && r->head_fill < r->convert.from->head; n--)
		r->convert.head_in[r->head_fill++] = *p++;
	return add_body(r, p, n, sink, e);
}

int
recode_range(struct recode *r, const struct range *range, const char *name,
             struct sink *sink, struct err *e)
{
	uint64_t at = r->convert.from->head;

	if (r->to_come > 0 && at > 0 && range_read(range, 0, r->convert.head_in, at) < 0)
		return range_fail(name, e);
	while (r->to_come > 0) {
		if (r->importance && r->left == 0)
			next_matrix(r);
		r->x_fill = (size_t)num_min(r->to_come, r->x_piece);
		if (r->importance)
			r->x_fill = (size_t)num_min(r->x_fill, r->left);
		if (range_read_wide(range, at, r->x, r->x_fill, r->convert.jobs) < 0)
			return range_fail(name, e);
		at += r->x_fill;
		r->to_come -= r->x_fill;
		if (r->importance)
			r->left -= r->x_fill;
		if (piece(r, sink, e) < 0)
			return -1;
	}
	return 0;
}

/* The second pass: the head is known; convert what was spooled. */
static int
from_spool(struct recode *r, struct sink *sink, struct err *e)
{
	uint64_t at;

	if (r->spool.bytes == 0)
		return 0;
	convert_head(&r->convert, r->most);
	if (sink && sink_write(sink, r->convert.head_out, r->convert.to->head, e) < 0)
		return -1;
	r->convert.padding = 0;
	for (at = 0; at < r->spool.bytes; at += r->x_fill) {
		r->x_fill = (size_t)num_min(r->spool.bytes - at, r->x_piece);
		if (at + r->x_fill == r->spool.bytes)
			r->convert.padding = r->padding;
		if (spool_get(&r->spool, at, r->x, r->x_fill, e) < 0 ||
		    convert_piece(r, sink, e) < 0)
			return -1;
	}
	spool_free(&r->spool);
	return 0;
}

int
recode_end(struct recode *r, struct sink *sink, struct err *e)
{
	if (r->convert.from == r->convert.to)
		return 0;
	if (piece(r, sink, e) < 0)
		return -1;
	return r->convert.whole ? from_spool(r, sink, e) : 0;
}

void
recode_free(struct recode *r)
{
	free(r->x);
	free(r->y);
	spool_free(&r->spool);
	*r = (struct recode){ 0 };
}
