/* look: rows, columns, blocks and digests of tensors, against numbers computed by hand; none
 * depends on pieces and threads. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/half.h"
#include "core/le.h"
#include "kernels/kernel.h"
#include "stats/tally.h"
#include "test.h"

static struct look look;

/* Looks at a matrix; piece 0: pieces of many sizes. */
static void
run(const char *type, const void *x, size_t bytes, uint64_t values, uint64_t row, size_t piece,
    unsigned jobs)
{
	struct err e = ERR_INIT;
	struct tally y;
	size_t at, n;

	if (tally_open(&y, jobs, false, &e) < 0)
		abort();
	y.look = &look;
	if (tally_begin_rows(&y, dtype_by_name(type), values, row, &e) < 0)
		abort();
	for (at = 0; at < bytes; at += n) {
		n = piece ? piece : 1 + at * 7919 % 65537;
		n = n < bytes - at ? n : bytes - at;
		tally_add(&y, (const uint8_t *)x + at, n);
	}
	tally_end(&y);
	tally_free(&y);
}

/* Values lie in the file as little-endian floats. */
static void
floats(const float *x, size_t n, uint64_t row)
{
	static uint8_t bytes[1 << 16];
	uint32_t u;
	size_t i;

	for (i = 0; i < n; i++) {
		memcpy(&u, x + i, sizeof u);
		le32_put(bytes + 4 * i, u);
	}
	run("F32", bytes, 4 * n, n, row, 5, 1);
}

static int
near(double got, double want)
{
	return fabs(got - want) <= 1e-6 * fabs(want);
}

/* 4 × 3: rows have the mean magnitudes 7/3, 0, 5/3 and 10, columns 13/4, 17/4 and 3. */
static void
test_matrix(void)
{
	static const float x[] = {
		2, -5, 0,
		0, 0, 0,
		-1, 2, -2,
		10, 10, -10,
	}, dead[] = { 1, 0, 2, 0, 3, 0, 0, 0, -4, 0 };
	const struct look_lines *r = &look.rows, *c = &look.columns;

	floats(x, 12, 3);
	test_ok(r->count == 4 && r->dead == 1 && r->first_dead == 1 &&
	        near(r->min, 5 / 3.0) && r->at_min == 2 && near(r->max, 10) && r->at_max == 3,
	        "rows: one of four is dead, magnitudes from %g to %g", r->min, r->max);
	test_ok(fabs(r->median / (7 / 3.0) - 1) < 1 / 32.0 && r->high == 0 && r->low == 0,
	        "rows: median %g of those that are not dead", r->median);
	test_ok(c->count == 3 && c->dead == 0 && near(c->min, 3) && c->at_min == 2 &&
	        near(c->max, 17 / 4.0) && c->at_max == 1 && fabs(c->median / 3.25 - 1) < 1 / 32.0,
	        "columns: mean magnitudes from %g to %g, median %g", c->min, c->max, c->median);
	test_ok(r->entries == 4 && c->entries == 3 && r->profile[1] == 0 &&
	        r->profile[3] == half_f32_bf16(10) && c->profile[0] == half_f32_bf16(3.25f), "profiles are in BF16");
	floats(dead, 10, 5);
	test_ok(c->dead == 1 && c->first_dead == 1 && r->dead == 0, "columns: one is dead");
	floats(dead, 10, 10);
	test_ok(r->count == 1 && c->count == 10 && c->dead == 6, "a vector is one row");
}

static void
test_far(void)
{
	float x[100];
	size_t i;

	for (i = 0; i < 100; i++)
		x[i] = i == 30 ? 11 : i == 40 ? 0.01f : i % 2 ? 1 : -1;
	floats(x, 100, 1);
	test_ok(look.rows.high == 1 && look.rows.at_max == 30 && look.rows.low == 1 &&
	        look.rows.at_min == 40 && look.rows.median == 1 + 1 / 64.0,
	        "rows far above and below the median %g", look.rows.median);
	for (i = 0; i < 64; i++)
		x[i] = i % 2 ? 2 : 8;
	floats(x, 64, 1);
	test_ok(look.rows.spread == 1, "a spread of one octave: %g", look.rows.spread);
	for (i = 0; i < 64; i++)
		x[i] = 3;
	floats(x, 64, 4);
	test_ok(look.rows.spread < 1e-6 && look.rows.median == 3, "equal rows have no spread");
	x[5] = NAN;
	floats(x, 64, 4);
	test_ok(look.rows.count == 16 && look.rows.max == 3 && (look.rows.profile[1] & 0x7f80) == 0x7f80,
	        "a row with NaN counts, but has no size");
}

static int
same_lines(const struct look_lines *a, const struct look_lines *b)
{
	return a->count == b->count && a->dead == b->dead && a->first_dead == b->first_dead &&
	       a->min == b->min && a->max == b->max && a->at_min == b->at_min &&
	       a->at_max == b->at_max && a->median == b->median && a->high == b->high &&
	       a->low == b->low && a->spread == b->spread && a->entries == b->entries &&
	       (a->entries == 0 ||
	        memcmp(a->profile, b->profile, a->entries * sizeof *a->profile) == 0);
}

