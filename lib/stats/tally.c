#include "stats/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/thread.h"
#include "stats/values.h"

/* The result of one thread for one chunk. */
struct tally_part {
	struct stats stats;
	struct histogram histogram;
};

int
tally_open(struct tally *y, unsigned jobs, bool bins, struct err *e)
{
	*y = (struct tally){ .jobs = jobs, .bins = bins };
	y->parts = mem_array(TALLY_CHUNKS, sizeof *y->parts);
	return y->parts ? 0 : err_memory(e);
}

int
tally_begin(struct tally *y, const struct dtype *t, uint64_t values, struct err *e)
{
	return tally_begin_rows(y, t, values, values, e);
}

int
tally_begin_rows(struct tally *y, const struct dtype *t, uint64_t values, uint64_t row,
                 struct err *e)
{
	y->type = t;
	y->left = values;
	y->head_bytes = 0;
	y->stats = (struct stats)STATS_INIT;
	y->histogram = (struct histogram){ 0 };
	y->held_bytes = 0;
	y->chunk = (size_t)STATS_CHUNK / t->items * t->bytes;
	if (y->look && look_begin(y->look, t, values, row, e) < 0)
		return -1;
	return mem_grow(&y->held, &y->held_cap, TALLY_CHUNKS * y->chunk, 1) < 0
	           ? err_memory(e) : 0;
}

static void
look_at(struct tally *y, size_t i)
{
	size_t from = i * y->chunk;
	size_t bytes = (size_t)num_min(y->held_bytes - from, y->chunk);
	size_t n = bytes / y->type->bytes * y->type->items;
	uint64_t at = y->stats.count + i * STATS_CHUNK;
	struct tally_part *part = &y->parts[i];
	double v[STATS_CHUNK];

	/* The last block of the tensor may have fewer values. */
	n = (size_t)num_min(n, y->left - i * STATS_CHUNK);
	part->histogram.bins = 0;
	stats_of_codes(y->type, y->held + from, n, at, &part->stats);
	if (y->look)
		look_chunk(y->look, i, at, y->head, y->held + from, n, v);
	else
		values_double(y->type, y->head, y->held + from, v, n);
	stats_of_values(v, n, at, &part->stats, y->bins ? &part->histogram : NULL);
	if (y->look)
		look_extremes(y->look, i, y->held + from, n, &part->stats);
}

/* Chunks that are read with one call: a call for each would take longer than the copy. */
static void
look(void *ctx, size_t task)
{
	struct tally *y = ctx;
	size_t chunks = (y->held_bytes + y->chunk - 1) / y->chunk, i = task * TALLY_TASK;
	size_t end = (size_t)num_min(chunks, i + TALLY_TASK), from = i * y->chunk;
	size_t bytes = (size_t)num_min(y->held_bytes, end * y->chunk) - from;

	if (y->range && range_read(y->range, y->from + from, y->held + from, bytes) < 0) {
		atomic_store(&y->fault, errno + 1);
		memset(y->held + from, 0, bytes);
	}
	for (; i < end; i++)
		look_at(y, i);
}

static void
look_at_held(struct tally *y)
{
	size_t i, chunks = (y->held_bytes + y->chunk - 1) / y->chunk;
	uint64_t at = y->stats.count;

	thread_for(y->jobs, (chunks + TALLY_TASK - 1) / TALLY_TASK, look, y);
	for (i = 0; i < chunks; i++) {
		stats_join(&y->stats, &y->parts[i].stats);
		if (y->bins)
			histogram_join(&y->histogram, &y->parts[i].histogram);
	}
	if (y->look)
		look_join(y->look, y->jobs, at, (size_t)(y->stats.count - at));
	y->left -= num_min(y->left, (uint64_t)chunks * STATS_CHUNK);
	y->held_bytes = 0;
}

void
tally_add(struct tally *y, const uint8_t *p, size_t n)
{
	size_t full = TALLY_CHUNKS * y->chunk, part;

	for (; n > 0 && y->head_bytes < y->type->head; n--)
		y->head[y->head_bytes++] = *p++;
	for (; n > 0; n -= part, p += part) {
		part = (size_t)num_min(n, full - y->held_bytes);
		memcpy(y->held + y->held_bytes, p, part);
		y->held_bytes += part;
		if (y->held_bytes == full)
			look_at_held(y);
	}
}

void
tally_end(struct tally *y)
{
	look_at_held(y);
	if (y->look)
		look_end(y->look);
}

int
tally_range(struct tally *y, const struct range *r, const char *name, struct err *e)
{
	const struct dtype *t = y->type;
	uint64_t blocks = y->left / t->items + (y->left % t->items != 0);
	uint64_t left = blocks * t->bytes;
	size_t n;

	if (left > 0 && t->head > 0 && range_read(r, 0, y->head, t->head) < 0)
		return range_fail(name, e);
	y->range = r;
	for (y->from = t->head; left > 0 && !atomic_load(&y->fault); left -= n, y->from += n) {
		n = y->held_bytes = (size_t)num_min(left, TALLY_CHUNKS * y->chunk);
		look_at_held(y);
	}
	y->range = NULL;
	if (atomic_load(&y->fault) == 0)
		return 0;
	errno = atomic_load(&y->fault) - 1;
	return range_fail(name, e);
}

void
tally_free(struct tally *y)
{
	free(y->parts);
	free(y->held);
	*y = (struct tally){ 0 };
}
