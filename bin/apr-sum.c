/* apr-sum: digests of a model's content, and whether they are as listed */
#include <string.h>

#include "cli/each.h"
#include "cli/filter.h"
#include "cli/input.h"
#include "cli/tool.h"
#include "core/sandbox.h"
#include "core/thread.h"
#include "crypto/gguf_hash.h"
#include "crypto/witness.h"
#include "report/manifest.h"

struct options {
	bool sha256, gguf_hash, json;
	const char *check, *trusted;
	uint64_t jobs;
	bool progress;
};

struct sum {
	const struct options *o;
	const struct model *plan; /* the source's */
	const char *name;
	struct witness witness;
	struct gguf_hash hash;  /* --gguf-hash, --sha256 */
	struct manifest lines;
};

/* ---- content, as signatures have it ---- */

static int
signed_plan(void *ctx, struct model *out, struct err *e)
{
	struct sum *s = ctx;

	(void)out;
	return witness_begin(&s->witness, s->plan, (unsigned)s->o->jobs, e);
}

static int
signed_item(void *ctx, const struct item *in, struct item *out, struct err *e)
{
	struct sum *s = ctx;

	(void)out;
	return witness_item(&s->witness, in, e);
}

static int
signed_data(void *ctx, const struct item *in, const uint8_t *p, size_t n,
             struct sink *sink, struct err *e)
{
	struct sum *s = ctx;

	(void)sink;
	return witness_data(&s->witness, in, p, n, e);
}

static int
signed_placed(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct sum *s = ctx;

	(void)sink;
	return witness_placed(&s->witness, in, s->name, e) < 0 ? -1 : 1;
}

static int
signed_item_end(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct sum *s = ctx;

	(void)sink;
	return witness_item_end(&s->witness, in, e);
}

static int
signed_finish(void *ctx, struct sink *sink, struct err *e)
{
	struct sum *s = ctx;

	(void)sink;
	return witness_finish(&s->witness, e) < 0
	           ? -1 : manifest_add_content(&s->lines, &s->witness.content, e);
}

/* ---- tensors' bytes ---- */

static int
bytes_plan(void *ctx, struct model *out, struct err *e)
{
	struct sum *s = ctx;

	if (s->o->gguf_hash && model_source_is(out, "gguf") &&
	    json_object_get(out->source, "index_order"))
		return err_set(e, ERR_INVALID, NULL, "the index and the data of this model are "
		               "in different orders, which gguf-hash does not support");
	gguf_hash_start(&s->hash, (unsigned)s->o->jobs);
	return 0;
}

static int
bytes_item(void *ctx, const struct item *in, struct item *out, struct err *e)
{
	struct sum *s = ctx;

	(void)out;
	(void)e;
	if (in->kind == ITEM_TENSOR)
		gguf_hash_tensor(&s->hash);
	return 0;
}

static int
bytes_data(void *ctx, const struct item *in, const uint8_t *p, size_t n,
           struct sink *sink, struct err *e)
{
	struct sum *s = ctx;

	(void)sink;
	(void)e;
	if (in->kind == ITEM_TENSOR && s->o->gguf_hash)
		gguf_hash_add(&s->hash, p, n);
	else if (in->kind == ITEM_TENSOR)
		sha256_add(&s->hash.tensor, p, n);
	return 0;
}

static int
bytes_item_end(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct sum *s = ctx;
	struct digest d;

	(void)sink;
	if (in->kind != ITEM_TENSOR)
		return 0;
	if (gguf_hash_tensor_end(&s->hash, &d, e) < 0)
		return -1;
	return manifest_add_tensor(&s->lines, s->plan->tensors[in->index],
	                           s->o->gguf_hash ? "sha256" : NULL, &d, e);
}

static int
bytes_finish(void *ctx, struct sink *sink, struct err *e)
{
	struct sum *s = ctx;
	struct manifest_entry model = { .hash = "sha256" }, id = { .hash = "uuid" };
	char uuid[GGUF_HASH_UUID], text[DIGEST_TEXT];
	struct digest d;

	(void)sink;
	if (!s->o->gguf_hash)
		return 0;
	if (gguf_hash_finish(&s->hash, &d, uuid, e) < 0)
		return -1;
	model.digest = digest_text(text, &d);
	id.digest = uuid;
	return manifest_add(&s->lines, &model, e) < 0 ? -1 : manifest_add(&s->lines, &id, e);
}

