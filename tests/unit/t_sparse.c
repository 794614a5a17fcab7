/* Sparse tensors of PyTorch: --dense gives the tensor from which each was made, in every layout; and
 * ones with a fault. imports/dense.h.
 */
#include "imports.h"

#include "../gen/torch_sparse.h"
#include "core/half.h"
#include "imports/torch/torch.h"

static const struct format_choice chosen[] = { { &torch_options[TORCH_DENSE], "" } };
static const struct format_options usual, dense = { .own = chosen, .own_count = 1 };

static uint64_t state = 88172645463325252u;

static size_t
chance(size_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return n ? (size_t)(state % n) : 0;
}

/* ---- layouts, made slowly ---- */

#define MOST 4096

/* A tensor of batches of rows of columns of `inner` values, and its sparse form. */
struct made {
	size_t batches, rows, columns, height, width, inner;
	float *values;                   /* all of them */
	int64_t indices[2 * MOST], compressed[MOST];
	size_t index_count, compressed_count;
	float list[MOST];
	size_t count, in_batch;
};

static float *
value(const struct made *m, size_t b, size_t r, size_t c)
{
	return m->values + ((b * m->rows + r) * m->columns + c) * m->inner;
}

/* True if a block of this batch, row and column of blocks has values. */
static bool
is_filled(const struct made *m, size_t b, size_t r, size_t c)
{
	size_t i, k, v;

	for (i = 0; i < m->height; i++)
		for (k = 0; k < m->width; k++)
			for (v = 0; v < m->inner; v++)
				if (value(m, b, r * m->height + i, c * m->width + k)[v] != 0)
					return true;
	return false;
}

static void
put_block(struct made *m, size_t b, size_t r, size_t c)
{
	size_t i, k, v;

	for (i = 0; i < m->height; i++)
		for (k = 0; k < m->width; k++)
			for (v = 0; v < m->inner; v++)
				m->list[m->count++] = value(m, b, r * m->height + i, c * m->width + k)[v];
}

/* Compressed along rows, or columns. The same blocks are filled in each batch. */
static void
compress(struct made *m, bool along_columns)
{
	const size_t rows = m->rows / m->height, columns = m->columns / m->width;
	size_t b, g, i, filled;

	for (b = 0; b < m->batches; b++) {
		filled = 0;
		m->compressed[m->compressed_count++] = 0;
		for (g = 0; g < (along_columns ? columns : rows); g++) {
			for (i = 0; i < (along_columns ? rows : columns); i++) {
				const size_t r = along_columns ? i : g, c = along_columns ? g : i;

				if (!is_filled(m, b, r, c))
					continue;
				m->indices[m->index_count++] = (int64_t)i;
				put_block(m, b, r, c);
				filled++;
			}
			m->compressed[m->compressed_count++] = (int64_t)filled;
		}
		m->in_batch = filled;
	}
}

/* Random values in about one of six blocks, the same ones in each batch. */
static void
fill(struct made *m)
{
	size_t b, r, c, v;

	m->values = calloc(m->batches * m->rows * m->columns * m->inner, sizeof *m->values);
	for (r = 0; m->values && r < m->rows; r++)
		for (c = 0; c < m->columns; c++)
			if ((r / m->height * 7 + c / m->width * 5) % 6 == 1)
				for (b = 0; b < m->batches; b++)
					for (v = 0; v < m->inner; v++)
						value(m, b, r, c)[v] = (float)(1 + chance(1000)) / 8;
}

/* Bring the file and compare w with what was made. */
static void
compare(const char *what, const struct sparse_file *f, const char *type, const char *shape,
        const void *want, size_t n)
{
	struct gen g = { 0 }, values = { 0 };
	struct brought b;

	put_sparse(&g, f);
	put(&values, want, n);
	test_ok(bring(&b, &format_pytorch, g.p, g.n, &dense, false) == 0 &&
	        holds(&b, "w", type, shape, &values), "%s: %s %s", what, b.err.object, b.err.fact);
	let_go(&b);
	gen_free(&g);
	gen_free(&values);
}

