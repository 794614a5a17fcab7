#include "quant/convert.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/num.h"
#include "core/thread.h"
#include "kernels/numbers.h"
#include "kernels/kernel.h"
#include "kernels/whole.h"
#include "quant/clip.h"

#define BATCH 256 /* chunks in a parallel loop: their sums are on the stack */

struct batch {
	const struct convert *c;
	const uint8_t *x;
	uint8_t *y;
	size_t n;     /* values */
	size_t chunk; /* values a call */
	struct convert_stats sums[BATCH]; /* no values: memory ran out */
};

static bool
is_finite(float v)
{
	return fabsf(v) <= FLT_MAX;
}

/* Count values that are not finite. Returns the largest finite magnitude. */
static float
finite_count(const float *x, size_t n, struct convert_stats *s)
{
	uint32_t bits = numbers->most(x, n);
	float most = 0;
	size_t i;

	memcpy(&most, &bits, sizeof most);
	if (is_finite(most))
		return most;
	for (most = 0, i = 0; i < n; i++) {
		if (!is_finite(x[i]) && s->nonfinite++ == 0)
			s->first = i;
		else if (is_finite(x[i]) && fabsf(x[i]) > most)
			most = fabsf(x[i]);
	}
	return most;
}

/* Count finite values that were lost because of their size: they become infinite or NaN,
 * together with their block; or, where the sums of a sub-block overflow, values that no
 * scale within half precision can give. */
static void
overflow_count(const float *x, const float *y, size_t n, float loses, size_t at,
               struct convert_stats *s)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!is_finite(x[i]) || (is_finite(y[i]) && fabsf(x[i]) < loses))
			continue;
		if (s->nonfinite + s->overflow == 0 || at + i < s->first)
			s->first = at + i;
		s->overflow++;
	}
}

static void
error_sum(const float *x, const float *y, size_t n, struct convert_stats *s)
{
	double a, b, d;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!is_finite(x[i]) || !is_finite(y[i]))
			continue;
		s->checked++;
		a = x[i];
		b = y[i];
		d = fabs(b - a);
		s->error2 += d * d;
		s->x2 += a * a;
		s->y2 += b * b;
		s->xy += a * b;
		if (d > s->error_max)
			s->error_max = d;
	}
}

/* Count what n values x lost when they were encoded. */
static void
loss_count(const struct convert *c, const float *x, const uint8_t *bytes, size_t n,
           struct convert_stats *s)
{
	float most = finite_count(x, n, s), y[CONVERT_CHUNK];
	float holds = c->whole ? INFINITY : c->target->holds;
	float loses = c->whole ? INFINITY : c->target->loses;
	size_t at, part;

	/* Only large values can be lost: otherwise decoding is not worth its
	 * time. */
	if (!c->check && !s->nonfinite && most < holds)
		return;
	for (at = 0; at < n; at += part) {
		part = num_min(n - at, CONVERT_CHUNK);
		kernel_decode(c->to, c->head_out, bytes + dtype_span(c->to, at), y, part);
		overflow_count(x + at, y, part, loses, at, s);
		if (c->check)
			error_sum(x + at, y, part, s);
	}
}

static void
encode(const struct convert *c, const float *x, uint8_t *y, size_t n)
{
	size_t row;

	if (c->whole) {
		c->whole->encode(c->head_out, x, y, n);
		return;
	}
	if (!c->importance) {
		c->target->encode(x, y, n);
		return;
	}
	for (row = 0; row < n; row += c->columns)
		if (c->target->encode_weighted)
			c->target->encode_weighted(x + row, c->importance, y + dtype_span(c->to, row),
			                           c->columns);
		else
			clip_encode(c->to, x + row, c->importance, y + dtype_span(c->to, row), c->columns);
}

