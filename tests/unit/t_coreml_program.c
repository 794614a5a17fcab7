/* t_coreml_program: programs of Core ML: constants, values that are made of others, packages. */
#include "imports.h"

#include <sys/stat.h>
#include <unistd.h>

#include "../gen/coreml_program.h"

static const struct format_options usual;
static const float six[] = { 1, 2, 3, 4, 5, 6 };
static const uint16_t halves[] = { 0x3c00, 0x4000, 0x4200, 0x4400 }; /* 1 2 3 4 */

/* ---- values ---- */

/* Open a program of one block, and free the block. */
static void
bring_block(struct brought *b, struct gen *block)
{
	struct gen g = { 0 };

	put_program(&g, block);
	bring(b, &format_coreml, g.p, g.n, &usual, false);
	gen_free(&g);
}

static void
is(const struct brought *b, const char *name, const char *type, const char *shape, const void *p,
   size_t n)
{
	struct gen want = { 0 };

	put(&want, p, n);
	test_ok(b->source && holds(b, name, type, shape, &want), "%s: %s", name, b->err.fact);
	gen_free(&want);
}

static void
constants_are_weights_or_arguments(void)
{
	static const double doubles[] = { 1.5, -2 };
	struct gen block = { 0 };
	struct brought b;

	put_constant(&block, "floats", MIL_F32, "2x3", six, 24);
	put_constant(&block, "halves", MIL_F16, "4", halves, 8);
	put_constant(&block, "axis", MIL_I32, "", "\1", 1);
	put_constant(&block, "shape", MIL_I32, "3", "\1\2\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 12);
	put_constant(&block, "epsilon", MIL_F32, "", six, 4);
	{
		struct gen value = { 0 }, operands = { 0 };

		put_value(&value, MIL_F64, "2x1", 6, doubles, sizeof doubles);
		put_entry(&operands, 5, "val", &value);
		put_op(&block, "const", "doubles", &operands);
		put_value(&value, MIL_TEXT, "", 4, "valid", 5);
		put_entry(&operands, 5, "val", &value);
		put_op(&block, "const", "pad_type", &operands);
		put_input(&operands, "x", "floats");
		put_op(&block, "relu", "y", &operands);
	}
	bring_block(&b, &block);
	is(&b, "floats", "F32", "2x3", six, 24);
	is(&b, "halves", "F16", "4", halves, 8);
	is(&b, "doubles", "F64", "2x1", doubles, 16);
	test_ok(b.source && b.source->plan->tensor_count == 3, "three weights");
	test_ok(strstr(noted, "arguments of operations: 4") != NULL, "a note: %s", noted);
	let_go(&b);
}

/* scale × (q - zero), a scale for each of 3 columns. */
static void
affine_values(void)
{
	static const float scale[] = { 0.5f, 2, -1 }, want[] = { -1.5f, 2, 1, 3, -12, -126 };
	struct gen block = { 0 }, x = { 0 };
	struct brought b;

	put_attribute(&x, "quantized_data", MIL_I8, "2x3", "\xfe\2\0\7\xfb\x7f", 6);
	put_attribute(&x, "zero_point", MIL_I8, "", "\1", 1);
	put_attribute(&x, "scale", MIL_F32, "3", scale, 12);
	put_attribute(&x, "axis", MIL_I32, "", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 10);
	put_op(&block, "constexpr_affine_dequantize", "w", &x);
	bring_block(&b, &block);
	is(&b, "w", "F32", "2x3", want, sizeof want);
	test_ok(strstr(noted, "decoded to F32: 1") != NULL, "a note: %s", noted);
	let_go(&b);
}

/* Blocks of 1 × 2, values of 4 bits, scales as halves. */
static void
blockwise_values(void)
{
	/* 1 -1 | 7 -8 and 0 2 | 3 4; offsets 1 0 / 0 -1; scales 1 2 / 3 4 */
	static const uint16_t want[] = { 0, 0xc000, 0x4b00, 0xcc00, 0, 0x4600, 0x4c00, 0x4d00 };
	struct gen block = { 0 }, x = { 0 };
	struct brought b;

	put_constant(&block, "q", MIL_I4, "2x4", "\xf1\x87\x20\x43", 4);
	put_constant(&block, "s", MIL_F16, "2x2", halves, 8);
	put_constant(&block, "o", MIL_I4, "2x2", "\x01\xf0", 2);
	put_input(&x, "data", "q");
	put_input(&x, "scale", "s");
	put_input(&x, "offset", "o");
	put_op(&block, "constexpr_blockwise_shift_scale", "w", &x);
	bring_block(&b, &block);
	is(&b, "w", "F16", "2x4", want, sizeof want);
	test_ok(b.source && b.source->plan->tensor_count == 1, "operands are not tensors");
	let_go(&b);
}

/* iOS 16: packed indices, a list of values, a shape. */
static void
lists_of_values(void)
{
	static const uint16_t want[] = { 0x3c00, 0x4000, 0x4200, 0x4400, 0x4400 };
	struct gen block = { 0 }, x = { 0 };
	struct brought b;

	put_attribute(&x, "indices", MIL_U8, "2", "\xe4\x03", 2);
	put_attribute(&x, "lut", MIL_F16, "4", halves, 8);
	put_attribute(&x, "shape", MIL_U32, "2", "\5\0\0\0\1\0\0\0", 8);
	put_op(&block, "constexpr_lut_to_dense", "w", &x);
	bring_block(&b, &block);
	is(&b, "w", "F16", "5x1", want, sizeof want);
	let_go(&b);
}

/* iOS 18: two tables, and tables of vectors along both axes: the examples of coremltools. */
static void
tables_of_values(void)
{
	static const float lut[] = { 1, 5, 9, 13, 2, 10, 18, 26 },
		want[] = { 9, 13, 13, 1, 5, 1, 26, 2, 18, 10, 2, 26 },
		vectors[] = { 1, 2, 3, 10, 20, 30 }, /* a b */
		middle[] = { 1, 1, 2, 2, 3, 3, 10, 1, 20, 2, 30, 3, 10, 10, 20, 20, 30, 30, 1, 1, 2, 2,
		             3, 3 },
		last[] = { 1, 2, 3, 1, 2, 3, 10, 20, 30, 1, 2, 3, 10, 20, 30, 10, 20, 30, 1, 2, 3, 1, 2,
		           3 };
	struct gen block = { 0 }, x = { 0 };
	struct brought b;

	put_constant(&block, "i", MIL_U2, "6x2", "\x3e\x31\xc6", 3);
	put_attribute(&x, "lut", MIL_F32, "2x1x4x1", lut, 32);
	put_input(&x, "indices", "i");
	put_op(&block, "constexpr_lut_to_dense", "groups", &x);
	put_constant(&block, "j", MIL_U1, "2x2x2", "\x34", 1);
	put_input(&x, "indices", "j");
	put_attribute(&x, "lut", MIL_F32, "1x1x1x2x3", vectors, 24);
	put_attribute(&x, "vector_axis", MIL_I32, "", "\1", 1);
	put_op(&block, "constexpr_lut_to_dense", "middle", &x);
	put_input(&x, "indices", "j");
	put_attribute(&x, "lut", MIL_F32, "1x1x1x2x3", vectors, 24);
	put_attribute(&x, "vector_axis", MIL_I32, "", "\2", 1);
	put_op(&block, "constexpr_lut_to_dense", "last", &x);
	bring_block(&b, &block);
	is(&b, "groups", "F32", "6x2", want, sizeof want);
	is(&b, "middle", "F32", "2x6x2", middle, sizeof middle);
	is(&b, "last", "F32", "2x2x6", last, sizeof last);
	let_go(&b);
}

/* A mask in bytes with a shape, and a mask of bits; more than a step of the count. */
static void
sparse_values(void)
{
	static const float want[] = { 0, 0, 1, 2, 0 };
	static float many[1100], values[3] = { 7, 8, 9 };
	static uint8_t mask[138];
	struct gen block = { 0 }, x = { 0 };
	struct brought b;

	mask[0] = 1;
	mask[64] = 2;
	mask[137] = 8;
	many[0] = 7;
	many[513] = 8;
	many[1099] = 9;
	put_attribute(&x, "nonzero_data", MIL_F32, "2", six, 8);
	put_attribute(&x, "mask", MIL_U8, "1", "\x0c", 1);
	put_attribute(&x, "shape", MIL_U32, "1", "\5\0\0\0", 4);
	put_op(&block, "constexpr_sparse_to_dense", "few", &x);
	put_attribute(&x, "nonzero_data", MIL_F32, "3", values, 12);
	put_attribute(&x, "mask", MIL_U1, "11x100", mask, sizeof mask);
	put_op(&block, "constexpr_sparse_to_dense", "many", &x);
	bring_block(&b, &block);
	is(&b, "few", "F32", "5", want, sizeof want);
	is(&b, "many", "F32", "11x100", many, sizeof many);
	let_go(&b);
}

/* ---- sparse values that stay sparse: the examples of coremltools ---- */

#define MASK "\xc3\x68\x21" /* 4 x 6 bits, nine of them set */
#define NINE "\x36\1"        /* nine indices of one bit */

/* Operands of constexpr_lut_to_sparse. */
static void
put_sparse_table(struct gen *x, uint32_t type, const char *shape, const void *lut, size_t n)
{
	put_input(x, "indices_mask", "mask");
	put_attribute(x, "indices_nonzero_data", MIL_U1, "9", NINE, 2);
	put_attribute(x, "lut", type, shape, lut, n);
}

/* The operation that makes both outputs of another one dense. */
static void
put_to_dense(struct gen *block, const char *mask, const char *values, const char *name)
{
	struct gen x = { 0 };

	put_input(&x, "mask", mask);
	put_input(&x, "nonzero_data", values);
	put_op(block, "constexpr_sparse_to_dense", name, &x);
}

static void
sparse_tables(void)
{
	static const float lut[] = { 2, 3 }, vectors[] = { 2, 4, 3, 5 };
	static const float want[] = { 2, 3, 0, 0, 0, 0, 3, 2, 0, 0, 0, 3, 0, 3, 2, 0, 2, 0, 0, 0, 0, 3, 0,
		0 };
	static const float expanded[] = { 2, 3, 0, 0, 0, 0, 4, 5, 0, 0, 0, 0, 3, 2, 0, 0, 0, 3, 5, 4, 0, 0,
		0, 5, 0, 3, 2, 0, 2, 0, 0, 5, 4, 0, 4, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 5, 0, 0 };
	struct gen block = { 0 }, x = { 0 };
	struct brought b;

	put_constant(&block, "mask", MIL_U1, "4x6", MASK, 3);
	put_sparse_table(&x, MIL_F32, "1x1x2x1", lut, sizeof lut);
	put_op(&block, "constexpr_lut_to_sparse", "m1 v1", &x);
	put_to_dense(&block, "m1", "v1", "plain");
	put_to_dense(&block, "mask", "v1", "same");
	put_sparse_table(&x, MIL_F32, "1x1x2x2", vectors, sizeof vectors);
	put_attribute(&x, "vector_axis", MIL_I32, "", "\0", 1);
	put_op(&block, "constexpr_lut_to_sparse", "m2 v2", &x);
	put_to_dense(&block, "m2", "v2", "vectors");
	bring_block(&b, &block);
	is(&b, "plain", "F32", "4x6", want, sizeof want);
	is(&b, "same", "F32", "4x6", want, sizeof want);
	is(&b, "vectors", "F32", "8x6", expanded, sizeof expanded);
	test_ok(b.source && b.source->plan->tensor_count == 3, "masks and lists are not tensors");
	let_go(&b);
}

static void
sparse_blocks(void)
{
	static const float scale[] = { 0.5f, 2, 4, 8 }, half[] = { 0.5f };
	static const float want[] = { 4.5f, 18, 0, 0, 1, 4, 8, 0, 0, 0, 12, 24, 3.5f, 14, 0, 0 };
	static const float chain[] = { 0.5f, -1, 0, 0, 0, 0, -1, 0.5f, 0, 0, 0, -1, 0, -1, 0.5f, 0, 0.5f, 0,
		0, 0, 0, -1, 0, 0 };
	struct gen block = { 0 }, x = { 0 };
	struct brought b;

	put_attribute(&x, "data_mask", MIL_U1, "4x4", "\x73\x3c", 2);
	put_attribute(&x, "nonzero_data", MIL_U8, "9", "\12\13\3\4\5\6\7\10\11", 9);
	put_attribute(&x, "scale", MIL_F32, "1x4", scale, sizeof scale);
	put_attribute(&x, "offset", MIL_U8, "1x4", "\1\2\3\4", 4);
	put_op(&block, "constexpr_sparse_blockwise_shift_scale", "m1 v1", &x);
	put_to_dense(&block, "m1", "v1", "columns");
	put_constant(&block, "mask", MIL_U1, "4x6", MASK, 3);
	put_sparse_table(&x, MIL_I8, "1x1x2x1", "\1\xfe", 2);
	put_op(&block, "constexpr_lut_to_sparse", "m2 v2", &x);
	put_input(&x, "data_mask", "m2");
	put_input(&x, "nonzero_data", "v2");
	put_attribute(&x, "scale", MIL_F32, "1x1", half, sizeof half);
	put_op(&block, "constexpr_sparse_blockwise_shift_scale", "m3 v3", &x);
	put_to_dense(&block, "m3", "v3", "chain");
	bring_block(&b, &block);
	is(&b, "columns", "F32", "4x4", want, sizeof want);
	is(&b, "chain", "F32", "4x6", chain, sizeof chain);
	let_go(&b);
}

/* Values of values: a table of bytes with a scale behind it, in a block inside an operation. */
static void
made_of_made_values(void)
{
	static const float want[] = { 0.5f, -1, -1, 0.5f };
	struct gen block = { 0 }, x = { 0 }, inner = { 0 }, op = { 0 }, program = { 0 }, g = { 0 };
	struct brought b;

	put_attribute(&x, "indices", MIL_U1, "4", "\6", 1);
	put_attribute(&x, "lut", MIL_I8, "1x2x1", "\1\xfe", 2);
	put_op(&inner, "constexpr_lut_to_dense", "t", &x);
	put_attribute(&x, "scale", MIL_F32, "1", (const float[]){ 0.5f }, 4);
	put_input(&x, "data", "t");
	put_op(&inner, "constexpr_blockwise_shift_scale", "w", &x);
	put_attribute(&x, "source_val", MIL_F16, "2", halves, 4);
	put_op(&inner, "constexpr_cast", "c", &x);
	put_bytes(&op, 1, "cond", 4);
	put_message(&op, 4, &inner);
	put_message(&block, 3, &op);
	put_function(&program, "one", &block);
	put_constant(&block, "w", MIL_F32, "6", six, 24);
	put_function(&program, "two", &block);
	put_model(&g, 502, &program);
	bring(&b, &format_coreml, g.p, g.n, &usual, false);
	is(&b, "one.w", "F32", "4", want, sizeof want);
	is(&b, "one.c", "F32", "2", six, 8);
	is(&b, "two.w", "F32", "6", six, 24);
	test_ok(b.source && b.source->plan->tensor_count == 3, "the table is not a tensor");
	let_go(&b);
	gen_free(&g);
}

/* ---- faults ---- */

static void
two_of_one_name(struct gen *block)
{
	put_constant(block, "w", MIL_F32, "6", six, 24);
	put_constant(block, "w", MIL_F32, "6", six, 24);
}

static void
made_of_itself(struct gen *block)
{
	struct gen x = { 0 };

	put_input(&x, "source_val", "w");
	put_op(block, "constexpr_cast", "w", &x);
}

/* Each value is made of the one before, which a memory of values must not hide. */
static void
long_chain(struct gen *block)
{
	char name[16], last[16] = "w";
	struct gen x = { 0 };
	unsigned i;

	put_constant(block, "w", MIL_F32, "6", six, 24);
	for (i = 0; i < 40; i++) {
		put_input(&x, "source_val", last);
		snprintf(name, sizeof name, "v%u", i);
		put_op(block, "constexpr_cast", name, &x);
		memcpy(last, name, sizeof last);
	}
}

static void
deep_blocks(struct gen *block)
{
	struct gen op = { 0 };
	unsigned i;

	for (i = 0; i < 12; i++) {
		put_bytes(&op, 1, "cond", 4);
		put_message(&op, 4, block);
		put_message(block, 3, &op);
	}
}

/* One operation with operands of these types, shapes and bytes. */
struct given {
	const char *key, *shape;
	uint32_t type;
	size_t n;
};
static const struct {
	const char *type, *says;
	struct given given[4];
} wrong[] = {
	{ "const", "24 values of", { { "val", "4x6", MIL_F32, 24 } } },
	{ "const", "has values of type 99", { { "val", "6", 99, 6 } } },
	{ "const", "without a value", { { "name", "6", MIL_F32, 24 } } },
	{ "const", "more than 10 dimensions", { { "val", "1x1x1x1x1x1x1x1x1x1x1", MIL_F32, 4 } } },
	{ "const", "more than 8 dimensions", { { "val", "1x1x1x1x1x1x1x1x1x1", MIL_F32, 4 } } },
	{ "const", "shape of too many values",
	  { { "val", "4294967296x4294967296x4294967296", MIL_F32, 24 } } },
	{ "const", "needs 4294967296 values", { { "val", "4294967296", MIL_I32, 24 } } },
	{ "constexpr_of_tomorrow", "made by constexpr_of_tomorrow, which is not read",
	  { { "lut", "6", MIL_F32, 24 } } },
	{ "constexpr_lut_to_sparse", "without indices_mask", { { "lut", "6", MIL_F32, 24 } } },
	{ "constexpr_lut_to_sparse", "another number of values",
	  { { "indices_mask", "8", MIL_U1, 1 }, { "indices_nonzero_data", "2", MIL_U1, 1 },
	    { "lut", "1x2x1", MIL_F32, 8 } } },
	{ "constexpr_lut_to_sparse", "another size than its bits",
	  { { "indices_mask", "8", MIL_U1, 1 }, { "indices_nonzero_data", "3", MIL_U8, 3 },
	    { "lut", "1x2x1", MIL_F32, 8 } } },
	{ "constexpr_lut_to_sparse", "shape does not fit its indices",
	  { { "indices_mask", "8", MIL_U1, 1 }, { "indices_nonzero_data", "3", MIL_U1, 1 },
	    { "lut", "2", MIL_F32, 8 } } },
	{ "constexpr_lut_to_sparse", "no operation makes it dense",
	  { { "indices_mask", "8", MIL_U1, 1 }, { "indices_nonzero_data", "3", MIL_U1, 1 },
	    { "lut", "1x2x1", MIL_F32, 8 } } },
	{ "constexpr_sparse_blockwise_shift_scale", "without scale",
	  { { "data_mask", "8", MIL_U1, 1 }, { "nonzero_data", "3", MIL_U8, 3 } } },
	{ "constexpr_sparse_blockwise_shift_scale", "another type than one bit",
	  { { "data_mask", "3", MIL_U8, 3 }, { "nonzero_data", "3", MIL_U8, 3 },
	    { "scale", "1", MIL_F32, 4 } } },
	{ "constexpr_cast", "without source_val", { { "val", "6", MIL_F32, 24 } } },
	{ "constexpr_cast", "floats of 8 bits", { { "source_val", "6", MIL_F8, 6 } } },
	{ "constexpr_affine_dequantize", "an axis that is not one",
	  { { "quantized_data", "6", MIL_U8, 6 }, { "scale", "6", MIL_F32, 24 },
	    { "zero_point", "", MIL_U8, 1 }, { "axis", "", MIL_U8, 1 } } },
	{ "constexpr_affine_dequantize", "not that of its axis",
	  { { "quantized_data", "1x1x1x1x1x1x1x6", MIL_U8, 6 }, { "scale", "3", MIL_F32, 12 },
	    { "zero_point", "", MIL_U8, 1 }, { "axis", "", MIL_BOOL, 1 } } },
	{ "constexpr_blockwise_shift_scale", "does not divide",
	  { { "data", "3x2", MIL_U8, 6 }, { "scale", "2x3", MIL_F32, 24 } } },
	{ "constexpr_blockwise_shift_scale", "does not divide",
	  { { "data", "3x2", MIL_U8, 6 }, { "scale", "0x2", MIL_F32, 0 } } },
	{ "constexpr_blockwise_shift_scale", "another number of dimensions",
	  { { "data", "3x2", MIL_U8, 6 }, { "scale", "6", MIL_F32, 24 } } },
	{ "constexpr_lut_to_dense", "another size than its bits",
	  { { "indices", "6", MIL_U8, 6 }, { "lut", "1x6x1", MIL_F32, 24 } } },
	{ "constexpr_lut_to_dense", "another size than its bits",
	  { { "indices", "6", MIL_I4, 3 }, { "lut", "1x16x1", MIL_U8, 16 } } },
	{ "constexpr_lut_to_dense", "shape does not fit its indices",
	  { { "indices", "6", MIL_U8, 6 }, { "lut", "6", MIL_F32, 24 } } },
	{ "constexpr_lut_to_dense", "vectors without an axis",
	  { { "indices", "8", MIL_U1, 1 }, { "lut", "1x2x3", MIL_F32, 24 } } },
	{ "constexpr_lut_to_dense", "vectors without an axis",
	  { { "indices", "8", MIL_U1, 1 }, { "lut", "1x2x0", MIL_F32, 0 },
	    { "vector_axis", "", MIL_BOOL, 1 } } },
	{ "constexpr_lut_to_dense", "number of tables that does not divide",
	  { { "indices", "8", MIL_U1, 1 }, { "lut", "3x2x1", MIL_F32, 24 } } },
	{ "constexpr_lut_to_dense", "but its shape needs",
	  { { "indices", "6", MIL_U8, 6 }, { "lut", "4", MIL_F16, 8 }, { "shape", "1", MIL_U8, 1 } } },
	{ "constexpr_lut_to_dense", "not packed in bytes",
	  { { "indices", "6", MIL_U8, 6 }, { "lut", "1", MIL_F16, 2 }, { "shape", "1", MIL_U8, 1 } } },
	{ "constexpr_sparse_to_dense", "another number of values",
	  { { "nonzero_data", "6", MIL_F32, 24 }, { "mask", "8", MIL_U1, 1 } } },
	{ "constexpr_sparse_to_dense", "bits behind the end",
	  { { "nonzero_data", "3", MIL_F32, 12 }, { "mask", "1", MIL_U1, 1 } } },
	{ "constexpr_sparse_to_dense", "another type than one bit",
	  { { "nonzero_data", "6", MIL_F32, 24 }, { "mask", "6", MIL_U8, 6 } } },
};

static void
refused(struct gen *block, const char *says)
{
	struct brought b;

	bring_block(&b, block);
	test_ok(err_exit(&b.err) == 4 && strstr(b.err.fact, says), "%s: %s", says, b.err.fact);
	let_go(&b);
}

static void
faults_are_named(void)
{
	static const struct { void (*make)(struct gen *block); const char *says; } list[] = {
		{ two_of_one_name, "two constants of one name" },
		{ made_of_itself, "more than 4 times" }, { long_chain, "more than 4 times" },
		{ deep_blocks, "blocks in more than 8 others" },
	};
	static const uint8_t bytes[32] = { 7, 7, 7, 7, 7, 7 };
	struct gen block = { 0 }, x = { 0 };
	size_t i, k;

	for (i = 0; i < sizeof list / sizeof *list; i++) {
		list[i].make(&block);
		refused(&block, list[i].says);
	}
	for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		for (k = 0; k < 4 && wrong[i].given[k].key; k++)
			put_attribute(&x, wrong[i].given[k].key, wrong[i].given[k].type,
			              wrong[i].given[k].shape, bytes, wrong[i].given[k].n);
		put_op(&block, wrong[i].type, "w", &x);
		refused(&block, wrong[i].says);
	}
	for (i = 0; i < 2; i++) {
		put_constant(&block, "mask", MIL_U1, "4x6", MASK, 3);
		put_constant(&block, "other", MIL_U1, "4x6", "\xc3\x68\x12", 3);
		put_sparse_table(&x, MIL_F32, "1x1x2x1", six, 8);
		put_op(&block, "constexpr_lut_to_sparse", "m v", &x);
		if (i == 0) {
			put_to_dense(&block, "other", "v", "w");
		} else {
			put_input(&x, "source_val", "v");
			put_op(&block, "constexpr_cast", "w", &x);
		}
		refused(&block, i == 0 ? "the mask of others" : "as if they were dense");
	}
	put_op(&block, "constexpr_cast", "v w", &x);
	refused(&block, "too many outputs");
	put_input(&x, "source_val", "missing");
	put_op(&block, "constexpr_cast", "w", &x);
	refused(&block, "not a constant");
	put_blob_constant(&block, "w", MIL_F32, "6", "@model_path/weights/weight.bin", 64);
	refused(&block, "cannot be found from a pipe");
}

