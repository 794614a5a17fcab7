/* The result as a source. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/range.h"
#include "core/thread.h"
#include "kernels/kernel.h"
#include "lowrank/lowrank.h"

#define PIECE ((size_t)256 << 10) /* bytes of a copied tensor at a time */
#define ROWS 64                   /* of a product at a time, at most */

struct lowrank_source {
	struct source source;     /* first */
	struct lowrank *l;
	unsigned jobs;
	size_t tensor;            /* being sent */
	uint8_t *piece;

	float *left, *right;      /* SEND_PRODUCT: the factors, */
	size_t inner, columns, n; /* their sizes, and the rows at a time */
	const struct dtype *type;
	double *sums;
	float *values;
	uint8_t *bytes;

	size_t blob, next_tensor, record; /* to be sent next */
	bool licence_sent;
	enum { SEND_NOTHING, SEND_BYTES, SEND_COPY, SEND_STORED, SEND_PRODUCT } mode;
	const uint8_t *ready;     /* SEND_BYTES */
	uint64_t sent, left_bytes;
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
}

static int
send_bytes(struct lowrank_source *s, const uint8_t *p, size_t n)
{
	s->mode = SEND_BYTES;
	s->ready = p;
	s->left_bytes = n;
	s->sent = 0;
	return 1;
}

static int
next_tensor(struct lowrank_source *s, struct item *item, struct err *e)
{
	const struct lowrank_row *row = &s->l->rows[s->next_tensor];
	const struct store_at *at = &s->l->in->store.at[row->tensor];

	s->tensor = s->next_tensor++;
	*item = (struct item){ .kind = ITEM_TENSOR, .index = s->tensor,
		.bytes = tensor_bytes(s->l->out.tensors[s->tensor]) };
	s->sent = 0;
	s->left_bytes = item->bytes;
	s->mode = row->from == LOWRANK_COPY ? SEND_COPY
	        : row->from == LOWRANK_STORED ? SEND_STORED : SEND_PRODUCT;
	if (s->mode == SEND_COPY && at->where == STORE_FILE)
		item->place = &at->range;
	drop_product(s);
	return s->mode == SEND_PRODUCT && begin_product(s, row, e) < 0 ? -1 : 1;
}

static int
lowrank_next(struct source *source, struct item *item, struct err *e)
{
	struct lowrank_source *s = (struct lowrank_source *)source;
	const struct merge_input *in = s->l->in;

	s->mode = SEND_NOTHING;
	if (s->blob < s->l->out.blob_count) {
		const struct weights_blob *w = &in->subject.w.blobs[s->blob];

		*item = (struct item){ .kind = ITEM_BLOB, .index = s->blob,
			.bytes = s->l->out.blobs[s->blob].bytes };
		s->blob++;
		return send_bytes(s, w->p, w->n);
	}
	if (in->has_licence && !s->licence_sent) {
		s->licence_sent = true;
		*item = (struct item){ .kind = ITEM_LICENCE, .bytes = in->licence.n };
		return send_bytes(s, in->licence.p, in->licence.n);
	}
	if (s->next_tensor < s->l->out.tensor_count)
		return next_tensor(s, item, e);
	if (s->record == in->record_count)
		return 0;
	*item = (struct item){ .kind = ITEM_PROV, .index = s->record,
		.head = (const char *)in->records[s->record].p,
		.head_bytes = in->records[s->record].n };
	s->record++;
	return 1;
}

static int
lowrank_read(struct source *source, const uint8_t **p, size_t *n, struct err *e)
{
	struct lowrank_source *s = (struct lowrank_source *)source;
	const struct lowrank_row *row = &s->l->rows[s->tensor];
	size_t most = PIECE;

	*n = 0;
	if (s->mode == SEND_NOTHING)
		return 0;
	if (s->mode == SEND_PRODUCT)
		most = s->n * s->columns * s->type->bytes;
	*n = (size_t)num_min(s->left_bytes, most);
	*p = s->mode == SEND_BYTES ? s->ready + s->sent : s->mode == SEND_PRODUCT ? s->bytes : s->piece;
	if (s->mode == SEND_COPY &&
	    merge_input_bytes(s->l->in, row->tensor, s->sent, s->piece, *n) < 0)
		return range_fail(s->l->in->name, e);
	if (s->mode == SEND_STORED && *n > 0 &&
	    spool_get(&s->l->factors, row->at + s->sent, s->piece, *n, e) < 0)
		return -1;
	if (s->mode == SEND_PRODUCT)
		thread_for(s->jobs, *n / s->type->bytes / s->columns, product_row, s);
	s->sent += *n;
	s->left_bytes -= *n;
	return 0;
}

static void
lowrank_close(struct source *source)
{
	struct lowrank_source *s = (struct lowrank_source *)source;

	drop_product(s);
	free(s->piece);
	free(s);
}

struct source *
lowrank_source(struct lowrank *l, unsigned jobs, struct err *e)
{
	static const struct source_ops ops = { .next = lowrank_next, .read = lowrank_read,
		.close = lowrank_close };
	struct lowrank_source *s = mem_array(1, sizeof *s);

	if (s)
		s->piece = mem_array(PIECE, 1);
	if (!s || !s->piece) {
		free(s);
		err_memory(e);
		return NULL;
	}
	s->l = l;
	s->jobs = jobs;
	s->source = (struct source){ .plan = &l->out, .ops = &ops, .name = l->in->name };
	return &s->source;
}
