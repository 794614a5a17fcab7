#include "adapt/tensors/move.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"

struct move_piece
move_run(size_t source, uint64_t base, uint64_t n)
{
	return (struct move_piece){ .source = source, .base = base, .n = 1, .count = { n },
		.stride = { 1 } };
}

void
move_simplify(struct move_piece *p)
{
	unsigned i, n = 0;

	for (i = 0; i < p->n; i++) {
		if (p->count[i] == 1)
			continue;
		if (n > 0 && p->stride[n - 1] == p->stride[i] * p->count[i]) {
			p->count[n - 1] *= p->count[i];
			p->stride[n - 1] = p->stride[i];
			continue;
		}
		p->count[n] = p->count[i];
		p->stride[n++] = p->stride[i];
	}
	if (n == 0) {
		p->count[0] = p->stride[0] = 1;
		n = 1;
	}
	p->n = n;
}

static uint64_t
piece_values(const struct move_piece *p)
{
	uint64_t all = 1;
	unsigned i;

	for (i = 0; i < p->n; i++)
		all *= p->count[i];
	return all;
}

/* Values of one repetition. */
static uint64_t
values_of(const struct move *m)
{
	uint64_t all = 0;
	size_t i;

	for (i = 0; i < m->n; i++)
		all += piece_values(&m->pieces[i]);
	return all;
}

bool
move_is_plain(const struct move *m)
{
	return m->n == 1 && m->repeat == 1 && m->pieces[0].n == 1 &&
	       m->pieces[0].stride[0] == 1 && m->pieces[0].base == 0;
}

/* The values of the inner dimensions from i on lie in a block of their own: its size, or 0. */
static uint64_t
block_of(const struct move_piece *p, unsigned i)
{
	uint64_t values = 1, span = 1;

	for (; i < p->n; i++) {
		values *= p->count[i];
		span += (p->count[i] - 1) * p->stride[i];
	}
	return values == span ? values : 0;
}

uint64_t
move_block(const struct move *m)
{
	const struct move_piece *p = &m->pieces[0];
	uint64_t block;
	unsigned i;

	if (m->n != 1 || m->repeat != 1 || p->base != 0)
		return 0;
	for (i = p->n; i-- > 0;) {
		block = block_of(p, i);
		if (block && (i == 0 || p->stride[i - 1] == block))
			return block;
	}
	return 0;
}

bool
move_keeps_blocks(const struct move *m, const struct dtype *t)
{
	size_t k;
	unsigned i;

	if (!dtype_sized(t) || t->head || t->whole || m->weave)
		return move_is_plain(m);
	for (k = 0; k < m->n && t->items > 1; k++) {
		const struct move_piece *p = &m->pieces[k];

		if (p->stride[p->n - 1] != 1 || p->count[p->n - 1] % t->items ||
		    p->base % t->items || p->step % t->items)
			return false;
		for (i = 0; i + 1 < p->n; i++)
			if (p->stride[i] % t->items)
				return false;
	}
	return true;
}

/* ---- gathering ---- */

/* Part of one piece: count values from its value `first` on. */
struct part {
	const struct move_piece *p;
	const struct dtype *t;
	struct move_reader *in;
	uint64_t base, first, count;
};

static size_t
bytes_of(const struct dtype *t, uint64_t values)
{
	return (size_t)(values / t->items * t->bytes);
}

static int
read_values(const struct part *a, uint64_t from, uint64_t n, uint8_t *dst, struct err *e)
{
	return a->in->read(a->in->ctx, a->p->source, a->base / a->t->items * a->t->bytes +
	                   from / a->t->items * a->t->bytes, dst, bytes_of(a->t, n), e);
}

/* The offset of a piece's value in its source, without base. */
static uint64_t
offset_of(const struct move_piece *p, uint64_t value)
{
	uint64_t at = 0;
	unsigned i;

	for (i = p->n; i-- > 0;) {
		at += value % p->count[i] * p->stride[i];
		value /= p->count[i];
	}
	return at;
}

static uint8_t *
scratch(struct move_reader *in, size_t n, struct err *e)
{
	if (n > in->scratch_cap && mem_grow(&in->scratch, &in->scratch_cap, n, 1) < 0) {
		err_memory(e);
		return NULL;
	}
	return in->scratch;
}

/* The range of offsets that the values of a part have: outer dimensions that do not change
 * are one value, all others their whole range. */
