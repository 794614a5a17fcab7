#include "imports/dense.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"
#include "core/map.h"
#include "core/mem.h"
#include "core/num.h"

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define PIECE (4u << 20) /* bytes of the output made at once */
#define OFTEN (1u << 19) /* runs after which pages are returned */
#else
#define PIECE 64u
#define OFTEN 4u
#endif
#define COPY (1u << 15)  /* bytes of a run added at once */

/* A run, with the slot that it fills. */
struct dense_place {
	uint64_t slot, number;
};

/* ---- sums ---- */

#define SUM(NAME, BYTES, LOAD, STORE, ADD) \
	static void \
	NAME(uint8_t *to, const uint8_t *from, size_t n) \
	{ \
		size_t i; \
\
		for (i = 0; i < n; i += BYTES) \
			STORE(to + i, ADD(LOAD(to + i), LOAD(from + i))); \
	}

#define PLUS(A, B) ((A) + (B))
#define PLUS_8(A, B) ((uint8_t)((A) + (B)))
#define PLUS_16(A, B) ((uint16_t)((A) + (B)))
#define PLUS_F16(A, B) half_f32_f16(half_f16_f32(A) + half_f16_f32(B))
#define PLUS_BF16(A, B) half_f32_bf16(half_bf16_f32(A) + half_bf16_f32(B))
#define EITHER(A, B) ((A) || (B))
#define LOAD_8(P) (*(P))
#define STORE_8(P, V) (*(P) = (V))

SUM(sum_f64, 8, le_f64, le_f64_put, PLUS)
SUM(sum_f32, 4, le_f32, le_f32_put, PLUS)
SUM(sum_f16, 2, le16, le16_put, PLUS_F16)
SUM(sum_bf16, 2, le16, le16_put, PLUS_BF16)
SUM(sum_64, 8, le64, le64_put, PLUS)
SUM(sum_32, 4, le32, le32_put, PLUS)
SUM(sum_16, 2, le16, le16_put, PLUS_16)
SUM(sum_8, 1, LOAD_8, STORE_8, PLUS_8)
SUM(sum_bool, 1, LOAD_8, STORE_8, EITHER)

dense_sum *
dense_add(const char *type)
{
	static const struct { const char *type; dense_sum *sum; } rows[] = {
		{ "F64", sum_f64 }, { "F32", sum_f32 }, { "C64", sum_f32 }, { "F16", sum_f16 },
		{ "BF16", sum_bf16 }, { "I64", sum_64 }, { "U64", sum_64 }, { "I32", sum_32 },
		{ "U32", sum_32 }, { "I16", sum_16 }, { "U16", sum_16 }, { "I8", sum_8 },
		{ "U8", sum_8 }, { "BOOL", sum_bool },
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].type, type) == 0)
			return rows[i].sum;
	return NULL;
}

/* ---- the list ---- */

/* Return pages that were read, from time to time. */
static void
release(const struct dense *d, uint64_t run)
{
	const struct map m = { .p = d->spool.view, .n = (size_t)d->spool.viewed, .fd = -1 };

	if (run % OFTEN != 0)
		return;
	if (d->release)
		d->release(d->owner);
	if (m.p)
		map_release(&m, m.p, m.n);
}

/* Prove all slots, count those of each group, and find out whether the list is in order. */
static int
prove(struct dense *d, struct err *e)
{
	uint64_t i, slot, last = 0;

	d->sorted = d->run <= PIECE / d->element;
	d->rewind(d->owner);
	for (i = 0; i < d->runs; i++) {
		if (d->next(d->owner, &slot, e) < 0)
			return -1;
		if (slot >= d->slots)
			return err_set(e, ERR_CORRUPT, d->name, "has an index that is out of range");
		d->starts[slot / d->per + 1]++;
		d->sorted &= slot / d->per >= last;
		last = slot / d->per;
		release(d, i + 1);
	}
	return 0;
}

