#include "merge/blend.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/philox.h"
#include "core/range.h"
#include "core/thread.h"
#include "kernels/kernel.h"
#include "merge/blend_parts.h"

#define HELD ((size_t)4 << 20)   /* values that are held, unless one tile has more */
#define SLOTS ((size_t)4 << 20)  /* bins of all slots, unless one slot has more */
#define COUNTED ((uint64_t)1 << 31)

int
blend_open(struct blend *b, unsigned jobs, struct err *e)
{
	(void)e;
	*b = (struct blend){ .jobs = jobs ? jobs : 1 };
	return 0;
}

void
blend_close(struct blend *b)
{
	size_t i;

	for (i = 0; i < b->slot_cap; i++)
		free(b->slots[i].bins);
	if (b->held_cap > 0)
		free(b->held[0].equals);
	free(b->held);
	free(b->x);
	free(b->y);
	free(b->bytes);
	free(b->order);
	free(b->keep);
	free(b->slots);
	free(b->bins);
	free(b->gram);
	free(b->weight);
	free(b->sums);
	free(b->columns);
	*b = (struct blend){ 0 };
}

/* ---- memory of a tensor ---- */

static bool
counts(const struct blend_task *t)
{
	return t->method->keep == KEEP_LARGEST || t->method->keep == KEEP_MIDDLE ||
	       t->method->keep == KEEP_VARIED;
}

static int
check_shape(const struct blend_task *t, struct err *e)
{
	bool rows = blend_by_rows(t) || t->method->keep == KEEP_RANKED;

	if (rows && t->row > BLEND_ROW)
		return err_set(e, ERR_MEMORY, t->name, "has rows of more than %llu values, which %s "
		               "needs at once", (unsigned long long)BLEND_ROW, t->method->name);
	if (blend_by_columns(t) && t->rows > 0 && t->values / t->rows > BLEND_ROW)
		return err_set(e, ERR_MEMORY, t->name, "has more than %llu columns, which %s needs at "
		               "once", (unsigned long long)BLEND_ROW, t->method->name);
	return 0;
}

static void
choose_tile(struct blend *b)
{
	const struct blend_task *t = &b->t;
	size_t room;

	b->tile = BLEND_TILE;
	if ((blend_by_rows(t) || t->method->keep == KEEP_RANKED) && t->row > 0)
		b->tile = t->row * (t->row < BLEND_TILE ? BLEND_TILE / t->row : 1);
	b->vectors = t->n + (t->base ? 1 : 0);
	room = HELD / (b->tile * (b->vectors + 2));
	b->tiles = room < 1 ? 1 : room > 4 * (size_t)b->jobs ? 4 * (size_t)b->jobs : room;
}

/* Room for at least n items, whose content does not matter. */
static int
room(void *p, size_t *cap, size_t n, size_t size)
{
	return n <= *cap ? 0 : mem_grow(p, cap, n, size);
}

static int
get_tiles(struct blend *b)
{
	uint64_t (*equals)[3] = b->held_cap > 0 ? b->held[0].equals : NULL;
	size_t i, n = b->tiles, values = n * b->tile;

	if (b->held_cap > 0)
		b->held[0].equals = NULL;
	free(equals);
	equals = mem_array(n * b->keep_count + 1, sizeof *equals);
	if (!equals || room(&b->held, &b->held_cap, n, sizeof *b->held) < 0) {
		free(equals);
		return -1;
	}
	for (i = 0; i < n; i++)
		b->held[i].equals = equals + i * b->keep_count;
	if (room(&b->x, &b->x_cap, values * b->vectors, sizeof *b->x) < 0 ||
	    room(&b->y, &b->y_cap, values, sizeof *b->y) < 0 ||
	    room(&b->bytes, &b->bytes_cap, values * sizeof(float), 1) < 0)
		return -1;
	return b->t.method->keep == KEEP_RANKED
		? room(&b->order, &b->order_cap, 4 * values, sizeof *b->order) : 0;
}