static void
mother(struct gen *g)
{
	struct gen block = { 0 }, x = { 0 };

	put_constant(&block, "q", MIL_I4, "2x4", "\xf1\x87\x20\x43", 4);
	put_attribute(&x, "scale", MIL_F16, "2x2", halves, 8);
	put_input(&x, "data", "q");
	put_op(&block, "constexpr_blockwise_shift_scale", "w", &x);
	put_program(g, &block);
}

/* ---- packages ---- */

#define MANIFEST(PATH) "{\"fileFormatVersion\":\"1.0.0\",\"itemInfoEntries\":{\"A\":{\"path\":\"" \
	PATH "\"}},\"rootModelIdentifier\":\"A\"}"
#define USUAL MANIFEST("com.apple.CoreML/model.mlmodel")
#define WEIGHTS "@model_path/weights/weight.bin"

static char folder[64];

static void
path_in(char to[256], const char *name)
{
	snprintf(to, 256, "%s/%s", folder, name);
}

static void
write_in(const char *name, const void *p, size_t n)
{
	char path[256];
	FILE *f;

	path_in(path, name);
	remove(path);
	f = fopen(path, "wb");
	if (!f || fwrite(p, 1, n, f) != n || fclose(f) != 0)
		gen_die("cannot be written", path);
}

