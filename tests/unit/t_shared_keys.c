/* Metadata of .apr files beside that of GGUF and model folders. */
#include "adapt/keys/shared_keys.h"
#include "arch/apr_keys.h"
#include "convert.h"
#include "core/mem.h"

/* The text of a key of a model, or "". */
static const char *
text_of(const struct model *m, const char *key)
{
	const struct meta *k = model_find(m, key);

	/* wire bytes are terminated in memory (mem_text) */
	return k && k->type.leaf == VALUE_JSON ? (const char *)k->wire : "";
}

static int
same(const char *what, const char *name, const struct model *a, const struct model *b,
     const char *key)
{
	return test_ok(strcmp(text_of(a, key), text_of(b, key)) == 0, "%s: %s is %.60s in %s, %.60s",
	               name, key, text_of(a, key), what, text_of(b, key));
}

/* A folder and its GGUF file have the same members, each with its own names. */
static void
each(struct convert *c)
{
	static const char *const keys[] = { "hidden_size", "num_layers", "context_length",
		"vocab_size", "vocab", "tokenizer_config" };
	struct subject gguf = { .plan = &c->expected.plan, .form = ARCH_GGUF,
		.w = c->expected.weights };
	struct model folder, file;
	size_t i;
	int ok;

	model_init(&folder, &c->e);
	model_init(&file, &c->e);
	ok = adapt_apr_keys(&c->subject, &folder, &c->e) == 0 &&
	     adapt_apr_keys(&gguf, &file, &c->e) == 0;
	test_ok(ok, "%s: %s", c->name, c->e.fact);
	for (i = 0; ok && i < sizeof keys / sizeof *keys; i++)
		if (*text_of(&folder, keys[i]) || *text_of(&file, keys[i]))
			same("the folder", c->name, &folder, &file, keys[i]);
	test_ok(*text_of(&folder, "model_type") && *text_of(&file, "model_type"),
	        "%s: model_type %s, %s", c->name, text_of(&folder, "model_type"),
	        text_of(&file, "model_type"));
	model_free(&folder);
	model_free(&file);
}

/* ---- single models ---- */

/* A model whose keys of type json and side files are the arguments, by turns. */
struct made {
	struct model plan;
	struct subject s;
	struct err e;
};

static void
make(struct made *m, const char *const *keys, const char *const *files)
{
	size_t n = 0;

	*m = (struct made){ .e = ERR_INIT };
	model_init(&m->plan, &m->e);
	for (; *keys; keys += 2)
		model_add_meta(&m->plan, keys[0], strlen(keys[0]),
		               (struct value_type){ 0, VALUE_JSON }, (const uint8_t *)keys[1],
		               strlen(keys[1]), &m->e);
	m->s = (struct subject){ .plan = &m->plan, .form = ARCH_APR,
		.w = { .name = "model", .plan = &m->plan } };
	m->s.w.blobs = mem_array(8, sizeof *m->s.w.blobs);
	for (; *files; files += 2, n++) {
		model_add_blob(&m->plan, files[0], "file", strlen(files[1]), &m->e);
		m->s.w.blobs[n].p = (const uint8_t *)files[1];
		m->s.w.blobs[n].n = strlen(files[1]);
	}
	m->s.config = subject_json(&m->s, "config.json", &m->e);
}

static void
drop(struct made *m)
{
	json_decref(m->s.config);
	free(m->s.w.blobs);
	model_free(&m->plan);
}

#define LIST(...) (const char *const[]){ __VA_ARGS__, NULL }
#define NONE (const char *const[]){ NULL }

static void
refused(const char *const *keys, const char *const *files, const char *want)
{
	struct made m;
	struct model out;

	make(&m, keys, files);
	model_init(&out, &m.e);
	test_ok(adapt_apr_keys(&m.s, &out, &m.e) < 0 && m.e.code == ERR_CORRUPT &&
	        strstr(m.e.fact, want), "%s: %s", want, m.e.fact);
	model_free(&out);
	drop(&m);
}

static void
test_lengths(void)
{
	refused(LIST("vocab", "[\"a\",\"b\"]", "vocab_size", "1"), NONE, "more tokens");
	refused(LIST("vocab", "{}", "vocab_size", "1"), NONE, "not an array");
	refused(LIST("labels", "{\"0\":\"a\",\"2\":\"b\"}"), NONE, "each number from 0");
	refused(LIST("labels", "{\"0\":\"a\"}", "num_labels", "2"), NONE, "num_labels");
	refused(LIST("mel_filterbank", "[1,2,3]", "mel_filterbank_shape", "[2,2]"), NONE,
	        "values of its shape");
	refused(LIST("mel_filterbank", "[1,2,3]"), NONE, "two numbers");
	refused(LIST("mel_filterbank", "[]", "mel_filterbank_shape",
	             "[4294967296,9007199254740992]"), NONE, "two numbers");
	refused(NONE, LIST("config.json", "{\"id2label\":{\"1\":\"a\"}}"), "each number from 0");
	refused(NONE, LIST("config.json", "{\"id2label\":[]}"), "each number from 0");
	refused(NONE, LIST("preprocessor_config.json", "{\"mel_filters\":[[1,2],[3]]}"),
	        "same length");
	refused(NONE, LIST("preprocessor_config.json", "{\"mel_filters\":[[1],[\"x\"]]}"),
	        "same length");
	refused(NONE, LIST("preprocessor_config.json", "{\"mel_filters\":7}"), "same length");
	refused(NONE, LIST("preprocessor_config.json", "[]"), "");
}

