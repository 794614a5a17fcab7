/* apr-pack: stream -> a model file */
#include <string.h>

#include "cli/filter.h"
#include "cli/input.h"
#include "cli/tool.h"
#include "cli/vault.h"
#include "core/near.h"
#include "core/sandbox.h"
#include "formats/create.h"
#include "imports/classic/classic.h"

#define NO_RESERVE UINT64_MAX
#define OWN 32  /* options that one format has, at most */
#define ROWS 64 /* all options, at most */

struct options {
	const char *trusted;
	const char *format, *compress;
	uint64_t align, reserve, shard_size;
	bool plain, no_sync;
	struct format_choice own[OWN]; /* options that one format has */
	struct vault_options vault;
	struct output_options output;
};

/* What FORMAT may be, by index. */
static const char *
format_word(unsigned i)
{
	const struct format *f = format_row(i);

	if (!f)
		return NULL;
	return f->writes ? f->name : "";
}

static const struct format *
find_format(const char *name, struct err *e)
{
	const struct format *f = format_by_name(name);
	struct buf names = { 0 };

	if (f && f->writes)
		return f;
	format_names(&names, ", ", " and ");
	if (buf_string(&names))
		tool_misused(e, "format %.40s cannot be written; those that can are %s",
		             name, (char *)names.p);
	buf_free(&names);
	near_words(e, name, format_word);
	return NULL;
}

/* -t, else the suffix of -o, else apr2. */
static const struct format *
choose_format(const struct options *o, struct err *e)
{
	const struct format *f = NULL;

	if (o->format)
		return find_format(o->format, e);
	if (o->output.path)
		f = format_by_suffix(format_suffix(o->output.path));
	return f ? f : &format_apr2;
}

/* -t and the suffix of -o disagree. */
static void
note_suffix(const struct options *o, const struct format *f)
{
	const char *suffix = o->output.path ? format_suffix(o->output.path) : NULL;

	if (suffix && strcmp(f->suffix, suffix) != 0)
		tool_notef("%.100s is written as %s, as -t asks, although its suffix names "
		           "another format", o->output.path, f->name);
}

/* Options that one format has, and keys, are for that format. */
static int
check_own(const struct format *format, const struct options *o, struct err *e)
{
	const struct format *of = NULL;
	unsigned i;

	for (i = 0; i < OWN && o->own[i].option; i++)
		if (o->own[i].value && format_option_row(i, true, &of) && of != format)
			return tool_misused(e, "--%s needs -t %s", o->own[i].option->name, of->name);
	for (i = 0; !format->keys && vault_asked(&o->vault) && (of = format_row(i)); i++)
		if (of->keys)
			return tool_misused(e, "keys and passphrases need -t %s", of->name);
	return 0;
}

static const char *
method_word(unsigned i)
{
	static const char *const methods[] = { "lz4", "zstd", NULL };

	return methods[i];
}

/* -z METHOD. */
static int
find_codec(const struct format *format, const struct options *o, struct format_options *how,
           struct err *e)
{
	if (!o->compress)
		return 0;
	if (!format->writes->compresses)
		return tool_misused(e, "%s has no compression", format->name);
	how->raw = format->writes->raw && strcmp(o->compress, "none") == 0;
	if (how->raw || codec_parse(o->compress, &how->codec, &how->level, e) == 0)
		return 0;
	near_words(e, o->compress, method_word);
	return err_hint(e, "%s --help", tool_name());
}

/* Fill how from the options; refuse what the format cannot write. */
static int
find_options(const struct format *format, const struct options *o,
             struct format_options *how, struct err *e)
{
	how->own = o->own;
	how->own_count = OWN;
	how->align = (unsigned)o->align;
	how->plain = o->plain;
	how->shard_size = o->shard_size;
	how->reserves = o->reserve != NO_RESERVE;
	how->reserve = how->reserves ? o->reserve : 0;
	if (check_own(format, o, e) < 0)
		return -1;
	if (create_check_options(format, how, e) < 0)
		return err_hint(e, "%s --help", tool_name());
	if (find_codec(format, o, how, e) < 0)
		return -1;
	if (create_check_output(format, how, o->output.path, e) < 0)
		return err_hint(e, "%s --help", tool_name());
	return 0;
}

/* A sealed model can only be stored without change. */
static int
may_be_sealed(const struct format *format, const struct options *o, const char *name,
              struct err *e)
{
	if (!format->writes->sealed) {
		err_set(e, ERR_FORMAT, name, "is sealed, which %s cannot hold: ExportFailed",
		        format->title);
		return err_hint(e, "apr-decrypt opens it");
	}
	if (o->compress)
		return tool_misused(e, "-z: a sealed model cannot be compressed");
	if (o->shard_size)
		return tool_misused(e, "--shard-size: a sealed model must be one file");
	return 0;
}