/* The folder of a package with this manifest, whose constants are in `file`. */
static void
write_package(const char *manifest, const char *file, const struct edit *change)
{
	struct gen g = { 0 }, block = { 0 };

	put_weight_file(&g, 2);
	put_record(&g, 2, six, 24, 0);
	edit(&g, change);
	write_in("Data/com.apple.CoreML/weights/weight.bin", g.p, g.n);
	gen_free(&g);
	put_blob_constant(&block, "w", MIL_F32, "2x3", file, 64);
	put_program(&g, &block);
	write_in("Data/com.apple.CoreML/model.mlmodel", g.p, g.n);
	write_in("Manifest.json", manifest, strlen(manifest));
	gen_free(&g);
}

static void
bring_package(struct brought *b)
{
	const struct format *which = NULL;

	*b = (struct brought){ .err = ERR_INIT };
	noted[0] = 0;
	b->source = format_coreml.reads->open_path(folder, &usual, note, &which, &b->err);
	bring_all(b);
}

static void
each_folder(int (*change)(const char *path))
{
	static const char *const names[] = { "", "Data", "Data/com.apple.CoreML",
		"Data/com.apple.CoreML/weights" };
	char path[256];
	size_t i;

	for (i = 0; i < 4; i++) {
		path_in(path, names[change == rmdir ? 3 - i : i]);
		change(path);
	}
}

