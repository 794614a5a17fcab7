/* stats: values of every type, sums, histograms; none depends on how it is cut. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "kernels/kernel.h"
#include "kernels/level.h"
#include "stats/tally.h"
#include "stats/values.h"
#include "test.h"

static uint64_t state = 88172645463325252u;

static uint64_t
chance(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* ---- values ---- */

/* A type, the bytes of one value, the number and its text, and whether single
 * precision has it. */
static const struct {
	const char *type;
	uint64_t bits;
	double value;
	const char *text;
	bool rounded;
} facts[] = {
	{ "I8", 0x80, -128, "-128", false },
	{ "I8", 0x7f, 127, "127", false },
	{ "U8", 0xff, 255, "255", false },
	{ "I16", 0x8000, -32768, "-32768", false },
	{ "U16", 0xffff, 65535, "65535", false },
	{ "I32", 0x80000000, -2147483648.0, "-2147483648", false },
	{ "I32", 0x7fffffff, 2147483647, "2147483647", true },
	{ "I32", 16777217, 16777217, "16777217", true },
	{ "U32", 0xffffffff, 4294967295.0, "4294967295", true },
	{ "I64", 0x8000000000000000, -0x1p63, "-9223372036854775808", false },
	{ "I64", 0x7fffffffffffffff, 0x1p63, "9223372036854775807", true },
	{ "I64", 0x7fffff8000000000, 0x1.fffffep62, "9223371487098961920", false },
	{ "I64", UINT64_MAX, -1, "-1", false },
	{ "U64", UINT64_MAX, 0x1p64, "18446744073709551615", true },
	{ "U64", 0x8000000000000000, 0x1p63, "9223372036854775808", false },
	{ "BOOL", 0, 0, "0", false },
	{ "BOOL", 1, 1, "1", false },
	{ "BOOL", 0x80, 1, "1", false },
	{ "F64", 0x3fb999999999999a, 0.1, "0.1", true },
	{ "F64", 0x3fd5555555555555, 1.0 / 3, "0.3333333333333333", true },
	{ "F64", 0x7fefffffffffffff, 0x1.fffffffffffffp1023, "1.7976931348623157e+308", true },
	{ "F64", 0x7ff0000000000000, INFINITY, "inf", false },
	{ "F64", 0xfff0000000000000, -INFINITY, "-inf", false },
	{ "F64", 0x8000000000000000, -0.0, "-0", false },
	{ "F32", 0x3dcccccd, 0x1.99999ap-4, "0.1", false },
	{ "F32", 0x3eaaaaab, 0x1.555556p-2, "0.33333334", false },
	{ "F32", 0x00000001, 0x1p-149, "1.4013e-45", false },
	{ "F16", 0x3c00, 1, "1", false },
	{ "BF16", 0xc040, -3, "-3", false },
};

static void
test_facts(void)
{
	char text[VALUES_TEXT];
	uint8_t x[8];
	double y;
	float f;
	size_t i;

	for (i = 0; i < sizeof facts / sizeof *facts; i++) {
		const struct dtype *t = dtype_by_name(facts[i].type);
		size_t rounded;

		le64_put(x, facts[i].bits);
		values_double(t, NULL, x, &y, 1);
		rounded = values_float(t, NULL, x, &f, 1);
		values_text(t, x, y, 0, text);
		test_ok(values_known(t) && y == facts[i].value &&
		        signbit(y) == signbit(facts[i].value) && f == (float)facts[i].value &&
		        rounded == facts[i].rounded && strcmp(text, facts[i].text) == 0,
		        "%s 0x%llx is %s: %s %.17g %zu", facts[i].type,
		        (unsigned long long)facts[i].bits, facts[i].text, text, y, rounded);
	}
}

static void
test_nan(void)
{
	static const struct {
		const char *type;
		uint64_t bits;
	} nans[] = { { "F64", 0x7ff8000000000001 }, { "F32", 0x7fc00001 }, { "F16", 0x7e01 } };
	char text[VALUES_TEXT];
	uint8_t x[8];
	double y;
	float f;
	size_t i;

	for (i = 0; i < 3; i++) {
		const struct dtype *t = dtype_by_name(nans[i].type);

		le64_put(x, nans[i].bits);
		values_double(t, NULL, x, &y, 1);
		test_ok(isnan(y) && values_float(t, NULL, x, &f, 1) == 0 && isnan(f) &&
		        strcmp(values_text(t, x, y, 0, text), "nan") == 0,
		        "a NaN of %s is one, and not rounded", nans[i].type);
	}
}

