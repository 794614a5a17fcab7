#include "test.h"

#include "apr2_parts.h"

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
	        "a long value that is not JSON: %s", e.fact);
	model_free(&m);
	buf_free(&json);
	buf_free(&stream);
	buf_free(&apr2);
}

static void
test_json_faults(void)
{
	static const struct {
		const char *name, *json, *fact;
	} bad[] = {
		{ "FALSIFY 5: no JSON", "{\"apr_version\"=1}", "not JSON at byte 46: no colon" },
		{ "no object", "[1]", "byte 32: not an object" },
		{ "a member twice", "{\"a\":1,\"a\":1}", "key a occurs twice" },
		{ "bytes after it", "{}x", "something after its end" },
		{ "bad UTF-8", "{\"a\":\"\xff\"}", "a string that is not UTF-8" },
		{ "an empty name", "{\"\":1}", "key is not UTF-8" },
		{ "apr_stream is not an object", "{\"apr_stream\":1}", "has no list" },
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

int
main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_plain();
	test_quantization();
	test_long_json();
	test_json_faults();
	return test_done();
}
