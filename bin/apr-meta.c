/* apr-meta: shows and changes the metadata of a model */
#include <sys/stat.h>
#include <unistd.h>

#include "cli/filter.h"
#include "cli/input.h"
#include "cli/meta/command.h"
#include "cli/meta/edited.h"
#include "cli/meta/inplace.h"
#include "cli/tool.h"
#include "core/sandbox.h"
#include "formats/format.h"

/* ---- work ---- */

static int
show(struct meta_command *t, struct err *e)
{
	struct input in;

	input_trust(t->path, t->o.trusted);
	sandbox_spool();
	if (input_open_sealed(&in, t->path, e) < 0)
		return input_close(&in, e);
	t->show(t, in.source, e);
	/* A verifier has the last word; otherwise the rest does not matter. */
	return t->o.trusted ? input_close(&in, e) : input_abandon(&in, e);
}

/* Reads the keys to copy from another model. */
static int
read_copied(struct meta_command *t, struct err *e)
{
	struct input from;

	if (input_open(&from, t->o.from, e) < 0)
		return input_close(&from, e);
	edits_copy(&t->edits, from.source, t->words, t->count, e);
	return input_abandon(&from, e);
}

static int
filter(struct meta_command *t, struct err *e)
{
	const struct output_options *o = &t->o.output;
	struct out_options where = { .path = o->path, .force = o->force };
	struct flow f = { .ctx = NULL };
	struct edited d = { .from = NULL };
	struct sink *sink = NULL;
	struct input in;

	if (t->edit(t, e) < 0 || input_spare(t->o.from, o, e) < 0)
		return -1;
	input_trust(t->path, t->o.trusted);
	sandbox_write(o->path, o->force);
	sandbox_spool();
	sandbox_prepare();
	if (t->o.from) {
		input_prepare(t->path);
		if (read_copied(t, e) < 0)
			return -1;
	}
	if (input_open(&in, t->path, e) == 0 &&
	    (!t->edits.file_name || edits_import(&t->edits, e) == 0) &&
	    edited_open(&d, in.source, &t->edits, e) == 0) {
		edits_describe(&t->edits, t->name);
		f.operation = d.changed ? t->edits.operation : NULL;
		where.input = in.held;
		where.from = in.path;
		sink = filter_sink(&where, e);
		if (sink)
			filter_flow(&d.source, sink, o->progress, &f, e);
	}
	sink_close(sink);
	edited_close(&d);
	return input_close(&in, e);
}

/* ---- in place ---- */

/* Whether this format, and this model, can be changed in place. */
static int
check_place(const struct meta_command *t, const struct format *f, const struct source *s,
            struct err *e)
{
	if (source_check_open(s, e) < 0)
		return -1;
	if (!f->amend) {
		err_set(e, ERR_FORMAT, s->name, "has the format \"%s\", which cannot be changed in place",
		        f->title);
		return err_hint(e, INPLACE_ELSE);
	}
	if (s->plan->signatures && !t->o.output.force) {
		err_set(e, ERR_INVALID, s->name, "is signed, and a change ends the signature");
		return err_hint(e, "-f changes it, and leaves a record of the signature");
	}
	return 0;
}

static int
write_header(struct meta_command *t, const struct format *f, struct source *s, int to,
             struct err *e)
{
	struct edited d;
	struct out out;
	int r = edited_open(&d, s, &t->edits, e);

	edits_describe(&t->edits, t->name);
	if (r == 0 && d.changed && (r = out_fd(&out, to, "header", e)) == 0) {
		r = f->amend(s, &d.source, t->edits.operation, &out, e);
		r = r == 0 ? out_flush(&out) : -1;
		out_abandon(&out);
		if (r == 0 && s->plan->signatures)
			tool_note("the signature is dropped, and a record of its claims kept");
	}
	edited_close(&d);
	return r;
}

/* In the child: the new header of the model in `file`. */
static int
make_header(void *ctx, int file, int to, struct err *e)
{
	struct meta_command *t = ctx;
	struct format_options how = { .use = FORMAT_PLACES };
	const struct format *f;
	struct source *s = NULL;
	struct stat a, b;
	int held = -1;

	sandbox_read(t->path);
	sandbox_spool();
	sandbox_prepare();
	if (t->o.from && read_copied(t, e) < 0)
		return -1;
	sandbox_enter();
	if (!t->edits.file_name || edits_import(&t->edits, e) == 0)
		s = format_open_path(t->path, &how, tool_note, &f, &held, e);
	if (s && (fstat(file, &a) < 0 || fstat(held, &b) < 0 || a.st_dev != b.st_dev ||
	          a.st_ino != b.st_ino)) {
		err_set(e, ERR_FORMAT, s->name, "is a model of several files, which cannot be "
		        "changed in place");
		err_hint(e, INPLACE_ELSE);
	} else if (s && check_place(t, f, s, e) == 0)
		write_header(t, f, s, to, e);
	source_close(s);
	if (held >= 0)
		close(held);
	return e->code == ERR_NONE ? 0 : -1;
}

static int
run(struct meta_command *t, char **operands, struct err *e)
{
	if (command_parse(t, operands, e) < 0)
		return -1;
	if (t->show)
		return show(t, e);
	if (!t->o.in_place)
		return filter(t, e);
	return t->edit(t, e) < 0 ? -1 : inplace_change(t->path, make_header, t, e);
}

int
main(int argc, char **argv)
{
	static struct meta_command t;
	static const struct opt opts[] = {
		FLAG(0, "in-place", &t.o.in_place,
		     "change FILE itself, without copying its tensors"),
		FLAG(0, "json", &t.o.json, "list, get, card: print one object per line"),
		FLAG(0, "markdown", &t.o.markdown, "card: print Markdown"),
		TEXT(0, "from", "FILE", &t.o.from, "copy: the model that has the keys"),
		OPT_OUTPUT_STREAM(&t.o.output),
		OPT_TRUSTED(&t.o.trusted),
		OPT_END
	};
	static const struct tool tool = {
		"apr-meta",
		"list | get KEY | set KEY[:TYPE]=VALUE ... | delete KEY ... |\n"
		"rename OLD NEW | copy --from FILE [KEY ...] | import FILE.json | card\n"
		"[--in-place] [--json] [--markdown] [--trusted-key KEY] [-f] [-o FILE] [FILE]",
		"Show and change the metadata of a model.", opts, TOOL_FILES
	};
	struct err e = ERR_INIT;

	run(&t, tool_begin(&tool, argc, argv), &e);
	edits_free(&t.edits);
	return tool_end(&e);
}
