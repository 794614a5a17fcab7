/* unite: the tokens, types, scores and merges of several tokenizers as those of one; carry: side files. */
#include "merge/unite.h"

#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "merge/carry.h"
#include "merge/vocabulary.h"

#include "test.h"

static struct model plan[3];
static struct source source[3];
static struct merge_input input[3];

static void
put(struct model *m, const char *key, unsigned depth, unsigned leaf, const struct buf *b)
{
	const struct value_type type = { (uint8_t)depth, (uint8_t)leaf };
	struct err e = ERR_INIT;

	model_set_meta(m, key, type, b->p, b->n, &e);
}

/* Texts between bars: "a|b|c". */
static void
put_texts(struct model *m, const char *key, const char *texts)
{
	struct buf items = { 0 }, b = { 0 };
	uint64_t n = 0;
	size_t k;

	for (; *texts; texts += k + (texts[k] == '|'), n++) {
		k = strcspn(texts, "|");
		buf_u64(&items, k);
		buf_put(&items, texts, k);
	}
	buf_u32(&b, VALUE_STRING);
	buf_u64(&b, n);
	buf_put(&b, items.p, items.n);
	put(m, key, 1, VALUE_STRING, &b);
	buf_free(&items);
	buf_free(&b);
}

/* A model with byte-level BPE. types: a digit for each token, or NULL. */
static void
make(size_t i, const char *tokens, const char *types, const char *merges)
{
	struct err e = ERR_INIT;
	struct buf b = { 0 };

	model_init(&plan[i], &e);
	buf_u64(&b, 4);
	buf_text(&b, "gpt2");
	put(&plan[i], "tokenizer.ggml.model", 0, VALUE_STRING, &b);
	buf_clear(&b);
	put_texts(&plan[i], "tokenizer.ggml.tokens", tokens);
	put_texts(&plan[i], "tokenizer.ggml.merges", merges);
	if (types) {
		buf_u32(&b, VALUE_I32);
		buf_u64(&b, strlen(types));
		for (; *types; types++)
			buf_u32(&b, (uint32_t)(*types - '0'));
		put(&plan[i], "tokenizer.ggml.token_type", 1, VALUE_I32, &b);
	}
	buf_free(&b);
	source[i] = (struct source){ .plan = &plan[i], .name = "in" };
	input[i] = (struct merge_input){ .name = "in", .source = &source[i],
		.subject = { .plan = &plan[i], .w = { .name = "in", .plan = &plan[i] }, .form = ARCH_GGUF } };
}

/* An array of texts, with bars between them. */
static const char *
texts_of(const struct model *m, const char *key, char to[256])
{
	const struct meta *k = model_find(m, key);
	size_t at = 12, n, used = 0;
	const uint8_t *p;

	while (k && (p = word_list_next(k->wire, k->wire_bytes, &at, &n)) && used + n + 2 < 256) {
		if (used)
			to[used++] = '|';
		memcpy(to + used, p, n);
		used += n;
	}
	to[used] = '\0';
	return to;
}

/* The result of models 0 to n - 1. 0, or the code of the error. */
static int
unite(size_t n, enum merge_tokens tokens, struct vocabulary *v)
{
	struct merge_recipe r;
	struct err e = ERR_INIT;
	size_t i;

	*v = (struct vocabulary){ 0 };
	merge_recipe_init(&r, merge_method_find("linear"));
	r.tokens = tokens;
	r.tokens_model = n - 1;
	for (i = 0; i < n; i++) {
		const char name[2] = { (char)('a' + i), 0 };

		merge_recipe_model(&r, name, &e);
	}
	vocabulary_make(v, &r, input, 0, &e);
	merge_recipe_free(&r);
	return (int)e.code;
}

static void
free_models(size_t n, struct vocabulary *v)
{
	vocabulary_free(v);
	while (n > 0)
		model_free(&plan[--n]);
}

