/* Vocabularies and mel filters as apr-header prints them. */
#include <string.h>

#include "report/filters.h"
#include "report/vocab_text.h"
#include "test.h"
#include "tokenizer/tokenizer.h"

/* The text of a vocabulary from a tokenizer.json or a SentencePiece file, or the message. */
static const char *
listed(const char *json, bool as_json, struct buf *b)
{
	const struct tokenizer_options list = { .list = true };
	struct err e = ERR_INIT;
	struct tokenizer *t = tokenizer_open_json(json, strlen(json), NULL, 0, "in", &list, &e);
	uint32_t i;

	buf_clear(b);
	for (i = 0; t && i < tokenizer_count(t); i++)
		vocab_put(b, t, i, as_json, NULL);
	if (!t)
		buf_text(b, e.fact);
	tokenizer_free(t);
	return buf_string(b);
}

static void
vocabularies(void)
{
	static const struct { const char *about, *json, *want; } cases[] = {
		{ "a kind that is not supported", "{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":1,\"b\":0}}}",
		  "0\tnormal\t-\tb\n1\tnormal\t-\ta\n" },
		{ "merges and steps are not read", "{\"normalizer\":{\"type\":\"Strange\"},\"model\":{\"type\":\"BPE\","
		  "\"vocab\":{\"a\":0},\"merges\":[\"x y\"]}}", "0\tnormal\t-\ta\n" },
		{ "a hole between ids", "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"c\":2}}}",
		  "0\tnormal\t-\ta\n1\tunused\t-\t\n2\tnormal\t-\tc\n" },
		{ "words as the file spells them", "{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"##a\":0,\"b\":1}}}",
		  "0\tnormal\t-\t##a\n1\tnormal\t-\tb\n" },
		{ "bytes, and tokens that were added", "{\"model\":{\"type\":\"BPE\",\"byte_fallback\":true,\"vocab\":"
		  "{\"<0x0A>\":0}},\"added_tokens\":[{\"id\":1,\"content\":\"x\\ty\"},{\"id\":2,"
		  "\"content\":\"</s>\",\"special\":true}]}",
		  "0\tbyte\t-\t<0x0A>\n1\tuser\t-\tx\\x09y\n2\tcontrol\t-\t</s>\n" },
		{ "a vocab.json", "{\"b\":1,\"a\":0}", "0\tnormal\t-\ta\n1\tnormal\t-\tb\n" },
		{ "an id far beyond the number of tokens", "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":4000000000}}}",
		  "token id 4000000000 is far beyond the number of tokens" },
		{ "two tokens with one id", "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":0}}}",
		  "two tokens have the id 0" },
		{ "no vocabulary", "{\"model\":{\"type\":\"BPE\"}}", "has no vocabulary" },
		{ "not a tokenizer", "{\"x\":\"y\"}", "is not a tokenizer: it has no model" },
	};
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < sizeof cases / sizeof *cases; i++)
		test_ok(strcmp(listed(cases[i].json, false, &b), cases[i].want) == 0,
		        "vocabulary: %s", cases[i].about);
	test_ok(strcmp(listed("{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1e300]]}}", true, &b),
	               "{\"id\":0,\"type\":\"normal\",\"score\":null,\"text\":\"a\"}\n") == 0,
	        "vocabulary: a score beyond single precision");
	test_ok(strcmp(listed("{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\\\"b\",-0.1]]}}", true, &b),
	               "{\"id\":0,\"type\":\"normal\",\"score\":-0.100000001,\"text\":\"a\\\"b\"}\n") == 0,
	        "vocabulary: JSON");
	buf_free(&b);
}

/* A long token is printed whole. */
static void
long_token(void)
{
	enum { LONG = 100000 };
	struct buf json = { 0 }, b = { 0 };
	size_t i;

	buf_text(&json, "{\"");
	for (i = 0; i < LONG; i++)
		buf_text(&json, "\\u0001");
	buf_text(&json, "\":0}");
	listed(buf_string(&json), false, &b);
	test_ok(b.n == strlen("0\tnormal\t-\t\n") + 4 * LONG, "vocabulary: a token of %d bytes", LONG);
	buf_free(&json);
	buf_free(&b);
}

/* The lines of bands with these values. */
static void
plots(void)
{
	static double bank[3 * 100] = { [99] = 1, [100] = 0.5, [101] = -2, [150] = 1e-9 };
	struct filters f = { .from = "tensor x", .bands = 3, .bins = 100, .value = bank };
	struct buf b = { 0 };
	const char *text;
	size_t i;

	for (i = 0; i < 3; i++)
		filters_put(&b, &f, i, false, NULL);
	text = buf_string(&b);
	test_ok(strstr(text, "   0    99    99            1 |") == text, "filters: the last bin");
	test_ok(strstr(text, "@|\n") != NULL, "filters: the plot ends with the last bin");
	test_ok(strstr(text, "   1     0    50            2 |-@") != NULL,
	        "filters: the largest magnitude, also of a negative value");
	test_ok(strstr(text, "   2     -     -            0 |") != NULL, "filters: a band of zeros");
	buf_clear(&b);
	f.bins = 3;
	f.bands = 1;
	filters_put(&b, &f, 0, true, "m");
	test_ok(strcmp(buf_string(&b), "{\"band\":0,\"first\":null,\"last\":null,\"values\":"
	               "[0.0,0.0,0.0],\"model\":\"m\"}\n") == 0, "filters: JSON");
	buf_free(&b);
}

int
main(void)
{
	vocabularies();
	long_token();
	plots();
	return test_done();
}
