/* generate: the draw of the next token against what it is said to be, and text that is
 * shown in whole characters and ends before a stop text.
 */
#include <math.h>
#include <string.h>

#include "generate/chance.h"
#include "generate/sampler.h"
#include "generate/text.h"

#include "test.h"

/* ---- chance: known answers of the published generators ---- */

static void
chance_tested(void)
{
	struct chance c = { { 1, 2, 3, 4 } };
	uint64_t state = 0;

	test_ok(chance_split(&state) == UINT64_C(0xe220a8397b1dcdaf) &&
	        chance_split(&state) == UINT64_C(0x6e789e6aa1b965f4) &&
	        chance_split(&state) == UINT64_C(0x06c45d188009454f), "splitmix64");
	test_ok(chance_next(&c) == 41943041 && chance_next(&c) == 58720359 &&
	        chance_next(&c) == UINT64_C(3588806011781223) &&
	        chance_next(&c) == UINT64_C(3591011842654386), "xoshiro256++");
}

/* ---- sampler ---- */

enum { N = 50 };

static void
fill(float *logits)
{
	int i;

	for (i = 0; i < N; i++)
		logits[i] = (float)(i * 7 % N) / 10; /* all different, to 4.9 */
}

/* Which tokens come in many draws, and how often. */
static void
draw(const struct sampler_options *o, const float *logits, const uint32_t *last, size_t count,
     int *often)
{
	struct err e = ERR_INIT;
	struct sampler s;
	int i;

	memset(often, 0, N * sizeof *often);
	if (sampler_open(&s, o, N, &e) == 0)
		for (i = 0; i < 20000; i++)
			often[sampler_next(&s, logits, last, count)]++;
	sampler_free(&s);
}

static int
kinds(const int *often)
{
	int i, n = 0;

	for (i = 0; i < N; i++)
		n += often[i] > 0;
	return n;
}

/* Returns the m-th most probable token. */
static int
rank(const float *logits, int m)
{
	int i, k, before;

	for (i = 0; i < N; i++) {
		for (k = 0, before = 0; k < N; k++)
			before += logits[k] > logits[i];
		if (before == m)
			return i;
	}
	return -1;
}

static void
sampler_tested(void)
{
	struct sampler_options o = { 1, 1, 0, 1, 0, 7 };
	uint32_t last[SAMPLER_LAST + 1];
	double sum = 0, p, worst = 0;
	float logits[N], tied[N] = { 0 };
	int often[N], again[N], i, bad;

	fill(logits);
	draw(&o, logits, NULL, 0, often);
	for (i = 0; i < N; i++)
		sum += exp((double)logits[i]);
	for (i = 0; i < N; i++) {
		p = exp((double)logits[i]) / sum;
		p = fabs(often[i] - 20000 * p) / sqrt(20000 * p * (1 - p));
		worst = p > worst ? p : worst;
	}
	test_ok(worst < 4, "tokens come as often as is probable: at most %.1f deviations",
	        worst);
	draw(&o, logits, NULL, 0, again);
	test_ok(!memcmp(often, again, sizeof often), "a seed always gives the same");
	o.seed = 8;
	draw(&o, logits, NULL, 0, again);
	test_ok(memcmp(often, again, sizeof often) != 0, "another gives another");

	o.temperature = 2;
	draw(&o, logits, NULL, 0, often);
	p = (double)often[rank(logits, 0)] / often[rank(logits, 20)];
	test_ok(fabs(p - exp(1)) < 0.5, "temperature 2 halves differences of logits: %.2f", p);

	o = (struct sampler_options){ 1, 1, 0, 1, 5, 7 };
	draw(&o, logits, NULL, 0, often);
	for (i = 0, bad = 0; i < 5; i++)
		bad += often[rank(logits, i)] == 0;
	test_ok(kinds(often) == 5 && !bad, "top-k 5: the five most probable");
	o.top_k = N + 3;
	draw(&o, logits, NULL, 0, often);
	test_ok(kinds(often) > 40, "top-k beyond the vocabulary: all");
	o.top_k = 3;
	draw(&o, tied, NULL, 0, often);
	test_ok(often[0] && often[1] && often[2], "of equals the first");

	/* The first has 9.5 % of the probability, two have 18 %, three 26 %. */
	o = (struct sampler_options){ 1, 0.2, 0, 1, 0, 7 };
	draw(&o, logits, NULL, 0, often);
	test_ok(kinds(often) == 3, "top-p: the fewest that have as much");
	o.top_p = 0;
	draw(&o, logits, NULL, 0, often);
	test_ok(kinds(often) == 1 && often[rank(logits, 0)], "but one at least");
	o = (struct sampler_options){ 1, 1, 0.8, 1, 0, 7 };
	draw(&o, logits, NULL, 0, often); /* exp(-0.2) is 0.82, exp(-0.3) 0.74 */
	test_ok(kinds(often) == 3, "min-p: a part of the most probable");

	o = (struct sampler_options)SAMPLER_DEFAULT;
	draw(&o, logits, NULL, 0, often);
	test_ok(often[rank(logits, 0)] == 20000, "no temperature: the most probable");
	draw(&o, tied, NULL, 0, often);
	test_ok(often[0] == 20000, "the first of equals");
	o.repeat_penalty = 1.5;
	for (i = 0; i <= SAMPLER_LAST; i++)
		last[i] = (uint32_t)rank(logits, 1);
	last[1] = (uint32_t)rank(logits, 0);
	draw(&o, logits, last, SAMPLER_LAST + 1, often);
	test_ok(often[rank(logits, 2)] == 20000, "a token that was among the last is less "
	        "probable");
	last[0] = last[1];
	last[1] = last[2];
	draw(&o, logits, last, SAMPLER_LAST + 1, often);
	test_ok(often[rank(logits, 0)] == 20000, "one before them is not");
	for (i = 0; i < N; i++)
		logits[i] -= 10;
	draw(&o, logits, last, SAMPLER_LAST, often);
	test_ok(often[rank(logits, 2)] == 20000, "nor where logits are below zero");
	for (i = 0, sum = 0; i < N; i++)
		sum += exp(sampler_logprob(logits, N, (uint32_t)i));
	test_ok(fabs(sum - 1) < 1e-12, "probabilities sum to one");
}

