/* t_tensorflow_graph: graphs of TensorFlow: constants of each type, what uses them, the side file,
 * and faults. */
#include "imports.h"

#include "../gen/tensorflow.h"

static const struct format_options usual;
static const float six[] = { 1, 2, 3, 4, 5, 6 };

static void
is(const struct brought *b, const char *name, const char *type, const char *shape, const void *p,
   size_t n)
{
	struct gen want = { 0 };

	put(&want, p, n);
	test_ok(b->source && holds(b, name, type, shape, &want), "%s: %s", name, b->err.fact);
	gen_free(&want);
}

/* The beginning of a TensorProto. */
static void
begin_tensor(struct gen *tensor, unsigned type, unsigned ndim, const uint64_t *dims)
{
	put_u8(tensor, 0x08);
	mark(tensor, "type");
	put_u8(tensor, (uint8_t)type);
	put_shape(tensor, 2, ndim, dims);
}

/* ---- types ---- */

/* Two values of each type: as bytes, and as what the field of the type holds. */
static const struct {
	unsigned number;
	const char *type;
	uint32_t field;
	const char *bytes, *packed;
	size_t n, packed_n;
} types[] = {
#define ROW(NUMBER, TYPE, FIELD, BYTES, PACKED) \
	{ NUMBER, TYPE, FIELD, BYTES, PACKED, sizeof BYTES - 1, sizeof PACKED - 1 }
	ROW(1, "F32", 5, "\0\0\x80\x3f\0\0\0\xc0", "\0\0\x80\x3f\0\0\0\xc0"),
	ROW(2, "F64", 6, "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0", "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0"),
	ROW(3, "I32", 7, "\5\0\0\0\xff\xff\xff\xff", "\5\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"),
	ROW(4, "U8", 7, "\5\xff", "\5\xff\1"),
	ROW(5, "I16", 7, "\5\0\xfe\xff", "\5\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1"),
	ROW(6, "I8", 7, "\5\xfe", "\5\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1"),
	ROW(8, "C64", 9, "\0\0\x80\x3f\0\0\0\xc0\0\0\0\0\0\0\0\x40",
	    "\0\0\x80\x3f\0\0\0\xc0\0\0\0\0\0\0\0\x40"),
	ROW(9, "I64", 10, "\5\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
	    "\5\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"),
	ROW(10, "BOOL", 11, "\1\0", "\1\0"),
	ROW(11, "I8", 7, "\5\x80", "\5\x80\xff\xff\xff\xff\xff\xff\xff\xff\1"),
	ROW(12, "U8", 7, "\5\x80", "\5\x80\1"),
	ROW(13, "I32", 7, "\5\0\0\0\6\0\0\0", "\5\6"),
	ROW(14, "BF16", 13, "\x80\x3f\0\x40", "\x80\x7f\x80\x80\1"),
	ROW(15, "I16", 7, "\5\0\6\0", "\5\6"),
	ROW(16, "U16", 7, "\5\0\xff\xff", "\5\xff\xff\3"),
	ROW(17, "U16", 7, "\5\0\xff\xff", "\5\xff\xff\3"),
	ROW(19, "F16", 13, "\0\x3c\0\x40", "\x80\x78\x80\x80\1"),
	ROW(22, "U32", 16, "\5\0\0\0\xff\xff\xff\xff", "\5\xff\xff\xff\xff\x0f"),
	ROW(23, "U64", 17, "\5\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
	    "\5\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"),
	ROW(24, "F8_E5M2", 18, "\x3c\x40", "\x3c\x40"),
	ROW(25, "F8_E4M3", 18, "\x38\x40", "\x38\x40"),
	ROW(29, "I8", 7, "\5\xfe", "\5\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1"),
	ROW(30, "U8", 7, "\5\x0f", "\5\x0f"),
	ROW(31, "I8", 7, "\1\xfe", "\1\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1"),
	ROW(32, "U8", 7, "\1\3", "\1\3"),
#undef ROW
};

