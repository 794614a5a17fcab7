/* apr-adapt: stream -> stream, a model in the form of another program */
#include <stdlib.h>
#include <string.h>

#include "adapt/adapt.h"
#include "cli/filter.h"
#include "cli/input.h"
#include "cli/tool.h"
#include "core/dir_name.h"
#include "core/sandbox.h"
#include "core/thread.h"
#include "kernels/level.h"

struct options {
	const char *type, *trusted;
	uint64_t jobs;
	struct adapt_options adapt;
	struct output_options output;
};

/* ---- what is asked ---- */

static int
parse_form(struct options *o, const char *name, struct err *e)
{
	static const struct {
		const char *name;
		enum arch_form form;
	} forms[] = { { "gguf", ARCH_GGUF }, { "hf", ARCH_FOLDER }, { "apr", ARCH_APR } };
	size_t i;

	if (!name)
		return tool_misused(e, "a form is missing: gguf, hf or apr");
	for (i = 0; i < sizeof forms / sizeof *forms; i++)
		if (strcmp(forms[i].name, name) == 0) {
			o->adapt.form = forms[i].form;
			return 0;
		}
	return tool_misused(e, "%.80s is not a form: gguf, hf or apr", name);
}

static int
parse_type(struct options *o, struct err *e)
{
	static const char *const types[] = { "f32", "f16", "bf16", "q8_0" };
	size_t i;

	if (!o->type)
		return 0;
	if (o->adapt.form != ARCH_GGUF)
		return tool_misused(e, "--type needs the form gguf");
	if (strcmp(o->type, "auto") == 0)
		return 0;
	for (i = 0; i < sizeof types / sizeof *types; i++)
		if (strcmp(types[i], o->type) == 0) {
			o->adapt.type = dtype_by_name(types[i]);
			return 0;
		}
	err_set(e, ERR_USAGE, NULL, "%.80s is not a type that this tool gives", o->type);
	return err_hint(e, "auto, f32, f16, bf16 or q8_0; apr-quant gives others");
}

/* ---- the run ---- */

/* The operation of the record that stands for a signature. */
static const char *
operation(const struct options *o)
{
	return o->adapt.form == ARCH_GGUF ? "apr-adapt gguf" :
	       o->adapt.form == ARCH_APR ? "apr-adapt apr" : "apr-adapt hf";
}

static int
adapt(struct options *o, const struct input *in, struct err *e)
{
	const struct out_options where = { .path = o->output.path, .force = o->output.force,
		.input = in->held, .from = in->path };
	struct flow f = { 0 };
	struct sink *sink = filter_sink(&where, e);
	struct source *source;

	if (!sink)
		return -1;
	in->source->note = tool_note;
	o->adapt.places = in->lent_count > 0;
	source = adapt_source(in->source, &o->adapt, e);
	if (source) {
		if (adapt_changes(source))
			f.operation = operation(o);
		else
			tool_note("the model already has this form, and passes unchanged");
		filter_flow(source, sink, o->output.progress, &f, e);
		source_close(source);
	}
	sink_close(sink);
	return e->code == ERR_NONE ? 0 : -1;
}

static int
run(struct options *o, char **operands, struct err *e)
{
	const char *path = operands[0] ? operands[1] : NULL;
	struct input in;
	char *name;

	if (parse_form(o, operands[0], e) < 0 || parse_type(o, e) < 0)
		return -1;
	input_trust(path, o->trusted);
	sandbox_write(o->output.path, o->output.force);
	sandbox_spool();
	sandbox_prepare();
	if (level_begin(getenv("APR_CPU"), tool_note, e) < 0)
		return -1;
	name = path && strcmp(path, "-") != 0 ? dir_last(path) : NULL;
	o->adapt.file = name;
	if (input_open(&in, path, e) == 0)
		adapt(o, &in, e);
	free(name);
	return input_close(&in, e);
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		TEXT(0, "arch", "NAME", &o.adapt.arch,
		     "adapt the model as this architecture: a model_type, or a name of GGUF"),
		TEXT(0, "type", "TYPE", &o.type,
		     "gguf: type of matrices: auto, f32, f16, bf16 or q8_0 (default: auto)"),
		TEXT(0, "pre", "NAME", &o.adapt.pre, "gguf: name of the pre-tokenizer"),
		TEXT(0, "chat-template", "FILE", &o.adapt.chat_template,
		     "gguf: the file whose chat template holds if several differ"),
		FLAG(0, "relaxed", &o.adapt.relaxed,
		     "pass tensors that the architecture does not have under their names"),
		FLAG(0, "no-record", &o.adapt.no_record,
		     "gguf: write only the metadata that llama.cpp's converter writes"),
		OPT_JOBS(&o.jobs),
		OPT_OUTPUT_STREAM(&o.output),
		OPT_TRUSTED(&o.trusted),
		OPT_END
	};
	static const struct tool tool = {
		"apr-adapt",
		"[--arch NAME] [--type TYPE] [--pre NAME]\n"
		"[--chat-template FILE] [--relaxed] [--no-record] [-j N]\n"
		"[--trusted-key KEY] [-f] [-o FILE] gguf|hf|apr [FILE]",
		"Give a model the names, values and metadata of another program's form.", opts, 2
	};
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);

	o.adapt.jobs = o.jobs ? (unsigned)o.jobs : thread_count();
	run(&o, operands, &e);
	return tool_end(&e);
}