static void
test_compressed(const char *layout, struct made m, bool narrow)
{
	struct sparse_file f = { .layout = layout };
	const int64_t groups = (int64_t)(layout[15] == 'r' ? m.rows / m.height : m.columns / m.width);
	const bool blocks = m.height * m.width > 1, batch = m.batches > 1, inner = m.inner > 1;
	int32_t narrowed[2][MOST];
	char shape[80] = "", *to = shape;
	struct sparse_part *p;
	size_t i;

	fill(&m);
	compress(&m, layout[15] == 'c');
	for (i = 0; i < MOST; i++) {
		narrowed[0][i] = (int32_t)m.compressed[i];
		narrowed[1][i] = (int32_t)m.indices[i];
	}
	for (i = 0; i < 3; i++) {
		p = &f.part[i];
		p->type = i == 2 ? "FloatStorage" : narrow ? "IntStorage" : "LongStorage";
		if (batch)
			p->dims[p->ndim++] = (int64_t)m.batches;
		p->dims[p->ndim++] = i ? (int64_t)m.in_batch : groups + 1;
	}
	p = &f.part[2];
	if (blocks) {
		p->dims[p->ndim++] = (int64_t)m.height;
		p->dims[p->ndim++] = (int64_t)m.width;
	}
	if (inner)
		p->dims[p->ndim++] = (int64_t)m.inner;
	if (batch)
		f.dims[f.ndim++] = (int64_t)m.batches;
	f.dims[f.ndim++] = (int64_t)m.rows;
	f.dims[f.ndim++] = (int64_t)m.columns;
	if (inner)
		f.dims[f.ndim++] = (int64_t)m.inner;
	f.part[0].p = narrow ? (void *)narrowed[0] : m.compressed;
	f.part[0].n = m.compressed_count * (narrow ? 4 : 8);
	f.part[1].p = narrow ? (void *)narrowed[1] : m.indices;
	f.part[1].n = m.index_count * (narrow ? 4 : 8);
	f.part[2].p = m.list;
	f.part[2].n = m.count * sizeof *m.list;
	for (i = 0; i < f.ndim; i++)
		to += sprintf(to, "%s%d", i ? "x" : "", (int)f.dims[i]);
	compare(layout, &f, "F32", shape, m.values,
	        m.batches * m.rows * m.columns * m.inner * sizeof *m.values);
	free(m.values);
}

static void
test_layouts(void)
{
	static const struct { size_t batches, rows, columns, height, width, inner; } shapes[] = {
		{ 1, 5, 7, 1, 1, 1 }, { 1, 12, 9, 1, 1, 3 }, { 3, 6, 8, 1, 1, 1 }, { 2, 4, 6, 1, 1, 2 },
		{ 1, 12, 8, 2, 4, 1 }, { 2, 6, 9, 3, 3, 1 }, { 2, 8, 6, 4, 2, 3 }, { 1, 6, 6, 1, 3, 1 },
		{ 1, 1, 1, 1, 1, 1 },
	};
	size_t i;

	for (i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		struct made *m = calloc(1, sizeof *m);
		bool blocks = shapes[i].height * shapes[i].width > 1;

		m->batches = shapes[i].batches;
		m->rows = shapes[i].rows;
		m->columns = shapes[i].columns;
		m->height = shapes[i].height;
		m->width = shapes[i].width;
		m->inner = shapes[i].inner;
		test_compressed(blocks ? "torch.sparse_bsr" : "torch.sparse_csr", *m, i % 2);
		test_compressed(blocks ? "torch.sparse_bsc" : "torch.sparse_csc", *m, i % 2);
		free(m);
	}
}

/* ---- COO ---- */

