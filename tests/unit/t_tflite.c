/* Files of TensorFlow Lite, and files with one fault each. */
#include "imports.h"

#include "../gen/tflite.h"
#include "imports/tflite/tflite.h"
#include "imports/torch/torch.h"

static const struct format_choice chosen[] = { { &torch_options[TORCH_DENSE], "" } };
static const struct format_options usual, dense = { .own = chosen, .own_count = 1 };

/* The text of a key, or NULL. */
static const char *
text_of(const struct brought *b, const char *key, size_t *n)
{
	const struct model *m = b->source->plan;
	size_t i;

	for (i = 0; i < m->meta_count; i++)
		if (strcmp(m->meta[i].key, key) == 0 && m->meta[i].wire_bytes >= 8) {
			const size_t head = m->meta[i].type.leaf == VALUE_JSON ? 0
			                  : m->meta[i].type.depth ? 20 : 8;

			*n = m->meta[i].wire_bytes - head;
			return (const char *)m->meta[i].wire + head;
		}
	return NULL;
}

static bool
has_text(const struct brought *b, const char *key, const char *want)
{
	size_t n = 0;
	const char *text = text_of(b, key, &n);

	if (text && n == strlen(want) && memcmp(text, want, n) == 0)
		return true;
	printf("# %s: %.*s\n", key, text ? (int)n : 4, text ? text : "none");
	return false;
}

static bool
has_bytes(const struct brought *b, const char *name, const char *type, const char *shape,
          const char *bytes, size_t n)
{
	struct gen want = { 0 };
	bool r;

	put(&want, bytes, n);
	r = holds(b, name, type, shape, &want);
	gen_free(&want);
	return r;
}

static void
tensors_and_keys(bool pipe)
{
	struct gen g = { 0 };
	struct brought b;

	made_tflite(&g);
	if (!test_ok(bring(&b, &format_tflite, g.p, g.n, &usual, pipe) == 0 &&
	             b.source->plan->tensor_count == 5, "%s: %s", pipe ? "pipe" : "file", b.err.fact)) {
		let_go(&b);
		gen_free(&g);
		return;
	}
	test_ok(has_bytes(&b, "w", "I8", "2x3", "\1\2\3\4\5\6", 6), "a matrix of INT8");
	test_ok(has_bytes(&b, "b", "I32", "2", "\1\0\0\0\376\377\377\377", 8), "a vector of INT32");
	test_ok(has_bytes(&b, "nibbles", "I8", "3", "\xff\xf8\7", 3),
	        "INT4, the first value in the low bits, becomes I8");
	test_ok(has_bytes(&b, "w#4", "F32", "scalar", "\0\0\x80\x3f", 4),
	        "a name that is used again gets the number of its tensor");
	test_ok(has_bytes(&b, "body/k", "F16", "2", "\0\x3c\0\xc0", 4),
	        "a tensor of the second subgraph, with bytes behind the tables");
	test_ok(has_text(&b, "tflite.tensors", "{\"w\":{\"scale\":0.5,\"zero_point\":0,\"layout\":"
	                 "\"OI\"},\"b\":{\"scale\":[0.25,0.100000001],\"zero_point\":[0,-3],"
	                 "\"axis\":0},\"nibbles\":{\"type\":\"INT4\"}}"),
	        "scales, zero points, axis, layout and type are in one key");
	test_ok(has_text(&b, "tflite.graph.inputs", "x: INT8 [1, 3], scale 0.5, zero point 0"),
	        "an input");
	test_ok(has_text(&b, "tflite.graph.outputs", "y: FLOAT32 [1, 2]"), "an output");
	test_ok(has_text(&b, "tflite.metadata.note", "hello"), "metadata that is text");
	test_ok(strcmp(noted, "left out: 1 part of metadata that is not text\n"
	                      "left out: 1 tensor of texts\nleft out: 1 operator\n") == 0,
	        "what is left out is counted");
	let_go(&b);
	gen_free(&g);
}

