/* prune: parts of tensors that stay, and files whose shapes, types, keys and names contradict. */
#include "model_made.h"
#include "prune/pruned.h"
#include "prune/take.h"
#include "test.h"

static struct made m;
static struct prune_plan plan;
static uint8_t out[4 << 20];

static float
value(size_t i)
{
	return le_f32(out + 4 * i);
}

static void
end(void)
{
	prune_plan_free(&plan);
	made_close(&m);
}

/* Whether an error with this fact came. */
static bool
says(const struct err *e, const char *fact)
{
	if (e->code != ERR_NONE && strstr(e->fact, fact))
		return true;
	printf("# %d %s\n", (int)e->code, e->fact);
	return false;
}

/* ---- rows and columns that stay ---- */

#define LONG 17000u

static uint64_t few[] = { 3, 5 }, ends[] = { 0, 1, 699 }, most[LONG - 1];

/* A batch of short rows of which little stays, and one of long rows of which most does. */
static void
test_rows(void)
{
	struct prune_list columns = { few, 2, 2 }, others = { most, LONG - 1, LONG - 1 },
		rows = { ends, 3, 3 };
	const uint64_t shapes[][2] = { { 700, 2 }, { 40, LONG - 1 }, { 3, 3 } };
	struct prune_row of[] = { { .from = 0, .kept_columns = &columns },
		{ .from = 1, .kept_columns = &others }, { .from = 2, .kept_rows = &rows } };
	struct err e = ERR_INIT;
	struct source *s;
	size_t i, b = 1400, c = b + 40 * (LONG - 1);
	long n;

	for (i = 0; i < LONG - 1; i++)
		most[i] = i + 1;
	made_open(&m);
	made_floats(&m, "a", 700, 8, 0);
	made_floats(&m, "b", 40, LONG, 0);
	made_floats(&m, "c", 700, 3, 5000);
	if (made_read(&m) < 0 || model_copy(&plan.out, merge_input_plan(&m.input), &e) < 0)
		exit(1);
	plan.in = &m.input;
	for (i = 0; i < 3; i++) {
		struct tensor *t = tensor_new(&"abc"[i], 1, dtype_by_name("F32"), 2, shapes[i],
		                              TENSOR_OWN_SIZE, "test", &e);

		tensor_free(plan.out.tensors[i]);
		plan.out.tensors[i] = t;
	}
	plan.rows = of;
	s = pruned_source(&plan, 2, &e);
	n = s ? made_drain(s, out, sizeof out, &e) : -1;
	test_ok(n == 4 * (long)(c + 9) && value(0) == 3 && value(1399) == 699 * 8 + 5 &&
	        value(b) == 1 && value(b + LONG - 1) == LONG + 1 && value(c - 1) == 40 * LONG - 1 &&
	        value(c) == 5000 && value(c + 8) == 7099,
	        "rows and columns of tensors with rows of other lengths");
	source_close(s);
	plan.rows = NULL;
	end();
}

/* ---- heads and neurons ---- */

#define WIDTH 8u

static const char *odd;           /* a tensor that differs: */
static const char *odd_type;
static uint64_t odd_rows, odd_columns;

static void
weight(const char *name, const char *type, uint64_t rows, uint64_t columns)
{
	if (odd && strcmp(odd, name) == 0)
		made_tensor(&m, name, odd_type, odd_rows, odd_columns);
	else
		made_tensor(&m, name, type, rows, columns);
}

/* A model of one layer: 4 heads of 2 values that share 2 keys, and as many neurons. */
static void
decoder(uint32_t neurons)
{
	static const char *const keys[] = { "block_count", "embedding_length", "feed_forward_length",
		"attention.head_count", "attention.head_count_kv", "context_length" };
	const uint32_t values[] = { 1, WIDTH, neurons, 4, 2, 64 };
	char key[80];
	size_t i;

	made_open(&m);
	made_text(&m, "general.architecture", "llama");
	for (i = 0; i < sizeof values / sizeof *values; i++) {
		snprintf(key, sizeof key, "llama.%s", keys[i]);
		made_number(&m, key, values[i]);
	}
	made_wire(&m, "llama.attention.layer_norm_rms_epsilon", (struct value_type){ 0, VALUE_F32 },
	          "\0\0\x80\x3f", 4);
	weight("token_embd.weight", "F32", 16, WIDTH);
	weight("blk.0.attn_q.weight", "F32", 8, WIDTH);
	weight("blk.0.attn_q.bias", "F32", 0, 8);
	weight("blk.0.attn_k.weight", "F32", 4, WIDTH);
	weight("blk.0.attn_v.weight", "F32", 4, WIDTH);
	weight("blk.0.attn_output.weight", "F32", WIDTH, 8);
	weight("blk.0.ffn_up.weight", "F32", neurons, WIDTH);
	weight("blk.0.ffn_gate.weight", "F32", neurons, WIDTH);
	weight("blk.0.ffn_down.weight", "F32", WIDTH, neurons);
}

