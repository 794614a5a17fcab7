#include "stats/look.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/thread.h"
#include "kernels/kernel.h"
#include "kernels/numbers.h"
#include "stats/tally.h"
#include "stats/values.h"

#define STRIPE 1024 /* columns added by one thread at a time */
#define TASK ((size_t)TALLY_TASK * STATS_CHUNK) /* values of a task of the tally */
#define RUN 512 /* values that are decoded at once: they stay in the first cache */
#define LARGEST_HALF 65504
#define COPIES ((size_t)24 << 20)

/* Odd factors of digests. */
#define DIGEST_BYTES 0x100000001b3
#define DIGEST_FIRST 0x9e3779b97f4a7c15
#define DIGEST_SECOND 0xd1342543de82ef95
#define BUCKETS_BITS 5 /* of the fraction of a size */
#define BUCKETS ((size_t)256 << BUCKETS_BITS)

/* What one thread finds in one chunk. */
struct part {
	struct blocks blocks;
	uint64_t saturated, digest[2];
};

struct look_work {
	const struct dtype *type;
	uint64_t row;      /* values of a row; 0: not looked at */
	bool half;         /* the type is F16 */
	const struct blocks_row *blocks;
	struct part part[TALLY_CHUNKS];

	/* of the chunks since the last join */
	double *rows;      /* sums of the magnitudes of a part of a row in one chunk; those of
	                    * chunk i begin with i * parts */
	size_t parts;
	float *columns;    /* sums of the magnitudes of columns: width for each task */
	size_t width;      /* the row, or the values of a task if these are fewer */
	float *sums;       /* those of all tasks together */
	uint64_t at;       /* the first value, */
	size_t n;          /* and the number of values */
	size_t rows_cap, columns_cap, sums_cap;

	double *all;       /* sums of the magnitudes of columns before */
	size_t all_cap;
	double open;       /* sum of the magnitudes of the row that is not complete, */
	uint64_t filled;   /* and the number of these */

	/* of the lines that are summed up */
	uint64_t bucket[BUCKETS];
	double logs, log_squares;
	uint16_t row_profile[LOOK_ENTRIES], column_profile[LOOK_ENTRIES];
};

int
look_open(struct look *l, struct err *e)
{
	*l = (struct look){ 0 };
	l->work = mem_array(1, sizeof *l->work);
	return l->work ? 0 : err_memory(e);
}

void
look_close(struct look *l)
{
	struct look_work *w = l->work;

	if (!w)
		return;
	free(w->rows);
	free(w->columns);
	free(w->sums);
	free(w->all);
	free(w);
	l->work = NULL;
}

uint64_t
look_row(const struct tensor *t)
{
	const uint64_t *dim = tensor_dims(t);
	unsigned n = tensor_ndim(t);

	if (n > 2 && dim[n - 1] < 16 && dim[0] > 0)
		return tensor_items(t) / dim[0];
	return tensor_row(t);
}

struct look *
look_copy(const struct look *l, size_t entries, struct err *e)
{
	size_t rows = l->rows.entries < entries ? l->rows.entries : entries;
	size_t columns = l->columns.entries < entries ? l->columns.entries : entries;
	struct look *to = malloc(sizeof *to + (rows + columns) * sizeof(uint16_t));
	uint16_t *profile = (uint16_t *)(to + 1);

	if (!to) {
		err_memory(e);
		return NULL;
	}
	*to = *l;
	to->work = NULL;
	to->rows.entries = rows;
	to->columns.entries = columns;
	to->rows.profile = profile;
	to->columns.profile = profile + rows;
	if (rows)
		memcpy(profile, l->rows.profile, rows * sizeof *profile);
	if (columns)
		memcpy(profile + rows, l->columns.profile, columns * sizeof *profile);
	return to;
}

size_t
look_entries(size_t tensors)
{
	size_t n = COPIES / (2 * sizeof(uint16_t)) / (tensors ? tensors : 1);

	return n < LOOK_ENTRIES ? n : LOOK_ENTRIES;
}

static size_t
stripes_of(const struct look_work *w)
{
	return (size_t)(w->row + STRIPE - 1) / STRIPE;
}

int
look_begin(struct look *l, const struct dtype *t, uint64_t values, uint64_t row,
           struct err *e)
{
	struct look_work *w = l->work;

	*l = (struct look){ .work = w, .blocks = BLOCKS_INIT };
	w->type = t;
	w->blocks = blocks_row(t);
	w->half = strcmp(t->name, "F16") == 0;
	w->row = values > 0 && row <= LOOK_ROW ? row : 0;
	w->filled = 0;
	w->open = 0;
	if (w->row == 0)
		return 0;
	w->parts = (size_t)(STATS_CHUNK / row) + 1 + STATS_CHUNK / RUN;
	w->width = (size_t)num_min(row, TASK);
	if (mem_grow(&w->rows, &w->rows_cap, TALLY_CHUNKS * w->parts, sizeof *w->rows) < 0 ||
	    mem_grow(&w->columns, &w->columns_cap, TALLY_CHUNKS / TALLY_TASK * w->width,
	             sizeof *w->columns) < 0 ||
	    mem_grow(&w->sums, &w->sums_cap, (size_t)row, sizeof *w->sums) < 0 ||
	    mem_grow(&w->all, &w->all_cap, (size_t)row, sizeof *w->all) < 0)
		return err_memory(e);
	memset(w->all, 0, (size_t)row * sizeof *w->all);
	return 0;
}

