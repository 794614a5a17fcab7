/* Tokenizers of folders and keys made here: every pre-tokenizer by its structure, old folders,
 * chat templates in several places, and files that contradict themselves.
 */
#include "adapt/tokens/tokens.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/mem.h"
#include "test.h"
#include "tokenizer/pre.h"

#define BPE(vocab, merges) "{\"model\":{\"type\":\"BPE\",\"vocab\":" vocab ",\"merges\":" merges "}," \
	"\"pre_tokenizer\":{\"type\":\"ByteLevel\"}}"
#define SMALL BPE("{\"a\":0,\"b\":1,\"ab\":2}", "[\"a b\"]")

/* ---- a folder in memory ---- */

struct file {
	const char *name, *text;
	size_t bytes; /* 0: of the text */
};

struct folder {
	struct model plan, keys;
	struct subject s;
	struct err e;
	int r;
};

static unsigned notes;

static void
note(const char *text)
{
	notes += *text != '\0';
}

/* Read files up to one without a name, and config.json's text. */
static void
put_folder(struct folder *f, const struct file *files, const char *config,
           const struct tokens_options *o)
{
	struct tokens_options none = { 0 };
	size_t i, n = 0;

	*f = (struct folder){ .e = ERR_INIT };
	while (files[n].name)
		n++;
	model_init(&f->plan, &f->e);
	model_init(&f->keys, &f->e);
	f->s = (struct subject){ .plan = &f->plan, .form = ARCH_FOLDER, .note = note,
		.w = { .name = "folder", .plan = &f->plan } };
	f->s.w.blobs = mem_array(n, sizeof *f->s.w.blobs);
	for (i = 0; i < n; i++) {
		size_t bytes = files[i].bytes ? files[i].bytes : strlen(files[i].text);

		f->s.w.blobs[i].p = (const uint8_t *)files[i].text;
		f->s.w.blobs[i].n = bytes;
		model_add_blob(&f->plan, files[i].name, "", bytes, &f->e);
	}
	f->s.config = json_parse(config, strlen(config), ERR_CORRUPT, "config", &f->e);
	f->s.arch = arch_by_folder("llama");
	f->r = tokens_put_keys(&f->s, o ? o : &none, &f->keys, &f->e);
}

static void
close_folder(struct folder *f)
{
	free(f->s.w.blobs);
	json_decref(f->s.config);
	model_free(&f->plan);
	model_free(&f->keys);
}

/* Text i of a list of strings. */
static bool
is_item(const struct folder *f, const char *key, uint64_t i, const char *text)
{
	const struct meta *m = model_find(&f->keys, key);
	const uint8_t *p = m ? m->wire + 12 : NULL;
	uint64_t n;

	if (!p || m->type.depth != 1 || m->type.leaf != VALUE_STRING)
		return false;
	for (;; i--, p += n) {
		memcpy(&n, p, 8);
		p += 8;
		if (i == 0)
			return n == strlen(text) && memcmp(p, text, n) == 0;
	}
}

/* ---- what is refused ---- */

static void
refused(const char *name, const char *text, const char *more, const char *config,
        const char *fact)
{
	const struct file files[] = {
		{ name, text, 0 }, { more ? "tokenizer_config.json" : NULL, more, 0 },
		{ NULL, NULL, 0 }
	};
	struct folder f;

	put_folder(&f, files, config, NULL);
	test_ok(f.r < 0 && strstr(f.e.fact, fact), "%s: %s: %s", name, fact, f.e.fact);
	close_folder(&f);
}

