/* convert: whole blocks, the same bytes and sums on any number of threads. */
#include "quant/convert.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/le.h"
#include "core/thread.h"
#include "kernels/kernel.h"
#include "test.h"

#define N (3 * 256 * 4096 + 5 * 256) /* more than one batch, the last cut short */

static const struct dtype *
type(const char *name)
{
	return dtype_by_name(name);
}

/* Values that look like weights, from a fixed sequence. */
static float *
weights(size_t n)
{
	float *x = calloc(n, sizeof *x);
	uint32_t r = 1;
	size_t i;

	for (i = 0; i < n; i++) {
		r = r * 1664525u + 1013904223u;
		x[i] = ((float)(r >> 8) - 8388608.0f) * 0x1p-27f;
	}
	return x;
}

static uint8_t *
bytes_of(const char *name, const float *x, size_t n, size_t *bytes)
{
	const struct dtype *t = type(name);
	uint8_t *y;

	*bytes = n / t->items * t->bytes;
	y = calloc(*bytes, 1);
	kernel_for(t)->encode(x, y, n);
	return y;
}

/* Converts all of x in runs of this many bytes. Returns the output. */
static uint8_t *
convert(const char *from, const char *to, unsigned jobs, bool check, const uint8_t *x,
        size_t bytes, size_t run, size_t *y_bytes, struct convert_stats *s)
{
	struct err e = ERR_INIT;
	struct convert c;
	uint64_t all, part, at = 0;
	uint8_t *y;

	memset(s, 0, sizeof *s);
	if (convert_open(&c, "tensor", type(from), type(to), jobs, check, &e) ||
	    convert_size(&c, bytes, &all, &e))
		return NULL;
	y = calloc(all + 1, 1);
	*y_bytes = all;
	for (; bytes; x += run, bytes -= run) {
		if (run > bytes)
			run = bytes;
		if (convert_size(&c, run, &part, &e) ||
		    convert_run(&c, x, run, y + at, part, s, &e)) {
			printf("# %s\n", e.fact);
			free(y);
			return NULL;
		}
		at += part;
	}
	return y;
}

static void
same_on_any_number(const char *from, const char *to)
{
	static const unsigned jobs[] = { 2, 3, 7 };
	float *values = weights(N);
	struct convert_stats s, one;
	size_t bytes, n, m, i, chunk;
	uint8_t *x = bytes_of(from, values, N, &bytes), *y, *z;
	int ok = 1;

	chunk = CONVERT_CHUNK / type(from)->items * type(from)->bytes;
	y = convert(from, to, 1, true, x, bytes, bytes, &n, &one);
	for (i = 0; y && i < sizeof jobs / sizeof jobs[0]; i++) {
		z = convert(from, to, jobs[i], true, x, bytes, chunk * (37 * i + 1), &m, &s);
		ok &= z && m == n && !memcmp(y, z, n) && !memcmp(&s, &one, sizeof s);
		free(z);
	}
	test_ok(y && ok, "%s to %s: the same bytes and sums on 1, 2, 3, 7 threads", from, to);
	test_ok(y && one.values == N && one.checked == N && !one.nonfinite && !one.overflow,
	        "%s to %s: all values counted", from, to);
	free(values);
	free(x);
	free(y);
}

/* The sums against a plain loop over the whole tensor. */
static void
sums_are_right(void)
{
	float *x = weights(8192), *y = calloc(8192, sizeof *y);
	double error2 = 0, x2 = 0, worst = 0, d;
	struct convert_stats s = { 0 };
	size_t bytes, n, i;
	uint8_t *in = bytes_of("F32", x, 8192, &bytes);
	uint8_t *out = convert("F32", "Q4_0", 2, true, in, bytes, bytes, &n, &s);

	if (test_ok(out != NULL, "F32 to Q4_0 converts")) {
		kernel_for(type("Q4_0"))->decode(out, y, 8192);
		for (i = 0; i < 8192; i++) {
			d = (double)y[i] - (double)x[i];
			error2 += d * d;
			x2 += (double)x[i] * (double)x[i];
			worst = fmax(worst, fabs(d));
		}
		test_ok(fabs(s.error2 - error2) < 1e-9 * error2 && s.error_max == worst,
		        "squared and largest error");
		test_ok(fabs(convert_rmse(&s) - sqrt(error2 / 8192)) < 1e-12, "rmse");
		test_ok(fabs(convert_relative(&s) - sqrt(error2 / x2)) < 1e-9, "relative error");
		test_ok(convert_cosine(&s) > 0.99 && convert_cosine(&s) < 1, "cosine");
	}
	free(x);
	free(y);
	free(in);
	free(out);
}

