/* apr-unpack: any model file -> stream */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/filter.h"
#include "cli/select.h"
#include "cli/tool.h"
#include "cli/vault.h"
#include "core/buf.h"
#include "core/opened.h"
#include "core/remote.h"
#include "core/sandbox.h"
#include "formats/announce.h"
#include "formats/format.h"

#define LENT 512 /* maximum number of files */
#define OWN 32  /* maximum number of options of single formats */
#define ROWS 64 /* maximum number of all options */

struct options {
	struct select_options select;
	struct format_options format;
	struct format_choice own[OWN]; /* options of single formats */
	struct vault_options vault;
	struct output_options output;
	const char *places, *from;
	uint64_t remote; /* descriptor, or 0 */
};

/* Refuses options that apply only to another format. */
static int
check_own(const struct source *source, const struct format *format,
          const struct options *o, struct err *e)
{
	const struct format *of = NULL;
	unsigned i;

	for (i = 0; i < OWN && o->own[i].option; i++)
		if (o->own[i].value && format_option_row(i, false, &of) &&
		    of->options != format->options && o->own[i].option != format->shared)
			return err_set(e, ERR_INVALID, source->name, "%s--%s needs a file of format %s",
			               o->own[i].option->mismatch ? o->own[i].option->mismatch : "",
			               o->own[i].option->name, of->name);
	for (i = 0; !format->keys && vault_asked(&o->vault) && (of = format_row(i)); i++)
		if (of->keys)
			return err_set(e, ERR_INVALID, source->name,
			               "keys and passphrases need a file of format %s", of->name);
	return 0;
}

/* Files that the parent process has open too. */
static int lent[LENT];
static size_t lent_count;

/* Take the list of --places. The sandbox keeps the files. If one is closed, a file opened
 * later must not be taken for it. */
static int
take_lent(const char *list, struct err *e)
{
	char *end;

	while (list && *list) {
		unsigned long fd = strtoul(list, &end, 10);

		if (end == list || (*end && *end != ',') || fd > INT_MAX || lent_count == LENT)
			return tool_misused(e, "--places: not a list of descriptors: %.80s", list);
		if (fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0) {
			lent_count = 0;
			return 0;
		}
		lent[lent_count++] = (int)fd;
		list = *end ? end + 1 : end;
	}
	return 0;
}

