#include "test.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/crc32.h"
#include "core/le.h"
#include "formats/apr2/apr2.h"
#include "stream/frame.h"
#include "stream/plan.h"
#include "stream/stream.h"

static const struct format_options no_options;
static char noted[1024]; /* what the last run was told beside its result */

static void
note(const char *text)
{
	snprintf(noted, sizeof noted, "%s", text);
}

static void
die(const char *what)
{
	printf("Bail out! %s\n", what);
	exit(1);
}

/* All that was written to a memory file. */
static void
slurp(int fd, struct buf *b)
{
	uint8_t piece[4096];
	ssize_t n;

	buf_clear(b);
	lseek(fd, 0, SEEK_SET);
	while ((n = read(fd, piece, sizeof piece)) > 0)
		buf_put(b, piece, (size_t)n);
}

static struct sink *
open_sink(bool apr2, const struct format_options *o, int *fd, struct err *e)
{
	struct out out;

	*fd = memfd_create("out", 0);
	if (*fd < 0 || out_fd(&out, dup(*fd), "out", e) < 0)
		die("no memory file");
	return apr2 ? format_apr2.create(&out, o, e) : stream_sink(&out, e);
}

/* Run a source (NULL: it did not open) into a new stream or APR2 file. */
static enum err_code
convert(struct source *source, bool to_apr2, const struct format_options *o,
        struct buf *out, struct err *e)
{
	static const struct flow straight;
	struct sink *sink;
	int fd;

	if (!source)
		return e->code;
	sink = open_sink(to_apr2, o, &fd, e);
	sink->note = note;
	flow_run(source, sink, &straight, e);
	sink_close(sink);
	source_close(source);
	slurp(fd, out);
	close(fd);
	return e->code;
}

static struct source *
open_memory(const struct buf *b, bool apr2, const struct format_options *o, struct err *e)
{
	struct reader r;

	noted[0] = '\0';
	reader_memory(&r, b->p, b->n, "in", e);
	return apr2 ? format_apr2.open(&r, o, note, e) : stream_source(&r, e);
}

/* The same through a pipe: b must fit into one. */
static struct source *
open_pipe(const struct buf *b, const struct format_options *o, struct err *e)
{
	struct reader r;
	int ends[2];

	noted[0] = '\0';
	if (pipe(ends) < 0 || write(ends[1], b->p, b->n) != (ssize_t)b->n)
		die("no pipe");
	close(ends[1]);
	if (reader_fd(&r, ends[0], "pipe", e) < 0)
		die("no reader");
	r.owns_fd = true;
	return format_apr2.open(&r, o, note, e);
}

static bool
same(const struct buf *a, const struct buf *b)
{
	return a->n == b->n && memcmp(a->p, b->p, a->n) == 0;
}

/* ---- models ---- */

static void
add_tensor(struct model *m, const char *name, const char *type, unsigned ndim,
           const uint64_t *dims, uint64_t bytes)
{
	struct err e = ERR_INIT;
	struct tensor *t = tensor_new(name, strlen(name), dtype_by_name(type), ndim, dims,
	                              bytes, "test", &e);

	if (!t || model_add_tensor(m, t, &e) < 0)
		die(e.fact);
}

static void
add_text(struct model *m, const char *key, const char *type, const char *json)
{
	struct err e = ERR_INIT;
	struct buf wire = { 0 };
	struct value_type t;
	json_t *v = json_parse_any(json, strlen(json), ERR_CORRUPT, key, &e);

	if (!v || value_type_parse(type, &t) < 0 || value_from_json(t, v, &wire) < 0 ||
	    !buf_string(&wire) ||
	    model_add_meta(m, key, strlen(key), t, wire.p, wire.n, &e) < 0)
		die(key);
	json_decref(v);
	buf_free(&wire);
}

static void
begin_model(struct model *m, const char *format)
{
	struct err e = ERR_INIT;

	if (model_init(m, &e) < 0 ||
	    (format && model_source_set(m, "format", json_string(format), &e) < 0))
		die("no model");
}

/* Byte at of a body that has the number n: a ramp; or, of the bodies for codecs,
 * by turns noise, a ramp, a MiB of the one and then the other. */
static bool for_codecs;