static void
each_type_is_read(void)
{
	static const uint64_t two[] = { 2 };
	struct gen graph = { 0 }, tensor = { 0 };
	struct brought b;
	char name[16];
	size_t i;

	for (i = 0; i < sizeof types / sizeof *types; i++) {
		snprintf(name, sizeof name, "content%u", types[i].number);
		begin_tensor(&tensor, types[i].number, 1, two);
		put_bytes(&tensor, 4, types[i].bytes, types[i].n);
		put_constant(&graph, 1, name, &tensor);
		snprintf(name, sizeof name, "field%u", types[i].number);
		begin_tensor(&tensor, types[i].number, 1, two);
		put_bytes(&tensor, types[i].field, types[i].packed, types[i].packed_n);
		put_constant(&graph, 1, name, &tensor);
	}
	graph.mark_count = 0;
	test_ok(bring(&b, &format_tensorflow, graph.p, graph.n, &usual, false) == 0, "all types: %s",
	        b.err.fact);
	for (i = 0; i < sizeof types / sizeof *types; i++) {
		snprintf(name, sizeof name, "content%u", types[i].number);
		is(&b, name, types[i].type, "2", types[i].bytes, types[i].n);
		snprintf(name, sizeof name, "field%u", types[i].number);
		is(&b, name, types[i].type, "2", types[i].bytes, types[i].n);
	}
	let_go(&b);
	gen_free(&graph);
}

/* The last value fills the shape; without values it is zero. Numbers need not be packed. */
static void
values_are_repeated(void)
{
	static const uint64_t five[] = { 5 }, many[] = { 1 << 20, 1 << 20 };
	struct gen graph = { 0 }, tensor = { 0 };
	struct brought b;

	begin_tensor(&tensor, 3, 1, five);
	put_int(&tensor, 7, 8);
	put_int(&tensor, 7, 9);
	put_constant(&graph, 1, "repeated", &tensor);
	begin_tensor(&tensor, 6, 1, five);
	put_constant(&graph, 1, "zeros", &tensor);
	begin_tensor(&tensor, 25, 1, five);
	put_bytes(&tensor, 18, "\1\2", 2);
	put_constant(&graph, 1, "eights", &tensor);
	begin_tensor(&tensor, 1, 0, NULL);
	put_bytes(&tensor, 5, six, 4);
	put_constant(&graph, 1, "scalar", &tensor);
	bring(&b, &format_tensorflow, graph.p, graph.n, &usual, true);
	is(&b, "repeated", "I32", "5", "\x08\0\0\0\x09\0\0\0\x09\0\0\0\x09\0\0\0\x09\0\0\0", 20);
	is(&b, "zeros", "I8", "5", "\0\0\0\0", 5);
	is(&b, "eights", "F8_E4M3", "5", "\1\2\2\2\2", 5);
	is(&b, "scalar", "F32", "scalar", six, 4);
	let_go(&b);
	begin_tensor(&tensor, 1, 2, many);
	put_bytes(&tensor, 5, six, 4);
	put_constant(&graph, 1, "bomb", &tensor);
	bring(&b, &format_tensorflow, graph.p, graph.n, &usual, false);
	test_ok(b.err.code == ERR_CORRUPT && strstr(b.err.fact, "repeats a value"), "a bomb: %s",
	        b.err.fact);
	let_go(&b);
	gen_free(&graph);
}

/* ---- what uses constants ---- */

static void
put_weights(struct gen *graph, uint32_t field, const char *name, unsigned ndim)
{
	static const uint64_t dims[] = { 1, 2, 3, 1 };
	struct gen tensor = { 0 };

	begin_tensor(&tensor, 1, ndim, ndim == 2 ? dims + 1 : dims);
	put_bytes(&tensor, 4, six, 24);
	put_constant(graph, field, name, &tensor);
}

