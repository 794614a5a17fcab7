#include "load/gather.h"

#include <stdlib.h>

#include "core/mem.h"
#include "load/load.h"

int
gather_begin(struct gather *g, const struct source *source, struct err *e)
{
	struct model *plan = source->plan;

	*g = (struct gather){ .weights = { .name = source->name, .plan = plan } };
	g->tensors = mem_array(plan->tensor_count, sizeof *g->tensors);
	g->blobs = mem_array(plan->blob_count, sizeof *g->blobs);
	g->kept = mem_array(plan->blob_count, sizeof *g->kept);
	g->weights.tensors = mem_array(plan->tensor_count, sizeof *g->weights.tensors);
	g->weights.blobs = mem_array(plan->blob_count, sizeof *g->weights.blobs);
	return g->tensors && g->blobs && g->kept && g->weights.tensors && g->weights.blobs
		? 0 : err_memory(e);
}

void
gather_free(struct gather *g)
{
	spool_free(&g->spool);
	free(g->tensors);
	free(g->blobs);
	free(g->kept);
	free(g->weights.tensors);
	free(g->weights.blobs);
	*g = (struct gather){ .kept = NULL };
}

static bool
is_kept(const struct item *item)
{
	return item->kind == ITEM_TENSOR || (item->kind == ITEM_BLOB && item->bytes <= LOAD_BLOB);
}

int
gather_item(struct gather *g, const struct item *item, struct err *e)
{
	/* A zero byte ends each blob, as in load.h. */
	if (spool_put(&g->spool, "", 1, e) < 0)
		return -1;
	if (item->kind == ITEM_TENSOR)
		g->tensors[item->index] = g->spool.bytes;
	if (item->kind == ITEM_BLOB) {
		g->blobs[item->index] = g->spool.bytes;
		g->kept[item->index] = is_kept(item);
	}
	return 0;
}

int
gather_data(struct gather *g, const struct item *item, const uint8_t *p, size_t n, struct err *e)
{
	return is_kept(item) ? spool_put(&g->spool, p, n, e) : 0;
}

int
gather_placed(struct gather *g, const struct item *item, const char *name, struct err *e)
{
	uint8_t piece[RANGE_PIECE];
	uint64_t at;
	size_t n;

	for (at = 0; at < item->bytes; at += n) {
		n = item->bytes - at < sizeof piece ? (size_t)(item->bytes - at) : sizeof piece;
		if (range_read(item->place, at, piece, n) < 0)
			return range_fail(name, e);
		if (spool_put(&g->spool, piece, n, e) < 0)
			return -1;
	}
	return 0;
}

int
gather_finish(struct gather *g, struct err *e)
{
	const struct model *plan = g->weights.plan;
	const uint8_t *p;
	size_t i;

	if (spool_put(&g->spool, "", 1, e) < 0 || spool_view(&g->spool, &p, e) < 0)
		return -1;
	for (i = 0; i < plan->tensor_count; i++)
		g->weights.tensors[i] = p + g->tensors[i];
	for (i = 0; i < plan->blob_count; i++)
		if (g->kept[i])
			g->weights.blobs[i] = (struct weights_blob){ p + g->blobs[i],
				(size_t)plan->blobs[i].bytes };
	return 0;
}
