/* apr-verify: stream -> stream, if its signature holds */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/sandbox.h"
#include "core/thread.h"
#include "crypto/witness.h"
#include "tool/filter.h"
#include "tool/input.h"
#include "tool/tool.h"
#include "tool/trusted.h"
#include "tool/verdict.h"

struct options {
	bool quiet, json, weights;
	uint64_t jobs;
	struct output_options output;
};

struct verify {
	const struct options *o;
	const struct trusted *keys;
	struct witness witness;
	struct model plan;
	const char *name;      /* of what is read */
	struct verdict verdict;
};

static int
plan(void *ctx, struct model *out, struct err *e)
{
	struct verify *v = ctx;

	if (out->signatures == 0) {
		err_set(e, ERR_SIGNATURE, NULL, "the model is not signed");
		return -1;
	}
	/* No signature covers what a later version may have added to the plan. */
	json_object_clear(out->extra);
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
	return in->kind == ITEM_SIGN ? verdict_sign(&v->verdict, in, e)
	                             : witness_item(&v->witness, in, e);
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

	(void)sink;
	if (witness_finish(&v->witness, e) < 0)
		return -1;
	return verdict_give(&v->verdict, &v->witness.content, v->keys,
	                    v->o->weights ? SIGNATURE_WEIGHTS : SIGNATURE_ALL, e);
}

static void
forget(struct verify *v)
{
	verdict_free(&v->verdict);
	witness_free(&v->witness);
	model_free(&v->plan);
	*v = (struct verify){ .o = v->o, .keys = v->keys };
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

	if (input_open(&in, path, e) == 0) {
		where.input = in.held;
		v->name = in.source->name;
		if (!to_output || (sink = filter_sink(&where, e)))
			filter_flow(in.source, sink, o->output.progress, &f, e);
	}
	sink_close(sink);
	return input_close(&in, e);
}

static void
answer(const struct verify *v, const char *path)
{
	char root[DIGEST_TEXT];

	digest_text(root, &v->witness.content.root);
	if (v->o->json)
		printf("{\"verified\":true,\"key\":\"%s\",\"root\":\"%s\",\"scope\":\"%s\"}\n",
		       v->verdict.by, root, v->o->weights ? "weights" : "all");
	else if (!v->o->quiet)
		tool_notef("%s: signature by %s holds for %s, root %.16s...",
		           path ? path : "<stdin>", v->verdict.by,
		           v->o->weights ? "the weights" : "everything", root);
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
	/* A file is proved before its first byte is sent, and again as it is sent:
	 * what was checked is what goes out, even if the file changes meanwhile. */
	sandbox_write(v->o->output.path);
	if (v->o->quiet || is_seekable(path)) {
		if (!v->o->quiet) {
			input_prepare(path);
			input_prepare(path);
		}
		if (pass(v, path, false, e) < 0)
			return -1;
		if (v->o->quiet) {
			answer(v, path);
			return 0;
		}
		forget(v);
	}
	if (pass(v, path, true, e) < 0)
		return -1;
	answer(v, path);
	return 0;
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		{ 'q', "quiet", NULL, OPT_FLAG, &o.quiet, "only answer: no stream goes out", 0, 0 },
		{ 0, "json", NULL, OPT_FLAG, &o.json, "with -q: the answer as an object", 0, 0 },
		{ 0, "weights", NULL, OPT_FLAG, &o.weights, "metadata may have been edited", 0, 0 },
		{ 'j', "jobs", "N", OPT_NUMBER, &o.jobs, "threads (default: all CPUs)", 1, 1024 },
		OPT_OUTPUT(&o.output),
		OPT_END
	};
	static const struct tool tool = {
		"apr-verify", "[-q] [--json] [--weights] [-j N] [-f] [-o FILE] [KEY.pub] [FILE]",
		"Pass a stream on only if a trusted key has signed its content.", opts, 2
	};
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);
	struct trusted keys = { 0 };
	struct verify v = { .o = &o, .keys = &keys };

	if (!o.jobs)
		o.jobs = thread_count();
	if (o.json && !o.quiet)
		tool_misused(&e, "--json needs -q: standard output is the stream");
	else if (operands[0] && (operands[1] || trusted_is_key(operands[0])))
		trusted_one(&keys, *operands++, &e);
	else
		trusted_load(&keys, &e);
	if (e.code == ERR_NONE)
		verify(&v, operands[0], &e);
	forget(&v);
	trusted_free(&keys);
	return tool_end(&e);
}
