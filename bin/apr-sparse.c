/* apr-sparse: stream -> stream, tensors stored without their zeros */
#include <string.h>

#include "cli/filter.h"
#include "cli/input.h"
#include "cli/sparse/thinning.h"
#include "cli/tool.h"
#include "core/sandbox.h"

struct options {
	const char *trusted;
	bool dry_run, json;
	struct output_options output;
};

/* Print what can be gained, then give the form. */
static int
convert(struct thinning *t, const struct options *o, const struct input *in, struct source *source,
        struct err *e)
{
	const struct out_options where = { .path = o->output.path, .force = o->output.force,
		.input = in->held, .from = in->path };
	struct sink *sink = filter_sink(&where, e);
	struct buf notes = { 0 };
	struct flow f;

	if (!sink)
		return -1;
	if (!t->counted)
		thinning_note_possible(t, &notes);
	tool_notes(&notes);
	thinning_flow(t, &f);
	if (filter_flow(source, sink, o->output.progress, &f, e) == 0 && !t->counted)
		thinning_note_counted(t, &notes);
	tool_notes(&notes);
	buf_free(&notes);
	sink_close(sink);
	return e->code == ERR_NONE ? 0 : -1;
}

/* Count first, so that exact figures are printed before the work. */
static int
count(struct thinning *t, const struct options *o, struct source *source, struct err *e)
{
	struct buf text = { 0 };
	int r = 0;

	if (thinning_count(t, source, o->output.progress, e) < 0)
		return -1;
	thinning_note_possible(t, &text);
	if (!o->dry_run)
		thinning_note_counted(t, &text);
	tool_notes(&text);
	if (o->dry_run) {
		thinning_put(t, o->json, &text);
		r = tool_print(&text, e);
	}
	buf_free(&text);
	return r;
}

static int
run(struct thinning *t, const struct options *o, const char *path, struct err *e)
{
	bool twice = !o->dry_run && t->form.kind != SPARSE_NONE && input_reopens(path);
	struct input in, again;

	input_trust(path, o->trusted);
	sandbox_write(o->output.path, o->output.force);
	sandbox_prepare();
	if (twice) {
		input_prepare(path);
		input_prepare(path);
	}
	if (input_open(&in, path, e) == 0 && thinning_begin(t, in.source, e) == 0 &&
	    ((!twice && !o->dry_run) || count(t, o, in.source, e) == 0) && !o->dry_run) {
		if (!twice)
			convert(t, o, &in, in.source, e);
		else if (input_reopen(&again, &in, e) == 0)
			convert(t, o, &in, again.source, e);
		if (twice)
			input_close(&again, e);
	}
	return input_close(&in, e);
}

static int
parse(struct thinning *t, const struct options *o, const char *form, struct err *e)
{
	if (!form)
		return tool_misused(e, "a form is missing: csr, bitmap, block:N or dense");
	if (sparse_form_parse(form, &t->form, e) < 0)
		return err_hint(e, "%s --help", tool_name());
	if (t->form.kind == SPARSE_NONE && (t->threshold > 0 || o->dry_run))
		return tool_misused(e, "dense takes neither --threshold nor --dry-run");
	if (o->json && !o->dry_run)
		return tool_misused(e, "--json needs --dry-run");
	return 0;
}

int
main(int argc, char **argv)
{
	static struct options o;
	static struct thinning t;
	static const struct opt opts[] = {
		DECIMAL(0, "threshold", "T", &t.threshold, 0, 1000000000,
		        "first set values of a magnitude up to T to zero"),
		FLAG('n', "dry-run", &o.dry_run,
		     "print what each tensor would become, and write nothing"),
		FLAG(0, "json", &o.json, "with --dry-run: print one object per line"),
		OPT_OUTPUT_STREAM(&o.output),
		OPT_TRUSTED(&o.trusted),
		OPT_END
	};
	static const struct tool tool = {
		"apr-sparse",
		"[--threshold T] [-n [--json]] [--trusted-key KEY] [-f] [-o FILE]\n"
		"FORM [FILE]",
		"Store the tensors of a stream without their zeros: csr, bitmap, block:N or dense.", opts, 2
	};
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);
	const char *path = NULL;

	if (parse(&t, &o, operands[0], &e) == 0 && (path = tool_input(operands[1], &e)))
		run(&t, &o, path, &e);
	thinning_close(&t);
	return tool_end(&e);
}