/* The result of any cut is that of one piece. */
static void
test_same(const char *type, uint64_t row, size_t n)
{
	const struct dtype *t = dtype_by_name(type);
	size_t bytes = dtype_span(t, n), i;
	uint8_t *x = malloc(bytes);
	struct look *one;
	struct err e = ERR_INIT;
	unsigned jobs, wrong = 0;
	uint64_t state = 1;

	for (i = 0; i < bytes; i++) {
		state = state * 6364136223846793005 + 1442695040888963407;
		x[i] = (uint8_t)(state >> 33) & 0x3b;
	}
	run(type, x, bytes, n, row, bytes, 1);
	one = look_copy(&look, LOOK_ENTRIES, &e);
	for (jobs = 1; jobs < 4; jobs++) {
		run(type, x, bytes, n, row, 0, jobs);
		wrong += !same_lines(&one->rows, &look.rows);
		wrong += !same_lines(&one->columns, &look.columns);
		wrong += memcmp(&one->blocks, &look.blocks, sizeof look.blocks) != 0;
		wrong += memcmp(one->digest, look.digest, sizeof look.digest) != 0;
	}
	test_ok(wrong == 0 && one->rows.count == (row <= LOOK_ROW ? n / row : 0),
	        "%s, rows of %d: threads and pieces change nothing", type, (int)row);
	x[bytes / 2] ^= 1;
	run(type, x, bytes, n, row, 0, 2);
	test_ok(memcmp(one->digest, look.digest, sizeof look.digest) != 0,
	        "%s: one bit changes the digest", type);
	free(x);
	free(one);
}

/* Sizes of lines against a loop over the values: small whole numbers, whose sums are exact in
 * any order. */
static void
test_sums(uint64_t row, size_t rows)
{
	size_t n = (size_t)row * rows, i, wrong = 0;
	uint8_t *x = malloc(n);
	uint32_t *lines = calloc((size_t)row + rows, sizeof *lines), *columns = lines + rows;

	for (i = 0; i < n; i++) {
		x[i] = (uint8_t)((i * 2654435761u >> 13) % 15 - 7);
		lines[i / row] += (uint32_t)abs((int8_t)x[i]);
		columns[i % row] += (uint32_t)abs((int8_t)x[i]);
	}
	run("I8", x, n, n, row, 0, 2);
	for (i = 0; i < look.rows.entries; i++)
		wrong += look.rows.profile[i] != half_f32_bf16((float)(lines[i] / (double)row));
	for (i = 0; i < look.columns.entries; i++)
		wrong += look.columns.profile[i] != half_f32_bf16((float)(columns[i] / (double)rows));
	test_ok(wrong == 0 && look.rows.count == rows && look.columns.count == row,
	        "%d rows of %d: all sizes", (int)rows, (int)row);
	free(x);
	free(lines);
}

/* ---- blocks ---- */

/* A block of a type with some bytes set, and what is found. */
static const struct {
	const char *type;
	struct { uint8_t at, byte; } set[4];
	struct blocks want;
	const char *what;
} cases[] = {
	{ "Q8_0", { { 0, 0 } }, { .first = 9 }, "of zeros" },
	{ "Q8_0", { { 1, 0x7c } }, { .not_finite = 1 }, "with an infinite scale" },
	{ "Q8_0", { { 0, 1 }, { 1, 0xfc } }, { .not_finite = 1 }, "with NaN as scale" },
	{ "Q8_0", { { 1, 0xb0 } }, { .negative = 1 }, "with a negative scale" },
	{ "Q8_0", { { 1, 0x80 } }, { .first = 9 }, "with -0 as scale" },
	{ "Q8_0", { { 20, 1 } }, { .zero = 1 }, "with codes, but without scale" },
	{ "Q8_0", { { 0, 0xff }, { 1, 0x7b } }, { .saturated = 1 }, "with the largest scale" },
	{ "Q4_0", { { 1, 0xb0 } }, { .first = 9 }, "with a negative scale" },
	{ "Q4_0", { { 1, 0x30 }, { 7, 3 } }, { .first = 9 }, "with a scale" },
	{ "Q4_0", { { 7, 3 } }, { .zero = 1 }, "with codes, but without scale" },
	{ "Q4_1", { { 3, 0xb0 } }, { .first = 9 }, "with a negative minimum" },
	{ "Q4_1", { { 3, 0x7c } }, { .not_finite = 1 }, "with an infinite minimum" },
	{ "Q4_K", { { 3, 0xb0 } }, { .negative = 1 }, "with a negative minimum" },
	{ "Q4_K", { { 143, 16 } }, { .zero = 1 }, "with codes, but without scale" },
	{ "Q2_K", { { 81, 0xb0 } }, { .negative = 1 }, "with a negative scale" },
	{ "Q6_K", { { 209, 0xb0 } }, { .first = 9 }, "with a negative scale" },
	{ "Q6_K", { { 209, 0x7c } }, { .not_finite = 1 }, "with an infinite scale" },
	{ "Q8_K", { { 2, 0x80 }, { 3, 0x7f } }, { .not_finite = 1 }, "with an infinite scale" },
	{ "IQ1_M", { { 55, 0xb0 } }, { .negative = 1 }, "with a negative scale" },
	{ "MXFP4", { { 0, 255 } }, { .not_finite = 1 }, "with NaN as scale" },
	{ "TQ2_0", { { 5, 0x31 }, { 6, 0xc0 } }, { .words = 2 }, "with two bytes of code 3" },
	{ "TQ1_0", { { 5, 255 }, { 6, 2 } }, { .first = 9 }, "with words of five digits" },
	{ "TQ1_0", { { 51, 1 } }, { .words = 1 }, "with a word of no five digits" },
	{ "BOOL", { { 0, 2 } }, { .words = 1 }, "of 2" },
};