/* A matrix behind Identity, one that is transposed, a kernel, a function with its own names. */
static void
put_uses(struct gen *graph)
{
	static const char *const passed[] = { "w", "^x", NULL }, *const product[] = { "x", "w/read:0", NULL };
	static const char *const turned[] = { "x", "turned", NULL }, *const conv[] = { "x", "kernel", NULL };
	static const char *const circle[] = { "b", NULL }, *const round[] = { "a", NULL };
	static const char *const cycle[] = { "x", "a", NULL }, *const inner[] = { "x", "w:output:0", NULL };
	struct gen node = { 0 }, value = { 0 }, library = { 0 }, function = { 0 };

	put_weights(graph, 1, "w", 2);
	put_node(graph, 1, "w/read", "Identity", passed);
	put_node(graph, 1, "product", "MatMul", product);
	put_weights(graph, 1, "turned", 2);
	begin_node(&node, "product_1", "MatMul");
	put_bytes(&node, 3, turned[0], 1);
	put_bytes(&node, 3, turned[1], strlen(turned[1]));
	put_int(&value, 5, 1);
	put_attribute(&node, "transpose_b", &value);
	put_message(graph, 1, &node);
	put_weights(graph, 1, "kernel", 4);
	put_node(graph, 1, "conv", "Conv2D", conv);
	put_node(graph, 1, "a", "Identity", circle);
	put_node(graph, 1, "b", "Identity", round);
	put_node(graph, 1, "product_2", "MatMul", cycle);
	put_bytes(&value, 1, "f", 1);
	put_message(&function, 1, &value);
	put_weights(&function, 3, "w", 2);
	put_node(&function, 3, "conv", "Conv2D", inner); /* of other dimensions */
	put_message(&library, 1, &function);
	put_message(graph, 2, &library);
	graph->mark_count = 0;
}

static void
uses_tell_the_layout(void)
{
	static const uint64_t one[] = { 1 };
	struct gen graph = { 0 }, tensor = { 0 };
	const struct meta *key;
	struct brought b;

	put_uses(&graph);
	begin_tensor(&tensor, 7, 1, one);
	put_bytes(&tensor, 8, "text", 4);
	put_constant(&graph, 1, "words", &tensor);
	begin_tensor(&tensor, 18, 1, one);
	put_constant(&graph, 1, "complex", &tensor);
	test_ok(bring(&b, &format_tensorflow, graph.p, graph.n, &usual, false) == 0, "%s", b.err.fact);
	is(&b, "w", "F32", "2x3", six, 24);
	is(&b, "f/w", "F32", "2x3", six, 24);
	is(&b, "kernel", "F32", "1x2x3x1", six, 24);
	key = b.source ? model_find(b.source->plan, "tensorflow.tensors") : NULL;
	test_ok(key && key->wire_bytes > 8 && strcmp((char *)key->wire, "{\"w\":{\"layout\":\"IO\"},"
	        "\"turned\":{\"layout\":\"OI\"},\"kernel\":{\"layout\":\"HWIO\"}}") == 0, "layouts: %s",
	        key ? (char *)key->wire : "");
	test_ok(strstr(noted, "1 tensor of texts") && strstr(noted, "complex of type COMPLEX128"),
	        "notes");
	let_go(&b);
	gen_free(&graph);
}

/* ---- the side file ---- */

/* The body of a side file. */
static void
read_side(const uint8_t *p, size_t n, struct buf *body)
{
	struct brought b = { .err = ERR_INIT };
	const uint8_t *piece;
	struct reader r;
	struct item item;
	size_t bytes = 1;

	reader_memory(&r, p, n, "in", &b.err);
	b.source = format_tensorflow.reads->open(&r, &usual, note, &b.err);
	while (b.source && source_next(b.source, &item, &b.err) > 0)
		for (bytes = 1; bytes > 0 && source_read(b.source, &piece, &bytes, &b.err) == 0;)
			if (item.kind == ITEM_BLOB && strcmp(b.source->plan->blobs[item.index].name,
			                                     "tensorflow.graph") == 0)
				buf_put(body, piece, bytes);
	source_close(b.source);
}

static uint64_t
number(const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	while (n-- > 0)
		v = v << 8 | p[n];
	return v;
}