static void
span_of(const struct part *a, uint64_t *low, uint64_t *high)
{
	const struct move_piece *p = a->p;
	uint64_t i = a->first, j = a->first + a->count - 1;
	unsigned d = 0, k;
	uint64_t inner = piece_values(p);

	*low = *high = 0;
	for (; d < p->n; d++) {
		inner /= p->count[d];
		if (i / inner != j / inner)
			break;
		*low += i / inner * p->stride[d];
		i %= inner;
		j %= inner;
	}
	*high = *low;
	if (d == p->n)
		return;
	*low += i / inner * p->stride[d];
	*high += j / inner * p->stride[d];
	for (k = d + 1; k < p->n; k++)
		*high += (p->count[k] - 1) * p->stride[k];
}

/* Copy values whose range of the source is in memory. */
static void
pick(const struct part *a, const uint8_t *span, uint64_t low, uint8_t *dst)
{
	const struct move_piece *p = a->p;
	uint64_t inner = p->count[p->n - 1], step = p->stride[p->n - 1], at, i, n;
	size_t size = a->t->bytes;

	for (i = 0; i < a->count; i += n) {
		at = offset_of(p, a->first + i) - low;
		n = num_min(a->count - i, inner - (a->first + i) % inner);
		if (step == 1) {
			memcpy(dst + bytes_of(a->t, i), span + bytes_of(a->t, at), bytes_of(a->t, n));
		} else if (size == 2) {
			uint64_t k;

			for (k = 0; k < n; k++)
				memcpy(dst + (i + k) * 2, span + (at + k * step) * 2, 2);
		} else {
			uint64_t k;

			for (k = 0; k < n; k++)
				memcpy(dst + (i + k) * size, span + (at + k * step) * size, size);
		}
	}
}

/* Runs of values that lie far apart. */
static int
gather_runs(const struct part *a, uint8_t *dst, struct err *e)
{
	uint64_t run = a->p->count[a->p->n - 1], i, n;

	for (i = 0; i < a->count; i += n) {
		n = num_min(a->count - i, run - (a->first + i) % run);
		if (read_values(a, offset_of(a->p, a->first + i), n, dst + bytes_of(a->t, i), e) < 0)
			return -1;
	}
	return 0;
}

/* Whole columns of a matrix: the last two dimensions have strides s < S. Read a short run of
 * each row, and turn them. */
static int
gather_columns(const struct part *a, uint64_t columns, uint8_t *dst, struct err *e)
{
	const struct move_piece *p = a->p;
	uint64_t rows = p->count[p->n - 1], s = p->stride[p->n - 2];
	uint64_t at = offset_of(p, a->first), span = (columns - 1) * s + 1, r, c;
	size_t size = a->t->bytes;
	uint8_t *row = scratch(a->in, (size_t)span * size, e);

	if (!row)
		return -1;
	for (r = 0; r < rows; r++) {
		if (read_values(a, at + r * p->stride[p->n - 1], span, row, e) < 0)
			return -1;
		for (c = 0; c < columns; c++)
			memcpy(dst + (c * rows + r) * size, row + c * s * size, size);
	}
	return 0;
}

/* Values of one column, or of part of it, one by one. */
static int
gather_values(const struct part *a, uint8_t *dst, struct err *e)
{
	uint64_t i;

	for (i = 0; i < a->count; i++)
		if (read_values(a, offset_of(a->p, a->first + i), 1, dst + i * a->t->bytes, e) < 0)
			return -1;
	return 0;
}

/* Values whose last stride is not 1: whole columns as far as possible. */
static int
gather_turned(struct part a, uint8_t *dst, struct err *e)
{
	const struct move_piece *p = a.p;
	uint64_t rows = p->count[p->n - 1], all = a.count, columns, n;
	int r = 0;

	for (; all > 0 && r == 0; all -= n, a.first += n, dst += n * a.t->bytes) {
		columns = p->n > 1 ? num_min(all / rows, p->count[p->n - 2] -
		                             a.first / rows % p->count[p->n - 2]) : 0;
		if (a.first % rows || columns == 0) {
			n = num_min(all, rows - a.first % rows);
			a.count = n;
			r = gather_values(&a, dst, e);
		} else {
			n = columns * rows;
			r = gather_columns(&a, columns, dst, e);
		}
	}
	return r;
}