static void
empty_sums(void)
{
	struct convert_stats s = { 0 };

	test_ok(convert_rmse(&s) == 0 && convert_relative(&s) == 0 &&
	        convert_cosine(&s) == 1, "no values: no error");
	s.x2 = 1;
	test_ok(convert_cosine(&s) == 0, "all became zero: cosine 0");
}

static enum err_code
size_fault(const char *from, const char *to, uint64_t bytes)
{
	struct err e = ERR_INIT;
	struct convert c;
	uint64_t out;

	if (convert_open(&c, "tensor", type(from), type(to), 1, false, &e) ||
	    !convert_size(&c, bytes, &out, &e))
		return e.code;
	return e.code;
}

static void
sizes(void)
{
	uint8_t x[36] = { 0 }, y[256];
	struct convert_stats s = { 0 };
	struct err e = ERR_INIT;
	struct convert c;

	test_ok(size_fault("Q4_0", "F32", 17) == ERR_CORRUPT,
	        "FALSIFY-QUANT-003 17 bytes of Q4_0 are refused");
	test_ok(size_fault("Q4_0", "F32", 19) == ERR_CORRUPT, "FALSIFY-QUANT-003 so are 19");
	test_ok(size_fault("Q4_0", "Q4_0", 17) == ERR_CORRUPT,
	        "FALSIFY-QUANT-003 in a copy too");
	test_ok(size_fault("Q4_0", "F32", 36) == ERR_NONE, "two blocks are taken");
	test_ok(size_fault("Q4_0", "F32", 0) == ERR_NONE, "no block is taken");
	test_ok(size_fault("F32", "Q8_0", 31 * 4) == ERR_INVALID,
	        "31 values do not fill a block of Q8_0");
	test_ok(size_fault("Q8_0", "Q6_K", 34 * 7) == ERR_INVALID,
	        "7 blocks of Q8_0 do not fill one of Q6_K");
	test_ok(size_fault("Q4_0", "F32", UINT64_MAX / 18 * 18) == ERR_CORRUPT,
	        "a size whose values overflow is refused");
	convert_open(&c, "tensor", type("Q4_0"), type("F32"), 1, false, &e);
	test_ok(convert_run(&c, x, 17, y, 128, &s, &e) == -1 && e.code == ERR_CORRUPT,
	        "FALSIFY-QUANT-003 a truncated run is refused");
	e.code = ERR_NONE;
	test_ok(convert_run(&c, x, 36, y, 255, &s, &e) == -1 && e.code == ERR_CORRUPT,
	        "room of another size is refused");
	test_ok(!s.values, "nothing was counted");
}

static void
types(void)
{
	struct err e = ERR_INIT;
	struct convert_stats s = { 0 };
	struct convert c;
	uint8_t x[3] = { 1, 2, 3 }, y[3];

	test_ok(convert_open(&c, "tensor", type("NVFP4"), type("F32"), 1, false, &e) == -1 &&
	        e.code == ERR_FORMAT && strstr(e.fact, "NVFP4"),
	        "a source without a kernel is refused by name");
	e.code = ERR_NONE;
	test_ok(convert_open(&c, "tensor", type("F32"), type("Q8_1"), 1, false, &e) == -1 &&
	        e.code == ERR_FORMAT && strstr(e.fact, "Q8_1"),
	        "so is a target that is only decoded");
	test_ok(size_fault("F32", "IQ2_XS", 1024) == ERR_INVALID,
	        "one that is only encoded by importance needs it");
	e.code = ERR_NONE;
	test_ok(convert_open(&c, "tensor", type("F32"), type("I32"), 1, false, &e) == -1 &&
	        e.code == ERR_FORMAT, "a target without a kernel is refused");
	e.code = ERR_NONE;
	test_ok(!convert_open(&c, "tensor", type("GGML_57"), type("GGML_57"), 1, true, &e) &&
	        !convert_run(&c, x, 3, y, 3, &s, &e) && !memcmp(x, y, 3) && !s.values,
	        "a type of unknown size is copied");
	test_ok(!convert_run(&c, NULL, 0, NULL, 0, &s, &e), "so is nothing");
}