static void
faults(void)
{
	static const char json[] = "tokenizer.json";
	char huge[200];
	size_t i;
	static const struct { const char *text, *more, *config, *fact; } rows[] = {
		{ "{}", NULL, "{}", "has no model" },
		{ "{\"model\":{\"type\":\"WordLevel\"}}", NULL, "{}", "WordLevel is not supported" },
		{ "{\"model\":{\"type\":7}}", NULL, "{}", "of no type" },
		{ BPE("[]", "[]"), NULL, "{}", "has no vocabulary" },
		{ BPE("{\"a\":0,\"b\":0}", "[]"), NULL, "{}", "the tokens a and b have the id 0" },
		{ BPE("{\"a\":-1}", "[]"), NULL, "{}", "is not a number" },
		{ BPE("{\"a\":\"0\"}", "[]"), NULL, "{}", "is not a number" },
		{ BPE("{\"a\":0.5}", "[]"), NULL, "{}", "is not a number" },
		{ BPE("{\"a\":4000000000}", "[]"), NULL, "{}", "far beyond the number of tokens" },
		{ BPE("{\"a\":0}", "[\"a z\"]"), NULL, "{}", "names z, which is not a token" },
		{ BPE("{\"a\":0,\"b\":1}", "[[\"a\",\"b\"]]"), NULL, "{}", "names ab" },
		{ BPE("{\"a\":0}", "[\"a\"]"), NULL, "{}", "is not a pair" },
		{ BPE("{\"a\":0}", "[7]"), NULL, "{}", "is not a pair" },
		{ BPE("{\"a\":0}", "{}"), NULL, "{}", "merges is not a list" },
		{ SMALL, NULL, "{\"vocab_size\":2}", "has ids up to 2" },
		{ SMALL, NULL, "{\"vocab_size\":99999999999999}", "but the tokenizer has 3" },
		{ SMALL, "{\"added_tokens_decoder\":[]}", "{}", "is not an object" },
		{ SMALL, "{\"added_tokens_decoder\":{\"x\":{}}}", "{}", "is not the id of a token" },
		{ SMALL, "{\"added_tokens_decoder\":{\"3\":{}}}", "{}", "has no content" },
		{ SMALL, "{\"added_tokens_decoder\":{\"1\":{\"content\":\"x\"}}}", "{}",
		  "the tokens b and x have the id 1" },
		{ SMALL, "{\"chat_template\":7}", "{}", "neither a text nor a list" },
		{ SMALL, "{\"chat_template\":[{\"name\":1}]}", "{}", "no name or no template" },
		{ "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]},\"pre_tokenizer\":"
		  "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"x\"},\"behavior\":\"Isolated\"}}", NULL,
		  "{}", "pre_tokenizer is not known" },
		{ "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]},\"added_tokens\":{},"
		  "\"pre_tokenizer\":{\"type\":\"ByteLevel\"}}", NULL, "{}", "added_tokens is not a list" },
		{ "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]},\"post_processor\":[],"
		  "\"pre_tokenizer\":{\"type\":\"ByteLevel\"}}", NULL, "{}",
		  "post_processor is not an object" },
		{ "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\"]]}}", NULL, "{}",
		  "is not a text and a score" },
		{ "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0]]},\"normalizer\":{\"type\":"
		  "\"Precompiled\",\"precompiled_charsmap\":\"*\"}}", NULL, "{}", "is not base64" },
	};

	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		refused(json, rows[i].text, rows[i].more, rows[i].config, rows[i].fact);
	refused("vocab.txt", "a\nb\xff\n", NULL, "{}", "line 2 is not UTF-8");
	refused("tokenizer.model", "not one", NULL, "{}", "");
	snprintf(huge, sizeof huge, "{\"%0150d\":0}", 7);
	refused("vocab.json", "[]", NULL, "{}", "is not a JSON object");
	refused("tokenizer.json", huge, NULL, "{}", "has no model");
}

/* ---- what is accepted ---- */

static void
more_rows(void)
{
	static const struct file files[] = { { "tokenizer.json", SMALL, 0 }, { NULL, NULL, 0 } };
	struct tokens_options o = { .rows = 2 };
	struct folder f;

	put_folder(&f, files, "{}", &o);
	test_ok(f.r < 0 && f.e.code == ERR_CORRUPT, "more tokens than rows: %s", f.e.fact);
	close_folder(&f);
	o.rows = 5;
	put_folder(&f, files, "{\"vocab_size\":6}", &o);
	test_ok(f.r < 0 && f.e.code == ERR_CORRUPT, "fewer rows than vocab_size: %s", f.e.fact);
	close_folder(&f);
	put_folder(&f, files, "{\"vocab_size\":4}", &o);
	test_ok(f.r == 0 && is_item(&f, "tokenizer.ggml.tokens", 2, "ab") &&
	        is_item(&f, "tokenizer.ggml.tokens", 4, "[PAD4]"), "rows without a token");
	close_folder(&f);
}

