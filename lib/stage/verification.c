#include "stage/verification.h"

#include <stdio.h>

#include "crypto/origin.h"

static int
not_signed(const struct verification *v, struct err *e)
{
	if (!v->bytes_signed)
		return err_set(e, ERR_SIGNATURE, NULL, "the model is not signed");
	err_set(e, ERR_SIGNATURE, NULL, "the content of the model is not signed: its signature "
	        "covers the bytes of the APR version 1 file");
	return err_hint(e, "apr-unpack --trusted-key KEY FILE verifies it, as does that option of "
	                "other tools");
}

/* ---- hooks ---- */

static int
plan(void *ctx, struct model *out, struct err *e)
{
	struct verification *v = ctx;

	if (out->signatures == 0)
		return not_signed(v, e);
	/* Signatures do not cover what a later version may have added to the plan, nor the
	 * description of the first container. */
	json_object_clear(out->extra);
	model_set_folder(out, NULL);
	if (origin_prune(out, &v->dropped, e) < 0)
		return -1;
	out->signatures = 1; /* only the valid one is sent */
	if (model_copy(&v->plan, out, e) < 0)
		return -1;
	return witness_begin(&v->witness, &v->plan, v->jobs, e);
}

static int
item(void *ctx, const struct item *in, struct item *out, struct err *e)
{
	struct verification *v = ctx;

	(void)out;
	if (in->kind == ITEM_OTHER)
		return 1; /* no signature covers it */
	if (in->kind == ITEM_SIGN) /* finish sends the valid one */
		return verdict_sign(&v->verdict, in, e) < 0 ? -1 : 1;
	return witness_item(&v->witness, in, e);
}

static int
data(void *ctx, const struct item *in, const uint8_t *p, size_t n, struct sink *sink,
     struct err *e)
{
	struct verification *v = ctx;

	(void)sink;
	if (in->kind == ITEM_SIGN)
		return verdict_add(&v->verdict, p, n, e);
	return in->kind == ITEM_OTHER ? 0 : witness_data(&v->witness, in, p, n, e);
}

/* Bytes that are sent must be the bytes that were verified, so a tensor is read from its
 * place in the file only if nothing is sent. */
static int
placed(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct verification *v = ctx;

	if (sink)
		return 0;
	return witness_placed(&v->witness, in, v->name, e) < 0 ? -1 : 1;
}

static int
item_end(void *ctx, const struct item *in, struct sink *sink, struct err *e)
{
	struct verification *v = ctx;

	(void)sink;
	if (in->kind == ITEM_SIGN || in->kind == ITEM_OTHER)
		return 0;
	return witness_item_end(&v->witness, in, e);
}

static void
note_dropped(struct verification *v)
{
	char text[400];

	if (!v->note || !v->dropped.n || !buf_string(&v->dropped))
		return;
	snprintf(text, sizeof text, "dropped from the record of the first file, because not signed: %s",
	         (char *)v->dropped.p);
	v->note(text);
}

/* Gives the verdict and sends the valid signature, before DONE is sent. */
static int
finish(void *ctx, struct sink *sink, struct err *e)
{
	struct verification *v = ctx;

	if (witness_finish(&v->witness, e) < 0 ||
	    verdict_give(&v->verdict, &v->witness.content, v->keys, v->wants, e) < 0)
		return -1;
	if (!sink)
		return 0;
	note_dropped(v);
	return verdict_send(&v->verdict, sink, e);
}

/* ---- a verification ---- */

int
verification_of_seal(struct verification *v, struct source *source, struct err *e)
{
	if (v->wants->name || v->wants->not_before)
		return err_set(e, ERR_SIGNATURE, source->name, "is sealed, and its outer signature "
		               "states neither a name nor a date");
	v->sealed = true;
	return authentic_sealed(source, v->keys, &v->seal, e);
}

void
verification_hooks(struct verification *v, const char *name, struct flow *f)
{
	*f = (struct flow){ .plan = plan, .item = item, .data = data, .placed = placed,
		.looks = true, .proves = true, .item_end = item_end, .finish = finish, .ctx = v };
	v->name = name;
}

void
verification_reset(struct verification *v)
{
	verdict_free(&v->verdict);
	buf_free(&v->dropped);
	witness_free(&v->witness);
	model_free(&v->plan);
	*v = (struct verification){ .keys = v->keys, .wants = v->wants, .note = v->note,
		.jobs = v->jobs, .bytes_signed = v->bytes_signed };
}