/* ---- one chunk ---- */

/* Of the checksums of whole blocks of 64 bytes, and of the bytes behind them. */
static void
digest_of(const uint8_t *x, size_t n, uint64_t to[2])
{
	uint64_t first[8], second[8], rest = n;
	size_t i = n / 64 * 64, j;

	numbers->checksum(x, i, first, second);
	for (; i < n; i++)
		rest = rest * DIGEST_BYTES + x[i];
	to[0] = to[1] = rest;
	for (j = 0; j < 8; j++) {
		to[0] = (to[0] ^ first[j]) * DIGEST_FIRST + 1;
		to[1] = (to[1] ^ second[j]) * DIGEST_SECOND + 1;
	}
}

static uint64_t
saturated_of(const uint8_t *x, size_t n)
{
	uint64_t found = 0;
	size_t i;

	for (i = 0; i < n; i++)
		found += (le16(x + 2 * i) & 0x7fff) == 0x7bff;
	return found;
}

/* Values of a run in both precisions; only types of more than 24 bits are rounded. */
static void
decode(const struct look_work *w, const uint8_t *head, const uint8_t *x, size_t n, float *f,
       double *v)
{
	size_t i;

	if (kernel_decodes(w->type)) {
		kernel_decode(w->type, head, x, f, n);
		numbers->widen(f, v, n);
		return;
	}
	values_double(w->type, head, x, v, n);
	for (i = 0; i < n; i++)
		f[i] = (float)v[i];
}

/* Adds the magnitudes of a run to the columns of its task, and writes those of each part of a
 * row. begin: the place of the run in its task. Returns the end of the parts. */
static double *
run_add(struct look_work *w, float *columns, size_t begin, uint64_t column, const float *f,
        size_t n, double *row)
{
	size_t k, part;

	for (k = 0; k < n; k += part, column = 0) {
		part = (size_t)num_min(n - k, w->row - column);
		*row++ = numbers->magnitudes(f + k, columns + (w->row <= TASK ? column : begin + k),
		                             part);
	}
	return row;
}

void
look_chunk(struct look *l, size_t i, uint64_t at, const uint8_t *head, const uint8_t *x,
           size_t n, double v[STATS_CHUNK])
{
	struct look_work *w = l->work;
	struct part *p = &w->part[i];
	size_t bytes = dtype_span(w->type, n), begin = i % TALLY_TASK * STATS_CHUNK, k, part;
	float *columns = w->row ? w->columns + i / TALLY_TASK * w->width : NULL, f[RUN];
	double *row = w->row ? w->rows + i * w->parts : NULL;

	blocks_of(w->blocks, w->type, x, bytes, at / w->type->items, &p->blocks);
	digest_of(x, bytes, p->digest);
	if (w->row && begin == 0)
		memset(columns, 0, w->width * sizeof *columns);
	for (k = 0; k < n; k += part) {
		part = (size_t)num_min(n - k, RUN);
		decode(w, head, x + dtype_span(w->type, k), part, f, v + k);
		if (w->row)
			row = run_add(w, columns, begin + k, (at + k) % w->row, f, part, row);
	}
}

/* Most chunks have no such value, and their extremes prove it. */
void
look_extremes(struct look *l, size_t i, const uint8_t *x, size_t n, const struct stats *s)
{
	bool any = l->work->half && (s->max >= LARGEST_HALF || s->min <= -LARGEST_HALF);

	l->work->part[i].saturated = any ? saturated_of(x, n) : 0;
}

/* ---- lines ---- */

/* The bits of a positive float: their order is that of the numbers, and their difference is
 * near that of the logarithms. */
static uint32_t
bits_of(double size)
{
	float f = (float)size;
	uint32_t u;

	memcpy(&u, &f, sizeof u);
	return u;
}

/* A line of a size: adds it to the lines. */
static void
line_add(struct look_work *w, struct look_lines *to, double size)
{
	uint32_t u = bits_of(size);
	uint64_t at = to->count++;
	double log = u * 0x1p-23;

	if (size == 0 && to->dead++ == 0)
		to->first_dead = at;
	if (size == 0 || !isfinite(size))
		return;
	if (to->max == 0 || size < to->min) {
		to->min = size;
		to->at_min = at;
	}
	if (size > to->max) {
		to->max = size;
		to->at_max = at;
	}
	w->bucket[u >> (23 - BUCKETS_BITS)]++;
	w->logs += log;
	w->log_squares += log * log;
}