/* Plan the model with these heads and neurons gone. */
static int
shape(uint32_t all, uint64_t heads, uint64_t neurons, struct err *e)
{
	const struct prune_how how = { .rule = PRUNE_SHAPE, .heads = heads, .neurons = neurons };

	*e = (struct err)ERR_INIT;
	decoder(all);
	if (made_read(&m) < 0) {
		*e = m.e;
		return -1;
	}
	return prune_plan_make(&plan, &how, &m.input, e);
}

static void
is_odd(const char *name, const char *type, uint64_t rows, uint64_t columns)
{
	odd = name;
	odd_type = type;
	odd_rows = rows;
	odd_columns = columns;
}

static void
test_shapes(void)
{
	struct err e;

	test_ok(shape(16, 2, 4, &e) == 0 && plan.pruned == 8, "heads and neurons go");
	if (e.code != ERR_NONE)
		printf("# %s\n", e.fact);
	end();
	is_odd("blk.0.attn_q.bias", "F32", 0, 6);
	test_ok(shape(16, 2, 0, &e) < 0 && says(&e, "its bias has not 8 values"),
	        "a bias of another length");
	end();
	is_odd("blk.0.attn_q.bias", "F32", 2, 4);
	test_ok(shape(16, 2, 0, &e) < 0 && says(&e, "its bias has not 8 values"),
	        "a bias that is a matrix");
	end();
	is_odd("blk.0.ffn_down.weight", "F32", 4, 16);
	test_ok(shape(16, 0, 4, &e) < 0 && says(&e, "is 4x16, not 8x16"),
	        "a matrix of another shape");
	end();
	is_odd(NULL, NULL, 0, 0);
}

/* ---- types ---- */

#define UP 6
#define DOWN 8

/* Neurons of odd numbers matter, and so stay: no block of the down matrix stays whole. */
static void
matter(uint32_t neurons)
{
	uint32_t i;
	size_t k;

	decoder(neurons);
	memset(m.memory.data[DOWN], 1, (size_t)tensor_bytes(m.memory.plan.tensors[DOWN]));
	for (i = 1; i < neurons; i += 2)
		for (k = UP; k < DOWN; k++)
			le32_put(m.memory.data[k] + (size_t)i * WIDTH * 4, 0x3f800000);
}

static void
test_types(void)
{
	const struct prune_how half = { .rule = PRUNE_SHAPE, .neurons = 512 },
		part = { .rule = PRUNE_SHAPE, .neurons = 32 };
	struct err e = ERR_INIT;
	struct source *s;

	is_odd("blk.0.ffn_down.weight", "IQ2_XXS", WIDTH, 1024);
	matter(1024);
	test_ok(made_read(&m) == 0 && prune_plan_make(&plan, &half, &m.input, &e) < 0 &&
	        says(&e, "and IQ2_XXS cannot be encoded again"),
	        "blocks that do not stay whole, of a type that is only encoded by importance");
	end();
	e = (struct err)ERR_INIT;
	is_odd("blk.0.ffn_down.weight", "Q8_0", WIDTH, 64);
	matter(64);
	le16_put(m.memory.data[DOWN] + 34, 0x7c00); /* an infinite scale */
	if (made_read(&m) < 0 || prune_plan_make(&plan, &part, &m.input, &e) < 0)
		exit(1);
	s = pruned_source(&plan, 1, &e);
	test_ok(s && made_drain(s, out, sizeof out, &e) < 0 &&
	        says(&e, "has values that Q8_0 cannot hold"),
	        "values that are infinite are not encoded again");
	source_close(s);
	end();
	is_odd(NULL, NULL, 0, 0);
}

/* ---- layers ---- */

static void
test_layers(void)
{
	static const char *const names[] = { "blk.0.attn_q.weight", "blk.1.attn_q.weight",
		"blk.2.attn_q.weight" };
	uint64_t gone[] = { 2 };
	const struct prune layers = { .blocks = gone, .n = 1 };
	const struct prune_how how = { .rule = PRUNE_SHAPE, .layers = &layers };
	struct err e = ERR_INIT;
	size_t i;

	decoder(16);
	for (i = 1; i < 3; i++)
		made_tensor(&m, names[i], "F32", 8, WIDTH);
	test_ok(made_read(&m) == 0 && prune_plan_make(&plan, &how, &m.input, &e) < 0 &&
	        says(&e, "its keys do not fit 2 layers"), "fewer layers in the keys than in names");
	end();
}

