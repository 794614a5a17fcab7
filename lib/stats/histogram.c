#include "stats/histogram.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/numbers.h"

#define PRECISION 52 /* fraction bits of a double */
#define LEAST (-1074) /* exponent of the smallest double */
#define FEW_BINS (1 << 29) /* as numbers.h wants them for floats */

/* The number of v's bin among all of that width. Bins are never narrower than a unit of the
 * last place of the largest value, so the quotient is exact in 64 bits. */
static int64_t
bin_of(double v, int exponent)
{
	double q = floor(ldexp(v, -exponent));

	return q == 0 && v < 0 ? -1 : (int64_t)q; /* the quotient was too small */
}

/* The same where by = 2^-exponent is a double: a product with it is rounded as ldexp
 * rounds. There is no branch on signs, which the CPU could not predict for weights. */
static int64_t
bin_by(double v, double by)
{
	double q = v * by;
	int64_t bin = (int64_t)q;

	return bin - ((q < (double)bin) | ((q == 0) & (v < 0)));
}

/* An exponent above that of |v|: 2^n is larger. */
static int
exponent_above(double v)
{
	int n;

	frexp(v, &n);
	return n;
}

/* The bins for values from min to max. */
static void
choose_bins(struct histogram *h, double min, double max)
{
	double most = fmax(fabs(min), fabs(max)), half = max / 2 - min / 2;
	int e = exponent_above(most) - 1 - PRECISION;

	/* Half the range is less than 2^n, and with bins of 2^(n - 6) it takes more than 32
	 * bins: the width is at least that. */
	if (half > 0 && exponent_above(half) - 6 > e)
		e = exponent_above(half) - 6;
	if (most == 0)
		e = LEAST;
	if (e < LEAST)
		e = LEAST;
	while (bin_of(max, e) - bin_of(min, e) >= HISTOGRAM_BINS)
		e++;
	*h = (struct histogram){ .exponent = e, .low = bin_of(min, e) };
	h->bins = (unsigned)(bin_of(max, e) - h->low) + 1;
}

void
histogram_fill(struct histogram *h, const double *v, size_t n, double min, double max)
{
	double by;
	size_t i;

	choose_bins(h, min, max);
	by = ldexp(1, -h->exponent);
	if (isnormal(by))
		for (i = 0; i < n; i++)
			h->count[bin_by(v[i], by) - h->low]++;
	else
		for (i = 0; i < n; i++)
			h->count[bin_of(v[i], h->exponent) - h->low]++;
}

void
histogram_fill_floats(struct histogram *h, const float *v, size_t n)
{
	float min, max;
	size_t i;

	numbers->range(v, n, &min, &max);
	choose_bins(h, (double)min, (double)max);
	if (h->exponent > -FLT_MAX_EXP && h->exponent < -FLT_MIN_EXP && h->low > -FEW_BINS &&
	    h->low < FEW_BINS)
		numbers->count(v, n, ldexpf(1, -h->exponent), (int32_t)h->low, h->bins, h->count);
	else
		for (i = 0; i < n; i++)
			h->count[bin_of((double)v[i], h->exponent) - h->low]++;
}

/* The number of bin k where bins are 2^by times as wide. */
static int64_t
wider(int64_t k, unsigned by)
{
	if (by > 62)
		return k < 0 ? -1 : 0;
	return k < 0 ? -1 - ((-1 - k) >> by) : k >> by;
}

static void
coarsen(struct histogram *h, unsigned by)
{
	int64_t low = wider(h->low, by);
	uint64_t count[HISTOGRAM_BINS] = { 0 };
	unsigned i, at = 0;

	for (i = 0; i < h->bins; i++) {
		at = (unsigned)(wider(h->low + i, by) - low);
		count[at] += h->count[i];
	}
	memcpy(h->count, count, sizeof count);
	h->low = low;
	h->bins = at + 1;
	h->exponent += (int)by;
}

static int64_t
end_of(const struct histogram *h)
{
	return h->low + h->bins;
}

/* The number of bins that both span together; they have one width. */
static int64_t
span(const struct histogram *a, const struct histogram *b)
{
	int64_t low = a->low < b->low ? a->low : b->low;
	int64_t end = end_of(a) > end_of(b) ? end_of(a) : end_of(b);

	return end - low;
}

void
histogram_join(struct histogram *h, const struct histogram *more)
{
	struct histogram b = *more, sum = { 0 };
	unsigned i;

	if (b.bins == 0)
		return;
	if (h->bins == 0) {
		*h = b;
		return;
	}
	if (h->exponent < b.exponent)
		coarsen(h, (unsigned)(b.exponent - h->exponent));
	else
		coarsen(&b, (unsigned)(h->exponent - b.exponent));
	while (span(h, &b) > HISTOGRAM_BINS) {
		coarsen(h, 1);
		coarsen(&b, 1);
	}
	sum.exponent = h->exponent;
	sum.low = h->low < b.low ? h->low : b.low;
	sum.bins = (unsigned)span(h, &b);
	for (i = 0; i < h->bins; i++)
		sum.count[h->low - sum.low + i] += h->count[i];
	for (i = 0; i < b.bins; i++)
		sum.count[b.low - sum.low + i] += b.count[i];
	*h = sum;
}

double
histogram_edge(const struct histogram *h, unsigned i)
{
	return ldexp((double)(h->low + i), h->exponent);
}