static int
make_folder(const char *path)
{
	return mkdir(path, 0777);
}

static void
package_refused(const char *about, int status, const char *says)
{
	struct brought b;

	bring_package(&b);
	test_ok(err_exit(&b.err) == status && strstr(b.err.fact, says), "%s: %s", about, b.err.fact);
	let_go(&b);
}

static const struct {
	const char *about;
	int status;
	const char *says, *manifest, *file;
	struct edit change;
} packages[] = {
	{ "no item", 4, "does not name the package's model", "{}", WEIGHTS, { 0 } },
	{ "not JSON", 4, "JSON", "{", WEIGHTS, { 0 } },
	{ "above", 4, "not a file of the package", MANIFEST("../model.mlmodel"), WEIGHTS, { 0 } },
	{ "hidden", 4, "not a file of the package", MANIFEST(".x/model.mlmodel"), WEIGHTS, { 0 } },
	{ "absolute", 4, "not a file of the package", MANIFEST("/etc/passwd"), WEIGHTS, { 0 } },
	{ "missing", 3, "cannot be opened", MANIFEST("com.apple.CoreML/other.mlmodel"), WEIGHTS, { 0 } },
	{ "a folder", 4, "not a regular file", MANIFEST("com.apple.CoreML"), WEIGHTS, { 0 } },
	{ "weights above", 4, "not in the package", USUAL, "@model_path/../weight.bin", { 0 } },
	{ "weights elsewhere", 4, "not in the package", USUAL, "/etc/passwd", { 0 } },
	{ "weights nowhere", 4, "not in the package", USUAL, "@model_path/", { 0 } },
	{ "weights missing", 3, "cannot be opened", USUAL, "@model_path/weights/x.bin", { 0 } },
	{ "another file", 4, "not a weight file", USUAL, "@model_path/model.mlmodel", { 0 } },
	{ "version 1", 4, "not a weight file of version 2", USUAL, WEIGHTS, SET32("version", 1) },
	{ "an empty file", 4, "is empty", USUAL, WEIGHTS, { EDIT_CUT, NULL, 0, 0, NULL, 0 } },
	{ "cut", 4, "a record at byte 64 of a weight file of 88 bytes", USUAL, WEIGHTS, CUT("unused") },
	{ "sentinel", 4, "where the weight file has none", USUAL, WEIGHTS, SET32("sentinel", 1) },
	{ "type", 4, "of type 1, which is not its own", USUAL, WEIGHTS, SET32("type", 1) },
	{ "bytes", 4, "its shape needs", USUAL, WEIGHTS, SET64("bytes", 23) },
	{ "offset", 4, "24 bytes at byte 129", USUAL, WEIGHTS, SET64("offset", 129) },
	{ "offset", 4, "24 bytes at byte", USUAL, WEIGHTS, SET64("offset", UINT64_MAX) },
};

