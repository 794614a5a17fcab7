/* fuzz_numbers: bytes as values of any type: decoded, summed up, sorted into bins, and
 * told as text. The first byte chooses the type, the second how they are cut.
 *
 *     1. However many threads and pieces: the same statistics, to the last bit.
 *     2. Bins hold each finite value once, and no other.
 *     3. The text of a number reads back as that number.
 */
#include "fuzz.h"

#include <math.h>

#include "stats/tally.h"
#include "stats/values.h"

static const struct dtype *
choose(uint8_t byte)
{
	unsigned i = byte;

	while (!dtype_row(i) || !values_known(dtype_row(i)))
		i = dtype_row(i) ? i + 1 : 0;
	return dtype_row(i);
}

static void
tally(struct tally *y, const struct dtype *t, const uint8_t *p, size_t n, uint64_t values,
      size_t piece, unsigned jobs)
{
	struct err e = ERR_INIT;

	must(tally_open(y, jobs, true, &e) == 0 && tally_begin(y, t, values, &e) == 0);
	for (; n > piece; p += piece, n -= piece)
		tally_add(y, p, piece);
	tally_add(y, p, n);
	tally_end(y);
}

static void
statistics(const struct dtype *t, const uint8_t *p, size_t n, size_t piece)
{
	uint64_t values = (n - t->head) / t->bytes * t->items;
	struct tally a, b;
	uint64_t in_bins = 0;
	unsigned i;

	/* The last block of a whole tensor may be begun. */
	if (t->whole && values > 0)
		values -= piece % t->items;
	tally(&a, t, p, n, values, n + 1, 1);
	tally(&b, t, p, n, values, piece, 3);
	must(memcmp(&a.stats.count, &b.stats.count, 3 * sizeof a.stats.count) == 0);
	must(memcmp(&a.stats.min, &b.stats.min, 5 * sizeof a.stats.min) == 0);
	must(a.stats.zeros == b.stats.zeros && a.stats.first == b.stats.first);
	must(memcmp(&a.histogram, &b.histogram, sizeof a.histogram) == 0);
	for (i = 0; i < a.histogram.bins; i++)
		in_bins += a.histogram.count[i];
	must(in_bins == stats_finite(&a.stats));
	must(a.stats.count == values);
	must((a.stats.first == STATS_NONE) == (a.stats.nan + a.stats.inf == 0));
	if (in_bins > 0) {
		must(a.stats.min <= a.stats.max && a.stats.zeros <= in_bins);
		must(histogram_edge(&a.histogram, 0) <= a.stats.min);
		must(histogram_edge(&a.histogram, a.histogram.bins) > a.stats.max);
	}
	tally_free(&a);
	tally_free(&b);
}

static void
texts(const struct dtype *t, const uint8_t *head, size_t n)
{
	const uint8_t *p = head + t->head;
	double y[256];
	float f[256];
	char text[VALUES_TEXT];
	bool f64 = strcmp(t->name, "F64") == 0;
	bool long_integer = t->items == 1 && t->bytes == 8 && !f64;
	size_t i, rounded = 0;

	n = (n - t->head) / t->bytes * t->items;
	n = n < 256 ? n : 256;
	values_double(t, head, p, y, n);
	must(values_float(t, head, p, f, n) <= n);
	for (i = 0; i < n; i++) {
		double back = strtod(values_text(t, p, y[i], i, text), NULL);

		if (isnan(y[i]))
			must(isnan(back) && isnan(f[i]));
		else if (f64 || long_integer)
			must(back == y[i]);
		else
			must((float)back == (float)y[i]);
		rounded += !isnan(y[i]) && (double)f[i] != y[i];
	}
	must(long_integer || rounded == values_float(t, head, p, f, n));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct dtype *t;

	if (size < 2)
		return 0;
	t = choose(data[0]);
	size -= 2;
	if (size < t->head)
		return 0;
	size -= (size - t->head) % t->bytes;
	statistics(t, data + 2, size, (size_t)data[1] * 7 + 1);
	texts(t, data + 2, size);
	return 0;
}
