/* apr-rename: stream -> stream, tensors with other names */
#include <stdlib.h>
#include <string.h>

#include "adapt/names/rename.h"
#include "arch/guess.h"
#include "cli/filter.h"
#include "cli/input.h"
#include "cli/tool.h"
#include "core/mem.h"
#include "core/reader.h"
#include "core/sandbox.h"
#include "report/lines.h"
#include "report/table.h"

struct options {
	const char *map, *schema, *arch, *trusted;
	bool strict, dry_run, json;
	struct output_options output;
};

struct renaming {
	const struct options *o;
	struct rename rules;
	struct renames names;
};

/* ---- the plan ---- */

static int
change_plan(void *ctx, struct model *out, struct err *e)
{
	return renames_apply(&((struct renaming *)ctx)->names, out, e);
}

static void
put_one(struct buf *b, const char *old, const char *new, const struct table *table,
        bool json)
{
	struct buf name = { 0 };

	if (json) {
		lines_json(b, json_pack("{s:s,s:s}", "name", old, "new", new));
		return;
	}
	buf_printf(b, "%s -> ", table_name(&name, table->name, old));
	buf_printf(b, "%s\n", table_name(&name, 0, new));
	buf_free(&name);
}

/* --dry-run: print the names that change, and how many. */
static int
print_plan(const struct renaming *r, const struct model *m, struct err *e)
{
	const struct table table = table_of(m);
	struct buf b = { 0 };
	size_t i;
	int status = 0;

	for (i = 0; status == 0 && i < m->tensor_count; i++)
		if (r->names.name[i]) {
			put_one(&b, tensor_name(m->tensors[i]), r->names.name[i], &table,
			        r->o->json);
			status = tool_print(&b, e);
		}
	if (status == 0 && !r->o->json) {
		buf_printf(&b, "%zu of %zu tensors get another name\n", r->names.changed,
		           m->tensor_count);
		status = tool_print(&b, e);
	}
	buf_free(&b);
	return status;
}

/* ---- what is asked ---- */

static int
read_file(struct buf *b, const char *path, struct err *e)
{
	struct reader in;

	if (reader_open(&in, path, e) < 0)
		return -1;
	reader_rest(&in, b, SCHEMA_BYTES);
	reader_close(&in);
	if (b->n > SCHEMA_BYTES)
		err_set(e, ERR_CORRUPT, path, "is too long for a list of names");
	return e->code == ERR_NONE ? 0 : -1;
}

/* The form that --schema names; whether it names one. */
static bool
is_form(const char *name, enum arch_form *form)
{
	static const char *const names[] = { [ARCH_GGUF] = "gguf", [ARCH_FOLDER] = "hf",
		[ARCH_APR] = "apr" };
	size_t i;

	*form = ARCH_APR;
	for (i = 0; i < 3; i++)
		if (name && strcmp(name, names[i]) == 0) {
			*form = (enum arch_form)i;
			return true;
		}
	return false;
}

/* Whether --schema names a file, and not a form or an architecture. */
static bool
is_file(const char *name)
{
	enum arch_form form;

	return name && !is_form(name, &form) && !arch_known(name);
}

/* Make the schema of an architecture. */
static int
use_arch(struct renaming *r, const struct model *m, const char *where, struct err *e)
{
	const struct options *o = r->o;
	enum arch_form form;
	bool named = is_form(o->schema, &form);
	const struct arch *a = arch_find(o->arch ? o->arch : named ? NULL : o->schema, m, where,
	                                 e);

	r->rules.arch = a;
	if (!a || (o->strict && arch_check(a->name, m, where, e) < 0))
		return -1;
	return schema_arch(&r->rules.schema, a, form, e);
}

/* Read --map or --schema, inside the sandbox. */
static int
load_names(struct renaming *r, const struct model *m, const char *where, struct err *e)
{
	const struct options *o = r->o;
	const char *path = o->map ? o->map : o->schema;
	struct buf b = { 0 };
	int status;

	if (!path)
		return 0;
	if (!o->map && !is_file(path))
		return use_arch(r, m, where, e);
	status = read_file(&b, path, e);
	if (status == 0 && o->map)
		status = schema_read_map(&r->rules.schema, b.p, b.n, path, e);
	else if (status == 0)
		status = schema_read(&r->rules.schema, b.p, b.n, path, e);
	buf_free(&b);
	if (status == 0 && o->strict && r->rules.schema.architecture)
		status = arch_check(r->rules.schema.architecture, m, where, e);
	return status;
}

