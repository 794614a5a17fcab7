/* A classical model on its way into APR version 1: its tensors become those of the payload that existing
 * software reads. The model is in memory meanwhile, and comes out of a source of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "imports/classic/classic.h"
#include "predict/apr1_write.h"
#include "predict/tensors.h"

#define FEATURES_KEY "apr.predict.features"

/* What a source has sent: the bytes of its tensors and blobs. */
struct kept {
	struct source *from;
	struct buf *tensors, *blobs;
	struct apr1_payload payload;
	bool turned;       /* payload has the tensors */
	size_t features;
};

struct payload {
	struct import import;
	struct kept kept;  /* its own after import_open_with */
};

static const struct map nowhere = { .fd = -1 };

static void
kept_free(struct kept *k)
{
	const struct model *plan = k->from ? k->from->plan : NULL;
	size_t i;

	for (i = 0; k->tensors && i < plan->tensor_count; i++)
		buf_free(&k->tensors[i]);
	for (i = 0; k->blobs && i < plan->blob_count; i++)
		buf_free(&k->blobs[i]);
	free(k->tensors);
	free(k->blobs);
	apr1_payload_free(&k->payload);
	source_close(k->from);
	*k = (struct kept){ .from = NULL };
}

static int
keep(struct kept *k, struct err *e)
{
	struct item item;
	const uint8_t *p;
	size_t n;
	int r;

	k->tensors = mem_array(k->from->plan->tensor_count, sizeof *k->tensors);
	k->blobs = mem_array(k->from->plan->blob_count, sizeof *k->blobs);
	if (!k->tensors || !k->blobs)
		return err_memory(e);
	while ((r = k->from->ops->next(k->from, &item, e)) == 1) {
		struct buf *b = item.kind == ITEM_TENSOR ? &k->tensors[item.index]
		                : item.kind == ITEM_BLOB ? &k->blobs[item.index] : NULL;

		while ((r = k->from->ops->read(k->from, &p, &n, e)) == 0 && n > 0)
			if (b)
				buf_put(b, p, n);
		if (r < 0)
			return -1;
		if (b && !buf_ok(b))
			return err_memory(e);
	}
	return r;
}

static int
turn(struct kept *k, void (*note)(const char *), struct err *e)
{
	const struct model *plan = k->from->plan;
	struct weights w = { .name = k->from->name, .plan = k->from->plan };
	struct predictor m = { .covers = true };
	char why[256] = "", text[400];
	size_t i;
	int r = -1;

	w.tensors = mem_array(plan->tensor_count, sizeof *w.tensors);
	w.blobs = mem_array(plan->blob_count, sizeof *w.blobs);
	for (i = 0; w.tensors && i < plan->tensor_count; i++)
		w.tensors[i] = k->tensors[i].p ? k->tensors[i].p : (const uint8_t *)"";
	for (i = 0; w.blobs && i < plan->blob_count; i++)
		w.blobs[i] = (struct weights_blob){ k->blobs[i].p, k->blobs[i].n };
	if (!w.tensors || !w.blobs)
		err_memory(e);
	else if (predict_tensors(&m, &w, e) == 0)
		r = apr1_payload_make(&m, &k->payload, why, e);
	k->turned = r == 1;
	k->features = m.features;
	if (r == 0)
		snprintf(text, sizeof text, "existing software has no payload for %s: the model keeps the "
		         "tensors of the apr tools", why);
	else if (r == 1)
		snprintf(text, sizeof text, "written as %s, which existing software reads, in single precision%s%s",
		         k->payload.layout, k->payload.lost ? "; " : "", k->payload.lost ? k->payload.lost : "");
	if (r >= 0 && note)
		note(text);
	free(w.tensors);
	free(w.blobs);
	predictor_free(&m);
	return r < 0 ? -1 : 0;
}

/* ---- the source ---- */

/* Keys of the model, except those that the new tensors have their own of. */
static int
add_keys(struct import *im, const struct kept *k)
{
	const struct model *plan = k->from->plan;
	size_t i;

	for (i = 0; i < plan->meta_count; i++) {
		const struct meta *x = &plan->meta[i];
		struct buf wire = { 0 };
		int r;

		if (k->turned && (strcmp(x->key, FORM_KEY) == 0 || strcmp(x->key, "apr1.model_type") == 0))
			continue;
		if (x->blob != SIZE_MAX)
			buf_put(&wire, k->blobs[x->blob].p, k->blobs[x->blob].n);
		else
			buf_put(&wire, x->wire, x->wire_bytes);
		r = import_value(im, x->key, x->type, &wire);
		buf_free(&wire);
		if (r < 0)
			return -1;
	}
	return 0;
}

static int
add_tensors(struct import *im, const struct kept *k)
{
	const struct model *plan = k->from->plan;
	size_t i, n = k->turned ? k->payload.count : plan->tensor_count;
	int r = 0;

	for (i = 0; i < n && r == 0; i++) {
		struct import_place x = { .p = (const uint8_t *)"", .map = &nowhere };

		if (k->turned) {
			const struct apr1_tensor *t = &k->payload.list[i];

			x.p = t->data.p ? t->data.p : x.p;
			r = import_tensor(im, t->name, strlen(t->name), dtype_by_name(t->type), t->ndim, t->dims, &x);
		} else {
			const struct tensor *t = plan->tensors[i];

			x.p = k->tensors[i].p ? k->tensors[i].p : x.p;
			r = import_tensor(im, tensor_name(t), strlen(tensor_name(t)), tensor_type(t), tensor_ndim(t),
			                  tensor_dims(t), &x);
		}
	}
	return r;
}

static int
read_kept(struct import *im)
{
	struct kept *k = &((struct payload *)im)->kept;

	*k = *(const struct kept *)im->given;
	if (add_keys(im, k) < 0)
		return -1;
	if (k->turned &&
	    (import_text(im, "apr1.model_type", k->payload.type, strlen(k->payload.type)) < 0 ||
	     import_text(im, "apr1.payload", k->payload.layout, strlen(k->payload.layout)) < 0 ||
	     import_u32(im, FEATURES_KEY, (uint32_t)k->features) < 0))
		return -1;
	return add_tensors(im, k);
}

static void
close_kept(struct import *im)
{
	kept_free(&((struct payload *)im)->kept);
}

struct source *
classic_for(const struct format *to, struct source *s, void (*note)(const char *), struct err *e)
{
	static const struct import_kind kind = { .format = &format_xgboost, .bytes = sizeof(struct payload),
		.read = read_kept, .close = close_kept };
	static const struct format_options none;
	const struct model *plan = s->plan;
	struct kept k = { .from = s };
	struct reader r;
	size_t i;

	if (to != &format_apr1 || !model_find(plan, FORM_KEY) || plan->sealed || plan->signatures)
		return s;
	for (i = 0; i < plan->blob_count; i++)
		if (strcmp(plan->blobs[i].type, MODEL_VALUE) != 0)
			return s;
	if (keep(&k, e) < 0 || turn(&k, note, e) < 0) {
		kept_free(&k);
		return NULL;
	}
	reader_memory(&r, "", 0, s->name, e);
	return import_open_with(&kind, &r, &none, s->note, &k, e);
}