static void
side_file_and_tensors_are_the_file(void)
{
	struct buf side = { 0 }, back = { 0 };
	struct gen graph = { 0 };
	struct brought b;
	const uint8_t *p;
	uint64_t cuts, i, at = 0, rest;

	put_uses(&graph);
	read_side(graph.p, graph.n, &side);
	bring(&b, &format_tensorflow, graph.p, graph.n, &usual, false);
	p = side.p;
	test_ok(side.n > 24 && memcmp(p, "TFGRCUT1", 8) == 0 && number(p + 8, 8) == graph.n, "a head");
	cuts = number(p + 16, 8);
	for (rest = 24, i = 0; i < cuts; i++)
		rest += 24 + number(p + rest + 20, 4);
	for (p += 24, i = 0; i < cuts; i++) {
		const uint64_t offset = number(p, 8);
		char name[64] = { 0 };
		size_t k;

		memcpy(name, p + 24, (size_t)number(p + 20, 4));
		buf_put(&back, side.p + rest, (size_t)(offset - at));
		rest += offset - at;
		k = number_of(&b, name);
		if (k != SIZE_MAX)
			buf_put(&back, b.bodies[k].p, b.bodies[k].n);
		at = offset + number(p + 8, 8);
		p += 24 + number(p + 20, 4);
	}
	buf_put(&back, side.p + rest, (size_t)(side.n - rest));
	test_ok(cuts == 4 && back.n == graph.n && memcmp(back.p, graph.p, graph.n) == 0,
	        "the side file and the tensors are the file");
	let_go(&b);
	buf_free(&side);
	buf_free(&back);
	gen_free(&graph);
}

/* ---- SavedModel ---- */

static void
models_without_variables_are_graphs(void)
{
	static const char *const none[] = { NULL };
	struct gen graph = { 0 }, g = { 0 };
	struct brought b;

	put_uses(&graph);
	put_saved(&g, &graph, "words.txt");
	test_ok(bring(&b, &format_tensorflow, g.p, g.n, &usual, true) == 0, "from a pipe: %s", b.err.fact);
	is(&b, "w", "F32", "2x3", six, 24);
	test_ok(b.source && model_find(b.source->plan, "tensorflow.version") &&
	        model_find(b.source->plan, "tensorflow.tags") &&
	        model_find(b.source->plan, "tensorflow.signatures") && strstr(noted, "1 asset"), "keys");
	let_go(&b);
	gen_free(&g);
	put_weights(&graph, 1, "w", 2);
	put_node(&graph, 1, "v", "VarHandleOp", none);
	put_saved(&g, &graph, NULL);
	bring(&b, &format_tensorflow, g.p, g.n, &usual, true);
	test_ok(b.err.code == ERR_FORMAT && strstr(b.err.fact, "from a pipe"), "variables elsewhere");
	let_go(&b);
	gen_free(&g);
	put_int(&g, 1, 2);
	put_bytes(&g, 2, "", 0);
	put_fill(&g, 0, 8);
	bring(&b, &format_tensorflow, g.p, g.n, &usual, false);
	test_ok(b.err.code == ERR_FORMAT, "another version: %s", b.err.fact);
	let_go(&b);
	gen_free(&g);
}

/* ---- faults ---- */