static void
united(void)
{
	const struct meta *types;
	struct vocabulary v;
	char text[256];

	make(0, "a|b|c|ab", NULL, "a b");
	make(1, "c|b|bc|<x>|a|[PAD5]", "111315", "b c|b x|a b");
	make(2, "d|<x>|a|b|c|abc|ab|c", "41113111", "ab c|b c|a b");
	test_ok(unite(3, MERGE_TOKENS_UNION, &v) == 0 && v.tokens == 8 &&
	        strcmp(texts_of(&v.words.keys, "tokenizer.ggml.tokens", text),
	               "a|b|c|ab|bc|<x>|d|abc") == 0,
	        "tokens: those of the first, then what each other model has beside them (%s)", text);
	test_ok(strcmp(texts_of(&v.words.keys, "tokenizer.ggml.merges", text), "a b|b c|ab c") == 0,
	        "merges: what is missing and what has tokens for all parts (%s)", text);
	types = model_find(&v.words.keys, "tokenizer.ggml.token_type");
	test_ok(types && le32(types->wire + 12) == 1 && le32(types->wire + 12 + 20) == 3 &&
	        le32(types->wire + 12 + 24) == 4 && le32(types->wire + 12 + 8) == 3,
	        "types: of the first model that has the token; control if a later one says so");
	test_ok(v.row[1][0] == 4 && v.row[1][5] == 3 && v.row[0][5] == VOCABULARY_LACKS &&
	        v.row[2][2] == 4 && v.row[2][7] == 5, "rows: by text, the lowest of equal ones");
	free_models(3, &v);
}

/* Makes a model of Unigram of one made by make. */
static void
score(size_t i, size_t n, const float *scores)
{
	struct buf b = { 0 };
	uint32_t bits;

	buf_u64(&b, 2);
	buf_text(&b, "t5");
	put(&plan[i], "tokenizer.ggml.model", 0, VALUE_STRING, &b);
	buf_clear(&b);
	buf_u32(&b, VALUE_F32);
	buf_u64(&b, n);
	for (; n; n--, scores++) {
		memcpy(&bits, scores, sizeof bits);
		buf_u32(&b, bits);
	}
	put(&plan[i], "tokenizer.ggml.scores", 1, VALUE_F32, &b);
	buf_free(&b);
}

/* The lowest score prices an unknown character: it stays. */
static void
scored(void)
{
	const float first[] = { 0, 0, 0, -3, -9, -20 }, second[] = { 0, 0, 0, -30, -40, -5 };
	const struct meta *scores;
	struct vocabulary v;

	make(0, "<pad>|</s>|<unk>|a|b|c", "332113", "");
	score(0, 6, first);
	make(1, "<pad>|</s>|<unk>|a|d|e", "332111", "");
	score(1, 6, second);
	test_ok(unite(2, MERGE_TOKENS_UNION, &v) == 0 && v.tokens == 8, "Unigram: two new tokens");
	scores = model_find(&v.words.keys, "tokenizer.ggml.scores");
	test_ok(scores && scores->wire_bytes == 12 + 8 * 4 && le_f32(scores->wire + 12 + 12) == -3 &&
	        le_f32(scores->wire + 12 + 24) == -9 && le_f32(scores->wire + 12 + 28) == -5,
	        "no new token scores less than the normal ones of the first");
	free_models(2, &v);
}