/* `count` values at places in any order, some of them more than once, or each once in order. */
static void
test_coo(const char *what, int64_t rows, int64_t columns, int64_t inner, size_t count, bool coalesced)
{
	int64_t *indices = calloc(2 * count + 1, sizeof *indices);
	float *values = calloc(count * (size_t)inner + 1, sizeof *values);
	float *want = calloc((size_t)(rows * columns * inner), sizeof *want);
	struct sparse_file f = { .layout = "torch.sparse_coo", .part = { { .type = NULL },
		{ .type = "LongStorage", .ndim = 2, .dims = { 2, (int64_t)count }, .p = indices,
		  .n = 2 * count * sizeof *indices },
		{ .type = "FloatStorage", .ndim = inner > 1 ? 2 : 1, .dims = { (int64_t)count, inner },
		  .p = values, .n = count * (size_t)inner * sizeof *values } },
		.ndim = inner > 1 ? 3 : 2, .dims = { rows, columns, inner },
		.coalesced = coalesced ? '\210' : '\211' };
	size_t at = 0, i, v;
	char shape[64];

	for (i = 0; i < count; i++) {
		at = coalesced ? at + 1 + chance((size_t)(rows * columns) / count - 1)
		               : chance((size_t)(rows * columns));
		if (!coalesced && i % 4 == 3) /* the one before once more */
			at = (size_t)(indices[i - 1] * columns + indices[count + i - 1]);
		indices[i] = (int64_t)at / columns;
		indices[count + i] = (int64_t)at % columns;
		for (v = 0; v < (size_t)inner; v++) {
			values[i * (size_t)inner + v] = (float)(1 + chance(999)) / 16;
			want[at * (size_t)inner + v] += values[i * (size_t)inner + v];
		}
	}
	snprintf(shape, sizeof shape, inner > 1 ? "%dx%dx%d" : "%dx%d", (int)rows, (int)columns,
	         (int)inner);
	compare(what, &f, "F32", shape, want, (size_t)(rows * columns * inner) * sizeof *want);
	free(indices);
	free(values);
	free(want);
}

/* Sums in types that round, wrap or have no sum. */
static void
test_sums(void)
{
	static const int64_t zero[3];
	static const uint16_t f16[] = { 0x6bff, 0x3c00, 0x3c00 }, bf16[] = { 0x4380, 0x3f80, 0x3f80 };
	static const uint8_t u8[] = { 200, 100, 7 }, yes[] = { 1, 0, 1 };
	static const int32_t i32[] = { INT32_MAX, 1, -3 };
	static const double f64[] = { 1e300, -1e300, 0.5 };
	const uint16_t f16_sum[] = { half_f32_f16(half_f16_f32(half_f32_f16(half_f16_f32(0x6bff) + 1)) + 1) };
	const uint16_t bf16_sum[] = { half_f32_bf16(half_bf16_f32(half_f32_bf16(257)) + 1) };
	static const uint8_t u8_sum = 51, yes_sum = 1;
	static const int32_t i32_sum = INT32_MAX - 2;
	static const double f64_sum = 0.5;
	const struct { const char *storage, *type; const void *p; size_t bytes; const void *sum; } rows[] = {
		{ "HalfStorage", "F16", f16, 2, f16_sum }, { "BFloat16Storage", "BF16", bf16, 2, bf16_sum },
		{ "ByteStorage", "U8", u8, 1, &u8_sum }, { "BoolStorage", "BOOL", yes, 1, &yes_sum },
		{ "IntStorage", "I32", i32, 4, &i32_sum }, { "DoubleStorage", "F64", f64, 8, &f64_sum },
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct sparse_file f = { .layout = "torch.sparse_coo", .part = { { .type = NULL },
			{ .type = "LongStorage", .ndim = 2, .dims = { 1, 3 }, .p = zero, .n = sizeof zero },
			{ .type = rows[i].storage, .ndim = 1, .dims = { 3 }, .p = rows[i].p,
			  .n = 3 * rows[i].bytes } }, .ndim = 1, .dims = { 1 }, .coalesced = i % 2 ? 'N' : 0 };

		compare(rows[i].type, &f, rows[i].type, "1", rows[i].sum, rows[i].bytes);
	}
}

