#include "crypto/witness.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

static bool
is_value(const struct witness *w, const struct item *item)
{
	return item->kind == ITEM_BLOB &&
	       strcmp(w->plan->blobs[item->index].type, MODEL_VALUE) == 0;
}

/* The text of a key's type lives as long as the content does: a plan has no
 * string of it, and all of them are few. */
static const char *
type_text(struct value_type t)
{
	static char texts[VALUE_DEPTH + 1][VALUE_JSON + 1][VALUE_TYPE_TEXT];

	return value_type_text(t, texts[t.depth][t.leaf]);
}

int
witness_begin(struct witness *w, const struct model *plan, unsigned jobs, struct err *e)
{
	size_t i;

	*w = (struct witness){ .plan = plan };
	body_digest_init(&w->body, jobs);
	w->keys = mem_array(plan->blob_count, sizeof *w->keys);
	if (!w->keys)
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
	if (item->kind == ITEM_TENSOR || item->kind == ITEM_BLOB)
		return body_digest_start(&w->body, item->bytes, e);
	return 0;
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

int
witness_item_end(struct witness *w, const struct item *item, struct err *e)
{
	const struct tensor *t;
	const struct blob *b;
	struct digest d;

	if (w->plain)
		return end_plain(w, item, e);
	switch (item->kind) {
	case ITEM_TENSOR:
		t = w->plan->tensors[item->index];
		if (body_digest_finish(&w->body, &d, e) < 0)
			return -1;
		return content_add_tensor(&w->content, tensor_name(t), tensor_type(t)->name,
		                          tensor_ndim(t), tensor_dims(t), &d, e);
	case ITEM_BLOB:
		b = &w->plan->blobs[item->index];
		if (body_digest_finish(&w->body, &d, e) < 0)
			return -1;
		return content_add_blob(&w->content, b->name, b->type, &d, e);
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
	return content_finish(&w->content, e);
}

void
witness_free(struct witness *w)
{
	sha256_abandon(&w->value);
	body_digest_free(&w->body);
	content_free(&w->content);
	free(w->keys);
}