/* A constant with a mark at each of its fields. */
static void
mother(struct gen *g)
{
	static const char *const none[] = { NULL };
	struct gen tensor = { 0 }, node = { 0 }, value = { 0 }, entry = { 0 };

	put_node(g, 1, "input", "Placeholder", none);
	put_u8(&tensor, 0x08);
	mark(&tensor, "type");
	put_u8(&tensor, 1);
	mark(&tensor, "shape");
	put(&tensor, "\x12\x08\x12\2\x08\2\x12\2\x08\3", 10);
	mark(&tensor, "content");
	put_bytes(&tensor, 4, six, 24);
	mark(&tensor, "more");
	put(&tensor, "\x18\0\x18\0\x18\x80\0", 7); /* version_number */
	put_varint(&value, 8 << 3 | 2);
	put_varint(&value, tensor.n);
	put_marked(&value, &tensor);
	put_bytes(&entry, 1, "value", 5);
	put_varint(&entry, 2 << 3 | 2);
	put_varint(&entry, value.n);
	put_marked(&entry, &value);
	put_varint(&node, 1 << 3 | 2);
	put_varint(&node, 4);
	mark(&node, "name");
	put_text(&node, "name");
	put_bytes(&node, 2, "Const", 5);
	put_varint(&node, 5 << 3 | 2);
	mark(&node, "attribute");
	put_varint(&node, entry.n);
	put_marked(&node, &entry);
	put_varint(g, 1 << 3 | 2);
	mark(g, "node");
	put_varint(g, node.n);
	put_marked(g, &node);
	put_bytes(g, 4, "\x08\x16", 2);
}

static const struct fault faults[] = {
	{ "an unknown type", 4, "type 99, which is not known", SET8("type", 99), { 0 } },
	{ "a type of another size", 4, "is that of 6 values of type DOUBLE", SET8("type", 2), { 0 } },
	{ "fewer bytes", 4, "has 24 bytes", TEXT("shape", "\x12\x08\x12\2\x08\3"), { 0 } },
	{ "an unknown rank", 4, "its shape is not known", TEXT("shape", "\x12\x08\x18\1"), { 0 } },
	{ "values in two fields", 4, "in two fields", TEXT("more", "\x2d\0\0\0\0\x18\0"), { 0 } },
	{ "values of another type", 4, "field of another type", TEXT("more", "\x38\1\x38\1"), { 0 } },
	{ "a tensor beyond its node", 4, "length", SET8("attribute", 0x7f), { 0 } },
	{ "a node beyond the file", 4, "length", SET8("node", 0x7f), { 0 } },
	{ "a name with a NUL", 4, "has a NUL", SET8("name", 0), { 0 } },
	{ "a name that is not text", 4, "", SET8("name", 0xff), { 0 } },
	{ "a group", 4, "a field of form 3", SET8("more", 0x1b), { 0 } },
	{ "a tail", 4, "", { 0 }, TAIL("\1") },
};

static void
try_shape(const char *about, unsigned ndim, const uint64_t *dims, const char *says)
{
	struct gen graph = { 0 }, tensor = { 0 };
	struct brought b;

	begin_tensor(&tensor, 1, ndim, dims);
	put_constant(&graph, 1, "name", &tensor);
	bring(&b, &format_tensorflow, graph.p, graph.n, &usual, false);
	test_ok(err_exit(&b.err) == 4 && strstr(b.err.fact, says), "%s: %s", about, b.err.fact);
	let_go(&b);
	gen_free(&graph);
}

static void
try_numbers(const char *about, unsigned type, uint32_t field, const char *packed, size_t n,
            const char *says)
{
	static const uint64_t two[] = { 2 };
	struct gen graph = { 0 }, tensor = { 0 };
	struct brought b;

	begin_tensor(&tensor, type, 1, two);
	put_bytes(&tensor, field, packed, n);
	put_constant(&graph, 1, "name", &tensor);
	bring(&b, &format_tensorflow, graph.p, graph.n, &usual, false);
	test_ok(err_exit(&b.err) == 4 && strstr(b.err.fact, says), "%s: %s", about, b.err.fact);
	let_go(&b);
	gen_free(&graph);
}

