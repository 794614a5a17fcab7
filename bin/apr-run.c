/* apr-run: what a model says next */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/near.h"
#include "cli/run/backend.h"
#include "cli/run/measure.h"
#include "cli/run/prompt.h"
#include "cli/tool.h"
#include "core/sandbox.h"
#include "core/thread.h"
#include "formats/format.h"
#include "infer/sequence.h"
#include "kernels/dot.h"
#include "kernels/level.h"
#include "load/load.h"
#include "report/run_text.h"

struct options {
	const char *trusted;
	const char *cache, *perplexity;
	struct prompt_from prompt;
	struct opt_list stops;
	struct sampler_options sampler;
	enum cache_type kept;
	bool any, json, logits, bench, repack, progress;
	uint64_t count, context, threads, bench_prompt;
};

/* What a run holds. */
struct run {
	const struct options *o;
	double began;             /* when the process did, about */
	struct load load;
	struct infer *infer;
	struct sequence *sequence;
	struct tokenizer *tokenizer; /* NULL: none is needed, or there is no vocabulary */
	struct buf prompt;        /* a text, or what perplexity is asked of */
	struct tokens tokens;     /* its */
	struct out out;
	struct run_text text;
	struct generate_result result;
};

static volatile sig_atomic_t interrupted;

/* The first time, what has begun is ended and told; the second time ends the process. */
static void
interrupt(int sig)
{
	signal(sig, SIG_DFL);
	interrupted = 1;
}

/* ---- what can be asked for ---- */

static int
generate(struct run *r, struct err *e)
{
	const struct options *o = r->o;
	const struct generate g = {
		.sequence = r->sequence, .tokenizer = r->tokenizer, .sampler = o->sampler,
		.stops = o->stops.items, .stop_count = o->stops.n,
		.count = o->count ? o->count : 128, .interrupted = &interrupted,
		.token = run_text_token, .ctx = &r->text
	};

	signal(SIGINT, interrupt);
	if (generate_run(&g, &r->tokens, &r->result, e) < 0)
		return -1;
	if (!o->json && r->text.terminal && out_put(&r->out, "\n", 1) < 0)
		return -1;
	if (r->result.end == GENERATE_CONTEXT)
		tool_notef("the context of %zu tokens is full", infer_context(r->infer));
	return 0;
}

static int
bench(struct run *r, struct err *e)
{
	const struct options *o = r->o;
	double loaded = generate_clock() - r->began;
	struct bench b;

	if (bench_run(r->sequence, o->bench_prompt ? o->bench_prompt : 128,
	              o->count ? o->count : 32, (unsigned)o->threads, &b, e) < 0)
		return -1;
	return run_text_bench(&r->text, &b, loaded, e);
}

static int
perplexity(struct run *r, struct err *e)
{
	struct perplexity p;

	if (measure_perplexity(r->sequence, r->tokenizer, &r->tokens, r->o->progress, &p, e) < 0)
		return -1;
	return run_text_perplexity(&r->text, &p, infer_context(r->infer), e);
}

static int
compute(struct run *r, struct err *e)
{
	const struct options *o = r->o;

	if (o->logits)
		return sequence_eval(r->sequence, 0, r->tokens.id, r->tokens.n, SEQUENCE_ALL,
		                  run_text_logits, &r->text, e);
	if (o->perplexity)
		return perplexity(r, e);
	return o->bench ? bench(r, e) : generate(r, e);
}

/* ---- what it needs ---- */

/* Numbers for numbers can do without a vocabulary. */
static int
open_tokenizer(struct run *r, struct err *e)
{
	const struct options *o = r->o;
	bool needed = !o->prompt.ids || (!o->json && !o->logits) || o->stops.n > 0;

	if (o->bench || (o->logits && !needed))
		return 0;
	r->tokenizer = prompt_tokenizer(&r->load.weights, o->any, e);
	if (!r->tokenizer && !needed && e->code == ERR_FORMAT)
		*e = (struct err)ERR_INIT;
	else if (!r->tokenizer && !*e->hint)
		err_hint(e, "--tokens with --json or --logits needs no vocabulary");
	r->text.text = r->tokenizer != NULL;
	return !r->tokenizer && needed ? -1 : e->code == ERR_NONE ? 0 : -1;
}

/* What must be signed comes from its verifier, into memory: a file that is mapped could
 * become another one afterwards. */
static int
load(struct run *r, const char *path, struct err *e)
{
	struct input in;

	if (!r->o->trusted)
		return load_open(&r->load, path, tool_note, e);
	if (input_open(&in, path, e) == 0)
		load_source(&r->load, in.source, e);
	return input_close(&in, e);
}

