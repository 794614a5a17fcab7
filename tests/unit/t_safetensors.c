#include "test.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/le.h"
#include "formats/safetensors/safetensors.h"
#include "stream/plan.h"
#include "stream/stream.h"

static const struct format_options usual;
static char noted[1024]; /* the notes of the last run */

static void
note(const char *text)
{
	size_t n = strlen(noted);

	snprintf(noted + n, sizeof noted - n, "%s\n", text);
}

static void
die(const char *what)
{
	printf("Bail out! %s\n", what);
	exit(1);
}

/* ---- files and streams in memory ---- */

/* All that was written to a memory file, terminated. */
static void
slurp(int fd, struct buf *b)
{
	uint8_t piece[4096];
	ssize_t n;

	buf_clear(b);
	lseek(fd, 0, SEEK_SET);
	while ((n = read(fd, piece, sizeof piece)) > 0)
		buf_put(b, piece, (size_t)n);
	if (!buf_string(b))
		die("out of memory");
}

enum kind { STREAM, FILE_OF, PIPE_OF };

static struct source *
open_bytes(const struct buf *b, enum kind kind, struct err *e)
{
	struct reader r;

	reader_memory(&r, b->p, b->n, "in", e);
	if (kind == PIPE_OF) {
		r.seekable = false;
		r.end = READER_UNKNOWN;
	}
	return kind == STREAM ? stream_source(&r, e)
	                      : format_safetensors.reads->open(&r, &usual, note, e);
}

/* A sink into a memory file. */
static struct sink *
open_sink(enum kind kind, const struct format_options *o, int *fd, struct err *e)
{
	struct out out;
	struct sink *sink;

	*fd = memfd_create("out", MFD_CLOEXEC);
	if (*fd < 0 || out_fd(&out, dup(*fd), "out", e) < 0)
		die("no memory file");
	if (kind == PIPE_OF)
		out.seekable = false;
	sink = kind == STREAM ? stream_sink(&out, e)
	                      : format_safetensors.writes->create(&out, o, e);
	sink->note = note;
	return sink;
}

/* in, of kind from, as a file of kind to. The fault, if any, is in e. */
static void
convert(const struct buf *in, enum kind from, enum kind to, const struct format_options *o,
        struct buf *out, struct err *e)
{
	static const struct flow straight;
	struct source *source;
	struct sink *sink;
	int fd;

	*e = (struct err)ERR_INIT;
	noted[0] = '\0';
	source = open_bytes(in, from, e);
	if (!source)
		return;
	sink = open_sink(to, o, &fd, e);
	flow_run(source, sink, &straight, e);
	sink_close(sink);
	source_close(source);
	slurp(fd, out);
	close(fd);
}

static bool
same(const struct buf *a, const struct buf *b)
{
	return a->n == b->n && memcmp(a->p, b->p, a->n) == 0;
}