static void
others(void)
{
	struct vocabulary v;
	char text[256];

	make(0, "a|b|ab", NULL, "a b");
	make(1, "b|a|z", NULL, "b a");
	test_ok(unite(2, MERGE_TOKENS_OF, &v) != 0, "merges of the chosen tokenizer must have tokens");
	free_models(2, &v);
	make(0, "a|b|ab", NULL, "a b|a c");
	make(1, "b|a|z", NULL, "b a");
	test_ok(unite(2, MERGE_TOKENS_UNION, &v) != 0, "and so must those of the first of a union");
	free_models(2, &v);
	make(0, "a|b|ab", NULL, "a b");
	make(1, "ab|b|a", NULL, "a b");
	test_ok(unite(2, MERGE_TOKENS_UNION, &v) == 0 && !v.replaced && v.row[1][0] == 2,
	        "the same tokens in another order: the tokenizer of the first stays");
	vocabulary_free(&v);
	test_ok(unite(2, MERGE_TOKENS_OF, &v) == 0 && v.replaced && v.foreign && v.row[0][0] == 2 &&
	        strcmp(texts_of(&v.words.keys, "tokenizer.ggml.tokens", text), "ab|b|a") == 0,
	        "the tokenizer of another model, with its order");
	free_models(2, &v);
	make(0, "a|b|a", NULL, "a b");
	make(1, "ab|b|a", NULL, "a b");
	test_ok(unite(2, MERGE_TOKENS_UNION, &v) != 0, "two tokens with one text are refused");
	free_models(2, &v);
}

/* Whether the words of a model with this value in a blob are refused. */
static bool
refused(const char *key, struct value_type type, const uint8_t *p, size_t n)
{
	struct weights_blob blob = { p, n };
	struct word_list words;
	struct err e = ERR_INIT;
	int r;

	make(0, "a|b|ab", NULL, "a b");
	model_add_meta_blob(&plan[0], key, strlen(key), type, n, &e);
	input[0].subject.w.blobs = &blob;
	r = word_list_read(&words, &input[0], &e);
	word_list_free(&words);
	model_free(&plan[0]);
	return r < 0 && e.code == ERR_CORRUPT;
}

static void
blobs(void)
{
	const struct value_type list = { 1, VALUE_I32 }, number = { 0, VALUE_U32 };
	uint8_t wire[16];

	le32_put(wire, VALUE_I32);
	le64_put(wire + 4, 1);
	le32_put(wire + 12, 2);
	test_ok(!refused("tokenizer.ggml.suppress_tokens", list, wire, 16), "a list that a blob holds");
	le64_put(wire + 4, UINT64_C(1) << 62);
	test_ok(refused("tokenizer.ggml.suppress_tokens", list, wire, 12),
	        "a list of a blob that announces more than memory holds");
	test_ok(refused("tokenizer.ggml.eos_token_id", number, wire, 0), "a number in an empty blob");
}

/* Side files of the result that the model has in another order, and one that it lacks. */
static void
files(void)
{
	const char *const own[] = { "a", "b", "c" }, *const sent[] = { "b", "new", "c", "a", "c" };
	struct weights_blob bytes[] = { { (const uint8_t *)"1", 1 }, { (const uint8_t *)"2", 1 },
		{ (const uint8_t *)"3", 1 } };
	struct carry c = { .plan = &plan[1], .files_of = &input[0] };
	struct err e = ERR_INIT;
	const uint8_t *p;
	char got[8] = "";
	size_t i, n;
	struct item item;

	make(0, "a|b|ab", NULL, "a b");
	make(1, "a|b|ab", NULL, "a b");
	for (i = 0; i < 3; i++)
		model_add_blob(&plan[0], own[i], "file", 1, &e);
	for (i = 0; i < 5; i++)
		model_add_blob(&plan[1], sent[i], "file", i != 1, &e);
	input[0].subject.w.blobs = bytes;
	if (carry_open(&c, &e) < 0)
		exit(1);
	for (i = 0; i < 5 && carry_next(&c, &item) == 1 && carry_read(&c, &p, &n, &e) == 0; i++)
		got[i] = n == 0 ? '-' : (char)*p;
	test_ok(strcmp(got, "2-313") == 0, "side files by their names (%s)", got);
	carry_close(&c);
	model_free(&plan[0]);
	model_free(&plan[1]);
}

int
main(void)
{
	united();
	scored();
	others();
	blobs();
	files();
	return test_done();
}
