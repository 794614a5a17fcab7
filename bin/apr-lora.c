/* apr-lora: adapters of low rank: applied to a model, extracted from two, converted */
#include <stdlib.h>
#include <string.h>

#include "arch/guess.h"
#include "arch/subject.h"
#include "cli/filter.h"
#include "cli/input.h"
#include "cli/lora/extracting.h"
#include "cli/lora/merging.h"
#include "cli/tool.h"
#include "core/mem.h"
#include "core/sandbox.h"
#include "core/thread.h"
#include "kernels/level.h"
#include "load/adapters.h"
#include "lora/convert.h"

struct options {
	const char *arch, *trusted, *base;
	struct opt_list adapters;
	bool requantize;
	struct extracting extract;
	uint64_t jobs;
	struct output_options output;
};

/* Declare the adapters, which the output must not replace. */
static int
declare(struct adapters *a, const struct options *o, struct err *e)
{
	const struct opt_list *words = &o->adapters;
	size_t i;

	if (adapters_declare(a, lora_names(words->items, words->n, e), words->n, e) < 0)
		return -1;
	for (i = 0; i < a->n; i++)
		if (input_spare(a->names[i].path, &o->output, e) < 0)
			return -1;
	return 0;
}

/* ---- apply ---- */

static int
flow(struct merging *m, const struct adapters *a, const struct input *in,
     const struct output_options *to, struct err *e)
{
	const struct out_options where = { .path = to->path, .force = to->force,
		.input = in->held, .from = in->path };
	struct flow f;
	struct sink *sink;

	if (merging_begin(m, in->source, &f, e) < 0 || !(sink = filter_sink(&where, e)))
		return -1;
	filter_flow(in->source, sink, to->progress, &f, e);
	sink_close(sink);
	return e->code == ERR_NONE ? adapters_check(a, e) : -1;
}

static void
apply(const struct options *o, const char *base, struct err *e)
{
	struct adapters a = { .n = 0 };
	struct merging m = { .arch = o->arch, .apply = { .jobs = o->jobs ? (unsigned)o->jobs : thread_count(),
		.requantize = o->requantize } };
	struct input in;

	input_trust(base, o->trusted);
	sandbox_write(o->output.path, o->output.force);
	if (declare(&a, o, e) == 0) {
		if (input_open(&in, base, e) == 0 && adapters_open(&a, tool_note, e) == 0) {
			m.loras = a.loras;
			m.count = a.n;
			flow(&m, &a, &in, &o->output, e);
		}
		input_close(&in, e);
	}
	merging_close(&m);
	adapters_close(&a);
}

/* ---- convert ---- */

static int
base_sizes(const struct subject *s, struct sizes *sizes, struct err *e)
{
	if (s->form == ARCH_GGUF)
		return sizes_keys(sizes, &s->w, s->arch->name, e);
	return s->config ? sizes_config(sizes, s->config, e) : 0;
}

/* Only metadata and side files of the base are read. */
static int
read_base(struct subject *s, struct input *in, const char *arch, struct sizes *sizes,
          struct err *e)
{
	struct item next;
	bool more;

	if (subject_read(s, in->source, arch, &next, &more, e) < 0)
		return -1;
	return s->arch ? base_sizes(s, sizes, e) : arch_unsaid(in->source->name, e);
}

static void
convert(const struct options *o, struct err *e)
{
	const struct out_options where = { .path = o->output.path, .force = o->output.force,
		.input = -1 };
	struct adapters a = { .n = 0 };
	struct sizes sizes = { .of = { 0 } };
	struct subject s = { .plan = NULL };
	struct sink *sink = NULL;
	struct input in;
	size_t scaled = 0;

	sandbox_write(o->output.path, o->output.force);
	if (input_spare(o->base, &o->output, e) == 0 && declare(&a, o, e) == 0) {
		if (input_open(&in, o->base, e) == 0 && adapters_open(&a, tool_note, e) == 0 &&
		    read_base(&s, &in, o->arch, &sizes, e) == 0 &&
		    (sink = filter_sink(&where, e)) &&
		    lora_convert(a.loras, a.loras->form == ARCH_GGUF ? ARCH_FOLDER : ARCH_GGUF,
		                 s.arch, &sizes, sink, &scaled, e) == 0 && scaled)
			tool_notef("B takes the scale of its module in %zu of %zu cases", scaled,
			           a.loras->part_count);
		input_abandon(&in, e);
	}
	sink_close(sink);
	subject_close(&s);
	adapters_close(&a);
}

/* ---- extract ---- */

static int
read_model(struct merge_input *to, struct input *in, const struct merge_input *like,
           const struct options *o, struct err *e)
{
	in->source->note = tool_note;
	return merge_input_read(to, in->source, like, o->arch, in->lent_count > 0, o->extract.jobs, e);
}