static const struct fault faults[] = {
	{ "another identifier", 4, "identifier", TEXT("id", "TFLX"), { 0 } },
	{ "version 2", 4, "version 2 of the schema", SET32("version", 2), { 0 } },
	{ "a root beyond the end", 4, "leads beyond the end", SET8("id", 'T'), ADD32("graphs_at", 1 << 20) },
	{ "an offset of 0", 4, "leads beyond the end", SET32("graphs_at", 0), { 0 } },
	{ "an offset of 2^32 - 1", 4, "leads beyond the end", SET32("graphs_at", 0xffffffff), { 0 } },
	{ "subgraphs beyond the end", 4, "a vector ends beyond the end", SET32("graphs", 1 << 20), { 0 } },
	{ "2^32 - 1 subgraphs", 4, "a vector ends beyond the end", SET32("graphs", 0xffffffff), { 0 } },
	{ "2^30 tensors", 4, "a vector ends beyond the end", SET32("tensors", 1 << 30), { 0 } },
	{ "buffers beyond the end", 4, "a vector ends beyond the end", SET32("buffers", 1 << 24), { 0 } },
	{ "one buffer", 4, "refers to buffer", SET32("buffers", 1), { 0 } },
	{ "a vtable before the beginning", 4, "a vtable lies before", SET32("tensor", 0x7fffffff), { 0 } },
	{ "a vtable beyond the end", 4, "a vtable lies b", SET32("tensor", 0x80000000), { 0 } },
	{ "a vtable of 2 bytes", 4, "sizes that are too small", SET8("vtable", 2), { 0 } },
	{ "a vtable of an odd size", 4, "sizes that are too small", SET8("vtable", 13), { 0 } },
	{ "a vtable that ends beyond the end", 4, "a vtable ends beyond", { EDIT_SET, "vtable", 0xfffe, 2, NULL, 0 }, { 0 } },
	{ "a field outside its table", 4, "a field lies outside", { EDIT_SET, "vtable", 4, 1, NULL, 0 }, TEXT("vtable", "\x0e\0\x06\0") },
	{ "a buffer that does not exist", 4, "refers to buffer 9 of 9", SET32("buffer", 9), { 0 } },
	{ "a buffer of another size", 4, "6 bytes in its buffer for 2 values", SET32("buffer", 1), { 0 } },
	{ "a type that is not known", 4, "type 99, which is not known", SET8("type", 99), { 0 } },
	{ "complex values", 4, "type COMPLEX64", SET8("type", 8), { 0 } },
	{ "a resource", 4, "type RESOURCE", SET8("type", 13), { 0 } },
	{ "a smaller type", 4, "8 bytes in its buffer for 2 values of type INT16", SET8("type", 7), { 0 } },
	{ "a negative dimension", 4, "too large or negative", SET32("dim", 0xffffffff), { 0 } },
	{ "a larger dimension", 4, "for 3 values", SET32("dim", 3), { 0 } },
	{ "a dimension of 0", 4, "for 0 values", SET32("dim", 0), { 0 } },
	{ "nine dimensions", 4, "has 9 dimensions", SET32("rank", 9), { 0 } },
	{ "2^30 dimensions", 4, "a vector ends beyond the end", SET32("rank", 1 << 30), { 0 } },
	{ "a name without an end", 4, "does not end with a zero", SET8("name_end", 'x'), { 0 } },
	{ "a name beyond the end", 4, "beyond the end", SET32("name_at", 1 << 20), { 0 } },
	{ "a quantization beyond the end", 4, "leads beyond the end", SET32("quantization_at", 1 << 20), { 0 } },
	{ "2^30 scales", 4, "a vector ends beyond the end", SET32("scales", 1 << 30), { 0 } },
	{ "bytes beyond the end", 4, "a vector ends beyond the end", SET32("bytes", 1 << 20), { 0 } },
	{ "a buffer behind the end", 4, "a buffer that ends beyond its end", SET64("outside", 1 << 20), { 0 } },
	{ "a buffer at 2^64 - 1", 4, "a buffer that ends beyond its end", SET64("outside", UINT64_MAX), { 0 } },
	{ "a buffer of 2^64 - 1 bytes", 4, "a buffer that ends beyond its end", SET64("outside_bytes", UINT64_MAX), { 0 } },
	{ "a buffer behind the tables that is too short", 4, "3 bytes in its buffer", SET64("outside_bytes", 3), { 0 } },
	{ "an input that does not exist", 4, "inputs or outputs that do not exist", SET32("input", 7), { 0 } },
	{ "metadata in a buffer that does not exist", 4, "refers to buffer 9", SET32("metadata_buffer", 9), { 0 } },
};

