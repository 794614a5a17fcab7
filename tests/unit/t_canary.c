/* canary: files that are sound and wrong, and files of prompts. What a model says to them is in
 * tools/apr-canary.bats.
 */
#include <string.h>

#include "core/text.h"
#include "quality/canary.h"
#include "quality/canary_run.h"
#include "quality/prompts.h"

#include "test.h"

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEAD "{\"apr_canary\":1,\"kind\":\"text\",\"conditions\":{\"vocabulary\":9,\"count\":4," \
	"\"top\":2},"
#define ROW "[3,0.5,4,0.25]"
#define ONE "{\"prompt\":\"x\",\"tokens\":[1,2],\"ids\":[8],\"text\":\"y\",\"logits\":\"" SHA \
	"\",\"top\":[" ROW "," ROW ",[8,1,0,0]]}"

static const struct wrong {
	const char *text;
	enum err_code code;
	const char *fact;
} canaries[] = {
	{ "", ERR_CORRUPT, "" },
	{ "[]", ERR_CORRUPT, "" },
	{ "{}", ERR_FORMAT, "is not a canary" },
	{ "{\"apr_canary\":\"x\"}", ERR_FORMAT, "is not a canary" },
	{ "{\"apr_canary\":2,\"kind\":\"text\"}", ERR_VERSION, "version 2; only version 1" },
	{ "{\"apr_canary\":1}", ERR_CORRUPT, "\"kind\" is missing" },
	{ "{\"apr_canary\":1,\"kind\":\"audio\"}", ERR_FORMAT, "kind \"audio\"; only \"text\"" },
	{ "{\"apr_canary\":1,\"kind\":\"text\"}", ERR_CORRUPT, "\"conditions\" is missing" },
	{ "{\"apr_canary\":1,\"kind\":\"text\",\"conditions\":{}}", ERR_CORRUPT,
	  "\"vocabulary\" is missing" },
	{ "{\"apr_canary\":1,\"kind\":\"text\",\"conditions\":{\"vocabulary\":9,\"count\":4,"
	  "\"top\":65}}", ERR_CORRUPT, "\"top\" is 65, not in 1 to 9" },
	{ "{\"apr_canary\":1,\"kind\":\"text\",\"conditions\":{\"vocabulary\":9,\"count\":4,"
	  "\"top\":2,\"root\":\"0\"}}", ERR_CORRUPT, "\"root\" is not a SHA-256" },
	{ "{\"apr_canary\":1,\"kind\":\"text\",\"conditions\":{\"architecture\":4}}", ERR_CORRUPT,
	  "\"architecture\" is not text" },
	{ HEAD "\"prompts\":[]}", ERR_CORRUPT, "\"prompts\" is missing or empty" },
	{ HEAD "\"prompts\":[7]}", ERR_CORRUPT, "prompt 1 is not an object" },
	{ HEAD "\"prompts\":[{\"tokens\":[]}]}", ERR_CORRUPT, "prompt 1: \"tokens\" is empty" },
	{ HEAD "\"prompts\":[{\"tokens\":[9]}]}", ERR_CORRUPT, "\"tokens\" has an item that is not" },
	{ HEAD "\"prompts\":[{\"tokens\":[-1]}]}", ERR_CORRUPT, "item that is not a token" },
	{ HEAD "\"prompts\":[{\"tokens\":[1.5]}]}", ERR_CORRUPT, "item that is not a token" },
	{ HEAD "\"prompts\":[{\"tokens\":[1]}]}", ERR_CORRUPT, "\"ids\" is missing" },
	{ HEAD "\"prompts\":[{\"tokens\":[1],\"ids\":[],\"logits\":\"G\"}]}", ERR_CORRUPT,
	  "\"logits\" is not a SHA-256" },
	{ HEAD "\"prompts\":[{\"tokens\":[1],\"ids\":[],\"top\":[]}]}", ERR_CORRUPT,
	  "\"top\" is missing or does not have a row" },
	{ HEAD "\"prompts\":[{\"tokens\":[1],\"ids\":[],\"top\":[[1,0.5]]}]}", ERR_CORRUPT,
	  "another number of tokens" },
	{ HEAD "\"prompts\":[{\"tokens\":[1],\"ids\":[],\"top\":[[1,0.5,9,0.1]]}]}", ERR_CORRUPT,
	  "\"top\" has an item that is not a token" },
	{ HEAD "\"prompts\":[{\"tokens\":[1],\"ids\":[],\"top\":[[1,1.5,2,0.1]]}]}", ERR_CORRUPT,
	  "not a probability" },
	{ HEAD "\"prompts\":[{\"tokens\":[1],\"ids\":[],\"top\":[[1,\"a\",2,0.1]]}]}", ERR_CORRUPT,
	  "not a probability" },
	{ HEAD "\"prompts\":[{\"tokens\":[1],\"ids\":[],\"top\":[[1,0.5,1,0.1]]}]}", ERR_CORRUPT,
	  "a token twice" },
	{ HEAD "\"prompts\":[{\"tokens\":[1],\"ids\":[],\"top\":[[1,0.5,2,0.6]]}]}", ERR_CORRUPT,
	  "probabilities that rise" },
	{ HEAD "\"prompts\":[{\"tokens\":[1],\"ids\":[],\"top\":[[1,0.9,2,0.8]]}]}", ERR_CORRUPT,
	  "above 1 together" },
	{ HEAD "\"prompts\":[" ONE ",{\"tokens\":7}]}", ERR_CORRUPT, "prompt 2: \"tokens\"" },
	{ HEAD "\"prompts\":[" ONE "]} x", ERR_CORRUPT, "" },
}, lines[] = {
	{ "", ERR_CORRUPT, "has no prompts" },
	{ "\n\r\n\n", ERR_CORRUPT, "has no prompts" },
	{ "a\n\xff\n", ERR_CORRUPT, "prompt 2 is not UTF-8" },
	{ "{}", ERR_CORRUPT, "line 1: the object must have" },
	{ "{\"prompt\":\"a\"}\n{\"prompt\":7}\n", ERR_CORRUPT, "line 2: the object must have" },
	{ "{\"prompt\":\"a\",\"tokens\":[1]}", ERR_CORRUPT, "line 1: the object must have" },
	{ "{\"prompt\":\"a\",\"kind\":\"audio\"}", ERR_FORMAT, "line 1: its kind is not \"text\"" },
	{ "{\"tokens\":[]}", ERR_CORRUPT, "\"tokens\" is empty" },
	{ "{\"tokens\":[\"x\"]}", ERR_CORRUPT, "not a token" },
	{ "{\"prompt\":\"a\"}\nplain\n", ERR_CORRUPT, "" },
};

