/* The result as a source. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/range.h"
#include "core/thread.h"
#include "kernels/kernel.h"
#include "lowrank/lowrank.h"
#include "merge/carry.h"

#define PIECE ((size_t)256 << 10) /* bytes of a factor at a time */
#define ROWS 64                   /* of a product at a time, at most */

struct lowrank_source {
	struct source source;     /* first */
	struct lowrank *l;
	unsigned jobs;
	struct carry carry;
	size_t tensor;            /* being sent */
	enum { SEND_CARRIED, SEND_STORED, SEND_PRODUCT } mode;
	uint64_t sent, left_bytes;
	uint8_t *piece;           /* SEND_STORED */

	float *left, *right;      /* SEND_PRODUCT: the factors, */
	size_t inner, columns, n; /* their sizes, and the rows at a time */
	const struct dtype *type;
	double *sums;
	float *values;
	uint8_t *bytes;
	atomic_size_t lost;       /* values that its type cannot hold */
};

static void
drop_product(struct lowrank_source *s)
{
	free(s->left);
	free(s->right);
	free(s->sums);
	free(s->values);
	free(s->bytes);
	s->left = s->right = s->values = NULL;
	s->sums = NULL;
	s->bytes = NULL;
}

/* All values of a tensor of the input, in pieces of rows. NULL with e filled. */
static float *
load(struct lowrank_source *s, size_t tensor, struct err *e)
{
	const struct tensor *t = merge_input_plan(s->l->in)->tensors[tensor];
	size_t row = (size_t)tensor_row(t), all = (size_t)tensor_items(t), at;
	float *to = mem_array(all, sizeof *to);
	uint8_t *raw = mem_array(row, sizeof(double));

	if (!to || !raw)
		err_memory(e);
	for (at = 0; to && raw && at < all; at += row)
		if (merge_input_values(s->l->in, tensor, at, to + at, row, raw) < 0) {
			range_fail(s->l->in->name, e);
			break;
		}
	free(raw);
	if (e->code == ERR_NONE)
		return to;
	free(to);
	return NULL;
}

static int
begin_product(struct lowrank_source *s, const struct lowrank_row *row, struct err *e)
{
	const struct tensor *t = s->l->out.tensors[s->tensor];

	s->columns = (size_t)tensor_row(t);
	s->inner = (size_t)tensor_row(merge_input_plan(s->l->in)->tensors[row->tensor]);
	s->type = tensor_type(t);
	s->n = (size_t)num_min(tensor_dims(t)[0], ROWS);
	s->left = load(s, row->tensor, e);
	s->right = s->left ? load(s, row->right, e) : NULL;
	if (!s->right)
		return -1;
	s->sums = mem_array(s->columns, s->n * sizeof *s->sums);
	s->values = mem_array(s->columns, s->n * sizeof *s->values);
	s->bytes = mem_array(s->columns, s->n * s->type->bytes);
	return s->sums && s->values && s->bytes ? 0 : err_memory(e);
}

/* One row of the product: sums in double precision, in the order of the rank. */
static void
product_row(void *ctx, size_t i)
{
	struct lowrank_source *s = ctx;
	uint64_t row_bytes = (uint64_t)s->columns * s->type->bytes;
	const float *left = s->left + ((size_t)(s->sent / row_bytes) + i) * s->inner;
	double *sums = s->sums + i * s->columns;
	float *values = s->values + i * s->columns;
	size_t j, k;

	memset(sums, 0, s->columns * sizeof *sums);
	for (k = 0; k < s->inner; k++) {
		const float *right = s->right + k * s->columns;
		double by = left[k];

		for (j = 0; j < s->columns; j++)
			sums[j] += by * (double)right[j];
	}
	for (j = 0; j < s->columns; j++)
		values[j] = (float)sums[j];
	kernel_for(s->type)->encode(values, s->bytes + i * (size_t)row_bytes, s->columns);
	kernel_decode(s->type, NULL, s->bytes + i * (size_t)row_bytes, values, s->columns);
	for (j = k = 0; j < s->columns; j++)
		k += !isfinite(values[j]);
	atomic_fetch_add(&s->lost, k);
}

