#include <string.h>

#include "adapt/adapt_parts.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/reader.h"

int
adapt_window(struct adapt *a, const uint8_t **p, size_t *n, struct err *e)
{
	const struct tensors_row *row = a->v.row;
	struct store_at *at = &a->store.at[row->move.pieces[0].source];
	size_t size = dtype_span(row->from, (size_t)num_min(a->v.window, a->v.all - a->v.done));
	const uint8_t *bytes;
	size_t got, rest;

	*n = 0;
	at->at = dtype_span(row->from, (size_t)a->v.done);
	if (mem_grow(&a->window, &a->window_cap, size + READER_BODY, 1) < 0)
		return err_memory(e);
	while (a->window_fill < size || size == 0) {
		if (a->zeros == 0 && size > 0 && a->next.gaps &&
		    source_zeros(a->inner, &a->zeros, e) < 0)
			return -1;
		if (a->zeros > 0) {
			got = (size_t)num_min(a->zeros, size - a->window_fill);
			memset(a->window + a->window_fill, 0, got);
			a->window_fill += got;
			a->zeros -= got;
			continue;
		}
		if (source_read(a->inner, &bytes, &got, e) < 0)
			return -1;
		if (got == 0 || size == 0)
			break;
		if (mem_grow(&a->window, &a->window_cap, a->window_fill + got, 1) < 0)
			return err_memory(e);
		memcpy(a->window + a->window_fill, bytes, got);
		a->window_fill += got;
	}
	if (size == 0)
		return 0;
	a->store.window = a->window;
	a->store.window_bytes = a->window_fill;
	if (values_next(&a->v, p, n, e) < 0)
		return -1;
	rest = a->window_fill - size;
	memmove(a->window, a->window + size, rest);
	a->window_fill = rest;
	return 0;
}

int
adapt_window_zeros(struct adapt *a, uint64_t *n, struct err *e)
{
	uint64_t more = 0;

	if (a->window_fill > 0)
		return 0;
	if (source_zeros(a->inner, &more, e) < 0)
		return -1;
	a->zeros += more;
	*n = values_skip(&a->v, &a->zeros);
	return 0;
}
