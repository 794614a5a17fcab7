/* apr-verify: stream -> stream, if its signature holds */
#include <string.h>
#include <sys/stat.h>

#include "cli/each.h"
#include "cli/filter.h"
#include "cli/input.h"
#include "cli/tool.h"
#include "core/sandbox.h"
#include "core/thread.h"
#include "report/signature_text.h"
#include "stage/verification.h"

struct options {
	bool quiet, json, weights;
	const char *not_before;
	struct opt_list keys;
	struct verdict_wants wants;
	char date[STATEMENT_DATE + 1];
	uint64_t jobs;
	struct output_options output;
};

static int
run(struct verification *v, struct source *source, struct sink *sink, bool progress, struct err *e)
{
	struct flow f;

	if (source->plan->sealed)
		return verification_of_seal(v, source, e);
	verification_hooks(v, source->name, &f);
	return filter_flow(source, sink, progress, &f, e);
}

/* Read the model once, and send it to the output if to_output is true. */
static int
pass(struct verification *v, const struct options *o, const char *path, bool to_output,
     struct err *e)
{
	struct out_options where = { .path = o->output.path, .force = o->output.force };
	struct sink *sink = NULL;
	struct input in;

	if ((o->quiet ? input_open_sealed : input_open)(&in, path, e) == 0) {
		where.input = in.held;
		where.from = in.path;
		if (!to_output || (sink = filter_sink(&where, e)))
			run(v, in.source, sink, o->output.progress, e);
	}
	sink_close(sink);
	return input_close(&in, e);
}

/* Report the valid signature. */
static int
report(const struct verification *v, const struct options *o, const char *path, struct err *e)
{
	const struct digest *root = &v->witness.content.root;
	const char *name = path && strcmp(path, "-") != 0 ? path : "<stdin>";
	struct buf b = { 0 };
	int r = 0;

	if (o->json) {
		if (v->sealed)
			signature_put_seal_json(&b, &v->seal, name);
		else
			signature_put_json(&b, &v->verdict, name, root, o->wants.scope);
		r = tool_print(&b, e);
	} else if (!o->quiet) {
		signature_notes(&b, &v->verdict, name, root, o->wants.scope);
		tool_notes(&b);
	}
	buf_free(&b);
	return r;
}

static bool
is_file(const char *path)
{
	struct stat st;

	return path && strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* A file is verified before its first byte is sent, and again while it is sent: what was
 * verified is what is sent, even if the file changes meanwhile. */
static int
verify(struct verification *v, const struct options *o, const char *path, struct err *e)
{
	sandbox_write(o->output.path, o->output.force);
	v->bytes_signed = path && input_is_signed_apr1(path);
	if (!o->quiet && is_file(path)) {
		input_prepare(path);
		input_prepare(path);
		if (pass(v, o, path, false, e) < 0)
			return -1;
		verification_reset(v);
	}
	return pass(v, o, path, !o->quiet, e) < 0 ? -1 : report(v, o, path, e);
}

/* Load the keys, and let operands begin with the first model. Which operand is a key follows
 * from the command line alone: the content of a file never decides that the model comes from
 * standard input. */
static int
choose_keys(const struct options *o, char ***operands, struct trusted *keys, struct err *e)
{
	const char *first = **operands;
	bool two = first && (*operands)[1] && !(*operands)[2];

	if (o->keys.n > 0 && first && (trusted_is_named(first) || (two && !o->quiet)))
		return tool_misused(e, "give keys with --trusted-key or as an operand, not both");
	if (o->keys.n > 0)
		return trusted_files(keys, o->keys.items, o->keys.n, e);
	if (first && (two || trusted_is_named(first))) {
		++*operands;
		return trusted_files(keys, &first, 1, e);
	}
	if (first && trusted_is_key(first))
		return tool_misused(e, "%s is a key, not a model: use --trusted-key, or a key "
		                    "called NAME.pub", first);
	return trusted_load(keys, e);
}

/* A stream holds one model. */
static int
check_files(const struct options *o, char **files, struct err *e)
{
	if (files[0] && files[1] && !o->quiet)
		return tool_misused(e, "several FILEs need -q");
	return 0;
}

static int
choose_wants(struct options *o, struct err *e)
{
	o->wants.scope = o->weights ? SIGNATURE_WEIGHTS : SIGNATURE_ALL;
	if (!o->not_before)
		return 0;
	o->wants.not_before = o->date;
	return statement_date(o->not_before, o->date) == 0
	           ? 0 : tool_misused(e, "--not-before needs a day (2026-11-22), a time "
	                              "(2026-11-22T10:00:00Z), or seconds since 1970");
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		FLAG('q', "quiet", &o.quiet, "only verify: write no stream"),
		FLAG(0, "json", &o.json, "with -q: print the result as an object"),
		FLAG(0, "weights", &o.weights, "verify the weights only, not the metadata"),
		LIST(0, "trusted-key", "KEY", &o.keys,
		     "trust the public key in the file KEY, and no other"),
		TEXT(0, "expect-name", "NAME", &o.wants.name,
		     "require the signer to state this name of the model"),
		TEXT(0, "not-before", "DATE", &o.not_before,
		     "require the signer to state this date or a later one"),
		OPT_JOBS(&o.jobs),
		OPT_OUTPUT_STREAM(&o.output),
		OPT_END
	};
	static const struct tool tool = {
		"apr-verify", "[-q] [--json] [--weights] [--trusted-key KEY] [--expect-name NAME]\n"
		"[--not-before DATE] [-j N] [-f] [-o FILE] [KEY.pub] [FILE ...]",
		"Pass a stream on only if a trusted key has signed its content.", opts, TOOL_FILES
	};
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);
	struct trusted keys = { 0 };
	struct verification v = { .keys = &keys, .wants = &o.wants, .note = tool_note };

	v.jobs = o.jobs ? (unsigned)o.jobs : thread_count();
	if (o.json && !o.quiet)
		tool_misused(&e, "--json needs -q: standard output is the stream");
	else if (choose_wants(&o, &e) == 0 && choose_keys(&o, &operands, &keys, &e) == 0 &&
	         check_files(&o, operands, &e) == 0)
		verify(&v, &o, each_file(operands, false), &e);
	verification_reset(&v);
	trusted_free(&keys);
	return tool_end(&e);
}
