#include "infer/cpu/thin.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/thread.h"

#define ROWS 64           /* of a task */
#define EXPANDED (4u << 20) /* bytes of rows that are expanded at a time, about */

/* A matrix that may become thin. */
struct candidate {
	struct matrix *m;
	struct thin thin;
	uint64_t *starts; /* the same memory as thin.starts */
};

/* ---- which matrices ---- */

/* Whether m lies in a tensor that has a sparse form. */
static bool
is_sparse(const struct weights *w, const struct matrix *m)
{
	const size_t bytes = m->rows * matrix_row_bytes(m);
	size_t i;

	for (i = 0; bytes > 0 && i < w->plan->tensor_count; i++) {
		const struct tensor *t = w->plan->tensors[i];

		if (tensor_form(t).kind != SPARSE_NONE && m->data >= w->tensors[i] &&
		    m->data + bytes <= w->tensors[i] + tensor_bytes(t))
			return true;
	}
	return false;
}

static bool
is_half(const struct dtype *t)
{
	return strcmp(t->name, "F16") == 0 || strcmp(t->name, "BF16") == 0;
}

struct counting {
	const struct matrix *m;
	struct thin_count *rows;
};

static void
count_rows(void *ctx, size_t task)
{
	const struct counting *c = ctx;
	const size_t last = num_min(c->m->rows, (task + 1) * ROWS), bytes = matrix_row_bytes(c->m);
	size_t i;

	for (i = task * ROWS; i < last; i++) {
		c->rows[i] = (struct thin_count){ 0, true, 0 };
		thin_count(c->m->data + i * bytes, c->m->columns, &c->rows[i]);
	}
}

static size_t
tasks_of(size_t rows)
{
	return (rows + ROWS - 1) / ROWS;
}

/* Choose a kind and place the rows, from 0 on. */
static int
examine(struct candidate *c, unsigned threads, struct err *e)
{
	struct matrix *m = c->m;
	struct counting counts = { m, mem_array(m->rows, sizeof *counts.rows) };
	struct thin_count all = { 0, true, 0 };
	uint64_t at = 0;
	size_t i;

	c->starts = mem_array(m->rows + 1, sizeof *c->starts);
	c->thin = (struct thin){ THIN_NONE, m->type, m->rows, m->columns, NULL, c->starts };
	if (!counts.rows || !c->starts) {
		free(counts.rows);
		return err_memory(e);
	}
	thread_for(threads, tasks_of(m->rows), count_rows, &counts);
	for (i = 0; i < m->rows; i++) {
		all.kept += counts.rows[i].kept;
		all.all += counts.rows[i].all;
		all.pairs = all.pairs && counts.rows[i].pairs;
	}
	c->thin.kind = thin_choose(m->type, &all);
	for (i = 0; i < m->rows; i++) {
		c->starts[i] = at;
		at += thin_row_bytes(c->thin.kind, m->columns, counts.rows[i].kept);
	}
	c->starts[i] = at;
	free(counts.rows);
	return 0;
}

/* ---- their rows ---- */

struct filling {
	const struct candidate *c;
	uint8_t *to;
};

static void
fill_rows(void *ctx, size_t task)
{
	const struct filling *f = ctx;
	const struct matrix *m = f->c->m;
	const size_t last = num_min(m->rows, (task + 1) * ROWS), bytes = matrix_row_bytes(m);
	size_t i;

	for (i = task * ROWS; i < last; i++)
		thin_put(f->c->thin.kind, m->data + i * bytes, m->columns, f->to + f->c->starts[i]);
}

/* Whether embed will read these bytes later: output layers can share them. */
static bool
is_table(const struct device_options *o, const struct matrix *m)
{
	size_t i;

	for (i = 0; i < o->table_count; i++) {
		const struct matrix *t = o->tables[i];

		if (t->rows && m->data < t->data + t->rows * matrix_row_bytes(t) &&
		    t->data < m->data + m->rows * matrix_row_bytes(m))
			return true;
	}
	return false;
}

static void
move(struct thin_set *s, const struct device_options *o, struct candidate *c, uint8_t *to)
{
	struct filling f = { c, to };
	struct matrix *m = c->m;

	thread_for(o->threads, tasks_of(m->rows), fill_rows, &f);
	if (o->weights->release && !is_table(o, m))
		o->weights->release(o->weights, m->data, m->rows * matrix_row_bytes(m));
	c->thin.data = to;
	s->of[s->count] = c->thin;
	m->data = to;
	m->thin = &s->of[s->count++];
	c->starts = NULL;
}

/* Rows that are expanded at a time: tasks for all threads. */
static size_t
expanded_rows(const struct thin_set *s, const struct matrix *m)
{
	const size_t some = EXPANDED / matrix_row_bytes(m), all = s->threads * (size_t)(4 * ROWS);

	return num_min(m->rows, (some > all ? some : all) / ROWS * ROWS);
}

static int
make(struct thin_set *s, const struct device_options *o, struct candidate *list, size_t count,
     struct err *e)
{
	uint64_t all = 0, dense = 0;
	uint8_t *at;
	size_t i;

	s->of = mem_array(count, sizeof *s->of);
	if (!s->of)
		return err_memory(e);
	for (i = 0; i < count; i++)
		if (list[i].thin.kind != THIN_NONE) {
			const struct matrix *m = list[i].m;
			uint64_t rows = expanded_rows(s, m) * matrix_row_bytes(m);

			all += list[i].starts[m->rows];
			dense = rows > dense ? rows : dense;
		}
	if (map_zeros(&s->map, all + THIN_SLACK, e) < 0 || map_zeros(&s->dense, dense, e) < 0)
		return -1;
	for (at = s->map.p, i = 0; i < count; i++)
		if (list[i].thin.kind != THIN_NONE) {
			uint64_t bytes = list[i].starts[list[i].m->rows];

			move(s, o, &list[i], at);
			at += bytes;
		}
	return 0;
}

int
thin_open(struct thin_set *s, const struct device_options *o, struct err *e)
{
	struct candidate *list = mem_array(o->matrix_count, sizeof *list);
	size_t i, count = 0;
	int r = 0;

	s->threads = o->threads;
	if (!list)
		return err_memory(e);
	for (i = 0; r == 0 && i < o->matrix_count; i++) {
		struct matrix *m = o->matrices[i];

		if (m->thin || !is_half(m->type) || !is_sparse(o->weights, m))
			continue;
		list[count].m = m;
		r = examine(&list[count++], o->threads, e);
	}
	if (r == 0)
		r = make(s, o, list, count, e);
	for (i = 0; i < count; i++)
		free(list[i].starts);
	free(list);
	return r;
}

void
thin_close(struct thin_set *s)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		free((void *)(uintptr_t)s->of[i].starts);
	free(s->of);
	map_close(&s->map);
	map_close(&s->dense);
}

/* ---- rows expanded ---- */

struct expanding {
	const struct thin *thin;
	size_t first, rows, bytes;
	uint8_t *to;
};

static void
expand_rows(void *ctx, size_t task)
{
	const struct expanding *x = ctx;
	const size_t from = task * ROWS;

	thin_get(x->thin, x->first + from, num_min(ROWS, x->rows - from), x->to + from * x->bytes);
}

struct matrix
thin_expand(struct thin_set *s, const struct matrix *m, size_t first)
{
	struct expanding x = { m->thin, first, num_min(expanded_rows(s, m), m->rows - first),
		matrix_row_bytes(m), s->dense.p };

	thread_for(s->threads, tasks_of(x.rows), expand_rows, &x);
	return (struct matrix){ .type = m->type, .data = x.to, .rows = x.rows, .columns = m->columns };
}