/* ---- tokens ---- */

static void
put_texts(const char *key, const char *const *texts, size_t n)
{
	struct buf b = { 0 };
	size_t i;

	buf_u32(&b, VALUE_STRING);
	buf_u64(&b, n);
	for (i = 0; i < n; i++) {
		buf_u64(&b, strlen(texts[i]));
		buf_text(&b, texts[i]);
	}
	made_wire(&m, key, (struct value_type){ 1, VALUE_STRING }, b.p, b.n);
	buf_free(&b);
}

static void
put_numbers(const char *key, enum value_kind leaf, const uint32_t *numbers, size_t n)
{
	struct buf b = { 0 };
	size_t i;

	buf_u32(&b, leaf);
	buf_u64(&b, n);
	for (i = 0; i < n; i++)
		buf_u32(&b, numbers[i]);
	made_wire(&m, key, (struct value_type){ 1, (uint8_t)leaf }, b.p, b.n);
	buf_free(&b);
}

#define TOKENS 7

/* Tokens of byte-level BPE, with merges of which some are not merges of tokens. */
static void
vocabulary(size_t types)
{
	static const char *const tokens[] = { "a", "b", "c", "bc", "ab", "abc", "<end>" };
	static const char *const merges[] = { "x", "", " ", "b c", "a b", "q r", "a bc", "ab  c", "ab c" };
	const uint32_t kinds[] = { 1, 1, 1, 1, 1, 1, 3 }, ids[] = { 6, 5, 900, 3 };

	made_open(&m);
	made_text(&m, "general.architecture", "llama");
	made_text(&m, "tokenizer.ggml.model", "gpt2");
	put_texts("tokenizer.ggml.tokens", tokens, TOKENS);
	put_numbers("tokenizer.ggml.token_type", VALUE_I32, kinds, types);
	put_texts("tokenizer.ggml.merges", merges, sizeof merges / sizeof *merges);
	put_numbers("tokenizer.ggml.eog_token_ids", VALUE_U32, ids, 4);
	made_number(&m, "tokenizer.ggml.padding_token_id", 4000000000u);
	made_wire(&m, "tokenizer.ggml.eos_token_id", (struct value_type){ 0, VALUE_U16 }, "\6\0", 2);
	made_number(&m, "llama.vocab_size", TOKENS);
	made_floats(&m, "token_embd.weight", TOKENS + 2, 2, 0);
}

/* The number that a key has in the result, or that is the item of its list. */
static uint64_t
number_of(const char *key, size_t item)
{
	const struct meta *k = model_find(&plan.out, key);
	uint64_t n = UINT64_MAX;

	if (k && k->type.depth > 0)
		return k->wire_bytes >= 16 + 4 * item ? le32(k->wire + 12 + 4 * item) : UINT64_MAX;
	if (k)
		value_u64(k->type, k->wire, k->wire_bytes, &n);
	return n;
}

static void
test_tokens(void)
{
	const bool used[TOKENS] = { [5] = true };
	const struct prune_how how = { .rule = PRUNE_SHAPE, .used = used, .used_count = TOKENS };
	struct err e = ERR_INIT;
	const struct meta *k;
	struct source *s;
	long n;

	/* "abc" is made of "a bc" and "ab c". */
	vocabulary(TOKENS);
	if (made_read(&m) < 0 || prune_plan_make(&plan, &how, &m.input, &e) < 0) {
		printf("# %s %s\n", m.e.fact, e.fact);
		exit(1);
	}
	k = model_find(&plan.out, "tokenizer.ggml.merges");
	test_ok(plan.tokens.n == TOKENS && le64(k->wire + 4) == 4, "all ways to make a token stay");
	end();

	vocabulary(TOKENS);
	made_text(&m, "tokenizer.huggingface.json", "{}");
	if (made_read(&m) < 0 ||
	    prune_plan_make(&plan, &(struct prune_how){ .rule = PRUNE_SHAPE, .used = (bool[]){ false, false,
	                    false, true }, .used_count = 4 }, &m.input, &e) < 0)
		exit(1);
	s = pruned_source(&plan, 1, &e);
	n = made_drain(s, out, sizeof out, &e);
	source_close(s);
	k = model_find(&plan.out, "tokenizer.ggml.merges");
	test_ok(plan.tokens.n == 5 && n == 5 * 8 && value(6) == 6 && value(8) == 12 && value(9) == 13,
	        "rows of tokens that stay, and none behind them");
	test_ok(le64(k->wire + 4) == 1 && le64(k->wire + 12) == 3 && memcmp(k->wire + 20, "b c", 3) == 0,
	        "merges of tokens that stay, without what is not a merge");
	test_ok(number_of("tokenizer.ggml.eos_token_id", 0) == 4 &&
	        number_of("tokenizer.ggml.padding_token_id", 0) == 4000000000u &&
	        number_of("llama.vocab_size", 0) == 5 &&
	        number_of("tokenizer.ggml.token_type", 4) == 3 &&
	        number_of("tokenizer.ggml.eog_token_ids", 0) == 4 &&
	        number_of("tokenizer.ggml.eog_token_ids", 1) == 3 &&
	        number_of("tokenizer.ggml.eog_token_ids", 2) == UINT64_MAX &&
	        !model_find(&plan.out, "tokenizer.huggingface.json"),
	        "ids and lists follow; an id that is not a token stays, and goes from a list");
	end();

	vocabulary(TOKENS - 1);
	e = (struct err)ERR_INIT;
	test_ok(made_read(&m) == 0 && prune_plan_make(&plan, &how, &m.input, &e) < 0 &&
	        e.code == ERR_CORRUPT && says(&e, "is not a list of one number for each of 7 tokens"),
	        "a list of another length");
	end();
}

