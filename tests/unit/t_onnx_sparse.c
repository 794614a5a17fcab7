/* Sparse tensors of ONNX that --dense makes dense, and ones with a fault. */
#include "imports.h"

#include "../gen/onnx.h"
#include "imports/onnx/onnx.h"
#include "imports/torch/torch.h"

static const struct format_choice chosen[] = { { &torch_options[TORCH_DENSE], "" } };
static const struct format_options dense = { .own = chosen, .own_count = 1 };

#define SPARSE(VALUES, INDICES, SHAPE) \
	ONNX_MODEL("15:{1:{" VALUES " 8:\"s\"} 2:{" INDICES "} 3:" SHAPE "}")
#define TWO "1:2 2:1 4:f[1 2]"
#define LINEAR(N, LIST) "1:" N " 2:7 7:" LIST

/* Dense tensors as hexadecimal digits; "_" is four zero bytes. */
static const struct {
	const char *name, *text, *type, *shape, *bytes;
} sound[] = {
	{ "numbers of elements", SPARSE(TWO, LINEAR("2", "[1 4]"), "[2 3]"), "F32", "2x3",
	  "_0000803f__00000040_" },
	{ "coordinates", SPARSE(TWO, "1:2 1:2 2:7 7:[0 1 1 0]", "[2 3]"), "F32", "2x3",
	  "_0000803f_00000040__" },
	{ "raw data", SPARSE("1:2 2:1 9:<0000803f00000040>",
	                     "1:2 2:7 9:<00000000000000000500000000000000>", "[6]"), "F32", "6",
	  "0000803f____00000040" },
	{ "floats one by one", SPARSE("1:2 2:1 4:f1 4:f2", LINEAR("2", "[2 3]"), "4"), "F32", "4",
	  "__0000803f00000040" },
	{ "16 bits in 32", SPARSE("1:2 2:10 5:[15360 16384]", LINEAR("2", "[0 2]"), "4"), "F16", "4",
	  "003c00000040""0000" },
	{ "integers of 64 bits", SPARSE("1:1 2:7 7:[-1]", LINEAR("1", "[1]"), "2"), "I64", "2",
	  "__ffffffffffffffff" },
	{ "complex numbers", SPARSE("1:1 2:14 4:f[1 2]", LINEAR("1", "[1]"), "2"), "C64", "2",
	  "__0000803f00000040" },
	{ "8 bits of a type that becomes F16", SPARSE("1:1 2:18 9:<40>", LINEAR("1", "[1]"), "4"),
	  "F16", "4", "0000003c00000000" },
	{ "no values", SPARSE("1:0 2:1", "1:0 2:7", "2"), "F32", "2", "__" },
	{ "no dimension", SPARSE("1:0 2:1", "1:0 2:7", "[0 3]"), "F32", "0x3", "" },
	{ "in a node", ONNX_MODEL("1:{2:\"s\" 4:\"Constant\" 5:{1:\"sparse_value\" 22:{1:{" TWO "} 2:{"
	                          LINEAR("2", "[0 1]") "} 3:3} 20:11}}"), "F32", "3",
	  "0000803f00000040_" },
};

static const struct {
	const char *name, *text, *says;
	int exit;
} wrong[] = {
	{ "an index beyond the shape", SPARSE(TWO, LINEAR("2", "[1 6]"), "[2 3]"),
	  "the index 6, which its shape does not have", 4 },
	{ "an index below 0", SPARSE(TWO, LINEAR("2", "[-1 1]"), "[2 3]"), "the index -1", 4 },
	{ "a coordinate beyond its dimension", SPARSE(TWO, "1:2 1:2 2:7 7:[0 3 1 0]", "[2 3]"),
	  "the index 3", 4 },
	{ "an index twice", SPARSE(TWO, LINEAR("2", "[1 1]"), "[2 3]"), "do not ascend", 4 },
	{ "indices that descend", SPARSE(TWO, LINEAR("2", "[4 1]"), "[2 3]"), "do not ascend", 4 },
	{ "more values than the shape has", SPARSE(TWO, LINEAR("2", "[0 1]"), "1"),
	  "more values than its shape has", 4 },
	{ "values of an empty shape", SPARSE(TWO, LINEAR("2", "[0 1]"), "0"),
	  "more values than its shape has", 4 },
	{ "a shape of 2^64 values", SPARSE(TWO, LINEAR("2", "[0 1]"), "[4294967296 4294967296]"),
	  "impossible shape", 4 },
	{ "a dimension below 0", SPARSE(TWO, LINEAR("2", "[0 1]"), "-3"), "impossible shape", 4 },
	{ "a shape of 64 TiB", SPARSE(TWO, LINEAR("2", "[0 1]"), "17592186044416"),
	  "sparse tensors of more than", 4 },
	{ "no shape", ONNX_MODEL("15:{1:{" TWO " 8:\"s\"} 2:{" LINEAR("2", "[0 1]") "}}"),
	  "a sparse tensor of 0 dimensions", 4 },
	{ "nine dimensions", SPARSE(TWO, LINEAR("2", "[0 1]"), "[2 1 1 1 1 1 1 1 1]"),
	  "a sparse tensor of 9 dimensions", 4 },
	{ "values of 4 bits", SPARSE("1:2 2:22 9:<21>", LINEAR("2", "[0 1]"), "4"),
	  "a sparse tensor of INT4, which is not made dense", 4 },
	{ "no name", ONNX_MODEL("15:{1:{" TWO "} 2:{" LINEAR("2", "[0 1]") "} 3:4}"),
	  "a tensor without a name", 4 },
};

