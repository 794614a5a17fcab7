#include "infer/cpu/repack.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/thread.h"
#include "kernels/dot.h"

#define ROWS 64    /* of a task */
#define ALIGN 64   /* of a matrix */
#define PART (16u << 20) /* bytes that exist twice at a time, about */

struct task {
	const struct matrix *from;
	uint8_t *to;
	bool pack;
	size_t first; /* row */
};

static bool
packs(const struct matrix *m)
{
	return dot_packs(m->type, m->rows, m->columns);
}

static uint64_t
bytes_of(const struct matrix *m)
{
	return m->rows * matrix_row_bytes(m);
}

static bool
overlaps(const struct matrix *a, const struct matrix *b)
{
	return b->rows && a->data < b->data + bytes_of(b) && b->data < a->data + bytes_of(a);
}

/* Whether the matrix lies in the weights. Types whose blocks run across rows stay there. */
static bool
moves(const struct weights *w, const struct matrix *m)
{
	size_t i;

	if (m->type->whole || bytes_of(m) == 0)
		return false;
	for (i = 0; i < w->plan->tensor_count; i++)
		if (m->data >= w->tensors[i] &&
		    m->data < w->tensors[i] + tensor_bytes(w->plan->tensors[i]))
			return true;
	return false;
}

static void
some_rows(void *ctx, size_t i)
{
	const struct task *t = ctx;
	const struct matrix *m = t->from;
	const struct dot_weights w = { m->type, m->head, m->data, m->rows, m->columns, false };
	size_t first = t->first + i * ROWS, bytes = matrix_row_bytes(m);
	size_t count = m->rows - first < ROWS ? m->rows - first : ROWS;

	if (t->pack)
		dot_pack(&w, first, count, t->to + first * bytes);
	else
		memcpy(t->to + first * bytes, m->data + first * bytes, count * bytes);
}

/* Whether embed will read these rows later: output layers can share them. */
static bool
is_table(const struct device_options *o, const struct matrix *m)
{
	size_t i;

	for (i = 0; i < o->table_count; i++)
		if (overlaps(m, o->tables[i]))
			return true;
	return false;
}

/* Move all rows, part by part; a part's old memory is given back before the next part. */
static void
move(const struct device_options *o, struct task *t)
{
	const struct weights *w = o->weights;
	const struct matrix *m = t->from;
	size_t bytes = matrix_row_bytes(m), part = PART / bytes / ROWS * ROWS + ROWS, rows;
	bool last = !is_table(o, m);

	for (t->first = 0; t->first < m->rows; t->first += rows) {
		rows = m->rows - t->first < part ? m->rows - t->first : part;
		thread_for(o->threads, (rows + ROWS - 1) / ROWS, some_rows, t);
		if (w->release && last)
			w->release(w, m->data + t->first * bytes, rows * bytes);
	}
}

int
repack(const struct device_options *o, struct map *to, struct err *e)
{
	struct matrix **list = mem_array(o->matrix_count, sizeof *list);
	uint64_t all = 0, next;
	size_t i, count = 0;
	uint8_t *at;
	int done = 0;

	if (!list)
		return err_memory(e);
	for (i = 0; i < o->matrix_count; i++)
		if (moves(o->weights, o->matrices[i]))
			list[count++] = o->matrices[i];
	for (i = 0; done == 0 && i < count; i++)
		if (num_add(all, bytes_of(list[i]), &next) < 0 || num_align(next, ALIGN, &all) < 0)
			done = err_memory(e);
	if (done == 0)
		done = map_zeros(to, all, e);
	for (i = 0, at = to->p; done == 0 && i < count; i++) {
		struct matrix *m = list[i];
		struct task t = { m, at, packs(m), 0 };
		uint64_t bytes = bytes_of(m);

		move(o, &t);
		m->data = at;
		m->packed = t.pack;
		at += (bytes + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
	}
	free(list);
	return done;
}
