/* apr-run: compute what a model says next */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/run/backend.h"
#include "cli/run/measure.h"
#include "cli/prompt.h"
#include "cli/run/run_options.h"
#include "cli/run/serve.h"
#include "cli/tool.h"
#include "core/sandbox.h"
#include "formats/format.h"
#include "infer/sequence.h"
#include "kernels/dot.h"
#include "kernels/level.h"
#include "load/adapters.h"
#include "load/load.h"
#include "lora/low.h"
#include "tokenizer/tokenizer.h"
#include "report/run_text.h"

struct run {
	const struct run_options *o;
	double began;             /* start time of the process, approximately */
	struct load load;
	struct adapters adapters; /* --lora, */
	struct low_rank *low;     /* and what they add to the model */
	size_t low_count;
	struct infer *infer;
	struct sequence *sequence;
	struct tokenizer *tokenizer; /* NULL: not needed, or there is no vocabulary */
	struct buf prompt;        /* the prompt, or the text of --perplexity */
	struct tokens tokens;     /* the tokens of the prompt */
	struct out out;
	struct run_text text;
	struct generate_result result;
};

static volatile sig_atomic_t interrupted;

/* The first signal ends the generation and prints statistics; the second ends the process. */
static void
interrupt(int sig)
{
	interrupted = sig;
}

/* A signal also ends the wait for a request. */
static void
catch_interrupt(void)
{
	const struct sigaction a = { .sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &a, NULL);
}

/* ---- the tasks ---- */

static int
generate(struct run *r, struct err *e)
{
	const struct run_options *o = r->o;
	const struct generate g = {
		.sequence = r->sequence, .tokenizer = r->tokenizer, .sampler = o->sampler,
		.stops = o->stops.items, .stop_count = o->stops.n,
		.count = o->count ? o->count : 128, .interrupted = &interrupted,
		.token = run_text_token, .ctx = &r->text
	};

	catch_interrupt();
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
	uint64_t prompt = r->o->bench_prompt, count = r->o->count;
	double loaded = generate_clock() - r->began;
	struct bench b;

	if (bench_run(r->sequence, prompt ? prompt : 128, count ? count : 32,
	              r->o->infer.threads, &b, e) < 0)
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

/* Notes how far an interrupted run came, and its speed. */
static void
note_statistics(const struct generate_result *result)
{
	struct buf b = { 0 };

	run_text_statistics(&b, result);
	tool_notes(&b);
	buf_free(&b);
}

static int
serve(struct run *r, struct err *e)
{
	const struct serve s = { STDIN_FILENO, &r->out, r->sequence, r->tokenizer,
		run_options_request(r->o), &interrupted };

	catch_interrupt();
	return serve_lines(&s, e);
}

static int
compute(struct run *r, struct err *e)
{
	const struct run_options *o = r->o;

	if (o->logits)
		return sequence_eval(r->sequence, 0, r->tokens.id, r->tokens.n, SEQUENCE_ALL,
		                     run_text_logits, &r->text, e);
	if (o->perplexity)
		return perplexity(r, e);
	return o->bench ? bench(r, e) : o->serve ? serve(r, e) : generate(r, e);
}

/* ---- the model ---- */

/* Opens the tokenizer. It is not needed if the input is token ids and the output
 * numbers. */
static int
open_tokenizer(struct run *r, struct err *e)
{
	const struct run_options *o = r->o;
	const struct tokenizer_options options = { .any = o->any, .note = tool_note };
	bool needed = !o->serve && (!o->prompt.ids || (!o->json && !o->logits) || o->stops.n > 0);

	if (o->bench || (o->logits && !needed))
		return 0;
	r->tokenizer = tokenizer_of(&r->load.weights, &options, e);
	if (!r->tokenizer && !needed && e->code == ERR_FORMAT)
		*e = (struct err)ERR_INIT;
	else if (!r->tokenizer && !*e->hint)
		err_hint(e, "--tokens with --json or --logits needs no vocabulary");
	r->text.text = r->tokenizer != NULL;
	return !r->tokenizer && needed ? -1 : e->code == ERR_NONE ? 0 : -1;
}

/* Loads the model. A model that must be signed is read from its verifier into memory,
 * because a mapped file could be changed after it was verified. */
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
	const struct run_options *o = r->o;
	struct infer_options infer = o->infer;
	double began;

	if (load(r, path, e) < 0 || open_tokenizer(r, e) < 0 ||
	    (!getenv("APR_CPU") && backend_follow(&r->load.plan, e) < 0))
		return -1;
	if (r->tokenizer && !o->prompt.ids && !o->serve &&
	    prompt_encode(r->tokenizer, &r->prompt, &r->tokens, e) < 0)
		return -1;
	if (o->loras.n && (adapters_open(&r->adapters, tool_note, e) < 0 ||
	                   adapters_low(&r->adapters, &r->load.weights, &r->low, &r->low_count,
	                                e) < 0))
		return -1;
	infer.low = r->low;
	infer.low_count = r->low_count;
	began = generate_clock();
	r->infer = infer_open(&r->load.weights, &infer, tool_note, e);
	if (!r->infer || !(r->sequence = sequence_open(r->infer, e)))
		return -1;
	if (o->infer.repack)
		tool_notef("weights were packed in %.2f s", generate_clock() - began);
	load_drop_blobs(&r->load);
	r->text.tokens = r->tokens.id;
	r->text.vocabulary = infer_vocabulary(r->infer);
	return 0;
}