/* Every type with a kernel is known; of the others only these. */
static void
test_known(void)
{
	static const char *const plain[] = { "I8", "I16", "I32", "I64", "U8", "U16", "U32",
		"U64", "BOOL", "F64" };
	const struct dtype *t;
	unsigned i, k, wrong = 0, n = 0;

	for (i = 0; (t = dtype_row(i)); i++) {
		bool want = kernel_decodes(t);

		for (k = 0; k < sizeof plain / sizeof *plain; k++)
			want |= strcmp(t->name, plain[k]) == 0;
		wrong += values_known(t) != want;
		wrong += t->items && STATS_CHUNK % t->items != 0;
		n += want;
	}
	test_ok(wrong == 0 && n >= 16, "%u types can be decoded, whole blocks to a chunk", n);
	test_ok(!values_known(dtype_by_ggml(200)), "a type of unknown size cannot");
}

/* Decoded many at once or one block at a time, by kernel or here. */
static void
test_runs(void)
{
	enum { N = 1280 };
	static uint8_t x[N * 8];
	static double all[N], one[256];
	const struct dtype *t;
	unsigned i, wrong = 0;
	size_t at, k;

	for (k = 0; k < sizeof x; k++)
		x[k] = (uint8_t)(chance() & 0x3f); /* no NaN: they differ from themselves */
	for (i = 0; (t = dtype_row(i)); i++) {
		if (!values_known(t))
			continue;
		values_double(t, x, x, all, N); /* any bytes are a head too */
		for (at = 0; at < N; at += t->items) {
			values_double(t, x, x + dtype_span(t, at), one, t->items);
			wrong += memcmp(one, all + at, t->items * sizeof *one) != 0;
		}
	}
	test_ok(wrong == 0, "runs of any length decode to the same");
}

/* ---- sums ---- */

static bool
same(const struct tally *a, const struct tally *b)
{
	const struct stats *s = &a->stats, *t = &b->stats;

	return s->count == t->count && s->nan == t->nan && s->inf == t->inf &&
	       s->zeros == t->zeros && s->first == t->first &&
	       memcmp(&s->min, &t->min, sizeof s->min) == 0 && s->max == t->max &&
	       memcmp(&s->sum, &t->sum, sizeof s->sum) == 0 &&
	       memcmp(&s->squares, &t->squares, sizeof s->squares) == 0 &&
	       memcmp(&s->deviations, &t->deviations, sizeof s->deviations) == 0 &&
	       memcmp(&a->histogram, &b->histogram, sizeof a->histogram) == 0;
}

static void
run(struct tally *y, const char *type, const void *x, size_t bytes, size_t piece,
    unsigned jobs)
{
	struct err e = ERR_INIT;
	size_t at, n;

	if (tally_open(y, jobs, true, &e) < 0 ||
	    tally_begin(y, dtype_by_name(type), UINT64_MAX, &e) < 0)
		abort();
	for (at = 0; at < bytes; at += n) {
		n = piece ? piece : (size_t)(chance() % 100000);
		n = n < bytes - at ? n : bytes - at;
		tally_add(y, (const uint8_t *)x + at, n);
	}
	tally_end(y);
}

static float
ordinary(void)
{
	return (float)((double)(chance() >> 11) * 0x1p-53 - 0.5) + 7;
}

static void
test_same(void)
{
	enum { N = 1000003 };
	float *x = malloc(N * sizeof *x);
	struct tally one, other;
	size_t i;
	unsigned jobs, wrong = 0, cut;

	for (i = 0; i < N; i++)
		x[i] = chance() % 1000 ? ordinary() * (float)(1 + i / 1000) : i % 2 ? INFINITY : 0;
	run(&one, "F32", x, N * sizeof *x, N * sizeof *x, 1);
	for (jobs = 1; jobs <= 9; jobs += 2)
		for (cut = 0; cut < 3; cut++) {
			run(&other, "F32", x, N * sizeof *x, 0, jobs);
			wrong += !same(&one, &other);
			tally_free(&other);
		}
	test_ok(wrong == 0, "threads and pieces change nothing, to the last bit");
	tally_free(&one);
	free(x);
}

static double
off(double got, double want)
{
	return fabs(got - want) / (fabs(want) > 0 ? fabs(want) : 1);
}

/* Against two passes in quadruple or extended precision. The offset is what a sum
 * of squares alone would drown in. */
