#include "prune/pruned.h"

#include <stdlib.h>

#include "core/mem.h"
#include "merge/carry.h"
#include "prune/mask.h"
#include "prune/take.h"

struct pruned {
	struct source source;     /* first */
	struct prune_plan *p;
	unsigned jobs;
	struct carry carry;
	struct mask mask;
	struct take take;
	enum { SEND_CARRIED, SEND_MASK, SEND_TAKE } mode;
};

static int
begin_tensor(struct pruned *s, struct item *item, struct err *e)
{
	const struct prune_row *row = &s->p->rows[item->index];

	if (row->pruned) {
		s->mode = SEND_MASK;
		return mask_begin(&s->mask, s->p, item->index, s->jobs, e);
	}
	if (row->kept_rows || row->kept_columns) {
		s->mode = SEND_TAKE;
		return take_begin(&s->take, s->p, item->index, s->jobs, e);
	}
	carry_copy(&s->carry, s->p->in, row->from, item);
	return 0;
}

static int
pruned_next(struct source *source, struct item *item, struct err *e)
{
	struct pruned *s = (struct pruned *)source;
	int r = carry_next(&s->carry, item);

	s->mode = SEND_CARRIED;
	if (r > 0 && item->kind == ITEM_TENSOR && begin_tensor(s, item, e) < 0)
		return -1;
	return r;
}

static int
pruned_read(struct source *source, const uint8_t **p, size_t *n, struct err *e)
{
	struct pruned *s = (struct pruned *)source;

	if (s->mode == SEND_MASK)
		return mask_next(&s->mask, p, n, e);
	if (s->mode == SEND_TAKE)
		return take_next(&s->take, p, n, e);
	return carry_read(&s->carry, p, n, e);
}

static void
pruned_close(struct source *source)
{
	struct pruned *s = (struct pruned *)source;

	mask_close(&s->mask);
	take_close(&s->take);
	carry_close(&s->carry);
	free(s);
}

struct source *
pruned_source(struct prune_plan *p, unsigned jobs, struct err *e)
{
	static const struct source_ops ops = { .next = pruned_next, .read = pruned_read,
		.close = pruned_close };
	struct pruned *s = mem_array(1, sizeof *s);

	if (!s) {
		err_memory(e);
		return NULL;
	}
	s->p = p;
	s->jobs = jobs;
	s->source = (struct source){ .plan = &p->out, .ops = &ops, .name = p->in->name };
	s->carry = (struct carry){ .plan = &p->out, .inputs = p->in, .input_count = 1,
		.files_of = p->in, .files = &p->files };
	if (carry_open(&s->carry, e) == 0)
		return &s->source;
	pruned_close(&s->source);
	return NULL;
}