static void
wrong_tested(void)
{
	size_t i;

	for (i = 0; i < sizeof canaries / sizeof *canaries; i++) {
		const struct wrong *w = &canaries[i];
		struct err e = ERR_INIT;
		struct canary c;
		int done = canary_parse(&c, w->text, strlen(w->text), "in", &e);

		test_ok(done < 0 && e.code == w->code && strstr(e.fact, w->fact) &&
		        strcmp(e.object, "in") == 0, "refused: %s", e.fact);
		canary_free(&c);
	}
	for (i = 0; i < sizeof lines / sizeof *lines; i++) {
		const struct wrong *w = &lines[i];
		struct prompts p = { 0 };
		struct err e = ERR_INIT;
		int done = prompts_parse(&p, w->text, strlen(w->text), "in", &e);

		test_ok(done < 0 && e.code == w->code && strstr(e.fact, w->fact) &&
		        strcmp(e.object, "in") == 0, "prompts refused: %s", e.fact);
		prompts_free(&p);
	}
}

static void
sound_tested(void)
{
	static const char text[] = HEAD "\"prompts\":[" ONE "],\"later\":[1]}";
	struct buf b = { 0 }, again = { 0 };
	struct err e = ERR_INIT;
	struct canary c, d;

	if (!test_ok(canary_parse(&c, text, strlen(text), "in", &e) == 0, "a sound canary%s", e.fact))
		return;
	test_ok(c.n == 1 && c.vocabulary == 9 && c.top == 2 && c.prompts[0].prompt == 2 &&
	        c.prompts[0].ids.n == 3 && c.prompts[0].ids.id[2] == 8 &&
	        strcmp(c.prompts[0].made, "y") == 0, "its members");
	canary_write(&c, &b);
	test_ok(canary_parse(&d, b.p, b.n, "again", &e) == 0, "written, it is read again%s", e.fact);
	canary_write(&d, &again);
	test_ok(b.n == again.n && memcmp(b.p, again.p, b.n) == 0, "with the same bytes");
	canary_free(&c);
	canary_free(&d);
	buf_free(&b);
	buf_free(&again);
}

static void
prompts_tested(void)
{
	static const char plain[] = "one\r\n\n two \n{three}", json[] =
		"{\"prompt\":\"a\\nb\",\"id\":7}\n\n{\"tokens\":[5,6]}\n";
	struct prompts p = { 0 };
	struct err e = ERR_INIT;

	test_ok(prompts_parse(&p, plain, strlen(plain), "in", &e) == 0 && p.n == 3 &&
	        strcmp(p.item[0].text, "one") == 0 && strcmp(p.item[1].text, " two ") == 0 &&
	        strcmp(p.item[2].text, "{three}") == 0, "lines are prompts as they stand%s", e.fact);
	prompts_free(&p);
	test_ok(prompts_parse(&p, json, strlen(json), "in", &e) == 0 && p.n == 2 &&
	        strcmp(p.item[0].text, "a\nb") == 0 && !p.item[1].text && p.item[1].ids.n == 2 &&
	        p.item[1].line == 3, "JSON lines%s", e.fact);
	prompts_free(&p);
}

/* Each limit by itself. */
static void
verdict_tested(void)
{
	const struct canary_limits limits = { 0.75, 0.1 };
	struct canary_result r = { .positions = 4, .same_top = 3, .kl = 0.4 };

	test_ok(canary_breaches(&r, &limits) == 0, "at the limits a prompt passes");
	r.same_top = 2;
	test_ok(canary_breaches(&r, &limits) == CANARY_LOW_TOP1, "fewer most probable tokens fail");
	r.same_top = 4;
	r.kl = 0.5;
	test_ok(canary_breaches(&r, &limits) == CANARY_HIGH_KL, "more divergence fails");
	r.kl = 0;
	r.other_tokens = true;
	test_ok(canary_breaches(&r, &limits) == CANARY_OTHER_TOKENS, "other tokens fail");
}

int
main(void)
{
	wrong_tested();
	sound_tested();
	prompts_tested();
	verdict_tested();
	return test_done();
}