static int
get_slots(struct blend *b)
{
	size_t each = b->keep_count * BORDER_COARSE, i;

	if (!counts(&b->t))
		return 0;
	b->slot_count = SLOTS / each < 1 ? 1 : SLOTS / each < b->jobs ? SLOTS / each : b->jobs;
	if (room(&b->bins, &b->bins_cap, each, sizeof *b->bins) < 0)
		return -1;
	for (i = 0; i < b->slot_cap; i++) {
		free(b->slots[i].bins);
		b->slots[i].bins = NULL;
	}
	if (room(&b->slots, &b->slot_cap, b->slot_count, sizeof *b->slots) < 0)
		return -1;
	for (i = 0; i < b->slot_count; i++) {
		atomic_flag_clear(&b->slots[i].used);
		b->slots[i].bins = mem_array(each, sizeof *b->slots[i].bins);
		if (!b->slots[i].bins)
			return -1;
	}
	return 0;
}

static int
get_memory(struct blend *b)
{
	size_t n = b->t.n;

	choose_tile(b);
	b->keep_count = b->t.method->keep == KEEP_VARIED ? 1 : n;
	if (room(&b->keep, &b->keep_cap, b->keep_count, sizeof *b->keep) < 0 ||
	    room(&b->weight, &b->weight_cap, n, sizeof *b->weight) < 0 ||
	    room(&b->gram, &b->gram_cap, n * n, sizeof *b->gram) < 0 || get_tiles(b) < 0 ||
	    get_slots(b) < 0)
		return -1;
	if (blend_by_columns(&b->t) && b->t.rows > 0) {
		size_t columns = (size_t)(b->t.values / b->t.rows);

		if (room(&b->columns, &b->columns_cap, 5 * columns, sizeof *b->columns) < 0)
			return -1;
		memset(b->columns, 0, 5 * columns * sizeof *b->columns);
	}
	b->part = blend_sums_size(b);
	return room(&b->sums, &b->sums_cap, b->part * b->tiles, sizeof *b->sums);
}

/* ---- borders ---- */

static uint64_t
share(double part, uint64_t of)
{
	double n = part * (double)of;

	return n >= (double)of ? of : (uint64_t)n;
}

/* The share of n values that stays is at least one value, unless the share is 0. */
static uint64_t
kept(double density, uint64_t n)
{
	uint64_t k = share(density, n);

	return k == 0 && density > 0 && n > 0 ? 1 : k;
}

static void
begin_keep(const struct blend *b, size_t i, struct blend_keep *k)
{
	const struct blend_task *t = &b->t;
	double density = t->model[PARAM_DENSITY] ? t->model[PARAM_DENSITY][i] : 1;
	uint64_t top = 0, stays;

	*k = (struct blend_keep){ .scale = 1, .key = philox_key(t->seed, t->name, i) };
	if (t->method->keep == KEEP_RANDOM && t->value[PARAM_RESCALE] != 0 && !t->compat && density > 0)
		k->scale = 1 / density;
	if ((t->method->keep != KEEP_LARGEST && t->method->keep != KEEP_MIDDLE) || density >= 1)
		return;
	stays = kept(density, t->values);
	if (t->method->keep == KEEP_MIDDLE) {
		top = num_min(share(t->model[PARAM_GAMMA][i], t->values), t->values - stays);
		if (t->compat && top == 0)
			stays = 0;
	}
	k->bounded = true;
	border_begin(&k->top, top, t->values);
	border_begin(&k->low, top + stays, t->values);
}

/* The share of the positions with a variance, once these are counted. */
static void
begin_varied(struct blend *b)
{
	struct blend_keep *k = b->keep;

	k->bounded = true;
	border_begin(&k->top, 0, b->t.values);
	border_begin(&k->low, share(b->t.value[PARAM_SELECT_TOPK], b->varied), b->t.values);
}

