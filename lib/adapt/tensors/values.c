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

#define GAP_VALUES (1u << 16) /* of a window between gaps */
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

/* The number of values that a window holds: at most `most`, and at least one unit. A unit is
 * whole columns if a matrix is turned, else whole blocks, and whole rows of a block of the move
 * if these are small. */
static uint64_t
window_of(const struct tensors_row *row, uint64_t most)
{
	const struct move *m = &row->move;
	uint64_t unit = row->math == MATH_PAIRS ? 16 : tensor_type(row->t)->items, block;
	const struct move_piece *p;

	if (row->made)
		return most;
	p = &m->pieces[0];
	block = move_block(m);
	if (m->weave)
		unit *= m->n;
	else if (block > 1 && block <= MOVE_VALUES && block % unit == 0)
		unit = block;
	else if (p->stride[p->n - 1] != 1 && p->count[p->n - 1] <= MOVE_VALUES &&
	         p->count[p->n - 1] % unit == 0)
		unit = p->count[p->n - 1];
	return most < unit ? unit : most / unit * unit;
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
	case MATH_PAIRS:
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
	if (v->row->math == MATH_PAIRS) {
		packed_pairs(raw, (size_t)n / 16, out);
		return 0;
	}
	if (!kernel_for(to) || !kernel_for(to)->encode || !kernel_decodes(v->row->from))
		return err_set(e, ERR_FORMAT, tensor_name(v->row->t), "type %s cannot be converted "
		               "to %s", v->row->from->name, to->name);
	thread_for(n > CHUNK ? v->jobs : 1, (size_t)((n + CHUNK - 1) / CHUNK), chunk, &w);
	return 0;
}

/* ---- windows ---- */

/* Zeros stay zeros if bytes only move, or if the conversion of a block says so. */
static int
find_zeros(struct values *v, struct err *e)
{
	const struct tensors_row *row = v->row;
	const struct dtype *to = tensor_type(row->t);
	uint64_t n = num_min(v->window, to->items > row->from->items ? to->items : row->from->items);
	size_t i, bytes = bytes_of(to, n);

	if (row->made || row->math != MATH_NONE || v->all == 0 || row->from->head || row->from->whole)
		return 0;
	if (!values_same(row)) {
		memset(v->raw, 0, bytes_of(row->from, n));
		if (values_convert(v, v->raw, n, v->out, e) < 0)
			return -1;
		for (i = 0; i < bytes; i++)
			if (v->out[i])
				return 0;
	}
	v->keeps_zeros = true;
	return 0;
}

int
values_begin(struct values *v, const struct tensors_row *row, struct err *e)
{
	size_t n;

	v->keeps_zeros = false;
	v->row = row;
	v->done = 0;
	v->all = tensor_items(row->t);
	v->window = window_of(row, MOVE_VALUES);
	n = (size_t)num_min(v->window, v->all);
	if (!dtype_sized(row->from) || !dtype_sized(tensor_type(row->t)))
		return err_set(e, ERR_FORMAT, tensor_name(row->t), "type %s cannot be moved",
		               row->from->name);
	if (mem_grow(&v->raw, &v->raw_cap, bytes_of(row->from, n), 1) < 0 ||
	    mem_grow(&v->out, &v->out_cap, bytes_of(tensor_type(row->t), n), 1) < 0 ||
	    (!values_same(row) && mem_grow(&v->x, &v->x_cap, n, sizeof *v->x) < 0))
		return err_memory(e);
	return find_zeros(v, e);
}

static uint64_t
skip(struct values *v, uint64_t values)
{
	if (values < v->all - v->done)
		values -= values % v->window;
	v->done += values;
	return bytes_of(tensor_type(v->row->t), values);
}

void
values_expect_gaps(struct values *v)
{
	const struct move *m = &v->row->move;
	const struct move_piece *p = &m->pieces[0];

	if (v->keeps_zeros && p->stride[p->n - 1] == 1)
		v->window = window_of(v->row, GAP_VALUES);
}

uint64_t
values_zeros(struct values *v)
{
	if (!v->keeps_zeros || v->done == v->all)
		return 0;
	return skip(v, move_zeros(&v->row->move, v->row->from, &v->in, v->done, v->window));
}

uint64_t
values_skip(struct values *v, uint64_t *n)
{
	const struct dtype *from = v->row->from;
	uint64_t before = v->done, bytes;

	if (!v->keeps_zeros)
		return 0;
	bytes = skip(v, num_min(*n / from->bytes * from->items, v->all - v->done));
	*n -= bytes_of(from, v->done - before);
	return bytes;
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