static void
packages_are_folders(void)
{
	char path[256], to[256];
	struct brought b;
	size_t i;

	snprintf(folder, sizeof folder, "/tmp/t_coreml.%ld.mlpackage", (long)getpid());
	bring_package(&b);
	test_ok(!b.source && b.err.code == ERR_NONE, "a folder without a manifest is not a package");
	let_go(&b);
	each_folder(make_folder);
	write_package(USUAL, WEIGHTS, &(struct edit){ 0 });
	bring_package(&b);
	is(&b, "w", "F32", "2x3", six, 24);
	let_go(&b);
	for (i = 0; i < sizeof packages / sizeof *packages; i++) {
		struct edit change = packages[i].change;

		write_package(packages[i].manifest, packages[i].file, &change);
		if (change.op == EDIT_CUT && !change.mark)
			write_in("Data/com.apple.CoreML/weights/weight.bin", "", 0);
		package_refused(packages[i].about, packages[i].status, packages[i].says);
	}
	write_package(USUAL, WEIGHTS, &(struct edit){ 0 });
	path_in(path, "Data/com.apple.CoreML/weights/weight.bin");
	path_in(to, "Data/com.apple.CoreML/weights/link.bin");
	test_ok(rename(path, to) == 0 && symlink("link.bin", path) == 0, "a link");
	package_refused("a link", 4, "is a link");
	remove(path);
	remove(to);
	path_in(path, "Data/com.apple.CoreML/model.mlmodel");
	remove(path);
	path_in(path, "Manifest.json");
	remove(path);
	each_folder(rmdir);
}

