#include "prune/mask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/range.h"
#include "core/thread.h"
#include "kernels/kernel.h"
#include "prune/choose.h"
#include "prune/update.h"

#define TILE ((uint64_t)16384)     /* values, if rows are shorter */
#define BATCH ((uint64_t)1 << 20)
#define TILES ((size_t)64)
#define RAW 8                      /* the most bytes of a value */

static const struct tensor *
tensor_of(const struct mask *m)
{
	return merge_input_plan(m->p->in)->tensors[m->tensor];
}

static const struct dtype *
type_of(const struct mask *m)
{
	return tensor_type(m->p->out.tensors[m->tensor]);
}

/* ---- batches ---- */

/* The rows and columns of a tensor, and the sizes of tiles and batches. */
static int
shape(struct mask *m, size_t tensor, struct err *e)
{
	uint64_t values, tile;

	m->tensor = tensor;
	m->row = &m->p->rows[tensor];
	m->columns = tensor_row(tensor_of(m));
	m->rows = tensor_items(tensor_of(m)) / m->columns;
	m->at = 0;
	m->tile_rows = (size_t)(TILE > m->columns ? TILE / m->columns : 1);
	tile = m->tile_rows * m->columns; /* at most PRUNE_ROW */
	m->tiles = (size_t)num_min(TILES, tile < BATCH ? BATCH / tile : 1);
	values = tile * m->tiles;
	if (mem_grow(&m->x, &m->x_cap, (size_t)values, sizeof *m->x) < 0 ||
	    mem_grow(&m->rank, &m->rank_cap, (size_t)values, sizeof *m->rank) < 0 ||
	    mem_grow(&m->raw, &m->raw_cap, (size_t)values, RAW) < 0 ||
	    mem_grow(&m->bytes, &m->bytes_cap, (size_t)values, RAW) < 0 ||
	    mem_grow(&m->equals, &m->equals_cap, m->tiles, sizeof *m->equals) < 0 ||
	    mem_grow(&m->zeros, &m->zeros_cap, m->tiles, sizeof *m->zeros) < 0 ||
	    mem_grow(&m->lost, &m->lost_cap, m->tiles, sizeof *m->lost) < 0)
		return err_memory(e);
	return 0;
}

/* The next batch: at most `tiles` tiles of one matrix. False at the end. */
static bool
next_batch(struct mask *m)
{
	uint64_t left = m->row->matrix_rows - m->at % m->row->matrix_rows;

	if (m->at == m->rows)
		return false;
	m->from = m->at;
	m->batch_rows = (size_t)num_min(left, (uint64_t)m->tiles * m->tile_rows);
	m->count = (m->batch_rows + m->tile_rows - 1) / m->tile_rows;
	m->at += m->batch_rows;
	return true;
}

/* The values of a tile, from the first of the batch on. */
struct tile {
	size_t at, n;
};

static struct tile
tile_of(const struct mask *m, size_t i)
{
	size_t first = i * m->tile_rows;
	size_t rows = num_min(m->batch_rows - first, m->tile_rows);

	return (struct tile){ first * m->columns, rows * m->columns };
}

/* Read a tile and rank its values. False if reading failed. */
static bool
load(struct mask *m, struct tile t)
{
	const float *norms = m->row->norms;
	uint64_t matrix = m->from / m->row->matrix_rows;
	size_t at;

	if (m->ready) {
		memcpy(m->x + t.at, m->ready + m->from * m->columns + t.at, t.n * sizeof *m->x);
		return true;
	}
	if (merge_input_values(m->p->in, m->tensor, m->from * m->columns + t.at, m->x + t.at, t.n,
	                       m->raw + t.at * RAW) < 0) {
		atomic_store(&m->fault, errno + 1);
		return false;
	}
	if (m->p->how.rule == PRUNE_BELOW)
		return true;
	for (at = t.at; at < t.at + t.n; at += m->columns)
		choose_rank(m->x + at, norms ? norms + matrix * m->columns : NULL, m->rank + at,
		            (size_t)m->columns);
	return true;
}

static int
fail(const struct mask *m, struct err *e)
{
	errno = atomic_load(&m->fault) - 1;
	return range_fail(m->p->in->name, e);
}

/* ---- borders ---- */

