#include "crypto/witness.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

static bool
is_value(const struct witness *w, const struct item *item)
{
	return item->kind == ITEM_BLOB &&
	       strcmp(w->plan->blobs[item->index].type, MODEL_VALUE) == 0;
}

/* The texts of all types: that of a key must outlive the content, and a plan does not hold it. Written
 * once, since several threads may have witnesses. */
static char texts[VALUE_DEPTH + 1][VALUE_JSON + 1][VALUE_TYPE_TEXT];

static void
write_texts(void)
{
	struct value_type t;

	for (t.depth = 0; t.depth <= VALUE_DEPTH; t.depth++)
		for (t.leaf = 0; t.leaf <= VALUE_JSON; t.leaf++)
			if (t.leaf == VALUE_JSON || t.leaf == VALUE_STRING || value_leaf_bytes(t.leaf) > 0 ||
			    t.leaf == VALUE_ARRAY)
				value_type_text(t, texts[t.depth][t.leaf]);
}

static const char *
type_text(struct value_type t)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, write_texts);
	return texts[t.depth][t.leaf];
}

int
witness_begin(struct witness *w, const struct model *plan, unsigned jobs, struct err *e)
{
	size_t i;

	*w = (struct witness){ .plan = plan, .bodies_most = plan->blob_count + plan->tensor_count };
	body_digest_init(&w->body, jobs);
	w->keys = mem_array(plan->blob_count, sizeof *w->keys);
	w->bodies = mem_array(w->bodies_most, sizeof *w->bodies);
	if (!w->keys || !w->bodies)
		return err_memory(e);
	for (i = 0; i < plan->meta_count; i++) {
		const struct meta *k = &plan->meta[i];
		struct digest d;

		if (k->blob != SIZE_MAX) {
			w->keys[k->blob] = k;
			continue;
		}
		if (sha256_of(k->wire, k->wire_bytes, &d) < 0)
			return err_memory(e);
		if (content_add_value(&w->content, k->key, type_text(k->type), k->wire_bytes,
		                      &d, e) < 0)
			return -1;
	}
	return 0;
}

int
witness_item(struct witness *w, const struct item *item, struct err *e)
{
	w->plain = is_value(w, item) || item->kind == ITEM_LICENCE;
	if (w->plain) {
		sha256_start(&w->value);
		return 0;
	}
	if (item->kind != ITEM_TENSOR && item->kind != ITEM_BLOB)
		return 0;
	if (w->bodies_seen == w->bodies_most)
		return err_set(e, ERR_CORRUPT, NULL, "more tensors and side files than the plan has");
	return body_digest_start(&w->body, item->bytes, &w->bodies[w->bodies_seen++].digest, e);
}

int
witness_data(struct witness *w, const struct item *item, const uint8_t *p, size_t n,
             struct err *e)
{
	if (w->plain) {
		sha256_add(&w->value, p, n);
		return 0;
	}
	if (item->kind == ITEM_TENSOR || item->kind == ITEM_BLOB)
		return body_digest_add(&w->body, p, n, e);
	return 0;
}

int
witness_placed(struct witness *w, const struct item *item, const char *name,
               struct err *e)
{
	return body_digest_range(&w->body, item->place, name, e);
}

static int
end_plain(struct witness *w, const struct item *item, struct err *e)
{
	const struct meta *k;
	struct digest d;

	w->plain = false;
	if (sha256_finish(&w->value, &d, e) < 0)
		return -1;
	if (item->kind == ITEM_LICENCE) {
		content_set_licence(&w->content, item->bytes, &d);
		return 0;
	}
	k = w->keys[item->index];
	return content_add_value(&w->content, k->key, type_text(k->type), item->bytes, &d, e);
}

/* An entry without its digest, which is known when all bodies are settled. */
static int
end_body(struct witness *w, const struct item *item, struct err *e)
{
	static const struct digest later;
	struct witness_body *body = &w->bodies[w->bodies_seen - 1];
	const struct tensor *t;
	const struct blob *b;

	if (item->kind == ITEM_TENSOR) {
		t = w->plan->tensors[item->index];
		body->list = &w->content.tensors;
		body->at = body->list->n;
		return content_add_tensor(&w->content, tensor_name(t), tensor_type(t)->name,
		                          tensor_ndim(t), tensor_dims(t), &later, e);
	}
	b = &w->plan->blobs[item->index];
	body->list = &w->content.blobs;
	body->at = body->list->n;
	return content_add_blob(&w->content, b->name, b->type, &later, e);
}

int
witness_item_end(struct witness *w, const struct item *item, struct err *e)
{
	if (w->plain)
		return end_plain(w, item, e);
	switch (item->kind) {
	case ITEM_TENSOR:
	case ITEM_BLOB:
		return body_digest_finish(&w->body, e) < 0 ? -1 : end_body(w, item, e);
	case ITEM_PROV:
		return content_add_prov(&w->content, item->head, item->head_bytes, e);
	case ITEM_LICENCE:
	case ITEM_SIGN:
	case ITEM_OTHER:
	case ITEM_SKEY:
		break;
	}
	return 0;
}

int
witness_finish(struct witness *w, struct err *e)
{
	size_t i;

	if (body_digest_settle(&w->body, e) < 0)
		return -1;
	for (i = 0; i < w->bodies_seen; i++)
		w->bodies[i].list->item[w->bodies[i].at].digest = w->bodies[i].digest;
	return content_finish(&w->content, e);
}

void
witness_free(struct witness *w)
{
	sha256_abandon(&w->value);
	body_digest_free(&w->body);
	content_free(&w->content);
	free(w->keys);
	free(w->bodies);
}