static void
old_folders(void)
{
	static const struct file gpt2[] = {
		{ "vocab.json", "{\"a\":0,\"b\":1,\"ab\":2,\"<|endoftext|>\":3}", 0 },
		{ "merges.txt", "#version: 0.2\r\na b\r\n", 0 },
		{ "added_tokens.json", "{\"<x>\":4}", 0 }, { NULL, NULL, 0 }
	}, bert[] = {
		{ "vocab.txt", "[PAD]\n[UNK]\nx\n##y\n", 0 }, { NULL, NULL, 0 }
	};
	static const uint8_t kinds[] = { 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0 };
	const struct meta *m;
	struct folder f;

	put_folder(&f, gpt2, "{}", NULL);
	m = model_find(&f.keys, "tokenizer.ggml.token_type");
	test_ok(f.r == 0 && is_item(&f, "tokenizer.ggml.merges", 0, "a b") &&
	        is_item(&f, "tokenizer.ggml.tokens", 4, "<x>") && m &&
	        memcmp(m->wire + 12, kinds, sizeof kinds) == 0, "vocab.json and merges.txt: %s",
	        f.e.fact);
	close_folder(&f);
	put_folder(&f, bert, "{}", NULL);
	test_ok(f.r == 0 && is_item(&f, "tokenizer.ggml.tokens", 0, "[PAD]") &&
	        is_item(&f, "tokenizer.ggml.tokens", 2, "\xe2\x96\x81x") &&
	        is_item(&f, "tokenizer.ggml.tokens", 3, "y"), "vocab.txt: %s", f.e.fact);
	close_folder(&f);
	put_folder(&f, gpt2 + 3, "{}", NULL);
	test_ok(f.r == 0 && f.keys.meta_count == 0, "no tokenizer: no keys");
	close_folder(&f);
}

/* Added tokens of a SentencePiece model beyond the vocabulary are left out. */
static void
beyond(void)
{
	static const char model[] = "\n\x0c\n\x03<x>\x15\0\0\0\0\x18\x03\n\x0a\n\x01" "a\x15\0\0\0\0\x18\x01"
		"\x12\x02\x18\x02";
	static const struct file files[] = { { "tokenizer.model", model, sizeof model - 1 },
		{ "added_tokens.json", "{\"<y>\":2,\"<z>\":9,\"<u>\":10}", 0 },
		{ NULL, NULL, 0 } };
	struct folder f;

	notes = 0;
	put_folder(&f, files, "{\"vocab_size\":3}", NULL);
	test_ok(f.r == 0 && is_item(&f, "tokenizer.ggml.tokens", 1, "a") &&
	        is_item(&f, "tokenizer.ggml.tokens", 2, "<y>"), "an id beyond the vocabulary: %s",
	        f.e.fact);
	test_ok(notes == 1, "two ids beyond it are one note: %u", notes);
	close_folder(&f);
}

static void
template(const char *config, const char *jinja, const char *place, const char *wants)
{
	struct file files[] = { { "tokenizer.json", SMALL, 0 },
		{ "tokenizer_config.json", config, 0 }, { "chat_template.jinja", jinja, 0 },
		{ NULL, NULL, 0 } };
	const struct tokens_options o = { .chat_template = place };
	const char *text;
	struct folder f;

	put_folder(&f, files, "{}", &o);
	text = model_text(&f.keys, "tokenizer.chat_template");
	if (wants)
		test_ok(f.r == 0 && text && strcmp(text, wants) == 0, "the template is %s", wants);
	else
		test_ok(f.r < 0 && f.e.code == ERR_USAGE, "templates: %s, %s", f.e.fact, f.e.hint);
	close_folder(&f);
}

