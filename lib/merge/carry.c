#include "merge/carry.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/range.h"

#define PIECE ((size_t)256 << 10) /* bytes at a time */

int
carry_open(struct carry *c, struct err *e)
{
	c->piece = mem_array(PIECE, 1);
	return c->piece ? 0 : err_memory(e);
}

void
carry_close(struct carry *c)
{
	free(c->piece);
	c->piece = NULL;
}

static int
send_bytes(struct carry *c, const uint8_t *p, size_t n)
{
	c->from = NULL;
	c->bytes = p;
	c->left = n;
	return 1;
}

/* The bytes of a blob of the model: the result can have others between its blobs, in whose order it
 * mostly has them. */
static const struct weights_blob *
blob_of(struct carry *c, const char *name)
{
	static const struct weights_blob none;
	const struct model *m = c->files_of->subject.w.plan;
	size_t i;

	for (i = 0; i < m->blob_count; i++) {
		size_t at = (c->own + i) % m->blob_count;

		if (strcmp(m->blobs[at].name, name) != 0)
			continue;
		c->own = at + 1;
		return &c->files_of->subject.w.blobs[at];
	}
	return &none;
}

static int
next_blob(struct carry *c, struct item *item)
{
	const struct blob *b = &c->plan->blobs[c->blob];
	const struct weights_blob *w = blob_of(c, b->name);
	size_t i;

	*item = (struct item){ .kind = ITEM_BLOB, .index = c->blob++, .bytes = b->bytes };
	for (i = 0; c->files && i < c->files->count; i++)
		if (strcmp(c->files->file[i].name, b->name) == 0)
			return send_bytes(c, c->files->file[i].bytes.p, c->files->file[i].bytes.n);
	return send_bytes(c, w->p, w->n);
}

static int
next_record(struct carry *c, struct item *item)
{
	const struct buf *head;

	while (c->input < c->input_count && c->record == c->inputs[c->input].record_count) {
		c->input++;
		c->record = 0;
	}
	if (c->input == c->input_count)
		return 0;
	head = &c->inputs[c->input].records[c->record++];
	*item = (struct item){ .kind = ITEM_PROV, .index = c->records++,
		.head = (const char *)head->p, .head_bytes = head->n };
	return 1;
}

int
carry_next(struct carry *c, struct item *item)
{
	c->from = NULL;
	c->left = c->sent = 0;
	if (c->blob < c->plan->blob_count)
		return next_blob(c, item);
	if (c->files_of->has_licence && !c->licence_sent) {
		c->licence_sent = true;
		*item = (struct item){ .kind = ITEM_LICENCE, .bytes = c->files_of->licence.n };
		return send_bytes(c, c->files_of->licence.p, c->files_of->licence.n);
	}
	if (c->tensor == c->plan->tensor_count)
		return next_record(c, item);
	*item = (struct item){ .kind = ITEM_TENSOR, .index = c->tensor,
		.bytes = tensor_bytes(c->plan->tensors[c->tensor]) };
	c->tensor++;
	return 1;
}

void
carry_copy(struct carry *c, struct merge_input *from, size_t tensor, struct item *item)
{
	c->from = from;
	c->copied = tensor;
	c->left = item->bytes;
	if (from->store.at[tensor].where != STORE_FILE)
		return;
	c->place = from->store.at[tensor].range;
	item->place = &c->place;
}

int
carry_read(struct carry *c, const uint8_t **p, size_t *n, struct err *e)
{
	*n = (size_t)num_min(c->left, PIECE);
	*p = c->from ? c->piece : c->bytes + c->sent;
	if (c->from && merge_input_bytes(c->from, c->copied, c->sent, c->piece, *n) < 0)
		return range_fail(c->from->name, e);
	c->sent += *n;
	c->left -= *n;
	return 0;
}
