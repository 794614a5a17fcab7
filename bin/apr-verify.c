/* apr-verify: stream -> stream, if its signature holds */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/mem.h"
#include "core/sandbox.h"
#include "core/thread.h"
#include "crypto/signature.h"
#include "crypto/witness.h"
#include "tool/filter.h"
#include "tool/input.h"
#include "tool/tool.h"
#include "tool/trusted.h"

struct options {
	bool quiet, json, weights;
	uint64_t jobs;
	struct output_options output;
};

/* One sign frame, kept until the content has passed. */
struct frame_copy {
	struct signature head;
	struct buf body;
};

struct verify {
	const struct options *o;
	const struct trusted *keys;
	struct witness witness;
	struct model plan;
	const char *name;      /* of what is read */
	struct frame_copy *frames;
	size_t frame_count, frame_cap;
	char by[KEY_ID_TEXT];  /* whose signature held */
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
	struct frame_copy *f;

	(void)out;
	if (in->kind == ITEM_OTHER)
		return 1; /* no signature covers it */
	if (in->kind != ITEM_SIGN)
		return witness_item(&v->witness, in, e);
	if (mem_grow(&v->frames, &v->frame_cap, v->frame_count + 1, sizeof *v->frames) < 0)
		return err_memory(e);
	f = &v->frames[v->frame_count++];
	return signature_parse(in->head, in->head_bytes, &f->head, e);
}

static int
data(void *ctx, const struct item *in, const uint8_t *p, size_t n, struct sink *sink,
     struct err *e)
{
	struct verify *v = ctx;

	(void)sink;
	if (in->kind == ITEM_SIGN) {
		struct buf *b = &v->frames[v->frame_count - 1].body;

		buf_put(b, p, n);
		if (!buf_ok(b))
			return err_memory(e);
	} else if (in->kind != ITEM_OTHER) {
		return witness_data(&v->witness, in, p, n, e);
	}
	return 0;
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

static const struct key_public *
key_of(const struct trusted *keys, const uint8_t id[KEY_ID_BYTES])
{
	size_t i;

	for (i = 0; i < keys->n; i++)
		if (memcmp(keys->item[i].key.id, id, KEY_ID_BYTES) == 0)
			return &keys->item[i].key;
	return NULL;
}

/* Nobody we trust has signed: say who did. */
static int
untrusted(const struct verify *v, struct err *e)
{
	char id[KEY_ID_TEXT];

	err_set(e, ERR_SIGNATURE, NULL, "no signature is by a trusted key; the first is by %s",
	        key_id_text(id, v->frames[0].head.key_id));
	return v->keys->n ? -1
	                  : err_hint(e, "name the public key: apr-verify KEY.pub FILE");
}

/* One signature by a trusted key is enough. DONE has not been sent yet. */
static int
finish(void *ctx, struct sink *sink, struct err *e)
{
	struct verify *v = ctx;
	enum signature_scope scope = v->o->weights ? SIGNATURE_WEIGHTS : SIGNATURE_ALL;
	struct err first = ERR_INIT;
	size_t i, tried = 0;

	(void)sink;
	if (witness_finish(&v->witness, e) < 0)
		return -1;
	for (i = 0; i < v->frame_count; i++) {
		struct frame_copy *f = &v->frames[i];
		const struct key_public *key = key_of(v->keys, f->head.key_id);
		struct err why = ERR_INIT;

		if (!key)
			continue;
		tried++;
		if (signature_check(&f->head, f->body.p, f->body.n, &v->witness.content, key,
		                    scope, &why) == 0) {
			key_id_text(v->by, f->head.key_id);
			return 0;
		}
		if (first.code == ERR_NONE)
			first = why;
	}
	if (!tried)
		return untrusted(v, e);
	*e = first;
	return -1;
}

static void
forget(struct verify *v)
{
	while (v->frame_count > 0)
		buf_free(&v->frames[--v->frame_count].body);
	free(v->frames);
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
		       v->by, root, v->o->weights ? "weights" : "all");
	else if (!v->o->quiet)
		tool_notef("%s: signature by %s holds for %s, root %.16s...",
		           path ? path : "<stdin>", v->by,
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

/* KEY.pub is told from a model by what is in it. */
static bool
is_key_file(const char *path)
{
	static const char first[] = "untrusted comment:";
	char head[sizeof first - 1];
	struct stat st;
	FILE *f;
	bool yes;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || !(f = fopen(path, "rb")))
		return false;
	yes = fread(head, 1, sizeof head, f) == sizeof head &&
	      memcmp(head, first, sizeof head) == 0;
	fclose(f);
	return yes;
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
	else if (operands[0] && (operands[1] || is_key_file(operands[0])))
		trusted_one(&keys, *operands++, &e);
	else
		trusted_load(&keys, &e);
	if (e.code == ERR_NONE)
		verify(&v, operands[0], &e);
	forget(&v);
	trusted_free(&keys);
	return tool_end(&e);
}
