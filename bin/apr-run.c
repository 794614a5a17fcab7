/* apr-run: what a model says next */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/mem.h"
#include "core/out.h"
#include "core/sandbox.h"
#include "core/thread.h"
#include "infer/infer.h"
#include "kernels/dot/dot.h"
#include "kernels/level.h"
#include "load/load.h"
#include "tool/ids.h"
#include "tool/tool.h"

struct options {
	const char *tokens, *cache;
	bool json, logits;
	uint64_t count, context, threads;
};

/* What a run holds. */
struct run {
	const struct options *o;
	struct load load;
	struct infer *infer;
	struct out out;
	struct tokens tokens; /* of the prompt, then what was generated */
	uint32_t best;        /* the most probable next one */
	double logprob;
};

static int
put(struct run *r, struct buf *b, struct err *e)
{
	int done = buf_ok(b) ? out_put(&r->out, b->p, b->n) : err_memory(e);

	buf_free(b);
	return done;
}

/* --logits: a row of single precision, or a line. */
static int
put_logits(void *ctx, size_t position, const float *logits, struct err *e)
{
	struct run *r = ctx;
	struct buf b = { 0 };
	size_t i, n = infer_vocabulary(r->infer);

	if (!r->o->json) {
		for (i = 0; i < n; i++) {
			uint32_t bits;

			memcpy(&bits, &logits[i], sizeof bits);
			buf_u32(&b, bits);
		}
		return put(r, &b, e);
	}
	buf_printf(&b, "{\"position\":%zu,\"token\":%" PRIu32 ",\"logits\":[", position,
	           r->tokens.id[position]);
	for (i = 0; i < n; i++)
		buf_printf(&b, "%s%.9g", i ? "," : "", (double)logits[i]);
	buf_text(&b, "]}\n");
	return put(r, &b, e);
}

/* The most probable token, the first of equals, and its logarithm of probability. */
static int
choose(void *ctx, size_t position, const float *logits, struct err *e)
{
	struct run *r = ctx;
	size_t i, n = infer_vocabulary(r->infer), best = 0;
	double sum = 0;

	(void)position;
	(void)e;
	for (i = 1; i < n; i++)
		if (logits[i] > logits[best])
			best = i;
	for (i = 0; i < n; i++)
		sum += exp((double)logits[i] - (double)logits[best]);
	r->best = (uint32_t)best;
	r->logprob = -log(sum);
	return 0;
}

/* A line for each token. */
static int
generate(struct run *r, struct err *e)
{
	size_t at = 0, end = r->tokens.n;
	uint64_t i;

	for (i = 0; i < r->o->count; i++) {
		struct buf b = { 0 };

		if (infer_eval(r->infer, at, r->tokens.id + at, end - at, INFER_LAST, choose, r,
		               e) < 0 ||
		    load_check(&r->load, e) < 0)
			return -1;
		buf_printf(&b, "{\"id\":%" PRIu32 ",\"logprob\":%.9g}\n", r->best, r->logprob);
		if (put(r, &b, e) < 0 || out_flush(&r->out) < 0)
			return -1;
		at = end;
		if (end == infer_context(r->infer) || tokens_add(&r->tokens, r->best, e) < 0)
			return e->code == ERR_NONE ? 0 : -1;
		end++;
	}
	return 0;
}

static int
compute(struct run *r, struct err *e)
{
	const struct infer_options options = {
		.context = r->o->context,
		.cache = r->o->cache && strcmp(r->o->cache, "f32") == 0 ? INFER_CACHE_F32
		                                                       : INFER_CACHE_F16,
		.threads = (unsigned)r->o->threads,
	};

	r->infer = infer_open(&r->load.weights, &options, tool_note, e);
	if (!r->infer)
		return -1;
	load_drop_blobs(&r->load);
	if (!r->o->logits)
		return generate(r, e);
	if (infer_eval(r->infer, 0, r->tokens.id, r->tokens.n, INFER_ALL, put_logits, r, e) < 0)
		return -1;
	return load_check(&r->load, e);
}

static int
run(struct run *r, const char *path, struct err *e)
{
	struct out_options where = { .input = -1, .terminal_ok = r->o->json };

	sandbox_read(path);
	sandbox_spool();
	sandbox_enter();
	if (load_open(&r->load, path, tool_note, e) < 0 || out_open(&r->out, &where, e) < 0)
		return -1;
	if (compute(r, e) < 0 || out_finish(&r->out) < 0)
		out_abandon(&r->out);
	return e->code == ERR_NONE ? 0 : -1;
}

static int
check_options(const struct options *o, struct err *e)
{
	if (!o->tokens)
		return tool_misused(e, "--tokens is missing");
	if (!o->logits && !o->json)
		return tool_misused(e, "--json or --logits is missing");
	if (o->logits && o->count)
		return tool_misused(e, "--logits generates nothing, so -n is not for it");
	if (o->cache && strcmp(o->cache, "f16") != 0 && strcmp(o->cache, "f32") != 0)
		return tool_misused(e, "--cache is f16 or f32, not %.40s", o->cache);
	return 0;
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		{ 0, "tokens", "IDS", OPT_TEXT, &o.tokens,
		  "the prompt as numbers of tokens: ID,ID,...", 0, 0 },
		{ 'n', "count", "N", OPT_NUMBER, &o.count,
		  "tokens to generate, at most (default: 128)", 1, UINT32_MAX },
		{ 0, "logits", NULL, OPT_FLAG, &o.logits,
		  "generate nothing: the logits after each token of the prompt, "
		  "in single precision", 0, 0 },
		{ 0, "json", NULL, OPT_FLAG, &o.json, "an object a line", 0, 0 },
		{ 'c', "context", "N", OPT_NUMBER, &o.context,
		  "positions (default: the model's, at most 4096)", 1, UINT32_MAX },
		{ 0, "cache", "KIND", OPT_TEXT, &o.cache,
		  "keep keys and values as f16 (the default) or f32", 0, 0 },
		{ 't', "threads", "N", OPT_NUMBER, &o.threads, "threads (default: all CPUs)", 1,
		  1024 },
		OPT_END
	};
	static const struct tool tool = {
		"apr-run", "--tokens IDS [-n N | --logits] [--json] [-c N] [--cache f16|f32] "
		"[-t N] [FILE]", "Compute what a model says next.", opts, 1
	};
	struct run r = { .o = &o };
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);
	const char *path = tool_input(operands[0], &e);

	if (path && check_options(&o, &e) == 0 &&
	    ids_parse(&r.tokens, o.tokens, &e) == 0 &&
	    level_begin(getenv("APR_CPU"), tool_note, &e) == 0) {
		dot_begin(tool_note);
		o.count = o.count ? o.count : 128;
		o.threads = o.threads ? o.threads : thread_count();
		run(&r, path, &e);
	}
	infer_close(r.infer);
	load_close(&r.load);
	tokens_free(&r.tokens);
	return tool_end(&e);
}