/* ---- text ---- */

static const char *const stops[] = { "\n\nUser", "END" };

/* The parts, "|" before what each of them shows, "!" where it stopped; in brackets, how many
 * parts had to come until it was known, if more than that one. */
static void
shows(const char *parts, const char *want, const char *what)
{
	struct text t = { .stops = stops, .stop_count = 2 };
	struct buf shown = { 0 };
	uint64_t ends[32], bytes = 0;
	size_t n = 0, told = 0;
	const char *p, *end;

	for (p = parts; *p || !t.ended; p = *p && *end ? end + 1 : p + strlen(p)) {
		end = p + strcspn(p, "|");
		if (*p) {
			text_add(&t, p, (size_t)(end - p));
			ends[n++] = bytes += (uint64_t)(end - p);
		} else {
			text_end(&t);
		}
		for (; told < n && text_take(&t, ends[told], &shown); told++) {
			if (n - told > 1)
				buf_printf(&shown, "(%zu)", n - told);
			buf_text(&shown, "|");
		}
	}
	if (t.stopped)
		buf_text(&shown, "!");
	test_ok(told == n && !strcmp(buf_string(&shown), want), "%s", what);
	if (strcmp(buf_string(&shown), want))
		printf("# %s\n", buf_string(&shown));
	buf_free(&shown);
	text_free(&t);
}

static void
text_tested(void)
{
	shows("a|b c|", "a|b c|", "text is shown at once");
	shows("gr\xc3|\xbc\xc3|\x9f|e|", "gr(2)|\xc3\xbc(2)|\xc3\x9f|e|",
	      "a character belongs to the part that ends it");
	shows("\xf0\x9f|\x98|\x80.|", "(3)|(2)|\xf0\x9f\x98\x80.|", "also of four bytes");
	shows("a\x80" "b|", "a\xef\xbf\xbd" "b|", "a byte that begins nothing is replaced");
	shows("\xf0\x9f|x|", "\xef\xbf\xbd(2)|x|", "so is a character that is not ended");
	shows("\xe0\x80|\xed\xa0\x80|\xff|",
	      "\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd|",
	      "overlong forms and surrogates are none");
	shows("ab\xe2\x82|", "ab|", "at the end half a character is not shown");
	shows("ab\xe2|\x82|", "ab(2)||", "nor is one of two parts");
	shows("the EN|D of|", "the (2)||!", "a stop text ends it and is not shown");
	shows("the EN|GINE|", "the EN(2)|GINE|", "what only begins like one is");
	shows("EN|", "EN|", "also at the end");
	shows("a\n|\n|U|se|d\n\nUser|x|", "a\n(5)|\n(4)|U(3)|se(2)|d||!",
	      "over many parts, and late");
	shows("EEND|", "E|!", "where it begins twice");
	shows("\xc3" "END|", "\xef\xbf\xbd|!", "half a character before it");
}

int
main(void)
{
	chance_tested();
	sampler_tested();
	text_tested();
	return test_done();
}
