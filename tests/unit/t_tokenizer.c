/* tokenizer: texts and ids of llama.cpp's own tests, with each vocabulary that lies
 * beside them: NAME.gguf, NAME.gguf.inp (texts with a line of marks between them),
 * NAME.gguf.out (a line of ids for each). What the tool cannot show: pieces, roles. */
#include "tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "test.h"
#include "vocabulary.h"

#define MARK "\n__ggml_vocab_test__\n"

static int
same(const struct tokens *list, const char *line)
{
	size_t i;
	char *end;

	for (i = 0; i < list->n; i++, line = end)
		if (strtoul(line, &end, 10) != list->id[i] || end == line)
			return 0;
	return strspn(line, " ") == strcspn(line, "\n");
}

/* How many texts have their ids; *count: of them. */
static size_t
count_right(struct tokenizer *t, const char *texts, const char *lines, size_t *count)
{
	struct err e = ERR_INIT;
	size_t right = 0, n;
	const char *next;

	for (*count = 0; texts && lines && *lines; ++*count) {
		struct tokens list = { 0 };

		next = strstr(texts, MARK);
		n = next ? (size_t)(next - texts) : strlen(texts);
		right += tokenizer_encode(t, texts, n, TOKENIZER_BARE, &list, &e) == 0 &&
		         same(&list, lines);
		tokens_free(&list);
		texts = next ? next + strlen(MARK) : NULL;
		lines = strchr(lines, '\n') ? strchr(lines, '\n') + 1 : NULL;
	}
	return right;
}

static void
test_pairs(const char *data)
{
	static const char *const names[] = { "bert-bge", "deepseek-coder", "deepseek-llm",
		"falcon", "gpt-2", "llama-spm", "mpt", "phi-3", "refact", "starcoder" };
	char path[4096];
	size_t i, n, right, count;

	for (i = 0; i < sizeof names / sizeof *names; i++) {
		struct err e = ERR_INIT;
		struct tokenizer *t;
		char *texts, *lines;

		snprintf(path, sizeof path, "%s/vocab/ggml-vocab-%s.gguf", data, names[i]);
		t = tokenizer_of_file(path, &e);
		texts = (char *)file_read(&n, "%s.inp", path);
		lines = (char *)file_read(&n, "%s.out", path);
		if (test_ok(t && texts && lines, "%s and its texts are there %s", names[i],
		            e.fact)) {
			right = count_right(t, texts, lines, &count);
			test_ok(count > 40 && right == count, "%s: %zu of %zu texts have their ids",
			        names[i], right, count);
		}
		tokenizer_free(t);
		free(texts);
		free(lines);
	}
}

/* Roles and pieces of the model that is in the checkout. */
static void
test_own(void)
{
	struct err e = ERR_INIT;
	struct tokenizer *t = tokenizer_of_file("tests/data/shakespeare-BF16.gguf", &e);
	struct buf b = { 0 };
	uint32_t end;
	size_t n;

	if (!test_ok(t != NULL, "the model of the checkout opens %s", e.fact))
		return;
	end = tokenizer_find(t, "<|endoftext|>", 13);
	test_ok(end == 1023 && tokenizer_count(t) == 1024, "its last token ends a text");
	test_ok(tokenizer_role(t, TOKENIZER_EOS) == end && tokenizer_role(t, TOKENIZER_BOS) == end &&
	        tokenizer_role(t, TOKENIZER_EOT) == end &&
	        tokenizer_role(t, TOKENIZER_UNK) == TOKEN_NONE, "roles");
	test_ok(tokenizer_is_end(t, end) && tokenizer_is_control(t, end) &&
	        !tokenizer_is_end(t, 1) && !tokenizer_is_control(t, 1) &&
	        !tokenizer_is_end(t, TOKEN_NONE), "it is the end, and control");
	test_ok(!tokenizer_adds_bos(t) && strcmp(tokenizer_kind(t), "BPE") == 0 &&
	        strcmp(tokenizer_pre(t), "gpt-2") == 0, "what it is");
	test_ok(memcmp(tokenizer_text(t, 304, &n), "\xc4\xa0" "be", 4) == 0 && n == 4,
	        "a token as the vocabulary spells it");
	tokenizer_piece(t, 304, true, 0, &b);
	tokenizer_piece(t, end, false, 0, &b);
	test_ok(b.n == 3 && memcmp(b.p, " be", 3) == 0, "what it writes");
	tokenizer_piece(t, end, false, TOKENIZER_SPECIAL, &b);
	test_ok(b.n == 16 && memcmp(b.p + 3, "<|endoftext|>", 13) == 0,
	        "what a control token writes on demand");
	buf_free(&b);
	tokenizer_free(t);
}

int
main(void)
{
	const char *data = getenv("APR_TEST_DATA");
	size_t n;
	uint8_t *readme;

	test_own();
	data = data ? data : "../shared/data";
	readme = file_read(&n, "%s/README.md", data);
	if (readme)
		test_pairs(data);
	else
		test_skip("texts with their ids", "no reference data in APR_TEST_DATA");
	free(readme);
	return test_done();
}
