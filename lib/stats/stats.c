#include "stats/stats.h"

#include <math.h>

#include "kernels/numbers.h"
#include "stats/codes.h"
#include "stats/histogram.h"
#include "stats/values.h"

/* Count values that are not finite, and close the gaps. Returns how many are left. */
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

void
stats_of_values(double *v, size_t n, uint64_t at, struct stats *s, struct histogram *h)
{
	struct numbers_found f;

	s->count = n;
	if (n == 0)
		return;
	numbers->find(v, n, &f);
	if (!f.finite) {
		n = keep_finite(v, n, at, s);
		if (n == 0)
			return;
		numbers->find(v, n, &f);
	}
	s->min = f.min;
	s->max = f.max;
	s->zeros = f.zeros;
	s->sum = f.sum;
	s->squares = f.squares;
	s->deviations = numbers->deviations(v, n, f.sum / (double)n);
	if (h)
		histogram_fill(h, v, n, s->min, s->max);
}

void
stats_of_codes(const struct dtype *t, const uint8_t *x, size_t n, uint64_t at,
               struct stats *s)
{
	size_t first;

	*s = (struct stats)STATS_INIT;
	s->below = n ? codes_below(t, x, n, &first) : 0;
	if (s->below)
		s->first_below = at + first;
}

uint64_t
stats_finite(const struct stats *s)
{
	return s->count - s->nan - s->inf;
}

/* The growth of the deviations of two parts that get one mean: the formula of
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
	if (s->below == 0)
		s->first_below = behind->first_below;
	s->below += behind->below;
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
