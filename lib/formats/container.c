#include "formats/container.h"

#include <stdio.h>

#include "core/mem.h"
#include "formats/late.h"

/* ---- sources ---- */

bool
container_next(struct container_sent *sent, const struct model *m, const bool *wanted,
               struct item *item)
{
	if (sent->blobs < m->blob_count) {
		*item = (struct item){ .kind = ITEM_BLOB, .index = sent->blobs,
			.bytes = m->blobs[sent->blobs].bytes };
		sent->blobs++;
		return true;
	}
	if (m->licence != MODEL_NONE && !sent->licence) {
		*item = (struct item){ .kind = ITEM_LICENCE, .bytes = m->licence };
		sent->licence = true;
		return true;
	}
	while (wanted && sent->tensors < m->tensor_count && !wanted[sent->tensors])
		sent->tensors++;
	if (sent->tensors < m->tensor_count) {
		*item = (struct item){ .kind = ITEM_TENSOR, .index = sent->tensors,
			.bytes = tensor_bytes(m->tensors[sent->tensors]) };
		sent->tensors++;
		return true;
	}
	if (sent->provs < m->prov_count) {
		*item = (struct item){ .kind = ITEM_PROV, .index = sent->provs++ };
		return true;
	}
	*item = (struct item){ .kind = ITEM_SIGN, .index = sent->signs };
	return sent->signs++ < m->signatures;
}

/* ---- sinks ---- */

void
container_keep(struct container_body *b, struct spool *spool, uint64_t *at, uint64_t *bytes)
{
	b->to = CONTAINER_KEPT;
	b->spool = spool;
	b->bytes = bytes;
	*at = spool->bytes;
	*bytes = 0;
}

int
container_write(struct container_body *b, struct out *o, const uint8_t *p, size_t n,
                struct err *e)
{
	switch (b->to) {
	case CONTAINER_DROPPED:
		break;
	case CONTAINER_OUT:
		return out_put(o, p, n);
	case CONTAINER_KEPT:
		*b->bytes += n;
		return spool_put(b->spool, p, n, e);
	case CONTAINER_LATE:
		return late_add(&b->late, p, n, e);
	}
	return 0;
}

int
container_put(struct sink *s, const struct container_puts *puts, const struct item *item,
              struct err *e)
{
	char text[120];

	switch (item->kind) {
	case ITEM_BLOB:
		return puts->blob(s, item, e);
	case ITEM_LICENCE:
		return puts->licence(s, item, e);
	case ITEM_TENSOR:
		return puts->tensor(s, item, e);
	case ITEM_PROV:
	case ITEM_SIGN:
		return puts->late(s, item, e);
	case ITEM_OTHER:
	case ITEM_SKEY:
		snprintf(text, sizeof text, "a frame of unknown kind has no place in %s: left out",
		         puts->title);
		if (s->note)
			s->note(text);
		break;
	}
	return 0;
}

void *
container_new(size_t bytes, const struct sink_ops *ops, struct out *o, struct err *e)
{
	struct sink *s = mem_array(1, bytes);

	if (s) {
		s->ops = ops;
		return s;
	}
	out_abandon(o);
	err_memory(e);
	return NULL;
}