static void
add_slots(struct blend *b)
{
	size_t each = b->keep_count * BORDER_COARSE, i, k;

	for (i = 0; i < b->slot_count; i++) {
		struct blend_slot *s = &b->slots[i];

		for (k = 0; s->counted > 0 && k < each; k++)
			b->bins[k] += s->bins[k];
		if (s->counted > 0)
			memset(s->bins, 0, each * sizeof *s->bins);
		b->varied += s->varied;
		s->counted = s->varied = 0;
	}
}

/* The bins of a pass show where the borders are. */
static void
end_counting(struct blend *b)
{
	size_t i;

	add_slots(b);
	if (b->t.method->keep == KEEP_VARIED && b->pass == PASS_COARSE)
		begin_varied(b);
	for (i = 0; i < b->keep_count; i++) {
		struct blend_keep *k = &b->keep[i];
		const uint64_t *bins = b->bins + i * BORDER_COARSE;

		if (b->pass == PASS_COARSE) {
			if (k->top.open)
				border_coarse(&k->top, bins);
			if (k->low.open)
				border_coarse(&k->low, bins);
		} else {
			if (k->top.open)
				border_fine(&k->top, bins);
			if (k->low.open)
				border_fine(&k->low, bins + BORDER_FINE);
		}
	}
}

static bool
has_open(const struct blend *b)
{
	size_t i = 0;

	while (i < b->keep_count && !b->keep[i].top.open && !b->keep[i].low.open)
		i++;
	return i < b->keep_count;
}

/* No more threads than slots count at a time. */
static struct blend_slot *
take_slot(struct blend *b)
{
	size_t i;

	for (i = 0;; i = (i + 1) % b->slot_count)
		if (!atomic_flag_test_and_set(&b->slots[i].used))
			return &b->slots[i];
}

static void
count_tile(struct blend *b, size_t tile)
{
	struct blend_slot *s = take_slot(b);
	size_t n = b->held[tile].n, i, k;

	for (i = 0; i < b->keep_count; i++) {
		const struct blend_keep *keep = &b->keep[i];
		const float *x = b->t.method->keep == KEEP_VARIED ? b->y + tile * b->tile
		                                                  : blend_vector(b, tile, i);
		uint32_t *bins = s->bins + i * BORDER_COARSE;

		if (b->pass == PASS_COARSE && b->t.method->keep == KEEP_VARIED)
			for (k = 0; k < n; k++)
				s->varied += x[k] > 0;
		if (b->pass == PASS_COARSE)
			border_count(bins, x, n);
		if (b->pass == PASS_FINE && keep->top.open)
			border_count_fine(&keep->top, bins, x, n);
		if (b->pass == PASS_FINE && keep->low.open)
			border_count_fine(&keep->low, bins + BORDER_FINE, x, n);
	}
	s->counted += n;
	atomic_flag_clear(&s->used);
}

/* ---- batches ---- */

static void
count_equals(struct blend *b, size_t tile)
{
	const struct blend_tile *h = &b->held[tile];
	size_t i;

	for (i = 0; i < b->keep_count; i++) {
		const float *x = b->t.method->keep == KEEP_VARIED ? b->y + tile * b->tile
		                                                  : blend_vector(b, tile, i);

		h->equals[i][0] = border_equals(&b->keep[i].top, x, h->n);
		h->equals[i][1] = border_equals(&b->keep[i].low, x, h->n);
	}
}

/* The first step of a tile. */
static void
load_tile(void *ctx, size_t tile)
{
	struct blend *b = ctx;
	struct blend_tile *h = &b->held[tile];

	h->from = b->from + tile * b->tile;
	h->n = (size_t)num_min(b->batch - tile * b->tile, b->tile);
	if (atomic_load(&b->fault) != 0)
		return;
	blend_load(b, tile);
	if (b->pass == PASS_COARSE || b->pass == PASS_FINE)
		count_tile(b, tile);
	else if (counts(&b->t))
		count_equals(b, tile);
}

