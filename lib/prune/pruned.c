#include "prune/pruned.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/range.h"
#include "prune/mask.h"
#include "prune/take.h"

#define PIECE ((size_t)256 << 10) /* bytes of a copied tensor at a time */

struct pruned {
	struct source source;     /* first */
	struct prune_plan *p;
	unsigned jobs;
	struct mask mask;
	struct take take;
	size_t from;              /* the tensor of the input that is being sent */
	uint8_t *piece;

	size_t blob, next_tensor, record; /* to be sent next */
	bool licence_sent;
	enum { SEND_NOTHING, SEND_BYTES, SEND_COPY, SEND_MASK, SEND_TAKE } mode;
	const uint8_t *bytes;     /* SEND_BYTES */
	uint64_t sent, left;
};

static int
send_bytes(struct pruned *s, const uint8_t *p, size_t n)
{
	s->mode = SEND_BYTES;
	s->bytes = p;
	s->left = n;
	s->sent = 0;
	return 1;
}

static int
next_blob(struct pruned *s, struct item *item)
{
	const struct weights_blob *w = &s->p->in->subject.w.blobs[s->blob];
	const struct blob *b = &s->p->out.blobs[s->blob];
	size_t i;

	*item = (struct item){ .kind = ITEM_BLOB, .index = s->blob++, .bytes = b->bytes };
	for (i = 0; i < s->p->files.count; i++)
		if (strcmp(s->p->files.file[i].name, b->name) == 0)
			return send_bytes(s, s->p->files.file[i].bytes.p, s->p->files.file[i].bytes.n);
	return send_bytes(s, w->p, w->n);
}

static int
next_tensor(struct pruned *s, struct item *item, struct err *e)
{
	size_t i = s->next_tensor++;
	const struct prune_row *row = &s->p->rows[i];
	const struct store_at *at = &s->p->in->store.at[row->from];

	s->from = row->from;
	*item = (struct item){ .kind = ITEM_TENSOR, .index = i,
		.bytes = tensor_bytes(s->p->out.tensors[i]) };
	if (row->pruned) {
		s->mode = SEND_MASK;
		return mask_begin(&s->mask, s->p, i, s->jobs, e) < 0 ? -1 : 1;
	}
	if (row->kept_rows || row->kept_columns) {
		s->mode = SEND_TAKE;
		return take_begin(&s->take, s->p, i, s->jobs, e) < 0 ? -1 : 1;
	}
	s->mode = SEND_COPY;
	s->sent = 0;
	s->left = item->bytes;
	if (at->where == STORE_FILE)
		item->place = &at->range;
	return 1;
}

static int
pruned_next(struct source *source, struct item *item, struct err *e)
{
	struct pruned *s = (struct pruned *)source;
	const struct merge_input *in = s->p->in;

	s->mode = SEND_NOTHING;
	if (s->blob < s->p->out.blob_count)
		return next_blob(s, item);
	if (in->has_licence && !s->licence_sent) {
		s->licence_sent = true;
		*item = (struct item){ .kind = ITEM_LICENCE, .bytes = in->licence.n };
		return send_bytes(s, in->licence.p, in->licence.n);
	}
	if (s->next_tensor < s->p->out.tensor_count)
		return next_tensor(s, item, e);
	if (s->record == in->record_count)
		return 0;
	*item = (struct item){ .kind = ITEM_PROV, .index = s->record,
		.head = (const char *)in->records[s->record].p, .head_bytes = in->records[s->record].n };
	s->record++;
	return 1;
}

static int
pruned_read(struct source *source, const uint8_t **p, size_t *n, struct err *e)
{
	struct pruned *s = (struct pruned *)source;

	*n = 0;
	if (s->mode == SEND_MASK)
		return mask_next(&s->mask, p, n, e);
	if (s->mode == SEND_TAKE)
		return take_next(&s->take, p, n, e);
	if (s->mode == SEND_NOTHING)
		return 0;
	*n = (size_t)num_min(s->left, PIECE);
	*p = s->mode == SEND_BYTES ? s->bytes + s->sent : s->piece;
	if (s->mode == SEND_COPY &&
	    merge_input_bytes(s->p->in, s->from, s->sent, s->piece, *n) < 0)
		return range_fail(s->p->in->name, e);
	s->sent += *n;
	s->left -= *n;
	return 0;
}

static void
pruned_close(struct source *source)
{
	struct pruned *s = (struct pruned *)source;

	mask_close(&s->mask);
	take_close(&s->take);
	free(s->piece);
	free(s);
}

struct source *
pruned_source(struct prune_plan *p, unsigned jobs, struct err *e)
{
	static const struct source_ops ops = { .next = pruned_next, .read = pruned_read,
		.close = pruned_close };
	struct pruned *s = mem_array(1, sizeof *s);

	if (s)
		s->piece = mem_array(PIECE, 1);
	if (!s || !s->piece) {
		free(s);
		err_memory(e);
		return NULL;
	}
	s->p = p;
	s->jobs = jobs;
	s->source = (struct source){ .plan = &p->out, .ops = &ops, .name = p->in->name };
	return &s->source;
}