static void
chunk_convert(void *ctx, size_t i)
{
	struct batch *b = ctx;
	struct convert_stats *s = &b->sums[i];
	size_t first = i * b->chunk;
	size_t n = num_min(b->n - first, b->chunk);
	uint8_t *to = b->y + dtype_span(b->c->to, first);
	float few[CONVERT_CHUNK], *x = few;

	if (n > CONVERT_CHUNK && !(x = malloc(n * sizeof *x)))
		return;
	kernel_decode(b->c->from, b->c->head_in, b->x + dtype_span(b->c->from, first), x, n);
	encode(b->c, x, to, n);
	s->values = n;
	loss_count(b->c, x, to, n, s);
	if (x != few)
		free(x);
}

void
convert_stats_add(struct convert_stats *sum, const struct convert_stats *s)
{
	if (sum->nonfinite + sum->overflow == 0)
		sum->first = sum->values + s->first;
	sum->values += s->values;
	sum->nonfinite += s->nonfinite;
	sum->overflow += s->overflow;
	sum->checked += s->checked;
	sum->error2 += s->error2;
	sum->x2 += s->x2;
	sum->y2 += s->y2;
	sum->xy += s->xy;
	if (s->error_max > sum->error_max)
		sum->error_max = s->error_max;
}

static int
batch_convert(struct batch *b, struct convert_stats *s, struct err *e)
{
	size_t chunks = (b->n + b->chunk - 1) / b->chunk;
	size_t i;

	memset(b->sums, 0, chunks * sizeof b->sums[0]);
	thread_for(b->c->jobs, chunks, chunk_convert, b);
	for (i = 0; i < chunks; i++) {
		if (!b->sums[i].values)
			return err_memory(e);
		convert_stats_add(s, &b->sums[i]);
	}
	return 0;
}

int
convert_open(struct convert *c, const char *object, const struct dtype *from,
             const struct dtype *to, unsigned jobs, bool check, struct err *e)
{
	*c = (struct convert){
		.object = object, .from = from, .to = to, .jobs = jobs, .check = check,
	};
	if (from == to)
		return 0;
	c->whole = whole_for(to);
	c->target = kernel_for(to);
	if (!kernel_decodes(from) || !kernel_decodes(to))
		return err_set(e, ERR_FORMAT, object, "%s cannot be computed, only carried: "
		               "UnsupportedQuantization",
		               kernel_decodes(from) ? to->name : from->name);
	if (!kernel_encodes(to))
		return err_set(e, ERR_FORMAT, object, "%s can be decoded, not encoded",
		               to->name);
	return 0;
}

bool
convert_weigh(struct convert *c, const float *importance, size_t columns)
{
	const bool may = c->target && (c->target->encode_weighted || (c->clips && clip_encodes(c->to)));
	const bool use = importance && columns && may;

	c->importance = use ? importance : NULL;
	c->columns = use ? columns : 0;
	return use;
}

size_t
convert_chunk(const struct convert *c)
{
	if (!c->importance)
		return CONVERT_CHUNK;
	if (c->columns >= CONVERT_CHUNK)
		return c->columns;
	return CONVERT_CHUNK / c->columns * c->columns;
}

int
convert_size(const struct convert *c, uint64_t x_bytes, uint64_t *y_bytes, struct err *e)
{
	uint64_t n;

	if (dtype_sized(c->from) && x_bytes % c->from->bytes)
		return err_set(e, ERR_CORRUPT, c->object,
		               "%llu bytes are not whole %s blocks of %u: QuantizationCorrupt",
		               (unsigned long long)x_bytes, c->from->name,
		               (unsigned)c->from->bytes);
	if (c->from == c->to) {
		*y_bytes = x_bytes;
		return 0;
	}
	if (num_mul(x_bytes / c->from->bytes, c->from->items, &n))
		return err_set(e, ERR_CORRUPT, c->object, "more values than 64 bits count");
	n -= num_min(n, c->padding);
	if (!c->to->whole && n % c->to->items)
		return err_set(e, ERR_INVALID, c->object,
		               "%llu values are not whole %s blocks of %u",
		               (unsigned long long)n, c->to->name, (unsigned)c->to->items);
	if (c->importance && (n % c->columns || c->columns % c->to->items ||
	                      c->columns % c->from->items))
		return err_set(e, ERR_INVALID, c->object,
		               "%llu values are not whole rows of %zu in whole blocks",
		               (unsigned long long)n, c->columns);
	if (c->target && !c->target->encode && !c->importance && n)
		return err_set(e, ERR_INVALID, c->object, "%s is only encoded by importance",
		               c->to->name);
	if (num_mul(n / c->to->items + (n % c->to->items != 0), c->to->bytes, y_bytes))
		return err_set(e, ERR_CORRUPT, c->object, "more bytes than 64 bits count");
	return 0;
}

