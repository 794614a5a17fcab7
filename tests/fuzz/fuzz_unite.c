/* fuzz_unite: models whose tokens differ. The input is a list of lines:
 *
 *     = KIND           the next model, with a tokenizer of this kind
 *     TEXT [TYPE]      a token, with the number of its type
 *     + LEFT RIGHT     a merge
 *     ? TEXT           a rule: zeros for this token, forced
 *     ! N              the result has the tokens of model N; without it, of all
 *
 *     1. The tokens are united, or refused with a message that a terminal can show.
 *     2. Each token of the first model keeps its id; each row is one of its model, with the text of the
 *        token; no token is missing, and none is in the result twice.
 *     3. What was united opens, and text becomes tokens of it.
 *
 * The mutator writes whole models, and models with the tokens of others.
 */
#include "dice.h"
#include "mutate.h"

#include "core/mem.h"
#include "merge/vocabulary.h"
#include "tokenizer/vocab.h"

#define MODELS 4
#define TOKENS 256

struct lists {
	struct buf tokens, types, scores, merges;
	uint32_t count, rules;
	char kind[16];
};

struct state {
	struct lists of[MODELS];
	struct model plan[MODELS];
	struct source source[MODELS];
	struct merge_input input[MODELS];
	size_t n;
	struct merge_recipe r;
};

/* ---- models of the input ---- */

static void
put_text(struct buf *b, const char *p, size_t n)
{
	buf_u64(b, n);
	buf_put(b, p, n);
}

static void
add_token(struct lists *l, const char *line, size_t n)
{
	uint32_t type = 1, score;
	float value = -(float)l->count;

	if (l->count == TOKENS)
		return;
	if (n > 2 && line[n - 2] == ' ') {
		type = (uint8_t)line[n - 1] - '0';
		n -= 2;
	}
	memcpy(&score, &value, sizeof score);
	put_text(&l->tokens, line, n);
	buf_u32(&l->types, type);
	buf_u32(&l->scores, score);
	l->count++;
}

static void
add_rule(struct state *s, const char *line, size_t n)
{
	struct merge_token *t;

	must(mem_grow(&s->r.token, &s->r.token_cap, s->r.token_count + 1, sizeof *t) == 0);
	t = &s->r.token[s->r.token_count++];
	*t = (struct merge_token){ .text = mem_text(line, n), .source = MERGE_TOKEN_ZERO,
		.id = MERGE_TOKEN_BY_TEXT, .force = true };
	must(t->text);
}

static void
add_line(struct state *s, const char *line, size_t n)
{
	struct lists *l = &s->of[s->n ? s->n - 1 : 0];

	if (n > 2 && line[0] == '=' && s->n < MODELS) {
		l = &s->of[s->n++];
		memcpy(l->kind, line + 2, n - 2 < 15 ? n - 2 : 15);
	} else if (n > 2 && line[0] == '!') {
		s->r.tokens = MERGE_TOKENS_OF;
		s->r.tokens_model = (uint8_t)line[2] % MODELS;
	} else if (n > 2 && line[0] == '?' && s->r.token_count < 8 && !memchr(line, 0, n)) {
		add_rule(s, line + 2, n - 2);
	} else if (s->n > 0 && n > 2 && line[0] == '+' && l->rules < TOKENS) {
		put_text(&l->merges, line + 2, n - 2);
		l->rules++;
	} else if (s->n > 0) {
		add_token(l, line, n);
	}
}

static void
put_list(struct model *m, const char *key, unsigned leaf, size_t n, const struct buf *items)
{
	const struct value_type type = { 1, (uint8_t)leaf };
	struct err e = ERR_INIT;
	struct buf b = { 0 };

	buf_u32(&b, leaf);
	buf_u64(&b, n);
	buf_put(&b, items->p, items->n);
	must(buf_ok(&b) && model_set_meta(m, key, type, b.p, b.n, &e) == 0);
	buf_free(&b);
}

