/* The side file of ONNX's importer: with the tensors it is the file again, byte for byte. */
#include "test.h"

#include <string.h>

#include "../gen/onnx.h"
#include "core/le.h"
#include "formats/format.h"
#include "imports/onnx/onnx.h"

/* ---- a model in memory ---- */

struct loaded {
	struct source *source;
	struct buf graph;
	struct buf *tensors;
};

static int
load(struct loaded *l, const uint8_t *p, size_t n, struct err *e)
{
	static const struct format_options options = { .from = &format_onnx };
	const struct format *which;
	struct reader r;
	struct item item;
	const uint8_t *part;
	size_t got;
	int more;

	*l = (struct loaded){ 0 };
	reader_memory(&r, p, n, "m", e);
	l->source = format_open(&r, &options, NULL, &which, e);
	if (!l->source)
		return -1;
	l->tensors = calloc(l->source->plan->tensor_count + 1, sizeof *l->tensors);
	while ((more = source_next(l->source, &item, e)) > 0) {
		struct buf other = { 0 }, *to = item.kind == ITEM_TENSOR ? &l->tensors[item.index]
			: strcmp(l->source->plan->blobs[item.index].name, ONNX_GRAPH) == 0
			  ? &l->graph : &other;

		do {
			if (source_read(l->source, &part, &got, e) < 0)
				return -1;
			buf_put(to, part, got);
		} while (got > 0);
		buf_free(&other);
	}
	return more;
}

static void
unload(struct loaded *l)
{
	size_t i;

	for (i = 0; l->source && i < l->source->plan->tensor_count; i++)
		buf_free(&l->tensors[i]);
	free(l->tensors);
	buf_free(&l->graph);
	source_close(l->source);
}

/* ---- the file again, from the description in onnx.h alone ---- */

/* The code of a value: the only one that decodes to it. */
static unsigned
code_of(const struct onnx_type *t, unsigned value)
{
	unsigned code = 0;

	while (code < 255 && (t->decode(code) & (t->type[0] == 'F' ? 0xffff : 0xff)) != value)
		code++;
	return code;
}

static void
put_codes(struct buf *b, const struct onnx_type *t, const struct buf *values, uint64_t bytes)
{
	const unsigned width = t->type[0] == 'F' ? 2 : 1, per = 8 / t->bits;
	size_t i, n = values->n / width;
	uint8_t byte = 0;

	for (i = 0; i < n || i % per; i++) {
		if (i < n)
			byte |= (uint8_t)(code_of(t, width == 2 ? le16(values->p + 2 * i)
			                          : values->p[i]) << i % per * t->bits);
		if (i % per == per - 1) {
			buf_u8(b, byte);
			byte = 0;
		}
	}
	(void)bytes;
}

static const struct buf *
tensor_named(const struct loaded *l, const uint8_t *name, size_t n)
{
	const struct model *m = l->source->plan;
	size_t i;

	for (i = 0; i < m->tensor_count; i++)
		if (strlen(tensor_name(m->tensors[i])) == n &&
		    memcmp(tensor_name(m->tensors[i]), name, n) == 0)
			return &l->tensors[i];
	return NULL;
}

static int
rebuild(const struct loaded *l, struct buf *file)
{
	const uint8_t *head = l->graph.p + 24, *rest = head;
	uint64_t cuts = le64(l->graph.p + 16), i, at, bytes;

	for (i = 0; i < cuts; i++)
		rest += 24 + le32(rest + 20);
	for (i = 0; i < cuts; i++, head += 24 + le32(head + 20)) {
		const struct buf *values = tensor_named(l, head + 24, le32(head + 20));

		at = le64(head);
		bytes = le64(head + 8);
		if (!values || at < file->n)
			return -1;
		at -= file->n;
		buf_put(file, rest, (size_t)at);
		rest += at;
		if (le32(head + 16) == 0)
			buf_put(file, values->p, values->n);
		else
			put_codes(file, onnx_type_of(le32(head + 16)), values, bytes);
	}
	buf_put(file, rest, (size_t)(l->graph.p + l->graph.n - rest));
	return file->n == le64(l->graph.p + 8) ? 0 : -1;
}

static void
test_file(const char *name, const uint8_t *p, size_t n)
{
	struct err e = ERR_INIT;
	struct buf file = { 0 };
	struct loaded l;
	int ok = load(&l, p, n, &e) == 0 && memcmp(l.graph.p, "ONNXCUT1", 8) == 0 &&
	         rebuild(&l, &file) == 0 && file.n == n && memcmp(file.p, p, n) == 0;

	test_ok(ok, "%s is the same file again %s", name, e.fact);
	unload(&l);
	buf_free(&file);
}

/* ---- files ---- */

