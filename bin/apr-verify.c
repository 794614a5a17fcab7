/* apr-verify: stream -> stream, if its signature holds */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/each.h"
#include "cli/filter.h"
#include "cli/input.h"
#include "cli/tool.h"
#include "core/sandbox.h"
#include "core/thread.h"
#include "crypto/origin.h"
#include "crypto/trusted.h"
#include "crypto/witness.h"
#include "report/signature_text.h"

struct options {
	bool quiet, json, weights;
	const char *not_before;
	struct opt_list keys;
	struct verdict_wants wants;
	char date[STATEMENT_DATE + 1];
	uint64_t jobs;
	struct output_options output;
};

struct verify {
	const struct options *o;
	const struct trusted *keys;
	struct witness witness;
	struct model plan;
	const char *name;      /* of what is read */
	bool bytes_signed;     /* an APR version 1 file with a signature of its own */
	struct buf dropped;    /* what of the plan's source was not signed */
	struct verdict verdict;
	bool sealed;           /* it is, and this holds for it */
	struct authentic_seal seal;
};

static int
not_signed(const struct verify *v, struct err *e)
{
	if (!v->bytes_signed)
		return err_set(e, ERR_SIGNATURE, NULL, "the model is not signed");
	err_set(e, ERR_SIGNATURE, NULL, "the content of the model is not signed: its signature "
	        "covers the bytes of the APR version 1 file");
	return err_hint(e, "apr-unpack --trusted-key KEY FILE verifies it, as does that option of "
	                "other tools");
}

static int
plan(void *ctx, struct model *out, struct err *e)
{
	struct verify *v = ctx;

	if (out->signatures == 0)
		return not_signed(v, e);
	/* No signature covers what a later version may have added to the plan, nor what
	 * the first container was. */
	json_object_clear(out->extra);
	if (origin_prune(out, &v->dropped, e) < 0)
		return -1;
	/* One of them is proved, and goes on. */
	out->signatures = 1;
	if (model_copy(&v->plan, out, e) < 0)
		return -1;
	return witness_begin(&v->witness, &v->plan, (unsigned)v->o->jobs, e);
}

static int
item(void *ctx, const struct item *in, struct item *out, struct err *e)
{
	struct verify *v = ctx;

	(void)out;
	if (in->kind == ITEM_OTHER)
		return 1; /* no signature covers it */
	if (in->kind == ITEM_SIGN) /* the one that holds is sent when it is known */
		return verdict_sign(&v->verdict, in, e) < 0 ? -1 : 1;
	return witness_item(&v->witness, in, e);
}

static int
data(void *ctx, const struct item *in, const uint8_t *p, size_t n, struct sink *sink,
     struct err *e)
{
	struct verify *v = ctx;

	(void)sink;
	if (in->kind == ITEM_SIGN)
		return verdict_add(&v->verdict, p, n, e);
	return in->kind == ITEM_OTHER ? 0 : witness_data(&v->witness, in, p, n, e);
}

/* What goes out must be what was seen: only where nothing does. */
static int
placed(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct verify *v = ctx;

	if (sink)
		return 0;
	return witness_placed(&v->witness, in, v->name, e) < 0 ? -1 : 1;
}

static int
item_end(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct verify *v = ctx;

	(void)sink;
	if (in->kind == ITEM_SIGN || in->kind == ITEM_OTHER)
		return 0;
	return witness_item_end(&v->witness, in, e);
}

/* DONE has not been sent yet. */
static int
finish(void *ctx, struct sink *sink, struct err *e)
{
	struct verify *v = ctx;

	if (witness_finish(&v->witness, e) < 0 ||
	    verdict_give(&v->verdict, &v->witness.content, v->keys, &v->o->wants, e) < 0)
		return -1;
	if (!sink)
		return 0;
	if (v->dropped.n && buf_string(&v->dropped))
		tool_notef("dropped from the record of the first file, because not signed: %s",
		           (char *)v->dropped.p);
	return verdict_send(&v->verdict, sink, e);
}

