#include "test.h"

#include <inttypes.h>

#include "apr2_parts.h"

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
	        format_apr2.reads->tensor_offset(s, 3) == at.data + 128, "tensors and source");
	if (s) {
		json_t *d = format_apr2.reads->describe(s, &e);
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

int
main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_dtypes();
	test_everything();
	test_foreign();
	test_relatives();
	return test_done();
}
