#include "stage/signing.h"

#include <stdarg.h>
#include <stdio.h>

static void __attribute__((format(printf, 2, 3)))
note(const struct signing *s, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	if (!s->note)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	s->note(text);
}

static int
plan(void *ctx, struct model *out, struct err *e)
{
	struct signing *s = ctx;

	s->signatures = out->signatures++;
	if (model_copy(&s->plan, out, e) < 0)
		return -1;
	return witness_begin(&s->witness, &s->plan, s->jobs, e);
}

static int
item(void *ctx, const struct item *in, struct item *out, struct err *e)
{
	struct signing *s = ctx;

	(void)out;
	if (in->kind == ITEM_OTHER)
		note(s, "a frame of unknown kind %s is passed on unsigned", in->frame);
	if (in->kind == ITEM_PROV && in->index == 0)
		note(s, "the model has records of earlier operations: they are signed, but "
		     "were not verified");
	return witness_item(&s->witness, in, e);
}

static int
data(void *ctx, const struct item *in, const uint8_t *p, size_t n, struct sink *sink,
     struct err *e)
{
	struct signing *s = ctx;

	(void)sink;
	return witness_data(&s->witness, in, p, n, e);
}

static int
item_end(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct signing *s = ctx;

	(void)sink;
	return witness_item_end(&s->witness, in, e);
}

/* Signs the content once all of it has passed, and writes the frame. */
static int
finish(void *ctx, struct sink *sink, struct err *e)
{
	struct signing *s = ctx;
	struct signature signature;
	char head[SIGNATURE_HEAD_BYTES + 1], id[KEY_ID_TEXT];
	struct buf body = { 0 };
	struct item it = { .kind = ITEM_SIGN, .index = (size_t)s->signatures, .head = head,
		.head_bytes = SIGNATURE_HEAD_BYTES };
	int r = -1;

	if (witness_finish(&s->witness, e) == 0 &&
	    signature_make(&signature, &s->witness.content, s->says, s->key, e) == 0 &&
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
		note(s, "signed by %s", key_id_text(id, signature.key_id));
	buf_free(&body);
	return r;
}

void
signing_hooks(struct signing *s, struct flow *f)
{
	*f = (struct flow){ .plan = plan, .item = item, .data = data, .looks = true,
		.item_end = item_end, .finish = finish, .ctx = s };
}

void
signing_free(struct signing *s)
{
	witness_free(&s->witness);
	model_free(&s->plan);
	*s = (struct signing){ .key = s->key, .says = s->says, .note = s->note, .jobs = s->jobs };
}