/* 5,000 tensors that are one table, whose name has 100,000 bytes: the budget ends it. */
static void
shared_tables(void)
{
	const struct fb_field model_fields[] = { { 4, 3 }, ABSENT, OFFSET, ABSENT, OFFSET };
	const struct fb_field graph_fields[] = { OFFSET };
	const struct fb_field tensor_fields[] = { ABSENT, { 1, 9 }, { 4, 1 }, OFFSET };
	const struct fb_field empty[] = { ABSENT }, inside[] = { OFFSET };
	struct gen g = { 0 };
	struct brought b;
	size_t model, list, table, buffers, i, by;

	put_u32(&g, 0);
	put_text(&g, "TFL3");
	model = fb_table(&g, model_fields, 5);
	g.p[0] = (uint8_t)model;
	buffers = fb_vector(&g, model, 4, 2);
	fb_member(&g, buffers, 0, empty, 0);
	table = fb_member(&g, buffers, 1, inside, 1);
	fb_point(&g, fb_slot(&g, table, 0));
	put_u32(&g, 1);
	put_u8(&g, 7);
	list = fb_vector(&g, model, 2, 1);
	table = fb_member(&g, list, 0, graph_fields, 1);
	list = fb_vector(&g, table, 0, 5000);
	table = fb_member(&g, list, 0, tensor_fields, 4);
	for (i = 1; i < 5000; i++) {
		by = table - (list + 4 * i);
		g.p[list + 4 * i] = (uint8_t)by;
		g.p[list + 4 * i + 1] = (uint8_t)(by >> 8);
	}
	put_align(&g, 4);
	fb_point(&g, fb_slot(&g, table, 3));
	put_u32(&g, 100000);
	put_fill(&g, 'n', 100000);
	put_u8(&g, 0);
	bring(&b, &format_tflite, g.p, g.n, &usual, false);
	test_ok(b.err.code == ERR_CORRUPT && strstr(b.err.fact, "refers to the same bytes too often"),
	        "5,000 tensors with one name of 100,000 bytes: %s", b.err.fact);
	let_go(&b);
	gen_free(&g);
}

/* ---- sparse tensors ---- */

#define ALL(N) { .size = N }
#define SOME(WIDTH, S, I, ...) { true, 0, WIDTH, S, I, __VA_ARGS__ }

static const struct fb_sparse blocks = { 2, 4, 2, { 4, 4 }, { 0, 1, 2, 3 }, { 0, 1 },
	{ ALL(2), SOME(4, 3, 2, { 0, 1, 2 }, { 1, 0 }), ALL(2), ALL(2) }, 9, "\1\2\3\4\5\6\7\10", 8 };