static void
test_blocks(void)
{
	uint8_t x[300];
	struct blocks got;
	size_t i, j;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct dtype *t = dtype_by_name(cases[i].type);
		struct blocks want = cases[i].want;

		memset(x, 0, sizeof x);
		if (strcmp(t->name, "Q4_0") == 0)
			memset(x + 2, 0x88, 16);
		for (j = 0; j < 4; j++)
			if (cases[i].set[j].at || cases[i].set[j].byte)
				x[cases[i].set[j].at] = cases[i].set[j].byte;
		want.count = 1;
		want.first = want.first ? UINT64_MAX : 6;
		blocks_of(blocks_row(t), t, x, t->bytes, 6, &got);
		test_ok(memcmp(&got, &want, sizeof got) == 0, "block of %s %s", t->name,
		        cases[i].what);
	}
}

/* What the encoders write has nothing to find. The magnitudes differ by block. */
static void
test_encoded(void)
{
	enum { N = 64 * 256 };
	static float v[N];
	static uint8_t x[N * 2];
	const struct kernel *k;
	const struct dtype *t;
	struct blocks got;
	unsigned i, types = 0;
	uint64_t state = 5;
	size_t j;

	for (j = 0; j < N; j++) {
		state = state * 6364136223846793005 + 1442695040888963407;
		v[j] = j / 256 % 8 == 7 ? 0 : (float)((double)(state >> 40) / (1 << 24) - 0.5 +
		       (double)(j / 1024 % 3) - 1) * (float)(1 << j / 256 % 8);
	}
	for (i = 0; (t = dtype_row(i)); i++) {
		k = t->quantized ? kernel_for(t) : NULL;
		if (!k || !k->encode || t->head)
			continue;
		if (!blocks_row(t))
			continue;
		k->encode(v, x, N);
		blocks_of(blocks_row(t), t, x, dtype_span(t, N), 0, &got);
		types += got.count > 0;
		if (got.first != UINT64_MAX)
			test_ok(0, "%s: block %d", t->name, (int)got.first);
	}
	test_ok(types >= 14, "%u encoders make nothing that is found", types);
}

static void
test_halves(void)
{
	static const uint16_t h[] = { 0x7bff, 0xfbff, 0x7bfe, 0x7c00, 0x3c00 };
	uint8_t x[10];
	size_t i;

	for (i = 0; i < 5; i++)
		le16_put(x + 2 * i, h[i]);
	run("F16", x, 10, 5, 5, 10, 1);
	test_ok(look.saturated == 2, "halves of the largest magnitude");
}

static void
test_shape(void)
{
	static const uint64_t linear[] = { 8, 64 }, conv[] = { 6, 4, 3 }, experts[] = { 2, 8, 64 };
	static const struct {
		const uint64_t *dims;
		unsigned n;
		uint64_t row;
	} shapes[] = { { linear, 2, 64 }, { conv, 3, 12 }, { experts, 3, 64 }, { linear, 1, 8 } };
	struct err e = ERR_INIT;
	struct tensor *t;
	size_t i;

	for (i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		t = tensor_new("w", 1, dtype_by_name("F32"), shapes[i].n, shapes[i].dims,
		               TENSOR_OWN_SIZE, "test", &e);
		test_ok(t && look_row(t) == shapes[i].row, "a row has %d values",
		        (int)shapes[i].row);
		tensor_free(t);
	}
}

int
main(void)
{
	struct err e = ERR_INIT;

	if (look_open(&look, &e) < 0)
		abort();
	test_matrix();
	test_far();
	test_same("F32", 7, 700000);
	test_same("F32", 4096, 300 * 4096);
	test_same("F32", 200000, 600000);
	test_same("I8", 300000, 600000);
	test_same("Q4_K", 1024, 700 * 1024);
	test_same("F64", 100, 1000);
	test_sums(1, 600000);
	test_sums(3, 200001);
	test_sums(600, 1000);
	test_sums(2049, 300);
	test_sums(32768, 33);
	test_sums(32769, 33);
	test_sums(262144, 5);
	test_blocks();
	test_encoded();
	test_halves();
	test_shape();
	look_close(&look);
	return test_done();
}
