#include "report/run_text.h"

#include <inttypes.h>
#include <string.h>

#include "core/json.h"
#include "core/text.h"
#include "report/lines.h"

static int
put(const struct run_text *r, struct buf *b, struct err *e)
{
	int done = buf_ok(b) ? out_put(r->out, b->p, b->n) : err_memory(e);

	buf_free(b);
	return done;
}

int
run_text_token(void *ctx, const struct generated *g, struct err *e)
{
	const struct run_text *r = ctx;
	struct buf b = { 0 };

	if (!r->json && r->terminal) {
		text_show(&b, g->text, g->n);
	} else if (!r->json) {
		buf_put(&b, g->text, g->n);
	} else {
		buf_printf(&b, "{\"id\":%" PRIu32, g->id);
		if (r->text) {
			buf_text(&b, ",\"text\":");
			json_show_text(&b, g->text ? g->text : "", g->n);
		}
		buf_printf(&b, ",\"logprob\":%.9g}\n", g->logprob);
	}
	return put(r, &b, e) < 0 ? -1 : out_flush(r->out);
}

int
run_text_logits(void *ctx, size_t position, const float *logits, struct err *e)
{
	const struct run_text *r = ctx;
	struct buf b = { 0 };
	uint32_t bits;
	size_t i;

	if (!r->json) {
		for (i = 0; i < r->vocabulary; i++) {
			memcpy(&bits, &logits[i], sizeof bits);
			buf_u32(&b, bits);
		}
		return put(r, &b, e);
	}
	buf_printf(&b, "{\"position\":%zu,\"token\":%" PRIu32 ",\"logits\":[", position,
	           r->tokens[position]);
	for (i = 0; i < r->vocabulary; i++)
		buf_printf(&b, "%s%.9g", i ? "," : "", (double)logits[i]);
	buf_text(&b, "]}\n");
	return put(r, &b, e);
}

int
run_text_perplexity(const struct run_text *r, const struct perplexity *p, size_t context,
                    struct err *e)
{
	struct buf b = { 0 };

	if (r->json)
		buf_printf(&b, "{\"perplexity\":%.9g,\"error\":%.9g,\"tokens\":%" PRIu64
		           ",\"context\":%zu,\"parts\":%" PRIu64 ",\"counted\":%" PRIu64 "}\n",
		           p->value, p->error, p->tokens, context, p->parts, p->counted);
	else
		buf_printf(&b, "perplexity %.4f +/- %.5f (%" PRIu64 " parts of %zu tokens)\n",
		           p->value, p->error, p->parts, context);
	return put(r, &b, e);
}

static double
rate(uint64_t tokens, double seconds)
{
	return seconds > 0 ? (double)tokens / seconds : 0;
}

int
run_text_bench(const struct run_text *r, const struct bench *b, double loaded, struct err *e)
{
	double prompt = rate(b->prompt, b->prompt_seconds), decode = rate(b->made, b->seconds);
	double first = loaded + b->prompt_seconds;
	struct buf out = { 0 };

	if (r->json)
		buf_printf(&out, "{\"prompt_tokens\":%" PRIu64 ",\"prompt_rate\":%.6g,"
		           "\"decode_tokens\":%" PRIu64 ",\"decode_rate\":%.6g,"
		           "\"first_seconds\":%.6g,\"read_bytes_per_second\":%.6g,"
		           "\"read_fraction\":%.6g,\"cache\":\"%s\",\"cache_bytes\":%" PRIu64 "}\n",
		           b->prompt, prompt, b->made, decode, first, b->read, b->used,
		           cache_type_name(b->cache), b->cache_bytes);
	else
		buf_printf(&out, "prompt %6" PRIu64 " tokens %10.2f tokens/s\n"
		           "decode %6" PRIu64 " tokens %10.2f tokens/s\n"
		           "first token %19.3f s\n"
		           "memory is read at %13.2f GB/s, in decoding at %.0f %% of that\n"
		           "cache %6s %18.1f MB\n",
		           b->prompt, prompt, b->made, decode, first, b->read * 1e-9,
		           100 * b->used, cache_type_name(b->cache),
		           (double)b->cache_bytes * 1e-6);
	return put(r, &out, e);
}

void
run_text_statistics(struct buf *to, const struct generate_result *r)
{
	lines_note(to, "prompt: %" PRIu64 " tokens, %.1f a second; generated: %" PRIu64
	           " tokens, %.1f a second", r->prompt, rate(r->prompt, r->prompt_seconds),
	           r->made, rate(r->made > 0 ? r->made - 1 : 0, r->seconds));
}
