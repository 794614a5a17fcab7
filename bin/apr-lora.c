/* apr-lora: adapters of low rank: applied to a model, converted */
#include <stdlib.h>
#include <string.h>

#include "arch/guess.h"
#include "arch/subject.h"
#include "cli/filter.h"
#include "cli/input.h"
#include "cli/lora/adapters.h"
#include "cli/lora/merging.h"
#include "cli/tool.h"
#include "core/mem.h"
#include "core/sandbox.h"
#include "core/thread.h"
#include "formats/format.h"
#include "kernels/level.h"
#include "load/load.h"
#include "lora/convert.h"
#include "lora/lora.h"

struct options {
	const char *arch, *trusted, *base;
	bool requantize;
	uint64_t jobs;
	struct output_options output;
};

/* The adapters, in memory. */
struct adapters {
	struct adapter_name *names;
	struct load *loads;
	struct lora *loras;
	size_t n;
};

/* ---- adapters ---- */

/* A file of an adapter's folder stands for the folder, which has its adapter_config.json. */
static int
declare(struct adapters *a, char **words, size_t n, struct err *e)
{
	size_t i;

	a->names = adapters_take((const char *const *)words, n, e);
	a->loads = mem_array(n, sizeof *a->loads);
	a->loras = mem_array(n, sizeof *a->loras);
	if (!a->loads || !a->loras)
		err_memory(e);
	if (!a->names || !a->loads || !a->loras)
		return -1;
	a->n = n;
	for (i = 0; i < n; i++) {
		char *folder = format_folder_of(a->names[i].path);

		if (folder) {
			free(a->names[i].path);
			a->names[i].path = folder;
		}
		sandbox_read(a->names[i].path);
		if (format_may_spool(a->names[i].path))
			sandbox_spool();
	}
	return 0;
}

static int
read_adapters(struct adapters *a, struct err *e)
{
	size_t i;

	for (i = 0; i < a->n; i++)
		if (load_open(&a->loads[i], a->names[i].path, tool_note, e) < 0 ||
		    lora_read(&a->loras[i], &a->loads[i].weights, a->names[i].scale, e) < 0)
			return -1;
	return 0;
}

static void
free_adapters(struct adapters *a)
{
	size_t i;

	for (i = 0; i < a->n; i++) {
		lora_free(&a->loras[i]);
		load_close(&a->loads[i]);
	}
	adapters_free(a->names, a->n);
	free(a->loads);
	free(a->loras);
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
	size_t i;

	if (merging_begin(m, in->source, &f, e) < 0 || !(sink = filter_sink(&where, e)))
		return -1;
	filter_flow(in->source, sink, to->progress, &f, e);
	sink_close(sink);
	for (i = 0; e->code == ERR_NONE && i < a->n; i++)
		load_check(&a->loads[i], e);
	return e->code == ERR_NONE ? 0 : -1;
}

static void
apply(const struct options *o, const char *base, char **words, size_t n, struct err *e)
{
	struct adapters a = { .n = 0 };
	struct merging m = { .arch = o->arch, .apply = { .jobs = o->jobs ? (unsigned)o->jobs : thread_count(),
		.requantize = o->requantize } };
	struct input in;

	input_trust(base, o->trusted);
	sandbox_write(o->output.path, o->output.force);
	if (declare(&a, words, n, e) == 0) {
		if (input_open(&in, base, e) == 0 && read_adapters(&a, e) == 0) {
			m.loras = a.loras;
			m.count = a.n;
			flow(&m, &a, &in, &o->output, e);
		}
		input_close(&in, e);
	}
	merging_close(&m);
	free_adapters(&a);
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
convert(const struct options *o, char **words, struct err *e)
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
	if (declare(&a, words, 1, e) == 0) {
		if (input_open(&in, o->base, e) == 0 && read_adapters(&a, e) == 0 &&
		    read_base(&s, &in, o->arch, &sizes, e) == 0 &&
		    (sink = filter_sink(&where, e)) &&
		    lora_convert(a.loras, a.loras->form == ARCH_GGUF ? ARCH_FOLDER : ARCH_GGUF,
		                 s.arch, &sizes, sink, &scaled, e) == 0 && scaled)
			tool_notef("%zu of %zu parts have a scale of their own, which B takes",
			           scaled, a.loras->part_count);
		input_abandon(&in, e);
	}
	sink_close(sink);
	subject_close(&s);
	free_adapters(&a);
}

/* ---- the command line ---- */

static void
run(const struct options *o, char **operands, struct err *e)
{
	const char *word = operands[0];
	size_t n = 0;

	while (operands[n])
		n++;
	if (!word)
		tool_misused(e, "a command is missing: apply or convert");
	else if (strcmp(word, "convert") == 0 && n == 2 && o->base)
		convert(o, operands + 1, e);
	else if (strcmp(word, "convert") == 0)
		tool_misused(e, o->base ? "convert takes one adapter" : "convert needs --base");
	else if (strcmp(word, "apply") != 0)
		tool_misused(e, "not a command: %.80s", word);
	else if (n < 3 || o->base)
		tool_misused(e, o->base ? "--base is for convert" : n == 1 ? "a base is missing"
		             : "an adapter is missing");
	else if (tool_input(operands[1], e))
		apply(o, tool_input(operands[1], e), operands + 2, n - 2, e);
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		TEXT(0, "base", "MODEL", &o.base, "convert: the model that the adapter is for"),
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
		"[-o FILE] BASE ADAPTER[=SCALE] ...\n"
		"apr-lora convert --base MODEL [--arch NAME] [-f] [-o FILE] ADAPTER",
		"Apply adapters of low rank to a model, or convert them.", opts, TOOL_FILES
	};
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);

	if (level_begin(getenv("APR_CPU"), tool_note, &e) == 0)
		run(&o, operands, &e);
	return tool_end(&e);
}