static void
faults_are_named(void)
{
	static const char *const none[] = { NULL };
	static const uint64_t ones[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 }, unknown[] = { UINT64_MAX };
	static const uint64_t large[] = { INT64_MAX, INT64_MAX }, empty[] = { INT64_MAX, 8, 0, INT64_MAX };
	struct gen g = { 0 };
	struct brought b;

	try_shape("nine dimensions", 9, ones, "more than 8 dimensions");
	try_shape("an unknown dimension", 1, unknown, "a dimension that is not known");
	try_shape("a large shape", 2, large, "too many values");
	try_shape("a large shape without values", 4, empty, "too many values");
	try_faults(&format_tensorflow, &usual, mother, faults, sizeof faults / sizeof *faults);
	try_cuts("a graph", &format_tensorflow, &usual, mother, true);
	try_numbers("too many values", 3, 7, "\1\2\3", 3, "has 3 values, its shape is that of 2");
	try_numbers("a number that is too large", 4, 7, "\1\x80\2", 3, "has a value 256 of type UINT8");
	try_numbers("a truth value of 2", 10, 11, "\2", 1, "has a value 2 of type BOOL");
	try_numbers("half of a number", 8, 9, "\0\0\0\0", 4, "half of a complex number");
	try_numbers("a number cut short", 1, 5, "\0\0\0", 3, "inside a number");
	put_node(&g, 1, "only", "Placeholder", none);
	bring(&b, &format_tensorflow, g.p, g.n, &usual, false);
	test_ok(b.err.code == ERR_FORMAT && strstr(b.err.fact, "without values"), "no values");
	let_go(&b);
	gen_free(&g);
}

/* ---- the probe ---- */

static void
content_decides(void)
{
	static const struct { const char *about, *head; size_t n; bool is; } list[] = {
		{ "a node", "\n<\n\1X\x12\x0bPlaceholder*\x0b\n\5dtype\x12\0020\1", 28, true },
		{ "a node with a long name", "\n\x90\1\n\x50layer_with_a_long_name/and_more/and_more/and_more"
		  "/and_more/a", 64, true },
		{ "functions first", "\x12\x20\n\x1e\n\x1c\n\x0e__inference_f_1", 23, true },
		{ "SavedModel, operations first", "\x08\1\x12\xa0\xdf\x11\n\xad\x16\x12\xfd\x15\n^\n\x10"
		  "AssignVariableOp\x12", 34, true },
		{ "SavedModel, tags first", "\x08\1\x12\xd8\x8d\1\n\x0c\"\5serve*\3", 18, true },
		{ "SavedModel, objects first", "\x08\1\x12\xdd\xa8\2:\xc3.\n\xb2\1\n\5\x12\1a\x08\1", 20, true },
		{ "a graph of a checkpoint", "\n\x84\x16\x12\xd4\x15\n:\n\3Add\x12\6\n\1x\"\1T", 21, true },
		{ "an index", "\0\0\6\x08\1\x1a\2\x08\1\0\1\x0b" "a\x08\1\x12\0", 17, true },
		{ "a compressed index", "\xc0\1\xf0m\0\0\6\x08\1\x1a\2\x08\1\x1c\x0e_CHECK", 22, true },
		{ "the latest checkpoint", "model_checkpoint_path: \"cp\"\n", 28, true },
		{ "Core ML", "\x08\1\x12\x0e\n\x0c\n\1x\x1a\7*\5\n\3\1\2\3Z", 20, false },
		{ "ONNX", "\x08\x07\x12\7pytorch\x1a\3", 13, false },
		{ "a model of Caffe", "\n\7CaffeNet\xa2\6\x1e\n\4data", 17, false },
		{ "a program of PaddlePaddle", "\n\xb2\5\x08\0\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\x1a", 17,
		  false },
		{ "text", "\n\nA text in lines\n\n", 19, false },
		{ "zeros", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, false },
	};
	uint8_t head[FORMAT_PROBE];
	size_t i;

	for (i = 0; i < sizeof list / sizeof *list; i++) {
		memset(head, 0, sizeof head);
		memcpy(head, list[i].head, list[i].n);
		test_ok(format_tensorflow.probe(head, sizeof head) == list[i].is, "%s", list[i].about);
	}
}

int
main(void)
{
	each_type_is_read();
	values_are_repeated();
	uses_tell_the_layout();
	side_file_and_tensors_are_the_file();
	models_without_variables_are_graphs();
	faults_are_named();
	content_decides();
	return test_done();
}
