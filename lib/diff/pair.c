#include "diff/pair.h"

#include <math.h>

#include "core/num.h"
#include "kernels/numbers.h"

/* ---- a piece ---- */

/* Exchange values that are not finite, with their partners, for pairs of zeros, and count them.
 * Returns the number of these pairs. */
static size_t
drop_odd(double *a, double *b, size_t n, struct pair *p)
{
	size_t i, dropped = 0;

	for (i = 0; i < n; i++) {
		if (isfinite(a[i]) && isfinite(b[i]))
			continue;
		if (a[i] == b[i] || (isnan(a[i]) && isnan(b[i]))) {
			p->equal++;
			p->within++;
		} else {
			p->odd++;
		}
		a[i] = b[i] = 0;
		dropped++;
	}
	return dropped;
}

/* Values of one piece: doubles, or the same ones as floats. */
struct values {
	double *a, *b;
	const float *x, *y; /* NULL: doubles */
};

static double
distance(const struct values *v, size_t i)
{
	return v->x ? fabs((double)v->y[i] - (double)v->x[i]) : fabs(v->b[i] - v->a[i]);
}

/* The index of the first |d| that is this large, from i on. */
static size_t
find_most(const struct values *v, size_t i, size_t end, double most)
{
	while (i + 1 < end && distance(v, i) != most)
		i++;
	return i;
}

/* The sums of n values from index i on. Returns the number of values that were dropped, or -1 if
 * floats are not finite. */
static int64_t
sum_up(struct pair *p, const struct values *v, size_t i, size_t n, double tolerance,
       struct numbers_pair *f)
{
	size_t dropped;

	if (v->x) {
		numbers->pair_floats(v->x + i, v->y + i, n, tolerance, f);
		return f->finite ? 0 : -1;
	}
	numbers->pair(v->a + i, v->b + i, n, tolerance, f);
	if (f->finite)
		return 0;
	dropped = drop_odd(v->a + i, v->b + i, n, p);
	numbers->pair(v->a + i, v->b + i, n, tolerance, f);
	return (int64_t)dropped;
}

/* Values of one row, from index i of the piece on. Returns as sum_up does; *dd: their sum of d². */
static int64_t
add_run(struct pair *p, const struct values *v, size_t i, size_t n, const struct pair_place *at,
        double *dd)
{
	struct numbers_pair f;
	int64_t dropped = sum_up(p, v, i, n, at->tolerance, &f);

	if (dropped < 0)
		return -1;
	p->count += n;
	p->equal += f.equal - (uint64_t)dropped;
	p->within += f.within - (uint64_t)dropped;
	p->aa += f.aa;
	p->bb += f.bb;
	p->ab += f.ab;
	p->dd += f.dd;
	p->d += f.d;
	*dd = f.dd;
	if (f.most > p->most && f.most > at->known) {
		p->most = f.most;
		p->most_at = at->index + find_most(v, i, i + n, f.most);
	}
	return dropped;
}

/* A row that is complete. */
static void
offer(struct pair_rows *r, uint64_t row, double sum)
{
	if (sum > r->worst || (sum == r->worst && row < r->worst_row)) {
		r->worst = sum;
		r->worst_row = row;
	}
}

static void
fill(struct histogram *h, const double *v, size_t n)
{
	struct numbers_found f;

	numbers->find(v, n, &f);
	if (f.min <= f.max)
		histogram_fill(h, v, n, f.min, f.max);
}

/* Returns the number of values that were dropped, or -1 as above. */
static int64_t
add_rows(struct pair *p, const struct values *v, size_t n, const struct pair_place *at)
{
	uint64_t number = at->index / at->row;
	int64_t dropped, all = 0;
	size_t i, part;
	double sum;

	*p = (struct pair){ .rows = { .first = number, .last = number, .worst = -1 } };
	for (i = 0; i < n; i += part, number++) {
		part = (size_t)num_min(n - i, at->row - (at->index + i) % at->row);
		dropped = add_run(p, v, i, part, at, &sum);
		if (dropped < 0)
			return -1;
		all += dropped;
		if (i > 0 && number > p->rows.first + 1)
			offer(&p->rows, number - 1, p->rows.last_sum);
		if (i == 0)
			p->rows.first_sum = sum;
		p->rows.last = number;
		p->rows.last_sum = sum;
	}
	return all;
}

void
pair_of(struct pair *p, double *a, double *b, size_t n, const struct pair_place *at)
{
	const struct values v = { .a = a, .b = b };

	/* A piece with values that are not finite is not part of the histograms. */
	if (add_rows(p, &v, n, at) == 0 && at->histograms) {
		fill(&p->a, a, n);
		fill(&p->b, b, n);
	}
}