static void
note_dense(const struct format *format, const struct model *m)
{
	size_t n = model_sparse_count(m);

	if (n && !format->writes->sparse)
		tool_notef("%zu of %zu tensors are made dense: %s has no sparse form", n,
		           m->tensor_count, format->title);
}

static int
pack(const char *path, const struct options *o, struct err *e)
{
	const struct format *format = choose_format(o, e);
	struct format_options how = { .codec = NULL };
	struct out_options where = { .path = o->output.path, .force = o->output.force,
		.no_sync = o->no_sync };
	struct flow f = { 0 };
	struct ring vault = { .key = NULL };
	struct input in;
	struct sink *sink = NULL;

	if (!format || find_options(format, o, &how, e) < 0)
		return -1;
	sandbox_write(o->output.path, o->output.force);
	sandbox_spool();
	sandbox_prepare();
	if (vault_to_write(&vault, &o->vault, e) < 0) {
		ring_free(&vault);
		return -1;
	}
	how.vault = &vault.vault;
	input_trust(path, o->trusted);
	if (input_open_sealed(&in, path, e) == 0) {
		where.input = in.held;
		where.from = in.path;
		if (!in.source->plan->sealed || may_be_sealed(format, o, in.source->name, e) == 0)
			in.source = classic_for(format, in.source, tool_note, e);
		if (in.source && e->code == ERR_NONE)
			sink = create_sink(format, &where, &how, e);
		if (sink) {
			note_suffix(o, format);
			note_dense(format, in.source->plan);
			filter_flow(in.source, sink, o->output.progress, &f, e);
		}
	}
	sink_close(sink);
	ring_free(&vault);
	return input_close(&in, e);
}

/* The options that one format has, as rows; their values go to own. */
static struct opt *
add_own(struct opt *to, struct format_choice *own)
{
	unsigned i, n = format_choices(own, OWN, true);

	for (i = 0; i < n; i++)
		to = opt_add_named(to, own[i].option->name, own[i].option->arg, own[i].option->help,
		                   &own[i].value);
	return to;
}

static const char *
make_names(struct buf *b)
{
	format_names(b, ", ", " or ");
	buf_text(b, " (default: by the suffix of -o)");
	return buf_string(b) ? (char *)b->p : "";
}

/* The formats and their options come from the list of formats. */
static const char *
make_usage(struct buf *b)
{
	buf_text(b, "[-t ");
	format_names(b, "|", "|");
	buf_text(b, "] [-z none|lz4|zstd[:LEVEL]]\n"
	         "[--align BYTES] [--plain] [--reserve BYTES] [--shard-size BYTES]\n");
	format_option_usage(b, true);
	buf_text(b, "\n[--sign-key KEY] [--sign-passphrase-file FILE] [-r KEY ... |\n"
	         "--passphrase-file FILE | --passphrase-fd N | --passphrase-env NAME]\n"
	         "[--trusted-key KEY] [--no-sync] [-f] [-o FILE] [FILE]");
	return buf_string(b) ? (char *)b->p : "";
}

int
main(int argc, char **argv)
{
	static struct options o = { .reserve = NO_RESERVE };
	struct buf names = { 0 }, usage = { 0 };
	struct opt opts[ROWS] = { OPT_END }, *to = opts;
	const struct opt first[] = {
		TEXT('t', "to", "FORMAT", &o.format, make_names(&names)),
		TEXT('z', "compress", "METHOD", &o.compress,
		     "apr2: lz4 or zstd[:1-19], for tensors that get smaller;\n"
		     "apr1: none, lz4, zstd or zstd:19"),
		NUMBER(0, "align", "BYTES", &o.align, 1, UINT32_MAX,
		     "align tensor data to a power of two, 32 to 65536"),
		FLAG(0, "plain", &o.plain,
		     "all but apr2: leave out signatures and side files"),
		BYTES(0, "reserve", "BYTES", &o.reserve, 0, FORMAT_RESERVE,
		     "leave room in the header for longer metadata, at most 16M"),
		BYTES(0, "shard-size", "BYTES", &o.shard_size, 1, UINT64_MAX,
		     "write several files, each with at most BYTES of tensor data"),
		OPT_END
	};
	static const struct opt last[] = {
		OPT_VAULT_WRITE(&o.vault),
		FLAG(0, "no-sync", &o.no_sync, "do not wait until the file is on the disk"),
		OPT_OUTPUT(&o.output),
		OPT_TRUSTED(&o.trusted),
		OPT_END
	};
	const struct tool tool = { "apr-pack", make_usage(&usage),
		"Write a stream as a model file.", opts, 1 };
	struct err e = ERR_INIT;
	char **operands;

	to = add_own(opt_add(to, first), o.own);
	to = opt_add(to, last);
	*to = (struct opt)OPT_END;
	operands = tool_begin(&tool, argc, argv);

	pack(operands[0], &o, &e);
	buf_free(&names);
	buf_free(&usage);
	return tool_end(&e);
}