static void
templates(void)
{
	template("{\"chat_template\":\"A\"}", "A", NULL, "A");
	template("{\"chat_template\":\"A\"}", "A\n", NULL, "A");
	template("{\"chat_template\":\"A\"}", "B", NULL, NULL);
	template("{\"chat_template\":\"A\"}", "B", "chat_template.jinja", "B");
	template("{\"chat_template\":\"A\"}", "B", "tokenizer_config.json", "A");
	template("{\"chat_template\":\"A\"}", "B", "chat_template.json", NULL);
	template("{\"chat_template\":\"A\"}", "B", "elsewhere", NULL);
	template("{}", "B", NULL, "B");
	template("{\"chat_template\":[{\"name\":\"default\",\"template\":\"A\"},{\"name\":\"x y\","
	         "\"template\":\"C\"}]}", "A", NULL, "A");
}

/* ---- every pre-tokenizer ---- */

static void
set_text(struct model *m, const char *key, const char *text)
{
	struct buf b = { 0 };
	struct err e = ERR_INIT;

	buf_u64(&b, strlen(text));
	buf_text(&b, text);
	model_set_meta(m, key, (struct value_type){ 0, VALUE_STRING }, b.p, b.n, &e);
	buf_free(&b);
}

static void
set_texts(struct model *m, const char *key, const char *const *texts, size_t n)
{
	struct buf b = { 0 };
	struct err e = ERR_INIT;
	size_t i;

	buf_u32(&b, VALUE_STRING);
	buf_u64(&b, n);
	for (i = 0; i < n; i++) {
		buf_u64(&b, strlen(texts[i]));
		buf_text(&b, texts[i]);
	}
	model_set_meta(m, key, (struct value_type){ 1, VALUE_STRING }, b.p, b.n, &e);
	buf_free(&b);
}

static int
make_files(struct model *plan, struct subject_files *files, struct err *e)
{
	const struct subject s = { .plan = plan, .form = ARCH_GGUF, .arch = arch_by_name("llama"),
		.w = { .name = "keys", .plan = plan } };

	return tokens_files(&s, NULL, files, e);
}

/* Keys with a name, files, and the name again. */
static void
try_name(const char *name)
{
	static const char *const tokens[] = { "a", "b", "ab" }, *const merges[] = { "a b" };
	struct subject_files files = { 0 };
	struct file list[8] = { { NULL, NULL, 0 } };
	struct err e = ERR_INIT;
	struct model plan;
	struct folder f;
	const char *pre;
	size_t i;

	model_init(&plan, &e);
	set_text(&plan, "tokenizer.ggml.model", "gpt2");
	set_text(&plan, "tokenizer.ggml.pre", name);
	set_texts(&plan, "tokenizer.ggml.tokens", tokens, 3);
	set_texts(&plan, "tokenizer.ggml.merges", merges, 1);
	test_ok(make_files(&plan, &files, &e) == 0, "%s: %s", name, e.fact);
	for (i = 0; i < files.count && i < 7; i++)
		list[i] = (struct file){ files.file[i].name, (char *)files.file[i].bytes.p,
			                 files.file[i].bytes.n };
	put_folder(&f, list, "{}", NULL);
	pre = model_text(&f.keys, "tokenizer.ggml.pre");
	test_ok(f.r == 0 && pre && strcmp(pre, name) == 0, "%s comes back: %s", name, f.e.fact);
	close_folder(&f);
	subject_free_files(&files);
	model_free(&plan);
}

static void
names(void)
{
	const struct pre *p;
	size_t i, n;
	char name[64];

	for (i = 0; (p = pre_row(i)) != NULL; i++) {
		const char *s = p->names;

		for (; *s; s += n + (s[n] == ' ')) {
			n = strcspn(s, " ");
			snprintf(name, sizeof name, "%.*s", (int)n, s);
			try_name(name);
		}
	}
}

/* ---- keys that contradict themselves ---- */

static void
wrong_keys(const char *key, const char *const *texts, size_t n, const char *fact)
{
	static const char *const tokens[] = { "a", "b", "ab" };
	struct subject_files files = { 0 };
	struct err e = ERR_INIT;
	struct model plan;

	model_init(&plan, &e);
	set_text(&plan, "tokenizer.ggml.model", "gpt2");
	set_texts(&plan, "tokenizer.ggml.tokens", tokens, 3);
	if (n > 0)
		set_texts(&plan, key, texts, n);
	else
		set_text(&plan, key, texts[0]);
	test_ok(make_files(&plan, &files, &e) < 0 && strstr(e.fact, fact), "%s: %s", key, e.fact);
	subject_free_files(&files);
	model_free(&plan);
}