/* The number of the file among them that this process has opened by its name, or -1. */
static int
place_of(int opened)
{
	struct stat a, b;
	size_t i;

	if (fstat(opened, &a) < 0 || !S_ISREG(a.st_mode))
		return -1;
	for (i = 0; i < lent_count; i++)
		if (fstat(lent[i], &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
			return (int)i;
	return -1;
}

/* Opens the files that options of single formats name; the sandbox keeps them. */
static void
open_own(const struct options *o)
{
	unsigned i;

	for (i = 0; i < OWN && o->own[i].option; i++)
		if (o->own[i].value && o->own[i].option->arg &&
		    strcmp(o->own[i].option->arg, FORMAT_FILE) == 0)
			opened_add(o->own[i].value, false);
}

/* A remote model while it flows: the caller's flow, and two hooks around its own. */
static struct {
	const struct flow *flow;
	const struct format *format;
	const struct source *source;
	const char *path;
} remote;

/* The bytes of the tensors that are wanted are fetched ahead. If that fails, so will reading. */
static const bool *
announce(void *ctx)
{
	const bool *wanted = remote.flow->wanted ? remote.flow->wanted(ctx) : NULL;
	struct err ignored = ERR_INIT;

	format_announce(remote.format, remote.source, remote.path, wanted, &ignored);
	return wanted;
}

/* The stream does not end before the digests hold. */
static int
prove(void *ctx, struct sink *sink, struct err *e)
{
	if (remote.flow->finish && remote.flow->finish(ctx, sink, e) < 0)
		return -1;
	return remote_prove(remote.path, e);
}

static int
run_flow(struct source *source, const struct format *format, struct sink *sink,
         const char *path, const struct options *o, const struct flow *f, struct err *e)
{
	struct flow own = *f;

	if (remote_is(path)) {
		remote.flow = f;
		remote.format = format;
		remote.source = source;
		remote.path = path;
		own.wanted = announce;
		own.finish = prove;
	}
	return filter_flow(source, sink, o->output.progress, &own, e);
}

static int
unpack(const char *path, const struct options *o, const struct flow *f, struct err *e)
{
	struct format_options how = o->format;
	struct ring vault = { .key = NULL };
	struct out_options where = { .path = o->output.path, .force = o->output.force };
	const struct format *format;
	struct source *source = NULL;
	struct sink *sink = NULL;
	int status = -1;

	path = tool_input(path, e);
	if (!path)
		return -1;
	if (o->remote)
		remote_adopt(path, (int)o->remote);
	sandbox_read(path);
	open_own(o);
	sandbox_write(o->output.path, o->output.force);
	if (o->format.from || format_may_spool(path))
		sandbox_spool();
	sandbox_prepare();
	if (vault_to_read(&vault, &o->vault, e) < 0) {
		ring_free(&vault);
		return -1;
	}
	how.vault = &vault.vault;
	how.use = f->wanted ? FORMAT_SOME : FORMAT_ALL;
	how.own = o->own;
	how.own_count = OWN;
	sandbox_enter();
	where.from = path;
	source = format_open_path(path, &how, tool_note, &format, &where.input, e);
	ring_free(&vault);
	if (source && check_own(source, format, o, e) < 0) {
		status = -1;
	} else if (source && source->plan->sealed && f->operation) {
		err_set(e, ERR_USAGE, source->name, "is sealed: --only and --except need a decrypted model");
		err_hint(e, "apr-decrypt --only decrypts some of the tensors");
	} else if (source) {
		source->sealed_too = true;
		sink = filter_sink(&where, e);
		if (sink)
			sink->place_of = lent_count > 0 ? place_of : NULL;
		if (sink)
			status = run_flow(source, format, sink, path, o, f, e);
	}
	sink_close(sink);
	source_close(source);
	if (where.input >= 0)
		close(where.input);
	return status;
}

/* Appends the options of single formats as rows; their values go to own. */
static struct opt *
add_own(struct opt *to, struct format_choice *own)
{
	unsigned i, n = format_choices(own, OWN, false);

	for (i = 0; i < n; i++)
		to = opt_add_named(to, own[i].option->name, own[i].option->arg, own[i].option->help,
		                   &own[i].value);
	return to;
}

/* The options of formats come from the list of formats. */
static const char *
make_usage(struct buf *b)
{
	buf_text(b, "[--only REGEX] [--except REGEX] [--from NAME] [--strict] [--max-memory BYTES]\n");
	format_option_usage(b, false);
	buf_text(b, " [--trusted-key KEY.pub] [-i FILE ... |\n"
	         "--passphrase-file FILE | --passphrase-fd N | --passphrase-env NAME]\n"
	         "[--places FD] [--remote FD] [-f] [-o FILE] [FILE]");
	return buf_string(b) ? (char *)b->p : "";
}

int
main(int argc, char **argv)
{
	static struct options o;
	struct buf usage = { 0 };
	struct opt opts[ROWS] = { OPT_END }, *to = opts;
	static const struct opt first[] = {
		OPT_SELECT(&o.select),
		TEXT(0, "from", "NAME", &o.from, "read FILE as this format, whatever it looks like"),
		FLAG(0, "strict", &o.format.strict, "reject what is otherwise accepted with a note"),
		BYTES(0, "max-memory", "BYTES", &o.format.memory, 1 << 10,
		     UINT64_C(1) << 40,
		     "largest window for decompression (default: 32M)"),
		OPT_END
	};
	static const struct opt last[] = {
		OPT_VAULT_READ(&o.vault),
		TEXT(0, "places", "FD", &o.places,
		     "send the offsets of tensors in FILE to a tool that has it open as FD"),
		NUMBER(0, "remote", "FD", &o.remote, 3, INT_MAX,
		       "read FILE, a URL, through the helper at the socket FD"),
		OPT_OUTPUT_STREAM(&o.output),
		OPT_END
	};
	const struct tool tool = { "apr-unpack", make_usage(&usage),
		"Turn a model file (GGUF, APR, safetensors, or a stream) into a stream.", opts, 1 };
	struct selection s;
	struct flow f = { 0 };
	struct err e = ERR_INIT;
	char **operands;

	to = add_own(opt_add(to, first), o.own);
	to = opt_add(to, last);
	*to = (struct opt)OPT_END;
	operands = tool_begin(&tool, argc, argv);
	if (take_lent(o.places, &e) == 0 && format_choose(o.from, &o.format.from, &e) == 0 &&
	    select_open(&s, &o.select, tool.name, &f, &e) == 0)
		unpack(operands[0], &o, &f, &e);
	select_close(&s);
	buf_free(&usage);
	return tool_end(&e);
}
