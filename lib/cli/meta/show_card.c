#include "cli/meta/show_card.h"

#include <stdlib.h>

#include "cli/each.h"
#include "cli/tool.h"
#include "core/buf.h"
#include "core/mem.h"
#include "report/card.h"

#define KEPT ((uint64_t)1 << 20)      /* maximum bytes of a value or side file of a card, */
#define KEPT_ALL ((uint64_t)16 << 20) /* and of all */

/* Reads the body of an item; keeps it in b. */
static int
read_item(struct source *s, struct buf *b, bool keep, struct err *e)
{
	const uint8_t *p;
	size_t n;

	do {
		if (source_read(s, &p, &n, e) < 0)
			return -1;
		if (n > 0 && keep)
			buf_put(b, p, n);
	} while (n > 0);
	return buf_ok(b) ? 0 : err_memory(e);
}

/* Reads the values and side files that a card may need: those that are short. */
static int
read_blobs(struct weights *w, struct source *s, struct buf *bodies, struct err *e)
{
	size_t i, left = s->plan->blob_count;
	uint64_t all = 0;
	struct item item;
	int more;

	while (left > 0) {
		if ((more = source_next(s, &item, e)) <= 0)
			return more < 0 ? -1 : err_set(e, ERR_CORRUPT, s->name,
			                               "lacks a value that its plan announces");
		i = item.index;
		if (item.kind != ITEM_BLOB) {
			if (read_item(s, &(struct buf){ 0 }, false, e) < 0)
				return -1;
			continue;
		}
		left--;
		if (item.bytes > KEPT || all + item.bytes > KEPT_ALL) {
			if (read_item(s, &bodies[i], false, e) < 0)
				return -1;
			continue;
		}
		all += item.bytes;
		if (read_item(s, &bodies[i], true, e) < 0)
			return -1;
		w->blobs[i].p = bodies[i].p;
		w->blobs[i].n = bodies[i].n;
	}
	return 0;
}

static int
print(const struct weights *w, enum card_form form, struct err *e)
{
	json_t *card = card_read(w, e);
	struct buf b = { 0 };
	int r = card ? 0 : -1;

	if (card && form == CARD_TEXT)
		card_text(&b, card);
	else if (card && form == CARD_MARKDOWN)
		card_markdown(&b, card);
	else if (card)
		card_json(&b, card, each_name());
	if (r == 0)
		r = tool_print(&b, e);
	buf_free(&b);
	json_decref(card);
	return r;
}

int
show_card(struct source *s, enum card_form form, bool whole, struct err *e)
{
	struct weights w = { .name = s->name, .plan = s->plan };
	struct buf *bodies = mem_array(s->plan->blob_count, sizeof *bodies);
	size_t i;
	int r = -1;

	w.blobs = mem_array(s->plan->blob_count, sizeof *w.blobs);
	if (!bodies || !w.blobs)
		err_memory(e);
	else if (s->plan->sealed)
		r = whole ? source_finish(s, e) : 0;
	else if (read_blobs(&w, s, bodies, e) == 0)
		r = whole ? source_finish(s, e) : 0;
	if (r == 0)
		r = print(&w, form, e);
	for (i = 0; bodies && i < s->plan->blob_count; i++)
		buf_free(&bodies[i]);
	free(bodies);
	free(w.blobs);
	return r;
}