static void
forget(struct verify *v)
{
	verdict_free(&v->verdict);
	buf_free(&v->dropped);
	witness_free(&v->witness);
	model_free(&v->plan);
	*v = (struct verify){ .o = v->o, .keys = v->keys };
}

/* Of a sealed model, the signature of its seal. */
static int
verify_seal(struct verify *v, struct source *source, struct err *e)
{
	if (v->o->wants.name || v->o->wants.not_before)
		return err_set(e, ERR_SIGNATURE, source->name, "is sealed, and its outer signature "
		               "states neither a name nor a date");
	v->sealed = true;
	return authentic_sealed(source, v->keys, &v->seal, e);
}

/* Read the model once, to the sink if there is one. */
static int
pass(struct verify *v, const char *path, bool to_output, struct err *e)
{
	const struct options *o = v->o;
	struct flow f = { .plan = plan, .item = item, .data = data, .placed = placed,
		.looks = true, .proves = true, .item_end = item_end, .finish = finish, .ctx = v };
	struct out_options where = { .path = o->output.path, .force = o->output.force };
	struct sink *sink = NULL;
	struct input in;

	if ((o->quiet ? input_open_sealed : input_open)(&in, path, e) == 0) {
		where.input = in.held;
		where.from = in.path;
		v->name = in.source->name;
		if (in.source->plan->sealed)
			verify_seal(v, in.source, e);
		else if (!to_output || (sink = filter_sink(&where, e)))
			filter_flow(in.source, sink, o->output.progress, &f, e);
	}
	sink_close(sink);
	return input_close(&in, e);
}

/* Say which signature holds. */
static int
answer(const struct verify *v, const char *path, struct err *e)
{
	const struct digest *root = &v->witness.content.root;
	const char *name = path && strcmp(path, "-") != 0 ? path : "<stdin>";
	enum signature_scope scope = v->o->wants.scope;
	struct buf b = { 0 };
	int r = 0;

	if (v->o->json) {
		if (v->sealed)
			signature_put_seal_json(&b, &v->seal, name);
		else
			signature_put_json(&b, &v->verdict, name, root, scope);
		r = tool_print(&b, e);
	} else if (!v->o->quiet) {
		signature_notes(&b, &v->verdict, name, root, scope);
		tool_notes(&b);
	}
	buf_free(&b);
	return r;
}

static bool
is_seekable(const char *path)
{
	struct stat st;

	return path && strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int
verify(struct verify *v, const char *path, struct err *e)
{
	/* A file is verified before its first byte is sent, and again while it is sent:
	 * what was checked is what goes out, even if the file changes meanwhile. */
	sandbox_write(v->o->output.path, v->o->output.force);
	v->bytes_signed = path && input_is_signed_apr1(path);
	if (v->o->quiet || is_seekable(path)) {
		if (!v->o->quiet) {
			input_prepare(path);
			input_prepare(path);
		}
		if (pass(v, path, false, e) < 0)
			return -1;
		if (v->o->quiet)
			return answer(v, path, e);
		forget(v);
	}
	if (pass(v, path, true, e) < 0)
		return -1;
	return answer(v, path, e);
}

/* The keys, and the operands that are models. What is a key follows from the command
 * line alone: no file that calls itself a key makes us read standard input. */
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
	struct verify v = { .o = &o, .keys = &keys };

	if (!o.jobs)
		o.jobs = thread_count();
	if (o.json && !o.quiet)
		tool_misused(&e, "--json needs -q: standard output is the stream");
	else if (choose_wants(&o, &e) == 0 && choose_keys(&o, &operands, &keys, &e) == 0 &&
	         check_files(&o, operands, &e) == 0)
		verify(&v, each_file(operands, false), &e);
	forget(&v);
	trusted_free(&keys);
	return tool_end(&e);
}