static uint8_t
body_byte(unsigned n, uint64_t at)
{
	uint64_t x = (at + 1) * UINT64_C(0x9e3779b97f4a7c15) + n;
	bool noise = n % 4 < 2 ? n % 4 == 0 : (at < 1 << 20) == (n % 4 == 2);

	if (!for_codecs || !noise)
		return (uint8_t)(at * 7 + n * 31 + 1);
	x = (x ^ x >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
	return (uint8_t)(x >> 40);
}

static void
put_body(struct sink *sink, unsigned n, uint64_t bytes, struct err *e)
{
	uint8_t p[1000];
	uint64_t at = 0;

	while (at < bytes) {
		size_t i, part = bytes - at < sizeof p ? (size_t)(bytes - at) : sizeof p;

		for (i = 0; i < part; i++)
			p[i] = body_byte(n, at + i);
		if (sink_write(sink, p, part, e) < 0)
			return;
		at += part;
	}
}

static void
put_item(struct sink *sink, enum item_kind kind, size_t index, const char *head,
         uint64_t bytes, struct err *e)
{
	struct item item = { .kind = kind, .index = index, .bytes = bytes, .head = head,
		.head_bytes = head ? strlen(head) : 0 };

	if (sink_put(sink, &item, e) < 0)
		return;
	put_body(sink, (unsigned)index, bytes, e);
	if (!e->code)
		sink_put_end(sink, e);
}

/* A value of the type array:u8, of so many bytes with its head. */
static void
put_array(struct sink *sink, size_t index, uint64_t bytes, struct err *e)
{
	struct item item = { .kind = ITEM_BLOB, .index = index, .bytes = bytes };
	uint8_t head[12];

	le32_put(head, VALUE_U8);
	le64_put(head + 4, bytes - sizeof head);
	sink_put(sink, &item, e);
	sink_write(sink, head, sizeof head, e);
	put_body(sink, (unsigned)index, bytes - sizeof head, e);
	sink_put_end(sink, e);
}

/* The model as a stream: the first blob is json if there is any, other values are
 * arrays, side files bytes. */
static void
make_stream(const struct model *m, const char *json, struct buf *out)
{
	struct err e = ERR_INIT;
	int fd;
	struct sink *sink = open_sink(false, &no_options, &fd, &e);
	char head[MODEL_SIGN_HEAD + 1];
	size_t i;

	sink_begin(sink, m, &e);
	for (i = 0; i < m->blob_count; i++) {
		struct item item = { .kind = ITEM_BLOB, .index = i, .bytes = m->blobs[i].bytes };

		if (!json || i > 0) {
			if (strcmp(m->blobs[i].type, MODEL_VALUE) == 0)
				put_array(sink, i, m->blobs[i].bytes, &e);
			else
				put_item(sink, ITEM_BLOB, i, NULL, m->blobs[i].bytes, &e);
			continue;
		}
		sink_put(sink, &item, &e);
		sink_write(sink, (const uint8_t *)json, strlen(json), &e);
		sink_put_end(sink, &e);
	}
	if (m->licence != MODEL_NONE)
		put_item(sink, ITEM_LICENCE, 0, NULL, m->licence, &e);
	for (i = 0; i < m->tensor_count; i++)
		put_item(sink, ITEM_TENSOR, i, NULL, tensor_bytes(m->tensors[i]), &e);
	for (i = 0; i < m->prov_count; i++)
		put_item(sink, ITEM_PROV, i, "{\"operation\":\"x\"}", 0, &e);
	snprintf(head, sizeof head, "{\"x\":\"%0*d\"}", MODEL_SIGN_HEAD - 8, 0);
	for (i = 0; i < m->signatures; i++)
		put_item(sink, ITEM_SIGN, i, head, model_sign_body(m), &e);
	if (e.code || sink_end(sink, &e) < 0)
		die(e.fact);
	sink_close(sink);
	slurp(fd, out);
	close(fd);
}

/* Stream, APR2, stream: the same stream; APR2 again: the same file. Also from
 * a pipe. The file is left in apr2. */
static void
round_trip(const char *name, const struct buf *stream, const struct format_options *o,
           struct buf *apr2)
{
	struct err e = ERR_INIT;
	struct buf back = { 0 }, again = { 0 };

	convert(open_memory(stream, false, o, &e), true, o, apr2, &e);
	test_ok(!e.code, "%s: into APR2 (%s %s)", name, e.object, e.fact);
	if (e.code)
		die(name);
	convert(open_memory(apr2, true, o, &e), false, o, &back, &e);
	test_ok(!e.code, "%s: out of APR2 (%s %s)", name, e.object, e.fact);
	test_ok(same(stream, &back), "%s: the stream is the same", name);
	convert(open_memory(apr2, true, o, &e), true, &no_options, &again, &e);
	test_ok(!e.code && same(apr2, &again), "%s: the file is the same (%s)", name, e.fact);
	if (apr2->n <= 65536) {
		buf_clear(&back);
		convert(open_pipe(apr2, o, &e), false, o, &back, &e);
		test_ok(!e.code && same(stream, &back), "%s: from a pipe (%s)", name, e.fact);
	}
	test_ok(!noted[0], "%s: nothing to note (%s)", name, noted);
	buf_free(&back);
	buf_free(&again);
}

static const uint64_t row[] = { 256 }, square[] = { 2, 256 };

static void
test_dtypes(void)
{
	struct buf stream = { 0 }, apr2 = { 0 };
	const struct dtype *type;
	struct model m;
	unsigned i;

	begin_model(&m, "gguf");
	for (i = 0; (type = dtype_row(i)); i++)
		add_tensor(&m, type->name, type->name, 2, square, TENSOR_OWN_SIZE);
	add_tensor(&m, "unknown", "GGML_57", 1, row, 40);
	make_stream(&m, NULL, &stream);
	round_trip("every dtype", &stream, &no_options, &apr2);
	test_ok(le32(apr2.p + 8) == (APR2_ALIGNED_64 | APR2_QUANTIZED | APR2_STREAMING |
	                             APR2_GGUF_SRC), "flags 0x%x", le32(apr2.p + 8));
	test_ok(le32(apr2.p + 28) % 64 == 0, "data on 64");
	model_free(&m);
	buf_free(&stream);
	buf_free(&apr2);
}

static void
test_everything(void)
{
	static const uint64_t none[] = { 0 }, three[] = { 3 }, cube[] = { 2, 0, 3 },
		eight[] = { 1, 2, 1, 2, 1, 2, 1, 2 };
	struct format_options by_32 = { .align = 32 };
	struct buf stream = { 0 }, apr2 = { 0 };
	struct err e = ERR_INIT;
	struct model m;

	begin_model(&m, "safetensors");
	add_text(&m, "general.architecture", "string", "\"llama\"");
	add_text(&m, "llama.context_length", "u32", "2048");
	add_text(&m, "llama.rope.freq_base", "f32", "\"10000\"");
	add_text(&m, "llama.eps", "f32", "\"nan\"");
	add_text(&m, "config", "json", "\"{\\\"a\\\": [1, 2.50]}\"");
	add_text(&m, "not json", "json", "\"{'a':1}\"");
	add_text(&m, "apr_stream", "json", "\"{}\"");
	add_text(&m, "tags", "array:string", "[\"a\",\"b\"]");
	if (model_add_meta_blob(&m, "tokens", 6, (struct value_type){ 1, VALUE_U8 }, 5000,
	                        &e) < 0 ||
	    model_add_blob(&m, "README.md", "file", 77, &e) < 0 ||
	    model_add_blob(&m, "empty", "file", 0, &e) < 0 ||
	    model_add_prov(&m, strlen("{\"operation\":\"x\"}"), &e) < 0)
		die(e.fact);
	m.licence = 72;
	m.signatures = 2;
	/* Neither by name nor, where they share an offset, by a rule. */
	add_tensor(&m, "z.empty", "F32", 1, none, TENSOR_OWN_SIZE);
	add_tensor(&m, "a.empty", "F16", 3, cube, TENSOR_OWN_SIZE);
	add_tensor(&m, "scalar", "F32", 0, NULL, TENSOR_OWN_SIZE);
	add_tensor(&m, "odd", "U8", 1, three, TENSOR_OWN_SIZE);
	add_tensor(&m, "c.empty", "F32", 1, none, TENSOR_OWN_SIZE);
	add_tensor(&m, "b.empty", "F32", 1, none, TENSOR_OWN_SIZE);
	add_tensor(&m, "axes", "I8", 8, eight, TENSOR_OWN_SIZE);
	add_tensor(&m, "Axes", "I64", 8, eight, TENSOR_OWN_SIZE);
	add_tensor(&m, "y.empty", "F32", 1, none, TENSOR_OWN_SIZE);
	add_tensor(&m, "x.empty", "F32", 1, none, TENSOR_OWN_SIZE);
	make_stream(&m, NULL, &stream);
	round_trip("everything", &stream, &no_options, &apr2);
	test_ok(le32(apr2.p + 8) == (APR2_ALIGNED_64 | APR2_SIGNED | APR2_STREAMING |
	                             APR2_SAFETENSORS_SRC), "flags 0x%x", le32(apr2.p + 8));
	buf_string(&apr2);
	test_ok(strstr((char *)apr2.p + 32, "\"architecture\":{\"name\":\"llama\","
	               "\"context_length\":2048,\"rope.freq_base\":10000}") != NULL,
	        "architecture is derived");
	test_ok(strstr((char *)apr2.p + 32, "\"config\":{\"a\": [1, 2.50]}") != NULL,
	        "JSON is a member, to the letter");
	test_ok(strstr((char *)apr2.p + 32, "[\"config\",\"json\"]") != NULL,
	        "and is not said twice");
	model_free(&m);
	buf_free(&stream);
	buf_clear(&apr2);

	begin_model(&m, NULL);
	make_stream(&m, NULL, &stream);
	round_trip("FALSIFY 15: no tensor, no key", &stream, &no_options, &apr2);
	model_free(&m);

	begin_model(&m, "gguf");
	add_tensor(&m, "odd", "U8", 1, three, TENSOR_OWN_SIZE);
	add_tensor(&m, "even", "U8", 1, three, TENSOR_OWN_SIZE);
	model_source_set(&m, APR2_ALIGNMENT_MEMBER, json_integer(32), &e);
	make_stream(&m, NULL, &stream);
	round_trip("aligned to 32", &stream, &by_32, &apr2);
	test_ok(apr2.n == le32(apr2.p + 28) + 64u + 24 + 20 + 8 + 16 &&
	        le32(apr2.p + 8) & APR2_ALIGNED_32, "32 is less than 64");
	model_free(&m);
	buf_free(&stream);
	buf_free(&apr2);
}

/* What needs no member of ours has none, and what needs it has. */
static void
test_plain(void)
{
	static const uint64_t three[] = { 3 };
	struct buf stream = { 0 }, apr2 = { 0 };
	struct err e = ERR_INIT;
	unsigned i;

	for (i = 0; i < 4; i++) {
		static const char *const name[] = { "plain", "a typed key", "a side file",
			"signed" };
		struct model m;

		begin_model(&m, "apr2");
		model_source_set(&m, "version", json_string("2.0"), &e);
		model_source_set(&m, "alignment", json_integer(32), &e);
		add_text(&m, "apr_version", "json", "\"\\\"2.0.0\\\"\"");
		add_text(&m, "architecture", "json", "\"{}\"");
		add_text(&m, "model_type", "json", "\"\\\"x\\\"\"");
		if (i == 1)
			add_text(&m, "k", "u8", "1");
		else if (i == 2)
			model_add_blob(&m, "b", "file", 1, &e);
		else if (i == 3)
			m.signatures = 1;
		add_tensor(&m, "one", "U8", 1, three, TENSOR_OWN_SIZE);
		add_tensor(&m, "two", "U8", 1, three, TENSOR_OWN_SIZE);
		make_stream(&m, NULL, &stream);
		if (i > 0) /* the alignment travels beside the source of another file */
			model_source_set(&m, APR2_ALIGNMENT_MEMBER, json_integer(32), &e);
		make_stream(&m, NULL, &stream);
		round_trip(name[i], &stream, &no_options, &apr2);
		buf_string(&apr2);
		test_ok((strstr((char *)apr2.p + 32, "apr_stream") != NULL) == (i > 0) &&
		        (strncmp((char *)apr2.p + 32, "{\"apr_version\":\"2.0.0\",\"arch", 28) ==
		         0) == (i == 0), "%s: its members", name[i]);
		model_free(&m);
		buf_clear(&apr2);
	}
	buf_free(&stream);
	buf_free(&apr2);
}

static void
test_quantization(void)
{
	static const struct {
		const char *type[2], *text;
	} rows[] = {
		{ { "Q4_0", "F32" }, "\"quantization\":{\"method\":\"Q4_0\",\"bits_per_weight\":22.833}" },
		{ { "Q8_1", "Q8_1" }, "{\"method\":\"Q8_1\",\"bits_per_weight\":9}" },
		{ { "Q4_0", "Q6_K" }, "{\"method\":\"Q6_K\",\"bits_per_weight\":5.875}" },
	};
	struct buf stream = { 0 }, apr2 = { 0 };
	struct err e = ERR_INIT;
	unsigned i;

	for (i = 0; i < 3; i++) {
		struct model m;

		begin_model(&m, "gguf");
		add_tensor(&m, "a", rows[i].type[0], 1, row, TENSOR_OWN_SIZE);
		add_tensor(&m, "b", rows[i].type[1], 2, square, TENSOR_OWN_SIZE);
		make_stream(&m, NULL, &stream);
		convert(open_memory(&stream, false, &no_options, &e), true, &no_options, &apr2,
		        &e);
		buf_string(&apr2);
		test_ok(!e.code && strstr((char *)apr2.p + 32, rows[i].text), "%s", rows[i].text);
		model_free(&m);
	}
	buf_free(&stream);
	buf_free(&apr2);
}

/* A long JSON value arrives as a blob, and lies in the metadata. */
static void
test_long_json(void)
{
	struct buf json = { 0 }, stream = { 0 }, apr2 = { 0 };
	struct err e = ERR_INIT;
	struct model m;
	unsigned i;

	buf_text(&json, "[\"\\\"}\"");
	for (i = 0; i < 20000; i++)
		buf_printf(&json, ", {\"%u\":[]}", i);
	buf_text(&json, "]");
	if (!buf_string(&json))
		die("memory");
	begin_model(&m, "gguf");
	add_text(&m, "before", "json", "\"1\"");
	if (model_add_meta_blob(&m, "vocab", 5, (struct value_type){ 0, VALUE_JSON }, json.n,
	                        &e) < 0 ||
	    model_add_meta_blob(&m, "tokens", 6, (struct value_type){ 1, VALUE_U8 }, 100,
	                        &e) < 0)
		die(e.fact);
	add_text(&m, "after", "json", "\"null\"");
	add_tensor(&m, "t", "F32", 1, row, TENSOR_OWN_SIZE);
	make_stream(&m, (char *)json.p, &stream);
	round_trip("long JSON", &stream, &no_options, &apr2);
	buf_string(&apr2);
	test_ok(strstr((char *)apr2.p + 32, "\"before\":1,\"vocab\":[\"\\\"}\", {\"0\":[]}") &&
	        strstr((char *)apr2.p + 32, "{\"19999\":[]}],\"after\":null,"),
	        "long JSON is a member, to the letter");

	/* The same announced, but not sent. */
	json.p[json.n - 1] = ',';
	make_stream(&m, (char *)json.p, &stream);
	convert(open_memory(&stream, false, &no_options, &e), true, &no_options, &apr2, &e);
	test_ok(e.code == ERR_CORRUPT && strstr(e.fact, "not one JSON value"),
	        "a long value that is no JSON: %s", e.fact);
	model_free(&m);
	buf_free(&json);
	buf_free(&stream);
	buf_free(&apr2);
}

/* ---- files made from the specification alone ---- */

/* Where the parts of the last file lie. */
static struct {
	size_t meta, index, entry[4], data, end, foot;
} at;

static void
put_entry(struct buf *b, const char *name, unsigned code, unsigned ndim,
          const uint64_t *dims, uint64_t offset, uint64_t size)
{
	unsigned i;

	buf_u16(b, (uint16_t)strlen(name));
	buf_text(b, name);
	buf_u8(b, (uint8_t)code);
	buf_u8(b, (uint8_t)ndim);
	for (i = 0; i < ndim; i++)
		buf_u64(b, dims[i]);
	buf_u64(b, offset);
	buf_u64(b, size);
	buf_u64(b, 0);
	buf_u32(b, 0);
}

static void
pad_to(struct buf *b, size_t boundary)
{
	while (b->n % boundary)
		buf_u8(b, 0);
}

/* A footer that holds. */
static void
close_file(struct buf *b)
{
	at.foot = b->n;
	buf_u32(b, crc32_add(0, b->p, b->n));
	buf_text(b, "2RPA");
	buf_u64(b, b->n + 8);
}

/* What follows from a plan that has no keys, and from the tensor b of make_file. */
#define QUANTIZED "\"quantization\":{\"method\":\"Q8_0\",\"bits_per_weight\":8.5},"
#define DERIVED "\"apr_version\":\"2.0.0\",\"model_type\":\"unknown\"," \
	"\"architecture\":{\"name\":\"unknown\"},\"source_format\":\"unknown\","

static const char spec_json[] = "{\"apr_version\":\"2.0.0\",\"model_type\":\"whisper\","
	"\"architecture\":{\"n_mels\": 80},\"mel_filterbank\":[0.0, 1e-5],"
	"\"text\":\"a\\u00e9\"}";

/* Four tensors: a F32 [2,3], b Q8_0 by its older code, c empty, d a scalar.
 * The footer follows after padding to footer_boundary. */
static void
make_file(struct buf *b, const char *json, size_t footer_boundary)
{
	static const uint64_t a[] = { 2, 3 }, q[] = { 32 }, none[] = { 0 };
	size_t i;

	buf_clear(b);
	buf_zeros(b, 32);
	at.meta = b->n;
	buf_text(b, json);
	at.index = b->n;
	buf_u32(b, 4);
	buf_u32(b, 0);
	at.entry[0] = b->n;
	put_entry(b, "a", 0, 2, a, 0, 24);
	at.entry[1] = b->n;
	put_entry(b, "b", 10, 1, q, 64, 34);
	at.entry[2] = b->n;
	put_entry(b, "c", 7, 1, none, 128, 0);
	at.entry[3] = b->n;
	put_entry(b, "d", 2, 0, NULL, 128, 2);
	at.data = b->n;
	pad_to(b, 64);
	memcpy(b->p, "APR2", 4);
	le16_put(b->p + 4, 2);
	le32_put(b->p + 8, APR2_ALIGNED_64 | APR2_QUANTIZED);
	le32_put(b->p + 12, (uint32_t)at.meta);
	le32_put(b->p + 16, (uint32_t)(at.index - at.meta));
	le32_put(b->p + 20, (uint32_t)at.index);
	le32_put(b->p + 24, (uint32_t)(at.data - at.index));
	le32_put(b->p + 28, (uint32_t)b->n);
	at.data = b->n;
	for (i = 0; i < 130; i++)
		buf_u8(b, i < 24 || (i >= 64 && i < 98) || i >= 128 ? (uint8_t)i : 0);
	at.end = b->n;
	pad_to(b, footer_boundary);
	close_file(b);
}

static void
test_foreign(void)
{
	static const size_t boundaries[] = { 1, 64 };
	struct buf file = { 0 }, stream = { 0 }, apr2 = { 0 }, again = { 0 };
	struct err e = ERR_INIT;
	struct source *s;
	size_t i;

	for (i = 0; i < 2; i++) {
		make_file(&file, spec_json, boundaries[i]);
		convert(open_memory(&file, true, &no_options, &e), false, &no_options, &stream,
		        &e);
		test_ok(!e.code && !noted[0], "foreign, footer on %zu (%s %s %s)", boundaries[i],
		        e.object, e.fact, noted);
		convert(open_pipe(&file, &no_options, &e), false, &no_options, &again, &e);
		test_ok(!e.code && same(&stream, &again), "foreign from a pipe");
		convert(open_memory(&stream, false, &no_options, &e), true, &no_options, &apr2,
		        &e);
		test_ok(!e.code && le32(apr2.p + 16) == sizeof spec_json - 1 &&
		        memcmp(apr2.p + 32, spec_json, sizeof spec_json - 1) == 0,
		        "foreign metadata comes back to the letter (%s)", e.fact);
		convert(open_memory(&apr2, true, &no_options, &e), false, &no_options, &again,
		        &e);
		test_ok(!e.code && same(&stream, &again), "foreign: the stream is the same");
	}
	s = open_memory(&file, true, &no_options, &e);
	test_ok(s && s->plan->tensor_count == 4 && s->plan->meta_count == 5 &&
	        strcmp(s->plan->meta[2].key, "architecture") == 0 &&
	        strcmp((char *)s->plan->meta[2].wire, "{\"n_mels\": 80}") == 0 &&
	        strcmp((char *)s->plan->meta[4].wire, "\"a\\u00e9\"") == 0,
	        "each member is a key");
	test_ok(s && tensor_type(s->plan->tensors[1]) == dtype_by_name("Q8_0") &&
	        strcmp(model_source_text(s->plan, "format"), "apr2") == 0 &&
	        format_apr2.tensor_offset(s, 3) == at.data + 128, "tensors and source");
	if (s) {
		json_t *d = format_apr2.describe(s, &e);
		const char *sum = NULL;
		uint64_t v = 0;
		char text[16];

		snprintf(text, sizeof text, "0x%08" PRIx32, le32(file.p + at.foot));
		json_member_text(d, "checksum", &sum);
		test_ok(sum && strcmp(sum, text) == 0, "describe: checksum %s", sum);
		test_ok(json_member_u64(d, "data_bytes", &v) == 0 && v < file.n &&
		        json_array_size(json_object_get(d, "flags")) == 2, "describe");
		json_decref(d);
		convert(s, false, &no_options, &again, &e);
		test_ok(!e.code && same(&stream, &again), "describing does not disturb reading");
	}

	/* A member that somebody added to a file of ours is kept. */
	buf_free(&stream);
	make_file(&file, "{" DERIVED QUANTIZED "\"k\":1,\"new\":[2],"
	          "\"apr_stream\":{\"version\":1,\"source\":{},\"metadata\":"
	          "[[\"k\",\"json\"]],\"blobs\":[],\"signatures\":0}}", 64);
	s = open_memory(&file, true, &no_options, &e);
	test_ok(s && s->plan->meta_count == 2 && strcmp(s->plan->meta[1].key, "new") == 0,
	        "an added member is a key, a derived one is not (%s)", e.fact);
	source_close(s);
	buf_free(&file);
	buf_free(&stream);
	buf_free(&apr2);
	buf_free(&again);
}

/* ---- faults ---- */

enum spot { HEADER, ENTRY0, ENTRY1, ENTRY2, ENTRY3, INDEX, FOOT };

static const struct fault {
	const char *name;
	enum spot base;
	int offset;          /* from there */
	unsigned width;      /* 1, 2, 4, 8 */
	uint64_t value;
	enum err_code code;
	const char *fact;    /* is in the message */
} faults[] = {
	{ "FALSIFY 1: magic APRX", HEADER, 3, 1, 'X', ERR_FORMAT, "not an APR2 file" },
	{ "FALSIFY 3: version 3.0", HEADER, 4, 2, 3, ERR_VERSION, "version 3.0" },
	{ "version 1.0", HEADER, 4, 2, 1, ERR_VERSION, "version 1.0" },
	{ "sharded", HEADER, 8, 4, 0x4a, ERR_FORMAT, "the others cannot be found" },
	{ "encrypted", HEADER, 8, 4, 0x52, ERR_FORMAT, "an encrypted APR2" },
	{ "metadata inside the header", HEADER, 12, 4, 31, ERR_CORRUPT, "metadata begins" },
	{ "metadata after a hole", HEADER, 12, 4, 65, ERR_CORRUPT, "a hole of 33" },
	{ "metadata far away", HEADER, 12, 4, UINT32_MAX, ERR_CORRUPT, "a hole" },
	{ "metadata of 4 GiB", HEADER, 16, 4, UINT32_MAX, ERR_CORRUPT, "exceeds 256 MiB" },
	{ "metadata one byte short", HEADER, 16, 4, sizeof spec_json - 2, ERR_CORRUPT,
	  "not valid JSON" },
	{ "no metadata", HEADER, 16, 4, 0, ERR_CORRUPT, "a hole" },
	{ "index inside the metadata", HEADER, 20, 4, 33, ERR_CORRUPT, "index begins" },
	{ "index of 7 bytes", HEADER, 24, 4, 7, ERR_CORRUPT, "no room for its header" },
	{ "index of 60 bytes", HEADER, 24, 4, 60, ERR_CORRUPT, "does not fit" },
	{ "index of 4 GiB", HEADER, 24, 4, UINT32_MAX, ERR_CORRUPT, "the index ends" },
	{ "data inside the index", HEADER, 28, 4, 64, ERR_CORRUPT, "the data begins" },
	{ "data after the end", HEADER, 28, 4, 1 << 20, ERR_CORRUPT, "cut short" },
	{ "2^32-1 tensors", INDEX, 0, 4, UINT32_MAX, ERR_CORRUPT, "does not fit" },
	{ "five tensors", INDEX, 0, 4, 5, ERR_CORRUPT, "does not fit" },
	{ "three tensors", INDEX, 0, 4, 3, ERR_CORRUPT, "left in the index" },
	{ "no name", ENTRY0, 0, 2, 0, ERR_CORRUPT, "without a name" },
	{ "name past the index", ENTRY3, 0, 2, 65535, ERR_CORRUPT, "inside an entry" },
	{ "FALSIFY 17: name not UTF-8", ENTRY0, 2, 1, 0xff, ERR_CORRUPT, "not UTF-8" },
	{ "NUL in a name", ENTRY0, 2, 1, 0, ERR_CORRUPT, "not UTF-8" },
	{ "FALSIFY 18: name twice", ENTRY1, 2, 1, 'a', ERR_CORRUPT, "occurs twice" },
	{ "FALSIFY 7: not sorted", ENTRY0, 2, 1, 'x', ERR_CORRUPT, "not sorted" },
	{ "FALSIFY 21: dtype 255", ENTRY0, 3, 1, 255, ERR_FORMAT, "dtype code 255" },
	{ "dtype 15", ENTRY0, 3, 1, 15, ERR_FORMAT, "dtype code 15" },
	{ "a second code for F32", ENTRY0, 3, 1, 64, ERR_FORMAT, "dtype code 64" },
	{ "FALSIFY 19: 9 dimensions", ENTRY0, 4, 1, 9, ERR_FORMAT, "9 dimensions" },
	{ "255 dimensions", ENTRY0, 4, 1, 255, ERR_FORMAT, "255 dimensions" },
	{ "a dimension of 2^63", ENTRY0, 5, 8, UINT64_C(1) << 63, ERR_CORRUPT, "overflows" },
	{ "a dimension too many", ENTRY0, 5, 8, 3, ERR_CORRUPT, "takes 36 bytes" },
	{ "half a block", ENTRY1, 5, 8, 16, ERR_CORRUPT, "rows of 32" },
	{ "offset not 0", ENTRY0, 21, 8, 64, ERR_CORRUPT, "a hole of 64" },
	{ "offset not aligned", ENTRY1, 13, 8, 65, ERR_CORRUPT, "not a multiple of 64" },
	{ "overlap", ENTRY1, 13, 8, 0, ERR_CORRUPT, "overlaps" },
	{ "hole", ENTRY3, 5, 8, 192, ERR_CORRUPT, "a hole" },
	{ "FALSIFY 14: offset after the end", ENTRY3, 5, 8, 1 << 20, ERR_CORRUPT, "a hole" },
	{ "offset 2^64-64", ENTRY3, 5, 8, UINT64_MAX - 63, ERR_CORRUPT, "leave room for it at 128" },
	{ "size too small", ENTRY0, 29, 8, 23, ERR_CORRUPT, "takes 24 bytes" },
	{ "size 2^64-1", ENTRY0, 29, 8, UINT64_MAX, ERR_CORRUPT, "takes 24 bytes" },
	{ "raw size", ENTRY0, 37, 8, 24, ERR_FORMAT, "stored compressed" },
	{ "lz4", ENTRY0, 45, 4, 1, ERR_CORRUPT, "with lz4, but from no bytes" },
	{ "zstd", ENTRY0, 45, 4, 2, ERR_CORRUPT, "with zstd, but from no bytes" },
	{ "lz4 and zstd", ENTRY0, 45, 4, 3, ERR_CORRUPT, "both with lz4 and with zstd" },
	{ "lz4, sealed", ENTRY0, 45, 4, 5, ERR_FORMAT, "stored sealed" },
	{ "sealed", ENTRY0, 45, 4, 4, ERR_CORRUPT, "is sealed, but" },
	{ "sparse", ENTRY0, 45, 4, 8, ERR_FORMAT, "stored sparse" },
	{ "unknown entry flag", ENTRY0, 45, 4, 16, ERR_FORMAT, "unknown flags 0x10" },
	{ "FALSIFY 12: footer magic", FOOT, 4, 1, 'X', ERR_CORRUPT, "neither a frame" },
	{ "file size in the footer", FOOT, 8, 8, 1, ERR_CORRUPT, "footer says 1" },
};

static size_t
place_of(enum spot p)
{
	switch (p) {
	case HEADER:
		return 0;
	case INDEX:
		return at.index;
	case FOOT:
		return at.foot;
	default:
		return at.entry[p - ENTRY0];
	}
}

/* The file's CRC put right after a change. */
static void
repair(struct buf *b)
{
	le32_put(b->p + at.foot, crc32_add(0, b->p, at.foot));
}

/* Read a file to its end, from memory or from a pipe. */
static enum err_code
outcome(const struct buf *file, bool from_pipe, const struct format_options *o,
        struct err *e)
{
	struct buf out = { 0 };
	struct source *s;

	*e = (struct err)ERR_INIT;
	s = from_pipe ? open_pipe(file, o, e) : open_memory(file, true, o, e);
	convert(s, false, &no_options, &out, e);
	buf_free(&out);
	return e->code;
}

static void
test_faults(void)
{
	struct buf file = { 0 };
	struct err e;
	size_t i;
	unsigned j;

	for (i = 0; i < sizeof faults / sizeof *faults; i++) {
		const struct fault *f = &faults[i];
		uint8_t *p;
		bool before_data = f->base != FOOT && strcmp(f->fact, "cut short") != 0;

		make_file(&file, spec_json, 64);
		p = file.p + place_of(f->base) + f->offset;
		for (j = 0; j < f->width; j++)
			p[j] = (uint8_t)(f->value >> 8 * j);
		repair(&file);
		outcome(&file, false, &no_options, &e);
		test_ok(e.code == f->code && strstr(e.fact, f->fact), "%s: E00%d %s: %s",
		        f->name, e.code, e.object, e.fact);
		outcome(&file, true, &no_options, &e);
		test_ok(e.code == f->code && (!before_data || strstr(e.fact, f->fact)),
		        "%s, from a pipe: E00%d %s: %s", f->name, e.code, e.object, e.fact);
	}
	buf_free(&file);
}

static void
test_json_faults(void)
{
	static const struct {
		const char *name, *json, *fact;
	} bad[] = {
		{ "FALSIFY 5: no JSON", "{\"apr_version\"=1}", "not valid JSON" },
		{ "no object", "[1]", "not a JSON object" },
		{ "a member twice", "{\"a\":1,\"a\":1}", "not valid JSON" },
		{ "bytes after it", "{}x", "not valid JSON" },
		{ "bad UTF-8", "{\"a\":\"\xff\"}", "not valid JSON" },
		{ "an empty name", "{\"\":1}", "key is not UTF-8" },
		{ "apr_stream is no object", "{\"apr_stream\":1}", "has no list" },
		{ "apr_stream without lists", "{\"apr_stream\":{\"version\":1}}", "has no list" },
		{ "a member that is not there", "{\"apr_stream\":{\"version\":1,\"source\":{},"
		  "\"metadata\":[[\"k\",\"json\"]],\"blobs\":[],\"signatures\":0}}",
		  "member is not there" },
		{ "members out of order", "{\"a\":1,\"b\":1,\"apr_stream\":{\"version\":1,"
		  "\"source\":{},\"metadata\":[[\"b\",\"json\"],[\"a\",\"json\"]],\"blobs\":[],"
		  "\"signatures\":0}}", "or out of order" },
		{ "itself as a member", "{\"apr_stream\":{\"version\":1,\"source\":{},"
		  "\"metadata\":[[\"apr_stream\",\"json\"]],\"blobs\":[],\"signatures\":0}}",
		  "member is not there" },
		{ "a row of two that is not json", "{\"apr_stream\":{\"version\":1,\"source\":{},"
		  "\"metadata\":[[\"k\",\"u8\"]],\"blobs\":[],\"signatures\":0}}",
		  "bad metadata row" },
		{ "a tensor list", "{\"apr_stream\":{\"version\":1,\"source\":{},\"metadata\":[],"
		  "\"blobs\":[],\"tensors\":[],\"signatures\":0}}", "bad tensor list" },
		{ "empty tensors that are none", "{\"apr_stream\":{\"version\":1,\"source\":{},"
		  "\"metadata\":[],\"blobs\":[],\"empty\":[0],\"signatures\":0}}",
		  "list of empty tensors" },
		{ "empty tensors twice", "{\"apr_stream\":{\"version\":1,\"source\":{},"
		  "\"metadata\":[],\"blobs\":[],\"empty\":[2,2],\"signatures\":0}}",
		  "list of empty tensors" },
		{ "empty tensors no list", "{\"apr_stream\":{\"version\":1,\"source\":{},"
		  "\"metadata\":[],\"blobs\":[],\"empty\":2,\"signatures\":0}}",
		  "list of empty tensors" },
		{ "a blob that is not there", "{" DERIVED QUANTIZED
		  "\"apr_stream\":{\"version\":1,\"source\":{},"
		  "\"metadata\":[],\"blobs\":[[\"b\",\"file\",1]],\"signatures\":0}}",
		  "announces is not there" },
		{ "a licence that is not there", "{" DERIVED QUANTIZED
		  "\"apr_stream\":{\"version\":1,\"source\":{},"
		  "\"metadata\":[],\"blobs\":[],\"licence\":1,\"signatures\":0}}",
		  "announces is not there" },
		{ "a signature that is not there", "{" DERIVED QUANTIZED
		  "\"apr_stream\":{\"version\":1,\"source\":{},"
		  "\"metadata\":[],\"blobs\":[],\"signatures\":1}}", "announces is not there" },
	};
	struct buf file = { 0 };
	struct err e;
	size_t i;

	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		make_file(&file, bad[i].json, 64);
		outcome(&file, false, &no_options, &e);
		test_ok(e.code == ERR_CORRUPT && strstr(e.fact, bad[i].fact), "%s: E00%d %s: %s",
		        bad[i].name, e.code, e.object, e.fact);
	}
	make_file(&file, "{\"apr_stream\":{\"version\":2,\"source\":{},\"metadata\":[],"
	          "\"blobs\":[],\"signatures\":0}}", 64);
	test_ok(outcome(&file, false, &no_options, &e) == ERR_VERSION, "a later plan: %s",
	        e.fact);
	buf_free(&file);
}