static void
run_model(struct run *r, const char *path, struct err *e)
{
	const struct run_options *o = r->o;
	struct out_options where = { .input = -1, .terminal_ok = o->json || !o->logits };
	struct prompt_from text = { .file = o->perplexity };

	/* Files cannot be opened inside the sandbox. */
	if (!o->bench && !o->serve && prompt_take(o->perplexity ? &text : &o->prompt, path, &r->prompt,
	                             &r->tokens, e) < 0)
		return;
	input_trust(path, o->trusted);
	if (o->trusted)
		input_prepare(path);
	sandbox_read(path);
	if (format_may_spool(path))
		sandbox_spool();
	if (o->loras.n && adapters_declare(&r->adapters, lora_names(o->loras.items, o->loras.n, e),
	                                   o->loras.n, e) < 0)
		return;
	sandbox_enter();
	if (open_model(r, path, e) < 0)
		return;
	/* Text is written immediately, also to a file. */
	if ((o->logits ? out_open(&r->out, &where, e)
	               : out_fd(&r->out, STDOUT_FILENO, "<stdout>", e)) < 0)
		return;
	if (compute(r, e) < 0 || load_check(&r->load, e) < 0 ||
	    adapters_check(&r->adapters, e) < 0 || out_finish(&r->out) < 0)
		out_abandon(&r->out);
}

/* Runs the model. A tensor file of a model folder needs the files beside it. */
static void
run(struct run *r, const char *path, struct err *e)
{
	char *folder = format_folder_of(path);

	if (folder)
		tool_notef("%s is read with the files of its folder", path);
	run_model(r, folder ? folder : path, e);
	free(folder);
}

/* ---- the command line ---- */

int
main(int argc, char **argv)
{
	static struct run_options o = RUN_OPTIONS_DEFAULT;
	static const struct opt opts[] = {
		OPT_RUN(&o),
		OPT_TRUSTED(&o.trusted),
		OPT_END
	};
	static const struct tool tool = {
		"apr-run", "[-p TEXT | -f FILE | --tokens IDS] [-n N] [--stop TEXT] [--temp T] "
		"[--top-k N]\n[--top-p P] [--min-p P] [--repeat-penalty X] [--seed N] [--json] "
		"[-c N]\n[--cache f16|f32|q8_0] [--gelu table|tanh|erf] [--repack] [-t N | -j N] "
		"[--lora FILE[=SCALE]]\n[--any-tokenizer] [--trusted-key KEY] [FILE]\n"
		"apr-run --logits [-p TEXT | -f FILE | --tokens IDS] [--json] [FILE]\n"
		"apr-run --perplexity FILE [--progress] [-c N] [--json] [FILE]\n"
		"apr-run --bench [--bench-prompt N] [-n N] [--json] [FILE]\n"
		"apr-run --serve-stdin [-n N] [--stop TEXT] [--temp T] FILE",
		"Compute what a model says next.", opts, 1
	};
	struct run r = { .o = &o, .began = generate_clock() };
	struct err e = ERR_INIT;
	char **operands = tool_begin_embedded(&tool, argc, argv);
	const char *path = tool_input(operands[0], &e);

	r.text = (struct run_text){ .out = &r.out, .json = o.json,
		.terminal = isatty(STDOUT_FILENO) };
	if (path && run_options_check(&o, path, &e) == 0 &&
	    level_begin(getenv("APR_CPU"), tool_note, &e) == 0) {
		dot_begin(tool_note);
		run(&r, path, &e);
	}
	if (interrupted && !o.serve)
		note_statistics(&r.result);
	sequence_close(r.sequence);
	infer_close(r.infer);
	tokenizer_free(r.tokenizer);
	load_close(&r.load);
	adapters_close(&r.adapters);
	low_free(r.low, r.low_count);
	tokens_free(&r.tokens);
	buf_free(&r.prompt);
	free(o.stops.items);
	free(o.loras.items);
	if (interrupted && e.code == ERR_NONE)
		raise(SIGINT);
	return tool_end(&e);
}