/* Tokens "0", "1", … of a kind without keys of roles; token 7 has the lowest score. */
static void
numbered(const char *kind, size_t n)
{
	static char text[128][24];
	const char *texts[128];
	uint32_t scores[128];
	size_t i;

	for (i = 0; i < n; i++) {
		snprintf(text[i], sizeof text[i], "%zu", i);
		texts[i] = text[i];
		scores[i] = i == 7 ? 0xc1200000 : 0xbf800000; /* -10, -1 */
	}
	made_open(&m);
	made_text(&m, "general.architecture", "llama");
	made_text(&m, "tokenizer.ggml.model", kind);
	put_texts("tokenizer.ggml.tokens", texts, n);
	put_numbers("tokenizer.ggml.scores", VALUE_F32, scores, n);
	made_floats(&m, "token_embd.weight", n, 2, 0);
}

/* Prune it to token 5 and what stays by itself. */
static size_t
to_five(void)
{
	const bool used[] = { [5] = true };
	const struct prune_how how = { .rule = PRUNE_SHAPE, .used = used, .used_count = 6 };
	struct err e = ERR_INIT;

	if (made_read(&m) < 0 || prune_plan_make(&plan, &how, &m.input, &e) < 0) {
		printf("# %s %s\n", m.e.fact, e.fact);
		exit(1);
	}
	return plan.tokens.n;
}

static void
test_roles(void)
{
	numbered("bert", 110);
	test_ok(to_five() == 6 && number_of("tokenizer.ggml.padding_token_id", 0) == 0 &&
	        number_of("tokenizer.ggml.unknown_token_id", 0) == 2 &&
	        number_of("tokenizer.ggml.cls_token_id", 0) == 3 &&
	        number_of("tokenizer.ggml.seperator_token_id", 0) == 4 &&
	        number_of("tokenizer.ggml.mask_token_id", 0) == 5, "roles that no key states get keys");
	end();
	numbered("bert", 110);
	made_number(&m, "tokenizer.ggml.bos_token_id", 9);
	made_number(&m, "tokenizer.ggml.mask_token_id", UINT32_MAX);
	test_ok(to_five() == 6 && number_of("tokenizer.ggml.bos_token_id", 0) == 2 &&
	        number_of("tokenizer.ggml.mask_token_id", 0) == 5 &&
	        !model_find(&plan.out, "tokenizer.ggml.cls_token_id"),
	        "unless another key replaces them; a key may say that there is none");
	end();
	numbered("t5", 20);
	test_ok(to_five() == 5 && plan.tokens.at[3] == 5 && plan.tokens.at[4] == 7 &&
	        number_of("tokenizer.ggml.eos_token_id", 0) == 1, "the lowest score of Unigram stays");
	end();
}

/* A key and a value too long for the plan. */
static void
test_long(void)
{
	static char text[300000];
	const char *const texts[] = { text };
	char key[400];

	memset(text, 't', sizeof text - 1);
	memset(key, 'k', sizeof key);
	memcpy(key, "tokenizer.", 10);
	key[sizeof key - 1] = '\0';
	vocabulary(TOKENS);
	put_texts(key, texts, 1);
	to_five();
	test_ok(model_find(&plan.out, key) && model_find(&plan.out, key)->blob != SIZE_MAX &&
	        plan.files.count == 1 && strcmp(plan.files.file[0].name + strlen(MODEL_VALUE_NAME), key) == 0,
	        "a long value of a long key");
	end();
}

int
main(void)
{
	test_rows();
	test_shapes();
	test_types();
	test_layers();
	test_tokens();
	test_roles();
	test_long();
	return test_done();
}