static void
key_faults(void)
{
	static const char *const merges[] = { "a z" }, *const pair[] = { "ab" },
		*const invalid[] = { "\xff" }, *const twice[] = { "a", "a" };

	wrong_keys("tokenizer.ggml.merges", merges, 1, "names z");
	wrong_keys("tokenizer.ggml.merges", pair, 1, "is not a pair");
	wrong_keys("tokenizer.ggml.merges", merges, 0, "has no tokenizer.ggml.merges");
	wrong_keys("tokenizer.ggml.tokens", invalid, 1, "is not UTF-8");
	wrong_keys("tokenizer.ggml.tokens", twice, 2, "");
	wrong_keys("tokenizer.ggml.tokens", merges, 0, "is of type string");
	wrong_keys("tokenizer.ggml.token_type", merges, 1, "is of type array:string");
	wrong_keys("tokenizer.ggml.scores", merges, 1, "is of type array:string");
	wrong_keys("tokenizer.ggml.model", merges, 0, "is not supported");
	wrong_keys("tokenizer.ggml.pre", merges, 0, "is not supported");
	wrong_keys("tokenizer.ggml.add_bos_token", merges, 0, "is of type string");
	wrong_keys("tokenizer.ggml.precompiled_charsmap", merges, 0, "is of type string");
}

/* ---- long lists ---- */

/* A list of n items by their numbers. */
static char *
list_of(const char *before, const char *item, const char *after, unsigned n)
{
	struct buf b = { 0 };
	unsigned i;

	buf_text(&b, before);
	for (i = 0; i < n; i++) {
		buf_text(&b, i ? "," : "");
		buf_printf(&b, item, i, i);
	}
	buf_text(&b, after);
	return (char *)(uintptr_t)buf_string(&b);
}

/* Work is not the product of tokens and special tokens, nor a square of templates. */
static void
long_lists(void)
{
	char *vocab = list_of("{\"model\":{\"type\":\"BPE\",\"byte_fallback\":true,\"merges\":[],"
	                      "\"vocab\":{", "\"t%06u\":%u", "}}}", 200000);
	char *config = list_of("{\"additional_special_tokens\":[", "\"s%06u\"", ",\"t000007\"]}",
	                       200000);
	char *named = list_of("{\"chat_template\":[", "{\"name\":\"n%u\",\"template\":\"x\"}", "]}",
	                      1025);
	const struct file files[] = { { "tokenizer.json", vocab, 0 },
		{ "tokenizer_config.json", config, 0 }, { NULL, NULL, 0 } };
	const struct file lists[] = { { "tokenizer.json", SMALL, 0 },
		{ "tokenizer_config.json", named, 0 }, { NULL, NULL, 0 } };
	struct folder f;
	clock_t from = clock();
	const struct meta *kinds;

	put_folder(&f, files, "{}", NULL);
	kinds = model_find(&f.keys, "tokenizer.ggml.token_type");
	test_ok(f.r == 0 && kinds && kinds->wire[12 + 4 * 6] == 1 && kinds->wire[12 + 4 * 7] == 3,
	        "200000 special tokens: only token 7 is one: %s", f.e.fact);
	test_ok((clock() - from) / CLOCKS_PER_SEC < 20, "and it takes less than 20 s");
	close_folder(&f);
	put_folder(&f, lists, "{}", NULL);
	test_ok(f.r < 0 && strstr(f.e.fact, "has 1025 chat templates, at most 1024"),
	        "1025 chat templates: %s", f.e.fact);
	close_folder(&f);
	free(vocab);
	free(config);
	free(named);
}

int
main(void)
{
	faults();
	long_lists();
	more_rows();
	old_folders();
	beyond();
	templates();
	names();
	key_faults();
	return test_done();
}
