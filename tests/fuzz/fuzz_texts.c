/* fuzz_texts: files that a model learns from, as text and as JSON lines.
 *
 *     1. Any bytes are read to their end, or refused with a message that a terminal can show, and that
 *        names a line if it is of JSON lines.
 *     2. Each id is that of a token. There are at most as many as bytes and documents.
 *     3. Parts of any length lie inside the tokens, and an epoch has each of them once.
 */
#include "fuzz.h"

#include "distill/order.h"
#include "distill/texts.h"

static const char json[] = "{\"version\":\"1.0\",\"added_tokens\":[{\"id\":1,\"content\":\"</s>\","
	"\"special\":true}],\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"vocab\":{\"<unk>\":0,"
	"\"</s>\":1,\"a\":2,\"b\":3,\"ab\":4,\" \":5},\"merges\":[\"a b\"]}}";
static const char config[] = "{\"eos_token\":\"</s>\"}";

/* Each part of the first two epochs: those of one are all different. */
static void
check_order(const struct texts *t, size_t length)
{
	struct err e = ERR_INIT;
	struct order o;
	uint32_t tokens[8], targets[8];
	uint64_t i, k;

	if (order_begin(&o, t->tokens.id, t->tokens.n, length, TOKEN_NONE, length, "in", &e) == 0)
		for (i = 0; i < 2 * o.parts; i++) {
			order_batch(&o, i, 1, tokens, targets);
			must(memcmp(tokens + 1, targets, (length - 1) * sizeof *tokens) == 0);
			for (k = i - i % o.parts; k < i; k++)
				must(o.at[k % o.parts] != o.at[i % o.parts]);
		}
	else
		must_say(e.code == ERR_INVALID && t->tokens.n <= length, &e);
	order_end(&o);
}

static void
read_as(struct tokenizer *k, bool lines, const uint8_t *data, size_t size)
{
	struct texts t = { 0 };
	struct err e = ERR_INIT;
	size_t i;

	if (texts_read(&t, k, lines, data, size, "in", &e) < 0) {
		fuzz_refused(&e, true);
		must_say(!lines || e.code != ERR_CORRUPT || strstr(e.fact, "line ") ||
		         strstr(e.fact, "UTF-8"), &e);
	} else {
		must(t.tokens.n > 0 && t.tokens.n <= size + t.documents);
		must(lines || t.documents == 1);
		for (i = 0; i < t.tokens.n; i++)
			must(t.tokens.id[i] < tokenizer_count(k));
		if (t.tokens.n < 2000)
			for (i = 1; i <= 8; i += 3)
				check_order(&t, i);
	}
	texts_free(&t);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct tokenizer *k;
	struct err e = ERR_INIT;

	if (!k)
		k = tokenizer_open_json(json, sizeof json - 1, config, sizeof config - 1, "words", NULL, &e);
	must_say(k != NULL, &e);
	read_as(k, false, data, size);
	read_as(k, true, data, size);
	return 0;
}