static void
extract(struct options *o, const char *tuned, struct err *e)
{
	const struct out_options where = { .path = o->output.path, .force = o->output.force,
		.input = -1 };
	struct extracting *x = &o->extract;
	struct input a, b;
	struct sink *sink = NULL;
	bool both;

	x->jobs = o->jobs ? (unsigned)o->jobs : thread_count();
	sandbox_write(o->output.path, o->output.force);
	sandbox_spool();
	if (input_spare(o->base, &o->output, e) < 0 || input_spare(tuned, &o->output, e) < 0)
		return;
	input_prepare(o->base);
	input_prepare(tuned);
	sandbox_prepare();
	both = input_open(&a, o->base, e) == 0;
	if (both && input_open(&b, tuned, e) == 0 &&
	    read_model(&x->base, &a, NULL, o, e) == 0 &&
	    read_model(&x->tuned, &b, &x->base, o, e) == 0 && (sink = filter_sink(&where, e)))
		extracting_run(x, sink, e);
	sink_close(sink);
	merge_input_close(&x->base);
	merge_input_close(&x->tuned);
	input_close(&a, e);
	if (both)
		input_close(&b, e);
}

/* ---- the command line ---- */

/* Takes adapters that are operands into the list of --adapter. */
static int
take_adapters(struct options *o, char **operands, struct err *e)
{
	if (*operands && o->adapters.n)
		return tool_misused(e, "one operand too many: %.80s (with --adapter, adapters are "
		                    "no operands)", *operands);
	for (; *operands; operands++) {
		if (mem_grow(&o->adapters.items, &o->adapters.cap, o->adapters.n + 1,
		             sizeof *o->adapters.items) < 0)
			return err_memory(e);
		o->adapters.items[o->adapters.n++] = *operands;
	}
	return 0;
}

static void
run_apply(struct options *o, char **operands, struct err *e)
{
	if (o->base)
		tool_misused(e, "--base is for convert and extract");
	else if (take_adapters(o, operands + (operands[0] != NULL), e) < 0)
		return;
	else if (o->adapters.n == 0)
		tool_misused(e, "an adapter is missing");
	else if (tool_input(operands[0], e))
		apply(o, tool_input(operands[0], e), e);
}

static void
run_convert(struct options *o, char **operands, struct err *e)
{
	if (!o->base)
		tool_misused(e, "convert needs --base");
	else if (take_adapters(o, operands, e) < 0)
		return;
	else if (o->adapters.n != 1)
		tool_misused(e, "convert takes one adapter");
	else
		convert(o, e);
}

static void
run_extract(struct options *o, char **operands, struct err *e)
{
	if (!o->base)
		tool_misused(e, "extract needs --base");
	else if (o->adapters.n || (operands[0] && operands[1]))
		tool_misused(e, "extract takes one model beside the base");
	else if (!o->extract.rank && o->extract.energy <= 0)
		tool_misused(e, "extract needs --rank, --energy, or both");
	else if (o->arch && !arch_known(o->arch))
		arch_unknown("--arch", o->arch, e);
	else if (tool_input(operands[0], e))
		extract(o, tool_input(operands[0], e), e);
}

static void
run(struct options *o, char **operands, struct err *e)
{
	const struct extracting *x = &o->extract;
	const char *word = operands[0];
	bool extracts = word && strcmp(word, "extract") == 0;

	if (!word)
		tool_misused(e, "a command is missing: apply, extract or convert");
	else if (!extracts && (x->rank || x->energy > 0 || x->all || x->verbose))
		tool_misused(e, "--rank, --energy, --all and --verbose are for extract");
	else if (extracts)
		run_extract(o, operands + 1, e);
	else if (strcmp(word, "convert") == 0)
		run_convert(o, operands + 1, e);
	else if (strcmp(word, "apply") == 0)
		run_apply(o, operands + 1, e);
	else
		tool_misused(e, "not a command: %.80s", word);
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		TEXT(0, "base", "MODEL", &o.base, "convert, extract: the model that the adapter is for"),
		LIST(0, "adapter", "FILE[=SCALE]", &o.adapters,
		     "an adapter, as an operand behind BASE is"),
		NUMBER(0, "rank", "R", &o.extract.rank, 1, 65536, "extract: the rank of each part, or its limit"),
		DECIMAL(0, "energy", "X", &o.extract.energy, 0, 1,
		        "extract: the rank that holds this share of the squares"),
		FLAG(0, "all", &o.extract.all, "extract: also embeddings, and tensors that are not matrices"),
		FLAG(0, "verbose", &o.extract.verbose, "extract: print rank and error of each tensor"),
		FLAG(0, "requantize", &o.requantize, "change quantized tensors too"),
		TEXT(0, "arch", "NAME", &o.arch, "the architecture, if the base does not say it"),
		OPT_JOBS(&o.jobs),
		OPT_TRUSTED(&o.trusted),
		OPT_OUTPUT_STREAM(&o.output),
		OPT_END
	};
	static const struct tool tool = {
		"apr-lora",
		"apply [--requantize] [--arch NAME] [--trusted-key KEY] [-j N] [-f]\n"
		"[-o FILE] BASE ADAPTER[=SCALE] ... | --adapter FILE[=SCALE] ... [BASE]\n"
		"apr-lora extract --base MODEL [--rank R] [--energy X] [--all] [--verbose]\n"
		"[--arch NAME] [-j N] [-f] [-o FILE] [TUNED]\n"
		"apr-lora convert --base MODEL [--arch NAME] [-f] [-o FILE] ADAPTER",
		"Apply adapters of low rank to a model, extract or convert them.", opts, TOOL_FILES
	};
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);

	if (level_begin(getenv("APR_CPU"), tool_note, &e) == 0)
		run(&o, operands, &e);
	free(o.adapters.items);
	return tool_end(&e);
}