static void
make_input(struct state *s, size_t i)
{
	const struct value_type string = { 0, VALUE_STRING };
	struct lists *l = &s->of[i];
	struct model *m = &s->plan[i];
	struct err e = ERR_INIT;
	struct buf b = { 0 };

	must(model_init(m, &e) == 0);
	put_text(&b, l->kind, strlen(l->kind));
	must(model_set_meta(m, "tokenizer.ggml.model", string, b.p, b.n, &e) == 0);
	buf_free(&b);
	put_list(m, "tokenizer.ggml.tokens", VALUE_STRING, l->count, &l->tokens);
	put_list(m, "tokenizer.ggml.token_type", VALUE_I32, l->count, &l->types);
	put_list(m, "tokenizer.ggml.scores", VALUE_F32, l->count, &l->scores);
	put_list(m, "tokenizer.ggml.merges", VALUE_STRING, l->rules, &l->merges);
	s->source[i] = (struct source){ .plan = m, .name = "in" };
	s->input[i] = (struct merge_input){ .name = "in", .source = &s->source[i],
		.subject = { .plan = m, .w = { .name = "in", .plan = m }, .form = ARCH_GGUF } };
}

static void
read_input(struct state *s, const char *data, size_t size)
{
	const char *end = data + size, *stop;
	struct err e = ERR_INIT;
	size_t i;

	merge_recipe_init(&s->r, merge_method_find("linear"));
	s->r.tokens = MERGE_TOKENS_UNION;
	for (; data < end; data = stop + 1) {
		stop = memchr(data, '\n', (size_t)(end - data));
		stop = stop ? stop : end;
		add_line(s, data, (size_t)(stop - data));
	}
	for (i = 0; i < s->n; i++) {
		char name[2] = { (char)('a' + i), 0 };

		make_input(s, i);
		must(merge_recipe_model(&s->r, name, &e) == i);
	}
	if (s->r.tokens_model >= s->n)
		s->r.tokens_model = 0;
}

/* ---- what holds ---- */

/* The texts of a model, or of the result. */
static uint32_t
texts_of(const struct model *m, const uint8_t *text[], size_t bytes[], size_t most)
{
	const struct meta *k = model_find(m, "tokenizer.ggml.tokens");
	uint32_t n = 0;
	size_t at = 12;

	while (n < most && (text[n] = word_list_next(k->wire, k->wire_bytes, &at, &bytes[n])))
		n++;
	return n;
}

static void
check_rows(const struct state *s, const struct vocabulary *v)
{
	static const uint8_t *result[MODELS * TOKENS + 1], *own[TOKENS + 1];
	static size_t bytes[MODELS * TOKENS + 1], own_bytes[TOKENS + 1];
	const struct model *m = v->replaced ? &v->words.keys : &s->plan[0];
	uint32_t n = texts_of(m, result, bytes, MODELS * TOKENS), own_n, t, i;
	size_t k;

	must(n == v->tokens);
	for (k = 0; k < s->n; k++) {
		own_n = texts_of(&s->plan[k], own, own_bytes, TOKENS);
		for (t = 0; t < n; t++) {
			uint32_t row = v->row[k][t];

			must(row == VOCABULARY_LACKS || row < own_n);
			must(row == VOCABULARY_LACKS || (bytes[t] == own_bytes[row] &&
			     memcmp(result[t], own[row], bytes[t]) == 0));
			for (i = 0; row == VOCABULARY_LACKS && i < own_n; i++)
				must(own_bytes[i] != bytes[t] || memcmp(own[i], result[t], bytes[t]) != 0);
		}
	}
	for (t = 0; s->r.tokens == MERGE_TOKENS_UNION && s->of[0].count > t; t++)
		must(v->row[0][t] == t);
}

