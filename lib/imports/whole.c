#include "imports/whole.h"

static int
spool_all(struct whole *w, struct reader *r, struct err *e)
{
	const uint8_t *p;
	size_t n;

	while (!reader_at_end(r)) {
		p = reader_some(r, READER_WINDOW, &n);
		if (!p || spool_put(&w->spooled, p, n, e) < 0)
			return -1;
	}
	if (r->failed || spool_view(&w->spooled, &w->p, e) < 0)
		return -1;
	w->n = w->spooled.bytes;
	w->base = READER_UNKNOWN;
	w->map = (struct map){ .p = w->spooled.view, .n = (size_t)w->spooled.viewed, .fd = -1 };
	return 0;
}

int
whole_take(struct whole *w, struct reader *r, struct err *e)
{
	*w = (struct whole)WHOLE_INIT;
	if (r->fd < 0) {
		w->p = r->window;
		w->n = r->fill;
		return 0;
	}
	if (!r->seekable)
		return spool_all(w, r, e);
	w->base = reader_tell(r);
	if (map_file(&w->map, r->fd, r->name, e) < 0)
		return -1;
	if (w->base > w->map.n)
		return err_set(e, ERR_CORRUPT, r->name, "is empty");
	w->p = w->map.p + w->base;
	w->n = w->map.n - w->base;
	return 0;
}

void
whole_free(struct whole *w)
{
	if (w->map.fd >= 0)
		map_close(&w->map);
	spool_free(&w->spooled);
}

int
whole_fd(const struct whole *w)
{
	return w->map.fd;
}

void
whole_release(const struct whole *w, const uint8_t *p, uint64_t n)
{
	map_release(&w->map, p, (size_t)n);
}

bool
whole_is_whole(const struct whole *w)
{
	return map_whole(&w->map);
}