int
convert_run(const struct convert *c, const uint8_t *x, uint64_t x_bytes, uint8_t *y,
            uint64_t y_bytes, struct convert_stats *s, struct err *e)
{
	struct batch b = { .c = c, .x = x, .y = y, .chunk = convert_chunk(c) };
	uint64_t left, need;

	if (convert_size(c, x_bytes, &need, e))
		return -1;
	if (need != y_bytes)
		return err_set(e, ERR_CORRUPT, c->object, "%llu bytes of %s, expected %llu",
		               (unsigned long long)y_bytes, c->to->name,
		               (unsigned long long)need);
	if (c->from == c->to) {
		if (x_bytes)
			memcpy(y, x, x_bytes);
		return 0;
	}
	left = x_bytes / c->from->bytes * c->from->items;
	for (left -= num_min(left, c->padding); left; left -= b.n) {
		b.n = num_min(left, (uint64_t)BATCH * b.chunk);
		if (batch_convert(&b, s, e) < 0)
			return -1;
		b.x += dtype_span(c->from, b.n);
		b.y += dtype_span(c->to, b.n);
	}
	return 0;
}

int
convert_held(const struct convert *c, const struct convert_stats *s, struct err *e)
{
	if (s->nonfinite + s->overflow == 0)
		return 0;
	return err_set(e, ERR_INVALID, c->object, "has values that %s cannot hold: NaN, infinite or "
	               "too large", c->to->name);
}

/* A run in chunks, with the sums of each. */
struct search {
	const struct convert *c;
	const uint8_t *x;
	size_t n;
	float most[BATCH];
};

static void
chunk_most(void *ctx, size_t i)
{
	struct search *f = ctx;
	size_t first = i * CONVERT_CHUNK;
	size_t n = num_min(f->n - first, CONVERT_CHUNK);
	struct convert_stats unused = { 0 };
	float x[CONVERT_CHUNK];

	kernel_decode(f->c->from, f->c->head_in, f->x + dtype_span(f->c->from, first), x, n);
	f->most[i] = finite_count(x, n, &unused);
}

float
convert_most(const struct convert *c, const uint8_t *x, uint64_t x_bytes, float most)
{
	struct search f = { .c = c, .x = x };
	uint64_t left = x_bytes / c->from->bytes * c->from->items;
	size_t i, chunks;

	for (left -= num_min(left, c->padding); left; left -= f.n) {
		f.n = num_min(left, (uint64_t)BATCH * CONVERT_CHUNK);
		chunks = (f.n + CONVERT_CHUNK - 1) / CONVERT_CHUNK;
		thread_for(c->jobs, chunks, chunk_most, &f);
		for (i = 0; i < chunks; i++)
			most = f.most[i] > most ? f.most[i] : most;
		f.x += dtype_span(c->from, f.n);
	}
	return most;
}

void
convert_head(struct convert *c, float most)
{
	if (c->whole)
		c->whole->begin(most, c->head_out);
}

double
convert_rmse(const struct convert_stats *s)
{
	return s->checked ? sqrt(s->error2 / (double)s->checked) : 0;
}

double
convert_relative(const struct convert_stats *s)
{
	return s->x2 > 0 ? sqrt(s->error2 / s->x2) : 0;
}

double
convert_cosine(const struct convert_stats *s)
{
	if (s->x2 > 0 && s->y2 > 0)
		return s->xy / (sqrt(s->x2) * sqrt(s->y2));
	return s->x2 > 0 || s->y2 > 0 ? 0 : 1;
}
