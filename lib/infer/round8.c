#include "infer/round8.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/map.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/thread.h"
#include "infer/private.h"
#include "kernels/dot.h"
#include "kernels/kernel.h"
#include "kernels/mixing.h"

enum { BLOCK = 32, BYTES = 34, PIECE = 256, PIECE_BYTES = PIECE / BLOCK * BYTES, ALIGN = 64 };

/* Steps of the fractions, of 2^32: those of three irrational numbers, the square roots of 2 and 3
 * and the golden ratio, so that none repeats another. */
#define BY_COLUMN 0x6a09e667u
#define BY_ROW 0xbb67ae85u
#define BY_TURN 0x9e3779b9u

struct rounded {
	struct matrix exact; /* as the model has it */
	struct matrix *use;  /* what products use */
};

struct round8 {
	struct map map;
	struct rounded *list;
	size_t count;
};

struct task {
	const struct rounded *r;
	uint32_t turn;
};

/* ---- the matrices ---- */

static bool
is_rounded(const struct matrix *m)
{
	static const char *const types[] = { "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2" };
	const struct linear *l = (const void *)((const char *)m - offsetof(struct linear, w));
	size_t i;

	if (m->columns % BLOCK || l->id.role == ROLE_ROUTER || l->id.role == ROLE_OUT)
		return false;
	for (i = 0; i < sizeof types / sizeof types[0]; i++)
		if (!strcmp(m->type->name, types[i]))
			return true;
	return false;
}

static int
list(const struct infer *m, struct round8 *r, uint64_t *all, struct err *e)
{
	uint64_t bytes;
	size_t i;

	r->list = mem_array(m->net.matrix_count, sizeof *r->list);
	if (!r->list)
		return err_memory(e);
	for (i = 0; i < m->net.matrix_count; i++) {
		struct matrix *w = m->net.matrices[i];

		if (!is_rounded(w))
			continue;
		r->list[r->count++] = (struct rounded){ *w, w };
		if (num_mul(w->rows, w->columns / BLOCK * BYTES, &bytes) < 0 ||
		    num_add(*all, bytes, &bytes) < 0 || num_align(bytes, ALIGN, all) < 0)
			return err_memory(e);
	}
	return 0;
}

static int
begin(struct infer *m, struct err *e)
{
	const struct dtype *q8 = dtype_by_name("Q8_0");
	struct round8 *r = m->round8 = mem_array(1, sizeof *r);
	uint64_t all = 0;
	uint8_t *at;
	size_t i;

	if (!r)
		return err_memory(e);
	if (list(m, r, &all, e) < 0 || map_zeros(&r->map, all, e) < 0)
		return -1;
	for (at = r->map.p, i = 0; i < r->count; i++) {
		struct matrix *w = r->list[i].use;

		*w = (struct matrix){ q8, NULL, at, w->rows, w->columns,
		                      dot_packs(q8, w->rows, w->columns), NULL };
		at += (w->rows * matrix_row_bytes(w) + ALIGN - 1) / ALIGN * ALIGN;
	}
	return 0;
}

/* ---- their rows ---- */

/* n columns of a row, from column `at` on. */
static void
round_piece(const struct task *t, size_t row, size_t at, size_t n, uint8_t *to)
{
	const struct matrix *m = &t->r->exact;
	float x[PIECE];

	kernel_decode(m->type, m->head, m->data + row * matrix_row_bytes(m) + at * m->type->bytes, x,
	              n);
	mixing->round8(x, n, (uint32_t)row * BY_ROW + (uint32_t)at * BY_COLUMN + t->turn * BY_TURN,
	               BY_COLUMN, to);
}

/* Packed rows are whole sixteens of whole pieces. */
static void
sixteen_rows(void *ctx, size_t i)
{
	const struct task *t = ctx;
	const struct matrix *w = t->r->use;
	uint8_t piece[DOT_PACKED * PIECE_BYTES];
	const struct dot_weights rows = { w->type, NULL, piece, DOT_PACKED, PIECE, false };
	const size_t first = i * DOT_PACKED, bytes = matrix_row_bytes(w);
	const size_t count = num_min(DOT_PACKED, w->rows - first);
	uint8_t *to = (uint8_t *)w->data + first * bytes;
	size_t at, k, n;

	for (at = 0; at < w->columns; at += n) {
		n = num_min(PIECE, w->columns - at);
		for (k = 0; k < count; k++)
			round_piece(t, first + k, at, n, w->packed ? piece + k * PIECE_BYTES
			                                           : to + k * bytes + at / BLOCK * BYTES);
		if (w->packed)
			dot_pack(&rows, 0, DOT_PACKED, to + at / PIECE * sizeof piece);
	}
}

int
infer_round8(struct infer *m, uint32_t turn, struct err *e)
{
	size_t i;

	if (!m->round8 && begin(m, e) < 0)
		return -1;
	for (i = 0; i < m->round8->count; i++) {
		struct task t = { &m->round8->list[i], turn };

		thread_for(m->threads, (t.r->use->rows + DOT_PACKED - 1) / DOT_PACKED, sixteen_rows, &t);
	}
	return 0;
}

void
round8_free(struct round8 *r)
{
	if (!r)
		return;
	map_close(&r->map);
	free(r->list);
	free(r);
}
