#include "crypto/witnessed.h"

static int
next(struct source *s, struct item *item, struct err *e)
{
	struct witnessed *w = (struct witnessed *)s;
	int more = source_next(w->from, item, e);

	if (more == 0 && witness_finish(&w->witness, e) < 0)
		return -1;
	w->ended = more == 0;
	if (more <= 0)
		return more;
	w->item = *item;
	w->open = item->kind != ITEM_PROV;
	if (witness_item(&w->witness, item, e) < 0)
		return -1;
	/* The head of a record is valid only until the next call. */
	return item->kind == ITEM_PROV && witness_item_end(&w->witness, item, e) < 0 ? -1 : 1;
}

static int
read_some(struct source *s, const uint8_t **p, size_t *n, struct err *e)
{
	struct witnessed *w = (struct witnessed *)s;

	if (source_read(w->from, p, n, e) < 0)
		return -1;
	if (!w->open)
		return 0;
	if (*n > 0)
		return witness_data(&w->witness, &w->item, *p, *n, e);
	w->open = false;
	return witness_item_end(&w->witness, &w->item, e);
}

int
witnessed_begin(struct witnessed *w, struct source *from, unsigned jobs, struct err *e)
{
	static const struct source_ops ops = { .next = next, .read = read_some };

	*w = (struct witnessed){ .from = from, .source = { .plan = from->plan, .ops = &ops,
		.name = from->name } };
	return witness_begin(&w->witness, from->plan, jobs, e);
}

void
witnessed_free(struct witnessed *w)
{
	witness_free(&w->witness);
}
