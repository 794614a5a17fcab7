#include "adapt/tensors/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/thread.h"
#include "kernels/kernel.h"

#define CHUNK 4096 /* values that a thread computes at a time: whole blocks of every type */

bool
values_same(const struct tensors_row *row)
{
	return !row->made && row->math == MATH_NONE && row->from == tensor_type(row->t);
}

static size_t
bytes_of(const struct dtype *t, uint64_t values)
{
	return dtype_span(t, (size_t)values);
}

/* The number of values that a window holds: whole matrices' columns where a matrix is turned,
 * else whole blocks, and whole rows of a block of the move if these are small. */
static uint64_t
window_of(const struct tensors_row *row)
{
	const struct move *m = &row->move;
	uint64_t unit = tensor_type(row->t)->items, block;
	const struct move_piece *p;

	if (row->made)
		return MOVE_VALUES;
	p = &m->pieces[0];
	block = move_block(m);
	if (m->weave)
		unit *= m->n;
	else if (block > 1 && block <= MOVE_VALUES && block % unit == 0)
		unit = block;
	else if (p->stride[p->n - 1] != 1 && p->count[p->n - 1] <= MOVE_VALUES &&
	         p->count[p->n - 1] % unit == 0)
		unit = p->count[p->n - 1];
	return MOVE_VALUES / unit * unit;
}

int
values_begin(struct values *v, const struct tensors_row *row, struct err *e)
{
	size_t n;

	v->row = row;
	v->done = 0;
	v->all = tensor_items(row->t);
	v->window = window_of(row);
	n = (size_t)num_min(v->window, v->all);
	if (!dtype_sized(row->from) || !dtype_sized(tensor_type(row->t)))
		return err_set(e, ERR_FORMAT, tensor_name(row->t), "type %s cannot be moved",
		               row->from->name);
	if (mem_grow(&v->raw, &v->raw_cap, bytes_of(row->from, n), 1) < 0 ||
	    mem_grow(&v->out, &v->out_cap, bytes_of(tensor_type(row->t), n), 1) < 0 ||
	    (!values_same(row) && mem_grow(&v->x, &v->x_cap, n, sizeof *v->x) < 0))
		return err_memory(e);
	return 0;
}

/* ---- one chunk ---- */

struct work {
	struct values *v;
	const uint8_t *raw;
	uint8_t *out;
	uint64_t n;
};

static float
compute(enum tensors_math math, float x)
{
	switch (math) {
	case MATH_PLUS_ONE:
		return x + 1;
	case MATH_MINUS_ONE:
		return x - 1;
	case MATH_NEG_EXP:
		return (float)-exp((double)x);
	case MATH_LOG_NEG:
		return (float)log(-(double)x);
	case MATH_NONE:
		break;
	}
	return x;
}

static void
chunk(void *ctx, size_t i)
{
	const struct work *w = ctx;
	const struct tensors_row *row = w->v->row;
	const struct dtype *from = row->from, *to = tensor_type(row->t);
	uint64_t at = (uint64_t)i * CHUNK, n = num_min(w->n - at, CHUNK), k;
	float *x = w->v->x + at;
	bool half = strcmp(from->name, "F16") == 0;

	kernel_decode(from, NULL, w->raw + bytes_of(from, at), x, (size_t)n);
	for (k = 0; row->math != MATH_NONE && k < n; k++) {
		x[k] = compute(row->math, x[k]);
		if (half)
			x[k] = half_f16_f32(half_f32_f16(x[k]));
	}
	kernel_for(to)->encode(x, w->out + bytes_of(to, at), (size_t)n);
}

int
values_convert(struct values *v, const uint8_t *raw, uint64_t n, uint8_t *out, struct err *e)
{
	struct work w = { v, raw, out, n };
	const struct dtype *to = tensor_type(v->row->t);

	if (values_same(v->row)) {
		memcpy(out, raw, bytes_of(to, n));
		return 0;
	}
	if (!kernel_for(to) || !kernel_for(to)->encode || !kernel_decodes(v->row->from))
		return err_set(e, ERR_FORMAT, tensor_name(v->row->t), "type %s cannot be converted "
		               "to %s", v->row->from->name, to->name);
	thread_for(n > CHUNK ? v->jobs : 1, (size_t)((n + CHUNK - 1) / CHUNK), chunk, &w);
	return 0;
}

int
values_next(struct values *v, const uint8_t **p, size_t *n, struct err *e)
{
	const struct tensors_row *row = v->row;
	uint64_t values = num_min(v->window, v->all - v->done);
	size_t i;

	*n = 0;
	if (values == 0)
		return 0;
	if (row->made) {
		for (i = 0; i < values; i++) {
			uint32_t bits;

			memcpy(&bits, &row->made[v->done + i], sizeof bits);
			le32_put(v->out + i * 4, bits);
		}
	} else if (move_gather(&row->move, row->from, &v->in, v->done, values,
	                       values_same(row) ? v->out : v->raw, e) < 0) {
		return -1;
	} else if (!values_same(row) && values_convert(v, v->raw, values, v->out, e) < 0) {
		return -1;
	}
	v->done += values;
	*p = v->out;
	*n = bytes_of(tensor_type(row->t), values);
	return 0;
}

void
values_free(struct values *v)
{
	free(v->raw);
	free(v->out);
	free(v->x);
	free(v->in.scratch);
	*v = (struct values){ 0 };
}
