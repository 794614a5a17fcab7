#include "crypto/seal/held.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/num.h"

#define PIECE ((size_t)1 << 18)

int
held_put(struct held *h, const struct item *item, struct err *e)
{
	if (mem_grow(&h->items, &h->cap, h->n + 1, sizeof *h->items) < 0)
		return err_memory(e);
	h->items[h->n++] = (struct held_item){ *item, h->spool.bytes, 0 };
	return 0;
}

int
held_write(struct held *h, const void *p, size_t n, struct err *e)
{
	h->items[h->n - 1].bytes += n;
	return spool_put(&h->spool, p, n, e);
}

int
held_next(struct held *h, struct item *item)
{
	if (h->next == h->n)
		return 0;
	*item = h->items[h->next++].item;
	h->taken = 0;
	return 1;
}

int
held_read(struct held *h, const uint8_t **p, size_t *n, struct err *e)
{
	const struct held_item *item = &h->items[h->next - 1];

	if (!h->piece && !(h->piece = mem_array(PIECE, 1)))
		return err_memory(e);
	*p = h->piece;
	*n = (size_t)num_min(item->bytes - h->taken, PIECE);
	if (*n > 0 && spool_get(&h->spool, item->at + h->taken, h->piece, *n, e) < 0)
		return -1;
	h->taken += *n;
	return 0;
}

void
held_free(struct held *h)
{
	spool_free(&h->spool);
	free(h->items);
	free(h->piece);
	*h = (struct held){ .n = 0 };
}
