/* apr-pack: stream -> a model file */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/filter.h"
#include "cli/input.h"
#include "cli/near.h"
#include "cli/tool.h"
#include "cli/vault.h"
#include "core/num.h"
#include "core/sandbox.h"
#include "formats/format.h"
#include "model/suffix.h"

#define NO_RESERVE UINT64_MAX
#define ALIGN_MIN 32 /* less than this no program asks for */
#define ALIGN_MAX 65536

struct options {
	const char *trusted;
	const char *format, *compress, *model_type, *hint;
	uint64_t align, reserve, shard_size;
	bool plain, no_sync, aligned, chunked;
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
	return f->create ? f->name : "";
}

static const struct format *
find_format(const char *name, struct err *e)
{
	const struct format *f = format_by_name(name);

	if (!f || !f->create) {
		tool_misused(e, "format %.40s cannot be written; those that can are apr1, "
		             "apr2, apr2-64, gguf and safetensors", name);
		near_words(e, name, format_word);
		return NULL;
	}
	return f;
}

/* Where -t is absent, the suffix of -o decides. Where both speak, -t is obeyed. */
static const struct format *
choose_format(const struct options *o, struct err *e)
{
	const char *suffix = o->output.path ? suffix_container(o->output.path) : NULL;

	if (!o->format)
		return suffix && strcmp(suffix, "apr") != 0 ? format_by_name(suffix)
		                                            : &format_apr2;
	return find_format(o->format, e);
}

/* -t and the suffix of -o disagree. */
static void
note_suffix(const struct options *o, const struct format *f)
{
	const char *suffix = o->output.path ? suffix_container(o->output.path) : NULL;

	/* apr stands for apr1, apr2 and apr2-64. */
	if (suffix && strncmp(f->name, suffix, strlen(suffix)) != 0)
		tool_notef("%.100s is written as %s, as -t asks, although its suffix names "
		           "another format", o->output.path, f->name);
}

/* -o NAME/ asks for a folder. */
static bool
is_folder(const char *path)
{
	return path && *path && path[strlen(path) - 1] == '/';
}

/* What APR version 1 alone has. */
static int
find_apr1(const struct format *format, const struct options *o, struct format_options *how,
          struct err *e)
{
	int hint = o->hint ? format_backend(o->hint) : -1;

	if (format != &format_apr1)
		return o->model_type || o->hint || o->aligned || o->chunked ||
		       vault_asked(&o->vault)
		           ? tool_misused(e, "--model-type, --trueno-native, --backend-hint, "
		                          "--streaming, keys and passphrases need -t apr1") : 0;
	if (o->hint && hint < 0)
		return tool_misused(e, "unknown backend: %.40s", o->hint);
	if (o->hint && !o->aligned)
		return tool_misused(e, "--backend-hint needs --trueno-native");
	how->model_type = o->model_type;
	how->aligned = o->aligned;
	how->chunked = o->chunked;
	how->hint = (unsigned)(hint + 1);
	how->raw = o->compress && strcmp(o->compress, "none") == 0;
	return 0;
}

static const char *
method_word(unsigned i)
{
	static const char *const methods[] = { "lz4", "zstd", NULL };

	return methods[i];
}

static int
find_options(const struct format *format, const struct options *o,
             struct format_options *how, struct err *e)
{
	if (find_apr1(format, o, how, e) < 0)
		return -1;
	if (o->align && (!num_power_of_two(o->align) || o->align < ALIGN_MIN ||
	                 o->align > ALIGN_MAX))
		return tool_misused(e, "--align must be a power of two from %d to %d, not %" PRIu64,
		                    ALIGN_MIN, ALIGN_MAX, o->align);
	if (o->compress && !format->compresses)
		return tool_misused(e, "%s has no compression", format->name);
	if (o->compress && !how->raw && codec_parse(o->compress, &how->codec, &how->level, e) < 0) {
		near_words(e, o->compress, method_word);
		return err_hint(e, "%s --help", tool_name());
	}
	if (is_folder(o->output.path) && !format->create_folder)
		return tool_misused(e, "-o %.100s: a model in %s is one file, not a folder",
		                    o->output.path, format->title);
	if (o->shard_size && (!o->output.path || strcmp(o->output.path, "-") == 0))
		return tool_misused(e, "--shard-size needs -o FILE");
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
		return tool_misused(e, "-z: a sealed model cannot be compressed");
	if (o->shard_size)
		return tool_misused(e, "--shard-size: a sealed model must be one file");
	return 0;
}

static int
pack(const char *path, const struct options *o, struct err *e)
{
	const struct format *format = choose_format(o, e);
	struct format_options how = { .codec = NULL };
	struct out_options where = { .path = o->output.path, .force = o->output.force,
		.no_sync = o->no_sync };
	struct flow f = { 0 };
	struct tool_vault vault = { .key = NULL };
	struct input in;
	struct sink *sink = NULL;

	if (!format || find_options(format, o, &how, e) < 0)
		return -1;
	sandbox_write(o->output.path, o->output.force);
	sandbox_spool();
	sandbox_prepare();
	if (vault_to_write(&vault, &o->vault, e) < 0) {
		vault_close(&vault);
		return -1;
	}
	how.vault = &vault.vault;
	input_trust(path, o->trusted);
	if (input_open_sealed(&in, path, e) == 0) {
		where.input = in.held;
		where.from = in.path;
		if (!in.source->plan->sealed || may_be_sealed(format, o, in.source->name, e) == 0)
			sink = open_sink(format, &how, &where, e);
		if (sink)
			note_suffix(o, format);
		if (sink)
			filter_flow(in.source, sink, o->output.progress, &f, e);
	}
	sink_close(sink);
	vault_close(&vault);
	return input_close(&in, e);
}

int
main(int argc, char **argv)
{
	static struct options o = { .reserve = NO_RESERVE };
	static const struct opt opts[] = {
		TEXT('t', "to", "FORMAT", &o.format,
		     "apr1, apr2, apr2-64, gguf or safetensors (default: by the suffix of -o)"),
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
		TEXT(0, "model-type", "NAME", &o.model_type,
		     "apr1: set the model type, such as NEURAL_CUSTOM"),
		FLAG(0, "trueno-native", &o.aligned,
		     "apr1: align tensors to 64 bytes, with an index"),
		TEXT(0, "backend-hint", "NAME", &o.hint,
		     "apr1: with --trueno-native, the backend for all tensors"),
		FLAG(0, "streaming", &o.chunked,
		     "apr1: compress chunks separately, with an index"),
		OPT_VAULT_WRITE(&o.vault),
		FLAG(0, "no-sync", &o.no_sync, "do not wait until the file is on the disk"),
		OPT_OUTPUT(&o.output),
		OPT_TRUSTED(&o.trusted),
		OPT_END
	};
	static const struct tool tool = {
		"apr-pack",
		"[-t apr1|apr2|apr2-64|gguf|safetensors] [-z none|lz4|zstd[:LEVEL]]\n"
		"[--align BYTES] [--plain] [--reserve BYTES] [--shard-size BYTES]\n"
		"[--model-type NAME] [--trueno-native] [--backend-hint NAME] [--streaming]\n"
		"[--sign-key KEY] [--sign-passphrase-file FILE] [-r KEY ... |\n"
		"--passphrase-file FILE | --passphrase-fd N | --passphrase-env NAME]\n"
		"[--trusted-key KEY] [--no-sync] [-f] [-o FILE] [FILE]",
		"Write a stream as a model file.", opts, 1
	};
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);

	pack(operands[0], &o, &e);
	return tool_end(&e);
}