/* Parts that are views, empty, or in a file with the other order of bytes. */
static void
test_views(void)
{
	static const int64_t pairs[] = { 0, 2, 1, 0, 1, 1 }, turned[] = { 1, 2 }, none[1], still[] = { 0 };
	static const uint8_t big[] = { 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 };
	static const uint8_t swapped[] = { 0x3f, 0x80, 0, 0, 0x40, 0, 0, 0, 0x40, 0x40, 0, 0 };
	static const float values[] = { 1, 2, 3 }, matrix[] = { 0, 0, 1, 2, 3, 0 }, line[] = { 2, 3, 1 },
		ones[] = { 0, 0, 1, 1, 1, 0 }, scalar = 1;
	struct sparse_file f = { .layout = "torch.sparse_coo", .part = { { .type = NULL },
		{ .type = "LongStorage", .ndim = 2, .dims = { 2, 3 }, .p = pairs, .n = sizeof pairs,
		  .strides = turned },
		{ .type = "FloatStorage", .ndim = 1, .dims = { 3 }, .p = values, .n = sizeof values } },
		.ndim = 2, .dims = { 2, 3 }, .coalesced = '\210' };

	compare("turned indices", &f, "F32", "2x3", matrix, sizeof matrix);
	f.part[2] = (struct sparse_part){ "FloatStorage", 1, { 3 }, values, 4, still };
	compare("one value for all", &f, "F32", "2x3", ones, sizeof ones);
	f = (struct sparse_file){ .layout = "torch.sparse_coo", .part = { { .type = NULL },
		{ .type = "LongStorage", .ndim = 2, .dims = { 1, 3 }, .p = big, .n = sizeof big },
		{ .type = "FloatStorage", .ndim = 1, .dims = { 3 }, .p = swapped, .n = sizeof swapped } },
		.ndim = 1, .dims = { 3 }, .coalesced = '\211', .big_endian = true };
	compare("big-endian", &f, "F32", "3", line, sizeof line);
	f = (struct sparse_file){ .layout = "torch.sparse_coo", .part = { { .type = NULL },
		{ .type = "LongStorage", .ndim = 2, .dims = { 2, 0 }, .p = none, .n = 0 },
		{ .type = "FloatStorage", .ndim = 1, .dims = { 0 }, .p = none, .n = 0 } },
		.ndim = 2, .dims = { 2, 3 }, .coalesced = '\211' };
	compare("no values", &f, "F32", "2x3", (const float[6]){ 0 }, 24);
	f.dims[0] = 0;
	compare("an empty tensor", &f, "F32", "0x3", NULL, 0);
	f = (struct sparse_file){ .layout = "torch.sparse_coo", .part = { { .type = NULL },
		{ .type = "LongStorage", .ndim = 2, .dims = { 0, 1 }, .p = none, .n = 0 },
		{ .type = "FloatStorage", .ndim = 1, .dims = { 1 }, .p = values, .n = 4 } },
		.ndim = 0, .coalesced = '\210' };
	compare("a scalar", &f, "F32", "scalar", &scalar, 4);
}

/* ---- faults ---- */

static const int64_t two[] = { 0, 1, 2, 0 }, three[] = { 0, 1, 2 }, bad[] = { 0, 2, 1 },
	negative[] = { 0, -1, 0, 0 }, beyond[] = { 0, 2, 0, 0 }, order[] = { 1, 0, 0, 0 },
	equal[] = { 1, 1, 2, 2 }, early[] = { 1, 1, 2 }, late[] = { 0, 1, 3 }, dips[] = { 0, 2, 1, 2 },
	huge[] = { 0, INT64_MIN, 2 };