/* ---- frames ---- */

struct row {
	const char *kind, *head;
	unsigned body;
	bool without_body;  /* announced, but left out */
};

static void
put_rows(struct buf *b, const struct row *rows)
{
	for (; rows->kind; rows++) {
		frame_build(b, rows->kind, rows->head, strlen(rows->head), rows->body);
		if (rows->without_body)
			continue;
		buf_zeros(b, rows->body);
		buf_u32(b, crc32_add(0, b->p + b->n - rows->body, rows->body));
	}
}

/* One empty tensor, a blob of 3 bytes, a licence of 2, a prov. */
static void
make_framed(struct buf *b, const struct row *before, const struct row *after)
{
	static const char json[] = "{" DERIVED "\"apr_stream\":{\"version\":1,\"source\":{},"
		"\"metadata\":[],\"blobs\":[[\"b\",\"file\",3]],\"licence\":2,"
		"\"provenance\":[2],\"signatures\":0}}"
		"                "; /* the frames end where they must */
	static const uint64_t none[] = { 0 };

	buf_clear(b);
	buf_put(b, "APR2\2\0\0\0\x82\0\0\0\x20\0\0\0", 16);
	buf_u32(b, sizeof json - 1);
	buf_u32(b, 32 + sizeof json - 1);
	buf_u32(b, 8 + 41);
	buf_u32(b, 0);
	buf_text(b, json);
	buf_u32(b, 1);
	buf_u32(b, 0);
	put_entry(b, "t", 0, 1, none, 0, 0);
	put_rows(b, before);
	pad_to(b, 64);
	le32_put(b->p + 28, (uint32_t)b->n);
	put_rows(b, after);
	close_file(b);
}

