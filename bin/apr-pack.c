/* apr-pack: stream -> a model file */
#include <stdio.h>
#include <string.h>

#include "core/sandbox.h"
#include "formats/format.h"
#include "tool/filter.h"
#include "tool/input.h"
#include "tool/tool.h"

#define NO_RESERVE UINT64_MAX

struct options {
	const char *format, *compress;
	uint64_t align, reserve, shard_size;
	bool plain, no_sync;
	struct output_options output;
};

static const struct format *
find_format(const char *name, struct err *e)
{
	const struct format *f = format_by_name(name);

	if (!f || !f->create) {
		tool_misused(e, "no format %.40s can be written; there are apr2, apr2-64, "
		             "gguf and safetensors", name);
		return NULL;
	}
	return f;
}

/* -o NAME/ asks for a folder. */
static bool
is_folder(const char *path)
{
	return path && *path && path[strlen(path) - 1] == '/';
}

static int
find_options(const struct format *format, const struct options *o,
             struct format_options *how, struct err *e)
{
	if (o->align && o->align != 32 && o->align != 64)
		return tool_misused(e, "--align is 32 or 64");
	if (o->compress && !format->compresses)
		return tool_misused(e, "%s has no compression", format->name);
	if (o->compress && codec_parse(o->compress, &how->codec, &how->level, e) < 0)
		return err_hint(e, "%s --help", tool_name());
	if (is_folder(o->output.path) && !format->create_folder)
		return tool_misused(e, "-o %.100s: a model in %s is one file, not a folder",
		                    o->output.path, format->title);
	if (o->shard_size && (!o->output.path || strcmp(o->output.path, "-") == 0))
		return tool_misused(e, "--shard-size needs -o: files with names");
	if (o->shard_size && !format->create_shards)
		return tool_misused(e, "a model in %s is one file", format->title);
	if (o->reserve != NO_RESERVE && !format->reserves)
		return tool_misused(e, "%s has no room to reserve", format->name);
	how->align = (unsigned)o->align;
	how->plain = o->plain;
	how->shard_size = o->shard_size;
	how->reserves = o->reserve != NO_RESERVE;
	how->reserve = how->reserves ? o->reserve : 0;
	return 0;
}

static struct sink *
open_sink(const struct format *format, const struct format_options *how,
          const struct out_options *where, struct err *e)
{
	struct out out;

	if (is_folder(where->path))
		return format->create_folder(where, how, e);
	if (how->shard_size)
		return format->create_shards(where, how, e);
	if (out_open(&out, where, e) == 0)
		return format->create(&out, how, e);
	out_abandon(&out);
	return NULL;
}

/* What is sealed can be stored as it is, and no other way. */
static int
may_be_sealed(const struct format *format, const struct options *o, const char *name,
              struct err *e)
{
	if (format != &format_apr2) {
		err_set(e, ERR_FORMAT, name, "is sealed, which %s cannot hold: ExportFailed",
		        format->title);
		return err_hint(e, "apr-decrypt opens it");
	}
	if (o->compress)
		return tool_misused(e, "-z: what is sealed does not get shorter");
	if (o->shard_size)
		return tool_misused(e, "--shard-size: a sealed model is one file");
	return 0;
}

static int
pack(const char *path, const struct options *o, struct err *e)
{
	const struct format *format = find_format(o->format, e);
	struct format_options how = { .codec = NULL };
	struct out_options where = { .path = o->output.path, .force = o->output.force,
		.no_sync = o->no_sync };
	struct flow f = { 0 };
	struct input in;
	struct sink *sink = NULL;

	if (!format || find_options(format, o, &how, e) < 0)
		return -1;
	sandbox_write(o->output.path);
	sandbox_spool();
	if (input_open_sealed(&in, path, e) == 0) {
		where.input = in.held;
		if (!in.source->plan->sealed || may_be_sealed(format, o, in.source->name, e) == 0)
			sink = open_sink(format, &how, &where, e);
		if (sink)
			filter_flow(in.source, sink, o->output.progress, &f, e);
	}
	sink_close(sink);
	return input_close(&in, e);
}

int
main(int argc, char **argv)
{
	static struct options o = { .format = "apr2", .reserve = NO_RESERVE };
	static const struct opt opts[] = {
		{ 't', "to", "FORMAT", OPT_TEXT, &o.format,
		  "apr2 (the default), apr2-64, gguf or safetensors", 0, 0 },
		{ 'z', "compress", "METHOD", OPT_TEXT, &o.compress,
		  "apr2: lz4 or zstd[:1-19], for tensors that lose by it", 0, 0 },
		{ 0, "align", "BYTES", OPT_NUMBER, &o.align,
		  "alignment of tensor data: 32 or 64", 32, 64 },
		{ 0, "plain", NULL, OPT_FLAG, &o.plain,
		  "all but apr2: leave out signatures and side files", 0, 0 },
		{ 0, "reserve", "BYTES", OPT_BYTES, &o.reserve,
		  "room in the header for longer metadata, at most 16M", 0, FORMAT_RESERVE },
		{ 0, "shard-size", "BYTES", OPT_BYTES, &o.shard_size,
		  "several files, each with at most so much tensor data", 1, UINT64_MAX },
		{ 0, "no-sync", NULL, OPT_FLAG, &o.no_sync,
		  "do not wait until the disk has it", 0, 0 },
		OPT_OUTPUT(&o.output),
		OPT_END
	};
	static const struct tool tool = {
		"apr-pack",
		"[-t apr2|apr2-64|gguf|safetensors] [-z lz4|zstd[:LEVEL]] [--align 32|64]\n"
		"[--plain] [--reserve BYTES] [--shard-size BYTES] [--no-sync] [-f]\n"
		"[-o FILE] [FILE]",
		"Write a stream as a model file.", opts, 1
	};
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);

	pack(operands[0], &o, &e);
	return tool_end(&e);
}