static const struct { const char *name, *text; } made[] = {
	{ "raw", ONNX_INIT(ONNX_W ONNX_VALUES) },
	{ "packed floats", ONNX_INIT(ONNX_W "4:f[1 2 3 4]") },
	{ "unpacked floats", ONNX_INIT(ONNX_W "4:f1 4:f2 4:f3 4:f4") },
	{ "two packed fields", ONNX_INIT(ONNX_W "4:f[1 2] 4:f[3 4]") },
	{ "packed doubles", ONNX_INIT("1:2 2:11 8:\"w\" 10:d[1 2]") },
	{ "numbers", ONNX_INIT("1:2 2:3 8:\"w\" 5:[1 -2]") },
	{ "4 bits", ONNX_INIT("1:3 2:22 8:\"w\" 9:<f107>") },
	{ "4 bits with padding that is not 0", ONNX_INIT("1:3 2:22 8:\"w\" 9:<f1f7>") },
	{ "2 bits", ONNX_INIT("1:5 2:25 8:\"w\" 9:<e402>") },
	{ "floats of 4 bits", ONNX_INIT("1:16 2:23 8:\"w\" 9:<1032547698badcfe>") },
	{ "FNUZ", ONNX_INIT("1:5 2:18 8:\"w\" 9:<40c8017f80>") },
	{ "two tensors, the names in front and behind",
	  ONNX_MODEL("5:{" ONNX_VALUES ONNX_W "} 5:{1:1 2:1 8:\"v\" 9:z4}") },
	{ "no tensors", ONNX_MODEL("2:\"g\"") },
	{ "an empty one", ONNX_INIT("1:0 2:1 8:\"w\" 9:\"\"") },
	{ "unknown fields", ONNX_INIT(ONNX_W ONNX_VALUES "77:1") "99:\"x\"" },
	{ "backwards", "8:{2:17} 7:{5:{" ONNX_W ONNX_VALUES "}} 1:8" },
	{ "two of one name, in two graphs",
	  ONNX_MODEL("1:{4:\"If\" 5:{1:\"b\" 6:{5:{1:1 2:1 8:\"w\" 9:<00000040>}}}} 5:{"
	             ONNX_W ONNX_VALUES "}") },
	{ "a constant", ONNX_MODEL("1:{2:\"c\" 4:\"Constant\" 5:{1:\"value\" 5:{1:1 2:1 9:z4}}}") },
};

static void
test_real(const char *data, const char *name)
{
	struct buf b = { 0 };
	char path[4096];
	uint8_t *room;
	size_t n = 1;
	FILE *f;

	snprintf(path, sizeof path, "%s/import/onnx/%s", data, name);
	f = fopen(path, "rb");
	while (f && n > 0 && (room = buf_room(&b, 1 << 16))) {
		n = fread(room, 1, 1 << 16, f);
		b.n += n;
	}
	if (f)
		fclose(f);
	test_file(name, b.p, b.n);
	buf_free(&b);
}

/* What 64 bytes at the beginning of a file tell. */
static const struct { const char *name, *text; int is; } heads[] = {
	{ "a model", ONNX_INIT(ONNX_W ONNX_VALUES), 1 },
	{ "no producer", "1:3 7:{1:{1:\"x\"}}", 1 },
	{ "a long producer", "1:8 2:\"0123456789012345678901234567890123456789012345678901234567890"
	  "123456789\" 7:{}", 1 },
	{ "operators first", "1:7 8:{1:\"ai.onnx.ml\" 2:3} 8:{2:17}", 1 },
	{ "a version of 0", "1:0 7:{1:{1:\"x\"}}", 0 },
	{ "a version of 1000", "1:1000 7:{1:{1:\"x\"}}", 0 },
	{ "a graph that is text", "1:8 7:\"hello\"", 0 },
	{ "an unknown field", "1:8 2:\"x\" 9:1 7:{1:{1:\"x\"}}", 0 },
	{ "a description of Core ML", "1:5 2:{1:{1:\"in\" 3:{4:{1:8 2:8}}} 10:{1:\"out\"}} 500:{}", 0 },
	{ "a short description of Core ML", "1:5 2:{10:{1:\"out\"}} 500:{}", 0 },
	{ "a SavedModel", "1:1 2:{1:{1:{1:{1:\"Add\"}}}}", 0 },
	{ "a GraphDef", "1:{1:\"n\" 2:\"Const\"}", 0 },
	{ "a TensorProto", ONNX_W ONNX_VALUES, 0 },
	{ "GGUF", "!<474755460300000000000000>", 0 },
	{ "nothing", "", 0 },
};

int
main(void)
{
	static const char *const real[] = { "silero/silero_vad_half.onnx",
		"mnist-opset8/model.onnx", "tract/qlstm_3-2-3_T3_S1/model.onnx",
		"tract/xgboost_classifier_tree/model.onnx", "magika_standard_v3_3/model.onnx" };
	const char *data = test_data();
	size_t i;

	for (i = 0; i < sizeof made / sizeof *made; i++) {
		struct gen g = { 0 };

		put_proto(&g, made[i].text);
		test_file(made[i].name, g.p, g.n);
		gen_free(&g);
	}
	for (i = 0; i < sizeof heads / sizeof *heads; i++) {
		struct gen g = { 0 };

		put_proto(&g, heads[i].text);
		test_ok(onnx_probe(g.p, g.n < FORMAT_PROBE ? g.n : FORMAT_PROBE) == heads[i].is,
		        "probe: %s", heads[i].name);
		gen_free(&g);
	}
	for (i = 0; i < sizeof real / sizeof *real; i++)
		if (data)
			test_real(data, real[i]);
		else
			test_skip(real[i], "no reference data");
	return test_done();
}