static const float floats[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

#define LONGS(NDIM, D0, D1, P, N) { "LongStorage", NDIM, { D0, D1 }, P, 8 * N, NULL }
#define FLOATS(NDIM, D0, D1, D2, N) { "FloatStorage", NDIM, { D0, D1, D2 }, floats, 4 * N, NULL }
#define COO(I, V, ...) { "torch.sparse_coo", { { NULL, 0, { 0 }, NULL, 0, NULL }, I, V }, __VA_ARGS__, false }
#define CSR(NAME, C, I, V, ...) { "torch.sparse_" NAME, { C, I, V }, __VA_ARGS__, 0, false }

static const struct {
	const char *what;
	const char *says;
	struct sparse_file file;
} faults[] = {
	{ "an index past the end", "index that is out of range",
	  COO(LONGS(2, 2, 2, beyond, 4), FLOATS(1, 2, 0, 0, 2), 2, { 2, 3 }, '\211') },
	{ "a negative index", "index that is out of range",
	  COO(LONGS(2, 2, 2, negative, 4), FLOATS(1, 2, 0, 0, 2), 2, { 2, 3 }, '\211') },
	{ "coalesced, and not in order", "not in order, or not different",
	  COO(LONGS(2, 2, 2, order, 4), FLOATS(1, 2, 0, 0, 2), 2, { 2, 3 }, '\210') },
	{ "coalesced, and twice the same", "not in order, or not different",
	  COO(LONGS(2, 2, 2, equal, 4), FLOATS(1, 2, 0, 0, 2), 2, { 2, 3 }, '\210') },
	{ "more values than indices", "tensors do not fit",
	  COO(LONGS(2, 2, 2, two, 4), FLOATS(1, 3, 0, 0, 3), 2, { 2, 3 }, '\211') },
	{ "one dimension too few", "tensors do not fit",
	  COO(LONGS(2, 2, 2, two, 4), FLOATS(1, 2, 0, 0, 2), 1, { 2 }, '\211') },
	{ "another dense dimension", "tensors do not fit",
	  COO(LONGS(2, 1, 2, two, 2), FLOATS(2, 2, 2, 0, 4), 2, { 2, 3 }, '\211') },
	{ "indices of one dimension", "tensors do not fit",
	  COO(LONGS(1, 2, 0, two, 2), FLOATS(1, 2, 0, 0, 2), 1, { 2 }, '\211') },
	{ "a value without dimensions", "tensors do not fit",
	  COO(LONGS(2, 1, 1, two, 1), FLOATS(0, 0, 0, 0, 1), 1, { 2 }, '\211') },
	{ "indices that are not integers", "indices are not integers",
	  COO(FLOATS(2, 2, 2, 0, 4), FLOATS(1, 2, 0, 0, 2), 2, { 2, 3 }, '\211') },
	{ "a negative size", "negative or not a number",
	  COO(LONGS(2, 2, 2, two, 4), FLOATS(1, 2, 0, 0, 2), 2, { -2, 3 }, '\211') },
	{ "a size of 2^62", "impossible size",
	  COO(LONGS(2, 2, 2, two, 4), FLOATS(1, 2, 0, 0, 2), 2, { INT64_C(1) << 62, 8 }, '\211') },
	{ "a bomb of 2^60 values", "bytes in a file of",
	  COO(LONGS(2, 2, 2, two, 4), FLOATS(1, 2, 0, 0, 2), 2, { INT64_C(1) << 30, INT64_C(1) << 30 }, '\211') },
	{ "a layout that is not known", "of a layout that is not known",
	  CSR("xyz", LONGS(1, 3, 0, three, 3), LONGS(1, 2, 0, two, 2), FLOATS(1, 2, 0, 0, 2), 2, { 2, 3 }) },
	{ "too few tensors", "too few or too many tensors",
	  { "torch.sparse_csr", { { NULL, 0, { 0 }, NULL, 0, NULL }, LONGS(1, 2, 0, two, 2), FLOATS(1, 2, 0, 0, 2) },
	    2, { 2, 3 }, 0, false } },
	{ "groups that begin late", "begin and end as they must",
	  CSR("csr", LONGS(1, 3, 0, early, 3), LONGS(1, 2, 0, two, 2), FLOATS(1, 2, 0, 0, 2), 2, { 2, 3 }) },
	{ "groups that end late", "begin and end as they must",
	  CSR("csr", LONGS(1, 3, 0, late, 3), LONGS(1, 2, 0, two, 2), FLOATS(1, 2, 0, 0, 2), 2, { 2, 3 }) },
	{ "groups that end early", "begin and end as they must",
	  CSR("csc", LONGS(1, 3, 0, bad, 3), LONGS(1, 2, 0, two, 2), FLOATS(1, 2, 0, 0, 2), 2, { 3, 2 }) },
	{ "groups that dip", "compressed indices are not in order",
	  CSR("csr", LONGS(1, 4, 0, dips, 4), LONGS(1, 2, 0, two, 2), FLOATS(1, 2, 0, 0, 2), 2, { 3, 3 }) },
	{ "a negative group", "compressed indices are not in order",
	  CSR("csr", LONGS(1, 3, 0, huge, 3), LONGS(1, 2, 0, two, 2), FLOATS(1, 2, 0, 0, 2), 2, { 2, 3 }) },
	{ "one group too few", "tensors do not fit",
	  CSR("csr", LONGS(1, 2, 0, two, 2), LONGS(1, 1, 0, two, 1), FLOATS(1, 1, 0, 0, 1), 2, { 2, 3 }) },
	{ "no groups", "tensors do not fit",
	  CSR("csr", LONGS(1, 0, 0, two, 0), LONGS(1, 0, 0, two, 0), FLOATS(1, 0, 0, 0, 0), 2, { 2, 3 }) },
	{ "a column past the end", "index that is out of range",
	  CSR("csr", LONGS(1, 3, 0, three, 3), LONGS(1, 2, 0, three + 1, 2), FLOATS(1, 2, 0, 0, 2), 2, { 2, 2 }) },
	{ "a row past the end", "index that is out of range",
	  CSR("csc", LONGS(1, 3, 0, three, 3), LONGS(1, 2, 0, three + 1, 2), FLOATS(1, 2, 0, 0, 2), 2, { 2, 2 }) },
	{ "two columns of a row that are equal", "not in order, or not different",
	  CSR("csr", LONGS(1, 2, 0, bad, 2), LONGS(1, 2, 0, equal, 2), FLOATS(1, 2, 0, 0, 2), 2, { 1, 3 }) },
	{ "blocks that do not divide the size", "blocks do not divide it",
	  CSR("bsr", LONGS(1, 2, 0, two, 2), LONGS(1, 1, 0, two, 1), FLOATS(3, 1, 2, 2, 4), 2, { 3, 4 }) },
	{ "blocks of no values", "blocks do not divide it",
	  CSR("bsc", LONGS(1, 2, 0, two, 2), LONGS(1, 1, 0, two, 1), FLOATS(3, 1, 0, 2, 0), 2, { 2, 4 }) },
	{ "blocks without their dimensions", "tensors do not fit",
	  CSR("bsr", LONGS(1, 2, 0, two, 2), LONGS(1, 1, 0, two, 1), FLOATS(1, 1, 0, 0, 1), 2, { 2, 4 }) },
	{ "batches that differ", "tensors do not fit",
	  CSR("csr", LONGS(2, 2, 2, two, 4), LONGS(2, 2, 1, two, 2), FLOATS(2, 2, 1, 0, 2), 3, { 3, 1, 3 }) },
};

static void
test_faults(void)
{
	struct brought b;
	struct gen g;
	size_t i;
	int pipe;

	for (i = 0; i < sizeof faults / sizeof *faults; i++)
		for (pipe = 0; pipe < 2; pipe++) {
			g = (struct gen){ 0 };
			put_sparse(&g, &faults[i].file);
			bring(&b, &format_pytorch, g.p, g.n, &dense, pipe);
			test_ok(b.err.code != ERR_NONE && err_exit(&b.err) == 4 &&
			        strcmp(b.err.object, i == 12 ? "in" : "w") == 0 &&
			        strstr(b.err.fact, faults[i].says), "%s%s: %s: %s", faults[i].what,
			        pipe ? ", pipe" : "", b.err.object, b.err.fact);
			let_go(&b);
			gen_free(&g);
		}
}

/* Without the option, the tensor is refused by its name, and the hint names the option. */
static void
test_refused(void)
{
	const struct sparse_file f = { .layout = "torch.sparse_coo", .part = { { .type = NULL },
		LONGS(2, 2, 2, two, 4), FLOATS(1, 2, 0, 0, 2) }, .ndim = 2, .dims = { 2, 3 } };
	const struct format_options report = { .closed = true };
	struct gen g = { 0 };
	struct brought b;

	put_sparse(&g, &f);
	bring(&b, &format_pytorch, g.p, g.n, &usual, false);
	test_ok(err_exit(&b.err) == 4 && strcmp(b.err.object, "w") == 0 &&
	        strstr(b.err.fact, "is a sparse tensor") && strstr(b.err.hint, "--dense"),
	        "without --dense: %s: %s: %s", b.err.object, b.err.fact, b.err.hint);
	let_go(&b);
	test_ok(bring(&b, &format_pytorch, g.p, g.n, &report, false) == 0 &&
	        strstr(noted, "left out: tensors that apr-unpack refuses: 1"), "a report leaves it out");
	let_go(&b);
	gen_free(&g);
}

int
main(void)
{
	test_layouts();
	test_coo("coo", 7, 9, 1, 20, true);
	test_coo("coo in any order", 7, 9, 1, 60, false);
	test_coo("coo, dense dimension", 5, 3, 4, 6, true);
	test_coo("coo in any order, dense dimension", 5, 3, 4, 16, false);
	test_coo("coo, several pieces", 1500, 1000, 1, 700, true);
	test_coo("coo in any order, several pieces", 1500, 1000, 1, 7000, false);
	test_coo("coo with values of more than a piece", 3, 1, 1200000, 5, false);
	test_coo("coo in order with values of more than a piece", 4, 1, 1200000, 2, true);
	test_sums();
	test_views();
	test_faults();
	test_refused();
	return test_done();
}