static int
begin_tensor(struct lowrank_source *s, struct item *item, struct err *e)
{
	const struct lowrank_row *row = &s->l->rows[item->index];

	s->tensor = item->index;
	s->sent = 0;
	s->left_bytes = item->bytes;
	drop_product(s);
	if (row->from == LOWRANK_COPY) {
		carry_copy(&s->carry, s->l->in, row->tensor, item);
		return 0;
	}
	s->mode = row->from == LOWRANK_STORED ? SEND_STORED : SEND_PRODUCT;
	return s->mode == SEND_PRODUCT ? begin_product(s, row, e) : 0;
}

static int
lowrank_next(struct source *source, struct item *item, struct err *e)
{
	struct lowrank_source *s = (struct lowrank_source *)source;
	int r = carry_next(&s->carry, item);

	s->mode = SEND_CARRIED;
	if (r > 0 && item->kind == ITEM_TENSOR && begin_tensor(s, item, e) < 0)
		return -1;
	return r;
}

static int
read_stored(struct lowrank_source *s, const uint8_t **p, size_t *n, struct err *e)
{
	*n = (size_t)num_min(s->left_bytes, PIECE);
	*p = s->piece;
	return *n == 0 ? 0 : spool_get(&s->l->factors, s->l->rows[s->tensor].at + s->sent, s->piece,
	                               *n, e);
}

static int
read_product(struct lowrank_source *s, const uint8_t **p, size_t *n, struct err *e)
{
	const struct tensor *t = s->l->out.tensors[s->tensor];
	size_t row = s->columns * s->type->bytes, lost;

	*n = (size_t)num_min(s->left_bytes, s->n * row);
	*p = s->bytes;
	atomic_store(&s->lost, 0);
	thread_for(s->jobs, *n / row, product_row, s);
	lost = atomic_load(&s->lost);
	if (lost == 0)
		return 0;
	err_set(e, ERR_INVALID, tensor_name(t), "%zu values of its rows %zu to %zu are not numbers that "
	        "%s can hold: NaN, infinite or too large", lost, (size_t)(s->sent / row),
	        (size_t)((s->sent + *n) / row) - 1, s->type->name);
	return s->type->bytes == 2 ? err_hint(e, "apr-quant f32 before apr-lowrank gives factors and "
	                                      "their products more range") : -1;
}

static int
lowrank_read(struct source *source, const uint8_t **p, size_t *n, struct err *e)
{
	struct lowrank_source *s = (struct lowrank_source *)source;

	if (s->mode == SEND_CARRIED)
		return carry_read(&s->carry, p, n, e);
	if ((s->mode == SEND_STORED ? read_stored(s, p, n, e) : read_product(s, p, n, e)) < 0)
		return -1;
	s->sent += *n;
	s->left_bytes -= *n;
	return 0;
}

static void
lowrank_close(struct source *source)
{
	struct lowrank_source *s = (struct lowrank_source *)source;

	drop_product(s);
	carry_close(&s->carry);
	free(s->piece);
	free(s);
}

struct source *
lowrank_source(struct lowrank *l, unsigned jobs, struct err *e)
{
	static const struct source_ops ops = { .next = lowrank_next, .read = lowrank_read,
		.close = lowrank_close };
	struct lowrank_source *s = mem_array(1, sizeof *s);

	if (!s) {
		err_memory(e);
		return NULL;
	}
	s->l = l;
	s->jobs = jobs;
	s->source = (struct source){ .plan = &l->out, .ops = &ops, .name = l->in->name };
	s->carry = (struct carry){ .plan = &l->out, .inputs = l->in, .input_count = 1,
		.files_of = l->in };
	s->piece = mem_array(PIECE, 1);
	if (!s->piece)
		err_memory(e);
	else if (carry_open(&s->carry, e) == 0)
		return &s->source;
	lowrank_close(&s->source);
	return NULL;
}
