/* apr-meta: shows and changes the metadata of a model */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/filter.h"
#include "cli/input.h"
#include "cli/meta/edited.h"
#include "cli/meta/edits.h"
#include "cli/meta/inplace.h"
#include "cli/meta/listing.h"
#include "cli/tool.h"
#include "core/near.h"
#include "core/sandbox.h"
#include "formats/format.h"

struct options {
	bool json, markdown, in_place;
	const char *from, *trusted;
	struct output_options output;
};

struct meta_tool {
	struct options o;
	struct edits edits;
	char **words;     /* the operands of the command, without FILE */
	size_t count;
	const char *path; /* FILE, or NULL */
	const char *command;
};

/* ---- commands ---- */

struct command {
	const char *name;
	size_t least, most; /* number of words */
	const char *words;  /* their names, for messages */
	bool changes;
	int (*show)(struct meta_tool *t, struct source *s, struct err *e);
	int (*edit)(struct meta_tool *t, struct err *e); /* collects the edits */
};

static int
list(struct meta_tool *t, struct source *s, struct err *e)
{
	return listing_all(s, t->o.json, t->o.trusted, e);
}

static int
get(struct meta_tool *t, struct source *s, struct err *e)
{
	return listing_one(s, t->words[0], t->o.json, t->o.trusted, e);
}

static int
set(struct meta_tool *t, struct err *e)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		if (edits_set(&t->edits, t->words[i], e) < 0)
			return -1;
	return 0;
}

static int
delete(struct meta_tool *t, struct err *e)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		if (edits_delete(&t->edits, t->words[i], e) < 0)
			return -1;
	return 0;
}

static int
rename_key(struct meta_tool *t, struct err *e)
{
	return edits_rename(&t->edits, t->words[0], t->words[1], e);
}

static int
copy(struct meta_tool *t, struct err *e)
{
	if (!t->o.from)
		return tool_misused(e, "copy needs --from FILE");
	return 0; /* read later: it is a model */
}

static int
import(struct meta_tool *t, struct err *e)
{
	return edits_load(&t->edits, t->words[0], e);
}

static const struct command commands[] = {
	{ "list", 0, 0, "", false, list, NULL },
	{ "get", 1, 1, "KEY", false, get, NULL },
	{ "set", 1, SIZE_MAX, "KEY[:TYPE]=VALUE", true, NULL, set },
	{ "delete", 1, SIZE_MAX, "KEY", true, NULL, delete },
	{ "rename", 2, 2, "OLD NEW", true, NULL, rename_key },
	{ "copy", 0, SIZE_MAX, "", true, NULL, copy },
	{ "import", 1, 1, "FILE.json", true, NULL, import },
};
#define COMMANDS (sizeof commands / sizeof *commands)

static const char *
command_word(unsigned i)
{
	return i < COMMANDS ? commands[i].name : NULL;
}