/* Count the ranks of each lane-th tile of the batch. */
static void
count_lane(void *ctx, size_t lane)
{
	struct mask *m = ctx;
	const struct border *b = &m->p->groups[m->row->group].border;
	uint32_t *bins = m->slots + lane * BORDER_COARSE;
	size_t i;

	for (i = lane; i < m->count; i += m->jobs) {
		struct tile t = tile_of(m, i);

		if (!load(m, t))
			return;
		if (m->pass == MASK_COARSE)
			border_count(bins, m->rank + t.at, t.n);
		else
			border_count_fine(b, bins, m->rank + t.at, t.n);
	}
}

/* Add the histograms of one tensor to the bins. */
static int
count_tensor(struct mask *m, size_t tensor, struct err *e)
{
	size_t i, k, lanes = m->jobs;

	if (shape(m, tensor, e) < 0)
		return -1;
	while (next_batch(m)) {
		memset(m->slots, 0, lanes * BORDER_COARSE * sizeof *m->slots);
		thread_for(m->jobs, lanes, count_lane, m);
		if (atomic_load(&m->fault))
			return fail(m, e);
		for (i = 0; i < lanes; i++)
			for (k = 0; k < BORDER_COARSE; k++)
				m->bins[k] += m->slots[i * BORDER_COARSE + k];
	}
	return 0;
}

/* One pass over the tensors of a group. */
static int
count_group(struct mask *m, size_t group, struct err *e)
{
	const struct prune_group *g = &m->p->groups[group];
	size_t i;

	memset(m->bins, 0, BORDER_COARSE * sizeof *m->bins);
	for (i = g->first; i <= g->last; i++)
		if (m->p->rows[i].pruned && m->p->rows[i].group == group &&
		    count_tensor(m, i, e) < 0)
			return -1;
	return 0;
}

static int
find_border(struct mask *m, size_t group, struct err *e)
{
	struct prune_group *g = &m->p->groups[group];

	if (g->found)
		return 0;
	g->found = true;
	border_begin(&g->border, g->gone, g->values);
	if (!g->border.open)
		return 0;
	if (mem_grow(&m->slots, &m->slots_cap, (size_t)m->jobs * BORDER_COARSE,
	             sizeof *m->slots) < 0 ||
	    mem_grow(&m->bins, &m->bins_cap, BORDER_COARSE, sizeof *m->bins) < 0)
		return err_memory(e);
	m->pass = MASK_COARSE;
	if (count_group(m, group, e) < 0)
		return -1;
	border_coarse(&g->border, m->bins);
	m->pass = MASK_FINE;
	if (count_group(m, group, e) < 0)
		return -1;
	border_fine(&g->border, m->bins);
	return 0;
}

static bool
has_border(const struct prune_how *how)
{
	return how->rule == PRUNE_SHARE && how->scope != SCOPE_ROW && !how->update;
}

int
mask_begin(struct mask *m, struct prune_plan *p, size_t tensor, unsigned jobs, struct err *e)
{
	const struct dtype *f32 = dtype_by_name("F32");

	m->p = p;
	m->jobs = jobs ? jobs : 1;
	atomic_store(&m->fault, 0);
	free(m->ready);
	m->ready = NULL;
	if (p->how.update && !(m->ready = update_matrix(p, tensor, m->jobs, e)))
		return -1;
	if (has_border(&p->how) && find_border(m, p->rows[tensor].group, e) < 0)
		return -1;
	m->pass = MASK_RESULT;
	if (shape(m, tensor, e) < 0)
		return -1;
	return convert_open(&m->convert, tensor_name(tensor_of(m)), f32, type_of(m), m->jobs, false,
	                    e);
}

void
mask_close(struct mask *m)
{
	free(m->ready);
	free(m->x);
	free(m->rank);
	free(m->raw);
	free(m->bytes);
	free(m->equals);
	free(m->zeros);
	free(m->lost);
	free(m->slots);
	free(m->bins);
	*m = (struct mask){ 0 };
}

/* ---- the result ---- */

static void
load_tile(void *ctx, size_t i)
{
	struct mask *m = ctx;
	struct tile t = tile_of(m, i);

	if (load(m, t) && has_border(&m->p->how))
		m->equals[i] = border_equals(&m->p->groups[m->row->group].border, m->rank + t.at, t.n);
}