static int
open_model(struct run *r, const char *path, struct err *e)
{
	const struct options *o = r->o;
	const struct infer_options options = {
		.context = o->context, .most = o->perplexity ? 512 : 0,
		.cache = o->kept,
		.threads = (unsigned)o->threads, .repack = o->repack,
	};
	double began;

	if (load(r, path, e) < 0 || open_tokenizer(r, e) < 0 ||
	    (!getenv("APR_CPU") && backend_follow(&r->load.plan, e) < 0))
		return -1;
	if (r->tokenizer && !o->prompt.ids && prompt_encode(r->tokenizer, &r->prompt, &r->tokens, e) < 0)
		return -1;
	began = generate_clock();
	r->infer = infer_open(&r->load.weights, &options, tool_note, e);
	if (!r->infer || !(r->sequence = sequence_open(r->infer, e)))
		return -1;
	if (o->repack)
		tool_notef("weights were packed in %.2f s", generate_clock() - began);
	load_drop_blobs(&r->load);
	r->text.tokens = r->tokens.id;
	r->text.vocabulary = infer_vocabulary(r->infer);
	return 0;
}

static int
run_model(struct run *r, const char *path, struct err *e)
{
	const struct options *o = r->o;
	struct out_options where = { .input = -1, .terminal_ok = o->json || !o->logits };
	struct prompt_from text = { .file = o->perplexity };
	/* Files are not opened later. */
	if (!o->bench && prompt_take(o->perplexity ? &text : &o->prompt, path, &r->prompt,
	                             &r->tokens, e) < 0)
		return -1;
	input_trust(path, o->trusted);
	if (o->trusted)
		input_prepare(path);
	sandbox_read(path);
	if (format_may_spool(path))
		sandbox_spool();
	sandbox_enter();
	if (open_model(r, path, e) < 0)
		return -1;
	/* Text appears as it comes, in a file too. */
	if ((o->logits ? out_open(&r->out, &where, e)
	               : out_fd(&r->out, STDOUT_FILENO, "<stdout>", e)) < 0)
		return -1;
	if (compute(r, e) < 0 || load_check(&r->load, e) < 0 || out_finish(&r->out) < 0)
		out_abandon(&r->out);
	return e->code == ERR_NONE ? 0 : -1;
}

/* The weights of a model folder need the files beside them. */
static int
run(struct run *r, const char *path, struct err *e)
{
	char *folder = format_folder_of(path);
	int done;

	if (folder)
		tool_notef("%s is read with the files of its folder", path);
	done = run_model(r, folder ? folder : path, e);
	free(folder);
	return done;
}

/* ---- the command line ---- */

static const char *
cache_word(unsigned i)
{
	static const char *const kinds[] = { "f16", "f32", "q8_0", NULL };

	return kinds[i];
}

static int
check_options(struct options *o, struct err *e)
{
	int prompts = prompt_given(&o->prompt);
	size_t i;

	if (prompts > 1)
		return tool_misused(e, "-p, -f and --tokens exclude each other");
	if (o->logits + !!o->perplexity + o->bench > 1)
		return tool_misused(e, "--logits, --perplexity and --bench exclude each other");
	if ((o->perplexity || o->bench) && prompts)
		return tool_misused(e, "--%s takes no prompt", o->bench ? "bench" : "perplexity");
	if ((o->logits || o->perplexity) && o->count)
		return tool_misused(e, "--%s generates nothing, so -n is not for it",
		                    o->logits ? "logits" : "perplexity");
	if (o->bench_prompt && !o->bench)
		return tool_misused(e, "--bench-prompt goes with --bench");
	if (o->progress && !o->perplexity)
		return tool_misused(e, "--progress goes with --perplexity");
	for (i = 0; i < o->stops.n; i++)
		if (!*o->stops.items[i])
			return tool_misused(e, "--stop needs TEXT");
	if (!o->cache || cache_type_by_name(o->cache, &o->kept) == 0)
		return 0;
	tool_misused(e, "--cache is f16, f32 or q8_0, not %.40s", o->cache);
	near_words(e, o->cache, cache_word);
	return -1;
}

/* How far an interrupted run came, and how fast. */
static void
note_statistics(const struct generate_result *result)
{
	struct buf b = { 0 };

	run_text_statistics(&b, result);
	tool_notes(&b);
	buf_free(&b);
}