/* One value changed in a run of ones: what is counted? */
static struct convert_stats
stats_with(const char *to, float odd)
{
	float x[256];
	uint8_t in[1024], out[1024];
	struct convert_stats s = { 0 };
	struct err e = ERR_INIT;
	struct convert c;
	uint64_t bytes;
	size_t i;

	for (i = 0; i < 256; i++)
		x[i] = 1;
	x[40] = odd;
	kernel_for(type("F32"))->encode(x, in, 256);
	convert_open(&c, "tensor", type("F32"), type(to), 1, false, &e);
	if (convert_size(&c, 1024, &bytes, &e) ||
	    convert_run(&c, in, 1024, out, bytes, &s, &e))
		s.values = 0;
	return s;
}

static void
counts(void)
{
	struct convert_stats s;

	s = stats_with("F16", 65504);
	test_ok(s.values == 256 && !s.overflow && !s.nonfinite, "F16 holds 65504");
	s = stats_with("F16", 65520);
	test_ok(s.overflow == 1 && !s.nonfinite, "65520 becomes infinite in F16: counted");
	s = stats_with("F16", NAN);
	test_ok(s.nonfinite == 1 && !s.overflow, "NaN is counted as it comes");
	s = stats_with("BF16", 65520);
	test_ok(!s.overflow && !s.nonfinite, "BF16 holds 65520");
	s = stats_with("BF16", 3.4e38f);
	test_ok(s.overflow == 1, "3.4e38 becomes infinite in BF16: counted");
	s = stats_with("Q8_0", 8e6f);
	test_ok(!s.overflow, "Q8_0 holds 8e6");
	s = stats_with("Q8_0", 9e6f);
	test_ok(s.overflow == 32, "9e6 costs Q8_0 its block: counted");
	s = stats_with("Q4_0", -6e5f);
	test_ok(s.overflow == 32, "-6e5 costs Q4_0 its block: counted");
	s = stats_with("Q6_K", 3e8f);
	test_ok(s.overflow == 256, "3e8 costs Q6_K its block: counted");
	s = stats_with("Q6_K", 1e20f);
	test_ok(s.overflow == 1, "1e20 becomes 0 in Q6_K: counted");
	s = stats_with("Q4_K", 1e15f);
	test_ok(s.overflow >= 1, "1e15 overflows Q4_K: counted");
	s = stats_with("IQ4_XS", -1e9f);
	test_ok(s.overflow == 256, "-1e9 costs IQ4_XS its block: counted");
	s = stats_with("F8_E4M3", 449);
	test_ok(!s.overflow, "449 is 448 in F8_E4M3");
	s = stats_with("F8_E4M3", -465);
	test_ok(s.overflow == 1, "-465 becomes NaN in F8_E4M3: counted");
	s = stats_with("F8_E5M2", 61440);
	test_ok(s.overflow == 1, "61440 becomes infinite in F8_E5M2: counted");
	s = stats_with("MXFP4", 3e38f);
	test_ok(!s.overflow, "MXFP4 holds 3e38, and 1 is nothing beside it");
	s = stats_with("Q8_K", 3e38f);
	test_ok(!s.overflow, "so does Q8_K");
	s = stats_with("Q4_0", INFINITY);
	test_ok(s.nonfinite == 1 && s.overflow == 31, "infinite costs Q4_0 its block: counted");
	s = stats_with("F16", 1e-30f);
	test_ok(!s.overflow && !s.nonfinite, "what becomes zero for being small is not");
}

/* ---- importance ---- */