/* Sort the list by groups. The file may change meanwhile, so its slots are checked again. */
static int
sort(struct dense *d, struct err *e)
{
	struct err ignored = ERR_INIT;
	uint64_t i, slot, at;
	uint8_t *room = NULL;

	if (num_mul(d->runs, sizeof *d->places, &at) == 0)
		room = spool_room(&d->spool, at, e);
	if (!room)
		return e->code != ERR_NONE ? -1 : err_memory(e);
	memset(room, 0, d->spool.view ? 0 : (size_t)at);
	d->places = (struct dense_place *)(void *)room;
	for (i = 0; i < d->groups; i++)
		d->starts[i + 1] += d->starts[i];
	d->rewind(d->owner);
	for (i = 0; i < d->runs; i++) {
		if (d->next(d->owner, &slot, &ignored) < 0)
			break;
		if (slot >= d->slots || (at = d->starts[slot / d->per]) >= d->runs)
			continue;
		d->starts[slot / d->per]++;
		d->places[at] = (struct dense_place){ slot, i };
		release(d, i + 1);
	}
	return 0;
}

int
dense_begin(struct dense *d, struct err *e)
{
	d->per = PIECE / d->element / d->run;
	d->piece = d->per ? d->per * d->run : PIECE / d->element;
	d->per += d->per == 0;
	d->groups = d->slots / d->per + 1;
	d->made = malloc((size_t)(d->piece * d->element));
	d->copy = malloc(COPY);
	d->starts = mem_array((size_t)d->groups + 1, sizeof *d->starts);
	if (!d->made || !d->copy || !d->starts)
		return err_memory(e);
	if (prove(d, e) < 0 || (!d->sorted && sort(d, e) < 0))
		return -1;
	d->rewind(d->owner);
	return 0;
}

void
dense_end(struct dense *d)
{
	free(d->made);
	free(d->copy);
	free(d->starts);
	spool_free(&d->spool);
	d->made = d->copy = NULL;
	d->starts = NULL;
	d->places = NULL;
	d->done = d->made_at = d->made_end = d->taken = 0;
	d->waits = false;
}

/* ---- pieces ---- */

/* Put the part of a run that lies in the piece. */
static void
put(struct dense *d, uint64_t number, uint64_t slot)
{
	uint64_t from = slot * d->run, end = from + d->run, n;
	uint8_t *to;

	from = from > d->made_at ? from : d->made_at;
	end = num_min(end, d->made_end);
	for (; from < end; from += n) {
		to = d->made + (from - d->made_at) * d->element;
		n = d->add ? num_min(end - from, COPY / d->element) : end - from;
		d->values(d->owner, number * d->run + (from - slot * d->run), n, d->add ? d->copy : to);
		if (d->add)
			d->add(to, d->copy, (size_t)(n * d->element));
	}
}

/* Put the runs of the list up to slot `end`. */
static void
put_listed(struct dense *d, uint64_t end)
{
	struct err ignored = ERR_INIT;

	for (;;) {
		if (!d->waits) {
			if (d->taken == d->runs)
				return;
			if (d->next(d->owner, &d->slot, &ignored) < 0) {
				d->taken = d->runs;
				return;
			}
			d->taken++;
		}
		d->waits = d->slot >= end;
		if (d->waits)
			return;
		put(d, d->taken - 1, d->slot);
	}
}

/* After sort, starts[g] is the end of group g. */
static void
put_sorted(struct dense *d, uint64_t group)
{
	uint64_t i = group ? d->starts[group - 1] : 0;

	for (; i < d->starts[group]; i++)
		if (d->places[i].slot / d->per == group && d->places[i].number < d->runs)
			put(d, d->places[i].number, d->places[i].slot);
}

/* Make the next piece: the slots of a group, or a part of a slot that is longer. */
static void
make(struct dense *d)
{
	const uint64_t group = d->made_end / d->run / d->per, first = group * d->per;
	const uint64_t end = num_min(first + d->per, d->slots);

	d->made_at = d->made_end;
	d->made_end = num_min(d->made_at + d->piece, end * d->run);
	memset(d->made, 0, (size_t)((d->made_end - d->made_at) * d->element));
	if (d->sorted)
		put_listed(d, end);
	else
		put_sorted(d, group);
	release(d, 0);
}

void
dense_read(struct dense *d, uint64_t count, uint8_t *to)
{
	uint64_t n;

	for (; count > 0; count -= n) {
		if (d->done == d->made_end)
			make(d);
		n = num_min(count, d->made_end - d->done);
		memcpy(to, d->made + (d->done - d->made_at) * d->element, (size_t)(n * d->element));
		to += n * d->element;
		d->done += n;
	}
}