/* A file of that header, unpadded, and data bytes. */
static void
make_file(struct buf *b, const char *header, size_t data)
{
	size_t i;

	buf_clear(b);
	buf_u64(b, strlen(header));
	buf_text(b, header);
	for (i = 0; i < data; i++)
		buf_u8(b, (uint8_t)(i * 7 + 1));
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
add_key(struct model *m, const char *key, const char *type, const char *json)
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

/* bytes bytes that differ with n; those of a blob are given. */
static void
put_item(struct sink *sink, enum item_kind kind, size_t index, const char *head,
         const struct buf *body, uint64_t bytes, struct err *e)
{
	struct item item = { .kind = kind, .index = index, .bytes = body ? body->n : bytes,
		.head = head, .head_bytes = head ? strlen(head) : 0 };
	uint64_t i;

	if (sink_put(sink, &item, e) < 0)
		return;
	if (body) {
		sink_write(sink, body->p, body->n, e);
	} else {
		for (i = 0; i < bytes; i++)
			sink_write(sink, &(uint8_t){ (uint8_t)(i * 7 + index) }, 1, e);
	}
	if (!e->code)
		sink_put_end(sink, e);
}

#define PROV "{\"operation\":\"quantized\"}"

/* The whole model into a sink. blobs: bodies of its blobs; NULL where it has none. */
static void
put_model(struct sink *sink, const struct model *m, const struct buf *blobs,
          struct err *e)
{
	char head[MODEL_SIGN_HEAD + 1];
	size_t i;

	if (sink_begin(sink, m, e) < 0)
		return;
	for (i = 0; i < m->blob_count; i++)
		put_item(sink, ITEM_BLOB, i, NULL, &blobs[i], 0, e);
	if (m->licence != MODEL_NONE)
		put_item(sink, ITEM_LICENCE, 0, NULL, NULL, m->licence, e);
	for (i = 0; i < m->tensor_count; i++)
		put_item(sink, ITEM_TENSOR, i, NULL, NULL, tensor_bytes(m->tensors[i]), e);
	for (i = 0; i < m->prov_count; i++)
		put_item(sink, ITEM_PROV, i, PROV, NULL, 0, e);
	snprintf(head, sizeof head, "{\"x\":\"%0*d\"}", MODEL_SIGN_HEAD - 8, 0);
	for (i = 0; i < m->signatures; i++)
		put_item(sink, ITEM_SIGN, i, head, NULL, model_sign_body(m), e);
	if (!e->code)
		sink_end(sink, e);
}

static void
make_stream(const struct model *m, const struct buf *blobs, struct buf *out)
{
	struct err e = ERR_INIT;
	int fd;
	struct sink *sink = open_sink(STREAM, &usual, &fd, &e);

	put_model(sink, m, blobs, &e);
	if (e.code)
		die(e.fact);
	sink_close(sink);
	slurp(fd, out);
	close(fd);
}

/* Stream, file, stream: the same stream. Its file again: the same file. The file
 * stays in file. */
static void
round_trip(const char *name, const struct model *m, const struct buf *blobs,
           struct buf *file)
{
	struct buf stream = { 0 }, back = { 0 };
	struct err e = ERR_INIT;

	make_stream(m, blobs, &stream);
	convert(&stream, STREAM, FILE_OF, &usual, file, &e);
	test_ok(!e.code, "%s: packed (%s %s)", name, e.object, e.fact);
	if (e.code)
		die(name);
	test_ok(le64(file->p) % 8 == 0, "%s: padded to 8", name);
	convert(file, FILE_OF, STREAM, &usual, &back, &e);
	test_ok(!e.code && same(&stream, &back), "%s: the stream is the same (%s %s)", name,
	        e.object, e.fact);
	convert(file, PIPE_OF, STREAM, &usual, &back, &e);
	test_ok(!e.code && same(&stream, &back), "%s: and from a pipe (%s)", name, e.fact);
	convert(file, FILE_OF, FILE_OF, &usual, &back, &e);
	test_ok(!e.code && same(file, &back), "%s: the file is the same (%s)", name, e.fact);
	buf_free(&stream);
	buf_free(&back);
}

/* Does the header hold this text? */
static bool
says(const struct buf *file, const char *text)
{
	return memmem(file->p + 8, le64(file->p), text, strlen(text)) != NULL;
}

/* ---- the contents of a header ---- */

static const struct {
	const char *header, *plan;
	size_t data;
} readings[] = {
	{ "{}      ", "{\"version\":1,\"source\":{\"format\":\"safetensors\"},\"metadata\":[],"
	  "\"blobs\":[],\"tensors\":[],\"signatures\":0}", 0 },
	{ "{\"b\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[2,10]},"
	  "\"a\":{\"shape\":[],\"dtype\":\"BF16\",\"data_offsets\":[0,2]},"
	  "\"__metadata__\":{\"z\":\"1\",\"a\":\"2\"}}  ",
	  "{\"version\":1,\"source\":{\"format\":\"safetensors\",\"metadata_at\":2,"
	  "\"padding\":2,\"index_order\":[1,0]},"
	  "\"metadata\":[[\"z\",\"string\",\"1\"],[\"a\",\"string\",\"2\"]],\"blobs\":[],"
	  "\"tensors\":[[\"a\",\"BF16\",[]],[\"b\",\"F32\",[2,1]]],\"signatures\":0}", 10 },
	{ "{\"a\": {\"data_offsets\": [0, 0], \"dtype\": \"U8\", \"shape\": [0]}}    ",
	  "{\"version\":1,\"source\":{\"format\":\"safetensors\",\"spaced\":true,"
	  "\"members\":[\"data_offsets\",\"dtype\",\"shape\"]},\"metadata\":[],\"blobs\":[],"
	  "\"tensors\":[[\"a\",\"U8\",[0]]],\"signatures\":0}", 0 },
	{ "{\"__metadata__\":{},\"\\u00e9\":{\"dtype\":\"U8\",\"shape\":[1],"
	  "\"data_offsets\":[0,1]}}    ",
	  "{\"version\":1,\"source\":{\"format\":\"safetensors\",\"ascii\":true,"
	  "\"metadata_at\":0},\"metadata\":[],\"blobs\":[],"
	  "\"tensors\":[[\"\xc3\xa9\",\"U8\",[1]]],\"signatures\":0}", 1 },
	/* Keys of ours, in no order; a key that others have added comes behind. */
	{ "{\"__metadata__\":{\"apr.shape.q\":\"[1,32]\",\"new\":\"?\",\"apr.blob.b\":\"QUI=\","
	  "\"apr.prov.0\":\"e30=\",\"apr.source\":\"{\\\"format\\\":\\\"gguf\\\"}\","
	  "\"apr.blob.value:ids\":\"AAAAAAIAAAAAAAAAAQI=\",\"k\":\"v\","
	  "\"apr.metadata\":\"[[\\\"n\\\",\\\"u32\\\",7],[\\\"k\\\",\\\"string\\\"],"
	  "[\\\"ids\\\",\\\"array:u8\\\",{\\\"blob\\\":\\\"value:ids\\\"}]]\","
	  "\"apr.licence\":\"\",\"apr.blob.a\":\"\",\"apr.dtype.q\":\"Q4_0\","
	  "\"apr.blobs\":\"[[\\\"b\\\",\\\"file\\\"],[\\\"a\\\",\\\"file\\\"]]\"},"
	  "\"q\":{\"dtype\":\"U8\",\"shape\":[18],\"data_offsets\":[0,18]}}",
	  "{\"version\":1,\"source\":{\"format\":\"gguf\"},"
	  "\"metadata\":[[\"n\",\"u32\",7],[\"k\",\"string\",\"v\"],"
	  "[\"ids\",\"array:u8\",{\"blob\":\"value:ids\"}],[\"new\",\"string\",\"?\"]],"
	  "\"blobs\":[[\"value:ids\",\"value\",14],[\"b\",\"file\",2],[\"a\",\"file\",0]],"
	  "\"licence\":0,\"tensors\":[[\"q\",\"Q4_0\",[1,32]]],\"provenance\":[2],"
	  "\"signatures\":0}", 18 },
};

static void
test_readings(void)
{
	struct buf file = { 0 }, text = { 0 };
	size_t i;

	for (i = 0; i < sizeof readings / sizeof *readings; i++) {
		struct err e = ERR_INIT;
		struct source *s;
		json_t *plan = NULL;

		make_file(&file, readings[i].header, readings[i].data);
		s = open_bytes(&file, FILE_OF, &e);
		if (s)
			plan = plan_to_json(s->plan, true, &e);
		buf_clear(&text);
		if (plan)
			json_write(plan, &text);
		buf_string(&text);
		test_ok(plan && strcmp((char *)text.p, readings[i].plan) == 0,
		        "%.40s… says %s %s%s", readings[i].header, (char *)text.p, e.object,
		        e.fact);
		json_decref(plan);
		source_close(s);
	}
	buf_free(&file);
	buf_free(&text);
}

/* However short it is cut, it is refused; one byte more is too. */
static void
test_truncation(void)
{
	struct buf file = { 0 }, out = { 0 };
	size_t i, whole;
	int refused = 1, coded = 1;

	make_file(&file, readings[1].header, readings[1].data);
	buf_u8(&file, 0);
	whole = file.n - 1;
	for (i = 0; i <= whole + 1; i++) {
		enum kind kind;

		for (kind = FILE_OF; kind <= PIPE_OF; kind++) {
			struct buf part = { .p = file.p, .n = i };
			struct err e;

			convert(&part, kind, STREAM, &usual, &out, &e);
			refused &= (e.code == ERR_NONE) == (i == whole);
			coded &= e.code == ERR_NONE || e.code == ERR_CORRUPT;
		}
	}
	test_ok(refused, "every shorter file of %zu bytes is refused, and a longer one", whole);
	test_ok(coded, "as corrupt");
	buf_free(&file);
	buf_free(&out);
}

/* ---- whole models ---- */

static const uint64_t three[] = { 3 }, square[] = { 2, 256 };

static void
test_dtypes(void)
{
	struct buf file = { 0 };
	const struct dtype *type;
	struct model m;
	unsigned i;

	begin_model(&m, "gguf");
	for (i = 0; (type = dtype_row(i)); i++)
		add_tensor(&m, type->name, type->name, 2, square, TENSOR_OWN_SIZE);
	add_tensor(&m, "unknown", "GGML_57", 1, three, 40);
	round_trip("every dtype", &m, NULL, &file);
	test_ok(says(&file, "\"F8_E4M3\":{\"dtype\":\"F8_E4M3\",\"shape\":[2,256],"),
	        "a type that safetensors has is written as it is");
	test_ok(says(&file, "\"apr.dtype.Q4_0\":\"Q4_0\",\"apr.shape.Q4_0\":\"[2,256]\"") &&
	        says(&file, "\"Q4_0\":{\"dtype\":\"U8\",\"shape\":[288],"),
	        "another one as bytes, with what it was");
	test_ok(says(&file, "\"apr.dtype.unknown\":\"GGML_57\""), "also one of unknown size");
	test_ok(says(&file, "\"apr.source\":\"{\\\"format\\\":\\\"gguf\\\"}\""),
	        "the first container travels");
	model_free(&m);
	buf_free(&file);
}

/* The wire form of a string. */
static void
put_string(struct buf *b, const char *piece, size_t times, const char *end)
{
	size_t i;

	buf_u64(b, strlen(piece) * times + strlen(end));
	for (i = 0; i < times; i++)
		buf_text(b, piece);
	buf_text(b, end);
}

static void
add_blob_key(struct model *m, const char *key, struct value_type type, const struct buf *b)
{
	struct err e = ERR_INIT;

	if (model_add_meta_blob(m, key, strlen(key), type, b->n, &e) < 0)
		die(e.fact);
}

static void
test_everything(void)
{
	static const uint64_t none[] = { 0 }, cube[] = { 2, 0, 3 },
		eight[] = { 1, 2, 1, 2, 1, 2, 1, 2 };
	static const struct value_type string = { 0, VALUE_STRING }, bytes = { 1, VALUE_U8 };
	struct buf blobs[5] = { 0 }, file = { 0 };
	struct err e = ERR_INIT;
	struct model m;
	size_t i;

	put_string(&blobs[0], "a\"\n\xe2\x82\xac", 20000, "!");  /* text */
	put_string(&blobs[1], "abcdefgh", 10000, "\xff");        /* no text */
	buf_u32(&blobs[2], VALUE_U8);
	buf_u64(&blobs[2], 100000);
	buf_zeros(&blobs[2], 100000);
	buf_text(&blobs[3], "# read me\n");

	begin_model(&m, "gguf");
	if (model_source_set(&m, "alignment", json_integer(64), &e) < 0)
		die(e.fact);
	add_key(&m, "general.architecture", "string", "\"llama\"");
	add_key(&m, "n", "u64", "\"18446744073709551615\"");
	add_blob_key(&m, "template", string, &blobs[0]);
	add_key(&m, "eps", "f32", "\"nan\"");
	add_blob_key(&m, "bytes", string, &blobs[1]);
	add_key(&m, "config", "json", "\"{\\\"a\\\": [1, 2.50]}\"");
	add_key(&m, "__metadata__", "string", "\"\\u20ac\"");
	add_blob_key(&m, "tokens", bytes, &blobs[2]);
	add_key(&m, "tags", "array:string", "[\"a\",\"b\"]");
	if (model_add_blob(&m, "README.md", "file", blobs[3].n, &e) < 0 ||
	    model_add_blob(&m, "b", "file", 0, &e) < 0 ||
	    model_add_prov(&m, strlen(PROV), &e) < 0)
		die(e.fact);
	m.licence = 72;
	m.signatures = 2;
	add_tensor(&m, "z.empty", "F32", 1, none, TENSOR_OWN_SIZE);
	add_tensor(&m, "a.empty", "F16", 3, cube, TENSOR_OWN_SIZE);
	add_tensor(&m, "scalar", "F32", 0, NULL, TENSOR_OWN_SIZE);
	add_tensor(&m, "odd", "U8", 1, three, TENSOR_OWN_SIZE);
	add_tensor(&m, "c.empty", "F32", 1, none, TENSOR_OWN_SIZE);
	add_tensor(&m, "axes", "I8", 8, eight, TENSOR_OWN_SIZE);
	add_tensor(&m, "Axes", "I64", 8, eight, TENSOR_OWN_SIZE);
	add_tensor(&m, "y.empty", "F32", 1, none, TENSOR_OWN_SIZE);
	round_trip("everything", &m, blobs, &file);
	test_ok(says(&file, "{\"__metadata__\":{\"general.architecture\":\"llama\","
	             "\"template\":\"a\\\"\\n\xe2\x82\xac"), "strings are plain, long or short");
	test_ok(says(&file, "[\\\"general.architecture\\\",\\\"string\\\"],"
	             "[\\\"n\\\",\\\"u64\\\",\\\"18446744073709551615\\\"],"
	             "[\\\"template\\\",\\\"string\\\"]"), "and not said twice");
	test_ok(says(&file, "\"apr.blob.value:bytes\":\"gTg"), "what is not text is base64");
	test_ok(says(&file, "\"apr.blobs\":\"[[\\\"README.md\\\",\\\"file\\\"],"
	             "[\\\"b\\\",\\\"file\\\"]]\""), "side files are listed");
	test_ok(says(&file, "\"apr.prov.0\":\"eyJvcGVyYXRpb24i"), "prov is there, last as it came");
	model_free(&m);
	for (i = 0; i < sizeof blobs / sizeof *blobs; i++)
		buf_free(&blobs[i]);
	buf_free(&file);
}

/* Nothing of ours where nothing is needed. */
static void
test_plain_files(void)
{
	struct buf file = { 0 };
	struct model m;

	begin_model(&m, "safetensors");
	add_key(&m, "format", "string", "\"pt\"");
	add_tensor(&m, "t", "U8", 1, three, TENSOR_OWN_SIZE);
	round_trip("strings and plain types", &m, NULL, &file);
	test_ok(file.n == 8 + 88 + 3 && memcmp(file.p + 8, "{\"__metadata__\":{\"format\":\"pt\"}"
	        ",\"t\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}    ", 88) == 0,
	        "the header of the reference library (%zu)", file.n);
	model_free(&m);

	begin_model(&m, NULL);
	make_stream(&m, NULL, &file);
	model_free(&m);
	begin_model(&m, "safetensors");
	round_trip("nothing at all", &m, NULL, &file);
	test_ok(file.n == 16 && memcmp(file.p, "\10\0\0\0\0\0\0\0{}      ", 16) == 0,
	        "is 16 bytes");
	model_free(&m);

	begin_model(&m, "safetensors");
	m.signatures = 1;
	round_trip("a signature over nothing", &m, NULL, &file);
	model_free(&m);
	buf_free(&file);
}

static void
test_align(void)
{
	struct format_options by = { .align = 64 };
	struct buf file = { 0 }, out = { 0 };
	struct err e;

	make_file(&file, readings[1].header, readings[1].data);
	convert(&file, FILE_OF, FILE_OF, &by, &out, &e);
	test_ok(!e.code && (8 + le64(out.p)) % 64 == 0, "--align 64: data begins there");
	by.align = 32;
	convert(&file, FILE_OF, FILE_OF, &by, &out, &e);
	test_ok(!e.code && (8 + le64(out.p)) % 32 == 0, "--align 32");
	convert(&out, FILE_OF, FILE_OF, &usual, &file, &e);
	test_ok(!e.code && same(&file, &out), "and it stays so");
	buf_free(&file);
	buf_free(&out);
}

/* ---- what the sink refuses or leaves out ---- */

/* The model into a sink of that kind; the fault in e. */
static void
pack(const struct model *m, const struct buf *blobs, enum kind kind, bool plain,
     struct buf *out, struct err *e)
{
	struct format_options o = { .plain = plain };
	int fd;
	struct sink *sink;

	*e = (struct err)ERR_INIT;
	noted[0] = '\0';
	sink = open_sink(kind, &o, &fd, e);
	put_model(sink, m, blobs, e);
	sink_close(sink);
	slurp(fd, out);
	close(fd);
}

/* One tensor: named, of a type. */
static void
test_refused(const char *name, const char *type, const char *key, bool plain,
             const char *says_that)
{
	struct buf out = { 0 };
	struct model m;
	struct err e;

	begin_model(&m, "gguf");
	if (key)
		add_key(&m, key, "string", "\"x\"");
	add_tensor(&m, name, type, 2, square, TENSOR_OWN_SIZE);
	pack(&m, NULL, FILE_OF, plain, &out, &e);
	test_ok(e.code == ERR_INVALID && strstr(e.fact, says_that) && out.n == 0,
	        "refused: %s (%s)", says_that, e.fact);
	model_free(&m);
	buf_free(&out);
}

static void
test_sink(void)
{
	static const struct value_type string = { 0, VALUE_STRING }, list = { 1, VALUE_U8 };
	struct buf blobs[3] = { 0 }, out = { 0 };
	struct err e = ERR_INIT;
	struct model m;

	test_refused("__metadata__", "F32", NULL, false, "keeps for itself");
	test_refused("t", "Q4_0", NULL, true, "--plain forbids a carrier");
	test_refused("t", "F32", "apr.blob.x", false, "use for themselves");
	test_refused("t", "F32", "apr.metadata", true, "use for themselves");

	/* A signature has its place before the data and comes after it. */
	begin_model(&m, "gguf");
	add_key(&m, "n", "u8", "1");
	add_key(&m, "s", "string", "\"x\"");
	put_string(&blobs[0], "abcdefgh", 10000, "\xff");
	add_blob_key(&m, "bytes", string, &blobs[0]);
	buf_text(&blobs[1], "hello");
	if (model_add_blob(&m, "file", "file", 5, &e) < 0)
		die(e.fact);
	m.signatures = 1;
	m.licence = 3;
	add_tensor(&m, "odd", "U8", 1, three, TENSOR_OWN_SIZE);
	add_tensor(&m, "t", "F32", 2, square, TENSOR_OWN_SIZE);
	pack(&m, blobs, PIPE_OF, false, &out, &e);
	test_ok(e.code == ERR_USAGE && strstr(e.hint, "--plain") && out.n == 0,
	        "a signature needs an output that can seek (%s)", e.fact);
	pack(&m, blobs, PIPE_OF, true, &out, &e);
	test_ok(!e.code && says(&out, "{\"__metadata__\":{\"s\":\"x\"},\"odd\""),
	        "--plain leaves out what is ours (%s)", e.fact);
	test_ok(strstr(noted, "because they are not strings: 1") &&
	        strstr(noted, "because they are not text: 1") &&
	        strstr(noted, "side files left out: 1") &&
	        strstr(noted, "signatures left out: 1"), "and says so");
	test_ok(strstr(noted, "a multiple of their values' size: 1") != NULL,
	        "a tensor that does not lie well is mentioned");
	pack(&m, blobs, FILE_OF, false, &out, &e);
	test_ok(!e.code && says(&out, "apr.sign.0"), "all of it into a file (%s)", e.fact);
	model_free(&m);

	/* Known before anything has come. */
	begin_model(&m, "gguf");
	if (model_add_meta_blob(&m, "k", 1, list, 75000003, &e) < 0)
		die(e.fact);
	pack(&m, blobs, FILE_OF, false, &out, &e);
	test_ok(e.code == ERR_INVALID && strstr(e.fact, "safetensors allows 100000000") &&
	        strstr(e.hint, "--plain"), "a header that is too long (%s)", e.fact);
	model_free(&m);
	buf_free(&blobs[0]);
	buf_free(&blobs[1]);
	buf_free(&out);
}

/* Only when it is written does it turn out: every byte takes six. */
static void
test_long_header(void)
{
	static const struct value_type string = { 0, VALUE_STRING };
	struct buf blob = { 0 }, out = { 0 };
	struct model m;
	struct err e;

	put_string(&blob, "\1\1\1\1\1\1\1\1", 2500000, "");
	begin_model(&m, "gguf");
	add_blob_key(&m, "k", string, &blob);
	pack(&m, &blob, FILE_OF, false, &out, &e);
	test_ok(e.code == ERR_INVALID && strstr(e.fact, "safetensors allows") && out.n == 0,
	        "a header that escapes make too long (%s)", e.fact);
	model_free(&m);
	buf_free(&blob);
	buf_free(&out);
}

int
main(void)
{
	test_readings();
	test_truncation();
	test_dtypes();
	test_everything();
	test_plain_files();
	test_align();
	test_sink();
	test_long_header();
	return test_done();
}
