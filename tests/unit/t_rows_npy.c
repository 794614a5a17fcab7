/* t_rows_npy: rows of arrays of NumPy in every type and order, headers that are wrong, and predictions as
 * arrays. */
#include <math.h>
#include <string.h>

#include "core/half.h"
#include "predict/rows/batch.h"
#include "test.h"

/* A file with this header, and values behind it. */
static void
put_file(struct buf *b, const char *type, bool fortran, const char *shape, const void *p, size_t n)
{
	struct buf head = { 0 };

	buf_printf(&head, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", type,
	           fortran ? "True" : "False", shape);
	while ((10 + head.n + 1) % 64)
		buf_text(&head, " ");
	buf_text(&head, "\n");
	buf_put(b, "\x93NUMPY\1\0", 8);
	buf_u16(b, (uint16_t)head.n);
	buf_put(b, head.p, head.n);
	if (n)
		buf_put(b, p, n);
	buf_free(&head);
}

/* A value as a type writes it, in little-endian order; the number of its bytes. */
static size_t
encode(const char *type, double v, uint8_t to[8])
{
	union { float f; uint32_t u; } single = { .f = (float)v };
	union { double d; uint64_t u; } full = { .d = v };
	size_t i, n = (size_t)(type[2] - '0');
	uint64_t bits = type[1] == 'f' ? n == 2 ? half_f32_f16((float)v) : n == 4 ? single.u : full.u
	                               : (uint64_t)(int64_t)v;

	for (i = 0; i < 8; i++)
		to[i] = (uint8_t)(bits >> 8 * i);
	return n;
}

/* Six values in three rows, with one more in front of each that is skipped. */
static bool
reads(const char *type, bool fortran)
{
	static const double values[3][3] = { { 9, 1, 100 }, { 9, 0, 5 }, { 9, 7, 1 } };
	struct predictor m = { .features = 2 };
	struct rows r = { .m = &m, .where = "rows", .skip = 1 };
	struct buf b = { 0 }, v = { 0 };
	struct err e = ERR_INIT;
	bool missing = false, right;
	size_t i, j, k, n;
	double row[2];

	for (i = 0; i < 9; i++) {
		double x = fortran ? values[i % 3][i / 3] : values[i / 3][i % 3];
		uint8_t bytes[8];

		x = type[1] == 'b' ? x != 0 : x > 5 && (type[1] == 'i' || type[1] == 'f') ? -x : x;
		n = encode(type, x, bytes);
		for (k = 0; k < n; k++)
			buf_u8(&v, bytes[*type == '>' ? n - 1 - k : k]);
	}
	put_file(&b, type, fortran, "(3, 3)", v.p, v.n);
	right = rows_npy_probe(b.p, b.n) && rows_npy_bytes(b.p, b.n) == b.n - v.n &&
	        rows_npy_begin(&r, b.p, b.n, &e) == 0 && r.count == 3;
	for (i = 0; right && i < 3; i++) {
		n = fortran ? i * r.npy.element : i * (size_t)r.bytes;
		rows_npy_read(&r, b.p + r.npy.at + n, row, &missing);
		for (j = 0; j < 2; j++) {
			double x = values[i][j + 1];

			x = type[1] == 'b' ? x != 0 : x > 5 && (type[1] == 'i' || type[1] == 'f') ? -x : x;
			right &= row[j] == x;
		}
	}
	buf_free(&b);
	buf_free(&v);
	return right && !missing;
}

static void
test_types(void)
{
	static const char *const types[] = { "<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "|i1", "<i2", ">i2", "<i4",
		">i4", "<i8", ">i8", "|u1", "<u2", ">u2", "<u4", ">u4", "<u8", ">u8", "|b1" };
	size_t i;

	for (i = 0; i < sizeof types / sizeof *types; i++)
		test_ok(reads(types[i], false) && reads(types[i], true), "%s", types[i]);
}

static void
test_refused(void)
{
	static const struct {
		const char *type, *shape, *fact;
		bool fortran;
	} heads[] = {
		{ "<f4", "(3, 3)", "have 3 values, and the model takes 2", false },
		{ "<f4", "(2,)", "have 1 values", false },
		{ "<f4", "()", "without rows", false },
		{ "<f4", "(3, 0)", "have 0 values", false },
		{ "<f4", "(4, 4611686018427387904, 8)", "too many values", false },
		{ "<f4", "(4611686018427387904, 2)", "too many values", false },
		{ "<c8", "(3, 2)", "complex", false },
		{ "<f4", "(3, 1, 2)", "Fortran", true },
		{ "<f9", "(3, 2)", "", false },
	};
	struct predictor m = { .features = 2 };
	size_t i, wrong = 0;

	for (i = 0; i < sizeof heads / sizeof *heads; i++) {
		struct rows r = { .m = &m, .where = "rows" };
		struct err e = ERR_INIT;
		struct buf b = { 0 };

		put_file(&b, heads[i].type, heads[i].fortran, heads[i].shape, NULL, 0);
		if (rows_npy_begin(&r, b.p, b.n, &e) == 0 || !strstr(e.fact, heads[i].fact))
			printf("# %s %s: %s\n", heads[i].type, heads[i].shape, e.fact), wrong++;
		buf_free(&b);
	}
	test_ok(wrong == 0, "arrays that are not rows of the model");
}

