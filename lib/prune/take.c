#include "prune/take.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/range.h"
#include "kernels/kernel.h"

#define BATCH ((size_t)1 << 20) /* bytes, unless a row is longer */

bool
take_keeps_blocks(const struct prune_list *kept, const struct dtype *t)
{
	size_t i, k;

	if (!kept || t->items == 1)
		return true;
	if (kept->n % t->items)
		return false;
	for (i = 0; i < kept->n; i += t->items)
		for (k = 0; k < t->items; k++)
			if (kept->at[i + k] != kept->at[i] + k || kept->at[i] % t->items)
				return false;
	return true;
}

int
take_begin(struct take *t, const struct prune_plan *p, size_t tensor, unsigned jobs,
           struct err *e)
{
	const struct tensor *to = p->out.tensors[tensor];
	const struct tensor *from = merge_input_plan(p->in)->tensors[p->rows[tensor].from];

	t->in = p->in;
	t->tensor = p->rows[tensor].from;
	t->type = tensor_type(to);
	t->kept_rows = p->rows[tensor].kept_rows;
	t->kept_columns = p->rows[tensor].kept_columns;
	t->next = 0;
	t->rows = tensor_row(to) ? tensor_items(to) / tensor_row(to) : 0;
	t->columns = (size_t)tensor_row(from);
	t->row_bytes = dtype_span(t->type, t->columns);
	t->kept_bytes = dtype_span(t->type, (size_t)tensor_row(to));
	t->whole = take_keeps_blocks(t->kept_columns, t->type);
	t->batch = t->row_bytes < BATCH ? BATCH / (t->row_bytes ? t->row_bytes : 1) : 1;
	/* In bytes, as rows of the next tensor are longer or shorter. */
	if (mem_grow(&t->raw, &t->raw_cap, t->batch * t->row_bytes, 1) < 0 ||
	    mem_grow(&t->bytes, &t->bytes_cap, t->batch * t->kept_bytes, 1) < 0 ||
	    (!t->whole && (mem_grow(&t->x, &t->x_cap, t->columns, sizeof *t->x) < 0 ||
	                   mem_grow(&t->kept, &t->kept_cap, t->columns, sizeof *t->kept) < 0)))
		return err_memory(e);
	return t->whole ? 0 : convert_open(&t->convert, tensor_name(to), dtype_by_name("F32"), t->type,
	                                   jobs, false, e);
}

void
take_close(struct take *t)
{
	free(t->raw);
	free(t->bytes);
	free(t->x);
	free(t->kept);
	*t = (struct take){ 0 };
}

/* Whole blocks of a row that stay. */
static void
copy_blocks(const struct take *t, const uint8_t *raw, uint8_t *to)
{
	size_t i, items = t->type->items, bytes = t->type->bytes;

	for (i = 0; i < t->kept_columns->n; i += items, to += bytes)
		memcpy(to, raw + t->kept_columns->at[i] / items * bytes, bytes);
}

/* Values of a row that stay, encoded again. */
static int
encode(struct take *t, const uint8_t *raw, uint8_t *to, struct err *e)
{
	struct convert_stats stats = { 0 };
	size_t i, n = t->kept_columns->n;

	kernel_decode(t->type, NULL, raw, t->x, t->columns);
	for (i = 0; i < n; i++)
		t->kept[i] = t->x[t->kept_columns->at[i]];
	if (convert_run(&t->convert, (const uint8_t *)t->kept, n * sizeof *t->kept, to,
	                t->kept_bytes, &stats, e) < 0)
		return -1;
	return convert_held(&t->convert, &stats, e);
}

/* Read rows of the result from `from` on, those that follow each other at once. */
static int
read_rows(struct take *t, uint64_t from, size_t n, struct err *e)
{
	const uint64_t *at = t->kept_rows ? t->kept_rows->at + from : NULL;
	size_t i, run;

	for (i = 0; i < n; i += run) {
		for (run = 1; i + run < n && (!at || at[i + run] == at[i] + run); run++)
			;
		if (merge_input_bytes(t->in, t->tensor, (at ? at[i] : from + i) * t->row_bytes,
		                      t->raw + i * t->row_bytes, run * t->row_bytes) < 0)
			return range_fail(t->in->name, e);
	}
	return 0;
}

int
take_next(struct take *t, const uint8_t **p, size_t *n, struct err *e)
{
	size_t rows = (size_t)num_min(t->batch, t->rows - t->next), i;

	*n = 0;
	*p = t->kept_columns ? t->bytes : t->raw;
	if (rows == 0)
		return 0;
	if (read_rows(t, t->next, rows, e) < 0)
		return -1;
	for (i = 0; t->kept_columns && i < rows; i++) {
		const uint8_t *raw = t->raw + i * t->row_bytes;
		uint8_t *to = t->bytes + i * t->kept_bytes;

		if (t->whole)
			copy_blocks(t, raw, to);
		else if (encode(t, raw, to, e) < 0)
			return -1;
	}
	t->next += rows;
	*n = rows * t->kept_bytes;
	return 0;
}