#define BLOB { "blob", "{\"name\":\"b\",\"type\":\"file\"}", 3, false }
#define LICE { "lice", "{}", 2, false }
#define PROV { "prov", "{}", 0, false }
#define SUMS { "sums", APR2_SUMS_HEAD, 4, false }
#define LONG "{\"a\":\"01234567890123456789012345678901234567890123456789\"}"

static void
test_frames(void)
{
	static const struct {
		const char *name;
		struct row before[4], after[4];
		enum err_code code;
		const char *fact;
	} rows[] = {
		{ "all frames", { BLOB, LICE }, { SUMS, PROV }, ERR_NONE, "" },
		{ "no sums", { BLOB, LICE }, { PROV }, ERR_NONE, "" },
		{ "a head spelled otherwise", { { "blob", "{\"type\": \"file\", \"name\": \"b\"}",
		  3, false }, LICE }, { SUMS, PROV }, ERR_NONE, "" },
		{ "unknown frames in lower case", { BLOB, { "note", "{}", 5, false }, LICE },
		  { { "note", "{}", 5, false }, SUMS, PROV }, ERR_NONE, "" },
		{ "no blob", { LICE }, { PROV }, ERR_CORRUPT, "is not there" },
		{ "no licence", { BLOB }, { PROV }, ERR_CORRUPT, "is not there" },
		{ "two blobs", { BLOB, BLOB, LICE }, { PROV }, ERR_CORRUPT, "one more" },
		{ "two licences", { BLOB, LICE, LICE }, { PROV }, ERR_CORRUPT, "one more" },
		{ "a blob after the licence", { LICE, BLOB }, { PROV }, ERR_CORRUPT,
		  "out of order" },
		{ "a blob of 4 bytes", { { "blob", "{\"name\":\"b\",\"type\":\"file\"}", 4, false },
		  LICE }, { PROV }, ERR_CORRUPT, "a body of 4 bytes" },
		{ "another blob", { { "blob", "{\"name\":\"c\",\"type\":\"file\"}", 3, false },
		  LICE }, { PROV }, ERR_CORRUPT, "contradicts" },
		{ "a blob whose head is no JSON", { { "blob", "{", 3, false }, LICE }, { PROV },
		  ERR_CORRUPT, "not valid JSON" },
		{ "a licence of 3 bytes", { BLOB, { "lice", "{}", 3, false } }, { PROV },
		  ERR_CORRUPT, "a body of 3 bytes" },
		{ "a frame over the data", { BLOB, { "lice", "{}", 100, true } },
		  { PROV, PROV, PROV }, ERR_CORRUPT, "reaches into" },
		{ "a licence of no bytes", { BLOB, { "lice", LONG, 0, true } }, { PROV }, ERR_CORRUPT,
		  "a body of 0 bytes" },
		{ "an unknown frame in upper case", { BLOB, { "SPAR", "{}", 2, false } }, { PROV },
		  ERR_FORMAT, "must not pass" },
		{ "a prov before the data", { BLOB, LICE, PROV }, { PROV }, ERR_CORRUPT,
		  "out of order" },
		{ "no prov", { BLOB, LICE }, { SUMS }, ERR_CORRUPT, "is not there" },
		{ "two provs", { BLOB, LICE }, { SUMS, PROV, PROV }, ERR_CORRUPT, "one more" },
		{ "a prov of 1 byte more", { BLOB, LICE }, { { "prov", "{ }", 0, false } },
		  ERR_CORRUPT, "a head of 3 bytes" },
		{ "a prov with a body", { BLOB, LICE }, { { "prov", "{}", 1, false } }, ERR_CORRUPT,
		  "a body of 1 bytes" },
		{ "a sign that is not announced", { BLOB, LICE }, { PROV, { "sign", "{}", 0, false } },
		  ERR_CORRUPT, "one more" },
		{ "a prov after a sign", { BLOB, LICE }, { { "sign", "{}", 0, false }, PROV },
		  ERR_CORRUPT, "one more" },
		{ "sums of 8 bytes", { BLOB, LICE }, { { "sums", "{}", 8, false }, PROV },
		  ERR_CORRUPT, "for 1 tensors" },
		{ "sums twice", { BLOB, LICE }, { SUMS, SUMS, PROV }, ERR_CORRUPT, "out of order" },
		{ "sums after prov", { BLOB, LICE }, { PROV, SUMS }, ERR_CORRUPT, "out of order" },
		{ "a blob after the data", { BLOB, LICE }, { PROV, BLOB }, ERR_CORRUPT,
		  "out of order" },
	};
	struct buf file = { 0 };
	struct err e;
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		make_framed(&file, rows[i].before, rows[i].after);
		outcome(&file, false, &no_options, &e);
		test_ok(e.code == rows[i].code && strstr(e.fact, rows[i].fact), "%s: E00%d %s: %s",
		        rows[i].name, e.code, e.object, e.fact);
		test_ok(outcome(&file, true, &no_options, &e) == rows[i].code, "%s, from a pipe: %s",
		        rows[i].name, e.fact);
	}
	make_framed(&file, (struct row[4]){ BLOB, { "lice", LONG, 2, false } },
	            (struct row[4]){ PROV });
	le32_put(file.p + 28, le32(file.p + 28) - 64);
	repair(&file);
	test_ok(outcome(&file, false, &no_options, &e) == ERR_CORRUPT &&
	        strstr(e.fact, "reaches into"), "a head over the data: %s", e.fact);
	/* A hole that is neither frame nor padding. */
	make_framed(&file, (struct row[4]){ BLOB, LICE, { "\1\1\1\1", LONG, 40, false } },
	            (struct row[4]){ PROV });
	test_ok(outcome(&file, false, &no_options, &e) == ERR_CORRUPT &&
	        strstr(e.fact, "a hole"), "a hole before the data: %s", e.fact);
	buf_free(&file);
}