/* The second step, once it is known how many equal values come before the tile. */
static void
use_tile(void *ctx, size_t tile)
{
	struct blend *b = ctx;
	const struct blend_tile *h = &b->held[tile];
	const float *y = b->y + tile * b->tile;

	if (counts(&b->t))
		blend_drop(b, tile);
	if (b->pass == PASS_SUMS) {
		blend_sum(b, tile);
		return;
	}
	blend_mix(b, tile);
	kernel_for(b->t.to)->encode(y, b->bytes + dtype_span(b->t.to, tile * b->tile), h->n);
}

/* Replace the numbers of equal values in tiles by those before them. */
static void
order_equals(struct blend *b)
{
	size_t i, tile;

	for (tile = 0; tile < b->count; tile++)
		for (i = 0; i < b->keep_count; i++) {
			uint64_t *equals = b->held[tile].equals[i], top = equals[0], low = equals[1];

			equals[0] = b->keep[i].top_equals;
			equals[1] = b->keep[i].low_equals;
			equals[2] = low;
			b->keep[i].top_equals += top;
			b->keep[i].low_equals += low;
		}
}

static int
failed(struct blend *b, struct err *e)
{
	int fault = atomic_load(&b->fault);

	if (fault == 0)
		return 0;
	errno = fault - 1;
	return range_fail(b->t.file(b->t.ctx, atomic_load(&b->fault_model)), e);
}

/* One batch from b->from on. 0 or -1. */
static int
do_batch(struct blend *b, struct err *e)
{
	bool counting = b->pass == PASS_COARSE || b->pass == PASS_FINE;
	size_t i;

	b->batch = (size_t)num_min(b->t.values - b->from, b->tiles * b->tile);
	b->count = (size_t)((b->batch + b->tile - 1) / b->tile);
	thread_for(counting ? (unsigned)b->slot_count : b->jobs, b->count, load_tile, b);
	if (failed(b, e) < 0)
		return -1;
	if (counting) {
		for (i = 0; i < b->slot_count; i++)
			if (b->slots[i].counted > COUNTED)
				add_slots(b);
		return 0;
	}
	if (counts(&b->t))
		order_equals(b);
	thread_for(b->jobs, b->count, use_tile, b);
	for (i = 0; b->pass == PASS_SUMS && i < b->count; i++)
		blend_add(b, i);
	return 0;
}

static void
begin_pass(struct blend *b, int pass)
{
	size_t i;

	b->pass = pass;
	b->from = 0;
	for (i = 0; i < b->keep_count; i++)
		b->keep[i].top_equals = b->keep[i].low_equals = 0;
	if (pass == PASS_COARSE || pass == PASS_FINE)
		memset(b->bins, 0, b->keep_count * BORDER_COARSE * sizeof *b->bins);
}

/* ---- zeros that no file stores ---- */

/* The number of values from b->from on that are 0 in all vectors: whole tiles, or up to the end, so
 * that tiles are the same without zeros. */
static uint64_t
zeros_here(const struct blend *b)
{
	uint64_t n = b->t.values - b->from, some;
	size_t i;

	for (i = 0; n > 0 && i < b->vectors; i++) {
		some = b->t.zeros(b->t.ctx, i, b->from, n);
		n = some < b->t.values - b->from ? some / b->tile * b->tile : some;
	}
	return n;
}

/* What n zeros are in a pass. */
static void
pass_zeros(struct blend *b, uint64_t n)
{
	size_t i;

	for (i = 0; i < b->keep_count; i++) {
		struct blend_keep *k = &b->keep[i];
		size_t bin = i * BORDER_COARSE;

		if (b->pass == PASS_COARSE)
			b->bins[bin] += n;
		if (b->pass == PASS_FINE && k->top.open && k->top.bin == 0)
			b->bins[bin] += n;
		if (b->pass == PASS_FINE && k->low.open && k->low.bin == 0)
			b->bins[bin + BORDER_FINE] += n;
		k->top_equals += k->top.equal == 0 ? n : 0;
		k->low_equals += k->low.equal == 0 ? n : 0;
	}
}

