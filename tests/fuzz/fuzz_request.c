/* fuzz_request: requests of apr-run --serve-stdin (cli/run/request.h).
 *
 *     1. A request is refused with a message that can be printed, or all that it asks for is within
 *        the limits of the options.
 *     2. What it asks for, written as a request again, asks for the same.
 *
 * The mutator writes whole objects whose members are right, or nearly.
 */
#include "mutate.h"

#include <string.h>

#include "cli/run/request.h"
#include "dice.h"

static const struct request line = { .sampler = SAMPLER_DEFAULT, .count = 128 };

static void
prove(const struct request *r)
{
	const struct sampler_options *s = &r->sampler;
	size_t i;

	must(!r->prompt != !r->tokens.n && r->count >= 1 && r->count <= UINT32_MAX);
	must(r->stop_count <= REQUEST_STOPS);
	for (i = 0; i < r->stop_count; i++)
		must(*r->stops[i]);
	must(s->temperature >= 0 && s->temperature <= 100 && s->top_p >= 0 && s->top_p <= 1);
	must(s->min_p >= 0 && s->min_p <= 1 && s->repeat_penalty >= 1 && s->repeat_penalty <= 100);
	must(s->top_k <= UINT32_MAX);
}

static void
prove_again(const struct request *r)
{
	struct request again = line;
	struct err e = ERR_INIT;
	struct buf b = { 0 };
	size_t i;

	must(json_write(r->root, &b) == 0);
	must_say(request_read(&again, b.p, b.n, &e) == 0, &e);
	must(again.count == r->count && again.stream == r->stream && again.tokens.n == r->tokens.n);
	must(memcmp(&again.sampler, &r->sampler, sizeof r->sampler) == 0);
	must(again.stop_count == r->stop_count && !again.prompt == !r->prompt && !again.name == !r->name);
	must(!r->prompt || strcmp(again.prompt, r->prompt) == 0);
	for (i = 0; i < r->tokens.n; i++)
		must(again.tokens.id[i] == r->tokens.id[i]);
	request_free(&again);
	buf_free(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct request r = line;
	struct err e = ERR_INIT;
	/* Exactly as many bytes as there are, so that reading beyond them is found. */
	uint8_t *text = malloc(size ? size : 1);

	must(text);
	memcpy(text, data, size);
	if (request_read(&r, text, size, &e) == 0) {
		prove(&r);
		prove_again(&r);
	} else {
		must_say(e.code == ERR_CORRUPT || e.code == ERR_USAGE || e.code == ERR_MEMORY, &e);
		fuzz_printable(e.object);
		fuzz_printable(e.fact);
	}
	request_free(&r);
	free(text);
	return 0;
}

/* ---- whole requests ---- */

static const char *const names[] = { "prompt", "tokens", "n", "stop", "stream", "temp", "top_k", "top_p",
	"min_p", "repeat_penalty", "seed", "request", "Prompt", "", "\\u0000", "\xff" };
static const char *const values[] = { "\"a\"", "\"\"", "\"\\ud83d\\ude00\"", "\"\\u0000\"", "0", "1", "-1",
	"0.5", "1.5", "1e2", "1e999", "4294967295", "4294967296", "18446744073709551616", "true",
	"false", "null", "{}", "\"18446744073709551615\"", "\"99999999999999999999\"" };

static void
put_value(struct buf *b, struct dice *d)
{
	unsigned n;

	if (roll(d, 3)) {
		buf_text(b, ONE_OF(d, values));
		return;
	}
	buf_text(b, "[");
	for (n = roll(d, roll(d, 20) ? 4 : 80); n > 0; n--)
		buf_printf(b, "%s%s", ONE_OF(d, values), n > 1 ? "," : "");
	buf_text(b, "]");
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct dice d = { seed, false };
	struct buf b = { 0 };
	unsigned n;

	if (seed % 2)
		return LLVMFuzzerMutate(data, size, max);
	buf_text(&b, roll(&d, 2) ? "{\"prompt\":\"a\"" : "{\"tokens\":[1]");
	for (n = roll(&d, 5); n > 0; n--) {
		buf_printf(&b, ",\"%s\":", ONE_OF(&d, names));
		put_value(&b, &d);
	}
	buf_text(&b, roll(&d, 10) ? "}" : "} x");
	return mutate_done(&b, data, size, max);
}
