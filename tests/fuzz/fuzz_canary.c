/* fuzz_canary: canaries and files of prompts, which come from others.
 *
 *     1. A canary is read or refused; written again it is read again, with the same bytes.
 *     2. Whatever is read is within its limits: tokens below the vocabulary, a row for each token,
 *        probabilities that do not rise.
 *     3. The same bytes are a file of prompts or refused, with a message that can be printed.
 *
 * The mutator writes whole canaries with a member that is odd, and files of prompts.
 */
#include "mutate.h"
#include "dice.h"

#include "quality/canary.h"
#include "quality/prompts.h"

static void
refused(const struct err *e)
{
	must_say(e->code == ERR_CORRUPT || e->code == ERR_FORMAT || e->code == ERR_VERSION ||
	         e->code == ERR_MEMORY, e);
	fuzz_printable(e->object);
	fuzz_printable(e->fact);
}

static void
within(const struct canary *c)
{
	size_t i, k;

	must(c->top >= 1 && c->top <= CANARY_TOP_MOST && c->top <= c->vocabulary && c->n > 0);
	for (i = 0; i < c->n; i++) {
		const struct canary_prompt *p = &c->prompts[i];

		must(p->prompt > 0 && p->prompt <= p->ids.n && p->ids.n <= CANARY_POSITIONS);
		for (k = 0; k < p->ids.n; k++)
			must(p->ids.id[k] < c->vocabulary);
		for (k = 0; k < p->ids.n * c->top; k++) {
			must(p->top[k] < c->vocabulary && p->p[k] >= 0 && p->p[k] <= 1);
			must(k % c->top == 0 || p->p[k] <= p->p[k - 1]);
		}
	}
}

static void
canary(const uint8_t *data, size_t size)
{
	struct buf once = { 0 }, twice = { 0 };
	struct err e = ERR_INIT;
	struct canary c, again;

	if (canary_parse(&c, data, size, "in", &e) < 0) {
		refused(&e);
	} else {
		within(&c);
		canary_write(&c, &once);
		must(buf_ok(&once));
		must_say(canary_parse(&again, once.p, once.n, "again", &e) == 0, &e);
		canary_write(&again, &twice);
		must(once.n == twice.n && memcmp(once.p, twice.p, once.n) == 0);
		canary_free(&again);
	}
	canary_free(&c);
	buf_free(&once);
	buf_free(&twice);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct prompts prompts = { 0 };
	struct err e = ERR_INIT;
	size_t i;

	canary(data, size);
	if (prompts_parse(&prompts, data, size, "in", &e) < 0)
		refused(&e);
	else
		for (i = 0; i < prompts.n; i++)
			must(prompts.item[i].text || prompts.item[i].ids.n > 0);
	prompts_free(&prompts);
	return 0;
}

/* ---- mutator ---- */

static const char *const odd[] = { "-1", "0", "65", "1e999", "4294967295", "18446744073709551616",
	"\"x\"", "null", "[]", "{}", "[[]]", "1.5", "true", "\"\\u0000\"", "\"\\u202e\\u001b[1m\"",
	"[0,0.5,0,0.5]", "[1,0.1,2,0.9]", "[99,1]", "0.99999999999" };

/* A value, or now and then an odd one. */
static void
put(struct buf *b, struct dice *d, const char *value)
{
	buf_text(b, d->odd && roll(d, 40) == 0 ? ONE_OF(d, odd) : value);
}

static void
put_list(struct buf *b, struct dice *d, const char *name, unsigned n, unsigned vocabulary)
{
	char text[32];
	unsigned i;

	buf_printf(b, "\"%s\":[", name);
	for (i = 0; i < n; i++) {
		snprintf(text, sizeof text, "%u", roll(d, vocabulary));
		buf_text(b, i ? "," : "");
		put(b, d, text);
	}
	buf_text(b, "],");
}

static void
put_rows(struct buf *b, struct dice *d, unsigned n, unsigned top)
{
	char text[32];
	unsigned i, k;
	double p;

	buf_text(b, "\"top\":[");
	for (i = 0; i < n; i++) {
		buf_text(b, i ? ",[" : "[");
		for (k = 0, p = 0.5; k < top; k++, p /= 2 + roll(d, 3)) {
			snprintf(text, sizeof text, "%s%u,%.9g", k ? "," : "", k, p);
			put(b, d, text);
		}
		buf_text(b, "]");
	}
	buf_text(b, "]");
}

static void
put_prompt(struct buf *b, struct dice *d, unsigned vocabulary, unsigned top)
{
	static const char *const texts[] = { "\"\"", "\"ROMEO:\"", "\"\\n\\t\xc3\xbc\"", "\"a b\"" };
	const unsigned prompt = 1 + roll(d, 4), made = roll(d, 4);

	buf_text(b, "{");
	if (roll(d, 4)) {
		buf_text(b, "\"prompt\":");
		put(b, d, ONE_OF(d, texts));
		buf_text(b, ",");
	}
	put_list(b, d, "tokens", prompt, vocabulary);
	put_list(b, d, "ids", made, vocabulary);
	buf_text(b, "\"text\":");
	put(b, d, ONE_OF(d, texts));
	buf_text(b, ",\"ended\":");
	put(b, d, roll(d, 2) ? "true" : "false");
	buf_text(b, ",\"logits\":");
	put(b, d, "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"");
	buf_text(b, ",");
	put_rows(b, d, prompt + made, top);
	buf_text(b, "}");
}

static void
put_canary(struct buf *b, struct dice *d)
{
	const unsigned top = 1 + roll(d, 5), vocabulary = top + roll(d, 30), n = 1 + roll(d, 3);
	char text[32];
	unsigned i;

	buf_text(b, "{\"apr_canary\":");
	put(b, d, "1");
	buf_text(b, ",\"kind\":");
	put(b, d, roll(d, 30) ? "\"text\"" : "\"audio\"");
	buf_text(b, ",\"conditions\":{\"made_by\":\"x\",\"root\":");
	put(b, d, "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"");
	buf_text(b, ",\"architecture\":");
	put(b, d, "\"llama\"");
	snprintf(text, sizeof text, "%u", vocabulary);
	buf_text(b, ",\"vocabulary\":");
	put(b, d, text);
	snprintf(text, sizeof text, "%u", top);
	buf_text(b, ",\"seed\":0,\"count\":4,\"top\":");
	put(b, d, text);
	buf_text(b, "},\"prompts\":[");
	for (i = 0; i < n; i++) {
		buf_text(b, i ? "," : "");
		put_prompt(b, d, vocabulary, top);
	}
	buf_text(b, "]}");
}

static void
put_prompts(struct buf *b, struct dice *d)
{
	static const char *const lines[] = { "{\"prompt\":\"a\"}\n", "{\"tokens\":[1,2]}\r\n", "\n",
		"{\"prompt\":\"a\",\"tokens\":[1]}\n", "{\"kind\":\"audio\",\"prompt\":\"a\"}\n",
		"{\"kind\":\"text\",\"prompt\":\"\\u00fc\"}\n", "text\n", "\xff\n",
		"{\"tokens\":[-1]}\n", "{\"tokens\":[]}" };
	unsigned n = 1 + roll(d, 5);

	while (n-- > 0)
		buf_text(b, ONE_OF(d, lines));
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct dice d = { .state = seed, .odd = seed & 8 };
	struct buf b = { 0 };

	if ((seed & 3) == 0)
		return LLVMFuzzerMutate(data, size, max);
	roll(&d, 2);
	if ((seed & 3) == 1)
		put_prompts(&b, &d);
	else
		put_canary(&b, &d);
	return mutate_done(&b, data, size, max);
}
