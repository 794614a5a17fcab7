/* apr-header: what a model file is, from its header alone */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/each.h"
#include "cli/input.h"
#include "cli/tool.h"
#include "core/sandbox.h"
#include "core/text.h"
#include "formats/format.h"
#include "report/facts.h"
#include "report/lines.h"
#include "report/memory.h"
#include "report/table.h"

#define CONTEXT_NONE UINT64_MAX

struct options {
	bool tensors, json, types;
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

/* ---- tensors ---- */

/* FORMAT_SCATTERED in a stream too, where tensors do not have an offset. */
static uint64_t
offset_of(const struct opened *x, size_t i)
{
	return x->format->reads->tensor_offset ? x->format->reads->tensor_offset(x->source, i)
	                                       : FORMAT_SCATTERED;
}

/* Returns the codec that compressed tensor i and sets *bytes to its stored size; NULL if
 * it is not compressed. */
static const struct codec *
stored_as(const struct opened *x, size_t i, uint64_t *bytes)
{
	return x->format->reads->tensor_stored ? x->format->reads->tensor_stored(x->source, i, bytes)
	                                : NULL;
}

static void
put_tensor_json(struct buf *b, const struct opened *x, size_t i)
{
	const struct tensor *t = x->source->plan->tensors[i];
	const struct codec *codec;
	json_t *shape = json_array(), *o;
	uint64_t stored, at = offset_of(x, i);
	unsigned d;

	for (d = 0; shape && d < tensor_ndim(t); d++)
		json_array_append_new(shape, json_from_u64(tensor_dims(t)[d]));
	o = json_pack("{s:s,s:s,s:o,s:o,s:o}", "name", tensor_name(t), "dtype",
	              tensor_type(t)->name, "shape", shape, "offset", at == FORMAT_SCATTERED ? json_null() : json_from_u64(at),
	              "bytes", json_from_u64(tensor_bytes(t)));
	codec = stored_as(x, i, &stored);
	if (codec && (json_object_set_new(o, "stored_bytes", json_from_u64(stored)) < 0 ||
	              json_object_set_new(o, "compression", json_string(codec->name)) < 0)) {
		json_decref(o);
		o = NULL;
	}
	if (o && x->format->reads->tensor_file)
		json_object_set_new(o, "file", json_string(x->format->reads->tensor_file(x->source, i)));
	lines_json_of(b, o, each_name());
}

static void
put_tensor(struct buf *b, const struct opened *x, size_t i, const struct table *table)
{
	const struct tensor *t = x->source->plan->tensors[i];
	char file[1024], shape[TENSOR_SHAPE_TEXT], offset[32] = "-";
	const struct codec *codec;
	struct buf name = { 0 };
	const char *path;
	uint64_t stored;

	if (offset_of(x, i) != FORMAT_SCATTERED)
		snprintf(offset, sizeof offset, "%" PRIu64, offset_of(x, i));
	buf_printf(b, "%s %-*s %-*s %12s %12" PRIu64,
	           table_name(&name, table->name, tensor_name(t)), table->type,
	           tensor_type(t)->name, table->shape, tensor_shape_text(t, shape), offset,
	           tensor_bytes(t));
	buf_free(&name);
	codec = stored_as(x, i, &stored);
	if (codec)
		buf_printf(b, " %-5s %12" PRIu64, codec->name, stored);
	if (x->format->reads->tensor_file) {
		path = x->format->reads->tensor_file(x->source, i);
		buf_printf(b, "  %s", text_quote(file, sizeof file, path, strlen(path)));
	}
	buf_text(b, "\n");
}

/* Returns all facts: those of the container first, then those of any model. */
static json_t *
all_facts(const struct opened *x, struct err *e)
{
	json_t *o = x->format->reads->describe(x->source, e), *all;
	int r = -1;

	all = o ? json_pack("{s:s}", "file", x->path) : NULL;
	if (all && x->file_bytes != READER_UNKNOWN)
		json_object_set_new(all, "bytes", json_from_u64(x->file_bytes));
	if (all)
		r = json_object_update_missing(all, o) < 0
		        ? err_memory(e) : facts_add(all, x->source->plan, x->verified, e);
	json_decref(o);
	if (r == 0)
		return all;
	json_decref(all);
	return NULL;
}

static int
list_tensors(const struct opened *x, bool json, struct err *e)
{
	const struct model *m = x->source->plan;
	const struct table table = table_of(m);
	struct buf b = { 0 };
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < m->tensor_count; i++) {
		if (json)
			put_tensor_json(&b, x, i);
		else
			put_tensor(&b, x, i, &table);
		r = tool_print(&b, e);
	}
	buf_free(&b);
	return r;
}