void
pair_of_floats(struct pair *p, const float *x, const float *y, size_t n,
               const struct pair_place *at)
{
	const struct values v = { .x = x, .y = y };
	double a[PAIR_VALUES], b[PAIR_VALUES];

	if (add_rows(p, &v, n, at) < 0) {
		numbers->widen(x, a, n);
		numbers->widen(y, b, n);
		pair_of(p, a, b, n, at);
	} else if (at->histograms) {
		histogram_fill_floats(&p->a, x, n);
		histogram_fill_floats(&p->b, y, n);
	}
}

/* ---- joining ---- */

static void
rows_join(struct pair_rows *r, const struct pair_rows *b)
{
	bool one = r->first == r->last, other = b->first == b->last;

	if (b->worst >= 0)
		offer(r, b->worst_row, b->worst);
	if (r->last == b->first) {
		double sum = r->last_sum + b->first_sum;

		if (one)
			r->first_sum = sum;
		else if (!other)
			offer(r, r->last, sum);
		r->last_sum = other ? sum : b->last_sum;
	} else {
		if (!one)
			offer(r, r->last, r->last_sum);
		if (!other)
			offer(r, b->first, b->first_sum);
		r->last_sum = b->last_sum;
	}
	r->last = b->last;
}

void
pair_join(struct pair *p, const struct pair *behind)
{
	if (p->count == 0) {
		*p = *behind;
		return;
	}
	if (behind->count == 0)
		return;
	if (behind->most > p->most) {
		p->most = behind->most;
		p->most_at = behind->most_at;
	}
	p->count += behind->count;
	p->equal += behind->equal;
	p->within += behind->within;
	p->odd += behind->odd;
	p->aa += behind->aa;
	p->bb += behind->bb;
	p->ab += behind->ab;
	p->dd += behind->dd;
	p->d += behind->d;
	rows_join(&p->rows, &behind->rows);
	if (behind->a.bins > 0) {
		histogram_join(&p->a, &behind->a);
		histogram_join(&p->b, &behind->b);
	}
}

/* ---- figures ---- */

double
pair_divergence(const struct histogram *a, const struct histogram *b)
{
	struct histogram grid = *a, p, q;
	double n = 0, m = 0, sum = 0;
	unsigned i;

	if (a->bins == 0 || b->bins == 0)
		return 0;
	histogram_join(&grid, b);
	for (i = 0; i < HISTOGRAM_BINS; i++)
		grid.count[i] = 0;
	p = q = grid;
	histogram_join(&p, a);
	histogram_join(&q, b);
	for (i = 0; i < p.bins; i++) {
		n += (double)p.count[i] + 0.5;
		m += (double)q.count[i] + 0.5;
	}
	for (i = 0; i < p.bins; i++) {
		double x = ((double)p.count[i] + 0.5) / n, y = ((double)q.count[i] + 0.5) / m;

		sum += x * log(x / y);
	}
	return sum > 0 ? sum : 0;
}

/* Where squares leave double precision, figures are infinite or NaN. */
static double
ratio(double part, double whole)
{
	return part == 0 ? 0 : whole > 0 ? part / whole : (double)INFINITY;
}

static double
cosine(double aa, double bb, double ab)
{
	double c;

	if (aa == 0 || bb == 0)
		return aa == bb;
	c = ab / (sqrt(aa) * sqrt(bb));
	return c > 1 ? 1 : c < -1 ? -1 : c;
}

void
pair_drift(const struct pair *p, bool swapped, struct drift *to)
{
	struct pair_rows rows = p->rows;
	uint64_t finite = p->count - p->odd;
	double aa = swapped ? p->bb : p->aa;

	*to = (struct drift){ .count = p->count, .equal = p->equal, .within = p->within,
		.odd = p->odd, .most = p->most, .most_at = p->most_at, .l2 = sqrt(p->dd),
		.rmse = ratio(sqrt(p->dd), sqrt(aa)), .cosine = cosine(p->aa, p->bb, p->ab),
		.mean = finite ? p->d / (double)finite : 0 };
	to->kl = swapped ? pair_divergence(&p->b, &p->a) : pair_divergence(&p->a, &p->b);
	if (p->count == 0)
		return;
	offer(&rows, rows.first, rows.first_sum);
	offer(&rows, rows.last, rows.last_sum);
	to->worst_row = rows.worst_row;
	to->worst = sqrt(rows.worst);
}