int
main(int argc, char **argv)
{
	static struct options o = { .sampler = SAMPLER_DEFAULT };
	static const struct opt opts[] = {
		{ 'p', "prompt", "TEXT", OPT_ANY_TEXT, &o.prompt.text,
		  "what the text begins with", 0, 0 },
		{ 'f', "file", "FILE", OPT_TEXT, &o.prompt.file, "the same, from FILE", 0, 0 },
		{ 0, "tokens", "IDS", OPT_TEXT, &o.prompt.ids,
		  "the same, as numbers of tokens: ID,ID,...", 0, 0 },
		{ 'n', "count", "N", OPT_NUMBER, &o.count,
		  "tokens to generate, at most (default: 128)", 1, UINT32_MAX },
		{ 0, "stop", "TEXT", OPT_LIST, &o.stops, "end before TEXT; may be repeated", 0, 0 },
		{ 0, "temp", "T", OPT_DECIMAL, &o.sampler.temperature,
		  "draw tokens, at that temperature (default: 0, the most probable)", 0, 100 },
		{ 0, "top-k", "N", OPT_NUMBER, &o.sampler.top_k,
		  "among the N most probable (default: 40; 0: all)", 0, UINT32_MAX },
		{ 0, "top-p", "P", OPT_DECIMAL, &o.sampler.top_p,
		  "of which as many as have probability P together (default: 0.95)", 0, 1 },
		{ 0, "min-p", "P", OPT_DECIMAL, &o.sampler.min_p,
		  "and each P times that of the first (default: 0.05)", 0, 1 },
		{ 0, "repeat-penalty", "X", OPT_DECIMAL, &o.sampler.repeat_penalty,
		  "what came among the last 64 tokens is less probable (default: 1, it is not)",
		  1, 100 },
		{ 0, "seed", "N", OPT_NUMBER, &o.sampler.seed,
		  "another text for each number (default: 0)", 0, UINT64_MAX },
		{ 0, "logits", NULL, OPT_FLAG, &o.logits,
		  "generate nothing: the logits after each token of the prompt, "
		  "in single precision", 0, 0 },
		{ 0, "perplexity", "FILE", OPT_TEXT, &o.perplexity,
		  "how much the text of FILE surprises the model", 0, 0 },
		{ 0, "progress", NULL, OPT_FLAG, &o.progress,
		  "show its progress on standard error, also where that is no terminal", 0, 0 },
		{ 0, "bench", NULL, OPT_FLAG, &o.bench, "how fast it is", 0, 0 },
		{ 0, "bench-prompt", "N", OPT_NUMBER, &o.bench_prompt,
		  "tokens of the prompt that is measured (default: 128)", 1, UINT32_MAX },
		{ 0, "json", NULL, OPT_FLAG, &o.json, "an object a line", 0, 0 },
		{ 'c', "context", "N", OPT_NUMBER, &o.context,
		  "positions (default: the model's, at most 4096; with --perplexity 512)", 1,
		  UINT32_MAX },
		{ 0, "cache", "KIND", OPT_TEXT, &o.cache,
		  "keep keys and values as f16 (the default), f32 or q8_0", 0, 0 },
		{ 0, "repack", NULL, OPT_FLAG, &o.repack,
		  "lay the weights out anew for this CPU: it starts later, and runs faster", 0, 0 },
		{ 't', "threads", "N", OPT_NUMBER, &o.threads, "threads (default: all CPUs)", 1,
		  1024 },
		{ 'j', "jobs", "N", OPT_NUMBER, &o.threads, "the same", 1, 1024 },
		{ 0, "any-tokenizer", NULL, OPT_FLAG, &o.any,
		  "use the default pattern where the model's is not known", 0, 0 },
		OPT_TRUSTED(&o.trusted),
		OPT_END
	};
	static const struct tool tool = {
		"apr-run", "[-p TEXT | -f FILE | --tokens IDS] [-n N] [--stop TEXT] [--temp T] "
		"[--top-k N]\n[--top-p P] [--min-p P] [--repeat-penalty X] [--seed N] [--json] "
		"[-c N]\n[--cache f16|f32|q8_0] [--repack] [-t N | -j N] [--any-tokenizer]\n"
		"[--trusted-key KEY] [FILE]\n"
		"apr-run --logits [-p TEXT | -f FILE | --tokens IDS] [--json] [FILE]\n"
		"apr-run --perplexity FILE [--progress] [-c N] [--json] [FILE]\n"
		"apr-run --bench [--bench-prompt N] [-n N] [--json] [FILE]",
		"Compute what a model says next.", opts, 1
	};
	struct run r = { .o = &o, .began = generate_clock() };
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);
	const char *path = tool_input(operands[0], &e);

	r.text = (struct run_text){
		.out = &r.out, .json = o.json, .terminal = isatty(STDOUT_FILENO)
	};
	if (path && check_options(&o, &e) == 0 &&
	    level_begin(getenv("APR_CPU"), tool_note, &e) == 0) {
		dot_begin(tool_note);
		o.threads = o.threads ? o.threads : thread_count();
		run(&r, path, &e);
	}
	if (interrupted)
		note_statistics(&r.result);
	sequence_close(r.sequence);
	infer_close(r.infer);
	tokenizer_free(r.tokenizer);
	load_close(&r.load);
	tokens_free(&r.tokens);
	buf_free(&r.prompt);
	free(o.stops.items);
	if (interrupted && e.code == ERR_NONE) {
		signal(SIGINT, SIG_DFL);
		raise(SIGINT);
	}
	return tool_end(&e);
}