/* ---- the probe ---- */

static void
content_decides(void)
{
	static const struct { const char *about, *head; size_t n; bool is; } list[] = {
		{ "an input with a type", "\x08\6\x12\x0e\n\x0c\n\1x\x1a\7*\5\n\3\1\2\3Z", 20, true },
		{ "an input with a text", "\x08\6\x12\x0e\n\x0c\n\1x\x12\7*\5\n\3\1\2\3Z", 20, true },
		{ "an output", "\x08\1\x12\5R\3\n\1x\xa2\x1f\1x", 13, true },
		{ "functions", "\x08\x09\x12\x86\1\xa2\1\x80\1\n\4main", 14, true },
		{ "SavedModel, operations first", "\x08\1\x12\xd8\x8d\1\n\xb5\x19\x12\xe4\x18\n;\n\5", 17,
		  false },
		{ "SavedModel, tags first", "\x08\1\x12\xd8\x8d\1\n\x0c\"\5serve*\3", 16, false },
		{ "SavedModel, a version first", "\x08\1\x12\xd8\x8d\1\n\x0c\n\2v1\"\5serve*\3", 20, false },
		{ "ONNX", "\x08\x07\x12\7pytorch\x1a\3", 13, false },
		{ "a name of control characters", "\x08\6\x12\7\n\5\n\3\1\2\3Z", 12, false },
	};
	size_t i;

	for (i = 0; i < sizeof list / sizeof *list; i++)
		test_ok(format_coreml.probe((const uint8_t *)list[i].head, list[i].n) == list[i].is,
		        "%s", list[i].about);
}

int
main(void)
{
	constants_are_weights_or_arguments();
	affine_values();
	blockwise_values();
	lists_of_values();
	tables_of_values();
	sparse_values();
	sparse_tables();
	sparse_blocks();
	made_of_made_values();
	faults_are_named();
	try_cuts("program", &format_coreml, &usual, mother, false);
	packages_are_folders();
	content_decides();
	return test_done();
}
