#include "stats/stats.h"

#include <math.h>

#include "stats/histogram.h"
#include "stats/values.h"

#define LANES 8

/* Sums go in lanes: one addition need not wait for the one before, and vector
 * instructions keep their order. */
static double
lanes_sum(const double a[LANES])
{
	return ((a[0] + a[4]) + (a[1] + a[5])) + ((a[2] + a[6]) + (a[3] + a[7]));
}

static double
sum(const double *v, size_t n)
{
	double a[LANES] = { 0 };
	size_t i, j;

	for (i = 0; i + LANES <= n; i += LANES)
		for (j = 0; j < LANES; j++)
			a[j] += v[i + j];
	for (j = 0; i < n; i++, j++)
		a[j] += v[i];
	return lanes_sum(a);
}

/* The sum of (x - from)². */
static double
sum_squares(const double *v, size_t n, double from)
{
	double a[LANES] = { 0 };
	size_t i, j;

	for (i = 0; i + LANES <= n; i += LANES)
		for (j = 0; j < LANES; j++)
			a[j] += (v[i + j] - from) * (v[i + j] - from);
	for (j = 0; i < n; i++, j++)
		a[j] += (v[i] - from) * (v[i] - from);
	return lanes_sum(a);
}

/* Count what is not finite, and close the gaps. Returns how many are left. */
static size_t
keep_finite(double *v, size_t n, uint64_t at, struct stats *s)
{
	size_t i, kept = 0;

	for (i = 0; i < n; i++) {
		if (isfinite(v[i])) {
			v[kept++] = v[i];
			continue;
		}
		if (s->first == STATS_NONE) {
			s->first = at + i;
			s->first_is_nan = isnan(v[i]);
		}
		if (isnan(v[i]))
			s->nan++;
		else
			s->inf++;
	}
	return kept;
}

static void
range(const double *v, size_t n, struct stats *s)
{
	double min = v[0], max = v[0];
	uint64_t zeros = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		min = v[i] < min ? v[i] : min;
		max = v[i] > max ? v[i] : max;
		zeros += v[i] == 0;
	}
	s->min = min;
	s->max = max;
	s->zeros = zeros;
}

void
stats_of(const struct dtype *t, const uint8_t *head, const uint8_t *x, size_t n,
         uint64_t at, struct stats *s, struct histogram *h)
{
	double v[STATS_CHUNK];

	*s = (struct stats)STATS_INIT;
	s->count = n;
	values_double(t, head, x, v, n);
	n = keep_finite(v, n, at, s);
	if (n == 0)
		return;
	range(v, n, s);
	s->sum = sum(v, n);
	s->squares = sum_squares(v, n, 0);
	s->deviations = sum_squares(v, n, s->sum / (double)n);
	if (h)
		histogram_fill(h, v, n, s->min, s->max);
}

uint64_t
stats_finite(const struct stats *s)
{
	return s->count - s->nan - s->inf;
}

/* How far the deviations of two parts grow when they get one mean: the formula of
 * Chan, Golub and LeVeque. */
static double
between(const struct stats *a, const struct stats *b)
{
	double n = (double)stats_finite(a), m = (double)stats_finite(b);
	double apart = b->sum / m - a->sum / n;

	return apart * apart * (n * (m / (n + m)));
}

void
stats_join(struct stats *s, const struct stats *behind)
{
	if (stats_finite(s) && stats_finite(behind))
		s->deviations += between(s, behind);
	if (stats_finite(behind)) {
		bool any = stats_finite(s) != 0;

		s->min = any && s->min < behind->min ? s->min : behind->min;
		s->max = any && s->max > behind->max ? s->max : behind->max;
	}
	if (s->first == STATS_NONE) {
		s->first = behind->first;
		s->first_is_nan = behind->first_is_nan;
	}
	s->count += behind->count;
	s->nan += behind->nan;
	s->inf += behind->inf;
	s->zeros += behind->zeros;
	s->sum += behind->sum;
	s->squares += behind->squares;
	s->deviations += behind->deviations;
}

double
stats_mean(const struct stats *s)
{
	return s->sum / (double)stats_finite(s);
}

double
stats_std(const struct stats *s)
{
	return sqrt(s->deviations / (double)stats_finite(s));
}

double
stats_l2(const struct stats *s)
{
	return sqrt(s->squares);
}
