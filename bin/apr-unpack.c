/* apr-unpack: any model file -> stream */
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/filter.h"
#include "cli/select.h"
#include "cli/tool.h"
#include "cli/vault.h"
#include "core/sandbox.h"
#include "formats/format.h"

#define NOT_LENT UINT64_MAX

struct options {
	struct select_options select;
	struct format_options format;
	struct vault_options vault;
	struct output_options output;
	uint64_t places;
};

/* What only a file of one format has was asked for. */
static int
check_format(const struct source *source, const struct format *format,
             const struct options *o, struct err *e)
{
	if (format == &format_apr1 ||
	    (!o->format.model_type && !o->format.payload && !vault_asked(&o->vault)))
		return 0;
	return err_set(e, ERR_INVALID, source->name, "ModelTypeMismatch: is not an APR version "
	               "1 file; only these have a model type, and keys of their own");
}

/* Is what was opened the file that whoever started this tool has open? */
static bool
is_lent(int opened, uint64_t lent)
{
	struct stat a, b;

	return lent != NOT_LENT && fstat(opened, &a) == 0 && fstat((int)lent, &b) == 0 &&
	       S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int
unpack(const char *path, const struct options *o, const struct flow *f, struct err *e)
{
	struct format_options how = o->format;
	struct tool_vault vault = { .key = NULL };
	struct out_options where = { .path = o->output.path, .force = o->output.force };
	const struct format *format;
	struct source *source = NULL;
	struct sink *sink = NULL;
	int status = -1;

	path = tool_input(path, e);
	if (!path)
		return -1;
	sandbox_read(path);
	sandbox_write(o->output.path, o->output.force);
	if (format_may_spool(path))
		sandbox_spool();
	sandbox_prepare();
	if (vault_to_read(&vault, &o->vault, e) < 0) {
		vault_close(&vault);
		return -1;
	}
	how.vault = &vault.vault;
	sandbox_enter();
	where.from = path;
	source = format_open_path(path, &how, tool_note, &format, &where.input, e);
	vault_close(&vault);
	if (source && check_format(source, format, o, e) < 0) {
		status = -1;
	} else if (source && source->plan->sealed && f->operation) {
		err_set(e, ERR_USAGE, source->name, "is sealed: --only and --except need a decrypted model");
		err_hint(e, "apr-decrypt --only decrypts some of the tensors");
	} else if (source) {
		source->sealed_too = true;
		sink = filter_sink(&where, e);
		if (sink)
			sink->places = is_lent(where.input, o->places);
		if (sink)
			status = filter_flow(source, sink, o->output.progress, f, e);
	}
	sink_close(sink);
	source_close(source);
	if (where.input >= 0)
		close(where.input);
	return status;
}

int
main(int argc, char **argv)
{
	static struct options o = { .places = NOT_LENT };
	static const struct opt opts[] = {
		OPT_SELECT(&o.select),
		FLAG(0, "strict", &o.format.strict, "reject what is otherwise accepted with a note"),
		BYTES(0, "max-memory", "BYTES", &o.format.memory, 1 << 10,
		     UINT64_C(1) << 40,
		     "largest window for decompression (default: 32M)"),
		TEXT(0, "expect-type", "NAME", &o.format.model_type,
		     "APR version 1: require this model type"),
		TEXT(0, "payload", "NAME", &o.format.payload,
		     "APR version 1: read the payload as this kind"),
		OPT_VAULT_READ(&o.vault),
		NUMBER(0, "places", "FD", &o.places, 0, INT_MAX,
		     "send the offsets of tensors in FILE to a tool that has it open as FD"),
		OPT_OUTPUT_STREAM(&o.output),
		OPT_END
	};
	static const struct tool tool = {
		"apr-unpack",
		"[--only REGEX] [--except REGEX] [--strict] [--max-memory BYTES]\n"
		"[--expect-type NAME] [--payload NAME] [--trusted-key KEY.pub] [-i FILE ... |\n"
		"--passphrase-file FILE | --passphrase-fd N | --passphrase-env NAME]\n"
		"[--places FD] [-f] [-o FILE] [FILE]",
		"Turn a model file (GGUF, APR, safetensors, or a stream) into a stream.", opts, 1
	};
	struct selection s;
	struct flow f = { 0 };
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);

	if (o.places != NOT_LENT)
		(void)fcntl((int)o.places, F_SETFD, FD_CLOEXEC); /* it is expected */
	if (select_open(&s, &o.select, tool.name, &f, &e) == 0)
		unpack(operands[0], &o, &f, &e);
	select_close(&s);
	return tool_end(&e);
}