static void
test_exact(double offset)
{
	enum { N = 100000 };
	double *x = malloc(N * sizeof *x);
	long double sum = 0, squares = 0, deviations = 0;
	struct tally y;
	size_t i;

	for (i = 0; i < N; i++) {
		x[i] = ordinary() + offset;
		sum += x[i];
		squares += (long double)x[i] * x[i];
	}
	for (i = 0; i < N; i++)
		deviations += (x[i] - sum / N) * (x[i] - sum / N);
	run(&y, "F64", x, N * sizeof *x, 4096, 4);
	test_ok(off(stats_mean(&y.stats), (double)(sum / N)) < 1e-14 &&
	        off(stats_l2(&y.stats), (double)sqrtl(squares)) < 1e-14 &&
	        off(stats_std(&y.stats), (double)sqrtl(deviations / N)) < 1e-9,
	        "mean, standard deviation and norm around %g: off by %.1e, %.1e, %.1e", offset,
	        off(stats_mean(&y.stats), (double)(sum / N)),
	        off(stats_std(&y.stats), (double)sqrtl(deviations / N)),
	        off(stats_l2(&y.stats), (double)sqrtl(squares)));
	tally_free(&y);
	free(x);
}

static void
test_counts(void)
{
	float x[5000];
	struct tally y;
	size_t i;

	for (i = 0; i < 5000; i++)
		x[i] = i % 5 ? 2 : i % 2 ? 0.0f : -0.0f;
	x[4001] = -INFINITY;
	x[4002] = NAN;
	x[4999] = INFINITY;
	run(&y, "F32", x, sizeof x, 1000, 3);
	test_ok(y.stats.count == 5000 && y.stats.zeros == 1000 && y.stats.nan == 1 &&
	        y.stats.inf == 2 && stats_finite(&y.stats) == 4997, "what is counted");
	test_ok(y.stats.first == 4001 && !y.stats.first_is_nan,
	        "the first value that is not finite");
	test_ok(y.stats.min == 0 && y.stats.max == 2 && y.stats.sum == 2 * 3997,
	        "the others are left out of everything else");
	tally_free(&y);

	for (i = 0; i < 5000; i++)
		x[i] = NAN;
	run(&y, "F32", x, sizeof x, 0, 2);
	test_ok(stats_finite(&y.stats) == 0 && y.stats.min == 0 && y.stats.max == 0 &&
	        y.stats.first == 0 && y.stats.first_is_nan && y.histogram.bins == 0,
	        "nothing but NaN");
	tally_free(&y);
	run(&y, "F32", x, 0, 0, 2);
	test_ok(y.stats.count == 0 && y.stats.first == STATS_NONE && y.histogram.bins == 0,
	        "no values at all");
	tally_free(&y);

	/* The range of a later part, when the first has none. */
	for (i = 4096; i < 5000; i++)
		x[i] = 5;
	run(&y, "F32", x, sizeof x, 0, 2);
	test_ok(y.stats.min == 5 && y.stats.max == 5 && stats_mean(&y.stats) == 5 &&
	        stats_std(&y.stats) == 0, "the first part has no finite value");
	tally_free(&y);
}

/* ---- histograms ---- */

static uint64_t
count_between(const double *v, size_t n, double from, double to)
{
	uint64_t k = 0;
	size_t i;

	for (i = 0; i < n; i++)
		k += v[i] >= from && v[i] < to;
	return k;
}

/* Are counts exact, and would half the width have taken more bins? */
static bool
is_right(const struct histogram *h, const double *v, size_t n)
{
	double half = ldexp(1, h->exponent - 1), min = v[0], max = v[0];
	uint64_t all = 0;
	unsigned b;
	size_t i;

	if (h->bins == 0 || h->bins > HISTOGRAM_BINS || !h->count[0] || !h->count[h->bins - 1])
		return false;
	for (b = 0; b < h->bins; b++) {
		all += h->count[b];
		if (h->count[b] != count_between(v, n, histogram_edge(h, b),
		                                 histogram_edge(h, b + 1)))
			return false;
	}
	for (i = 0; i < n; i++) {
		min = fmin(min, v[i]);
		max = fmax(max, v[i]);
	}
	if (all != n)
		return false;
	return h->bins > 16 || floor(max / half) - floor(min / half) >= HISTOGRAM_BINS ||
	       half < nextafter(fmax(fabs(min), fabs(max)), INFINITY) -
	              fmax(fabs(min), fabs(max));
}

static void
fill(struct histogram *h, const double *v, size_t n)
{
	double min = v[0], max = v[0];
	size_t i;

	for (i = 0; i < n; i++) {
		min = fmin(min, v[i]);
		max = fmax(max, v[i]);
	}
	histogram_fill(h, v, n, min, max);
}

/* Numbers of one of several sorts: wide, narrow beside a large offset, whole,
 * constant, with outliers, of both signs or one. */