/* Items that contradict the plan: b a blob, l the licence, 0 and 1 tensors, p a
 * prov, s a sign, o another frame; < and > a tensor body too short, too long. */
static void
test_contradictions(void)
{
	static const struct {
		const char *items;
		const char *fact; /* NULL: good */
	} rows[] = {
		{ "bl01ps", NULL },     { "bl01pso", NULL },    { "obl0o1ops", NULL },
		{ "l01ps", "a blob or the licence" },           { "b01ps", "a blob or" },
		{ "lb01ps", "a blob" }, { "bbl01ps", "a blob" }, { "bll01ps", "the licence" },
		{ "bl10ps", "a tensor" }, { "bl0ps", "a tensor" }, { "bl011ps", "a tensor" },
		{ "bl01s", "a prov or sign" },                  { "bl01p", "a prov or sign" },
		{ "bl01sp", "a prov" }, { "bl01pps", "a prov" }, { "bl01pss", "a sign" },
		{ "bl01p0s", "a tensor" }, { "bl01pb", "a blob" }, { "bl01pl", "the licence" },
		{ "bl<1ps", "is shorter" }, { "bl>1ps", "is longer" },
		{ "B", "a blob" },      { "bL", "the licence" }, { "bl2", "a tensor" },
		{ "", "a blob or" },
	};
	static const uint64_t three[] = { 3 };
	char head[MODEL_SIGN_HEAD + 1];
	size_t i;

	snprintf(head, sizeof head, "{\"x\":\"%0*d\"}", MODEL_SIGN_HEAD - 8, 0);
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *c;
		struct err e = ERR_INIT;
		struct model m;
		struct sink *sink;
		int fd;

		begin_model(&m, NULL);
		model_add_blob(&m, "b", "file", 3, &e);
		m.licence = 2;
		m.signatures = 1;
		model_add_prov(&m, 2, &e);
		add_tensor(&m, "0", "U8", 1, three, TENSOR_OWN_SIZE);
		add_tensor(&m, "1", "U8", 1, three, TENSOR_OWN_SIZE);
		sink = open_sink(true, &no_options, &fd, &e);
		sink->note = note;
		noted[0] = '\0';
		sink_begin(sink, &m, &e);
		for (c = rows[i].items; *c && !e.code; c++) {
			struct item item = { .frame = "note", .head = "{}", .head_bytes = 2 };

			item.kind = strchr("bB", *c) ? ITEM_BLOB : strchr("lL", *c) ? ITEM_LICENCE
			          : *c == 'p' ? ITEM_PROV : *c == 's' ? ITEM_SIGN
			          : *c == 'o' ? ITEM_OTHER : ITEM_TENSOR;
			item.index = *c == '1';
			item.bytes = strchr("b01<>", *c) ? 3 : *c == 'l' ? 2 : 4;
			if (*c == 'p')
				item.bytes = 0;
			if (*c == 's') {
				item.bytes = model_sign_body(&m);
				item.head = head;
				item.head_bytes = MODEL_SIGN_HEAD;
			}
			if (sink_put(sink, &item, &e) < 0)
				break;
			put_body(sink, 0, item.bytes - (*c == '<') + (*c == '>'), &e);
			if (!e.code)
				sink_put_end(sink, &e);
		}
		if (!e.code)
			sink_end(sink, &e);
		test_ok(rows[i].fact ? e.code == ERR_CORRUPT && strstr(e.fact, rows[i].fact) != NULL
		                     : !e.code, "items %s: %s", rows[i].items, e.fact);
		test_ok((rows[i].items[0] == 'o') == (strstr(noted, "dropped") != NULL),
		        "items %s: %s", rows[i].items, noted);
		sink_close(sink);
		close(fd);
		model_free(&m);
	}
}

