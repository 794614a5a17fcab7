/* request: what requests of apr-run --serve-stdin ask for, and what is wrong with them. */
#include <string.h>

#include "cli/run/request.h"
#include "test.h"

static const char *const line_stops[] = { "END" };

static int
read_one(struct request *r, const char *text, struct err *e)
{
	*r = (struct request){ .stops = line_stops, .stop_count = 1, .sampler = SAMPLER_DEFAULT,
		.count = 128 };
	*e = (struct err)ERR_INIT;
	return request_read(r, text, strlen(text), e);
}

static void
test_members(void)
{
	struct request r;
	struct err e;

	test_ok(read_one(&r, "{\"prompt\":\"a\"}", &e) == 0 && strcmp(r.prompt, "a") == 0 && !r.name &&
	        r.count == 128 && r.stop_count == 1 && r.stops == line_stops && !r.stream &&
	        r.sampler.top_k == 40, "what is not there is what the command line says");
	request_free(&r);
	test_ok(read_one(&r, "{\"tokens\":[0,4294967295],\"n\":1,\"stop\":[\"x\",\"yz\"],\"stream\":true,"
	                 "\"temp\":0.5,\"top_k\":0,\"top_p\":1,\"min_p\":0,\"repeat_penalty\":1.5,"
	                 "\"seed\":\"18446744073709551615\",\"request\":[1]}", &e) == 0 &&
	        r.tokens.n == 2 && r.tokens.id[1] == UINT32_MAX && r.count == 1 && r.stop_count == 2 &&
	        strcmp(r.stops[1], "yz") == 0 && r.stream && r.sampler.temperature == 0.5 &&
	        r.sampler.top_k == 0 && r.sampler.top_p == 1 && r.sampler.min_p == 0 &&
	        r.sampler.repeat_penalty == 1.5 && r.sampler.seed == UINT64_MAX &&
	        json_is_array(r.name), "every member");
	request_free(&r);
	test_ok(read_one(&r, "{\"prompt\":\"\",\"stop\":[]}", &e) == 0 && r.stop_count == 0,
	        "an empty prompt, and no stop text");
	request_free(&r);
}

static void
test_faults(void)
{
	static const struct {
		const char *text;
		enum err_code code;
		const char *object;
	} rows[] = {
		{ "", ERR_CORRUPT, "the request" },
		{ "[]", ERR_CORRUPT, "the request" },
		{ "{} {}", ERR_CORRUPT, "the request" },
		{ "{\"n\":1,\"n\":2}", ERR_CORRUPT, "the request" },
		{ "{\"prompt\":\"\\u0000\"}", ERR_CORRUPT, "the request" },
		{ "{}", ERR_USAGE, "the request" },
		{ "{\"prompt\":\"a\",\"tokens\":[1]}", ERR_USAGE, "the request" },
		{ "{\"prompt\":1}", ERR_USAGE, "prompt" },
		{ "{\"tokens\":[]}", ERR_USAGE, "tokens" },
		{ "{\"tokens\":[-1]}", ERR_USAGE, "tokens" },
		{ "{\"tokens\":[1.5]}", ERR_USAGE, "tokens" },
		{ "{\"tokens\":[4294967296]}", ERR_USAGE, "tokens" },
		{ "{\"n\":0}", ERR_USAGE, "n" },
		{ "{\"n\":true}", ERR_USAGE, "n" },
		{ "{\"stop\":\"\"}", ERR_USAGE, "stop" },
		{ "{\"stop\":[\"a\",1]}", ERR_USAGE, "stop" },
		{ "{\"stream\":1}", ERR_USAGE, "stream" },
		{ "{\"temp\":-1}", ERR_USAGE, "temp" },
		{ "{\"temp\":\"1\"}", ERR_USAGE, "temp" },
		{ "{\"top_p\":1.1}", ERR_USAGE, "top_p" },
		{ "{\"repeat_penalty\":0.5}", ERR_USAGE, "repeat_penalty" },
		{ "{\"Prompt\":\"a\"}", ERR_USAGE, "Prompt" },
	};
	struct request r;
	struct err e;
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (!test_ok(read_one(&r, rows[i].text, &e) < 0 && e.code == rows[i].code &&
		             strcmp(e.object, rows[i].object) == 0, "refused: %s", rows[i].text))
			printf("# %d %s: %s\n", (int)e.code, e.object, e.fact);
		request_free(&r);
	}
}

static void
test_stops(void)
{
	struct buf b = { 0 };
	struct request r;
	struct err e;
	int n;

	for (n = REQUEST_STOPS; n <= REQUEST_STOPS + 1; n++) {
		int i;

		buf_clear(&b);
		buf_text(&b, "{\"prompt\":\"a\",\"stop\":[");
		for (i = 0; i < n; i++)
			buf_text(&b, i ? ",\"x\"" : "\"x\"");
		buf_text(&b, "]}");
		test_ok((read_one(&r, buf_string(&b), &e) == 0) == (n == REQUEST_STOPS), "%d stop texts",
		        n);
		request_free(&r);
	}
	buf_free(&b);
}

int
main(void)
{
	test_members();
	test_faults();
	test_stops();
	return test_done();
}