static int
gather_part(const struct part *a, uint8_t *dst, struct err *e)
{
	uint64_t low, high;
	uint8_t *span;

	if (a->p->n == 1 && a->p->stride[0] == 1)
		return read_values(a, a->first, a->count, dst, e);
	span_of(a, &low, &high);
	/* Values of one run that lie close together, as the scales of blocks do, count as near. */
	if (high - low < (a->p->n == 1 ? 32 : 2) * a->count + 64 || high - low < 4096) {
		uint64_t n = high - low + 1;

		n += (a->t->items - n % a->t->items) % a->t->items;
		span = scratch(a->in, bytes_of(a->t, n), e);
		if (!span || read_values(a, low, n, span, e) < 0)
			return -1;
		pick(a, span, low, dst);
		return 0;
	}
	return a->p->stride[a->p->n - 1] == 1 ? gather_runs(a, dst, e)
	                                      : gather_turned(*a, dst, e);
}

/* Pieces of the same size whose values follow each other in turn. */
static int
gather_woven(const struct move *m, const struct dtype *t, struct move_reader *in,
             uint64_t first, uint64_t n, uint8_t *dst, struct err *e)
{
	uint64_t one = piece_values(&m->pieces[0]), all = one * m->n, i, part, k;
	uint8_t *plain = mem_array((size_t)n, t->bytes);
	int r = plain ? 0 : err_memory(e);
	size_t piece;

	/* The caller's windows are multiples of the number of pieces. */
	for (i = 0; i < n && r == 0; i += part * m->n) {
		uint64_t rep = (first + i) / all, at = (first + i) % all / m->n;

		part = num_min((n - i) / m->n, one - at);
		for (piece = 0; piece < m->n && r == 0; piece++) {
			const struct move_piece *p = &m->pieces[piece];
			struct part a = { p, t, in, p->base + rep * p->step, at, part };

			r = gather_part(&a, plain, e);
			for (k = 0; k < part && r == 0; k++)
				memcpy(dst + (i + k * m->n + piece) * t->bytes, plain + k * t->bytes,
				       t->bytes);
		}
	}
	free(plain);
	return r;
}

int
move_gather(const struct move *m, const struct dtype *t, struct move_reader *in,
            uint64_t first, uint64_t n, uint8_t *dst, struct err *e)
{
	uint64_t all = values_of(m), rep = all ? first / all : 0, at = all ? first % all : 0;
	size_t i = 0;

	if (m->weave)
		return gather_woven(m, t, in, first, n, dst, e);
	while (n > 0) {
		const struct move_piece *p = &m->pieces[i];
		uint64_t one = piece_values(p);

		if (at < one) {
			struct part a = { p, t, in, p->base + rep * p->step, at, num_min(n, one - at) };

			if (gather_part(&a, dst, e) < 0)
				return -1;
			dst += bytes_of(t, a.count);
			n -= a.count;
			at += a.count;
		}
		at -= one;
		if (++i == m->n) {
			i = 0;
			rep++;
		}
	}
	return 0;
}

/* ---- zeros ---- */

static uint64_t
ask_zeros(const struct part *a, uint64_t from, uint64_t n)
{
	size_t all = bytes_of(a->t, n + (a->t->items - n % a->t->items) % a->t->items);
	uint64_t got = a->in->zeros(a->in->ctx, a->p->source, bytes_of(a->t, a->base + from), all);

	return got == all ? n : got / a->t->bytes * a->t->items;
}

/* The known zeros with which the rest of a piece begins. */
static uint64_t
part_zeros(struct part a, uint64_t window)
{
	uint64_t low, high;

	if (a.p->n == 1 && a.p->stride[0] == 1)
		return ask_zeros(&a, a.first, a.count);
	span_of(&a, &low, &high);
	if (ask_zeros(&a, low, high - low + 1) == high - low + 1)
		return a.count;
	a.count = num_min(a.count, window);
	span_of(&a, &low, &high);
	return ask_zeros(&a, low, high - low + 1) == high - low + 1 ? a.count : 0;
}

uint64_t
move_zeros(const struct move *m, const struct dtype *t, struct move_reader *in, uint64_t first,
           uint64_t window)
{
	uint64_t all = values_of(m), rep, at, zeros = 0, got;
	size_t i;

	if (m->weave || !in->zeros || all == 0)
		return 0;
	for (rep = first / all, at = first % all; rep < m->repeat; rep++)
		for (i = 0; i < m->n; i++) {
			const struct move_piece *p = &m->pieces[i];
			uint64_t one = piece_values(p);
			struct part a = { p, t, in, p->base + rep * p->step, at, one - num_min(at, one) };

			at -= num_min(at, one);
			if (a.count == 0)
				continue;
			got = part_zeros(a, window);
			zeros += got;
			if (got < a.count)
				return zeros;
		}
	return zeros;
}