static void
mask_below(float *x, size_t n, float below)
{
	size_t i;

	for (i = 0; i < n; i++)
		if ((x[i] < 0 ? -x[i] : x[i]) < below)
			x[i] = 0;
}

static void
mask_border(const struct border *b, const float *rank, float *x, size_t n, uint64_t equals)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (border_above(b, border_bits(rank[i]), &equals))
			x[i] = 0;
}

static void
mask_rows(const struct mask *m, float *x, const float *rank, size_t n)
{
	const struct prune_how *how = &m->p->how;
	size_t columns = (size_t)m->columns, at;

	for (at = 0; at < n; at += columns)
		if (how->rule == PRUNE_GROUPS)
			choose_groups(rank + at, x + at, columns, how->keep, how->of);
		else
			choose_row(rank + at, x + at, columns,
			           (size_t)choose_count(how->share, columns));
}

static void
mask_tile(void *ctx, size_t i)
{
	struct mask *m = ctx;
	const struct prune_how *how = &m->p->how;
	struct tile t = tile_of(m, i);
	float *x = m->x + t.at, *rank = m->rank + t.at;
	size_t k;

	if (how->rule == PRUNE_BELOW)
		mask_below(x, t.n, how->below);
	else if (has_border(how))
		mask_border(&m->p->groups[m->row->group].border, rank, x, t.n, m->equals[i]);
	else if (!m->ready)
		mask_rows(m, x, rank, t.n);
	for (m->zeros[i] = 0, k = 0; k < t.n; k++)
		m->zeros[i] += x[k] == 0;
}

/* Count the zeros of a tile that the bytes of a quantized type do not decode to. */
static void
compare_tile(void *ctx, size_t i)
{
	struct mask *m = ctx;
	const struct dtype *to = type_of(m);
	struct tile t = tile_of(m, i);
	size_t k;

	kernel_decode(to, NULL, m->bytes + dtype_span(to, t.at), m->rank + t.at, t.n);
	for (m->lost[i] = 0, k = t.at; k < t.at + t.n; k++)
		m->lost[i] += m->x[k] == 0 && m->rank[k] != 0;
}

/* The values at the border before each tile. */
static void
sum_equals(struct mask *m)
{
	struct prune_group *g = &m->p->groups[m->row->group];
	uint64_t n;
	size_t i;

	for (i = 0; i < m->count; i++) {
		n = m->equals[i];
		m->equals[i] = g->equals;
		g->equals += n;
	}
}

static int
encode(struct mask *m, size_t *n, struct err *e)
{
	struct convert_stats stats = { 0 };
	uint64_t x_bytes = m->batch_rows * m->columns * sizeof *m->x, y_bytes;
	const float *importance = m->row->importance;
	size_t i;

	if (importance)
		importance += m->from / m->row->matrix_rows * m->columns;
	convert_weigh(&m->convert, importance, (size_t)m->columns);
	if (convert_size(&m->convert, x_bytes, &y_bytes, e) < 0 ||
	    convert_run(&m->convert, (const uint8_t *)m->x, x_bytes, m->bytes, y_bytes, &stats, e) < 0)
		return -1;
	*n = (size_t)y_bytes;
	if ((type_of(m)->quantized || m->ready) && convert_held(&m->convert, &stats, e) < 0)
		return -1;
	if (!type_of(m)->quantized)
		return 0;
	thread_for(m->jobs, m->count, compare_tile, m);
	for (i = 0; i < m->count; i++)
		m->p->lost += m->lost[i];
	return 0;
}

int
mask_next(struct mask *m, const uint8_t **p, size_t *n, struct err *e)
{
	size_t i;

	*n = 0;
	*p = m->bytes;
	if (!next_batch(m))
		return 0;
	thread_for(m->jobs, m->count, load_tile, m);
	if (atomic_load(&m->fault))
		return fail(m, e);
	if (has_border(&m->p->how))
		sum_equals(m);
	thread_for(m->jobs, m->count, mask_tile, m);
	for (i = 0; i < m->count; i++)
		m->p->zeros += m->zeros[i];
	return encode(m, n, e);
}