static const struct command *
find_command(const char *name, struct err *e)
{
	size_t i;

	for (i = 0; name && i < COMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	if (!name)
		tool_misused(e, "COMMAND is missing: list, get, set, delete, rename, copy, import or card");
	else
		tool_misused(e, "unknown command %.40s", name);
	if (name)
		near_words(e, name, command_word);
	return NULL;
}

/* ---- operands ---- */

/* Whether the last of several words is FILE: it must be one with --in-place; otherwise a word
 * of set is not FILE if it has a "=", and another word is FILE if there is such a file. */
static bool
is_file(const struct meta_tool *t, const struct command *c, const char *word)
{
	struct stat st;

	if (t->o.in_place || strcmp(word, "-") == 0)
		return true;
	return c->edit == set ? !strchr(word, '=') : stat(word, &st) == 0;
}

static int
split_operands(struct meta_tool *t, const struct command *c, char **words, struct err *e)
{
	size_t n = 0;

	while (words[n])
		n++;
	if (n > c->least && (c->most != SIZE_MAX || is_file(t, c, words[n - 1])))
		t->path = words[--n];
	if (n < c->least)
		return tool_misused(e, "%s needs %s", c->name, c->words);
	t->words = words;
	t->count = n;
	if (c->edit == set)
		for (n = 1; n < t->count; n++)
			if (!strchr(words[n], '='))
				return tool_misused(e, "one operand too many: %.80s", words[n]);
	return n > c->most ? tool_misused(e, "one operand too many: %.80s", words[c->most]) : 0;
}

/* ---- work ---- */

static int
show(struct meta_tool *t, const struct command *c, struct err *e)
{
	struct input in;

	input_trust(t->path, t->o.trusted);
	sandbox_spool();
	if (input_open_sealed(&in, t->path, e) < 0)
		return input_close(&in, e);
	c->show(t, in.source, e);
	/* A verifier has the last word; otherwise the rest does not matter. */
	return t->o.trusted ? input_close(&in, e) : input_abandon(&in, e);
}

/* Reads the keys to copy from another model. */
static int
read_copied(struct meta_tool *t, struct err *e)
{
	struct input from;

	if (input_open(&from, t->o.from, e) < 0)
		return input_close(&from, e);
	edits_copy(&t->edits, from.source, t->words, t->count, e);
	return input_abandon(&from, e);
}

static int
filter(struct meta_tool *t, const struct command *c, struct err *e)
{
	const struct output_options *o = &t->o.output;
	struct out_options where = { .path = o->path, .force = o->force };
	struct flow f = { .ctx = NULL };
	struct edited d = { .from = NULL };
	struct sink *sink = NULL;
	struct input in;

	if (c->edit(t, e) < 0)
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
		edits_describe(&t->edits, c->name);
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
check_place(const struct meta_tool *t, const struct format *f, const struct source *s,
            struct err *e)
{
	if (source_check_open(s, e) < 0)
		return -1;
	if (!f->amend) {
		err_set(e, ERR_FORMAT, s->name, "is %s, which cannot be changed in place", f->title);
		return err_hint(e, "apr-unpack FILE | apr-meta ... | apr-pack writes a new file");
	}
	if (s->plan->signatures && !t->o.output.force) {
		err_set(e, ERR_INVALID, s->name, "is signed, and a change ends the signature");
		return err_hint(e, "-f changes it, and leaves a record of the signature");
	}
	return 0;
}

static int
write_header(struct meta_tool *t, const struct format *f, struct source *s, int to,
             struct err *e)
{
	struct edited d;
	struct out out;
	int r = edited_open(&d, s, &t->edits, e);

	edits_describe(&t->edits, t->command);
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
	struct meta_tool *t = ctx;
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
	          a.st_ino != b.st_ino))
		err_set(e, ERR_FORMAT, s->name, "is a model of several files, which cannot be "
		        "changed in place");
	else if (s && check_place(t, f, s, e) == 0)
		write_header(t, f, s, to, e);
	source_close(s);
	if (held >= 0)
		close(held);
	return e->code == ERR_NONE ? 0 : -1;
}

static int
change_in_place(struct meta_tool *t, const struct command *c, struct err *e)
{
	if (t->o.output.path || t->o.trusted || t->o.output.progress)
		return tool_misused(e, "--in-place cannot be combined with -o, --progress or --trusted-key");
	if (!t->path || strcmp(t->path, "-") == 0)
		return tool_misused(e, "--in-place needs FILE");
	return c->edit(t, e) < 0 ? -1 : inplace_change(t->path, make_header, t, e);
}

static int
run(struct meta_tool *t, char **operands, struct err *e)
{
	const struct command *c = find_command(operands[0], e);

	if (!c || split_operands(t, c, operands + 1, e) < 0)
		return -1;
	t->command = c->name;
	if (t->o.in_place && !c->changes)
		return tool_misused(e, "--in-place: %s changes nothing", c->name);
	return t->o.in_place ? change_in_place(t, c, e)
	       : c->changes ? filter(t, c, e) : show(t, c, e);
}

int
main(int argc, char **argv)
{
	static struct meta_tool t;
	static const struct opt opts[] = {
		FLAG(0, "in-place", &t.o.in_place,
		     "change FILE itself, without copying its tensors"),
		FLAG(0, "json", &t.o.json, "list, get: print one object per line"),
		TEXT(0, "from", "FILE", &t.o.from, "copy: the model that has the keys"),
		OPT_OUTPUT_STREAM(&t.o.output),
		OPT_TRUSTED(&t.o.trusted),
		OPT_END
	};
	static const struct tool tool = {
		"apr-meta",
		"list | get KEY | set KEY[:TYPE]=VALUE ... | delete KEY ... |\n"
		"rename OLD NEW | copy --from FILE [KEY ...] | import FILE.json\n"
		"[--in-place] [--json] [--trusted-key KEY] [-f] [-o FILE] [FILE]",
		"Show and change the metadata of a model.", opts, TOOL_FILES
	};
	struct err e = ERR_INIT;

	run(&t, tool_begin(&tool, argc, argv), &e);
	edits_free(&t.edits);
	return tool_end(&e);
}