/* Take the rules, and the operand after them, if there is one, as the input. */
static int
take_operands(struct renaming *r, char **operands, const char **path, struct err *e)
{
	size_t i;

	for (i = 0; operands[i]; i++) {
		if (strchr(operands[i], '=')) {
			if (rename_add(&r->rules, operands[i], e) < 0)
				return -1;
		} else if (*path || operands[i + 1]) {
			return tool_misused(e, "one operand too many, or not a rule REGEX=NAME: %.80s",
			                    operands[*path ? i - 1 : i]);
		} else {
			*path = operands[i];
		}
	}
	if (!!r->rules.count + !!r->o->map + !!r->o->schema != 1)
		return tool_misused(e, "%s", r->rules.count || r->o->map || r->o->schema
		                    ? "rules, --map and --schema cannot be combined"
		                    : "no names: give rules REGEX=NAME, --map or --schema");
	if (r->o->map && strcmp(r->o->map, "-") == 0 && (!*path || strcmp(*path, "-") == 0))
		return tool_misused(e, "the map and the model cannot both be standard input");
	if (r->o->arch && (!r->o->schema || is_file(r->o->schema)))
		return tool_misused(e, "--arch needs --schema gguf, hf or apr");
	if (r->o->json && !r->o->dry_run)
		return tool_misused(e, "--json needs --dry-run");
	return 0;
}

/* ---- the run ---- */

static int
convert(struct renaming *r, const struct input *in, struct err *e)
{
	const struct output_options *to = &r->o->output;
	const struct out_options where = { .path = to->path, .force = to->force,
		.input = in->held, .from = in->path };
	struct flow f = { .plan = change_plan, .ctx = r,
		.operation = r->names.changed ? "apr-rename" : NULL };
	struct sink *sink = filter_sink(&where, e);

	if (!sink)
		return -1;
	if (r->names.unknown && r->names.changed)
		tool_notef("%zu tensor%s no rule and keep%s the name", r->names.unknown,
		           r->names.unknown == 1 ? " has" : "s have",
		           r->names.unknown == 1 ? "s" : "");
	tool_notef("%zu of %zu tensors get another name", r->names.changed,
	           in->source->plan->tensor_count);
	filter_flow(in->source, sink, to->progress, &f, e);
	sink_close(sink);
	return e->code == ERR_NONE ? 0 : -1;
}

static int
run(struct renaming *r, const char *path, struct err *e)
{
	const struct options *o = r->o;
	struct input in;

	input_trust(path, o->trusted);
	sandbox_write(o->output.path, o->output.force);
	sandbox_read(o->map ? o->map : is_file(o->schema) ? o->schema : NULL);
	if (input_open(&in, path, e) == 0 &&
	    load_names(r, in.source->plan, in.source->name, e) == 0 &&
	    rename_find(&r->rules, in.source->plan, in.source->name, &r->names, e) == 0) {
		if (o->dry_run)
			print_plan(r, in.source->plan, e);
		else
			convert(r, &in, e);
	}
	return o->dry_run ? input_abandon(&in, e) : input_close(&in, e);
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		TEXT(0, "map", "FILE", &o.map, "read new names from a JSON object {\"OLD\": \"NEW\"}"),
		TEXT(0, "schema", "NAME", &o.schema,
		     "use the names of a schema: gguf, hf, apr, an architecture,\nor a file"),
		TEXT(0, "arch", "NAME", &o.arch, "the architecture of the model, for --schema"),
		FLAG(0, "strict", &o.strict, "fail if a tensor has no rule, or is missing"),
		FLAG('n', "dry-run", &o.dry_run, "print the names that change, and write nothing"),
		FLAG(0, "json", &o.json, "with --dry-run: print one object per line"),
		OPT_OUTPUT_STREAM(&o.output),
		OPT_TRUSTED(&o.trusted),
		OPT_END
	};
	static const struct tool tool = {
		"apr-rename",
		"[--strict] [-n] [--json] [--trusted-key KEY] [-f] [-o FILE]\n"
		"REGEX=NAME ... | --map FILE | --schema NAME [--arch NAME] [FILE]",
		"Give the tensors of a stream other names.", opts, TOOL_FILES
	};
	struct renaming r = { .o = &o };
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);
	const char *path = NULL;

	r.rules.strict = o.strict;
	if (take_operands(&r, operands, &path, &e) == 0)
		run(&r, path, &e);
	renames_free(&r.names);
	rename_free(&r.rules);
	return tool_end(&e);
}