/* What is odd but harmless is told, and with strict refused. */
static void
test_oddities(void)
{
	static const struct format_options strict = { .strict = true };
	struct buf file = { 0 };
	struct source *s;
	struct err e;
	json_t *o;
	unsigned i;

	for (i = 0; i < 6; i++) {
		const char *fact = "";

		make_file(&file, i == 2 ? "{\"apr_version\":\"2.0.0\",\"architecture\":{}}"
		                        : spec_json, 64);
		if (i == 0) {
			le32_put(file.p + 8, 0x80000042);
			fact = "flags 0x80000000";
		} else if (i == 1) {
			le32_put(file.p + at.index + 4, 1);
			fact = "reserved field";
		} else if (i == 2) {
			fact = "lacks the required member model_type";
		} else if (i == 3) {
			le32_put(file.p + 8, 0x62);
			fact = "marked as signed";
		} else if (i == 5) {
			le32_put(file.p + 8, 0x43);
			fact = "marked as compressed, but no tensor is";
		} else {
			fact = "3 bytes after its footer";
		}
		repair(&file);
		if (i == 4)
			buf_text(&file, "xyz");
		test_ok(outcome(&file, false, &no_options, &e) == ERR_NONE && strstr(noted, fact),
		        "note: %s (%s)", noted, e.fact);
		test_ok(outcome(&file, true, &no_options, &e) == ERR_NONE && strstr(noted, fact),
		        "note from a pipe");
		test_ok(outcome(&file, false, &strict, &e) == ERR_CORRUPT && strstr(e.fact, fact),
		        "strict: %s", e.fact);
	}
	make_file(&file, spec_json, 64);
	le16_put(file.p + 6, 7);
	repair(&file);
	test_ok(outcome(&file, false, &no_options, &e) == ERR_NONE, "version 2.7 is read");
	memset(file.p + at.end, 0xff, at.foot - at.end);
	memset(file.p + at.data + 24, 0xff, 40);
	repair(&file);
	test_ok(outcome(&file, false, &no_options, &e) == ERR_NONE,
	        "padding may hold anything");
	le32_put(file.p + 8, 0x3000 | APR2_ALIGNED_64 | APR2_ALIGNED_32 | APR2_SIGNED |
	         APR2_QUANTIZED | APR2_STREAMING | APR2_SAFETENSORS_SRC | APR2_GGUF_SRC);
	buf_text(&file, "x");
	s = open_memory(&file, true, &no_options, &e);
	o = s ? format_apr2.describe(s, &e) : NULL;
	test_ok(json_array_size(json_object_get(o, "flags")) == 8 &&
	        strcmp(json_string_value(json_array_get(json_object_get(o, "flags"), 7)),
	               "0x3000") == 0 && json_is_null(json_object_get(o, "checksum")),
	        "describe: unknown flags, and no footer at the end");
	json_decref(o);
	source_close(s);
	file.n--;
	le32_put(file.p + 8, 0);
	repair(&file);
	test_ok(outcome(&file, false, &no_options, &e) == ERR_NONE,
	        "without a flag the alignment is found");
	s = open_memory(&file, true, &no_options, &e);
	o = s ? format_apr2.describe(s, &e) : NULL;
	test_ok(json_integer_value(json_object_get(o, "alignment")) == 64,
	        "the largest that holds: 64");
	json_decref(o);
	source_close(s);
	buf_free(&file);
}

/* No flag says it: a second tensor at byte 32 is on no multiple of 64. */
static void
test_alignment_found(void)
{
	static const struct format_options align = { .align = 32 };
	static const uint64_t three[] = { 3 };
	struct buf stream = { 0 }, file = { 0 };
	struct err e = ERR_INIT;
	struct source *s;
	struct model m;
	json_t *o;

	begin_model(&m, NULL);
	add_tensor(&m, "x", "U8", 1, three, TENSOR_OWN_SIZE);
	add_tensor(&m, "y", "U8", 1, three, TENSOR_OWN_SIZE);
	make_stream(&m, NULL, &stream);
	convert(open_memory(&stream, false, &no_options, &e), true, &align, &file, &e);
	le32_put(file.p + 8, le32(file.p + 8) & ~(uint32_t)APR2_ALIGNED_32);
	le32_put(file.p + file.n - 16, crc32_add(0, file.p, file.n - 16));
	s = open_memory(&file, true, &no_options, &e);
	o = s ? format_apr2.describe(s, &e) : NULL;
	test_ok(json_integer_value(json_object_get(o, "alignment")) == 32 &&
	        json_array_size(json_object_get(o, "flags")) == 1,
	        "the largest that holds: 32 (%s)", e.fact);
	json_decref(o);
	source_close(s);
	model_free(&m);
	buf_free(&stream);
	buf_free(&file);
}