static double
bucket_middle(size_t i)
{
	uint32_t u = (uint32_t)i << (23 - BUCKETS_BITS) | (uint32_t)1 << (22 - BUCKETS_BITS);
	float f;

	memcpy(&f, &u, sizeof f);
	return f;
}

/* Median, spread, and far lines; empties the buckets. */
static void
lines_end(struct look_work *w, struct look_lines *to, const uint16_t *profile)
{
	size_t low, high, i;
	uint64_t below = 0, n = 0;
	double mean;

	to->profile = profile;
	to->entries = (size_t)num_min(to->count, LOOK_ENTRIES);
	if (to->max == 0)
		return;
	low = bits_of(to->min) >> (23 - BUCKETS_BITS);
	high = bits_of(to->max) >> (23 - BUCKETS_BITS);
	for (i = low; i <= high; i++)
		n += w->bucket[i];
	for (i = low; below + w->bucket[i] <= n / 2; i++)
		below += w->bucket[i];
	to->median = bucket_middle(i);
	if (to->median < to->min || low == high)
		to->median = to->min;
	for (i = low; i <= high; i++) {
		to->low += bucket_middle(i) * LOOK_FAR < to->median ? w->bucket[i] : 0;
		to->high += bucket_middle(i) > to->median * LOOK_FAR ? w->bucket[i] : 0;
		w->bucket[i] = 0;
	}
	mean = w->logs / (double)n;
	to->spread = sqrt(fmax(w->log_squares / (double)n - mean * mean, 0));
	w->logs = w->log_squares = 0;
}

/* ---- all chunks ---- */

/* Adds the part of the columns of task i that lies in a stripe. Those of a long row are a window
 * that begins with the first value of the task. */
static void
window_add(struct look_work *w, size_t i, size_t from, size_t end)
{
	const float *columns = w->columns + i * w->width;
	uint64_t first = w->row <= TASK ? 0 : (w->at + i * TASK) % w->row;
	uint64_t left = w->row <= TASK ? w->width : num_min(w->n - i * TASK, TASK), part;

	for (; left > 0; left -= part, columns += part, first = 0) {
		uint64_t low = first > from ? first : from, high;

		part = num_min(left, w->row - first);
		high = num_min(end, first + part);
		if (low < high)
			numbers->magnitudes(columns + (low - first), w->sums + low, (size_t)(high - low));
	}
}

/* Adds the columns of one stripe, task by task. */
static void
stripe_add(void *ctx, size_t stripe)
{
	struct look_work *w = ctx;
	size_t from = stripe * STRIPE, end = (size_t)num_min(w->row, from + STRIPE), i;

	memset(w->sums + from, 0, (end - from) * sizeof *w->sums);
	for (i = 0; i * TASK < w->n; i++)
		window_add(w, i, from, end);
	for (i = from; i < end; i++)
		w->all[i] += (double)w->sums[i];
}

/* Adds the rows, chunk by chunk. */
static void
rows_add(struct look *l)
{
	struct look_work *w = l->work;
	const double *sum = w->rows;
	size_t i;
	uint64_t part;
	double size;

	for (i = 0; i < w->n; i += (size_t)part) {
		if (i % STATS_CHUNK == 0)
			sum = w->rows + i / STATS_CHUNK * w->parts;
		part = num_min(num_min(w->n - i, RUN - i % RUN), w->row - w->filled);
		w->open += *sum++;
		w->filled += part;
		if (w->filled < w->row)
			continue;
		size = w->open / (double)w->row;
		if (l->rows.count < LOOK_ENTRIES)
			w->row_profile[l->rows.count] = half_f32_bf16((float)size);
		line_add(w, &l->rows, size);
		w->open = 0;
		w->filled = 0;
	}
}

void
look_join(struct look *l, unsigned jobs, uint64_t at, size_t n)
{
	struct look_work *w = l->work;
	size_t i, chunks = (n + STATS_CHUNK - 1) / STATS_CHUNK;

	for (i = 0; i < chunks; i++) {
		const struct part *p = &w->part[i];

		blocks_join(&l->blocks, &p->blocks);
		l->saturated += p->saturated;
		l->digest[0] = (l->digest[0] ^ p->digest[0]) * DIGEST_FIRST + 1;
		l->digest[1] = (l->digest[1] ^ p->digest[1]) * DIGEST_SECOND + 1;
	}
	if (w->row == 0 || n == 0)
		return;
	w->at = at;
	w->n = n;
	thread_for(jobs, stripes_of(w), stripe_add, w);
	rows_add(l);
}

static void
columns_end(struct look *l)
{
	struct look_work *w = l->work;
	double size, rows = (double)l->rows.count;
	size_t i;

	for (i = 0; i < w->row; i++) {
		size = w->all[i] / rows;
		if (i < LOOK_ENTRIES)
			w->column_profile[i] = half_f32_bf16((float)size);
		line_add(w, &l->columns, size);
	}
	lines_end(w, &l->columns, w->column_profile);
}

void
look_end(struct look *l)
{
	if (l->rows.count == 0)
		return;
	lines_end(l->work, &l->rows, l->work->row_profile);
	columns_end(l);
}
