/* apr-sign: stream -> stream, with a signature over its content */
#include "core/thread.h"
#include "crypto/signature.h"
#include "crypto/witness.h"
#include "tool/filter.h"
#include "tool/passphrase.h"
#include "tool/tool.h"

struct options {
	uint64_t jobs;
	struct passphrase_options passphrase;
	struct output_options output;
};

struct sign {
	const struct options *o;
	const struct key_secret *key;
	struct witness witness;
	struct model plan;    /* what is signed: the witness looks at it */
	uint64_t signatures;  /* that the model had before */
};

static int
plan(void *ctx, struct model *out, struct err *e)
{
	struct sign *s = ctx;

	s->signatures = out->signatures++;
	if (model_copy(&s->plan, out, e) < 0)
		return -1;
	return witness_begin(&s->witness, &s->plan, (unsigned)s->o->jobs, e);
}

static int
item(void *ctx, const struct item *in, struct item *out, struct err *e)
{
	struct sign *s = ctx;

	(void)out;
	if (in->kind == ITEM_OTHER)
		tool_notef("a frame of unknown kind %s is passed on, but not signed", in->frame);
	return witness_item(&s->witness, in, e);
}

static int
data(void *ctx, const struct item *in, const uint8_t *p, size_t n, struct sink *sink,
     struct err *e)
{
	struct sign *s = ctx;

	(void)sink;
	return witness_data(&s->witness, in, p, n, e);
}

static int
item_end(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct sign *s = ctx;

	(void)sink;
	return witness_item_end(&s->witness, in, e);
}

/* The content has passed: sign it, and send the frame. */
static int
finish(void *ctx, struct sink *sink, struct err *e)
{
	struct sign *s = ctx;
	struct signature signature;
	char head[SIGNATURE_HEAD_BYTES + 1], id[KEY_ID_TEXT];
	struct buf body = { 0 };
	struct item it = { .kind = ITEM_SIGN, .index = (size_t)s->signatures, .head = head,
		.head_bytes = SIGNATURE_HEAD_BYTES };
	int r = -1;

	if (witness_finish(&s->witness, e) == 0 &&
	    signature_make(&signature, &s->witness.content, s->key, e) == 0 &&
	    signature_body(&s->witness.content, &body, e) == 0) {
		signature_head(&signature, head);
		it.bytes = body.n;
		r = sink_put(sink, &it, e);
		if (r == 0)
			r = sink_write(sink, body.p, body.n, e);
		if (r == 0)
			r = sink_put_end(sink, e);
	}
	if (r == 0)
		tool_notef("signed by %s", key_id_text(id, signature.key_id));
	buf_free(&body);
	return r;
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		OPT_PASSPHRASE(&o.passphrase),
		{ 'j', "jobs", "N", OPT_NUMBER, &o.jobs, "threads (default: all CPUs)", 1, 1024 },
		OPT_OUTPUT(&o.output),
		OPT_END
	};
	static const struct tool tool = {
		"apr-sign",
		"[--passphrase-file FILE | --passphrase-fd N | --passphrase-env NAME]\n"
		"[-j N] [-f] [-o FILE] KEY [FILE]",
		"Sign the content of a stream with the secret key in the file KEY.", opts, 2
	};
	struct sign s = { .o = &o };
	struct flow f = { .plan = plan, .item = item, .data = data, .looks = true,
		.item_end = item_end, .finish = finish, .ctx = &s };
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);
	struct key_secret *key = NULL;

	if (!o.jobs)
		o.jobs = thread_count();
	if (!operands[0])
		tool_misused(&e, "KEY is missing");
	else if (secret_guard(&e) == 0)
		s.key = key = passphrase_key(operands[0], &o.passphrase, &e);
	if (key)
		filter_run(operands[1], &o.output, &f, &e);
	witness_free(&s.witness);
	model_free(&s.plan);
	key_secret_free(key);
	return tool_end(&e);
}