/* Rows encoded one by one, for comparison. */
static uint8_t *
rows_encode(const char *to, const float *x, const float *importance, size_t columns,
            size_t rows, size_t *bytes)
{
	const struct dtype *t = type(to);
	size_t row = columns / t->items * t->bytes, i;
	uint8_t *y = calloc(row, rows);

	for (i = 0; i < rows; i++)
		kernel_for(t)->encode_weighted(x + columns * i, importance, y + row * i, columns);
	*bytes = row * rows;
	return y;
}

/* Whether rows of this width, in runs of this many bytes, on several threads, give the
 * same bytes and sums. */
static bool
weighs(const char *to, size_t columns, size_t rows, size_t run, unsigned jobs)
{
	float *x = weights(columns * rows), *importance = weights(columns);
	struct convert_stats s = { 0 }, one = { 0 };
	struct err e = ERR_INIT;
	struct convert c;
	size_t at, i, x_bytes, y_bytes;
	uint8_t *in = bytes_of("F32", x, columns * rows, &x_bytes), *out, *want;
	uint64_t part, all;
	bool ok;

	for (i = 0; i < columns; i++)
		importance[i] = 1 + 50 * fabsf(importance[i]);
	want = rows_encode(to, x, importance, columns, rows, &y_bytes);
	out = calloc(y_bytes + 1, 1);
	ok = !convert_open(&c, "tensor", type("F32"), type(to), 1, true, &e) &&
	     convert_weigh(&c, importance, columns) && convert_chunk(&c) % columns == 0 &&
	     !convert_size(&c, x_bytes, &all, &e) && all == y_bytes &&
	     !convert_run(&c, in, x_bytes, out, all, &one, &e) && !memcmp(out, want, y_bytes);
	memset(out, 0, y_bytes);
	c.jobs = jobs;
	run *= convert_chunk(&c) * 4;
	for (i = at = 0; ok && i < x_bytes; i += run, at += part) {
		if (run > x_bytes - i)
			run = x_bytes - i;
		ok = !convert_size(&c, run, &part, &e) &&
		     !convert_run(&c, in + i, run, out + at, part, &s, &e);
	}
	ok = ok && !memcmp(out, want, y_bytes) && !out[y_bytes] && !memcmp(&s, &one, sizeof s) &&
	     s.values == columns * rows;
	free(x);
	free(importance);
	free(in);
	free(out);
	free(want);
	return ok;
}

static void
importance(void)
{
	static const float ones[256] = { 1 };
	struct err e = ERR_INIT;
	struct convert c;
	uint64_t n;

	test_ok(weighs("Q4_0", 96, 301, 1, 3), "Q4_0 by importance, narrow rows");
	test_ok(weighs("Q6_K", 256, 65, 1, 2), "Q6_K by importance");
	test_ok(weighs("Q4_1", 4096, 5, 2, 2), "Q4_1 by importance, rows of one chunk");
	test_ok(weighs("IQ4_NL", 4128, 5, 1, 2), "IQ4_NL by importance, rows of more");
	test_ok(weighs("Q5_0", 10240, 3, 1, 2), "Q5_0 by importance, of several");

	convert_open(&c, "tensor", type("F32"), type("Q8_0"), 1, false, &e);
	test_ok(!convert_weigh(&c, ones, 256) && !convert_size(&c, 128, &n, &e),
	        "Q8_0 knows none, and is encoded as ever");
	convert_open(&c, "tensor", type("F32"), type("Q4_K"), 1, false, &e);
	test_ok(convert_weigh(&c, ones, 512) && convert_size(&c, 1024, &n, &e) == -1 &&
	        e.code == ERR_INVALID, "half a row is refused");
	e.code = ERR_NONE;
	test_ok(!convert_weigh(&c, NULL, 0) && !convert_size(&c, 1024, &n, &e),
	        "importance can be taken back");
}

int
main(void)
{
	same_on_any_number("F32", "Q4_0");
	same_on_any_number("F16", "Q8_0");
	same_on_any_number("BF16", "F16");
	same_on_any_number("Q8_0", "Q6_K");
	same_on_any_number("Q6_K", "F32");
	same_on_any_number("Q4_K", "F16");
	same_on_any_number("F8_E4M3", "IQ4_NL");
	sums_are_right();
	empty_sums();
	sizes();
	types();
	counts();
	importance();
	return test_done();
}