static void
test_files(void)
{
	struct made m, back;
	struct model out;
	struct subject_files files = { 0 };

	make(&m, NONE, LIST("config.json", "{\"model_type\":\"own\",\"hidden_size\":64,"
	     "\"rms_norm_eps\":1e-05,\"id2label\":{\"0\":\"cat\",\"1\":\"dog\"}}",
	     "preprocessor_config.json", "{\"size\":{\"height\":224,\"width\":224},"
	     "\"image_mean\":[0.5],\"image_std\":[0.25],\"mel_filters\":[[0.0,0.5],[1.0,0.25]]}"));
	model_init(&out, &m.e);
	test_ok(adapt_apr_keys(&m.s, &out, &m.e) == 0, "a folder with labels: %s", m.e.fact);
	test_ok(strcmp(text_of(&out, "labels"), "{\"0\":\"cat\",\"1\":\"dog\"}") == 0 &&
	        strcmp(text_of(&out, "num_labels"), "2") == 0 &&
	        strcmp(text_of(&out, "rms_norm_eps"), "1e-05") == 0 &&
	        strcmp(text_of(&out, "model_type"), "\"own\"") == 0, "labels and numbers");
	test_ok(strcmp(text_of(&out, "image_config"),
	               "{\"image_size\":224,\"mean\":[0.5],\"std\":[0.25]}") == 0 &&
	        strcmp(text_of(&out, "mel_filterbank"), "[0.0,0.5,1.0,0.25]") == 0 &&
	        strcmp(text_of(&out, "mel_filterbank_shape"), "[2,2]") == 0, "image and sound: %s",
	        text_of(&out, "image_config"));

	/* the way back, without the files */
	make(&back, LIST("image_config", text_of(&out, "image_config"), "mel_filterbank",
	                 text_of(&out, "mel_filterbank"), "mel_filterbank_shape", "[2,2]",
	                 "labels", "[\"cat\",\"dog\"]", "num_labels", "2", "hidden_size", "64",
	                 "architecture", "{\"name\":\"qwen2moe\"}"), NONE);
	test_ok(adapt_apr_files(&back.s, &files, &back.e) == 0 && files.count == 1 &&
	        strstr((char *)files.file[0].bytes.p, "\"mel_filters\"") != NULL,
	        "preprocessor_config.json comes back");
	subject_free_files(&files);
	{
		json_t *config = apr_config(&back.s.w, &back.e);
		const char *type = "", *label = "";

		json_member_text(config, "model_type", &type);
		json_member_text(json_object_get(config, "id2label"), "1", &label);
		test_ok(strcmp(type, "qwen2_moe") == 0 && strcmp(label, "dog") == 0,
		        "config.json of an .apr file: %s, %s", type, label);
		json_decref(config);
	}
	test_ok(adapt_apr_drop(&m.s, &out, &m.e) == 0 && out.meta_count == 0,
	        "keys that say nothing new are dropped: %zu stay", out.meta_count);
	drop(&back);
	model_free(&out);
	drop(&m);
}

/* A list of tokens in a key of GGUF: n of them, each of 8 bytes. */
static void
add_tokens(struct model *m, unsigned n, struct err *e)
{
	struct buf b = { 0 };
	char token[16];
	unsigned i;

	buf_u32(&b, VALUE_STRING);
	buf_u64(&b, n);
	for (i = 0; i < n; i++) {
		snprintf(token, sizeof token, "%08u", i);
		buf_u64(&b, 8);
		buf_put(&b, token, 8);
	}
	model_add_meta(m, "tokenizer.ggml.tokens", 21, (struct value_type){ 1, VALUE_STRING }, b.p,
	               b.n, e);
	buf_free(&b);
}

/* Beyond 1 MB a list stays where it is, and only its length is a member. */
static void
test_long(void)
{
	static const struct { unsigned n; bool listed; } cases[] = { { 3, true },
		{ 50000, true }, { 100000, false }, { 200000, false } };
	struct made m;
	struct model out;
	char count[16];
	size_t i;

	for (i = 0; i < 4; i++) {
		make(&m, NONE, NONE);
		add_tokens(&m.plan, cases[i].n, &m.e);
		model_init(&out, &m.e);
		snprintf(count, sizeof count, "%u", cases[i].n);
		test_ok(adapt_apr_keys(&m.s, &out, &m.e) == 0 &&
		        strcmp(text_of(&out, "vocab_size"), count) == 0 &&
		        (model_find(&out, "vocab") != NULL) == cases[i].listed,
		        "a vocabulary of %s tokens is %s", count,
		        cases[i].listed ? "a member" : "left out");
		model_free(&out);
		drop(&m);
	}
}

/* One spelling only: existing software drops all metadata of a file with two. */
static void
test_spelling(void)
{
	struct made m;
	struct model out;

	make(&m, LIST("max_position_embeddings", "7", "vocabulary", "[\"a\"]"),
	     LIST("config.json", "{\"max_position_embeddings\":8,\"hidden_size\":4}"));
	model_copy(&out, &m.plan, &m.e);
	test_ok(adapt_apr_keys(&m.s, &out, &m.e) == 0 && !model_find(&out, "context_length") &&
	        model_find(&out, "hidden_size"), "another spelling of a key stays alone");
	model_free(&out);
	drop(&m);
}

int
main(void)
{
	const char *data = test_data();

	test_lengths();
	test_files();
	test_spelling();
	test_long();
	if (data)
		convert_each(data, each);
	else
		test_skip("model folders", "no reference data in APR_TEST_DATA");
	return test_done();
}