/* --quantization: only the facts about types. */
static int
show_types(const struct opened *x, bool json, struct err *e)
{
	json_t *o = json_object();
	struct buf b = { 0 };
	int r = memory_types(o, x->source->plan, e);

	if (r == 0 && !json)
		facts_put(&b, o);
	if (r == 0 && json)
		lines_json(&b, json_incref(o));
	if (r == 0)
		r = tool_print(&b, e);
	json_decref(o);
	buf_free(&b);
	return r;
}

static int
show(const struct opened *x, bool json, uint64_t context, struct err *e)
{
	json_t *all = all_facts(x, e), *metadata = NULL;
	struct buf b = { 0 };
	int r;

	if (all && context != CONTEXT_NONE && memory_add(all, x->source, context, e) < 0) {
		json_decref(all);
		return -1;
	}
	if (!all || (json && !(metadata = facts_metadata(x->source->plan, e)))) {
		json_decref(all);
		return -1;
	}
	if (json) {
		b.failed = json_object_set_new(all, "metadata", metadata) < 0;
		lines_json(&b, all);
	} else {
		facts_put(&b, all);
		facts_put_metadata(&b, x->source->plan);
		json_decref(all);
	}
	r = tool_print(&b, e);
	buf_free(&b);
	return r;
}

static int
print(const struct opened *x, const struct options *o, struct err *e)
{
	return o->tensors ? list_tensors(x, o->json, e)
	       : o->types ? show_types(x, o->json, e) : show(x, o->json, o->context, e);
}

/* ---- where it is read from ---- */

/* Reads only the header. */
static int
open_file(const char *path, struct options *o, struct err *e)
{
	struct opened x = { .path = path };
	struct stat st;
	int held = -1;

	sandbox_read(path);
	if (o->format.from || format_may_spool(path))
		sandbox_spool();
	sandbox_enter();
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

/* --trusted-key: reads the stream that the verifier passes on, since a signature covers
 * the content and not the container. The signature holds once the stream has ended. */
static int
open_trusted(const char *path, const struct options *o, struct err *e)
{
	struct opened x = { .format = &format_stream, .file_bytes = READER_UNKNOWN,
		.verified = true };
	struct input in;

	input_trust(path, o->trusted);
	if (o->context != CONTEXT_NONE)
		return tool_misused(e, "--context reads side files: use apr-verify first");
	if (input_open(&in, path, e) == 0 && source_finish(in.source, e) == 0) {
		x.source = in.source;
		x.path = in.source->name;
		print(&x, o, e);
	}
	return input_close(&in, e);
}

int
main(int argc, char **argv)
{
	static struct options o = { .context = CONTEXT_NONE };
	static const struct opt opts[] = {
		FLAG('l', "list", &o.tensors,
		     "list the name, type, shape, offset and bytes of each tensor"),
		FLAG('t', "tensors", &o.tensors, NULL),
		FLAG(0, "quantization", &o.types, "print only what the types of the tensors are"),
		NUMBER(0, "context", "N", &o.context, 0, UINT32_MAX,
		       "print the memory for N positions (0: the model's)"),
		FLAG(0, "json", &o.json, "print one object; with --list, one per line"),
		TEXT(0, "from", "NAME", &o.from, "read FILE as this format, whatever it looks like"),
		FLAG(0, "strict", &o.format.strict, "reject what is otherwise accepted with a note"),
		OPT_TRUSTED(&o.trusted),
		OPT_END
	};
	static const struct tool tool = {
		"apr-header", "[-l | --quantization | --context N] [--json] [--from NAME] [--strict]\n"
		"[--trusted-key KEY] [FILE ...]",
		"Show what a model file contains, from its header alone.", opts, TOOL_FILES
	};
	struct err e = ERR_INIT;
	char **files = tool_begin(&tool, argc, argv);
	const char *path = tool_input(each_file(files, !o.json), &e);

	if (o.tensors + o.types + (o.context != CONTEXT_NONE) > 1)
		path = NULL, tool_misused(&e, "only one of --list, --quantization and --context "
		                          "can be given");
	if (format_choose(o.from, &o.format.from, &e) < 0)
		return tool_end(&e);
	if (path && o.trusted)
		open_trusted(path, &o, &e);
	else if (path)
		open_file(path, &o, &e);
	return tool_end(&e);
}
