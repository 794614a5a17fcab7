#include "lora/apply.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/thread.h"
#include "kernels/kernel.h"

#define PIECE_VALUES (1u << 19) /* changed at once, or one row */

/* ---- a piece of rows ---- */

struct piece {
	const struct lora_apply *a;
	const struct kernel *kernel;
	size_t columns, bytes;  /* of a row */
	uint64_t *lost;         /* of each row */
};

/* Encode a row, and count the values that the type cannot hold. */
static void
encode(const struct piece *p, size_t i, const float *row)
{
	size_t j;

	for (j = 0; j < p->columns; j++)
		p->lost[i] += !(fabsf(row[j]) < p->kernel->loses);
	p->kernel->encode(row, p->a->rows + i * p->bytes, p->columns);
}

static void
change_row(void *ctx, size_t i)
{
	const struct piece *p = ctx;
	float *row = p->a->room + i * 2 * p->columns;
	size_t k;

	kernel_decode(tensor_type(p->a->t), NULL, p->a->rows + i * p->bytes, row, p->columns);
	for (k = 0; k < p->a->delta_count; k++)
		lora_delta_row(&p->a->deltas[k], (size_t)p->a->done + i, row, row + p->columns);
	encode(p, i, row);
}

/* The row of the adapter's tensor in place of that of the model. */
static void
replace_row(const struct piece *p, size_t i, float *row)
{
	const struct lora_hit *h = p->a->whole;
	const struct tensor *from = h->lora->w->plan->tensors[h->whole->tensor];
	const struct dtype *type = tensor_type(from);
	const uint8_t *data = h->lora->w->tensors[h->whole->tensor];

	kernel_decode(type, data, data + type->head + (p->a->done + i) *
	              dtype_span(type, p->columns), row, p->columns);
}

static void
exchange_row(void *ctx, size_t i)
{
	const struct piece *p = ctx;
	float *row = p->a->room + i * 2 * p->columns;
	size_t k;

	replace_row(p, i, row);
	for (k = 0; k < p->a->delta_count; k++)
		lora_delta_row(&p->a->deltas[k], (size_t)p->a->done + i, row, row + p->columns);
	encode(p, i, row);
}

static int
change_piece(struct lora_apply *a, struct sink *sink, struct err *e)
{
	size_t columns = (size_t)tensor_row(a->t), n;
	struct piece p = { a, kernel_for(tensor_type(a->t)), columns,
		dtype_span(tensor_type(a->t), columns), NULL };
	size_t i;

	n = a->fill / p.bytes;
	p.lost = mem_array(n, sizeof *p.lost);
	if (!p.lost)
		return err_memory(e);
	thread_for(a->jobs, n, a->whole ? exchange_row : change_row, &p);
	for (i = 0; i < n; i++)
		a->lost += p.lost[i];
	free(p.lost);
	a->done += n;
	n = a->fill;
	a->fill = 0;
	return sink_write(sink, a->rows, n, e);
}

/* ---- a tensor ---- */

static int
check_type(const struct lora_apply *a, const struct tensor *t, struct err *e)
{
	const struct dtype *type = tensor_type(t);
	const struct kernel *k = kernel_for(type);

	if (!k || !k->encode || type->whole || type->head)
		return err_set(e, ERR_FORMAT, tensor_name(t), "%s cannot be decoded and encoded "
		               "again", type->name);
	if (!type->quantized || a->requantize)
		return 0;
	err_set(e, ERR_INVALID, tensor_name(t), "is quantized, as %s, and would be quantized again",
	        type->name);
	return err_hint(e, "--requantize allows that; better is a base in F16 or BF16");
}

static int
check_whole(const struct lora_hit *h, const struct tensor *t, struct err *e)
{
	const struct tensor *from = h->lora->w->plan->tensors[h->whole->tensor];
	const struct dtype *type = tensor_type(from);

	if (kernel_for(type) && !type->whole && !type->head)
		return 0;
	return err_set(e, ERR_FORMAT, tensor_name(t), "%s, the type of the adapter's tensor, cannot "
	               "be decoded in rows", type->name);
}

static int
make_deltas(struct lora_apply *a, const struct lora_aim *aim, size_t hit, struct err *e)
{
	for (; hit != SIZE_MAX; hit = aim->hits[hit].next) {
		const struct lora_hit *h = &aim->hits[hit];

		if (h->whole) {
			a->whole = h;
			if (check_whole(h, a->t, e) < 0)
				return -1;
			continue;
		}
		if (mem_grow(&a->deltas, &a->delta_cap, a->delta_count + 1,
		             sizeof *a->deltas) < 0)
			return err_memory(e);
		if (lora_delta_make(&a->deltas[a->delta_count++], h, e) < 0)
			return -1;
	}
	return 0;
}

static void
drop(struct lora_apply *a)
{
	size_t i;

	for (i = 0; i < a->delta_count; i++)
		lora_delta_free(&a->deltas[i]);
	free(a->rows);
	free(a->room);
	a->delta_count = 0;
	a->whole = NULL;
	a->rows = NULL;
	a->room = NULL;
}

int
lora_apply_begin(struct lora_apply *a, const struct lora_aim *aim, size_t tensor,
                 const struct tensor *t, struct err *e)
{
	uint64_t columns = tensor_row(t), rows, bytes;

	drop(a);
	a->t = t;
	a->fill = 0;
	a->done = 0;
	if (check_type(a, t, e) < 0 || make_deltas(a, aim, aim->first[tensor], e) < 0)
		return -1;
	if (columns == 0)
		return 0;
	rows = num_min(tensor_items(t) / columns, columns < PIECE_VALUES ? PIECE_VALUES / columns
	                                                                   : 1);
	if (num_mul(rows, dtype_span(tensor_type(t), (size_t)columns), &bytes) < 0)
		return err_memory(e);
	a->piece = (size_t)bytes;
	a->rows = mem_array(a->piece, 1);
	a->room = mem_array((size_t)(rows * columns), 2 * sizeof *a->room);
	return a->rows && a->room ? 0 : err_memory(e);
}

int
lora_apply_add(struct lora_apply *a, const uint8_t *p, size_t n, struct sink *sink,
               struct err *e)
{
	while (n > 0) {
		size_t k = (size_t)num_min(n, a->piece - a->fill);

		memcpy(a->rows + a->fill, p, k);
		a->fill += k;
		p += k;
		n -= k;
		if (a->fill == a->piece && change_piece(a, sink, e) < 0)
			return -1;
	}
	return 0;
}

int
lora_apply_end(struct lora_apply *a, struct sink *sink, struct err *e)
{
	int r = a->fill > 0 ? change_piece(a, sink, e) : 0;

	drop(a);
	return r;
}

void
lora_apply_free(struct lora_apply *a)
{
	drop(a);
	free(a->deltas);
	a->deltas = NULL;
}