static const struct flow signed_parts = {
	.plan = signed_plan, .item = signed_item, .data = signed_data, .placed = signed_placed,
	.item_end = signed_item_end, .finish = signed_finish,
};
static const struct flow plain_bytes = {
	.plan = bytes_plan, .item = bytes_item, .data = bytes_data,
	.item_end = bytes_item_end, .finish = bytes_finish,
};

/* Compares the lines with the list, or prints them. */
static int
answer(const struct sum *s, struct manifest_list *list, struct err *e)
{
	struct buf b = { 0 };
	int r;

	if (list) {
		r = manifest_check(&s->lines, list, &b, e);
		tool_notes(&b);
	} else {
		manifest_put(&b, &s->lines);
		r = tool_print(&b, e);
	}
	buf_free(&b);
	return r;
}

/* Opens the list of -c and notes how many of its lines are ignored. */
static struct manifest_list *
open_list(const struct options *o, struct err *e)
{
	struct manifest_list *list = manifest_list_open(o->check, o->gguf_hash, e);
	size_t n = list ? manifest_list_ignored(list) : 0;

	if (n)
		tool_notef("%s: %zu line%s of other hashes %s ignored", o->check, n,
		           n == 1 ? "" : "s", n == 1 ? "is" : "are");
	return list;
}

static int
sum(struct sum *s, const char *path, struct err *e)
{
	struct flow f = s->o->sha256 || s->o->gguf_hash ? plain_bytes : signed_parts;
	struct manifest_list *list = NULL;
	struct input in;

	f.ctx = s;
	s->lines.json = s->o->json;
	s->lines.model = each_name();
	if (s->o->gguf_hash)
		s->lines.file = path ? path : "-";
	input_trust(path, s->o->trusted);
	sandbox_read(s->o->check);
	if (s->o->check) {
		input_prepare(path);
		sandbox_enter();
		list = open_list(s->o, e);
		if (!list)
			return -1;
	}
	if (input_open(&in, path, e) == 0) {
		s->plan = in.source->plan;
		s->name = in.source->name;
		filter_flow(in.source, NULL, s->o->progress, &f, e);
	}
	if (input_close(&in, e) == 0)
		answer(s, list, e);
	manifest_list_close(list);
	return e->code == ERR_NONE ? 0 : -1;
}

static int
check_options(const struct options *o, char **files, struct err *e)
{
	const char *path = files[0];

	if (o->sha256 && o->gguf_hash)
		return tool_misused(e, "--sha256 and --gguf-hash cannot be combined");
	if (o->check && o->json)
		return tool_misused(e, "-c and --json cannot be combined: -c prints no list");
	if (o->check && path && files[1])
		return tool_misused(e, "-c takes one FILE");
	if (o->check && strcmp(o->check, "-") == 0 && (!path || strcmp(path, "-") == 0))
		return tool_misused(e, "the list and the model cannot both be standard input");
	return 0;
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		FLAG(0, "sha256", &o.sha256,
		     "print the plain SHA-256 of each tensor's bytes"),
		FLAG(0, "gguf-hash", &o.gguf_hash,
		     "print SHA-256 and UUID as llama.cpp's gguf-hash does"),
		TEXT('c', "check", "MANIFEST", &o.check,
		     "compare with the lines of an earlier run in MANIFEST"),
		FLAG(0, "json", &o.json, "print one object per line"),
		OPT_JOBS(&o.jobs),
		OPT_PROGRESS(&o.progress),
		OPT_TRUSTED(&o.trusted),
		OPT_END
	};
	static const struct tool tool = {
		"apr-sum", "[--sha256 | --gguf-hash] [-c MANIFEST | --json]\n"
		"[--trusted-key KEY] [-j N] [FILE ...]",
		"Print the digests of a model's content, or check them against a list.", opts, TOOL_FILES
	};
	struct sum s = { .o = &o };
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);

	if (!o.jobs)
		o.jobs = thread_count();
	if (check_options(&o, operands, &e) == 0)
		sum(&s, each_file(operands, !o.json && !o.gguf_hash), &e);
	gguf_hash_abandon(&s.hash);
	witness_free(&s.witness);
	manifest_free(&s.lines);
	return tool_end(&e);
}