static void
put_expected(struct gen *g, const char *s)
{
	unsigned v;

	while (*s)
		if (*s == '_') {
			put_u32(g, 0);
			s++;
		} else if (sscanf(s, "%2x", &v) == 1) {
			put_u8(g, (uint8_t)v);
			s += 2;
		}
}

static void
test_sound(size_t i, bool pipe)
{
	struct gen g = { 0 }, want = { 0 };
	struct brought b;

	put_proto(&g, sound[i].text);
	put_expected(&want, sound[i].bytes);
	test_ok(bring(&b, &format_onnx, g.p, g.n, &dense, pipe) == 0 &&
	        b.source->plan->tensor_count == 1 &&
	        holds(&b, "s", sound[i].type, sound[i].shape, &want),
	        "%s%s %s", sound[i].name, pipe ? ", pipe" : "", b.err.fact);
	let_go(&b);
	gen_free(&g);
	gen_free(&want);
}

static void
test_wrong(size_t i, bool pipe)
{
	struct gen g = { 0 };
	struct brought b;

	put_proto(&g, wrong[i].text);
	bring(&b, &format_onnx, g.p, g.n, &dense, pipe);
	test_ok(b.err.code != ERR_NONE && err_exit(&b.err) == wrong[i].exit &&
	        strstr(b.err.fact, wrong[i].says), "%s%s: %s: %s", wrong[i].name,
	        pipe ? ", pipe" : "", b.err.object, b.err.fact);
	let_go(&b);
	gen_free(&g);
}

static void
put_part(struct gen *g, unsigned field, struct gen *part)
{
	put_varint(g, field << 3 | 2);
	put_varint(g, part->n);
	put(g, part->p, part->n);
	gen_free(part);
	*part = (struct gen){ 0 };
}

/* A tensor of 2^21 values, every STEP-th of them not 0: it comes in many pieces. */
#define STEP 1000
static void
put_large(struct gen *g)
{
	struct gen part = { 0 }, tensor = { 0 }, sparse = { 0 }, graph = { 0 };
	uint64_t i;
	float f;

	for (i = 7; i < 2 << 20; i += STEP) {
		f = (float)i;
		put(&part, &f, sizeof f);
	}
	put_proto(&tensor, "1:2098 2:1 8:\"s\"");
	put_part(&tensor, 9, &part);
	put_part(&sparse, 1, &tensor);
	for (i = 7; i < 2 << 20; i += STEP)
		put_u64(&part, i);
	put_proto(&tensor, "1:2098 2:7");
	put_part(&tensor, 9, &part);
	put_part(&sparse, 2, &tensor);
	put_proto(&sparse, "3:2097152");
	put_part(&graph, 15, &sparse);
	put_proto(g, "1:8 2:\"maker\" 8:{2:17}");
	put_part(g, 7, &graph);
}

static void
test_large(void)
{
	struct gen g = { 0 };
	struct brought b;
	size_t i, wrong_ones = 0;
	float f;

	put_large(&g);
	if (test_ok(bring(&b, &format_onnx, g.p, g.n, &dense, false) == 0 &&
	            b.bodies[0].n == sizeof f << 21, "a large one %s", b.err.fact)) {
		for (i = 0; i < 2 << 20; i++) {
			memcpy(&f, b.bodies[0].p + i * sizeof f, sizeof f);
			wrong_ones += i % STEP == 7 ? f != (float)i : f != 0;
		}
		test_ok(wrong_ones == 0, "all of its values, except %zu", wrong_ones);
	}
	let_go(&b);
	gen_free(&g);
}

int
main(void)
{
	size_t i;

	for (i = 0; i < 2 * (sizeof sound / sizeof *sound); i++)
		test_sound(i / 2, i % 2);
	for (i = 0; i < 2 * (sizeof wrong / sizeof *wrong); i++)
		test_wrong(i / 2, i % 2);
	test_large();
	return test_done();
}