/* ---- predictions ---- */

#define TREES(MORE) "{\"features_info\":{\"float_features\":[{},{}]},\"model_info\":{" MORE "}," \
	"\"oblivious_trees\":[{\"splits\":[{\"float_feature_index\":1,\"border\":0.5}],\"leaf_values\":[-1,2]}]}"
#define NAMES(A, B) "\"class_params\":{\"class_names\":[\"" A "\",\"" B "\"]}"

static int
put(void *ctx, const uint8_t *p, size_t n, struct err *e)
{
	buf_put(ctx, p, n);
	return buf_ok(ctx) ? 0 : err_memory(e);
}

/* The predictions for the rows 0 0 and 0 1, cut to `bytes`. 0 or -1. */
static int
predict(const char *model, enum batch_what what, const struct buf *rows, size_t bytes, struct buf *to,
        struct err *e)
{
	struct predictor m = { 0 };
	struct batch b = { .m = &m, .what = what, .header = -1, .jobs = 1, .put = put, .ctx = to,
		.rows = { .m = &m, .where = "rows" } };
	struct reader r;
	int status = predict_read(&m, predict_probe((const uint8_t *)model, strlen(model)),
	                          (const uint8_t *)model, strlen(model), "model", e);

	if (status == 0) {
		reader_memory(&r, rows->p, bytes, "rows", e);
		status = batch_run(&b, &r, e);
		reader_close(&r);
	}
	rows_free(&b.rows);
	predictor_free(&m);
	return status;
}

static void
test_predictions(void)
{
	static const struct {
		const char *name, *model, *type;
		const char *bytes;
		size_t count;
		enum batch_what what;
	} cases[] = {
		{ "labels that are integers", TREES(NAMES("-3", "12")), "'<i8'",
		  "\375\377\377\377\377\377\377\377\14\0\0\0\0\0\0\0", 16, BATCH_PREDICTION },
		{ "labels that are texts", TREES(NAMES("n", "\303\251s")), "'<U2'",
		  "n\0\0\0\0\0\0\0\351\0\0\0s\0\0\0", 16, BATCH_PREDICTION },
		{ "values", TREES(""), "'<f8'", "\0\0\0\0\0\0\360\277\0\0\0\0\0\0\0\100", 16, BATCH_RAW },
		{ "leaves", TREES(""), "'<u4'", "\0\0\0\0\1\0\0\0", 8, BATCH_LEAF },
	};
	static const float values[] = { 0, 0, 0, 1 };
	struct buf rows = { 0 };
	size_t i;

	put_file(&rows, "<f4", false, "(2, 2)", values, sizeof values);
	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err e = ERR_INIT;
		struct buf to = { 0 };
		int r = predict(cases[i].model, cases[i].what, &rows, rows.n, &to, &e);

		buf_u8(&to, 0);
		test_ok(r == 0 && to.n == 128 + cases[i].count + 1 && strstr((char *)to.p + 10, cases[i].type) &&
		        memcmp(to.p + 128, cases[i].bytes, cases[i].count) == 0, "%s", cases[i].name);
		buf_free(&to);
	}
	buf_free(&rows);
}

static void
test_ends(void)
{
	static const float values[] = { 0, 0, 0, 1 };
	struct buf rows = { 0 };
	size_t i, wrong = 0;

	put_file(&rows, "<f4", false, "(2, 2)", values, sizeof values);
	for (i = 0; i < rows.n; i++) {
		struct err e = ERR_INIT;
		struct buf to = { 0 };

		if (i > 0) /* nothing at all is a table without rows */
			wrong += predict(TREES(""), BATCH_RAW, &rows, i, &to, &e) == 0;
		wrong += to.n > 0 && to.n != 128 + (i < rows.n - 8 ? 0 : 8);
		buf_free(&to);
	}
	test_ok(wrong == 0, "arrays that end early: whole rows are computed, then an error");
	buf_u8(&rows, 0);
	{
		struct err e = ERR_INIT;
		struct buf to = { 0 };

		test_ok(predict(TREES(""), BATCH_RAW, &rows, rows.n, &to, &e) < 0 && to.n == 128 + 16 &&
		        strstr(e.fact, "follows the array"), "bytes behind an array");
		buf_free(&to);
	}
	buf_free(&rows);
}

int
main(void)
{
	test_types();
	test_refused();
	test_predictions();
	test_ends();
	return test_done();
}