/* Compute the result of zeros. */
static bool
zeros_stay(struct blend *b)
{
	static const uint8_t zeros[sizeof(double)];
	size_t i;

	if (!b->t.zeros || blend_by_rows(&b->t) || blend_by_columns(&b->t))
		return false;
	b->held[0].from = 0;
	b->held[0].n = 1;
	for (i = 0; i < b->vectors; i++)
		*blend_vector(b, 0, i) = 0;
	blend_mix(b, 0);
	kernel_for(b->t.to)->encode(b->y, b->bytes, 1);
	return memcmp(b->bytes, zeros, dtype_span(b->t.to, 1)) == 0;
}

bool
blend_has_zeros(const struct blend *b)
{
	return b->skips;
}

uint64_t
blend_zeros(struct blend *b)
{
	uint64_t n;

	b->from += b->batch;
	b->batch = 0;
	if (!b->skips || b->from >= b->t.values)
		return 0;
	n = zeros_here(b);
	pass_zeros(b, n);
	b->from += n;
	return n;
}

static int
do_pass(struct blend *b, int pass, struct err *e)
{
	bool skips = b->t.zeros && !blend_by_columns(&b->t);

	begin_pass(b, pass);
	for (; b->from < b->t.values; b->from += b->batch) {
		b->batch = skips ? zeros_here(b) : 0;
		if (b->batch > 0)
			pass_zeros(b, b->batch);
		else if (do_batch(b, e) < 0)
			return -1;
	}
	if (pass == PASS_COARSE || pass == PASS_FINE)
		end_counting(b);
	return 0;
}

/* ---- a tensor ---- */

static bool
needs_sums(const struct blend *b)
{
	switch (b->t.method->weigh) {
	case WEIGH_GIVEN:
	case WEIGH_EQUAL:
	case WEIGH_SCALE:
		return blend_rescales(&b->t);
	default:
		return !blend_by_rows(&b->t);
	}
}

int
blend_begin(struct blend *b, const struct blend_task *t, struct err *e)
{
	bool varied = t->method->keep == KEEP_VARIED && t->value[PARAM_SELECT_TOPK] < 1;
	size_t i;

	b->t = *t;
	atomic_store(&b->fault, 0);
	if (check_shape(t, e) < 0)
		return -1;
	if (get_memory(b) < 0)
		return err_memory(e);
	b->varied = 0;
	memset(b->gram, 0, t->n * t->n * sizeof *b->gram);
	for (i = 0; i < b->keep_count; i++)
		begin_keep(b, i, &b->keep[i]);
	if ((has_open(b) || varied) && do_pass(b, PASS_COARSE, e) < 0)
		return -1;
	if (has_open(b) && do_pass(b, PASS_FINE, e) < 0)
		return -1;
	if (needs_sums(b) && do_pass(b, PASS_SUMS, e) < 0)
		return -1;
	if (!blend_weigh(b))
		return err_set(e, ERR_INVALID, t->name, "the weighted models cancel each other, so "
		               "their mean has no direction");
	begin_pass(b, PASS_RESULT);
	b->batch = 0;
	b->skips = zeros_stay(b);
	return 0;
}

int
blend_next(struct blend *b, const uint8_t **p, size_t *n, struct err *e)
{
	b->from += b->batch;
	b->batch = 0;
	*n = 0;
	if (b->from >= b->t.values)
		return 0;
	if (do_batch(b, e) < 0)
		return -1;
	*p = b->bytes;
	*n = dtype_span(b->t.to, b->batch);
	return 0;
}
