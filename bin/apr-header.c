/* apr-header: what a model file is, from its header alone */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/each.h"
#include "cli/header/header.h"
#include "cli/input.h"
#include "cli/tool.h"
#include "core/sandbox.h"
#include "formats/format.h"
#include "load/load_tokenizer.h"

struct options {
	bool tensors, types, vocab, filters, full, header;
	bool checksum, json;
	uint64_t context;    /* CONTEXT_NONE, or 0: that of the model */
	const char *trusted, *from;
	struct format_options format;
};

struct opened {
	const char *path;
	const struct format *format;
	struct source *source;
	uint64_t file_bytes; /* READER_UNKNOWN from a pipe */
	bool verified;       /* its signature was verified */
};

/* Without an offset in a stream, where tensors do not have one. */
static struct tensor_line
line_of(const struct header *x, size_t i)
{
	const struct format_reads *reads = ((const struct format *)x->format)->reads;
	struct tensor_line line = { .t = x->source->plan->tensors[i], .offset = LINE_SCATTERED };
	const struct codec *codec = NULL;

	if (reads->tensor_offset && reads->tensor_offset(x->source, i) != FORMAT_SCATTERED)
		line.offset = reads->tensor_offset(x->source, i);
	if (reads->tensor_stored)
		codec = reads->tensor_stored(x->source, i, &line.stored);
	line.codec = codec ? codec->name : NULL;
	line.file = reads->tensor_file ? reads->tensor_file(x->source, i) : NULL;
	return line;
}

/* Returns the facts of the container, with the name and size of the file before them. */
static json_t *
container_facts(const struct opened *x, struct err *e)
{
	json_t *o = x->format->reads->describe(x->source, e), *all;

	all = o ? json_pack("{s:s}", "file", x->path) : NULL;
	if (all && x->file_bytes != READER_UNKNOWN)
		json_object_set_new(all, "bytes", json_from_u64(x->file_bytes));
	if (o && (!all || json_object_update_missing(all, o) < 0))
		err_memory(e);
	json_decref(o);
	if (e->code == ERR_NONE)
		return all;
	json_decref(all);
	return NULL;
}

static int
print(const struct opened *x, const struct options *o, struct err *e)
{
	struct header h = { .source = x->source, .line = line_of, .format = x->format,
		.verified = x->verified, .json = o->json, .checksum = o->checksum,
		.context = o->context };
	int r;

	h.container = container_facts(x, e);
	if (!h.container)
		return -1;
	r = (o->tensors ? header_tensors : o->types ? header_types : o->full ? header_full
	     : o->filters ? header_filters : o->header ? header_container : header_facts)(&h, e);
	json_decref(h.container);
	return r;
}

/* ---- where it is read from ---- */

/* --vocab: also from a file that is only a tokenizer. */
static int
open_vocab(const char *path, const struct options *o, struct err *e)
{
	const struct tokenizer_options list = { .list = true };
	struct tokenizer *t = load_tokenizer_from(path, &o->format, &list, e);
	int r = t ? header_vocab(t, o->json, e) : -1;

	tokenizer_free(t);
	return r;
}

/* Reads only the header. */
static int
open_model(const char *path, struct options *o, struct err *e)
{
	struct opened x = { .path = path };
	struct stat st;
	int held = -1;

	o->format.closed = true;
	x.source = format_open_path(path, &o->format, tool_note, &x.format, &held, e);
	if (x.source) {
		x.path = x.source->name;
		x.file_bytes = fstat(held, &st) == 0 && S_ISREG(st.st_mode)
		                   ? (uint64_t)st.st_size : READER_UNKNOWN;
		print(&x, o, e);
	}
	source_close(x.source);
	if (strcmp(path, "-") == 0 && e->code == ERR_NONE)
		tool_drain();
	if (held >= 0)
		close(held);
	return e->code == ERR_NONE ? 0 : -1;
}

static int
open_file(const char *path, struct options *o, struct err *e)
{
	sandbox_read(path);
	if (o->format.from || format_may_spool(path))
		sandbox_spool();
	sandbox_enter();
	return o->vocab ? open_vocab(path, o, e) : open_model(path, o, e);
}

/* --trusted-key: reads the stream that the verifier passes on, since a signature covers
 * the content and not the container. The signature holds once the stream has ended. */
static int
open_trusted(const char *path, const struct options *o, struct err *e)
{
	struct opened x = { .format = &format_stream, .file_bytes = READER_UNKNOWN,
		.verified = true };
	struct input in;

	if (o->context != CONTEXT_NONE || o->vocab || o->filters || o->full || o->checksum)
		return tool_misused(e, "with --trusted-key only facts and tensors are shown: "
		                    "use apr-verify first");
	input_trust(path, o->trusted);
	if (input_open(&in, path, e) == 0 && source_finish(in.source, e) == 0) {
		x.source = in.source;
		x.path = in.source->name;
		print(&x, o, e);
	}
	return input_close(&in, e);
}

/* The views exclude each other; only some show a checksum. */
static int
check_options(const struct options *o, struct err *e)
{
	unsigned other = (unsigned)o->tensors + o->types + o->vocab + o->filters +
	                 (o->context != CONTEXT_NONE);

	if (other + o->full + o->header > 1)
		return tool_misused(e, "only one of --list, --quantization, --context, --vocab, "
		                    "--filters, --full and --header can be given");
	if (o->checksum && other)
		return tool_misused(e, "--checksum goes with --header, with --full, or alone");
	return 0;
}

int
main(int argc, char **argv)
{
	static struct options o = { .context = CONTEXT_NONE };
	static const struct opt opts[] = {
		FLAG('l', "list", &o.tensors,
		     "list the name, type, shape, offset and bytes of each tensor"),
		FLAG('t', "tensors", &o.tensors, NULL),
		FLAG(0, "header", &o.header, "print only the facts of the container"),
		FLAG(0, "full", &o.full, "print facts, all metadata unshortened, and tensors"),
		FLAG(0, "quantization", &o.types, "print only what the types of the tensors are"),
		FLAG(0, "vocab", &o.vocab, "list the tokens: id, type, score and text"),
		FLAG(0, "filters", &o.filters, "print the mel filter bank"),
		FLAG(0, "checksum", &o.checksum, "read all data to verify the checksums of the file"),
		NUMBER(0, "context", "N", &o.context, 0, UINT32_MAX,
		       "print the memory for N positions (0: the model's)"),
		FLAG(0, "json", &o.json,
		     "print one object; with --list, --vocab and --filters, one per line"),
		TEXT(0, "from", "NAME", &o.from, "read FILE as this format, whatever it looks like"),
		FLAG(0, "strict", &o.format.strict, "reject what is otherwise accepted with a note"),
		OPT_TRUSTED(&o.trusted),
		OPT_END
	};
	static const struct tool tool = {
		"apr-header",
		"[-l | --header | --full | --quantization | --vocab | --filters | --context N]\n"
		"[--checksum] [--json] [--from NAME] [--strict] [--trusted-key KEY] [FILE ...]",
		"Show what a model file contains, from its header alone.", opts, TOOL_FILES
	};
	struct err e = ERR_INIT;
	char **files = tool_begin(&tool, argc, argv);
	const char *path = tool_input(each_file(files, !o.json), &e);

	if (path && check_options(&o, &e) == 0 && format_choose(o.from, &o.format.from, &e) == 0) {
		if (o.trusted)
			open_trusted(path, &o, &e);
		else
			open_file(path, &o, &e);
	}
	return tool_end(&e);
}