/* Truncation at every byte, and one flipped bit in every byte. */
static void
test_damage(void)
{
	struct buf file = { 0 }, cut;
	struct err e;
	size_t i, passed = 0, wrong = 0;

	make_file(&file, spec_json, 64);
	for (i = 0; i < file.n; i++) {
		cut = (struct buf){ .p = file.p, .n = i };
		if (outcome(&cut, false, &no_options, &e) == ERR_NONE ||
		    outcome(&cut, true, &no_options, &e) == ERR_NONE)
			passed++;
		else if (e.code != ERR_CORRUPT && i >= 4)
			wrong++;
	}
	test_ok(passed == 0 && wrong == 0, "cut at every byte: %zu passed, %zu other codes",
	        passed, wrong);
	for (i = 0; i < 8 * file.n; i++) {
		file.p[i / 8] ^= (uint8_t)(1u << i % 8);
		passed += outcome(&file, i % 2, &no_options, &e) == ERR_NONE;
		file.p[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	test_ok(passed == 0, "FALSIFY 4: every bit flipped, %zu passed", passed);
	file.p[at.data + 70] ^= 1;
	test_ok(outcome(&file, false, &no_options, &e) == ERR_CHECKSUM, "E004: %s", e.fact);
	buf_free(&file);
}

/* The sums name the damaged tensor. */
static void
test_sums(void)
{
	struct buf stream = { 0 }, file = { 0 };
	struct err e = ERR_INIT;
	struct model m;
	size_t sums;

	begin_model(&m, "gguf");
	add_tensor(&m, "second", "F32", 1, row, TENSOR_OWN_SIZE);
	add_tensor(&m, "first", "F32", 1, row, TENSOR_OWN_SIZE);
	m.signatures = 1;
	make_stream(&m, NULL, &stream);
	convert(open_memory(&stream, false, &no_options, &e), true, &no_options, &file, &e);
	at.foot = file.n - 16;
	sums = le32(file.p + 28) + 2048;
	test_ok(memcmp(file.p + sums, "sums", 4) == 0, "sums after the data");
	file.p[le32(file.p + 28) + 1500] ^= 1;
	repair(&file);
	test_ok(outcome(&file, false, &no_options, &e) == ERR_CHECKSUM &&
	        strcmp(e.object, "first") == 0, "%s: %s", e.object, e.fact);
	file.p[le32(file.p + 28) + 1500] ^= 1;
	file.p[sums] = 'S';
	test_ok(outcome(&file, false, &no_options, &e) == ERR_CHECKSUM, "its head: %s",
	        e.fact);
	le32_put(file.p + sums + 16 + 20, crc32_add(0, file.p + sums, 16 + 20));
	repair(&file);
	test_ok(outcome(&file, false, &no_options, &e) == ERR_FORMAT &&
	        strstr(e.fact, "Sums"), "an unknown frame in upper case: %s", e.fact);
	memcpy(file.p + sums, "note", 4);
	le32_put(file.p + sums + 16 + 20, crc32_add(0, file.p + sums, 16 + 20));
	repair(&file);
	buf_clear(&stream);
	convert(open_memory(&file, true, &no_options, &e), true, &no_options, &stream, &e);
	test_ok(e.code == ERR_FORMAT || e.code == ERR_NONE, "one in lower case is passed on");
	e = (struct err)ERR_INIT;
	convert(open_memory(&file, true, &no_options, &e), true, &no_options, &stream, &e);
	test_ok(e.code == ERR_NONE && stream.n > file.n, "and kept beside the new sums: %s",
	        e.fact);
	memcpy(file.p + sums, "blob", 4);
	le32_put(file.p + sums + 16 + 20, crc32_add(0, file.p + sums, 16 + 20));
	repair(&file);
	test_ok(outcome(&file, false, &no_options, &e) == ERR_CORRUPT &&
	        strstr(e.fact, "out of order"), "a blob after the data: %s", e.fact);
	model_free(&m);
	buf_free(&stream);
	buf_free(&file);
}

/* Files of the family are others'. */
static void
test_relatives(void)
{
	test_ok(!apr2_flag(0x400) && strcmp(apr2_flag(0x100), "SAFETENSORS_SRC") == 0,
	        "flags have names");
	test_ok(!format_apr2.probe((const uint8_t *)"GGUF", 4) &&
	        !format_apr2.probe((const uint8_t *)"APR", 3) &&
	        !format_apr2.probe((const uint8_t *)"APR", 4) &&
	        !format_apr2.probe((const uint8_t *)"APRN", 4), "others are others");
}

/* What APR2 cannot hold is refused before a byte is written. */
static void
test_refusals(void)
{
	static const uint64_t one[] = { 1 };
	struct format_options by_16 = { .align = 16 };
	struct buf out = { 0 };
	unsigned i;

	for (i = 0; i < 6; i++) {
		static const char *const fact[] = { "no code for type GGML_99",
			"offsets in 32 bits", "32 or 64 bytes", "exceeds the 256 MiB",
			"overflows", "overflows" };
		struct err e = ERR_INIT;
		struct model m;
		struct sink *sink;
		int fd;

		begin_model(&m, "gguf");
		if (i == 0)
			add_tensor(&m, "t", "GGML_99", 1, one, 5);
		else if (i == 1)
			model_add_blob(&m, "b", "file", UINT64_C(1) << 32, &e);
		else if (i == 3)
			model_add_meta_blob(&m, "k", 1, (struct value_type){ 0, VALUE_JSON },
			                    300u << 20, &e);
		else if (i == 4)
			model_add_blob(&m, "b", "file", UINT64_MAX - 10, &e);
		else if (i == 5)
			m.licence = UINT64_MAX - 10;
		sink = open_sink(true, i == 2 ? &by_16 : &no_options, &fd, &e);
		test_ok(sink_begin(sink, &m, &e) < 0 && strstr(e.fact, fact[i]), "%s: %s",
		        e.object, e.fact);
		sink_close(sink);
		slurp(fd, &out);
		test_ok(out.n == 0, "nothing was written");
		close(fd);
		model_free(&m);
	}
	buf_free(&out);
}

/* The example of the manual page is a file. */
static void
test_manual(void)
{
	FILE *page = fopen("man/apr2.5", "r");
	struct buf file = { 0 };
	struct err e = ERR_INIT;
	char line[256];

	if (!page)
		die("man/apr2.5 cannot be read: run this in the top folder");
	while (fgets(line, sizeof line, page)) {
		unsigned at_byte, byte, i;
		int used, more;

		if (sscanf(line, "%2x  %n", &at_byte, &used) < 1 || at_byte != file.n ||
		    line[2] != ' ')
			continue;
		for (i = 0; i < 16 && sscanf(line + used, "%2x%n", &byte, &more) == 1; i++) {
			buf_u8(&file, (uint8_t)byte);
			used += more;
		}
	}
	fclose(page);
	test_ok(file.n == 144 && outcome(&file, false, &no_options, &e) == ERR_NONE &&
	        !noted[0], "the example of apr2(5), %zu bytes (%s)", file.n, e.fact);
	buf_free(&file);
}

/* ---- compression ---- */

/* Read as from a pipe, of any size. */
static struct source *
open_forward(const struct buf *b, const struct format_options *o, struct err *e)
{
	struct reader r;

	noted[0] = '\0';
	reader_memory(&r, b->p, b->n, "in", e);
	r.seekable = false;
	r.end = READER_UNKNOWN;
	return format_apr2.open(&r, o, note, e);
}

/* Pack into an output that cannot seek. */
static void
pack_forward(const struct buf *stream, const struct format_options *o, struct buf *out,
             struct err *e)
{
	static const struct flow straight;
	struct source *source = open_memory(stream, false, o, e);
	int fd = memfd_create("out", 0);
	struct out to;
	struct sink *sink;

	if (fd < 0 || out_fd(&to, dup(fd), "out", e) < 0)
		die("no memory file");
	to.seekable = false;
	sink = format_apr2.create(&to, o, e);
	flow_run(source, sink, &straight, e);
	sink_close(sink);
	source_close(source);
	slurp(fd, out);
	close(fd);
}

/* The body of the sums frame. */
static const uint8_t *
sums_of(const struct buf *apr2)
{
	size_t i;

	for (i = apr2->n - 16; i > 0 && memcmp(apr2->p + i, "sums", 4) != 0; i--)
		;
	return apr2->p + i + 16 + strlen(APR2_SUMS_HEAD) + 4;
}

/* Which tensors are compressed by what, as a letter each. */
static void
how_stored(const struct buf *apr2, char *letters)
{
	struct err e = ERR_INIT;
	struct source *s = open_memory(apr2, true, &no_options, &e);
	size_t i;

	if (!s)
		die(e.fact);
	for (i = 0; i < s->plan->tensor_count; i++) {
		uint64_t stored, bytes = tensor_bytes(s->plan->tensors[i]);
		const struct codec *c = format_apr2.tensor_stored(s, i, &stored);

		letters[i] = c ? c->name[0] : '-';
		if (c ? stored >= bytes : stored != bytes)
			letters[i] = '?';
	}
	letters[i] = '\0';
	source_close(s);
}

static void
test_compressed(void)
{
	static const struct format_options how[] = { { .codec = &codec_lz4 },
		{ .codec = &codec_zstd, .level = 3 },
		{ .codec = &codec_zstd, .level = 13, .align = 32 } };
	static const uint64_t none[] = { 0 }, small[] = { 300 }, mib[] = { 1 << 20 },
		less[] = { (1 << 20) - 1 }, more[] = { (1 << 20) + 1 }, large[] = { 3000000 };
	struct buf stream = { 0 }, plain = { 0 }, apr2 = { 0 }, again = { 0 }, back = { 0 };
	struct err e = ERR_INIT;
	struct model m;
	size_t i;

	begin_model(&m, "safetensors");
	model_add_blob(&m, "b", "file", 1000, &e);
	m.licence = 5;
	m.signatures = 1;
	for (i = 0; i < 24; i++) {
		const uint64_t *dims = i < 4 ? small : i < 8 ? less : i < 12 ? mib : i < 16 ? more
		                       : i < 20 ? large : none;
		char name[8];

		snprintf(name, sizeof name, "%c%zu", (int)('z' - i), i);
		add_tensor(&m, name, "U8", 1, dims, TENSOR_OWN_SIZE);
	}
	for_codecs = true;
	make_stream(&m, NULL, &stream);
	for_codecs = false;
	for (i = 0; i < 3; i++) {
		const struct format_options as_it_is = { .align = how[i].align };
		const char *name = how[i].codec->name;
		char letters[32], want[25];
		size_t j;

		/* Noise is not, nor what begins with a MiB of it, nor what is empty. */
		for (j = 0; j < 24; j++)
			want[j] = j < 20 && j % 2 ? name[0] : '-';
		want[24] = '\0';
		convert(open_memory(&stream, false, &no_options, &e), true, &as_it_is, &plain, &e);
		convert(open_memory(&stream, false, &no_options, &e), true, &how[i], &apr2, &e);
		test_ok(!e.code && !noted[0], "%s: packed (%s %s)", name, e.fact, noted);
		how_stored(&apr2, letters);
		test_ok(strcmp(letters, want) == 0, "%s: %s", name, letters);
		test_ok((le32(apr2.p + 8) & APR2_COMPRESSED) && apr2.n < plain.n / 3 * 2,
		        "%s: %zu bytes of %zu", name, apr2.n, plain.n);
		test_ok(memcmp(sums_of(&apr2), sums_of(&plain), 24 * 4) == 0,
		        "%s: the sums are those of plain bytes", name);
		pack_forward(&stream, &how[i], &again, &e);
		test_ok(!e.code && same(&apr2, &again), "%s: the same bytes into a pipe (%s)",
		        name, e.fact);
		convert(open_memory(&apr2, true, &no_options, &e), true, &how[i], &again, &e);
		test_ok(!e.code && same(&apr2, &again), "%s: and packed again (%s)", name, e.fact);
		convert(open_memory(&apr2, true, &no_options, &e), true, &no_options, &again, &e);
		test_ok(!e.code && same(&plain, &again),
		        "%s: and the plain file when unpacked (%s)", name, e.fact);
		convert(open_memory(&plain, true, &no_options, &e), false, &no_options, &back, &e);
		convert(open_memory(&apr2, true, &no_options, &e), false, &no_options, &again, &e);
		test_ok(!e.code && same(&back, &again) && !noted[0], "%s: the same stream (%s)",
		        name, e.fact);
		test_ok(how[i].align || same(&stream, &back), "%s: and the one it came from", name);
		buf_clear(&again);
		convert(open_forward(&apr2, &no_options, &e), false, &no_options, &again, &e);
		test_ok(!e.code && same(&back, &again), "%s: from a pipe (%s)", name, e.fact);
	}
	model_free(&m);

	/* Nothing to gain. */
	begin_model(&m, NULL);
	add_tensor(&m, "t", "U8", 1, large, TENSOR_OWN_SIZE);
	for_codecs = true;
	make_stream(&m, NULL, &stream);
	for_codecs = false;
	convert(open_memory(&stream, false, &no_options, &e), true, &no_options, &plain, &e);
	convert(open_memory(&stream, false, &no_options, &e), true, &how[1], &apr2, &e);
	test_ok(!e.code && same(&plain, &apr2) && strstr(noted, "no tensor gets shorter by zstd"),
	        "noise: the plain file, and a note: %s", noted);
	model_free(&m);
	buf_free(&stream);
	buf_free(&plain);
	buf_free(&apr2);
	buf_free(&again);
	buf_free(&back);
}

/* One tensor t, U8 [size], that is stored as the bytes given. */
static void
make_packed(struct buf *b, const void *stored, size_t n, uint64_t size, uint64_t raw,
            uint32_t flags)
{
	size_t entry;

	buf_clear(b);
	buf_put(b, "APR2\2\0\0\0\x03\0\0\0\x20\0\0\0", 16);
	buf_u32(b, sizeof spec_json - 1);
	buf_u32(b, 32 + sizeof spec_json - 1);
	buf_u32(b, 8 + 41);
	buf_u32(b, 0);
	buf_text(b, spec_json);
	buf_u32(b, 1);
	buf_u32(b, 0);
	entry = b->n;
	put_entry(b, "t", 7, 1, &size, 0, n);
	le64_put(b->p + entry + 29, raw);
	le32_put(b->p + entry + 37, flags);
	pad_to(b, 64);
	le32_put(b->p + 28, (uint32_t)b->n);
	buf_put(b, stored, n);
	pad_to(b, 64);
	close_file(b);
}

/* zstd: one block of zeros; a window of 1 KiB, or of 64 MiB. lz4: a block of three
 * bytes as they are. */
#define ZEROS "\x28\xb5\x2f\xfd\0\0\x23\0\0\0" /* 4 */
#define WIDE "\x28\xb5\x2f\xfd\0\x80\x23\0\0\0"
#define THREE "\x04\x22\x4d\x18\x60\x40\x82\3\0\0\x80" "abc\0\0\0\0"
#define OF(s) s, sizeof(s) - 1

static void
test_stored(void)
{
	static const struct format_options wide = { .memory = 64 << 20 },
		strict = { .strict = true };
	static const struct {
		const char *name;
		const char *stored;
		size_t n;
		uint64_t size, raw;
		uint32_t flags;
		enum err_code code;
		const char *fact;
	} rows[] = {
		{ "zstd", OF(ZEROS), 4, 4, 2, ERR_NONE, "" },
		{ "lz4", OF(THREE), 3, 3, 1, ERR_NONE, "" },
		{ "raw size is not the tensor's", OF(ZEROS), 4, 5, 2, ERR_CORRUPT, "takes 4 bytes" },
		{ "a zstd bomb", OF(ZEROS), 3, 3, 2, ERR_CORRUPT, "holds more than 3 bytes" },
		{ "an lz4 bomb", OF(THREE), 2, 2, 1, ERR_CORRUPT, "holds more than 2 bytes" },
		{ "zstd, too few", OF(ZEROS), 5, 5, 2, ERR_CORRUPT, "holds 4 bytes, not 5" },
		{ "lz4, too few", OF(THREE), 4, 4, 1, ERR_CORRUPT, "holds 3 bytes, not 4" },
		{ "zstd, cut short", OF(ZEROS) - 1, 4, 4, 2, ERR_CORRUPT, "cut short" },
		{ "lz4, cut short", OF(THREE) - 1, 3, 3, 1, ERR_CORRUPT, "cut short" },
		{ "zstd, bytes after it", OF(ZEROS "x"), 4, 4, 2, ERR_CORRUPT,
		  "1 bytes are stored after" },
		{ "lz4, bytes after it", OF(THREE "xy"), 3, 3, 1, ERR_CORRUPT,
		  "2 bytes are stored after" },
		{ "two zstd frames", OF(ZEROS ZEROS), 8, 8, 2, ERR_CORRUPT, "holds 4 bytes, not 8" },
		{ "two lz4 frames", OF(THREE THREE), 6, 6, 1, ERR_CORRUPT, "holds 3 bytes, not 6" },
		{ "zstd as lz4", OF(ZEROS), 4, 4, 1, ERR_CORRUPT, "is no lz4 frame" },
		{ "lz4 as zstd", OF(THREE), 3, 3, 2, ERR_CORRUPT, "is no zstd frame" },
		{ "a byte", OF("x"), 3, 3, 2, ERR_CORRUPT, "is no zstd frame" },
		{ "nothing", OF(""), 3, 3, 2, ERR_CORRUPT, "0 bytes of zstd cannot stand for 3" },
		{ "2^40 from 10", OF(ZEROS), UINT64_C(1) << 40, UINT64_C(1) << 40, 2, ERR_CORRUPT,
		  "10 bytes of zstd cannot stand for 1099511627776" },
		{ "2^64-1 from 18", OF(THREE), UINT64_MAX, UINT64_MAX, 1, ERR_CORRUPT,
		  "18 bytes of lz4 cannot" },
		{ "a reserved block", OF("\x28\xb5\x2f\xfd\0\0\x27\0\0\0"), 4, 4, 2, ERR_CORRUPT,
		  "zstd frame is damaged" },
		{ "a wrong header checksum", OF("\x04\x22\x4d\x18\x60\x40\x83\0\0\0\0"), 1, 1, 1,
		  ERR_CHECKSUM, "lz4 frame is damaged" },
		{ "a wide window", OF(WIDE), 4, 4, 2, ERR_MEMORY, "needs a window of 64.0 MiB" },
	};
	struct buf file = { 0 };
	struct err e;
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		make_packed(&file, rows[i].stored, rows[i].n, rows[i].size, rows[i].raw,
		            rows[i].flags);
		outcome(&file, false, &no_options, &e);
		test_ok(e.code == rows[i].code && strstr(e.fact, rows[i].fact), "%s: E00%d %s: %s",
		        rows[i].name, e.code, e.object, e.fact);
		outcome(&file, true, &no_options, &e);
		test_ok(e.code == rows[i].code && strstr(e.fact, rows[i].fact), "%s, from a pipe: %s",
		        rows[i].name, e.fact);
	}
	test_ok(outcome(&file, false, &wide, &e) == ERR_NONE, "a wide window, allowed (%s)",
	        e.fact);
	make_packed(&file, OF(ZEROS), 4, 4, 2);
	le32_put(file.p + 8, APR2_ALIGNED_64);
	repair(&file);
	test_ok(outcome(&file, false, &no_options, &e) == ERR_NONE &&
	        strstr(noted, "not marked as compressed"), "note: %s (%s)", noted, e.fact);
	test_ok(outcome(&file, false, &strict, &e) == ERR_CORRUPT, "strict: %s", e.fact);
	for (i = 0; i < file.n; i++) {
		struct buf cut = { .p = file.p, .n = i };

		if (outcome(&cut, false, &no_options, &e) == ERR_NONE ||
		    outcome(&cut, true, &no_options, &e) == ERR_NONE)
			break;
	}
	test_ok(i == file.n, "cut at every byte: none passes");
	buf_free(&file);
}

int
main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_dtypes();
	test_everything();
	test_plain();
	test_quantization();
	test_long_json();
	test_foreign();
	test_faults();
	test_json_faults();
	test_frames();
	test_contradictions();
	test_oddities();
	test_alignment_found();
	test_damage();
	test_sums();
	test_relatives();
	test_refusals();
	test_compressed();
	test_stored();
	test_manual();
	return test_done();
}