static void
check_tokenizer(const struct vocabulary *v)
{
	const struct weights w = { .name = "in", .plan = (struct model *)(uintptr_t)&v->words.keys };
	const struct tokenizer_options how = { .any = true };
	struct tokens ids = { 0 };
	struct err e = ERR_INIT;
	struct tokenizer *t;
	size_t i;

	if (!v->replaced)
		return;
	t = tokenizer_of(&w, &how, &e);
	must_say(t, &e);
	must(tokenizer_count(t) == v->tokens);
	if (tokenizer_encode(t, "ab abc <x> c", 12, TOKENIZER_SPECIAL, &ids, &e) == 0)
		for (i = 0; i < ids.n; i++)
			must(ids.id[i] < v->tokens);
	tokens_free(&ids);
	tokenizer_free(t);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct state s;
	struct vocabulary v = { 0 };
	struct err e = ERR_INIT;
	size_t i;

	s = (struct state){ .n = 0 };
	read_input(&s, (const char *)data, size);
	if (s.n > 0) {
		if (vocabulary_make(&v, &s.r, s.input, 0, &e) == 0) {
			check_rows(&s, &v);
			check_tokenizer(&v);
			for (i = 0; i < v.rule_count; i++)
				must(vocabulary_rule(&v, v.rules[i].token) != NULL);
		} else {
			must_say(e.code == ERR_INVALID || e.code == ERR_CORRUPT || e.code == ERR_MEMORY, &e);
			fuzz_printable(e.object);
			fuzz_printable(e.fact);
		}
		vocabulary_free(&v);
	}
	merge_recipe_free(&s.r);
	for (i = 0; i < MODELS; i++) {
		buf_free(&s.of[i].tokens);
		buf_free(&s.of[i].types);
		buf_free(&s.of[i].scores);
		buf_free(&s.of[i].merges);
		model_free(&s.plan[i]);
	}
	return 0;
}

/* ---- mutator ---- */

static const char *const kinds[] = { "gpt2", "gpt2", "gpt2", "llama", "llama", "bert", "t5", "rwkv" };
static const char *const texts[] = { "a", "b", "c", "ab", "abc", "bc", "<x> 3", "<y> 4", "<0x41> 6",
	"[PAD3] 5", "[PAD9] 5", "<unk> 2", "\xe2\x96\x81" "a", "\xc4\xa0", "\xc4\xa0" "a", "", "z 9", "q 0", "a 3",
	"\xff", "aa", "aaaa" };
static const char *const merges[] = { "a b", "b c", "ab c", "a bc", "a  b", " a", "z z", "a", "\xc4\xa0 a",
	"a a", "aa aa", "ab" };

static void
write_model(struct buf *b, struct dice *d)
{
	const char *kind = ONE_OF(d, kinds);
	bool whole = roll(d, 4) > 0; /* no token twice: each with a chance */
	unsigned i, n;

	buf_printf(b, "= %s\n", roll(d, 3) ? kinds[0] : kind);
	for (i = 0; i < sizeof texts / sizeof *texts && whole; i++)
		if (roll(d, 2) && i != 18)
			buf_printf(b, "%s\n", texts[i]);
	for (n = roll(d, whole ? 2 : 12); n > 0; n--)
		buf_printf(b, "%s\n", ONE_OF(d, texts));
	for (n = roll(d, 6); n > 0; n--)
		buf_printf(b, "+ %s\n", ONE_OF(d, merges));
}

static void
write_models(struct buf *b, struct dice *d)
{
	unsigned n;

	for (n = 1 + roll(d, MODELS); n > 0; n--)
		write_model(b, d);
	if (roll(d, 3) == 0)
		buf_printf(b, "! %u\n", roll(d, MODELS));
	for (n = roll(d, 3); n > 0; n--)
		buf_printf(b, "? %s\n", ONE_OF(d, texts));
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct dice d = { seed, false };
	unsigned line = roll(&d, 24);
	struct buf b = { 0 };
	size_t at = 0;

	if (roll(&d, 4) == 0)
		return LLVMFuzzerMutate(data, size, max);
	if (roll(&d, 2)) {
		write_models(&b, &d);
		return mutate_done(&b, data, size, max);
	}
	while (at < size && line > 0)
		line -= data[at++] == '\n';
	buf_put(&b, data, at);
	if (roll(&d, 3) == 0)
		write_model(&b, &d);
	else if (roll(&d, 2))
		buf_printf(&b, "%s\n", ONE_OF(&d, texts));
	else
		buf_printf(&b, "+ %s\n", ONE_OF(&d, merges));
	buf_put(&b, data + at, size - at);
	return mutate_done(&b, data, size, max);
}