static void
draw(double *v, size_t n)
{
	double scale = ldexp(1, (int)(chance() % 200) - 100);
	unsigned sort = chance() % 6;
	size_t i;

	for (i = 0; i < n; i++) {
		double u = (double)(chance() >> 11) * 0x1p-53;

		switch (sort) {
		case 0:
			v[i] = (u - 0.5) * scale;
			break;
		case 1:
			v[i] = (1e6 + u) * scale;
			break;
		case 2:
			v[i] = (double)(int)(u * 40) - 20;
			break;
		case 3:
			v[i] = -scale;
			break;
		case 4:
			v[i] = chance() % 50 ? u * scale : 1000 * scale;
			break;
		default:
			v[i] = chance() % 3 ? 0 : -u * scale;
		}
	}
}

static void
test_histogram_cut(void)
{
	enum { N = 300, ROUNDS = 3000 };
	double v[N];
	struct histogram whole, sum, part;
	unsigned round, wrong = 0, differ = 0;
	size_t at, n;

	for (round = 0; round < ROUNDS; round++) {
		draw(v, N);
		fill(&whole, v, N);
		wrong += !is_right(&whole, v, N);
		sum = (struct histogram){ 0 };
		for (at = 0; at < N; at += n) {
			n = 1 + (size_t)(chance() % 100);
			n = n < N - at ? n : N - at;
			fill(&part, v + at, n);
			histogram_join(&sum, &part);
		}
		differ += memcmp(&sum, &whole, sizeof sum) != 0;
	}
	test_ok(wrong == 0, "counts are exact and bins as narrow as they can be: %u of %u not",
	        wrong, ROUNDS);
	test_ok(differ == 0, "the parts of a histogram make the whole: %u of %u do not", differ,
	        ROUNDS);
}

/* Floats have the histogram of the same doubles, whichever code counts them. */
static void
test_histogram_floats(void)
{
	enum { MOST = 5000, ROUNDS = 300 };
	static double v[MOST];
	static float x[MOST];
	struct histogram want, got;
	unsigned round, level, wrong;
	struct err e = ERR_INIT;
	size_t i, n;

	for (level = 0; level_row(level); level++) {
		if (level_begin(level_row(level)->name, NULL, &e) < 0)
			continue;
		for (round = wrong = 0; round < ROUNDS; round++) {
			n = 1 + (size_t)(chance() % (round % 10 ? 100 : MOST));
			draw(v, n);
			for (i = 0; i < n; i++)
				v[i] = x[i] = (float)v[i] * (round % 7 ? 1 : 0x1p-140f);
			fill(&want, v, n);
			histogram_fill_floats(&got, x, n);
			wrong += memcmp(&want, &got, sizeof want) != 0;
		}
		test_ok(wrong == 0, "%s: the histogram of floats: %u of %u are others",
		        level_row(level)->name, wrong, ROUNDS);
	}
	level_begin(NULL, NULL, &e);
}

static void
test_histogram_ends(void)
{
	const double huge = 0x1.fffffffffffffp1023, least = 0x1p-1074;
	const struct {
		double v[3];
		const char *what;
	} ends[] = {
		{ { 0, 0, 0 }, "zeros" },
		{ { -0.0, 0, -0.0 }, "zeros of both signs" },
		{ { huge, -huge, 0 }, "the largest numbers" },
		{ { huge, huge, huge }, "one largest number" },
		{ { least, -least, 0 }, "the least numbers" },
		{ { least, least, 5 * least }, "a few of the least" },
		{ { 1, 1 + 0x1p-52, 1 }, "neighbours" },
		{ { -1, -1 - 0x1p-52, -1 }, "neighbours below zero" },
		{ { -least, huge, 1 }, "a bin that ends at zero" },
	};
	struct histogram h, sum = { 0 }, part;
	size_t i, k;

	for (i = 0; i < sizeof ends / sizeof *ends; i++) {
		uint64_t all = 0;

		fill(&h, ends[i].v, 3);
		for (k = 0; k < h.bins; k++)
			all += h.count[k];
		memset(&sum, 0, sizeof sum);
		for (k = 0; k < 3; k++) {
			fill(&part, &ends[i].v[k], 1);
			histogram_join(&sum, &part);
		}
		test_ok(all == 3 && h.bins <= HISTOGRAM_BINS &&
		        memcmp(&h, &sum, sizeof h) == 0, "a histogram of %s: %u bins",
		        ends[i].what, h.bins);
	}
	fill(&h, ends[8].v, 3);
	test_ok(h.low == -1 && h.count[0] == 1 && h.count[1] == 1,
	        "what is hardly below zero is below zero");
}

int
main(void)
{
	test_facts();
	test_nan();
	test_known();
	test_runs();
	test_same();
	test_exact(0);
	test_exact(1e6);
	test_exact(-7);
	test_counts();
	test_histogram_cut();
	test_histogram_floats();
	test_histogram_ends();
	return test_done();
}