static const struct {
	const char *what, *type, *shape, *want;
	size_t n;
	struct fb_sparse file;
} sparse[] = {
	{ "rows", "I8", "2x3", "\0\1\0\2\0\3", 6, { 2, 2, 0, { 2, 3 }, { 0, 1 }, { 0 },
	  { ALL(2), SOME(4, 3, 3, { 0, 1, 3 }, { 1, 0, 2 }) }, 9, "\1\2\3", 3 } },
	{ "columns", "I8", "2x3", "\0\1\0\2\0\3", 6, { 2, 2, 0, { 2, 3 }, { 1, 0 }, { 0 },
	  { ALL(3), SOME(2, 4, 3, { 0, 1, 2, 3 }, { 1, 0, 1 }) }, 9, "\2\1\3", 3 } },
	{ "blocks", "I8", "4x4", "\0\0\1\2\0\0\3\4\5\6\0\0\7\10\0\0", 16, { 2, 4, 2, { 4, 4 }, { 0, 1, 2, 3 },
	  { 0, 1 }, { ALL(2), SOME(1, 3, 2, { 0, 1, 2 }, { 1, 0 }), ALL(2), ALL(2) }, 9, "\1\2\3\4\5\6\7\10", 8 } },
	{ "blocks by columns", "I8", "4x4", "\0\0\1\2\0\0\3\4\5\6\0\0\7\10\0\0", 16, { 2, 4, 2, { 4, 4 },
	  { 0, 1, 3, 2 }, { 0, 1 }, { ALL(2), SOME(1, 3, 2, { 0, 1, 2 }, { 1, 0 }), ALL(2), ALL(2) }, 9,
	  "\1\3\2\4\5\7\6\10", 8 } },
	{ "blocks of one dimension", "I8", "2x4", "\1\2\0\0\0\0\3\4", 8, { 2, 3, 1, { 2, 4 }, { 0, 1, 2 }, { 1 },
	  { ALL(2), SOME(2, 3, 2, { 0, 1, 2 }, { 0, 1 }), ALL(2) }, 9, "\1\2\3\4", 4 } },
	{ "two sparse levels", "I8", "2x2x2", "\0\0\0\0\10\11\0\0", 8, { 3, 3, 0, { 2, 2, 2 }, { 0, 1, 2 }, { 0 },
	  { SOME(1, 2, 1, { 0, 1 }, { 1 }), SOME(4, 2, 1, { 0, 1 }, { 0 }), ALL(2) }, 9, "\10\11", 2 } },
	{ "empty segments", "U8", "4x2", "\0\0\0\7\0\0\0\0", 8, { 2, 2, 0, { 4, 2 }, { 0, 1 }, { 0 },
	  { ALL(4), SOME(4, 5, 1, { 0, 0, 1, 1, 1 }, { 1 }) }, 3, "\7", 1 } },
	{ "no values", "F32", "2", "\0\0\0\0\0\0\0\0", 8, { 1, 1, 0, { 2 }, { 0 }, { 0 },
	  { SOME(1, 2, 0, { 0, 0 }, { 0 }) }, 0, "\0\0\0\0", 4 } },
	{ "four bits", "I8", "2x3", "\0\1\0\376\0\3", 6, { 2, 2, 0, { 2, 3 }, { 0, 1 }, { 0 },
	  { ALL(2), SOME(4, 3, 3, { 0, 1, 3 }, { 1, 0, 2 }) }, 17, "\xe1\3", 2 } },
	{ "four bytes", "F32", "3", "\0\0\0\0\0\0\200\077\0\0\0\100", 12, { 1, 1, 0, { 3 }, { 0 }, { 0 },
	  { SOME(2, 2, 2, { 0, 2 }, { 1, 2 }) }, 0, "\0\0\200\077\0\0\0\100", 8 } },
};

static void
sparse_tensors(void)
{
	const struct format_options report = { .closed = true };
	struct brought b;
	struct gen g;
	size_t i;

	for (i = 0; i < sizeof sparse / sizeof *sparse; i++) {
		g = (struct gen){ 0 };
		put_tflite_sparse(&g, &sparse[i].file);
		if (i == 7) /* a buffer without bytes is a tensor without values: it is left out */
			test_ok(bring(&b, &format_tflite, g.p, g.n, &dense, false) < 0 &&
			        strstr(b.err.fact, "4 bytes in its buffer for 0 values"), "%s: %s",
			        sparse[i].what, b.err.fact);
		else
			test_ok(bring(&b, &format_tflite, g.p, g.n, &dense, i % 2) == 0 &&
			        has_bytes(&b, "w", sparse[i].type, sparse[i].shape, sparse[i].want, sparse[i].n),
			        "sparse: %s: %s", sparse[i].what, b.err.fact);
		let_go(&b);
		if (i == 0) {
			bring(&b, &format_tflite, g.p, g.n, &usual, false);
			test_ok(err_exit(&b.err) == 4 && strstr(b.err.fact, "is a sparse tensor") &&
			        strstr(b.err.hint, "--dense"), "without --dense: %s", b.err.fact);
			let_go(&b);
			test_ok(bring(&b, &format_tflite, g.p, g.n, &report, false) == 0 &&
			        strstr(noted, "tensors that apr-unpack refuses: 1"), "a report leaves it out");
			let_go(&b);
		}
		gen_free(&g);
	}
}

static void
make_blocks(struct gen *g)
{
	put_tflite_sparse(g, &blocks);
}

/* Of several levels, an edit changes the first one. */
static const struct fault sparse_faults[] = {
	{ "sparse: an order with a dimension twice", 4, "traversal does not fit", SET32("order", 1), { 0 } },
	{ "sparse: an order with a block in front", 4, "traversal does not fit", SET32("order", 2), { 0 } },
	{ "sparse: an order past the end", 4, "traversal does not fit", SET32("order", 4), { 0 } },
	{ "sparse: a negative order", 4, "traversal does not fit", SET32("order", 0xffffffff), { 0 } },
	{ "sparse: a block of a dimension that it lacks", 4, "blocks do not fit", SET32("map", 2), { 0 } },
	{ "sparse: two blocks of a dimension", 4, "blocks do not fit", SET32("map", 1), { 0 } },
	{ "sparse: one level less", 4, "levels do not fit", SET32("levels", 3), { 0 } },
	{ "sparse: a dense level of another size", 4, "levels do not fit", SET32("size", 3), { 0 } },
	{ "sparse: a dense level of 2^32 - 1", 4, "levels do not fit", SET32("size", 0xffffffff), { 0 } },
	{ "sparse: a level of unknown form", 4, "unknown form", SET8("dense_form", 2), { 0 } },
	{ "sparse: a level without segments", 4, "without segments", SET8("dense_form", 1), { 0 } },
	{ "sparse: numbers of unknown width", 4, "without segments", SET8("kind", 4), { 0 } },
	{ "sparse: narrower segments", 4, "segments do not fit", SET8("kind", 3), { 0 } },
	{ "sparse: segments that begin late", 4, "segments do not fit", SET32("segments", 1), { 0 } },
	{ "sparse: segments that end late", 4, "segments do not fit", TEXT("segments", "\0\0\0\0\1\0\0\0\3"), { 0 } },
	{ "sparse: segments that dip", 4, "segments are not in order", TEXT("segments", "\0\0\0\0\3\0\0\0"), { 0 } },
	{ "sparse: a negative segment", 4, "segments are not in order", TEXT("segments", "\0\0\0\0\377\377\377\377"), { 0 } },
	{ "sparse: an index past the end", 4, "out of range", SET32("indices", 2), { 0 } },
	{ "sparse: a negative index", 4, "out of range", SET32("indices", 0xffffffff), { 0 } },
	{ "sparse: two indices that are equal", 4, "not different", TEXT("segments", "\0\0\0\0\2\0\0\0"), SET32("indices", 0) },
	{ "sparse: another shape", 4, "levels do not fit", SET32("shape", 8), { 0 } },
	{ "sparse: a shape that blocks do not divide", 4, "blocks do not fit", SET32("shape", 5), { 0 } },
	{ "sparse: fewer bytes", 4, "7 bytes in its buffer for 8 values", SET32("bytes", 7), { 0 } },
	{ "sparse: a bomb", 4, "levels do not fit", SET32("shape", 0x7ffffffe), { 0 } },
};

static void
real_files(void)
{
	static const struct real files[] = {
		{ "hello_world/hello_world_float.tflite", 6, 0xc2668a58 },
		{ "hello_world/hello_world_int8.tflite", 6, 0xa45871ca },
		{ "kwt1/non_stream.tflite", 196, 0x9f65305a },
		{ "micro_speech/audio_preprocessor_float.tflite", 14, 0xd5176be9 },
		{ "micro_speech/audio_preprocessor_int8.tflite", 18, 0x51930bc6 },
		{ "micro_speech/micro_speech_quantized.tflite", 5, 0xfdcc4ec9 },
		{ "mlperf_tiny/ad01_fp32.tflite", 20, 0xa6776b5e },
		{ "mlperf_tiny/ad01_int8.tflite", 20, 0xe2a2172e },
		{ "mlperf_tiny/kws_ref_model.tflite", 21, 0xa987150d },
		{ "mlperf_tiny/kws_ref_model_float32.tflite", 21, 0x82a18c9a },
		{ "mlperf_tiny/pretrainedResnet.tflite", 21, 0x4d460714 },
		{ "mlperf_tiny/pretrainedResnet_quant.tflite", 21, 0x215c76fd },
		{ "mlperf_tiny/str_ww_ref_model.tflite", 19, 0x27ade98b },
		{ "mlperf_tiny/vww_96_float.tflite", 57, 0x5bf51806 },
		{ "mlperf_tiny/vww_96_int8.tflite", 57, 0x4dcf2ddd },
		{ "person_detect/person_detect.tflite", 57, 0x5737cb5a },
	};

	try_real(&format_tflite, "tflite", files, sizeof files / sizeof *files);
}

int
main(void)
{
	real_files();
	tensors_and_keys(false);
	tensors_and_keys(true);
	try_faults(&format_tflite, &usual, made_tflite, faults, sizeof faults / sizeof *faults);
	try_cuts("the file", &format_tflite, &usual, made_tflite, false);
	sparse_tensors();
	try_faults(&format_tflite, &dense, make_blocks, sparse_faults,
	           sizeof sparse_faults / sizeof *sparse_faults);
	try_cuts("a sparse file", &format_tflite, &dense, make_blocks, false);
	shared_tables();
	return test_done();
}
